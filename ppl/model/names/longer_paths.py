"""PyMC's modules: names of this package by the longer paths that programs import them from.

Each is a module that looks its names up in the package when they are asked for. It stands in `sys.modules`, so that
`from ppl.distributions.timeseries import GaussianRandomWalk` works as it does in PyMC.
"""

from __future__ import annotations

import functools
import sys
from types import ModuleType
from typing import Any

from ppl.model.names.surface import gradient, hessian_matrix, jacobian_matrix

STEPS = """BinaryGibbsMetropolis BinaryMetropolis CategoricalGibbsMetropolis CauchyProposal DEMetropolis
    DEMetropolisZ LaplaceProposal Metropolis MultivariateNormalProposal NormalProposal PoissonProposal
    UniformProposal"""
# Names by module; those that are modules have rows of their own. Some of PyMC's modules are files here, and in no row.
MODULES = {
    "backends": "arviz predictions_to_inference_data to_inference_data",
    "backends.arviz": "predictions_to_inference_data to_inference_data",
    "blocking": "DictToArrayBijection RaveledVars",
    "data": "ConstantData Data Minibatch MutableData get_data",
    "distributions.continuous": """AsymmetricLaplace Beta Cauchy ChiSquared ExGaussian Exponential Flat Gamma Gumbel
    HalfCauchy HalfFlat HalfNormal HalfStudentT Interpolated InverseGamma Kumaraswamy Laplace LogNormal Logistic
    LogitNormal Lognormal Moyal Normal Pareto PolyaGamma Rice SkewNormal SkewStudentT StudentT Triangular
    TruncatedNormal Uniform VonMises Wald Weibull""",
    "distributions.custom": "CustomDist",
    "distributions.discrete": """Bernoulli BetaBinomial Binomial Categorical DiscreteUniform DiscreteWeibull Geometric
    HyperGeometric NegativeBinomial OrderedLogistic OrderedProbit Poisson""",
    "distributions.multivariate": """CAR Dirichlet DirichletMultinomial ICAR KroneckerNormal LKJCholeskyCov LKJCorr
    MatrixNormal Multinomial MvNormal MvStudentT OrderedMultinomial StickBreakingWeights Wishart WishartBartlett
    ZeroSumNormal""",
    "distributions.timeseries": """AR EulerMaruyama GARCH11 GaussianRandomWalk MvGaussianRandomWalk
    MvStudentTRandomWalk RandomWalk""",
    "exceptions": """ImputationWarning IncorrectArgumentsError SamplingError ShapeError ShapeWarning
    TraceDirectoryError""",
    "func_utils": "find_constrained_prior",
    "logprob": "basic conditional_logp icdf logccdf logcdf logp",
    "logprob.basic": "conditional_logp icdf logccdf logcdf logp",
    "model.core": "Deterministic Model Point Potential compile_fn modelcontext set_data",
    "model.fgraph": "clone_model",
    "model.transform": "conditioning optimization",
    "model.transform.conditioning": "change_value_transforms do observe remove_value_transforms",
    "model.transform.optimization": "freeze_dims_and_data",
    "model_graph": "model_to_graphviz model_to_mermaid model_to_networkx",
    "plots": """plot_autocorr plot_compare plot_density plot_energy plot_ess plot_forest plot_pair plot_posterior
    plot_ppc plot_rank plot_trace""",
    "pytensorf": """CallableTensor collect_default_updates cont_inputs convert_data convert_observed_data floatX
    gradient hessian hessian_diag inputvars intX jacobian join_nonshared_inputs make_shared_replacements""",
    "sampling": """deterministic forward jax mcmc compute_deterministics draw init_nuts sample
    sample_posterior_predictive sample_prior_predictive""",
    "sampling.deterministic": "compute_deterministics",
    "sampling.forward": "draw sample_posterior_predictive sample_prior_predictive",
    "sampling.jax": "sample_blackjax_nuts sample_numpyro_nuts",
    "sampling.mcmc": "init_nuts sample",
    "stats": "log_density compute_log_likelihood compute_log_prior",
    "stats.log_density": "compute_log_likelihood compute_log_prior",
    "step_methods": f"""compound hmc metropolis slicer CompoundStep HamiltonianMC NUTS Slice STEP_METHODS {STEPS}""",
    "step_methods.compound": "CompoundStep",
    "step_methods.hmc": "HamiltonianMC NUTS",
    "step_methods.metropolis": STEPS,
    "step_methods.slicer": "Slice",
    "testing": "assert_no_rvs",
    "tuning": "scaling starting find_MAP find_hessian guess_scaling trace_cov",
    "tuning.scaling": "find_hessian guess_scaling trace_cov",
    "tuning.starting": "find_MAP",
    "util": "drop_warning_stat",
    "vartypes": """bool_types complex_types continuous_types discrete_types float_types int_types isgenerator
    typefilter""",
}


# What `pytensorf` calls so gives one vector or matrix; in the package the names are those of PyTensor's gradients.
MATRICES = {"gradient": gradient, "jacobian": jacobian_matrix, "hessian": hessian_matrix}


class LongerPath(ModuleType):
    """A module of PyMC."""

    def __init__(self, path: str) -> None:
        super().__init__(f"ppl.{path}", f"PyMC's `{path}`: names of ppl by their longer path.")
        self._path = path
        self.__path__: list[str] = []  # modules may be below it

    def __getattr__(self, name: str) -> Any:
        longer = f"{self._path}.{name}"
        if name not in MODULES[self._path].split():
            raise AttributeError(f"module 'ppl.{self._path}' has no attribute {name!r}")
        if self._path == "pytensorf" and name in MATRICES:
            return MATRICES[name]
        package = sys.modules["ppl"]  # the whole package, which is above this part of it
        if longer in MODULES:
            return sys.modules[f"ppl.{longer}"]
        if self._path == "sampling.jax":
            return functools.partial(package.sample, nuts_sampler=name.split("_")[1])
        return getattr(package, name)

    def __dir__(self) -> list[str]:
        return MODULES[self._path].split()


def enter() -> None:
    """Put the modules where `import` finds them; those within parts of this package are attributes of these, too."""
    for path in MODULES:
        sys.modules[f"ppl.{path}"] = LongerPath(path)
        parent, _, name = path.rpartition(".")
        if parent in ("distributions", "model"):
            setattr(sys.modules[f"ppl.{parent}"], name, sys.modules[f"ppl.{path}"])
    sys.modules["ppl.math"] = sys.modules["ppl.model.names.math"]
    sys.modules["ppl.sampling_jax"] = sys.modules["ppl.sampling.jax"]  # its name before PyMC 5.9
