"""Models without a density: a function that simulates, and a distance between what it gives and what was observed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import ppl.tensor as tt
from ppl.distributions.declaration.arguments import tell_of_rng
from ppl.distributions.declaration.distribution import InPyTensor
from ppl.distributions.draws.draw import RandomVariable, draw
from ppl.distributions.draws.operation import RandomOperation
from ppl.distributions.families.custom_dist import CustomDist, anything, new_family, parsed
from ppl.tensor.sampling.host_draw import host_draw
from ppl.tensor.tensor import Tensor, as_tensor, dtype_name

Distance = Callable[[Any, Any, Any], Any]


def kullback_leibler(epsilon: Any, observed: Any, simulated: Any) -> Tensor:
    """The divergence estimated from distances to nearest neighbors (Pérez-Cruz 2008), over epsilon."""
    observed, simulated = (tt.expand_dims(s, -1) if s.ndim == 1 else s for s in map(as_tensor, (observed, simulated)))
    n, d = observed.shape
    apart = lambda a, b: tt.sqrt(tt.sum((a[:, None, :] - b[None, :, :]) ** 2, axis=-1))
    within = tt.sort(apart(observed, observed), axis=-1)[:, 1]
    across = tt.min(apart(observed, simulated), axis=-1)
    return -(d / n * tt.sum(tt.log(across / within)) + tt.log(n / (n - 1.0))) / epsilon


DISTANCES: dict[str, Distance] = {
    "gaussian": lambda epsilon, observed, simulated: -0.5 * ((observed - simulated) / epsilon) ** 2,
    "laplace": lambda epsilon, observed, simulated: -tt.abs((observed - simulated) / epsilon),
    "kullback_leibler": kullback_leibler,
}
STATISTICS: dict[str, Callable[[Any], Any]] = {
    "identity": lambda x: x,
    "sort": lambda x: tt.sort(x, axis=-1),
    "mean": tt.mean,
    "median": tt.median,
}


class Simulation:
    """A user's function that simulates, `fn(rng, *parameters, size)`, with a check of the shape of what it gives."""

    def __init__(self, fn: Callable[..., Any], words: str) -> None:
        self.fn, self.words = fn, words

    def __call__(self, rng: np.random.Generator, *parameters: np.ndarray, size: tuple[int, ...]) -> np.ndarray:
        value = np.asarray(self.fn(rng, *parameters, size))
        if value.shape != tuple(size):
            raise ValueError(
                f"{self.words}: the simulator gave an array of shape {value.shape} where {tuple(size)} was asked for,"
                " the shape of the variable and of its observed values. Its last argument, size, tells it what to give."
            )
        return value

    def __hash__(self) -> int:
        return hash(self.fn)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Simulation) and self.fn == other.fn


class SimulatorRV(RandomOperation):
    """PyTensor's operations of simulations."""


class Simulator(CustomDist, abstract=True):
    """A variable given by a function `fn(rng, *parameters, size)` that simulates it, for approximate Bayesian
    computation.

    It has no density: sequential Monte Carlo compares `sum_stat` of simulated and observed values by `distance`.

    >>> def coin(rng, p, size=None):
    ...     return rng.binomial(10, p, size)
    >>> pm.draw(pm.Simulator.dist(coin, 0.5), random_seed=1).shape
    ()
    """

    @classmethod
    def dist(  # type: ignore[override]
        cls,
        fn: Callable[..., Any],
        *unnamed_params: Any,
        params: Sequence[Any] | None = None,
        distance: str | Distance = "gaussian",
        sum_stat: str | Callable[[Any], Any] = "identity",
        epsilon: Any = 1,
        signature: str | None = None,
        ndim_supp: int | None = None,
        ndims_params: Sequence[int] | None = None,
        dtype: Any = "floatX",
        class_name: str = "Simulator",
        shape: Any = None,
        size: Any = None,
        name: str | None = None,
        rng: Any = None,
    ) -> RandomVariable:
        tell_of_rng(class_name, rng)
        if not callable(fn):
            raise TypeError(f"{class_name}: the first argument is the function that simulates, got {fn!r}")
        if params is not None and unnamed_params:
            raise ValueError(f"{class_name}: give the parameters by params= or one by one, not both")
        parameters = tuple(map(as_tensor, unnamed_params if params is None else params))
        if signature is not None:
            ndims_params, ndim_supp = parsed(signature, class_name)
        axes = tuple(ndims_params) if ndims_params is not None else (0,) * len(parameters)
        if ndim_supp:
            raise NotImplementedError(f"{class_name}: one value is a number; give shape= for several, not ndim_supp")
        if shape is not None and size is not None:
            raise ValueError(f"{class_name}: give shape or size, not both")
        operation = InPyTensor("Simulator", kind=class_name, shown="Simulator", base=SimulatorRV)
        domain = anything(0, dtype_name(dtype)[0] != "f")
        family = new_family(class_name, axes, domain, {"dtype": dtype_name(dtype)}, operation)
        simulation = Simulation(fn, f'{class_name} "{name}"' if name else class_name)
        far = known(distance, DISTANCES, class_name, "distance")
        summary = known(sum_stat, STATISTICS, class_name, "sum_stat")

        def sample(key: Any, shape: Any, *ps: Any) -> Tensor:
            return host_draw(key.next(), simulation, ps, shape, dtype_name(dtype))

        def logp(x: Any, *ps: Any) -> Any:
            raise NotImplementedError(
                f"{class_name} {name or ''} has no density, only simulations: use sample_smc, which compares these "
                "with the "
                "observed values, or write the likelihood."
            )

        def closeness(observed: Any, simulated: Any) -> Any:
            """The logarithm of the weight that sequential Monte Carlo gives to a simulation."""
            return far(as_tensor(epsilon), summary(observed), summary(simulated))

        family.sample, family.stated_logp = staticmethod(sample), staticmethod(logp)
        family.closeness, family.simulation = staticmethod(closeness), staticmethod(simulation)
        wanted = shape if shape is not None else size
        wanted = (wanted,) if isinstance(wanted, int) else wanted
        return draw(family, parameters, wanted, name)


def known(choice: Any, table: dict[str, Any], who: str, what: str) -> Any:
    """A function from the table, or the user's."""
    if callable(choice):
        return choice
    if choice not in table:
        raise ValueError(f"{who}: {what} is a function or one of {', '.join(table)}, got {choice!r}")
    return table[choice]
