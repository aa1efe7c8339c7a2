"""The names of NumPy, SciPy, PyTensor, PyMC and SymJAX: each is here, or stands in a table with the reason why not."""

import jax.numpy as jnp
import jax.scipy.linalg as jsl
import jax.scipy.signal as jss
import jax.scipy.special as jsp
import numpy as np
import pytest
import scipy.linalg
import scipy.signal
import scipy.special

import ppl
import ppl.tensor as tt
from ppl.tensor.tensor import _METHODS


def because(reason, names):
    return dict.fromkeys(names.split(), reason)


NOT_HERE = {
    "numpy": {
        **because(
            "about Python objects, files or printing, not about arrays' values",
            "array_repr array_str can_cast einsum_path from_dlpack frombuffer fromfile fromfunction fromiter "
            "frompyfunc fromstring get_printoptions set_printoptions printoptions isdtype isscalar issubdtype iterable "
            "load save savez promote_types result_type",
        ),
        **because("changes an array in place: see set_subtensor and index_update", "place put put_along_axis"),
        **because("a tensor never changes, so it needs no copy; x.copy() is there", "copy"),
        **because("an index of NumPy arrays does the same", "ix_ mask_indices"),
        **because(
            "nobody has asked: from_jax makes an operation of JAX's function",
            "apply_over_axes histogram2d histogramdd histogram_bin_edges packbits unpackbits trim_zeros unique_all "
            "unique_counts unique_inverse unique_values",
        ),
    },
    "scipy.special": because("nobody has asked: from_jax makes an operation of JAX's function", "bernoulli sph_harm_y"),
    "scipy.linalg": because(
        "nobody has asked: from_jax makes an operation of JAX's function",
        "eigh_tridiagonal fiedler_companion funm qr_multiply rsf2csf",
    ),
}
HOMES = {
    "numpy": (jnp, np, tt),
    "numpy.linalg": (jnp.linalg, np.linalg, tt.linalg),
    "numpy.fft": (jnp.fft, np.fft, tt.fft),
    "scipy.special": (jsp, scipy.special, tt.special),
    "scipy.linalg": (jsl, scipy.linalg, tt.linalg),
    "scipy.signal": (jss, scipy.signal, tt.signal),
}


@pytest.mark.parametrize("home", HOMES)
def test_functions_that_numpy_and_jax_have(home):
    in_jax, in_numpy, ours = HOMES[home]
    names = {n for n in dir(in_jax) if not n.startswith("_") and hasattr(in_numpy, n)}
    functions = {n for n in names if callable(getattr(in_jax, n)) and not isinstance(getattr(in_jax, n), type)}
    reasons = NOT_HERE.get(home, {})
    assert sorted(n for n in functions if not hasattr(ours, n) and n not in reasons) == []
    assert sorted(n for n in reasons if hasattr(ours, n)) == [], "these are here: strike them off"


# What PyMC 5 takes from its tensor module.
PYMC = (
    "TensorVariable abs add alloc all allclose and_ any arange arccos arccosh arcsin arcsinh arctan arctan2 arctanh "
    "argmax as_tensor as_tensor_variable atleast_1d atleast_2d batched_dot betainc bitwise_and bitwise_not bitwise_or "
    "bitwise_xor block_diag broadcast_arrays broadcast_shape broadcast_to cast ceil clip concatenate constant cos "
    "cumsum det diag diagonal diff dot eigh eigvalsh einsum empty eq erf erfc erfcinv erfcx erfinv exp expand_dims "
    "expit extra_ops extra_ops.cumsum eye fill fill_diagonal flatten floor full full_like gamma gammainc gammaincc "
    "gammaln ge grad gt i0 i1 identity_like inc_subtensor inf inv isclose isinf isnan ive jacobian join kron kv le "
    "linalg.cholesky log log1mexp log1p log1pexp logaddexp logsumexp lt matrix max maximum mean min minimum moveaxis "
    "mul neq ones ones_like or_ outer pow power prod reciprocal repeat reshape round scalar set_subtensor shape "
    "shape_padleft shape_padright sigmoid sign sin sinh slogdet softplus solve sort special.betaln "
    "special.log_softmax special.softmax specify_shape split sqr sqrt squeeze stack sub sum switch take "
    "take_along_axis tan tanh tile trace transpose tril tril_indices triu triu_indices unique "
    "variable.TensorVariable vector where zeros zeros_like"
)
PYTENSOR = (
    "shared function scan config.floatX config.change_flags grad gradient.disconnected_grad ifelse In Out Mode "
    "get_mode clone clone_replace dprint debugprint pp pprint compile graph map reduce foldl foldr vectorize_graph "
    "gradient.Rop gradient.Lop gradient.jacobian gradient.hessian gradient.hessian_vector_product gradient.verify_grad "
    "gradient.zero_grad gradient.grad_clip gradient.grad_scale gradient.consider_constant equal_computations "
    "tensor.random.RandomStream tensor.slinalg tensor.nlinalg tensor.extra_ops tensor.special tensor.nnet "
    "printing.Print"
)
LAYOUTS = "scalar vector row col matrix tensor3 tensor4 tensor5 tensor6 tensor7"
CONSTRUCTORS = " ".join(prefix + layout for prefix in ("", *"bwilfdcz") for layout in LAYOUTS.split())
PLURALS = (
    "scalars vectors rows cols matrices tensor3s dscalars dvectors drows dcols dmatrices iscalars lvectors fmatrices"
)
STREAMS = (
    "uniform triangular beta normal halfnormal lognormal gamma chisquare rayleigh pareto gumbel exponential weibull "
    "logistic vonmises multivariate_normal dirichlet poisson geometric hypergeometric cauchy halfcauchy invgamma wald "
    "truncexpon t bernoulli laplace binomial negative_binomial beta_binomial gengamma multinomial categorical integers "
    "choice permutation RandomStream RandomStreams"
)

# What SymJAX's documentation names, by the place where it names it.
SYMJAX = (
    "Scope current_scope get_variables get_placeholders get_ops get_updates add_updates reset_variables save_variables "
    "load_variables function gradients jacobians clone to_networkx nn.optimizers.Adam nn.optimizers.SGD "
    "nn.optimizers.NesterovMomentum nn.schedules.ExponentialMovingAverage nn.schedules.PiecewiseConstant "
    "nn.initializers.glorot_uniform nn.layers.Dense nn.layers.Conv2D nn.layers.BatchNormalization nn.layers.LSTM "
    "nn.losses.huber nn.activations.relu Graph probabilities viz initializers rl"
)
SYMJAX_TENSOR = (
    "Placeholder Variable Constant Tensor get clone jax_wrap symjax_to_jax_fn placeholder_like stop_gradient scan map "
    "while_loop cond fori_loop cast complex range zeros_like ones_like flatten flatten2d flatten3d flatten4d index "
    "index_update index_add index_min index_max index_take index_in_dim dynamic_slice dynamic_slice_in_dim "
    "dynamic_index_in_dim sigmoid rsqrt add_n one_hot dimshuffle reshape_weight_to_matrix bartlett blackman hamming "
    "hanning kaiser convolve correlate linalg.cholesky linalg.block_diag linalg.cho_solve linalg.eigh linalg.expm "
    "linalg.inv linalg.lu linalg.lu_factor linalg.lu_solve linalg.solve_triangular linalg.tril linalg.triu linalg.norm "
    "Op MultiOutputOp OpItem RandomOp Seed Tuple match wrap_class signal interpolation normalization "
    "linalg.singular_vectors_power_iteration linalg.eigenvector_power_iteration linalg.gram_schmidt "
    "linalg.modified_gram_schmidt"
)
SYMJAX_FFT = "fft ifft fft2 ifft2 fftn ifftn rfft irfft rfft2 irfft2 rfftn irfftn fftfreq rfftfreq fftshift ifftshift"
SYMJAX_RANDOM = (
    "bernoulli beta categorical cauchy dirichlet exponential gamma gumbel laplace logistic multivariate_normal normal "
    "randn pareto permutation poisson randint shuffle t truncated_normal uniform rand seed"
)
SYMJAX_NOT_HERE = {
    **because("there is no global graph: a tensor holds what it is computed from", "Graph"),
    **because("SymJAX's had two families; here they are ppl.Normal, ppl.Categorical and all others", "probabilities"),
    **because("to_svg, to_dot and to_mermaid draw graphs", "viz"),
    **because("ppl.nn.initializers", "initializers"),
    **because("learning by reinforcement is no part of this project", "rl"),
    **because(
        "the kinds of nodes: here Node has an op, and one with several results is unpacked",
        "Op MultiOutputOp OpItem RandomOp Tuple",
    ),
    **because("randomness is a key of a stream: tensor.random", "Seed"),
    **because("matched placeholders by position inside SymJAX", "match"),
    **because("a class of JAX is used inside a function that from_jax wraps", "wrap_class"),
    **because("weights are normalized by layers: ppl.nn.layers", "normalization"),
    **because(
        "SymJAX's did not run; qr gives an orthonormal basis, svd and eigh give the vectors",
        "linalg.singular_vectors_power_iteration linalg.eigenvector_power_iteration linalg.gram_schmidt "
        "linalg.modified_gram_schmidt",
    ),
}


def found(home, path):
    thing = home
    for part in path.split("."):
        thing = getattr(thing, part, None)
    return thing


@pytest.mark.parametrize(
    "home, names, elsewhere",
    [
        (tt, PYMC, {}),
        (ppl, PYTENSOR, {}),
        (tt, f"{CONSTRUCTORS} {PLURALS}", {}),
        (tt.random, STREAMS, {}),
        (ppl, SYMJAX, SYMJAX_NOT_HERE),
        (tt, SYMJAX_TENSOR, SYMJAX_NOT_HERE),
        (tt.fft, SYMJAX_FFT, {}),
        (tt.random, SYMJAX_RANDOM, {}),
    ],
    ids=[
        "pytensor.tensor",
        "pytensor",
        "constructors",
        "streams",
        "symjax",
        "symjax.tensor",
        "symjax.fft",
        "symjax.random",
    ],
)
def test_names_that_programs_use(home, names, elsewhere):
    missing = [path for path in names.split() if found(home, path) is None]
    assert [path for path in missing if path not in elsewhere] == []
    assert [path for path in names.split() if path in elsewhere and path not in missing] == [], "these are here"


def test_methods_that_programs_use():
    methods = (
        "name scope shape dtype ndim T clone get variables sum prod mean max min std var argmax argmin real imag conj "
        "conjugate cast astype squeeze flatten flatten2d reshape dot repeat expand_dims matmul round transpose clip "
        "norm eval dimshuffle swapaxes cumsum cumprod all any take diagonal trace sort argsort nonzero "
        "broadcastable owner type size copy ravel fill ptp searchsorted set inc choose"
    )
    x, v = tt.dmatrix("x"), tt.Variable(np.zeros(2), name="v")
    assert [name for name in methods.split() if not hasattr(x, name)] == []
    of_variables = "value update reset initializer trainable get_value set_value default_update"
    assert [name for name in of_variables.split() if not hasattr(v, name)] == []


def test_functions_are_methods_too():
    """Those of PyTensor's variables; `dir` shows them, so that editors complete them."""
    x = tt.dvector("x")
    for name in _METHODS:
        assert callable(getattr(x, name)) and name in dir(x), name
    for name in ["exp", "log1p", "sqrt", "ceil", "arctanh", "zeros_like", "nonzero_values"]:
        assert getattr(x, name)() is getattr(tt, name)(x), name
    assert x.get_parents() == [] and x.exp().get_parents() == [tt.exp(x).owner]
    assert x.exp().dprint(file="str") == ppl.debugprint(tt.exp(x), file="str")


def test_a_shape_by_the_axes_that_broadcast():
    """The older way of PyTensor, with the type that its `tensor` has."""
    x = tt.tensor("x", dtype="int64", broadcastable=(True, False))
    assert x.type.shape == (1, None) and x.dtype == "int64" and x.type.broadcastable == (True, False)
    assert tt.tensor(broadcastable=()).type.shape == ()
