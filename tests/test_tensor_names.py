"""The names of NumPy, SciPy, PyTensor and PyMC: each is in `ppl.tensor`, or stands here with the reason why not."""

import jax.numpy as jnp
import jax.scipy.linalg as jsl
import jax.scipy.special as jsp
import numpy as np
import pytest
import scipy.linalg
import scipy.special

import ppl
import ppl.tensor as tt


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
        **because(
            "the size of the result depends on the values, which a compiled program cannot have",
            "extract intersect1d setdiff1d setxor1d trim_zeros union1d unique_all unique_counts unique_inverse "
            "unique_values histogram_bin_edges",
        ),
        **because("changes an array in place: see set_subtensor and index_update", "place put put_along_axis"),
        **because("a tensor never changes, so it needs no copy; x.copy() is there", "copy"),
        **because("an index of NumPy arrays does the same", "ix_ mask_indices"),
        **because(
            "nobody has asked: from_jax makes an operation of JAX's function",
            "apply_over_axes histogram2d histogramdd packbits unpackbits sort_complex",
        ),
    },
    "scipy.special": because("nobody has asked: from_jax makes an operation of JAX's function", "bernoulli sph_harm_y"),
    "scipy.linalg": because(
        "nobody has asked: from_jax makes an operation of JAX's function",
        "eigh_tridiagonal expm_frechet fiedler_companion funm qr_multiply rsf2csf",
    ),
}
HOMES = {
    "numpy": (jnp, np, tt),
    "numpy.linalg": (jnp.linalg, np.linalg, tt.linalg),
    "numpy.fft": (jnp.fft, np.fft, tt.fft),
    "scipy.special": (jsp, scipy.special, tt.special),
    "scipy.linalg": (jsl, scipy.linalg, tt.linalg),
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
    "shared function scan config.floatX grad gradient.disconnected_grad ifelse In Out clone_replace dprint compile "
    "graph gradient.Rop gradient.Lop gradient.jacobian gradient.hessian gradient.verify_grad printing.Print"
)


@pytest.mark.parametrize("home, names", [(tt, PYMC), (ppl, PYTENSOR)], ids=["pytensor.tensor", "pytensor"])
def test_names_that_pymc_uses(home, names):
    def found(path):
        thing = home
        for part in path.split("."):
            thing = getattr(thing, part, None)
        return thing

    assert [path for path in names.split() if found(path) is None] == []
