"""Where the names of PyMC and PyTensor stand in ppl: one row for each of their modules.

A row lists names. `name` stands in `ppl` under this name, `name=place` where it says, and `*module` gives every name of
a module of ppl that no other word of the row has. `!name` can be imported and not used (see `ppl.alias.absent`).
What PyMC keeps at longer paths is in `ppl.model.names.longer_paths`, and here are the names to be added.
"""

from __future__ import annotations

from ppl.model.names.longer_paths import MODULES

# Packages of former years, and what they are called now.
FORMER = {"pymc3": "pymc", "theano": "pytensor", "aesara": "pytensor"}

VARIABLES = """Variable=ppl.alias.classes.Variable Constant=ppl.alias.classes.Constant Apply=ppl.alias.own_ops.Apply
    AtomicVariable=ppl.tensor.tensor.Tensor NominalVariable=ppl.tensor.tensor.Tensor"""
TENSORS = """TensorVariable=ppl.tensor.tensor.Tensor TensorConstant=ppl.alias.classes.Constant
    TensorType=ppl.tensor.tensor.TensorType TensorLike=ppl.alias.classes.TensorLike"""
WALKS = """ancestors=ppl.alias.graphs.ancestors graph_inputs=ppl.alias.graphs.graph_inputs
    explicit_graph_inputs=ppl.alias.graphs.explicit_graph_inputs walk=ppl.alias.graphs.walk
    io_toposort=ppl.alias.graphs.io_toposort variable_depends_on=ppl.alias.graphs.variable_depends_on
    vars_between=ppl.alias.graphs.vars_between equal_computations"""
DRAWN = "RandomVariable=ppl.alias.own_families.RandomVariable"
GRAPHS = "SymbolicRandomVariable=ppl.alias.own_families.SymbolicRandomVariable"
OPERATIONS = "*ppl.alias.operations"
FAMILIES = " ".join(
    f"{name}=ppl.alias.own_families.{name}"
    for name in ("Continuous", "Discrete", "PositiveContinuous", "UnitContinuous", "CircularContinuous")
)
DISPATCH = """_logprob=ppl.alias.own_families._logprob _logcdf=ppl.alias.own_families._logcdf
    _icdf=ppl.alias.own_families._icdf"""
POINTS = "_support_point=ppl.alias.own_families._support_point"
CHANGES = "clone_replace graph_replace vectorize_graph"
FGRAPH = """FunctionGraph=ppl.alias.fgraph.FunctionGraph node_rewriter=ppl.alias.fgraph.node_rewriter
    in2out=ppl.alias.fgraph.in2out out2in=ppl.alias.fgraph.out2in rewrite_graph=ppl.simplify"""
OPS = "Op=ppl.alias.own_ops.Op"
SLOPES = """DisconnectedType=ppl.alias.own_ops.DisconnectedType grad_undefined=ppl.alias.own_ops.grad_undefined
    grad_not_implemented=ppl.alias.own_ops.grad_not_implemented"""
IN_JAX = """get_jaxified_graph=ppl.alias.jax_functions.get_jaxified_graph
    get_jaxified_logp=ppl.alias.jax_functions.get_jaxified_logp"""
TO_JAX = "jax_funcify=ppl.alias.jax_functions.jax_funcify !jax_typify"
COMPILED = "Function In Out Mode function get_mode shared SharedVariable=ppl.tensor.variables.Variable"

# Modules of pymc.variational that PyMC lets one reach from `pymc` too.
VARIATIONAL = "approximations callbacks inference operators opvi stein test_functions updates"

PYMC = {
    "pymc": f"*ppl compile=ppl.function {FAMILIES} {VARIATIONAL} !SymbolicRandomVariable",
    "pymc.backends": "*ppl.backends NDArray=ppl.alias.recording.NDArray MultiTrace=ppl.alias.recording.MultiTrace",
    "pymc.backends.arviz": "*ppl.backends.arviz *ppl.alias.datasets",
    "pymc.backends.base": "MultiTrace=ppl.alias.recording.MultiTrace !BaseTrace !IBaseTrace",
    "pymc.backends.ndarray": "NDArray=ppl.alias.recording.NDArray",
    "pymc.distributions": f"*ppl.distributions *ppl {FAMILIES} {GRAPHS}",
    "pymc.dims": "*ppl.dims",
    "pymc.dims.distributions": "*ppl.dims.families",
    "pymc.dims.distributions.censored": "*ppl.dims.families",
    "pymc.dims.distributions.core": "*ppl.dims.families !MeasurableXTensorFromTensor !expand_dist_dims",
    "pymc.dims.distributions.scalar": "*ppl.dims.families",
    "pymc.dims.distributions.transforms": "*ppl.dims.transforms",
    "pymc.dims.distributions.vector": "*ppl.dims.families",
    "pymc.dims.math": "*ppl.dims.math",
    "pymc.dims.model": "*ppl.dims.model",
    "pymc.distributions.censored": f"Censored {OPERATIONS}",
    "pymc.distributions.dist_math": "*ppl.alias.dist_math",
    "pymc.distributions.distribution": f"""Distribution CustomDist DiracDelta {FAMILIES} {POINTS} {GRAPHS}
        {OPERATIONS} support_point=ppl.alias.own_families.support_point""",
    "pymc.distributions.continuous": OPERATIONS,
    "pymc.distributions.discrete": OPERATIONS,
    "pymc.distributions.timeseries": OPERATIONS,
    "pymc.distributions.mixture": f"""{OPERATIONS}
        HurdleGamma HurdleLogNormal HurdleNegativeBinomial HurdlePoisson Mixture
        NormalMixture ZeroInflatedBinomial ZeroInflatedNegativeBinomial ZeroInflatedPoisson""",
    "pymc.distributions.shape_utils": """*ppl.alias.sizes
        _change_dist_size=ppl.alias.own_families._change_dist_size !change_dist_size""",
    "pymc.distributions.simulator": f"Simulator {OPERATIONS}",
    "pymc.distributions.transforms": "*ppl.distributions.transforms "
    "_default_transform=ppl.alias.own_families._default_transform",
    "pymc.distributions.truncated": f"Truncated {OPERATIONS}",
    "pymc.distributions.multivariate": f"*ppl.distributions.multivariate {OPERATIONS} !_logdet_from_cholesky",
    "pymc.exceptions": "DtypeError=ppl.model.errors.DtypeError ShapeError=ppl.model.errors.ShapeError",
    "pymc.gp": "*ppl.gp",
    **{f"pymc.gp.{name}": f"*ppl.gp.{name}" for name in ("cov", "gp", "hsgp_approx", "mean", "util")},
    "pymc.initial_point": """make_initial_point_fn=ppl.alias.starts.make_initial_point_fn
        !make_initial_point_expression""",
    "pymc.logprob.abstract": f"{DISPATCH} !MeasurableOp !MeasurableElemwise",
    "pymc.logprob.basic": "*ppl.logprob.basic !transformed_conditional_logp",
    "pymc.logprob.transforms": """*ppl.distributions.transforms
        _default_transform=ppl.alias.own_families._default_transform !IntervalTransform""",
    "pymc.logprob.utils": "ParameterValueError !CheckParameterValue",
    "pymc.math": "*ppl.math",
    "pymc.model": "*ppl.model",
    "pymc.model.core": "*ppl.model.core",
    "pymc.model.fgraph": """*ppl.model.fgraph !ModelDeterministic !ModelFreeRV !ModelNamed !ModelObservedRV
        !ModelPotential !ModelValuedVar !ModelVar !fgraph_from_model !model_deterministic !model_free_rv
        !model_from_fgraph !model_named""",
    "pymc.model.transform": "",
    "pymc.model.transform.basic": "!remove_minibatched_nodes "
    "prune_vars_detached_from_observed=ppl.model.conditioning.prune_vars_detached_from_observed",
    "pymc.ode": "*ppl.ode",
    "pymc.ode.ode": "DifferentialEquation=ppl.ode.DifferentialEquation",
    "pymc.ode.utils": "augment_system=ppl.ode.augment_system make_sens_ic=ppl.ode.make_sens_ic",
    "pymc.printing": "str_for_dist str_for_model str_for_potential_or_deterministic",
    "pymc.progress_bar": "!CustomProgress !ProgressBarManager !create_simple_progress !default_progress_theme",
    "pymc.pytensorf": """*ppl.pytensorf compile=ppl.function compile_pymc=ppl.function
        constant_fold=ppl.alias.graphs.constant_fold resolve_shapes=ppl.alias.graphs.resolve_shapes
        normalize_rng_param=ppl.alias.own_families.normalize_rng_param
        !rewrite_pregrad !toposort_replace !resolve_backend_compile_kwargs !get_symbolic_rv_shapes""",
    "pymc.sampling.jax": f"*ppl.sampling.jax {IN_JAX} !_replace_shared_variables",
    "pymc.sampling.mcmc": "*ppl.sampling.mcmc !assign_step_methods !setup_cores_blas_cores",
    "pymc.sampling.parallel": "!ExceptionWithTraceback !_cpu_count !_initialize_multiprocessing_context",
    "pymc.sampling_jax": "sample_blackjax_nuts=ppl.sampling_jax.sample_blackjax_nuts "
    f"sample_numpyro_nuts=ppl.sampling_jax.sample_numpyro_nuts {IN_JAX}",
    "pymc.smc": "*ppl.smc",
    "pymc.smc.kernels": "*ppl.smc.kernels",
    "pymc.smc.sampling": "*ppl.smc.sampling",
    "pymc.step_methods.arraystep": "!ArrayStep !ArrayStepShared !GradientSharedStep",
    "pymc.step_methods.compound": "*ppl.step_methods.compound !Competence !BlockedStep",
    "pymc.testing": "*ppl.alias.testing",
    "pymc.util": "*ppl.util *ppl.alias.value_names !_get_seeds_per_chain !check_dist_not_registered "
    "!get_value_vars_from_user_vars",
    "pymc.variational": "*ppl.variational",
    **{f"pymc.variational.{name}": f"*ppl.variational.{name}" for name in VARIATIONAL.split()},
    "pymc.variational.minibatch_rv": "!MinibatchRandomVariable !create_minibatch_rv",
}

PYTENSOR = {
    "pytensor": "*ppl Variable=ppl.alias.classes.Variable scan=ppl.scan ifelse=ppl.ifelse",
    "pytensor.assumptions": "!assume",
    "pytensor.compile": COMPILED,
    "pytensor.compile.builders": "OpFromGraph=ppl.alias.fgraph.OpFromGraph !SymbolicOp",
    "pytensor.compile.function": "function",
    "pytensor.compile.function.types": "Function In Out",
    "pytensor.compile.io": "In Out",
    "pytensor.compile.executor": "Function",
    "pytensor.compile.compilelock": "!lock_ctx",
    "pytensor.compile.mode": """Mode get_mode get_default_mode=ppl.get_mode FAST_COMPILE=ppl.alias.graphs.FAST_COMPILE
        FAST_RUN=ppl.alias.graphs.FAST_RUN optdb=ppl.alias.fgraph.optdb""",
    "pytensor.compile.monitormode": "!MonitorMode",
    "pytensor.compile.ops": "as_op=ppl.alias.own_ops.as_op wrap_py=ppl.alias.own_ops.wrap_py "
    "FromFunctionOp=ppl.alias.own_ops.FromFunctionOp",
    "pytensor.compile.sharedvalue": "SharedVariable=ppl.tensor.variables.Variable shared",
    "pytensor.gradient": f"""*ppl.gradient {SLOPES} grad hessian jacobian Lop Rop verify_grad !hessian_vector_product
        !disconnected_grad""",
    "pytensor.graph": f"{VARIABLES} {WALKS} {CHANGES} {OPS} {FGRAPH}",
    "pytensor.graph.basic": f"{VARIABLES} {WALKS} {CHANGES} Node=ppl.graph.Node",
    "pytensor.graph.features": "!Feature !ReplaceValidate",
    "pytensor.graph.fg": FGRAPH,
    "pytensor.graph.op": f"{OPS} {VARIABLES}",
    "pytensor.graph.replace": f"{CHANGES} _vectorize_node=ppl.alias.own_families._vectorize_node "
    "!_vectorize_not_needed",
    "pytensor.graph.rewriting": FGRAPH,
    "pytensor.graph.rewriting.basic": FGRAPH,
    "pytensor.graph.rewriting.db": " ".join(
        f"{name}=ppl.alias.fgraph.{name}" for name in ("EquilibriumDB", "RewriteDatabaseQuery", "SequenceDB")
    ),
    "pytensor.graph.rewriting.utils": FGRAPH,
    "pytensor.graph.traversal": WALKS,
    "pytensor.graph.type": VARIABLES,
    "pytensor.ifelse": "ifelse",
    "pytensor.link": "",
    "pytensor.link.jax": "jax_funcify=ppl.alias.jax_functions.jax_funcify !JAXLinker",
    "pytensor.link.jax.dispatch": TO_JAX,
    "pytensor.link.jax.dispatch.basic": TO_JAX,
    "pytensor.link.jax.ops": "wrap_jax=ppl.alias.own_ops.wrap_jax",
    "pytensor.link.numba": "",
    "pytensor.link.numba.dispatch": "numba_funcify=ppl.alias.jax_functions.numba_funcify",
    "pytensor.printing": "*ppl.printing debugprint=ppl.dprint pp pprint Print=ppl.tensor.Print",
    "pytensor.raise_op": "Assert=ppl.tensor.Assert",
    "pytensor.scan": "foldl foldr map reduce scan until=ppl.tensor.until",
    "pytensor.scan.basic": "scan",
    "pytensor.scan.op": "!Scan",
    "pytensor.scan.utils": "until=ppl.tensor.until",
    "pytensor.scan.views": "foldl foldr map reduce",
    "pytensor.sparse": "*ppl.alias.sparse",
    "pytensor.sparse.basic": "*ppl.alias.sparse",
    "pytensor.sparse.math": "*ppl.alias.sparse",
    "pytensor.tensor": f"""*ppl.tensor {TENSORS} {VARIABLES} shape=ppl.tensor.shape sort=ppl.tensor.sort
        var=ppl.tensor.var""",
    "pytensor.tensor.basic": "*ppl.tensor.basic *ppl.tensor !infer_shape_db !ix_",
    "pytensor.tensor.blockwise": "!Blockwise",
    "pytensor.tensor.elemwise": "!CAReduce !DimShuffle !Elemwise",
    "pytensor.tensor.extra_ops": "*ppl.tensor.extra_ops",
    "pytensor.tensor.fft": "*ppl.tensor.fft",
    "pytensor.tensor.linalg": "*ppl.tensor.linalg",
    "pytensor.tensor.math": "*ppl.tensor.math *ppl.tensor !variadic_add !variadic_mul",
    "pytensor.tensor.nlinalg": "*ppl.tensor.nlinalg",
    "pytensor.tensor.nnet": "*ppl.tensor.nnet",
    "pytensor.tensor.random": "*ppl.tensor.random",
    "pytensor.tensor.random.basic": f"*ppl.tensor.random {OPERATIONS}",
    "pytensor.tensor.random.op": DRAWN,
    "pytensor.tensor.random.type": OPERATIONS,
    "pytensor.tensor.random.utils": "normalize_size_param=ppl.alias.own_families.normalize_size_param "
    "RandomStream=ppl.tensor.random.RandomStream",
    "pytensor.tensor.rewriting": "",
    "pytensor.tensor.rewriting.basic": "!broadcasted_by",
    "pytensor.tensor.rewriting.shape": "!ShapeFeature",
    "pytensor.tensor.rewriting.subtensor": "!is_full_slice",
    "pytensor.tensor.optimize": "!LRUCache1 !minimize !minimize_scalar !root",
    "pytensor.tensor.shape": "*ppl.tensor !Shape !Reshape !SpecifyShape",
    "pytensor.tensor.sharedvar": "TensorSharedVariable=ppl.tensor.variables.Variable "
    "SharedVariable=ppl.tensor.variables.Variable",
    "pytensor.tensor.signal": "*ppl.tensor.signal",
    "pytensor.tensor.slinalg": "*ppl.tensor.slinalg",
    "pytensor.tensor.sort": "*ppl.tensor",
    "pytensor.tensor.special": "*ppl.tensor.special *ppl.tensor",
    "pytensor.tensor.subtensor": "*ppl.tensor !AdvancedSubtensor !AdvancedIncSubtensor !IncSubtensor !Subtensor "
    "!get_idx_list",
    "pytensor.tensor.type": "*ppl.tensor TensorType=ppl.tensor.tensor.TensorType",
    "pytensor.tensor.type_other": OPERATIONS,
    "pytensor.tensor.var": TENSORS,
    "pytensor.tensor.variable": TENSORS,
    "pytensor.tensor.xlogx": "xlogx=ppl.tensor.special.xlogx xlogy0=ppl.tensor.special.xlogy",
    "pytensor.xtensor": "*ppl.xtensor",
    **{
        f"pytensor.xtensor.{name}": f"*ppl.xtensor.{name}"
        for name in ("basic", "indexing", "linalg", "math", "reduction", "shape", "signal", "vectorization")
    },
    "pytensor.xtensor.random": "*ppl.xtensor.random !as_xrv",
    "pytensor.xtensor.type": "*ppl.xtensor.type",
}

PATHS = {f"pymc.{path}": f"*ppl.{path}" for path in MODULES}
PATHS |= {path: f"{PATHS.get(path, '')} {names}" for path, names in (PYMC | PYTENSOR).items()}
