"""Step methods that ask for the log-density alone: random walks, differences of draws, slices."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ppl.model.arguments import count
from ppl.model.inference.steps.proposals import NormalProposal, UniformProposal, chosen
from ppl.model.inference.steps.step_method import StepMethod
from ppl.samplers.steps.evolution import differential_evolution, population_evolution
from ppl.samplers.steps.moves import Move, metropolis
from ppl.samplers.steps.sites import Colors, counting_sites
from ppl.samplers.steps.slice import MOST_STEPS, slice_moves
from ppl.tensor.tensor import Tensor

if TYPE_CHECKING:
    from ppl.model.model import Model


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


def _tunable(method: StepMethod, tune: str | None) -> str | None:
    if tune not in (None, "scaling", "lambda"):
        raise ValueError(f"{type(method).__name__}: tune is None, 'scaling' or 'lambda', got {tune!r}")
    return tune
