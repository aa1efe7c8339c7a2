"""Step methods that follow gradients: NUTS and HMC with trajectories of a given length."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ppl.model.arguments import count
from ppl.model.inference.steps.step_method import StepMethod

if TYPE_CHECKING:
    from ppl.model.model import Model


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


def _scale(step_scale: Any) -> float | None:
    """A factor of the first step size."""
    if step_scale is not None and not step_scale > 0:
        raise ValueError(f"step_scale must be positive, got {step_scale!r}. The usual value is 0.25.")
    return None if step_scale is None else float(step_scale)


def _rate(target_accept: float) -> float:
    if not 0 < target_accept < 1:
        raise ValueError(f"target_accept must lie between 0 and 1, got {target_accept!r}. The usual value is 0.8.")
    return float(target_accept)
