"""Names of `pymc` that are found on first use: ArviZ's, PyMC's modules, and what is not here yet, with the reason."""

from __future__ import annotations

import importlib
import sys
from typing import Any

from ppl.model.former import FUNCTIONS, hint
from ppl.model.names.longer_paths import MODULES

ARVIZ = frozenset(
    """ELPDData apply_test_function autocorr autocov bayes_factor bfmi compare ess hdi kde loo loo_pit make_ufunc mcse
    plot_autocorr plot_bf plot_bpv plot_compare plot_density plot_dist plot_dist_comparison plot_dot plot_ecdf plot_elpd
    plot_energy plot_ess plot_forest plot_hdi plot_kde plot_khat plot_lm plot_loo_pit plot_mcse plot_pair plot_parallel
    plot_posterior plot_ppc plot_rank plot_separation plot_trace plot_ts plot_violin psens psislw r2_samples r2_score
    reloo rhat smooth_data waic weight_predictions wrap_xarray_ufunc""".split()
)
# Modules that PyMC lets one reach without their parents' names.
SHORTER = {
    path.rpartition(".")[2]: path
    for path in MODULES
    if path.split(".")[0] in ("sampling", "step_methods", "tuning") and "." in path and not path.endswith("jax")
}
# Names of rooms above this one, which are imported on first use; a room's own name is that of a module.
ROOMS = {
    "scoring": "KFold kfold loo_wrapper sbc sensitivity",
    "smc": "sample_smc",
    "sources": "SourceRows from_arrow",
    "distributed": "",
    "many": "FitError Fits map_fits sample_many",
    "variational": """ADVI ASVGD FullRankADVI ImplicitGradient Inference KLqp SVGD fit fit_dadvi fit_laplace
    fit_pathfinder Empirical FullRank MeanField sample_approx Approximation Group Stein adadelta adagrad
    adagrad_window adam adamax apply_momentum apply_nesterov_momentum momentum nesterov_momentum norm_constraint rmsprop
    sgd total_norm_constraint callbacks approximations opvi stein updates inference operators test_functions""",
}
OF_ROOMS = {name: room for room, names in ROOMS.items() for name in (room, *names.split())}
# Why a name is not here, and the names.
LATER = {
    "a family of one's own is written with CustomDist": "SymbolicRandomVariable",
    "step methods here are moves of a compiled sweep, which no user's class can join yet": "BlockedStep",
    "sample_posterior_predictive and compute_deterministics do what it is for":
        "vectorize_over_posterior compile_forward_sampling_function",
    "it is an inner module of PyMC": """arraystep handler logging minibatch_rv parallel population
    progress_bar state step_sizes""",
}  # fmt: skip
WHERE = {name: reason for reason, names in LATER.items() for name in names.split()}


def room(name: str) -> Any:
    """A room above this one, imported now."""
    return importlib.import_module(f"ppl.{name}")


def find(name: str) -> Any:
    """The attribute `name` of `ppl`, where it comes from elsewhere; an error that says why it is not there."""
    if name in ARVIZ:
        arviz = importlib.import_module("arviz")
        if hasattr(arviz, name):
            return getattr(arviz, name)
        raise AttributeError(f"ppl.{name} is ArviZ's, and ArviZ {arviz.__version__} has it no more")
    if name in OF_ROOMS:
        found = room(OF_ROOMS[name])
        return found if name == OF_ROOMS[name] else getattr(found, name)
    if name in MODULES:
        return sys.modules[f"ppl.{name}"]
    if name in SHORTER:
        return sys.modules[f"ppl.{SHORTER[name]}"]
    if name in WHERE:
        raise AttributeError(f"ppl has no {name!r} yet: {WHERE[name]}")
    raise AttributeError(f"module 'ppl' has no attribute {name!r}{hint(name, FUNCTIONS)}")


def page() -> str:
    """The page of what is not here yet, in Markdown."""
    rows = [f"| {', '.join(f'`{name}`' for name in names.split())} | {why} |" for why, names in LATER.items()]
    head = "# Names of PyMC that are not here yet\n\nWritten by `python3 docs/generate_not_yet.py`.\n"
    return "\n".join([head, "| names | why |", "|---|---|", *rows, ""])
