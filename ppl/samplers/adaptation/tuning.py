"""The settings by which NUTS and HMC tune themselves, checked, and what follows from them."""

from collections.abc import Callable, Hashable
from functools import partial
from typing import Any, NamedTuple

from ppl.samplers.adaptation.attend import ESTIMATORS, metric_chooser
from ppl.samplers.adaptation.warmup import FISHER, FROZEN, Plan, Transition, plan
from ppl.samplers.kernels import hmc, nuts
from ppl.samplers.kernels.integrators import INTEGRATORS, Integrator

COLUMNS = 16  # room for low-rank directions
METRICS = ("auto", "fisher_diag", "welford_diag", "low_rank", "identity")


class Tuning(NamedTuple):
    """Settings of the warm-up."""

    target_accept: float
    max_treedepth: int
    metric: str
    step_scale: float | None
    integrator: str

    @property
    def scheme(self) -> Integrator:
        """The coefficients of the integrator."""
        return INTEGRATORS[self.integrator]

    def columns(self, dim: int) -> int:
        """For how many low-rank directions a metric of ``dim`` dimensions has room."""
        return min(COLUMNS, dim) if self.metric in ("auto", "low_rank") and dim > 1 else 0

    def chooser(self, dim: int, work_of_gradient: Callable[[], float]) -> Callable[..., Any]:
        """The host's part of the warm-up."""
        return metric_chooser(self.metric, self.columns(dim), work_of_gradient)

    def room(self, kernel: str) -> Callable[[Any], Any]:
        """What makes the memory that a kernel's transitions hand on."""
        return partial(nuts.no_checkpoints, levels=self.max_treedepth) if kernel == "nuts" else lambda position: ()

    def transition(self, kernel: str, path_length: float | None) -> tuple[Transition, tuple[Hashable, ...]]:
        """The transition of a kernel, and what stands for it in the keys of programs."""
        if kernel not in ("nuts", "hmc"):
            raise ValueError(f"kernel must be nuts or hmc, got {kernel!r}.")
        if path_length is not None and (kernel != "hmc" or path_length <= 0):
            raise ValueError(
                f"path_length is a positive length of the trajectories of kernel='hmc', got {path_length!r}."
            )
        if kernel == "hmc":
            how_far = hmc.QUARTER_PERIOD if path_length is None else float(path_length)
            return partial(hmc.transition, integrator=self.scheme, path_length=how_far), ("hmc", how_far)
        levels = self.max_treedepth
        return partial(nuts.transition, integrator=self.scheme, levels=levels), ("nuts", levels)

    def plan(self, tune: int, dim: int, of: int) -> Plan:
        """The plan of ``tune`` tuning draws when ``dim`` of the ``of`` dimensions are moved by NUTS or HMC."""
        estimator = FROZEN if self.metric == "identity" else ESTIMATORS.get(self.metric, FISHER)
        return plan(
            tune,
            self.target_accept,
            self.max_treedepth,
            0.1 if self.step_scale is None else self.step_scale / max(of, 1) ** 0.25,
            FISHER if self.metric == "low_rank" else estimator,
            ask_host=self.columns(dim) > 0,
        )


def tuning(target_accept: float, max_treedepth: Any, metric: str, step_scale: float | None, integrator: str) -> Tuning:
    """The settings, or an error that says which one cannot be."""
    if not 0 < target_accept < 1:
        raise ValueError(f"target_accept must lie between 0 and 1, got {target_accept}. The usual value is 0.8.")
    if metric not in METRICS:
        raise ValueError(f"metric must be one of {', '.join(METRICS)}, got {metric!r}.")
    if integrator not in INTEGRATORS:
        raise ValueError(f"integrator must be one of {', '.join(INTEGRATORS)}, got {integrator!r}.")
    return Tuning(target_accept, whole("max_treedepth", max_treedepth, 1), metric, step_scale, integrator)


def whole(name: str, value: Any, least: int) -> int:
    """A whole number of at least ``least``."""
    if isinstance(value, bool) or not float(value).is_integer() or value < least:
        raise ValueError(f"{name} must be a whole number of at least {least}, got {value!r}.")
    return int(value)
