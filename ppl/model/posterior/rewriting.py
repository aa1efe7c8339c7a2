"""What the sampler works on: the posterior of a model, as written or rewritten.

`rewritten` is the one place where rewriting enters sampling. A `Posterior` says which values the sampler moves, the
terms of their log-density, and how every name the user wrote follows from them. An output may hold draws: those are
sampled afresh for every draw of the sampler, which is how a variable that rewriting has eliminated comes back.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import field, replace
from typing import Any, overload

import ppl.tensor as tt
from ppl.compile.density import Slot, labels
from ppl.distributions import RandomVariable
from ppl.distributions.transforms import default_transform
from ppl.graph import Node, substitute
from ppl.graph.records import record
from ppl.model.context import model_to_read
from ppl.model.inputs.observing import impossibilities, refuse_impossible
from ppl.model.output.run_report import HasPosterior, RunReport, run_report
from ppl.model.posterior.density import Joint, add_all
from ppl.model.posterior.point import Point, at_point, initial_point
from ppl.model.posterior.snapshot import Present, at_present
from ppl.model.posterior.values import Remembered
from ppl.model.registry.custom_transforms import kept_for_transforms
from ppl.model.registry.variable_registry import Books
from ppl.rewrites import Trace, optimize, simplify
from ppl.rewrites.factorization.factors import Division, Part, divided
from ppl.rewrites.marginalization import Observation, Plan, Program, Term, plan
from ppl.rewrites.marginalization.expressions.data import is_data
from ppl.rewrites.marginalization.expressions.markov import along_inputs
from ppl.rewrites.marginalization.planning.plans import Kept
from ppl.rewrites.marginalization.program import shortened
from ppl.rewrites.reparameterization.coordinates import Coordinate
from ppl.rewrites.values.reads import Reads
from ppl.tensor.tensor import Tensor, TensorType, placeholder


@record
class Posterior:
    """A log-density over values, and everything that follows from these."""

    model: Books
    values: Sequence[Tensor]  # what the sampler moves: inputs of `terms` and `outputs`
    terms: Mapping[str, Tensor]  # of the log-density, by the name of their variable or potential
    outputs: Mapping[str, Tensor]  # every name of the model's unobserved variables and deterministics
    # Of the variable behind each value, or of the variables behind each entry of one.
    names: Mapping[Tensor, str | tuple[str, ...]] = field(default_factory=dict)
    plan: Plan | None = None  # None: as written
    starts: Mapping[Tensor, Tensor] = field(default_factory=dict)  # of values that are not the model's, from those
    moved: Mapping[Tensor, Tensor] = field(default_factory=dict)  # the variable behind each value in new coordinates
    jacobians: Mapping[Tensor, Tensor] = field(default_factory=dict)  # log-determinants of the transforms of the others
    beside: Sequence[
        tuple[Tensor, RandomVariable]
    ] = ()  # what recoveries draw and forget, with laws given all variables
    made: dict[Any, Any] = field(default_factory=dict)  # what follows from it and is wanted again
    reads: Reads = field(default_factory=Reads)  # the data that it and what was made of it depend on
    of_data: Remembered = field(default_factory=Remembered)  # what its programs compute from data alone

    def once(self, key: Any, make: Callable[[], Any]) -> Any:
        """What `make` gives, made once for each key."""
        if key not in self.made:
            with self.reads.noted():
                self.made[key] = make()
        return self.made[key]

    @property
    def entries(self) -> dict[Tensor, tuple[str, ...]]:
        """The names of the variables that are the entries of one value."""
        return {value: name for value, name in self.names.items() if isinstance(name, tuple)}

    def logp(self) -> Tensor:
        """The log-density, one number."""
        found: Tensor = self.once("logp", self._logp)
        return found

    def _logp(self) -> Tensor:
        total = add_all([tt.sum(term) for term in self.terms.values()])
        return optimize([total], once=is_data)[0]  # type: ignore[return-value]

    @property
    def division(self) -> Division | None:
        """The parts of it that nothing joins, and how each is drawn; None where no gradient moves all of it."""
        found: Division | None = self.once(("division", *self.values), self._division)
        return found

    def _division(self) -> Division | None:
        if not self.values or any(value.dtype[0] != "f" for value in self.values):
            return None
        return divided(list(self.terms.values()), self.values)

    def words(self, part: Part) -> str:
        """The names of the variables of a part."""
        names = [self.names.get(value, value.name or "") for value in part.values]
        each = [name for many in names for name in (many if isinstance(many, tuple) else (many,))]
        return ", ".join(shortened(each))

    def start(self, initvals: Mapping[Any, Any] | None = None, seed: Any = 0) -> Point:
        """A value for each of `values`, by name."""
        point = initial_point(self.model, initvals, seed)
        if self.starts:
            moved = at_point(list(self.starts.values()), {v: point[v.name or ""] for v in self.model.value_vars})
            point |= {value.name or "": x for value, x in zip(self.starts, moved, strict=True)}
        return {value.name or "": point[value.name or ""] for value in self.values}


def program_of(model: Present) -> Program:
    """The factors of a model."""
    observed: list[Observation] = []
    terms: list[Term] = []
    for rv in model.observed_RVs:
        value = model.rvs_to_values[rv]
        scale = model.rvs_to_total_sizes.get(rv)
        if scale is None and isinstance(rv, RandomVariable):
            observed.append(Observation(rv, value))
        else:
            assert isinstance(rv, RandomVariable)
            density = rv.family.log_density(value, *rv.parameters)
            terms.append(Term(rv.name or "", density if scale is None else density * scale))
    terms += [Term(p.name or "", p, "potential") for p in model.potentials]
    free = tuple(rv for rv in model.free_RVs if isinstance(rv, RandomVariable))
    return Program(free, tuple(observed), tuple(terms))


@overload
def explain(model: Books | None = None, *, protect: Collection[Any] = (), eliminate: Collection[Any] = ()) -> Plan: ...
@overload
def explain(model: Tensor) -> Trace: ...
@overload
def explain(model: HasPosterior) -> RunReport: ...
def explain(
    model: Books | Tensor | HasPosterior | None = None,
    *,
    protect: Collection[Any] = (),
    eliminate: Collection[Any] = (),
) -> Plan | Trace | RunReport:
    """What sampling would rewrite of a model and what it would leave, with reasons; nothing is sampled.

    Parameters
    ----------
    model : Model, Tensor, or result of `pm.sample`, optional
        Of a model: which variables are marginalized and by which theorem, which observations become sufficient
        statistics, in which coordinates the rest is sampled. Of an expression: each step to its simplest form. Of a
        result: what was rewritten, and whether its draws agree with the model as written. By default the model of the
        `with` block.
    protect, eliminate : names or variables, default ()
        As in `pm.sample`: variables that stay, and those that have to go.

    Returns
    -------
    Plan, Trace or RunReport
        It prints as text and shows as HTML in a notebook. A plan has `free` (what is left), `steps`, and `kept` (what
        stays, with reasons).

    Examples
    --------
    >>> import ppl as pm
    >>> with pm.Model() as model:
    ...     mu = pm.Normal("mu", 0, 5)
    ...     y = pm.Normal("y", mu, 1, observed=[1.0, 2.0])
    >>> explain(model).free
    ()
    >>> import ppl.tensor as tt
    >>> x = tt.dscalar("x")
    >>> print(explain(tt.log(1 + tt.exp(x))))
    log(1 + exp(x))  →  softplus(x)  (5 nodes, then 2)
      softplus_of: log1p(exp(x))  →  softplus(x)  in log(1 + exp(x))
      log_of_one_plus: log(exp(x) + 1)  →  softplus(x)  in log(1 + exp(x))
    """
    if isinstance(model, Tensor):
        if protect or eliminate:
            raise TypeError("explain: protect= and eliminate= name variables of a model; an expression has none")
        return simplify(model, trace=True)[1]
    if model is not None and hasattr(model, "posterior"):
        if protect or eliminate:
            raise TypeError("explain: protect= and eliminate= are for a model; this is the result of a run")
        return run_report(model)
    model = model_to_read(model)
    refuse_impossible(model)
    found = rewritten(model, True, protect, eliminate).plan
    assert found is not None, "rewriting has a plan"
    return found


def rewritten(
    model: Books,
    rewrite: bool = True,
    protect: Collection[Any] = (),
    eliminate: Collection[Any] = (),
    *,
    moved: bool = True,
) -> Posterior:
    """The posterior of a model. `protect` names variables that must stay, `eliminate` those that must go; `moved` says
    whether those that stay may be sampled in other coordinates than the model's own.

    The last one is kept with the model, and serves as long as neither the model has changed nor data that were looked
    at when it was made.
    """
    model.check_whole()
    now = at_present(model)
    kept, gone = _names(model, protect, "protect"), _names(model, eliminate, "eliminate")
    if gone and not rewrite:
        raise ValueError("eliminate= asks for rewriting, and rewrite=False forbids it: give one of them")
    own = kept_for_transforms(model)
    for name in own.keys() & set(gone):
        raise ValueError(f'cannot eliminate "{name}": {own[name]}. Leave the transform or eliminate= out')
    possible = not impossibilities(model)  # rules take for granted that what was observed can be
    key = (rewrite and possible, moved, *map(frozenset, (kept, gone, own)), tt.config.floatX, now.identity)
    known: tuple[Any, Posterior, Present] | None = model.last_posterior
    if known is None or known[0] != key or not known[1].reads.hold():
        stay = own | dict.fromkeys(kept, "protected")
        known = model.last_posterior = (key, _noted(model, now, rewrite and possible, stay, gone, moved), now)
    return known[1]


def _noted(model: Books, *asked: Any) -> Posterior:
    """The posterior, with the data that planning has looked at."""
    reads = Reads()
    with reads.noted():
        return replace(_posterior(model, *asked), reads=reads)


def _posterior(
    model: Books, now: Present, rewrite: bool, kept: Mapping[str, str], gone: Collection[str], moved: bool
) -> Posterior:
    made = None
    program = program_of(now)
    members: Mapping[RandomVariable, Sequence[RandomVariable]] = {}
    if rewrite:
        made = plan(program, kept, gone)
        program, members = made.program, made.members
        now = _with_vectors(now, program, members, moved)
    chosen = made.coordinates if made is not None and moved else {}
    coordinates: dict[Tensor, tuple[Tensor, Coordinate]] = {
        rv: (placeholder(TensorType(rv.dtype, rv.type.shape), f"{rv.name}_{c.name}__"), c) for rv, c in chosen.items()
    }
    joint = Joint(now, [*program.free, *(o.variable for o in program.observed)], coordinates)
    left = [rv for many in program.free for rv in ([many] if moved else members.get(many, [many]))]
    sampled = {rv: coordinates[rv][0] if rv in coordinates else now.inputs[rv] for rv in left}
    terms = {rv.name or "": joint.logp(rv) for rv in joint.terms}
    for term in program.terms:
        terms[term.name] = along_inputs(joint.at_values(term.density))
    values: dict[Node, Node] = dict(joint.values)
    beside: list[tuple[Tensor, RandomVariable]] = []
    for recovery in reversed(program.recoveries):
        made_of = [recovery.draw, *(x for x, _ in recovery.beside)]
        values[recovery.variable], *numbers = substitute(made_of, values)
        laws = [substitute(law, values) for _, law in recovery.beside]
        beside += zip(numbers, laws, strict=True)  # type: ignore[arg-type]
    found = Posterior(
        model=model,
        values=list(sampled.values()),
        terms=terms,
        outputs={rv.name or "": substitute(rv, values) for rv in now.unobserved_RVs},  # type: ignore[misc]
        names={
            value: tuple(labels([Slot(each, each.type.shape, 0) for each in members[rv]]))
            if rv in members
            else rv.name or ""
            for rv, value in sampled.items()
        },
        starts=_starts(now, coordinates, members if moved else {}),
        moved={value: joint.values[rv] for rv, (value, _) in coordinates.items()},  # type: ignore[misc]
        beside=beside,
        jacobians={now.inputs[rv]: joint.jacobians[rv] for rv in left if rv in joint.jacobians},
        plan=made,
    )
    if made is not None:
        _tell_of_parts(made, found)
    return found


def _tell_of_parts(made: Plan, found: Posterior) -> None:
    """What a plan says of parts that nothing joins."""
    division = found.division
    if division is None:
        return
    made.apart = not division.chains
    if division.chains and len(division.parts) > 1:
        made.heading = division.words
        made.parts = [Kept(found.words(part), why) for part, why in division.told()]


def _with_vectors(
    now: Present, program: Program, members: Mapping[RandomVariable, Sequence[RandomVariable]], moved: bool
) -> Present:
    """What belongs to the vectors in which rewriting puts variables and observations that were written one by one; if
    values may not be `moved`, those of a vector are the values of its entries."""
    transforms = {many: default_transform(many.family, many.parameters) for many in members}
    inputs = {
        many: placeholder(TensorType(many.dtype, many.type.shape), f"{many.name}_{t.name}__" if t else many.name)
        if moved
        else _end_to_end([now.inputs[rv] for rv in members[many]])
        for many, t in transforms.items()
    }
    observed = {o.variable: o.value for o in program.observed}
    return replace(
        now,
        rvs_to_values={**observed, **now.rvs_to_values, **inputs},
        rvs_to_transforms={**now.rvs_to_transforms, **transforms},
        inputs={**now.inputs, **inputs},
    )


def _end_to_end(parts: Sequence[Any]) -> Any:
    """Numbers and vectors in one vector; a single one as it is."""
    return tt.concatenate([tt.reshape(part, (-1,)) for part in parts]) if len(parts) > 1 else parts[0]


def _starts(
    model: Present,
    coordinates: Mapping[Tensor, tuple[Tensor, Coordinate]],
    members: Mapping[RandomVariable, Sequence[RandomVariable]],
) -> dict[Tensor, Tensor]:
    """Coordinates of variables, and vectors of variables, as functions of the model's own values."""
    if not coordinates and not members:
        return {}
    joint = Joint(model)
    joint.values.update({many: _end_to_end([joint.values[rv] for rv in each]) for many, each in members.items()})
    vectors = {model.inputs[many]: _end_to_end([model.inputs[rv] for rv in each]) for many, each in members.items()}
    return vectors | {
        value: tt.broadcast_to(
            c.forward(joint.values[rv], *map(joint.at_values, (*rv.parameters, *c.further))),  # type: ignore[attr-defined]
            rv.type.shape,
        )
        for rv, (value, c) in coordinates.items()
    }


def _names(model: Books, chosen: Collection[Any], argument: str) -> list[str]:
    """The names in an argument that may hold variables or names, each checked."""
    if isinstance(chosen, str | Tensor):
        chosen = (chosen,)
    known = [rv.name or "" for rv in model.free_RVs]
    found = [x.name or "" if isinstance(x, Tensor) else str(x) for x in chosen]
    for name in found:
        if name not in known:
            raise KeyError(f"{argument}: the model has no free variable {name!r}; it has {', '.join(known)}")
    return found
