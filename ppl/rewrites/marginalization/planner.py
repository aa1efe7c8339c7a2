"""The planner: which variables of a model are integrated out, by which theorem, and in which order.

Variables that a loop wrote one by one become vectors. Then barren ones go first (nothing observed depends on them),
then finite discrete ones, which a gradient cannot move, then Gaussian blocks, then conjugate pairs, until nothing
changes. Every step removes dimensions at a cost that does not grow with the data, and every variable comes back by an
exact draw; what stays is named with the reason.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

from ppl.distributions import MvNormal, Pareto, RandomVariable, Wishart
from ppl.graph import ancestors
from ppl.rewrites.engine.engine import strict
from ppl.rewrites.engine.pause import collector_paused
from ppl.rewrites.factorization.independence import without_a_chain
from ppl.rewrites.marginalization import gaussian, words
from ppl.rewrites.marginalization.conjugate import compounds, conjugate, thinning, wishart
from ppl.rewrites.marginalization.conjugate import pareto as largest
from ppl.rewrites.marginalization.conjugate.pairs import prior_of
from ppl.rewrites.marginalization.costs import HIERARCHY, evaluation, steps
from ppl.rewrites.marginalization.discrete import enumeration as discrete
from ppl.rewrites.marginalization.discrete.latent_values import states_of
from ppl.rewrites.marginalization.discrete.latents import meet_in_a_row
from ppl.rewrites.marginalization.expressions import bijections
from ppl.rewrites.marginalization.expressions.branches import settled
from ppl.rewrites.marginalization.expressions.positive import open_conditions
from ppl.rewrites.marginalization.gaussian import kronecker_process as grids
from ppl.rewrites.marginalization.gaussian import noisy_process as noisy
from ppl.rewrites.marginalization.plans import Kept, Plan, Step
from ppl.rewrites.marginalization.program import (
    Factor,
    NoMatch,
    Observation,
    Program,
    Recovery,
    Term,
    children,
    parts,
    shortened,
    where_valid,
)
from ppl.rewrites.plates import loops_as_processes as processes
from ppl.rewrites.reparameterization import survivors
from ppl.rewrites.sufficient_statistics import compaction
from ppl.tensor.tensor import Tensor, as_tensor

BUDGET = (
    10_000.0  # milliseconds, many times what planning takes: the same model is to have the same plan on any machine
)
STOPPED = "further theorems were not tried: planning has {:,.0f} ms"
MANDATORY = ("vectors for loops", "observed bijection", "barren", "sum over values", "estimate of the gain")


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
    result = Plan(program, asked=asked_for, ndim_before=program.ndim, nodes_before=program.nodes)
    result.deadline = time.perf_counter() + 1e-3 * BUDGET
    protected = frozenset(rv for rv in program.free if rv.name in protect)
    reasons: dict[str, str] = dict(protect) if isinstance(protect, Mapping) else dict.fromkeys(protect, "protected")
    _attempt("vectors for loops", lambda *given: _stacked(apart, *given), result, protected, reasons)
    program = result.program
    moved = Moved()
    _attempt("observed bijection", moved.open, result, protected, reasons)
    start_of_all = bijections.closed(result.program, moved.for_latent)[0]
    while True:
        before = len(result.program.free)
        for theorem, apply in THEOREMS.items():
            _attempt(theorem, apply, result, protected, reasons)
        if len(result.program.free) == before:
            break
    _attempt("observed bijection", moved.close_for_latent, result, protected, reasons)
    _attempt("compaction", _compaction, result, protected, reasons)
    _attempt("rows as they are written", lambda *given: _rows_first(start_of_all, *given), result, protected, reasons)
    _attempt("observed bijection", moved.close, result, protected, reasons)
    result.program = settled(result.program, program)
    _attempt("coordinates", lambda *given: _coordinates(program, *given), result, protected, reasons)
    result.kept = [Kept(rv.name or "", reasons.get(rv.name or "", _no_rule(rv))) for rv in result.program.free]
    _attempt("estimate of the gain", lambda *given: _estimate(program, result), result, protected, reasons)
    return result


Reasons = dict[str, str]
Theorem = Callable[[Plan, frozenset[RandomVariable], Reasons], None]


def _attempt(
    theorem: str, apply: Theorem, result: Plan, protected: frozenset[RandomVariable], reasons: Reasons
) -> None:
    """Apply a theorem wherever it holds; one that fails leaves the program as it found it, and says so once."""
    if theorem not in MANDATORY and _out_of_time(result):
        return
    before, told = result.program, list(result.steps)
    try:
        apply(result, protected, reasons)
        lost = before.variables - result.program.variables
        assert not lost, f"it neither keeps nor brings back {', '.join(sorted(rv.name or 'a draw' for rv in lost))}"
    except Exception as error:
        if strict.on:
            raise
        result.program = before
        result.steps[:] = told
        if theorem not in _reported:
            _reported.add(theorem)
            warnings.warn(
                f"rewriting: {theorem!r} failed ({type(error).__name__}: {error}) and is left out; the posterior is "
                "right but may be slower to sample. Please report it.",
                stacklevel=2,
            )


def _out_of_time(result: Plan) -> bool:
    if time.perf_counter() > result.deadline:
        result.stopped = STOPPED.format(BUDGET)
    return bool(result.stopped)


_reported: set[str] = set()


def _no_rule(rv: RandomVariable) -> str:
    return f"no rule marginalizes {rv.family.__name__} variables here"


def _children(factors: Collection[Factor]) -> str:
    """The families of the factors that depend on some variables."""
    kinds = {f.variable.family.__name__ for f in factors if isinstance(f, Observation)}
    kinds |= {f.kind for f in factors if isinstance(f, Term) and f.kind == "potential"}
    if any(isinstance(f, Term) and f.without for f in factors):
        kinds.add("the marginal density of variables that are integrated out already")
    return " and ".join(sorted(kinds)) or "other terms"


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


def _barren(result: Plan, protected: frozenset[RandomVariable], reasons: Reasons) -> None:
    """Variables that no other factor depends on: drawn forward after sampling."""
    while True:
        program = result.program
        used = ancestors([n for f in program.factors for n in parts(f)])
        idle = [rv for rv in program.free if rv not in used and rv not in protected and _can_draw(rv)]
        if not idle:
            return
        recoveries = [Recovery(rv, rv) for rv in idle]
        names = tuple(rv.name or "" for rv in idle)
        terms = [_domain(rv, conditions) for rv in idle if (conditions := open_conditions(rv))]
        after = program.without(idle).plus(terms=terms, recoveries=recoveries)
        they = "it: it is" if len(names) == 1 else "them: they are"
        _note(
            result,
            words.NO_DESCENDANTS,
            names,
            after,
            f"Nothing observed depends on {they} drawn forward.",
        )


def _domain(rv: RandomVariable, conditions: Sequence[Tensor]) -> Term:
    """That a law which is drawn from later has to exist: its density, were it there, would be 0 where it does not."""
    return Term(f"domain of {rv.name}", where_valid(as_tensor(0.0), conditions))


def _can_draw(rv: RandomVariable) -> bool:
    return bool(rv.family.sample)


def _discrete(result: Plan, protected: frozenset[RandomVariable], reasons: Reasons) -> None:
    done, declined = discrete.eliminate(result.program, protected, result.asked)
    for d in declined:
        reasons[d.variable.name or ""] = d.why
    _note_sums(result, done)


def _note_sums(result: Plan, done: Sequence[tuple[Sequence[RandomVariable], Sequence[Factor], Program]]) -> None:
    for members, factors, after in done:
        names = tuple(rv.name or "" for rv in members)
        kinds = " and ".join(sorted({rv.family.__name__ for rv in members}))
        _note(result, words.ENUMERATION, names, after, f"{kinds} with {_children(factors)}.")


def _is_conjugate(rv: RandomVariable) -> bool:
    return prior_of(rv) is not None


def _conjugate(result: Plan, protected: frozenset[RandomVariable], reasons: Reasons) -> None:
    _each(result, protected, words.CONJUGATE, conjugate.eliminate_one, _is_conjugate, reasons)
    result.program = settled(result.program)


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


def _thinning(result: Plan, protected: frozenset[RandomVariable], reasons: Reasons) -> None:
    suits = lambda rv: bool(rv.family.thinned)
    _each(result, protected, words.THINNING, thinning.eliminate_one, suits, reasons)


def _by_one_family(family: Any, eliminate_one: Callable[[Program, RandomVariable], Program]) -> Theorem:
    """Conjugate variables of one family, whose children are no plain pairs."""

    def apply(result: Plan, protected: frozenset[RandomVariable], reasons: Reasons) -> None:
        _each(result, protected, words.CONJUGATE, eliminate_one, lambda rv: rv.family is family, reasons)

    return apply


def _compounds(result: Plan, protected: frozenset[RandomVariable], reasons: Reasons) -> None:
    _each(result, protected, words.COMPOUND, compounds.eliminate_one, compounds.suits, {})  # later theorems say why not
    alone = lambda rv: _few_copies(result.program, rv, protected)
    small = lambda rv: rv.family is not MvNormal and gaussian.is_written_out(rv) and grids.suits(rv) and alone(rv)
    large = lambda rv: not gaussian.is_written_out(rv) and grids.suits(rv) and alone(rv)
    noisy_one = lambda rv: noisy.suits(rv) and alone(rv)
    _each(result, protected, words.PROCESS, grids.eliminate_one, large, reasons)  # no other theorem takes these
    _each(result, protected, words.PROCESS, grids.eliminate_one, small, {})
    _each(result, protected, words.PROCESS, noisy.eliminate_one, noisy_one, {})


def _compaction(result: Plan, protected: frozenset[RandomVariable], reasons: Reasons) -> None:
    found = compaction.compact_all(result.program)
    result.program = found.program
    for name, why in found.done:
        result.steps.append(Step(words.STATISTICS, (), f"rows of {name}", "distinct rows", f"{name}: {why}."))
    result.rows = [Kept(name, why) for name, why in found.declined]


def _rows_first(written: Program, result: Plan, protected: frozenset[RandomVariable], reasons: Reasons) -> None:
    """Compaction in the place of Gaussian blocks that leave the rows of their children in each evaluation."""
    if (
        result.asked
        or not result.program.free
        or {s.rule for s in result.steps} - {words.NO_DESCENDANTS, words.GAUSSIAN}
    ):
        return
    small = compaction.compact_all(written).program
    cost = lambda p: evaluation(p.factors) * p.ndim**0.25
    if small is written or HIERARCHY * cost(small) >= cost(result.program):
        return
    for rv in set(small.free) - set(result.program.free):
        reasons[rv.name or ""] = "its children are cheaper by their sufficient statistics"
    result.program = written
    result.steps.clear()
    _barren(result, protected, reasons)
    _compaction(result, protected, reasons)


def _coordinates(written: Program, result: Plan, protected: frozenset[RandomVariable], reasons: Reasons) -> None:
    """Better coordinates for what is left."""
    result.coordinates = survivors.coordinates(written, result.program, protected, reasons)
    for rv, coordinate in result.coordinates.items():
        result.steps.append(
            Step(words.REPARAMETERIZATION, (), rv.name or "", coordinate.name, f"{rv.name} {coordinate.words()}.")
        )


def _estimate(written: Program, result: Plan) -> None:
    if any(rv.dtype[0] != "f" for rv in written.free):
        return
    free = result.program.free
    result.gain = evaluation(written.factors) / evaluation(result.program.factors) if free else float("inf")


def _gaussian(result: Plan, protected: frozenset[RandomVariable], reasons: Reasons) -> None:
    after, done, declined = gaussian.eliminate(result.program, protected, result.asked)
    for d in declined:  # the first reason says more than a later one, when marginals stand in the way
        reasons.setdefault(d.variable.name or "", d.why)
    for block in done:
        _note(result, words.GAUSSIAN, block.names, after, f"Normal with normal children: {block.structure}.")


def _each(
    result: Plan,
    protected: frozenset[RandomVariable],
    rule: str,
    eliminate_one: Callable[[Program, RandomVariable], Program],
    suits: Callable[[RandomVariable], bool],
    reasons: Reasons,
) -> None:
    for rv in result.program.free:
        if rv in protected or not suits(rv) or _out_of_time(result):
            continue
        seen = children(result.program, rv)
        try:
            after = eliminate_one(result.program, rv)
        except NoMatch as why:
            reasons[rv.name or ""] = str(why)
            continue
        _note(result, rule, (rv.name or "",), after, f"{rv.family.__name__} with {_children(seen)}.")


MOST_BRANCHES = 100_000  # states of labels that meet in a row anyway, which an elimination may leave in one term
MOST_COPIES = 64  # states of labels that nothing else joins


def _block_in_branches(result: Plan, protected: frozenset[RandomVariable], reasons: Reasons) -> None:
    """Gaussian blocks that a few labels steer, where what is left is cheaper once the labels are summed out."""
    program = result.program
    normal = [rv for rv in program.free if gaussian.is_normal(rv) and rv not in protected]
    known = {rv: states_of([rv], protected) for rv in program.free if rv.dtype[0] != "f"}
    labels = [rv for rv, states in known.items() if normal and states is not None and states <= MOST_BRANCHES]
    alone = discrete.candidates(program, protected)[0] if labels else {}
    for members, factors in discrete.components(program, labels):
        if set(members) <= alone.keys() and not _few_states(members, factors, protected):
            continue  # each by itself is less work
        found = gaussian.eliminate_given(result.program, members, protected)
        if found is None:
            continue
        after, blocks = found
        others = protected | (set(labels) - set(members))
        sums, sums_alone = (discrete.eliminate(p, others, result.asked)[0] for p in (after, result.program))
        if sums and (not sums_alone or _cost(sums[-1][2]) <= _cost(sums_alone[-1][2])):
            given = ", ".join(shortened([rv.name or "" for rv in members]))
            for block in blocks:
                why = f"Normal with normal children, for each value of {given}: {block.structure}."
                _note(result, words.GAUSSIAN, block.names, after, why)
            if not any(map(_is_conjugate, after.free)):
                _note_sums(result, sums)  # else these may go in branches first


QUADRATURE = 0.05  # of the evaluations of a chain


def _cost(program: Program) -> float:
    """What an effective draw costs."""
    return steps(program) * evaluation(program.factors) * (QUADRATURE if without_a_chain(program) else 1.0)


def _few_states(labels: Sequence[RandomVariable], factors: Sequence[Factor], kept: frozenset[RandomVariable]) -> bool:
    """Whether the states of some labels are few enough for a term in all of them."""
    states = states_of(labels, kept)
    return states is not None and states <= (MOST_BRANCHES if meet_in_a_row(labels, factors) else MOST_COPIES)


def _labels(program: Program, rv: RandomVariable) -> list[RandomVariable]:
    """The labels that steer the law of a variable or of what depends on it."""
    seen = ancestors([*rv.inputs, *(n for f in children(program, rv) for n in parts(f))])
    return [z for z in program.free if z in seen and z.dtype[0] != "f"]


def _few_copies(program: Program, rv: RandomVariable, kept: frozenset[RandomVariable]) -> bool:
    """Whether the rows of a variable may become one factor: the labels in it are then summed out all together."""
    summed = [z for z in _labels(program, rv) if states_of([z], kept) is not None]
    return not summed or (states_of(summed, kept) or 0) <= MOST_COPIES


def _in_branches(result: Plan, protected: frozenset[RandomVariable], reasons: Reasons) -> None:
    """Conjugate variables whose laws a few labels steer, integrated out in each state of the labels."""

    def steered(rv: RandomVariable) -> bool:
        if not _is_conjugate(rv):
            return False
        labels = _labels(result.program, rv)
        return bool(labels) and _few_states(labels, children(result.program, rv), protected)

    _each(result, protected, words.CONJUGATE, conjugate.eliminate_one, steered, reasons)
    result.program = settled(result.program)


THEOREMS: dict[str, Theorem] = {
    "barren": _barren,
    "thinning": _thinning,
    "compound": _compounds,
    "precision of vectors": _by_one_family(Wishart, wishart.eliminate_one),  # before means: no gradient moves a Wishart
    "Gaussian block in branches": _block_in_branches,
    "conjugate in branches": _in_branches,
    "sum over values": _discrete,
    "Gaussian block": _gaussian,
    "conjugate": _conjugate,
    "bound of uniform rows": _by_one_family(Pareto, largest.eliminate_one),
}


def _note(result: Plan, rule: str, names: tuple[str, ...], after: Program, why: str) -> None:
    before = result.program
    result.steps.append(Step(rule, names, f"{before.ndim} dimensions", f"{after.ndim} dimensions", why))
    result.program = after
