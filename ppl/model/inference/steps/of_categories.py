"""Step methods of variables with few values: flips and Gibbs steps."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ppl.model.inference.steps.step_method import StepMethod
from ppl.samplers.steps.moves import Move, binary_flips, binary_gibbs, categorical_gibbs
from ppl.samplers.steps.sites import Colors, binary_sites, categorical_sites
from ppl.tensor.core.sizes import shape as shape_of
from ppl.tensor.tensor import Tensor

if TYPE_CHECKING:
    from ppl.model.model import Model


class BinaryMetropolis(StepMethod):
    """Flips binary variables, several at once.

    Parameters
    ----------
    vars : variable or list of variables, optional
        What it moves; by default all that it can.
    scaling : float, default 1.0
        The chance of a flip follows from it, as in PyMC.
    tune, tune_interval : optional
        Without effect, in PyMC neither.
    blocked : bool, default True
        PyMC's argument; all entries are proposed together.
    model : Model, optional
        The model; by default that of the `with` block.
    rng, initial_point, compile_kwargs : optional
        PyMC's arguments; `sample` decides what they are about, and a value warns.

    Examples
    --------
    >>> with pm.Model():
    ...     x = pm.Bernoulli("x", 0.4)
    ...     y = pm.Normal("y", x, 1, observed=0.5)
    ...     step = pm.BinaryMetropolis()
    >>> [v.name for v in step.vars]
    ['x']
    """

    kinds = "iub"
    blocked = True

    def __init__(
        self, vars: Any = None, *, scaling: float = 1.0, tune: bool = True, tune_interval: int = 100,
        model: Model | None = None, rng: Any = None, initial_point: Any = None, compile_kwargs: Any = None,
        blocked: bool = True,
    ) -> None:  # fmt: skip
        """`tune` and `tune_interval` have no effect, in PyMC neither: the chance of a flip follows from `scaling`."""
        super().__init__(vars, model, {"rng": rng, "initial_point": initial_point, "compile_kwargs": compile_kwargs})
        self.scaling, self.blocked = float(scaling), blocked
        _check_binary(self)

    def move(self, start: int, stop: int, variables: list[Tensor], draws: int) -> Move:
        return binary_flips(start, stop, self.scaling)


class BinaryGibbsMetropolis(StepMethod):
    """Flips binary entries one by one; those that are independent given the rest, together.

    Parameters
    ----------
    vars : variable or list of variables, optional
        What it moves; by default all that it can.
    order : "random" or list of int, default "random"
        The order of a sweep.
    transit_p : float, default 0.8
        The chance that a flip is proposed.
    blocked : bool, default True
        PyMC's argument.
    model : Model, optional
        The model; by default that of the `with` block.
    rng, initial_point, compile_kwargs : optional
        PyMC's arguments; `sample` decides what they are about, and a value warns.

    Examples
    --------
    >>> with pm.Model():
    ...     x = pm.Bernoulli("x", 0.4)
    ...     y = pm.Normal("y", x, 1, observed=0.5)
    ...     result = pm.sample(100, tune=100, chains=1, step=pm.BinaryGibbsMetropolis(), random_seed=1, quiet=True)
    >>> result.posterior["x"].shape
    (1, 100)
    """

    kinds = "iub"
    blocked = True

    def __init__(
        self, vars: Any = None, *, order: Any = "random", transit_p: float = 0.8, model: Model | None = None,
        rng: Any = None, initial_point: Any = None, compile_kwargs: Any = None, blocked: bool = True,
    ) -> None:  # fmt: skip
        super().__init__(vars, model, {"rng": rng, "initial_point": initial_point, "compile_kwargs": compile_kwargs})
        self.order, self.transit_p, self.blocked = order, float(transit_p), blocked
        _check_binary(self)

    @property
    def by_color(self) -> bool:
        return isinstance(self.order, str)

    def colored(self, start: int, stop: int, variables: list[Tensor], colors: Colors) -> Move:
        return binary_sites(start, stop, colors, self.transit_p)

    def move(self, start: int, stop: int, variables: list[Tensor], draws: int) -> Move:
        return binary_gibbs(start, stop, self.transit_p, _order(self.order, stop - start))


class CategoricalGibbsMetropolis(StepMethod):
    """Moves categories one by one.

    Parameters
    ----------
    vars : variable or list of variables, optional
        What it moves; by default all that it can.
    proposal : {"uniform", "proportional"}, default "uniform"
        To another category at random, or by their densities.
    order : "random" or list of int, default "random"
        The order of a sweep.
    blocked : bool, default True
        PyMC's argument.
    model : Model, optional
        The model; by default that of the `with` block.
    rng, initial_point, compile_kwargs : optional
        PyMC's arguments; `sample` decides what they are about, and a value warns.

    Examples
    --------
    >>> with pm.Model():
    ...     x = pm.Categorical("x", [0.2, 0.3, 0.5])
    ...     y = pm.Normal("y", x, 1, observed=0.5)
    ...     step = pm.CategoricalGibbsMetropolis()
    >>> [v.name for v in step.vars]
    ['x']
    """

    kinds = "iub"
    blocked = True

    def __init__(
        self, vars: Any = None, *, proposal: str = "uniform", order: Any = "random", model: Model | None = None,
        rng: Any = None, initial_point: Any = None, compile_kwargs: Any = None, blocked: bool = True,
    ) -> None:  # fmt: skip
        super().__init__(vars, model, {"rng": rng, "initial_point": initial_point, "compile_kwargs": compile_kwargs})
        if proposal not in ("uniform", "proportional"):
            raise ValueError(f"CategoricalGibbsMetropolis: proposal is 'uniform' or 'proportional', got {proposal!r}")
        self.proposal, self.order, self.blocked = proposal, order, blocked
        for value in self.vars:
            categories(self.model, value)

    @property
    def by_color(self) -> bool:
        return isinstance(self.order, str) and self.proposal == "uniform"

    def colored(self, start: int, stop: int, variables: list[Tensor], colors: Colors) -> Move:
        return categorical_sites(start, stop, colors, self._counts(stop - start, variables))

    def move(self, start: int, stop: int, variables: list[Tensor], draws: int) -> Move:
        counts = self._counts(stop - start, variables)
        return categorical_gibbs(start, stop, counts, self.proposal, _order(self.order, stop - start))

    def _counts(self, entries: int, variables: list[Tensor]) -> np.ndarray:
        """How many categories each entry has."""
        shapes = [v.type.shape for v in variables]
        sizes = [entries] if len(shapes) == 1 else [int(np.prod(shape)) for shape in shapes]  # type: ignore[arg-type]
        return np.concatenate([np.full(n, categories(self.model, v)) for n, v in zip(sizes, variables, strict=True)])


def categories(model: Model, value: Tensor) -> int:
    """How many values a categorical or binary variable has, counted from 0."""
    rv = model.values_to_rvs[value]
    family = getattr(getattr(rv, "family", None), "__name__", "")
    if family == "Bernoulli":
        return 2
    if family == "Categorical":
        n = shape_of(rv.parameters[0])[-1]  # type: ignore[attr-defined]
        return int(n) if isinstance(n, int) else int(n.eval())
    raise ValueError(
        f'"{rv.name}" is {family or "no draw"}: its categories are not known, so Gibbs steps cannot move it'
    )


def _check_binary(method: StepMethod) -> None:
    for value in method.vars:
        if categories(method.model, value) != 2:
            rv = method.model.values_to_rvs[value]
            raise ValueError(f'{type(method).__name__} moves binary variables, "{rv.name}" has more values')


def _order(order: Any, n: int) -> Any:
    """The order of the entries, one number for each."""
    if isinstance(order, str):
        if order != "random":
            raise ValueError(f"order is 'random' or a permutation of the entries, got {order!r}")
        return order
    if sorted(order) != list(range(n)):
        raise ValueError(f"order must be a permutation of 0, ..., {n - 1}, got {list(order)}")
    return list(order)
