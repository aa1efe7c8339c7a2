"""The arguments of `sample` that steer NUTS and the result, put in order and checked."""

from __future__ import annotations

import inspect
import os
import warnings
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from ppl.model.arguments import check_keys, count, unknown
from ppl.model.former import ARGUMENTS, hint
from ppl.model.log import log

SAMPLERS = ("ppl", "pymc", "nutpie", "numpyro", "blackjax")
NUTS_OPTIONS = ("target_accept", "max_treedepth", "step_scale")
OWN_OPTIONS = (*NUTS_OPTIONS, "metric", "integrator", "kernel", "chain_method")
RESULT_OPTIONS = ("log_likelihood", "log_prior", "include_transformed", "coords", "dims", "save_warmup")
PROGRESS = ("combined", "split", "combined+stats", "stats+combined", "split+stats", "stats+split")
PYMC_NUTS = (
    "early_max_treedepth potential scaling is_cov gamma k t0 adapt_step_size Emax vars step_rand mode on_error".split()
)

# From PyMC's names for a start to the metric that is adapted, and whether starts are jittered.
INITS: dict[str, tuple[str, bool]] = {
    "auto": ("auto", True),
    "jitter+adapt_diag": ("welford_diag", True),
    "adapt_diag": ("welford_diag", False),
    "jitter+adapt_diag_grad": ("fisher_diag", True),
    "jitter+adapt_full": ("low_rank", True),
    "adapt_full": ("low_rank", False),
    "map": ("auto", False),
    "advi": ("auto", False),
    "advi+adapt_diag": ("welford_diag", False),
    "advi+adapt_diag_grad": ("fisher_diag", False),
    "advi_map": ("auto", False),
    "pathfinder": ("auto", False),
}


class Nuts(NamedTuple):
    """How NUTS runs."""

    target_accept: float
    max_treedepth: int
    step_scale: float | None
    metric: str
    integrator: str
    jitter: bool
    begin: str  # where chains start: "support", or at an optimum ("map") or draws of "advi" or "pathfinder"
    kernel: str = "nuts"
    chain_method: str = "auto"


def nuts_options(init: Any, options: dict[str, Any], sampler_options: Mapping[str, Any] | None) -> Nuts:
    """NUTS by its keywords, by `nuts={...}` and by `init`; takes what it knows out of `options`."""
    if not isinstance(init, str) or init.lower() not in INITS:
        raise ValueError(unknown("init: there is no start called", str(init), INITS))
    metric, jitter = INITS[init.lower()]
    nested = dict(options.pop("nuts", None) or {})
    for name in nested:
        if name not in OWN_OPTIONS:
            raise TypeError(_unsupported("nuts", name))
    direct = {name: options.pop(name) for name in NUTS_OPTIONS if name in options}
    own = check_keys("nuts_sampler_kwargs", sampler_options, OWN_OPTIONS)
    chosen: dict[str, Any] = {}
    for where in (nested, direct, own):
        for name, value in where.items():
            if name in chosen:
                raise ValueError(
                    f"`{name}` was defined twice: as an argument of sample() and in nuts={{...}}. Give it once."
                )
            chosen[name] = value
    target = chosen.get("target_accept", 0.8)
    if isinstance(target, bool) or not isinstance(target, int | float) or not 0 < target < 1:
        raise ValueError(f"target_accept must lie between 0 and 1, got {target!r}. The usual value is 0.8.")
    scale = chosen.get("step_scale")
    if scale is not None and not scale > 0:
        raise ValueError(f"step_scale must be positive, got {scale!r}. The usual value is 0.25.")
    return Nuts(
        float(target),
        count("max_treedepth", chosen.get("max_treedepth", 10), 1),
        scale,
        chosen.get("metric", metric),
        chosen.get("integrator", "leapfrog"),
        jitter,
        next((word for word in ("advi", "pathfinder", "map") if word in init.lower().split("+")[0]), "support"),
        chosen.get("kernel", "nuts"),
        chosen.get("chain_method", "auto"),
    )


def steers_nuts(step: Any, nuts_sampler: str, init: str, options: Mapping[str, Any], sampler_options: Any) -> bool:
    """Did the user choose a sampler, or say how it is to run? `target_accept` alone chooses none: it is given against
    divergences, of which independent draws have none, and is for NUTS where that runs.

    >>> [steers_nuts(None, "ppl", "auto", {name: 9}, None) for name in ("target_accept", "max_treedepth")]
    [False, True]
    """
    steering = [options.get(name) for name in ("nuts", *NUTS_OPTIONS) if name != "target_accept"]
    return (
        step is not None
        or nuts_sampler != "ppl"
        or str(init).lower() != "auto"
        or bool(sampler_options)
        or any(each is not None for each in steering)
    )


def _unsupported(where: str, name: str) -> str:
    if name in PYMC_NUTS:
        return f"{where}: {name!r} of PyMC's NUTS has no counterpart here; there are {', '.join(OWN_OPTIONS)}."
    return unknown(f"{where} has no option", name, OWN_OPTIONS)


def refuse_unknown(options: Mapping[str, Any], function: Callable[..., Any]) -> None:
    """Raise for arguments that nothing takes."""
    for name in options:
        if name in PYMC_NUTS:
            raise TypeError(_unsupported(f"{function.__name__}()", name))
        who = f"{function.__name__}() has no argument"
        if name in ARGUMENTS:
            raise TypeError(f"{who} {name!r}{hint(name, ARGUMENTS)}.")
        known = [name for name, p in inspect.signature(function).parameters.items() if p.kind is not p.VAR_KEYWORD]
        raise TypeError(unknown(who, name, [*known, *NUTS_OPTIONS, "nuts", "start"]))


def refuse_unsupported(**given: Any) -> None:
    """Raise, or say so where it is harmless, for arguments of PyMC that have no meaning here."""
    if given["trace"] is not None:
        if isinstance(given["trace"], list):
            raise ValueError("Please use the `var_names` argument for partial traces.")
        raise TypeError(
            "trace=: draws are kept in memory, or on disk with resume=<directory>. Other stores are not supported."
        )
    if given["progressbar_theme"] is not None:
        raise TypeError("progressbar_theme= is not supported: the display has one set of colors")
    if given["keep_warning_stat"]:
        raise TypeError(
            "keep_warning_stat=True: there is no statistic of warning objects; divergences are in `diverging`"
        )
    if given["n_init"] is not None and "advi" not in str(given["init"]).lower():
        warnings.warn("n_init counts iterations of ADVI starts, and there are none here", UserWarning, stacklevel=6)
    if given["mp_ctx"] is not None or given["blas_cores"] not in ("auto", None):
        log.info("Chains run in threads of one process: mp_ctx and blas_cores have no meaning here.")
    check_keys("compile_kwargs", given["compile_kwargs"], ("mode",))
    if (given["compile_kwargs"] or {}).get("mode") not in (None, "JAX"):
        log.info(
            "compile_kwargs: XLA compiles every program; the mode %r is not needed.", given["compile_kwargs"]["mode"]
        )
    shown = given["progressbar"]
    if not isinstance(shown, bool) and shown not in PROGRESS:
        raise ValueError(f"progressbar is True, False, or one of {', '.join(PROGRESS)}, got {shown!r}")


def layout_of_chains(draws: Any, tune: Any, chains: Any, cores: Any) -> tuple[int, int, int, int]:
    """Counts, each checked, with PyMC's defaults."""
    cores = min(4, os.cpu_count() or 1) if cores is None else count("cores", cores, 1)
    chains = max(2, cores) if chains is None else count("chains", chains, 1)
    return count("draws", draws, 0), count("tune", tune, 0), chains, cores
