"""Step methods: which variables they move, and the moves that do it."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ppl.model.arguments import count
from ppl.model.context import modelcontext
from ppl.model.inference.steps.proposals import NormalProposal, UniformProposal, chosen
from ppl.samplers.steps.evolution import differential_evolution, population_evolution
from ppl.samplers.steps.moves import Move, binary_flips, binary_gibbs, categorical_gibbs, metropolis
from ppl.samplers.steps.sites import Colors, binary_sites, categorical_sites, counting_sites
from ppl.samplers.steps.slice import MOST_STEPS, slice_moves
from ppl.tensor.core.labelled import Labelled, bare
from ppl.tensor.core.sizes import shape as shape_of
from ppl.tensor.tensor import Tensor

if TYPE_CHECKING:
    from ppl.compile.density import Slot
    from ppl.model.model import Model


Finder = Callable[[Sequence[Tensor]], Colors | None]


class StepMethod:
    """Moves some of the variables of a model. `vars` are random variables or their values; None stands for all."""

    kinds = "fiub"  # of dtypes that it can move
    blocked = False  # do its variables move as one?
    population = False  # does a chain learn from the others?

    def __init__(
        self, vars: Any, model: Model | None, of_sample: dict[str, Any], metric: dict[str, Any] | None = None
    ) -> None:
        """`of_sample` are arguments of PyMC that say here what `sample` decides, `metric` those for a mass matrix: they
        are taken with a warning that they have no effect."""
        for name, value in of_sample.items():
            if value is not None:
                _tell(self, name, "draws and starts come from the arguments of sample()")
        for name, value in (metric or {}).items():
            if value is not None:
                _tell(self, name, "the mass matrix is learnt while tuning, from the first draws on")
        self.model = modelcontext(model)
        self.vars = self._values(vars)

    def _values(self, vars: Any) -> list[Tensor]:
        model = self.model
        if vars is None:
            return [value for value in model.value_vars if value.dtype[0] in self.kinds]
        found = []
        known = set(model.value_vars)
        for each in [vars] if isinstance(vars, str | Tensor | Labelled) else list(vars):
            rv = model.variable(each) if isinstance(each, str) else bare(each)
            value = model.rvs_to_values.get(rv, rv)
            if value not in known:
                raise ValueError(f"{type(self).__name__}: {rv!r} is no free variable of the model")
            if value.dtype[0] not in self.kinds:
                kind = "continuous" if value.dtype[0] == "f" else "discrete"
                raise ValueError(f'{type(self).__name__} cannot move "{rv.name}": it is {kind} ({value.dtype})')
            found.append(value)
        if not found:
            raise ValueError(f"{type(self).__name__}: no variables to move")
        return found

    def moves(self, slots: Sequence[Slot], draws: int, colors: Finder) -> Iterator[Move]:
        """The moves for the places of its variables in the vector; of many entries at once where these have colors."""
        for start, stop, variables in self.stretches(slots):
            found = colors(variables) if self.by_color else None
            if found is None:
                yield self.move(start, stop, variables, draws)
            else:
                yield self.colored(start, stop, variables, found)

    @property
    def by_color(self) -> bool:
        """Does it move entry by entry, in any order, so that independent ones may move together?"""
        return False

    def colored(self, start: int, stop: int, variables: list[Tensor], colors: Colors) -> Move:
        """The move of one stretch, entries of a color together."""
        raise NotImplementedError(f"{type(self).__name__} does not move by colors")

    def stretches(self, slots: Sequence[Slot]) -> list[tuple[int, int, list[Tensor]]]:
        """One stretch a variable, or one for all where they move as one."""
        mine = [slot for slot in slots if slot.variable in set(self.vars) and slot.stop > slot.start]
        if self.blocked and mine:
            return [(mine[0].start, mine[-1].stop, [slot.variable for slot in mine])]
        return [(slot.start, slot.stop, [slot.variable]) for slot in mine]

    def move(self, start: int, stop: int, variables: list[Tensor], draws: int) -> Move:
        """The move of one stretch."""
        raise NotImplementedError(f"{type(self).__name__} has no move of its own")

    def __repr__(self) -> str:
        return f"{type(self).__name__}: [{', '.join(str(v.name) for v in self.vars)}]"


def _tell(method: StepMethod, name: str, why: str) -> None:
    warnings.warn(f"{type(method).__name__}: {name}= has no effect: {why}.", UserWarning, stacklevel=5)


def _scale(step_scale: Any) -> float | None:
    """A factor of the first step size."""
    if step_scale is not None and not step_scale > 0:
        raise ValueError(f"step_scale must be positive, got {step_scale!r}. The usual value is 0.25.")
    return None if step_scale is None else float(step_scale)


class NUTS(StepMethod):
    """The No-U-Turn sampler, for variables with a gradient: trajectories along gradients that end where they turn back.

    Parameters
    ----------
    vars : variable or list of variables, optional
        What it moves; by default all that it can.
    max_treedepth : int, default 10
        The most doublings of a trajectory, of up to 2 to this power steps.
    target_accept : float, default 0.8
        The mean rate of acceptance that the step size is tuned to, between 0 and 1. Nearer to 1 the steps are smaller,
        and divergences fewer.
    step_scale : float, optional
        Where the search for a step size starts; 0.25 by default.
    scaling, is_cov, potential : optional
        PyMC's mass matrix; here it is learnt while tuning, and a value warns.
    model : Model, optional
        The model; by default that of the `with` block.
    rng, initial_point, compile_kwargs : optional
        PyMC's arguments; `sample` decides what they are about, and a value warns.

    Examples
    --------
    >>> with pm.Model():
    ...     x = pm.Normal("x", 0, 1)
    ...     y = pm.Normal("y", x, 1, observed=0.5)
    ...     result = pm.sample(100, tune=100, chains=1, step=pm.NUTS(target_accept=0.9), random_seed=1, quiet=True)
    >>> result.posterior["x"].shape
    (1, 100)
    """

    kinds = "f"
    blocked = True

    def __init__(
        self,
        vars: Any = None,
        max_treedepth: int = 10,
        target_accept: float = 0.8,
        model: Model | None = None,
        *,
        step_scale: float | None = None,
        scaling: Any = None,
        is_cov: bool | None = None,
        potential: Any = None,
        rng: Any = None,
        initial_point: Any = None,
        compile_kwargs: Any = None,
    ) -> None:
        without_effect = {"scaling": scaling, "is_cov": is_cov, "potential": potential}
        super().__init__(
            vars, model, {"rng": rng, "initial_point": initial_point, "compile_kwargs": compile_kwargs}, without_effect
        )
        self.max_treedepth = count("max_treedepth", max_treedepth, 1)
        self.target_accept = _rate(target_accept)
        self.step_scale = _scale(step_scale)


class HamiltonianMC(StepMethod):
    """Hamiltonian Monte Carlo: trajectories of random length, `path_length` on average, along gradients.

    Parameters
    ----------
    vars : variable or list of variables, optional
        What it moves; by default all that it can.
    path_length : float, default 2.0
        The mean length of a trajectory, in units of the scaled coordinates.
    max_steps : int, default 1024
        The most steps of a trajectory.
    target_accept : float, default 0.65
        The mean rate of acceptance that the step size is tuned to.
    step_scale : float, optional
        Where the search for a step size starts.
    scaling, is_cov, potential : optional
        PyMC's mass matrix; here it is learnt while tuning, and a value warns.
    model : Model, optional
        The model; by default that of the `with` block.
    rng, initial_point, compile_kwargs : optional
        PyMC's arguments; `sample` decides what they are about, and a value warns.

    Examples
    --------
    >>> with pm.Model():
    ...     x = pm.Normal("x", 0, 1)
    ...     y = pm.Normal("y", x, 1, observed=0.5)
    ...     step = pm.HamiltonianMC()
    >>> [v.name for v in step.vars]
    ['x']
    """

    kinds = "f"
    blocked = True

    def __init__(
        self,
        vars: Any = None,
        path_length: float = 2.0,
        max_steps: int = 1024,
        *,
        target_accept: float = 0.65,
        model: Model | None = None,
        step_scale: float | None = None,
        scaling: Any = None,
        is_cov: bool | None = None,
        potential: Any = None,
        rng: Any = None,
        initial_point: Any = None,
        compile_kwargs: Any = None,
    ) -> None:
        without_effect = {"scaling": scaling, "is_cov": is_cov, "potential": potential}
        super().__init__(
            vars, model, {"rng": rng, "initial_point": initial_point, "compile_kwargs": compile_kwargs}, without_effect
        )
        if not path_length > 0:
            raise ValueError(f"HamiltonianMC: path_length must be positive, got {path_length!r}")
        self.path_length = float(path_length)
        self.max_treedepth = max(1, count("max_steps", max_steps, 1).bit_length() - 1)
        self.target_accept = _rate(target_accept)
        self.step_scale = _scale(step_scale)


class Metropolis(StepMethod):
    """A random walk, entry by entry, whose scales are tuned to the rate of acceptance.

    Parameters
    ----------
    vars : variable or list of variables, optional
        What it moves; by default all that it can.
    S : float or array, optional
        Scale, or covariance, of the proposals.
    proposal_dist : proposal, optional
        The family of proposals: `NormalProposal`, `CauchyProposal`, ...; normal, or Poisson for counts, by default.
    scaling : float, default 1.0
        What proposals are multiplied by at the start.
    tune : bool, default True
        Whether scales are tuned to the rate of acceptance.
    tune_interval : int, default 100
        How many iterations lie between two changes of the scale.
    mode : optional
        PyMC's argument for its compiler; a value warns.
    blocked : bool, default False
        Whether all entries of a variable are moved together.
    model : Model, optional
        The model; by default that of the `with` block.
    rng, initial_point, compile_kwargs : optional
        PyMC's arguments; `sample` decides what they are about, and a value warns.

    Examples
    --------
    >>> with pm.Model():
    ...     x = pm.Normal("x", 0, 1)
    ...     y = pm.Normal("y", x, 1, observed=0.5)
    ...     step = pm.Metropolis()
    >>> [v.name for v in step.vars]
    ['x']
    """

    def __init__(
        self,
        vars: Any = None,
        *,
        S: Any = None,
        proposal_dist: Any = None,
        scaling: Any = 1.0,
        tune: bool = True,
        tune_interval: int = 100,
        model: Model | None = None,
        mode: Any = None,
        rng: Any = None,
        initial_point: Any = None,
        compile_kwargs: Any = None,
        blocked: bool = False,
    ) -> None:
        unsupported = {"mode": mode, "rng": rng, "initial_point": initial_point, "compile_kwargs": compile_kwargs}
        super().__init__(vars, model, unsupported)
        self.proposal = chosen(proposal_dist, S, NormalProposal)
        self.scaling, self.tune, self.blocked = scaling, tune, blocked or self.proposal.together
        self.tune_interval = count("tune_interval", tune_interval, 1)
        if self.blocked and len({v.dtype[0] == "f" for v in self.vars}) > 1:
            raise ValueError("Metropolis: discrete and continuous variables do not move in one block")

    @property
    def by_color(self) -> bool:
        return not self.blocked and self.vars[0].dtype[0] != "f"

    def colored(self, start: int, stop: int, variables: list[Tensor], colors: Colors) -> Move:
        return counting_sites(
            start, stop, colors, self.proposal.draw, self.proposal.key, scaling=self.scaling, tune=self.tune,
            interval=self.tune_interval,
        )  # fmt: skip

    def move(self, start: int, stop: int, variables: list[Tensor], draws: int) -> Move:
        return metropolis(
            start, stop, self.proposal.draw, self.proposal.key, discrete=variables[0].dtype[0] != "f",
            together=self.proposal.together, scaling=self.scaling, tune=self.tune, interval=self.tune_interval,
        )  # fmt: skip


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


class Slice(StepMethod):
    """Slice sampling, entry by entry: a point under the density at a random height, without a rate to tune.

    Parameters
    ----------
    vars : variable or list of variables, optional
        What it moves; by default all that it can.
    w : float or array, default 1.0
        The first width of the interval around the current value.
    tune : bool, default True
        Whether widths are tuned.
    iter_limit : float, default inf
        The most steps out and in of one move.
    blocked : bool, default False
        PyMC's argument; entries are moved one by one.
    model : Model, optional
        The model; by default that of the `with` block.
    rng, initial_point, compile_kwargs : optional
        PyMC's arguments; `sample` decides what they are about, and a value warns.

    Examples
    --------
    >>> with pm.Model():
    ...     x = pm.Normal("x", 0, 1)
    ...     y = pm.Normal("y", x, 1, observed=0.5)
    ...     result = pm.sample(100, tune=100, chains=1, step=pm.Slice(), random_seed=1, quiet=True)
    >>> result.posterior["x"].shape
    (1, 100)
    """

    kinds = "f"

    def __init__(
        self, vars: Any = None, *, w: Any = 1.0, tune: bool = True, model: Model | None = None,
        iter_limit: float = np.inf, rng: Any = None, initial_point: Any = None, compile_kwargs: Any = None,
        blocked: bool = False,
    ) -> None:  # fmt: skip
        super().__init__(vars, model, {"rng": rng, "initial_point": initial_point, "compile_kwargs": compile_kwargs})
        self.w, self.tune, self.blocked = w, tune, blocked
        self.iter_limit = MOST_STEPS if np.isinf(iter_limit) else count("iter_limit", iter_limit, 1)

    def move(self, start: int, stop: int, variables: list[Tensor], draws: int) -> Move:
        return slice_moves(start, stop, self.w, self.tune, self.iter_limit)


class DEMetropolis(StepMethod):
    """Steps along differences of other chains, of which there should be more than dimensions.

    The chains move in one program, each given where the others are now; with fewer chains they make other draws.

    Parameters
    ----------
    vars : variable or list of variables, optional
        What it moves; by default all that it can.
    S : float or array, optional
        Scale of the noise that is added to a step.
    proposal_dist : proposal, optional
        The family of this noise.
    lamb : float, optional
        What differences are multiplied by; 2.38/√(2d) by default, for d dimensions.
    scaling : float, default 0.001
        What the noise is multiplied by.
    tune : "scaling", "lambda" or None, default "scaling"
        What is tuned.
    tune_interval : int, default 100
        How many iterations lie between two changes.
    mode : optional
        PyMC's argument for its compiler; a value warns.
    blocked : bool, default True
        PyMC's argument; all entries are moved together.
    model : Model, optional
        The model; by default that of the `with` block.
    rng, initial_point, compile_kwargs : optional
        PyMC's arguments; `sample` decides what they are about, and a value warns.

    Examples
    --------
    >>> with pm.Model():
    ...     x = pm.Normal("x", 0, 1)
    ...     y = pm.Normal("y", x, 1, observed=0.5)
    ...     step = pm.DEMetropolis()
    >>> [v.name for v in step.vars]
    ['x']
    """

    kinds = "f"
    blocked = True
    population = True

    def __init__(
        self, vars: Any = None, *, S: Any = None, proposal_dist: Any = None, lamb: float | None = None,
        scaling: float = 0.001, tune: str | None = "scaling", tune_interval: int = 100, model: Model | None = None,
        mode: Any = None, rng: Any = None, initial_point: Any = None, compile_kwargs: Any = None, blocked: bool = True,
    ) -> None:  # fmt: skip
        unsupported = {"mode": mode, "rng": rng, "initial_point": initial_point, "compile_kwargs": compile_kwargs}
        super().__init__(vars, model, unsupported)
        self.proposal = chosen(proposal_dist, S, NormalProposal)
        self.lamb, self.scaling, self.tune, self.blocked = lamb, scaling, _tunable(self, tune), blocked
        self.tune_interval = count("tune_interval", tune_interval, 1)

    def move(self, start: int, stop: int, variables: list[Tensor], draws: int) -> Move:
        return population_evolution(
            start, stop, self.proposal.draw, self.proposal.key, lamb=self.lamb, scaling=self.scaling, tune=self.tune,
            interval=self.tune_interval,
        )  # fmt: skip


class DEMetropolisZ(StepMethod):
    """Steps along differences of the chain's own past.

    Parameters
    ----------
    vars : variable or list of variables, optional
        What it moves; by default all that it can.
    S : float or array, optional
        Scale of the noise that is added to a step.
    proposal_dist : proposal, optional
        The family of this noise.
    lamb : float, optional
        What differences are multiplied by; 2.38/√(2d) by default, for d dimensions.
    scaling : float, default 0.001
        What the noise is multiplied by.
    tune : "scaling", "lambda" or None, default "scaling"
        What is tuned.
    tune_interval : int, default 100
        How many iterations lie between two changes.
    tune_drop_fraction : float, default 0.9
        The share of the past that is forgotten when tuning ends.
    mode : optional
        PyMC's argument for its compiler; a value warns.
    blocked : bool, default True
        PyMC's argument; all entries are moved together.
    model : Model, optional
        The model; by default that of the `with` block.
    rng, initial_point, compile_kwargs : optional
        PyMC's arguments; `sample` decides what they are about, and a value warns.

    Examples
    --------
    >>> with pm.Model():
    ...     x = pm.Normal("x", 0, 1)
    ...     y = pm.Normal("y", x, 1, observed=0.5)
    ...     step = pm.DEMetropolisZ()
    >>> [v.name for v in step.vars]
    ['x']
    """

    kinds = "f"
    blocked = True

    def __init__(
        self, vars: Any = None, *, S: Any = None, proposal_dist: Any = None, lamb: float | None = None,
        scaling: float = 0.001, tune: str | None = "scaling", tune_interval: int = 100, tune_drop_fraction: float = 0.9,
        model: Model | None = None, initial_point: Any = None, compile_kwargs: Any = None, mode: Any = None,
        rng: Any = None, blocked: bool = True,
    ) -> None:  # fmt: skip
        unsupported = {"mode": mode, "rng": rng, "initial_point": initial_point, "compile_kwargs": compile_kwargs}
        super().__init__(vars, model, unsupported)
        self.proposal = chosen(proposal_dist, S, UniformProposal)
        self.lamb, self.scaling, self.tune, self.blocked = lamb, scaling, _tunable(self, tune), blocked
        self.tune_interval, self.drop_fraction = count("tune_interval", tune_interval, 1), tune_drop_fraction

    def move(self, start: int, stop: int, variables: list[Tensor], draws: int) -> Move:
        return differential_evolution(
            start, stop, self.proposal.draw, self.proposal.key, rows=draws, lamb=self.lamb, scaling=self.scaling,
            tune=self.tune, interval=self.tune_interval, drop_fraction=self.drop_fraction,
        )  # fmt: skip


class CompoundStep:
    """Several step methods, one after the other in each sweep.

    Parameters
    ----------
    methods : list of step methods
        In the order of the sweep.

    Examples
    --------
    >>> with pm.Model():
    ...     x, z = pm.Normal("x", 0, 1), pm.Bernoulli("z", 0.3)
    ...     both = pm.CompoundStep([pm.Slice([x]), pm.BinaryGibbsMetropolis([z])])
    >>> len(both.methods)
    2
    """

    def __init__(self, methods: Sequence[Any]) -> None:
        self.methods = list(methods)

    def __repr__(self) -> str:
        return f"CompoundStep: {self.methods}"


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


def _rate(target_accept: float) -> float:
    if not 0 < target_accept < 1:
        raise ValueError(f"target_accept must lie between 0 and 1, got {target_accept!r}. The usual value is 0.8.")
    return float(target_accept)


def _tunable(method: StepMethod, tune: str | None) -> str | None:
    if tune not in (None, "scaling", "lambda"):
        raise ValueError(f"{type(method).__name__}: tune is None, 'scaling' or 'lambda', got {tune!r}")
    return tune


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


STEP_METHODS = [
    NUTS, HamiltonianMC, BinaryGibbsMetropolis, BinaryMetropolis, CategoricalGibbsMetropolis, DEMetropolis,
    DEMetropolisZ, Metropolis, Slice,
]  # fmt: skip
