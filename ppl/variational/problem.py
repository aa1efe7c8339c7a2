"""What is approximated: the posterior of a model, as written or rewritten, as a log-density of one flat vector."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np

import ppl.tensor as tt
from ppl.compile.density import FlatProgram, Slot, flattened, labels, layout, scalar
from ppl.distributions.families.simulator import Simulator
from ppl.graph import Node, ancestors, substitute
from ppl.model.context import model_to_read
from ppl.model.errors import SamplingError
from ppl.model.finishing.finishing import Finisher, Request
from ppl.model.finishing.runs import Drawn
from ppl.model.inputs.minibatches import refuse_minibatches
from ppl.model.inputs.observing import refuse_impossible
from ppl.model.output.traces import from_trace
from ppl.model.posterior.density import add_all
from ppl.model.posterior.rewriting import rewritten
from ppl.model.prediction.draw_rows import RowProgram, over_draws
from ppl.model.registry.variable_registry import Books
from ppl.model.seeds import seed_of
from ppl.model.starting.start_report import start_report
from ppl.rewrites import optimize
from ppl.rewrites.marginalization.expressions.data import is_data
from ppl.samplers.approximate.target import Target
from ppl.tensor.tensor import Tensor, placeholder
from ppl.tensor.variables import Variable
from ppl.variational.errors import ParametrizationError


class Problem:
    """The posterior of a model as a target of approximations.

    `rewrite`, `protect` and `eliminate` say how far the model may be rewritten, as for `ppl.sample`. A point is a flat
    vector of the values that are left; `slots` says where each of them lies.
    """

    def __init__(
        self,
        model: Any = None,
        rewrite: bool = False,
        protect: Any = (),
        eliminate: Any = (),
        start: Mapping[Any, Any] | None = None,
        random_seed: Any = None,
    ) -> None:
        self.model: Books = model_to_read(model)
        if not self.model.free_RVs:
            raise TypeError("Model does not have any free RVs: there is nothing to approximate.")
        refuse_impossible(self.model)
        self.seed = seed_of(random_seed)
        self.posterior = rewritten(self.model, rewrite, protect, eliminate)
        _refuse_discrete(self.posterior.names, self.posterior.values, rewrite)
        self.point = self.posterior.start(start, self.seed)
        self.slots: list[Slot] = layout(self.posterior.values, self.point)
        self.start = flattened(self.slots, self.point)

    @property
    def dim(self) -> int:
        """How many numbers a point has."""
        return len(self.start)

    @property
    def labels(self) -> list[str]:
        """A name for each number of a point."""
        return labels(self.slots, self.posterior.names)

    @cached_property
    def random_rows(self) -> list[Variable]:
        """What decides which rows the minibatches of the model have."""
        found = ancestors(list(self.posterior.terms.values()))
        states = [n for n in found if isinstance(n, Variable) and n.default_update is not None]
        return sorted(states, key=lambda node: node.serial)

    @property
    def has_simulator(self) -> bool:
        """Whether a variable is observed by a simulator, whose density has no gradient."""
        return any(issubclass(getattr(rv, "family", object), Simulator) for rv in self.model.basic_RVs)

    @cached_property
    def target(self) -> Target:
        """The log-density with its gradient, at rows of points."""
        refuse_minibatches(self.posterior.terms.values())
        key = ("density", *((slot.variable, slot.shape) for slot in self.slots))
        make = lambda: FlatProgram([self.posterior.logp()], self.slots, once=self.posterior.of_data)
        return self._target(self.posterior.once(key, make))

    def target_now(self) -> Target:
        """The same by the present values of shared variables, which a fit may have changed."""
        return self._target(FlatProgram([self.posterior.logp()], self.slots))

    def _target(self, density: FlatProgram) -> Target:
        return Target(scalar(density), self.dim, density.data, density.key)

    def data_and_prior(self, replacements: Mapping[Any, Any] | None = None) -> tuple[Tensor, Tensor]:
        """The log-density in two parts: of what was observed with the potentials, and of the other variables."""
        inside = {rv.name for rv in self.model.observed_RVs} | {p.name for p in self.model.potentials}
        terms = self.posterior.terms
        parts = [
            add_all([tt.sum(term) for name, term in terms.items() if (name in inside) is observed])
            for observed in (True, False)
        ]
        if replacements:
            parts = substitute(parts, dict(replacements))
        data, prior = optimize(parts, once=is_data)
        return data, prior  # type: ignore[return-value]

    def minibatch_scale(self) -> float:
        """The largest factor by which rows of a minibatch count for all rows."""
        scales = [np.max(np.asarray(tt.as_tensor(s).eval())) for s in self.model.rvs_to_total_sizes.values()]
        return float(max([1.0, *scales]))

    def check_start(self, values: np.ndarray) -> None:
        """Raise where the log-density is not finite at the start, with the variables that are to blame."""
        if not np.all(np.isfinite(values)):
            report = start_report(self.posterior, self.slots, self.start)
            raise SamplingError(f"The log-density is not finite at the start: give another by start=.\n{report}")

    def values(self, positions: np.ndarray, names: Sequence[str] | None = None, transformed: bool = True) -> Any:
        """Every name of the model for rows of points; with `transformed` the unconstrained values too."""
        return self._finisher({"include_transformed": transformed}, names).values(positions[None])

    def finished(
        self, positions: np.ndarray, as_arviz: bool, facts: Mapping[str, Any], seed: int,
        options: Mapping[str, Any] | None = None, seconds: float = 0.0,
    ) -> Any:  # fmt: skip
        """A result, as `ppl.sample` gives it, of points (chains, draws, dim)."""
        finish = self._finisher(options or {}, None, as_arviz, seed)
        run = Drawn(positions, {}, seconds, facts=facts)
        return finish(run, True)

    def _finisher(
        self, options: Mapping[str, Any], names: Sequence[str] | None = None, as_arviz: bool = True, seed: int = 0
    ) -> Finisher:
        wanted = list(self.posterior.outputs) if names is None else list(names)
        request = Request(wanted, seed, 0, False, False, True, as_arviz, options, {}, 0)
        return Finisher(self.posterior, self.slots, request)

    def unconstrained(self, trace: Any) -> np.ndarray:
        """The draws of a trace, in any form, as rows of points; of models as written only."""
        model, draws = self.model, from_trace(trace)
        stand_ins = {rv: placeholder(rv.type, rv.name) for rv in model.free_RVs}
        wanted, outputs = [], []
        for rv in model.free_RVs:
            value, transform = model.rvs_to_values[rv], model.rvs_to_transforms[rv]
            if rv.name not in draws.values and value.name not in draws.values:
                raise ValueError(f"the trace has no draws of {rv.name!r}; it has {', '.join(draws.values)}")
            if transform is not None and value.name not in draws.values:
                parameters = substitute(list(rv.parameters), dict(stand_ins))  # type: ignore[attr-defined]
                wanted.append(value)
                outputs.append(transform.forward(stand_ins[rv], *parameters))
        found = {v: draws.values.get(v.name or "") for v in (slot.variable for slot in self.slots)}
        if outputs:
            given = [rv for rv in model.free_RVs if rv.name in draws.values]
            program = RowProgram([stand_ins[rv] for rv in given], outputs)
            columns = [np.asarray(draws.values[rv.name or ""], rv.dtype) for rv in given]
            found |= zip(wanted, over_draws(program, columns), strict=True)
        rows = [np.reshape(found[slot.variable], (-1, slot.stop - slot.start)) for slot in self.slots]
        return np.concatenate(rows, axis=1).astype(float)

    def of_model(self, node: Tensor) -> Tensor:
        """An expression of the model's variables as one of the values that are left."""
        outputs: dict[Node, Node] = {self.model.named_vars[name]: x for name, x in self.posterior.outputs.items()}
        return substitute(node, outputs)


def _refuse_discrete(names: Mapping[Tensor, Any], values: Sequence[Tensor], rewrite: bool) -> None:
    discrete = [str(names.get(v, v.name)) for v in values if v.dtype[0] != "f"]
    if discrete:
        remedy = (
            "rewriting found no way to sum them out (ppl.explain says why)" if rewrite
            else "with rewrite=True they are summed out where that is possible"
        )  # fmt: skip
        raise ParametrizationError(
            f"Discrete variables are not supported by VI: {', '.join(discrete)}; {remedy}. Otherwise use pm.sample."
        )
