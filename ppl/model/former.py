"""What PyMC 3 and 4 called things, and what to write now: for errors, where such a name is met."""

from __future__ import annotations

FUNCTIONS = {
    "traceplot": "plot_trace",
    "forestplot": "plot_forest",
    "autocorrplot": "plot_autocorr",
    "energyplot": "plot_energy",
    "pairplot": "plot_pair",
    "densityplot": "plot_density",
    "compareplot": "plot_compare",
    "hpd": "hdi",
    "gelman_rubin": "rhat",
    "effective_n": "ess",
    "trace_to_dataframe": "to_dataframe() of the result's posterior",
    "sample_ppc": "sample_posterior_predictive",
    "fast_sample_posterior_predictive": "sample_posterior_predictive",
    "Bound": "Truncated(name, dist, lower=, upper=)",
    "Constant": "DiracDelta",
    "Exgaussian": "ExGaussian",
    "theanof": "pytensorf",
    "aesaraf": "pytensorf",
    "GLM": "a linear predictor, as in Normal(name, a + X @ b, sigma)",
    "glm": "a linear predictor, as in Normal(name, a + X @ b, sigma)",
}
OF_MODELS = {
    "test_point": "initial_point()",
    "vars": "free_RVs, or value_vars for what the sampler moves",
    "logpt": "logp()",
    "fastlogp": "compile_logp()",
    "fastdlogp": "compile_dlogp()",
    "fastfn": "compile_fn(...)",
    "check_test_point": "point_logps()",
    "makefn": "compile_fn(...)",
}
ARGUMENTS = {"njobs": "cores", "nuts_kwargs": "nuts", "step_kwargs": "nuts"}


def hint(name: str, now: dict[str, str]) -> str:
    """The end of an error for a name; nothing where it is none of the former ones."""
    return f"; write {now[name]} instead" if name in now else ""
