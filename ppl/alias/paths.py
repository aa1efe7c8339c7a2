"""Where the names of PyMC and PyTensor stand in ppl: one row for each of their modules.

A row lists names. `name` stands in `ppl` under this name, `name=place` where it says, and `*module` gives every name of
a module of ppl that no other word of the row has. Rows of what PyMC keeps at longer paths are those of ppl itself
(`ppl.model.names.longer_paths`), with the names that are added here.
"""

from __future__ import annotations

from ppl.model.names.longer_paths import MODULES

# Packages of former years, and what they are called now.
FORMER = {"pymc3": "pymc", "theano": "pytensor", "aesara": "pytensor"}

VARIABLES = """Variable=ppl.tensor.tensor.Tensor Constant=ppl.alias.classes.Constant Apply=ppl.alias.own_ops.Apply
    AtomicVariable=ppl.tensor.tensor.Tensor NominalVariable=ppl.tensor.tensor.Tensor"""
TENSORS = """TensorVariable=ppl.tensor.tensor.Tensor TensorConstant=ppl.alias.classes.Constant
    TensorType=ppl.tensor.tensor.TensorType TensorLike=ppl.alias.classes.TensorLike"""
WALKS = """ancestors=ppl.alias.graphs.ancestors graph_inputs=ppl.alias.graphs.graph_inputs
    explicit_graph_inputs=ppl.alias.graphs.explicit_graph_inputs walk=ppl.alias.graphs.walk
    io_toposort=ppl.alias.graphs.io_toposort variable_depends_on=ppl.alias.graphs.variable_depends_on
    vars_between=ppl.alias.graphs.vars_between equal_computations"""
CHANGES = "clone_replace graph_replace vectorize_graph"
OPS = "Op=ppl.alias.own_ops.Op"
SLOPES = """DisconnectedType=ppl.alias.own_ops.DisconnectedType grad_undefined=ppl.alias.own_ops.grad_undefined
    grad_not_implemented=ppl.alias.own_ops.grad_not_implemented"""
COMPILED = "Function In Out Mode function get_mode shared SharedVariable=ppl.tensor.variables.Variable"

PYMC = {
    "pymc": "*ppl compile=ppl.function",
    "pymc.distributions": "*ppl.distributions *ppl",
    "pymc.distributions.censored": "Censored",
    "pymc.distributions.dist_math": "*ppl.alias.dist_math",
    "pymc.distributions.mixture": """HurdleGamma HurdleLogNormal HurdleNegativeBinomial HurdlePoisson Mixture
        NormalMixture ZeroInflatedBinomial ZeroInflatedNegativeBinomial ZeroInflatedPoisson""",
    "pymc.distributions.simulator": "Simulator",
    "pymc.distributions.transforms": "*ppl.distributions.transforms",
    "pymc.distributions.truncated": "Truncated",
    "pymc.gp": "*ppl.gp",
    "pymc.gp.cov": "*ppl.gp.cov",
    "pymc.gp.mean": "*ppl.gp.mean",
    "pymc.gp.util": "*ppl.gp.util",
    "pymc.logprob.utils": "ParameterValueError",
    "pymc.math": "*ppl.math",
    "pymc.model": "*ppl.model",
    "pymc.model.transform": "",
    "pymc.ode": "*ppl.ode",
    "pymc.sampling_jax": "sample_blackjax_nuts=ppl.sampling_jax.sample_blackjax_nuts "
    "sample_numpyro_nuts=ppl.sampling_jax.sample_numpyro_nuts",
    "pymc.smc": "*ppl.smc",
    "pymc.testing": "*ppl.alias.testing",
    "pymc.util": "*ppl.alias.value_names",
    "pymc.variational": "*ppl.variational",
}

PYTENSOR = {
    "pytensor": "*ppl wrap_py=ppl.alias.own_ops.wrap_py as_op=ppl.alias.own_ops.as_op",
    "pytensor.compile": COMPILED,
    "pytensor.compile.function": "function",
    "pytensor.compile.function.types": "Function",
    "pytensor.compile.io": "In Out",
    "pytensor.compile.mode": "Mode get_mode",
    "pytensor.compile.ops": "as_op=ppl.alias.own_ops.as_op wrap_py=ppl.alias.own_ops.wrap_py "
    "FromFunctionOp=ppl.alias.own_ops.FromFunctionOp",
    "pytensor.compile.sharedvalue": "SharedVariable=ppl.tensor.variables.Variable shared",
    "pytensor.gradient": f"*ppl.gradient {SLOPES} grad hessian jacobian Lop Rop verify_grad",
    "pytensor.graph": f"{VARIABLES} {WALKS} {CHANGES} {OPS}",
    "pytensor.graph.basic": f"{VARIABLES} {WALKS} {CHANGES}",
    "pytensor.graph.op": f"{OPS} {VARIABLES}",
    "pytensor.graph.replace": CHANGES,
    "pytensor.graph.traversal": WALKS,
    "pytensor.graph.type": VARIABLES,
    "pytensor.ifelse": "ifelse",
    "pytensor.printing": "*ppl.printing debugprint=ppl.dprint pp pprint Print=ppl.tensor.Print",
    "pytensor.raise_op": "Assert=ppl.tensor.Assert",
    "pytensor.scan": "foldl foldr map reduce scan until=ppl.tensor.until",
    "pytensor.scan.basic": "scan",
    "pytensor.scan.utils": "until=ppl.tensor.until",
    "pytensor.scan.views": "foldl foldr map reduce",
    "pytensor.sparse": "*ppl.alias.sparse",
    "pytensor.sparse.basic": "*ppl.alias.sparse",
    "pytensor.sparse.math": "*ppl.alias.sparse",
    "pytensor.tensor": f"*ppl.tensor {TENSORS} {VARIABLES}",
    "pytensor.tensor.basic": "*ppl.tensor.basic *ppl.tensor",
    "pytensor.tensor.extra_ops": "*ppl.tensor.extra_ops",
    "pytensor.tensor.fft": "*ppl.tensor.fft",
    "pytensor.tensor.linalg": "*ppl.tensor.linalg",
    "pytensor.tensor.math": "*ppl.tensor.math *ppl.tensor",
    "pytensor.tensor.nlinalg": "*ppl.tensor.nlinalg",
    "pytensor.tensor.nnet": "*ppl.tensor.nnet",
    "pytensor.tensor.random": "*ppl.tensor.random",
    "pytensor.tensor.random.basic": "*ppl.tensor.random",
    "pytensor.tensor.random.utils": "RandomStream=ppl.tensor.random.RandomStream",
    "pytensor.tensor.shape": "*ppl.tensor",
    "pytensor.tensor.sharedvar": "TensorSharedVariable=ppl.tensor.variables.Variable "
    "SharedVariable=ppl.tensor.variables.Variable",
    "pytensor.tensor.signal": "*ppl.tensor.signal",
    "pytensor.tensor.slinalg": "*ppl.tensor.slinalg",
    "pytensor.tensor.sort": "*ppl.tensor",
    "pytensor.tensor.special": "*ppl.tensor.special *ppl.tensor",
    "pytensor.tensor.subtensor": "*ppl.tensor",
    "pytensor.tensor.type": "*ppl.tensor TensorType=ppl.tensor.tensor.TensorType",
    "pytensor.tensor.var": TENSORS,
    "pytensor.tensor.variable": TENSORS,
}

PATHS = {f"pymc.{path}": f"*ppl.{path}" for path in MODULES}
PATHS |= {path: f"{PATHS.get(path, '')} {names}" for path, names in (PYMC | PYTENSOR).items()}
