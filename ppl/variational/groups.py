"""Families of approximations: the variables of a group, and the parameters of their joint law.

A group holds some of the values of a model, flattened. `symbolic(noise)` and `log_q(noise)` write its draws and their
log-density as expressions of the parameters (shared variables) and of standard normal numbers; everything else here
is for whoever looks at the result.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

import ppl.tensor as tt
from ppl.compile.density import Slot
from ppl.tensor.tensor import Tensor
from ppl.tensor.variables import Variable, shared
from ppl.variational.errors import GroupError, ParametrizationError
from ppl.variational.problem import Problem

LOG_2PI = float(np.log(2 * np.pi))
FAMILIES: dict[str, type[Group]] = {}


class Group:
    """Some variables of a model with a joint law of their own: `Group([x, y], vfam="full_rank")`.

    `group=None` stands for all variables that no other group of the approximation has. The family is named by `vfam`
    ("mean_field", "full_rank", "empirical") or follows from `params`, shared variables by the names of its parameters.
    """

    names: tuple[str, ...] = ()  # of the family, the full one first
    spec: tuple[str, ...] = ()  # of its parameters
    has_logq = True

    def __new__(cls, group: Any = None, vfam: str | None = None, params: Any = None, *args: Any, **kwargs: Any) -> Any:
        if cls is not Group:
            return object.__new__(cls)
        if vfam is not None and params is not None:
            raise TypeError("Cannot specify both `vfam` and `params`")
        if vfam is not None:
            if str(vfam).lower() not in FAMILIES:
                raise ParametrizationError(f"No such family {vfam!r}; there are {', '.join(FAMILIES)}")
            return object.__new__(FAMILIES[str(vfam).lower()])
        if params is not None:
            for family in FAMILIES.values():
                if set(family.spec) == set(params):
                    return object.__new__(family)
            raise ParametrizationError(
                f"No family has the parameters {sorted(params)}; there are "
                + ", ".join(f"{f.names[0]} with {', '.join(f.spec)}" for f in dict.fromkeys(FAMILIES.values()))
            )
        raise TypeError("Need to specify `vfam` or `params`")

    def __init_subclass__(cls) -> None:
        FAMILIES.update(dict.fromkeys(cls.names, cls))

    def __init__(
        self,
        group: Any = None,
        vfam: str | None = None,
        params: Mapping[str, Any] | None = None,
        random_seed: Any = None,
        model: Any = None,
        options: Mapping[str, Any] | None = None,
        *,
        start: Mapping[Any, Any] | None = None,
        problem: Problem | None = None,
        **kwargs: Any,
    ) -> None:
        if options:
            raise TypeError(f"Group: no family has options, got {', '.join(options)}")
        if group is not None and not isinstance(group, list | tuple):
            group = [group]
        self.group = None if group is None else list(group)
        if self.group is not None and not self.group:
            raise GroupError("Got empty group")
        self.settings = kwargs
        self.given = dict(params or {})
        self.random_seed, self.start = random_seed, start
        self.problem: Problem | None = None
        self.slots: list[Slot] = []
        if problem is not None or self.group is not None:
            self.bind(problem or Problem(model, start=start, random_seed=random_seed))

    def bind(self, problem: Problem, rest: Sequence[Slot] | None = None) -> None:
        """Take the variables of the group from a problem; `rest` are those that other groups have left."""
        self.problem = problem
        if self.group is None:
            self.slots = list(problem.slots if rest is None else rest)
        else:
            own = {problem.model.rvs_to_values.get(v, v): v for v in self.group}
            self.slots = [slot for slot in problem.slots if slot.variable in own]
            if len(self.slots) < len(own):
                raise GroupError(f"Group: some of {self.group} are not free variables of the model")
        if not self.slots and problem.slots:
            raise GroupError("No variables are left for the group None")
        parts = [np.arange(slot.start, slot.stop) for slot in self.slots]
        self.index = np.concatenate(parts) if parts else np.zeros(0, int)
        made = self.make(problem.start[self.index], np.random.default_rng(problem.seed), **self.settings)
        for name in set(self.given) - set(made):
            raise ParametrizationError(f"{type(self).__name__} has no parameter {name!r}")
        for name, value in self.given.items():
            made[name] = value if isinstance(value, Variable) else shared(np.asarray(value, float), name)
        self.shared_params: dict[str, Variable] = {name: made[name] for name in self.spec}

    def make(self, start: np.ndarray, rng: np.random.Generator) -> dict[str, Variable]:
        """The parameters where a fit begins."""
        raise NotImplementedError

    @property
    def params_dict(self) -> dict[str, Variable]:
        """The parameters by name."""
        return self.shared_params

    @property
    def params(self) -> list[Variable]:
        """The parameters."""
        return [self.shared_params[name] for name in self.spec]

    @property
    def ddim(self) -> int:
        """How many numbers the variables of the group have."""
        return len(self.index)

    ndim = ddim

    @property
    def ordering(self) -> dict[str, tuple[str, slice, tuple[int, ...], str]]:
        """Where the values of each variable lie: name, place, shape and dtype."""
        found, at = {}, 0
        for slot in self.slots:
            name, stop = slot.variable.name or "", at + slot.stop - slot.start
            found[name], at = (name, slice(at, stop), slot.shape, slot.variable.dtype), stop
        return found

    def symbolic(self, noise: Tensor) -> Tensor:
        """Draws (rows, ddim) that standard normal rows become."""
        raise NotImplementedError

    def log_q(self, noise: Tensor) -> Tensor:
        """The log-density of these draws, row by row."""
        raise NotImplementedError

    def positions(self, draws: int, rng: np.random.Generator) -> np.ndarray:
        """Draws by the present parameters."""
        raise NotImplementedError

    def __repr__(self) -> str:
        return f"{type(self).__name__}[{self.ddim}]"


def spread_of(rho: Any) -> Any:
    """Standard deviations σ = log(1 + e^ρ)."""
    return tt.softplus(rho) if isinstance(rho, Tensor) else np.logaddexp(0.0, rho)


def rho_of(sd: Any) -> np.ndarray:
    """The ρ of standard deviations."""
    sd = np.abs(np.asarray(sd, float))
    return sd + np.log(-np.expm1(-sd))


class MeanFieldGroup(Group):
    """Independent normal coordinates z = μ + log(1 + e^ρ)·ε."""

    names = ("mean_field", "mf")
    spec = ("mu", "rho")

    def make(self, start: np.ndarray, rng: np.random.Generator, start_sigma: Any = None) -> dict[str, Variable]:
        """The mean at the start, standard deviations of log 2 or as `start_sigma` has them by the names of values."""
        rho = np.zeros(len(start))
        if start_sigma is not None:
            known = {}
            assert self.problem is not None
            for rv, value in self.problem.model.rvs_to_values.items():
                known[rv.name], known[value.name] = value.name, value.name
            for key, sd in start_sigma.items():
                name = key if isinstance(key, str) else key.name
                if known.get(name) not in self.ordering:
                    raise KeyError(f"start_sigma: no variable of the group is called {name!r}")
                _, place, shape, _ = self.ordering[known[name]]
                rho[place] = rho_of(np.broadcast_to(sd, shape)).ravel()
        return {"mu": shared(start.copy(), "mu"), "rho": shared(rho, "rho")}

    @property
    def mean(self) -> Tensor:
        """The means."""
        return self.shared_params["mu"]

    @property
    def rho(self) -> Tensor:
        """What the standard deviations are made of."""
        return self.shared_params["rho"]

    @property
    def std(self) -> Tensor:
        """The standard deviations."""
        return spread_of(self.rho)

    @property
    def cov(self) -> Tensor:
        """The covariance matrix."""
        return tt.diag(self.std**2)

    def symbolic(self, noise: Tensor) -> Tensor:
        return self.mean + self.std * noise

    def log_q(self, noise: Tensor) -> Tensor:
        return tt.sum(-0.5 * noise**2 - 0.5 * LOG_2PI - tt.log(self.std), axis=-1)

    def positions(self, draws: int, rng: np.random.Generator) -> np.ndarray:
        mu, rho = (p.get_value() for p in self.params)
        return mu + spread_of(rho) * rng.standard_normal((draws, self.ddim))


class FullRankGroup(Group):
    """A normal law with all covariances, z = μ + Lε; the diagonal of L is log(1 + e^l) of its parameter."""

    names = ("full_rank", "fr")
    spec = ("mu", "L_tril")

    def make(self, start: np.ndarray, rng: np.random.Generator) -> dict[str, Variable]:
        """The mean at the start, the identity as parameter of the factor."""
        packed = np.eye(len(start))[np.tril_indices(len(start))]
        return {"mu": shared(start.copy(), "mu"), "L_tril": shared(packed, "L_tril")}

    @property
    def L(self) -> Tensor:
        """The lower triangular factor of the covariance."""
        n = self.ddim
        rows, columns = np.tril_indices(n)
        lower = tt.set_subtensor(tt.zeros((n, n))[rows, columns], self.shared_params["L_tril"])
        at = np.arange(n)
        return tt.set_subtensor(lower[at, at], spread_of(lower[at, at]))

    @property
    def mean(self) -> Tensor:
        """The means."""
        return self.shared_params["mu"]

    @property
    def cov(self) -> Tensor:
        """The covariance matrix."""
        return tt.dot(self.L, self.L.T)

    @property
    def std(self) -> Tensor:
        """The standard deviations."""
        return tt.sqrt(tt.sum(self.L**2, axis=1))

    @property
    def num_tril_entries(self) -> int:
        """How many numbers the factor has."""
        return self.ddim * (self.ddim + 1) // 2

    @property
    def tril_indices(self) -> tuple[np.ndarray, np.ndarray]:
        """Where they stand."""
        return np.tril_indices(self.ddim)

    def symbolic(self, noise: Tensor) -> Tensor:
        return self.mean + tt.dot(noise, self.L.T)

    def log_q(self, noise: Tensor) -> Tensor:
        at = np.arange(self.ddim)
        return tt.sum(-0.5 * noise**2 - 0.5 * LOG_2PI, axis=-1) - tt.sum(tt.log(self.L[at, at]))

    def factor(self) -> np.ndarray:
        """The present value of the factor."""
        lower = np.zeros((self.ddim, self.ddim))
        lower[self.tril_indices] = self.shared_params["L_tril"].get_value()
        at = np.arange(self.ddim)
        lower[at, at] = spread_of(lower[at, at])
        return lower

    def set_factor(self, factor: np.ndarray) -> None:
        """Choose the parameter so that the factor is this one."""
        lower, at = factor.copy(), np.arange(self.ddim)
        lower[at, at] = rho_of(lower[at, at])
        self.shared_params["L_tril"].set_value(lower[self.tril_indices])

    def positions(self, draws: int, rng: np.random.Generator) -> np.ndarray:
        return self.shared_params["mu"].get_value() + rng.standard_normal((draws, self.ddim)) @ self.factor().T


class EmpiricalGroup(Group):
    """Points, each as likely as the others: draws of a trace, or particles."""

    names = ("empirical",)
    spec = ("histogram",)
    has_logq = False

    def make(
        self, start: np.ndarray, rng: np.random.Generator, trace: Any = None, size: int | None = None, jitter: float = 1
    ) -> dict[str, Variable]:
        """The draws of a trace, or `size` points around the start."""
        if "histogram" in self.given:
            return {"histogram": self.given["histogram"]}
        if (trace is None) == (size is None):
            raise ParametrizationError("Empirical needs one of `trace` and `size`, so many points around the start")
        if trace is None:
            points = start + jitter * rng.standard_normal((size, len(start)))
        else:
            assert self.problem is not None
            points = self.problem.unconstrained(trace)[:, self.index]
        return {"histogram": shared(points, "histogram")}

    @property
    def histogram(self) -> Variable:
        """The points."""
        return self.shared_params["histogram"]

    @property
    def mean(self) -> Tensor:
        """The means."""
        return tt.mean(self.histogram, axis=0)

    @property
    def std(self) -> Tensor:
        """The standard deviations."""
        return tt.std(self.histogram, axis=0)

    @property
    def cov(self) -> Tensor:
        """The covariance matrix."""
        away = self.histogram - self.mean
        return tt.dot(away.T, away) / (self.histogram.shape[0] - 1)

    def symbolic(self, noise: Tensor) -> Tensor:
        chosen = tt.cast(tt.floor(0.5 * tt.erfc(-noise[:, 0] / np.sqrt(2.0)) * self.histogram.shape[0]), "int64")
        return self.histogram[tt.minimum(chosen, self.histogram.shape[0] - 1)]

    def positions(self, draws: int, rng: np.random.Generator) -> np.ndarray:
        points = self.histogram.get_value()
        return points[rng.integers(len(points), size=draws)]
