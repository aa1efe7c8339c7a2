"""The planner: which variables of a model are integrated out, by which theorem, and in which order.

Variables that a loop wrote one by one become vectors. Then those without observed descendants go first,
then finite discrete ones, which a gradient cannot move, then Gaussian blocks, then conjugate pairs, until nothing
changes. Every step removes dimensions at a cost that does not grow with the data, and every variable comes back by an
exact draw; what stays is named with the reason.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Collection, Mapping
from contextlib import suppress
from functools import partial

from ppl.distributions import RandomVariable
from ppl.rewrites.engine.engine import strict
from ppl.rewrites.engine.pause import collector_paused
from ppl.rewrites.limits import LIMITS
from ppl.rewrites.marginalization import no_descendants, words
from ppl.rewrites.marginalization.costs import HIERARCHY, evaluation
from ppl.rewrites.marginalization.discrete.branches import settled
from ppl.rewrites.marginalization.expressions.kernels import Unstructured
from ppl.rewrites.marginalization.expressions.markov import markov_law
from ppl.rewrites.marginalization.gaussian.markov_process import words as markov_words
from ppl.rewrites.marginalization.planning import bijections
from ppl.rewrites.marginalization.planning.plans import Kept, Plan, Step
from ppl.rewrites.marginalization.planning.registry import THEOREMS
from ppl.rewrites.marginalization.program import Program, shortened
from ppl.rewrites.marginalization.theorem import JointTheorem, Refusal, Search, Telling, Theorem
from ppl.rewrites.plates import loops_as_processes as processes
from ppl.rewrites.reparameterization import survivors
from ppl.rewrites.sufficient_statistics import compaction

# Factors that planning may go through, many times what it takes. They are counted, and no clock is asked, so that a
# model has the same plan on any machine.
STOPPED = "further theorems were not tried: planning may go through {:,.0f} factors"
MANDATORY = (
    "vectors for loops", "observed bijection", words.NO_DESCENDANTS, words.ENUMERATION, "estimate of the gain",
)  # fmt: skip


@collector_paused()
def plan(program: Program, protect: Collection[str] | Mapping[str, str] = (), eliminate: Collection[str] = ()) -> Plan:
    """The plan for a program. `protect` names stay, for the reasons a mapping gives, `eliminate` names must go (an
    error says why one cannot)."""
    names = {rv.name for rv in program.free}
    for asked in (*protect, *eliminate):
        if asked not in names:
            raise KeyError(f"the model has no free variable {asked!r}; it has {', '.join(sorted(map(str, names)))}")
    both = set(protect) & set(eliminate)
    if both:
        raise ValueError(f"{', '.join(sorted(both))} cannot be both protected and eliminated")
    start = time.perf_counter()
    result = _planned(program, protect, eliminate, frozenset())
    counts = [rv for many in result.program.free if many.dtype[0] != "f" for rv in result.members.get(many, ())]
    if counts:  # step methods for counts move variables one by one
        result = _planned(program, protect, eliminate, frozenset(counts))
    result.milliseconds = 1e3 * (time.perf_counter() - start)
    stuck = [k for k in result.kept if k.name in set(eliminate)]
    if stuck:
        raise ValueError("cannot eliminate " + "; ".join(f"{k.name}: {k.why}" for k in stuck))
    return result


def _planned(
    program: Program,
    protect: Collection[str] | Mapping[str, str],
    eliminate: Collection[str],
    apart: frozenset[RandomVariable],
) -> Plan:
    """The plan, in which the variables `apart` are not the entries of a vector."""
    asked_for = frozenset(rv for rv in program.free if rv.name in eliminate)
    result = Plan(program, asked=asked_for, ndim_before=program.ndim)
    protected = frozenset(rv for rv in program.free if rv.name in protect)
    reasons: dict[str, str] = dict(protect) if isinstance(protect, Mapping) else dict.fromkeys(protect, "protected")
    _attempt("vectors for loops", lambda *given: _stacked(apart, *given), result, protected, reasons)
    program = result.program
    moved = Moved()
    _attempt("observed bijection", moved.open, result, protected, reasons)
    start_of_all = bijections.closed(result.program, moved.for_latent)[0]
    while True:
        before = len(result.program.free)
        for theorem in THEOREMS:
            _attempt(theorem.name, partial(_integrated_out, theorem), result, protected, reasons)
        if len(result.program.free) == before:
            break
    _attempt("observed bijection", moved.close_for_latent, result, protected, reasons)
    _attempt("compaction", _compaction, result, protected, reasons)
    _attempt("rows as they are written", lambda *given: _rows_first(start_of_all, *given), result, protected, reasons)
    _attempt("observed bijection", moved.close, result, protected, reasons)
    result.program = settled(result.program, program)
    _attempt("state-space models", _along_inputs, result, protected, reasons)
    _attempt("coordinates", lambda *given: _coordinates(program, *given), result, protected, reasons)
    result.kept = [Kept(rv.name or "", reasons.get(rv.name or "", _no_rule(rv))) for rv in result.program.free]
    _attempt("estimate of the gain", lambda *given: _estimate(program, result), result, protected, reasons)
    return result


Reasons = dict[str, str]
Rewrite = Callable[[Plan, frozenset[RandomVariable], Reasons], None]


def _attempt(name: str, apply: Rewrite, result: Plan, protected: frozenset[RandomVariable], reasons: Reasons) -> None:
    """Rewrite the program of a plan; what fails leaves it as it found it, and says so once."""
    if name not in MANDATORY and _out_of_time(result):
        return
    before, told = result.program, list(result.steps)
    try:
        apply(result, protected, reasons)
        lost = before.variables - result.program.variables
        assert not lost, f"it neither keeps nor brings back {_names(lost)}"
        if result.program is not before:
            needed = result.program.depends_on_eliminated
            assert not needed, f"what is left still depends on {_names(needed)}, marginalized"
    except Exception as error:
        if strict.on:
            raise
        result.program = before
        result.steps[:] = told
        if name not in _reported:
            _reported.add(name)
            warnings.warn(
                f"rewriting: {name!r} failed ({type(error).__name__}: {error}) and is left out; the posterior is "
                "right but may be slower to sample. Please report it.",
                stacklevel=2,
            )


def _integrated_out(
    theorem: Theorem | JointTheorem, result: Plan, protected: frozenset[RandomVariable], reasons: Reasons
) -> None:
    """The variables that a theorem takes, and the reasons why others stay."""
    search = Search(result.program, protected, result.asked, partial(_out_of_time, result))
    for found in theorem.matches(search):
        if isinstance(found, Refusal):
            name = found.variable.name or ""
            if theorem.telling is Telling.LAST or (theorem.telling is Telling.FIRST and name not in reasons):
                reasons[name] = found.why
            continue
        before, search.program = search.program, found.applied(search.program)
        rule = found.rule or theorem.rule or theorem.name
        ends = f"{before.ndim} dimensions", f"{search.program.ndim} dimensions"
        result.steps.append(Step(rule, found.names, *ends, found.told))
        result.stiffness = max(result.stiffness, found.stiffness)
        result.program = search.program
    result.program = settled(result.program)


def _out_of_time(result: Plan) -> bool:
    result.gone_through += len(result.program.factors)
    if result.gone_through > LIMITS.nodes_gone_through:
        result.stopped = STOPPED.format(LIMITS.nodes_gone_through)
    return bool(result.stopped)


def _names(variables: Collection[RandomVariable]) -> str:
    return ", ".join(sorted(rv.name or "a draw" for rv in variables))


_reported: set[str] = set()


def _no_rule(rv: RandomVariable) -> str:
    return f"no rule marginalizes {rv.family.__name__} variables here"


def _stacked(
    apart: frozenset[RandomVariable], result: Plan, protected: frozenset[RandomVariable], reasons: Reasons
) -> None:
    """Variables that a loop wrote one by one, as the entries of one."""
    found = processes.unrolled(result.program, apart | protected | result.asked)
    result.program, result.members = found.program, found.members
    for many, each in found.members.items():
        if many.name == each[0].name:  # a single variable, whose law uses others that became entries
            continue
        names = [rv.name or "" for rv in each]
        how = "follow each other" if many in found.linked else "are alike"
        why = f'{", ".join(shortened(names))} {how}: the entries of "{many.name}".'
        result.steps.append(Step(words.PLATE, (), f"{len(each)} variables", many.name or "", why))


class Moved:
    """Observations in other coordinates, while theorems look for what they know."""

    def __init__(self) -> None:
        self.known: Mapping[int, bijections.Opened] = {}

    def open(self, result: Plan, protected: frozenset[RandomVariable], reasons: Reasons) -> None:
        result.program, self.known = bijections.opened(result.program)

    @property
    def for_latent(self) -> dict[int, bijections.Opened]:
        """Those that serve latent variables alone."""
        return {key: o for key, o in self.known.items() if not o.for_rows}

    def close_for_latent(self, result: Plan, protected: frozenset[RandomVariable], reasons: Reasons) -> None:
        self._close(self.for_latent, result, reasons)

    def close(self, result: Plan, protected: frozenset[RandomVariable], reasons: Reasons) -> None:
        self._close({key: o for key, o in self.known.items() if o.for_rows}, result, reasons)

    def _close(self, known: Mapping[int, bijections.Opened], result: Plan, reasons: Reasons) -> None:
        """Back to what was written where no theorem took it."""
        result.program, taken = bijections.closed(result.program, known)
        gone = set(map(id, taken))
        for o in [o for o in known.values() if id(o) not in gone]:
            reasons.update({name: o.as_written(why) for name, why in reasons.items()})
        rule = words.CHANGE_OF_VARIABLES
        result.steps[:0] = [Step(rule, (), o.written.variable.name or "", o.slope.name, o.words) for o in taken]


def _compaction(result: Plan, protected: frozenset[RandomVariable], reasons: Reasons) -> None:
    found = compaction.compact_all(result.program)
    result.program = found.program
    for name, why in found.done:
        result.steps.append(Step(words.STATISTICS, (), f"rows of {name}", "distinct rows", f"{name}: {why}."))
    result.rows = [Kept(name, why) for name, why in found.declined]


def _along_inputs(result: Plan, protected: frozenset[RandomVariable], reasons: Reasons) -> None:
    """Which densities go along the inputs of their covariance; they do so wherever they are evaluated."""
    laws = [*result.program.free, *(o.variable for o in result.program.observed)]
    for rv in laws:
        try:
            law = markov_law(rv)
        except Unstructured:
            continue
        ends = f"a covariance of {law.inputs.size} numbers", f"a state of {law.order}"
        result.steps.append(Step(words.MARKOV, (), *ends, markov_words(law, rv.name or "a draw")))


def _rows_first(written: Program, result: Plan, protected: frozenset[RandomVariable], reasons: Reasons) -> None:
    """Compaction in the place of Gaussian blocks, where evaluations cost so much less by it that more of them pay: as
    many times more as laws that join several variables take, or as what data tell of these."""
    others = {s.rule for s in result.steps} - {words.NO_DESCENDANTS, words.GAUSSIAN}
    if result.asked or not result.program.free or others:
        return
    small = compaction.compact_all(written).program
    cost = lambda p: evaluation(p.factors) * p.ndim**0.25
    if small is written or max(HIERARCHY, result.stiffness) * cost(small) >= cost(result.program):
        return
    for rv in set(small.free) - set(result.program.free):
        reasons[rv.name or ""] = "its children are cheaper by their sufficient statistics"
    result.program = written
    result.steps.clear()
    _integrated_out(no_descendants.THEOREM, result, protected, reasons)
    _compaction(result, protected, reasons)


def _coordinates(written: Program, result: Plan, protected: frozenset[RandomVariable], reasons: Reasons) -> None:
    """Better coordinates for what is left."""
    result.coordinates = survivors.coordinates(written, result.program, protected, reasons)
    for rv, coordinate in result.coordinates.items():
        why = f"{rv.name} {coordinate.words()}."
        result.steps.append(Step(words.REPARAMETERIZATION, (), rv.name or "", coordinate.name, why))


def _estimate(written: Program, result: Plan) -> None:
    if any(rv.dtype[0] != "f" for rv in written.free):
        return
    free = result.program.free
    with suppress(NotImplementedError):  # a family without a density says so itself, to whoever asks for it
        result.gain = evaluation(written.factors) / evaluation(result.program.factors) if free else float("inf")
