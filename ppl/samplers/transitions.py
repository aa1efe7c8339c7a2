"""What moves a position along its gradient, by its name."""

from functools import partial

from . import hmc, nuts
from .tuning import Tuning
from .warmup import Transition


def transition_for(kernel: str, path_length: float | None, steering: Tuning) -> Transition:
    """NUTS, or HMC with trajectories of random length up to twice ``path_length``."""
    if kernel not in ("nuts", "hmc"):
        raise ValueError(f"kernel must be nuts or hmc, got {kernel!r}.")
    check_path_length(kernel, path_length)
    if kernel == "nuts":
        return partial(nuts.transition, integrator=steering.scheme, levels=steering.max_treedepth)
    length = hmc.QUARTER_PERIOD if path_length is None else float(path_length)
    return partial(hmc.transition, integrator=steering.scheme, path_length=length)


def check_path_length(kernel: str, path_length: float | None) -> None:
    """Refuse a length where nothing takes one."""
    if path_length is not None and (kernel != "hmc" or path_length <= 0):
        raise ValueError(f"path_length is a positive length of the trajectories of kernel='hmc', got {path_length!r}.")
