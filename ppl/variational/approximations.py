"""Approximations of a posterior: what `fit` returns."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

import ppl.tensor as tt
from ppl.graph import ancestors, substitute
from ppl.model.arguments import check_keys, count
from ppl.model.output import results
from ppl.model.seeds import seed_of
from ppl.samplers.approximate.pareto import GOOD
from ppl.tensor.core.vectorizing import vectorize_graph
from ppl.tensor.random import RandomStream
from ppl.tensor.tensor import Tensor, as_tensor
from ppl.tensor.variables import Variable
from ppl.variational.errors import GroupError
from ppl.variational.groups import EmpiricalGroup, FullRankGroup, Group, MeanFieldGroup
from ppl.variational.problem import Problem

LOOKS = 4096  # draws behind means and covariances of the variables as written, where the model was rewritten


class Report(NamedTuple):
    """How a fit went, and how good its approximation is.

    `pareto_k` is the shape of the tail of the importance ratios p/q of its own draws: up to 0.7 the approximation can
    be trusted, or corrected by importance sampling; above, it is far from the posterior somewhere. The evidence lower
    bound and the estimate of the log evidence leave out the constants that rewriting drops.
    """

    method: str
    converged: bool | None  # None where the method has no test
    why: str
    steps: int
    gradients: int  # evaluations of the log-density with its gradient, those of the report not counted
    seconds: float
    pareto_k: float | None = None
    elbo: float | None = None
    elbo_error: float | None = None
    log_evidence: float | None = None

    @property
    def warnings(self) -> list[str]:
        """What somebody who uses the approximation should know."""
        found = []
        if self.converged is False:
            found.append(
                f"{self.method} has not converged: {self.why}. Raise n= (full-rank fits end "
                "after 200 steps whatever it is), or give another start or optimizer."
            )
        if self.pareto_k is not None and self.pareto_k > GOOD:
            found.append(
                f"The approximation is far from the posterior in some direction: Pareto k of its importance ratios is "
                f"{self.pareto_k:.2f}, above {GOOD}. Compare with pm.sample, or try method='fullrank_advi' or "
                "'pathfinder'."
            )
        return found

    def attrs(self) -> dict[str, Any]:
        """What of it goes into the attributes of a result."""
        whole = self._asdict()
        return {
            "drawn_by": whole.pop("method"),
            **{f"fit_{name}": int(x) if isinstance(x, bool) else x for name, x in whole.items() if x is not None},
            "fit_warnings": "\n".join(self.warnings),
        }

    def __str__(self) -> str:
        parts = [f"{self.method}: {self.steps} steps, {self.gradients} gradients, {self.seconds:.2f} s"]
        parts += [self.why] if self.why else []
        if self.pareto_k is not None:
            parts.append(f"Pareto k {self.pareto_k:.2f}, ELBO {self.elbo:.4g} ± {self.elbo_error:.2g}")
        return "; ".join(parts)


class Approximation:
    """A law of the unconstrained values of a model, in groups that are independent of each other.

    `mean`, `std` and `cov` are symbolic (`.eval()`), in the order that `ordering` says. Where the model was rewritten
    they are those of all variables as written, from 4,096 draws; `reduced` has the values that were fitted.
    """

    def __init__(self, groups: Any, model: Any = None, *, problem: Problem | None = None, **kwargs: Any) -> None:
        groups = [groups] if isinstance(groups, Group) else list(groups)
        if not groups:
            raise GroupError("An approximation needs at least one group")
        known = [g.problem for g in groups if g.problem is not None]
        self.problem = problem or (known[0] if known else Problem(model, **kwargs))
        whole = [g for g in groups if g.group is None]
        if len(whole) > 1:
            raise GroupError("More than one group is None: only one can hold the rest of the variables")
        taken: list[Tensor] = []
        for group in (g for g in groups if g.group is not None):
            if group.problem is not self.problem:
                group.bind(self.problem)
            own = [slot.variable for slot in group.slots]
            twice = [v.name for v in own if v in taken]
            if twice:
                raise GroupError(f"Variables are in two groups: {', '.join(map(str, twice))}")
            taken += own
        rest = [slot for slot in self.problem.slots if slot.variable not in taken]
        for group in whole:
            if group.problem is not self.problem or not group.slots:
                group.bind(self.problem, rest)
        if rest and not whole:
            missing = ", ".join(str(slot.variable.name) for slot in rest)
            raise GroupError(f"No group has {missing}: add Group(None, vfam=...) for the rest")
        self.groups: list[Group] = groups
        self.hist = np.zeros(0)
        self.law: Any = None  # the law of draws, where it is not that of the parameters
        self.report: Report | None = None
        self.scale_cost_to_minibatch = True

    @property
    def model(self) -> Any:
        """The model."""
        return self.problem.model

    @property
    def params(self) -> list[Variable]:
        """The parameters of all groups."""
        return [p for group in self.groups for p in group.params]

    @property
    def shared_params(self) -> Any:
        """The parameters by name; of several groups one dictionary each."""
        found = [group.shared_params for group in self.groups]
        return found[0] if len(found) == 1 else found

    params_dict = shared_params

    @property
    def ddim(self) -> int:
        """How many numbers are approximated."""
        return sum(group.ddim for group in self.groups)

    ndim = ddim

    @property
    def has_logq(self) -> bool:
        """Whether it has a density."""
        return all(group.has_logq for group in self.groups)

    def positions(self, draws: int, seed: int) -> np.ndarray:
        """Rows of points of the problem."""
        rng = np.random.default_rng([seed, 1])
        if self.law is not None:
            return self.law.at(rng.standard_normal((draws, self.problem.dim)))
        found = np.empty((draws, self.problem.dim))
        for group in self.groups:
            found[:, group.index] = group.positions(draws, rng)
        return found

    # --- what it says of the variables ------------------------------------------------------------------------------
    @property
    def rewritten(self) -> bool:
        """Whether rewriting changed what is approximated."""
        written = {self.model.rvs_to_values[rv] for rv in self.model.free_RVs}
        return set(self.problem.posterior.values) != written

    @property
    def reduced(self) -> dict[str, np.ndarray]:
        """Means and standard deviations of the values that were fitted, by the names of their entries."""
        mean, sd = self._moments()
        return {
            name: np.array([m, s]) for name, m, s in zip(self.problem.labels, mean, sd, strict=True)
        }  # fmt: skip

    def _moments(self) -> tuple[np.ndarray, np.ndarray]:
        if self.law is not None and hasattr(self.law, "sd"):
            return self.law.mean, self.law.sd
        mean, sd = np.empty(self.problem.dim), np.empty(self.problem.dim)
        for group in self.groups:
            mean[group.index], sd[group.index] = group.mean.eval(), group.std.eval()  # type: ignore[attr-defined]
        return mean, sd

    def _as_written(self) -> tuple[dict[str, np.ndarray], np.ndarray]:
        """Draws of the unconstrained values of all variables, by name, and as rows."""
        model, found = self.model, self.problem.values(self.positions(LOOKS, 0))
        names = [model.rvs_to_values[rv].name or "" for rv in model.free_RVs]
        by_name = {name: found[name][0] for name in names}
        return by_name, np.concatenate([np.reshape(x, (LOOKS, -1)) for x in by_name.values()], axis=1)

    @property
    def ordering(self) -> dict[str, tuple[str, slice, tuple[int, ...], str]]:
        """Where the values of each variable lie in `mean`, `std` and `cov`: name, place, shape and dtype."""
        if not self.rewritten and len(self.groups) == 1:
            return self.groups[0].ordering
        found, at = {}, 0
        for name, value in self._as_written()[0].items():
            stop = at + int(np.prod(value.shape[1:], dtype=int))
            found[name], at = (name, slice(at, stop), value.shape[1:], str(value.dtype)), stop
        return found

    @property
    def mean(self) -> Tensor:
        """The means of the unconstrained values."""
        return self._symbolic("mean", lambda rows: rows.mean(axis=0), lambda law: law.mean)

    @property
    def std(self) -> Tensor:
        """Their standard deviations."""
        return self._symbolic("std", lambda rows: rows.std(axis=0), lambda law: law.sd)

    @property
    def cov(self) -> Tensor:
        """Their covariance matrix."""
        return self._symbolic("cov", lambda rows: np.atleast_2d(np.cov(rows.T)), lambda law: law.covariance)

    def _symbolic(self, name: str, of_rows: Any, of_law: Any) -> Tensor:
        if self.rewritten:
            return tt.constant(of_rows(self._as_written()[1]))
        if self.law is not None and hasattr(self.law, "sd"):
            return tt.constant(of_law(self.law))
        if len(self.groups) > 1:
            raise AttributeError(f"{self}: {name} is that of a group: ask each of .groups")
        return getattr(self.groups[0], name)

    @property
    def mean_data(self) -> Any:
        """The means of the unconstrained values, as a Dataset by name."""
        return self._dataset(lambda rows: rows.mean(axis=0))

    @property
    def std_data(self) -> Any:
        """Their standard deviations, as a Dataset by name."""
        return self._dataset(lambda rows: rows.std(axis=0))

    def _dataset(self, of_rows: Any) -> Any:
        import xarray

        mean, sd = self._moments()
        if not self.rewritten:
            both = np.stack([mean - sd, mean + sd])  # two rows with this mean and standard deviation
            values = {s.variable.name or "": of_rows(s.read(both)) for s in self.problem.slots}
        else:
            values = {name: of_rows(x) for name, x in self._as_written()[0].items()}
        arrays = {n: ([f"{n}_dim_{i}" for i in range(np.ndim(v))], np.asarray(v)) for n, v in values.items()}
        return xarray.Dataset(arrays)

    def rslice(self, name: str) -> Tensor:
        """The values of one variable in a symbolic draw."""
        name = name if isinstance(name, str) else str(name.name)
        for group in self.groups:
            if name in group.ordering:
                _, place, shape, dtype = group.ordering[name]
                return tt.cast(self._drawn(group)[place].reshape(shape), dtype)
        raise KeyError(f"{name!r} is not in the approximation; it has "
                       + ", ".join(name for group in self.groups for name in group.ordering))  # fmt: skip

    # --- draws ------------------------------------------------------------------------------------------------------
    def sample(
        self, draws: int = 500, *, random_seed: Any = None, return_inferencedata: bool = True, **kwargs: Any
    ) -> Any:
        """Draws of every variable of the model, as one chain of a result; its attributes say how good the fit is."""
        draws, seed = count("draws", draws, 1), seed_of(random_seed)
        if return_inferencedata:
            results.prepare()
            options = dict(check_keys("sample", kwargs, OPTIONS))
        else:
            options = {}  # as in PyMC, other arguments say nothing of a MultiTrace
        facts = self.report.attrs() if self.report is not None else {"drawn_by": str(self)}
        return self.problem.finished(
            self.positions(draws, seed)[None], return_inferencedata, facts, seed, options=options
        )

    def as_drawn(self, positions: np.ndarray | None = None) -> Any:
        """A result of the points themselves: (chains, draws, dim), or those of an empirical approximation in order."""
        if positions is None:
            group = self.groups[0]
            assert isinstance(group, EmpiricalGroup)
            positions = np.asarray(group.histogram.get_value())[None]
        facts = self.report.attrs() if self.report is not None else {}
        return self.problem.finished(positions, True, facts, self.problem.seed)

    def sample_dict_fn(self, draws: int = 100, *, random_seed: Any = None) -> dict[str, np.ndarray]:
        """Draws by name, the unconstrained values too."""
        found = self.problem.values(self.positions(count("draws", draws, 1), seed_of(random_seed)))
        return {name: value[0] for name, value in found.items()}

    def _drawn(self, group: Group, deterministic: bool = False) -> Tensor:
        """One draw of a group, as an expression that draws anew in each call of a function."""
        if deterministic:
            return group.mean  # type: ignore[attr-defined, no-any-return]
        noise = RandomStream().normal(0.0, 1.0, size=(1, max(1, group.ddim)))
        return group.symbolic(noise)[0]

    def sample_node(
        self,
        node: Any,
        size: Any = None,
        deterministic: bool = False,
        more_replacements: Mapping[Any, Any] | None = None,
    ) -> Any:
        """An expression of the model's variables with draws of the approximation in their place; with `size` so many of
        them, along a new first axis. Compiled, it draws anew in each call."""
        if isinstance(node, list | tuple):
            return [self.sample_node(each, size, deterministic, more_replacements) for each in node]
        node = self.problem.of_model(as_tensor(node))
        if more_replacements:
            node = substitute(node, {k: as_tensor(v) for k, v in more_replacements.items()})
        if size is None:
            return substitute(node, self._places({g: self._drawn(g, deterministic) for g in self.groups}))
        rows = {}
        for group in self.groups:
            if deterministic:
                rows[group] = tt.repeat(group.mean[None], size, axis=0)  # type: ignore[attr-defined]
            else:
                rows[group] = group.symbolic(RandomStream().normal(0.0, 1.0, size=(size, max(1, group.ddim))))
        places = {k: v for k, v in self._places(rows).items() if _uses(node, k)}
        return vectorize_graph(node, places) if places else tt.repeat(node[None], size, axis=0)

    def _places(self, draws: Mapping[Group, Tensor]) -> dict[Any, Tensor]:
        """Values and what stands in their place, for draws of the groups, or rows of draws."""
        found = {}
        for group, drawn in draws.items():
            for slot, (_, place, shape, dtype) in zip(group.slots, group.ordering.values(), strict=True):
                part = drawn[..., place]
                front = (part.shape[0],) if part.ndim == 2 else ()
                found[slot.variable] = tt.cast(part.reshape((*front, *shape)), dtype)
        return found

    def __str__(self) -> str:
        return f"Approximation{{{' & '.join(map(repr, self.groups))}}}"

    __repr__ = __str__


def _uses(node: Tensor, value: Tensor) -> bool:
    return value in ancestors([node])


OPTIONS = ("log_likelihood", "log_prior", "include_transformed", "coords", "dims")


class SingleGroupApproximation(Approximation):
    """An approximation with one group, whose attributes are its own."""

    family: type[Group]

    def __init__(
        self,
        model: Any = None,
        random_seed: Any = None,
        start: Any = None,
        *,
        rewrite: bool = False,
        protect: Any = (),
        eliminate: Any = (),
        problem: Problem | None = None,
        **kwargs: Any,
    ) -> None:
        problem = problem or Problem(model, rewrite, protect, eliminate, start, random_seed)
        super().__init__([self.family(None, problem=problem, **kwargs)], problem=problem)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or "groups" not in self.__dict__:
            raise AttributeError(name)
        return getattr(self.groups[0], name)


class MeanField(SingleGroupApproximation):
    """Independent normal coordinates of the unconstrained values."""

    family = MeanFieldGroup


class FullRank(SingleGroupApproximation):
    """A normal law of the unconstrained values, with all covariances."""

    family = FullRankGroup


class Empirical(SingleGroupApproximation):
    """Draws that there are already (`trace`, in any form), or `size` points around the start, as an approximation."""

    family = EmpiricalGroup

    def __init__(self, trace: Any = None, size: int | None = None, **kwargs: Any) -> None:
        super().__init__(trace=trace, size=size, **kwargs)

    def evaluate_over_trace(self, node: Any) -> Any:
        """An expression of the model's variables at each of the points."""
        node = self.problem.of_model(as_tensor(node))
        places = {k: v for k, v in self._places({self.groups[0]: self.groups[0].histogram}).items() if _uses(node, k)}
        return vectorize_graph(node, places).eval()


def sample_approx(approx: Any, draws: int = 100, include_transformed: bool = True) -> Any:
    """Draws of an approximation, as a MultiTrace or, without unconstrained values, as a result."""
    if not isinstance(approx, Approximation):
        raise TypeError(f"Need Approximation instance, got {type(approx)}")
    return approx.sample(draws=draws, return_inferencedata=not include_transformed)
