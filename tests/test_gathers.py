"""Functions of gathered entries are computed before the entries are repeated; the values stay the same."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import ppl.tensor as tt
from ppl.rewrites import optimize, text
from ppl.tensor import to_jax

pytestmark = pytest.mark.usefixtures("module_compiled_quickly")

RNG = np.random.default_rng(6)
GROUPS = RNG.integers(0, 4, 30)
SOME = np.array([0, 3, 3, 0, -1, 0])
a, b = tt.dvector("a", shape=(4,)), tt.dvector("b", shape=(4,))
r, s = tt.dvector("r", shape=(30,)), tt.dscalar("s")

CASES = {
    "one function": tt.exp(a[GROUPS]),
    "a chain of them": tt.log1p(tt.square(tt.sin(a[GROUPS]))),
    "of two arrays by one index": tt.maximum(a[GROUPS], b[GROUPS]) + r,
    "of two arrays by two indices": tt.maximum(a[GROUPS], b[GROUPS[::-1].copy()]),
    "with a scalar": s * tt.exp(a[GROUPS] + s) * r,
    "an exponential that a logarithm meets": tt.log(tt.exp(a[GROUPS]) + tt.exp(r)),
    "a sum": tt.sum(tt.log(tt.exp(a[GROUPS]) + 2)),
    "a sum that leaves entries out": tt.sum(tt.tanh(a)[SOME]),
    "a short index": tt.exp(a[np.array([1, 2])]),
}


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_values_and_gradients_stay(case):
    inputs = [a, b, r, s]
    values = [RNG.normal(size=x.type.shape) for x in inputs]
    with jax.enable_x64(True):
        before, after = (to_jax(inputs, node) for node in (case, optimize([case])[0]))
        np.testing.assert_allclose(after(*values), before(*values), rtol=1e-13)
        for i in range(len(inputs)):
            slopes = [jax.grad(lambda *xs, f=f: jnp.sum(f(*xs)), argnums=i)(*values) for f in (before, after)]
            np.testing.assert_allclose(slopes[1], slopes[0], rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize(
    ("case", "shown"),
    [
        ("a chain of them", "log1p(square(sin(a)))[constant[30]]"),
        ("of two arrays by two indices", "maximum(a[constant[30]], b[constant[30]])"),
        ("an exponential that a logarithm meets", "logaddexp(a[constant[30]], r)"),
        ("a sum", "sum(softplus(a - 0.693147) * constant[4]) + 20.7944"),
        ("a sum that leaves entries out", "sum(tanh(a)[constant[2]] * constant[2])"),
        ("a short index", "exp(a[constant[2]])"),
    ],
)
def test_the_index_comes_last(case, shown):
    assert text(optimize([CASES[case]])[0]) == shown


def test_entries_that_are_never_taken_do_not_count():
    x = tt.dvector("x", shape=(3,))
    total = tt.sum(tt.log(x)[np.array([0, 0, 1, 1])])
    with jax.enable_x64(True):
        assert to_jax([x], optimize([total])[0])(jnp.array([1.0, np.e, -1.0])) == pytest.approx(2.0)


def test_positions_that_may_be_out_of_range_still_read_nan():
    i = tt.lvector("i")
    for case in (tt.exp(a[i]), tt.isnan(a[i]), tt.switch(a[i] > 0, 1.0, 2.0)):
        with jax.enable_x64(True):
            before, after = (to_jax([a, i], node) for node in (case, optimize([case])[0]))
            point = (jnp.arange(4.0), jnp.array([0, 9, 2, 2, 3, 9]))
            np.testing.assert_array_equal(after(*point), before(*point))
