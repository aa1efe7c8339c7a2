"""Sizes that are values of inputs: a program for each value, equal to NumPy; what cannot be known is refused."""

import jax
import numpy as np
import pytest

import ppl
import ppl.tensor as tt
from ppl.tensor.sizing import deciding

N, X = tt.lscalar("n"), tt.dvector("x")
DATA = np.array([3.0, 1.0, 4.0, 1.0, 5.0])

CASES = {
    "arange": (lambda: tt.arange(N, dtype="float64"), lambda n, x: np.arange(float(n))),
    "arange of two ends": (lambda: tt.arange(1, N + 1) * 1.0, lambda n, x: np.arange(1.0, n + 1)),
    "zeros": (lambda: tt.zeros((N, 2)), lambda n, x: np.zeros((n, 2))),
    "full": (lambda: tt.full((N,), 2.0), lambda n, x: np.full(n, 2.0)),
    "eye": (lambda: tt.eye(N), lambda n, x: np.eye(n)),
    "tri": (lambda: tt.tri(N, N + 1, -1), lambda n, x: np.tri(n, n + 1, -1)),
    "linspace": (lambda: tt.linspace(0, 1, N), lambda n, x: np.linspace(0, 1, n)),
    "the first": (lambda: X[:N], lambda n, x: x[:n]),
    "the rest": (lambda: X[N:], lambda n, x: x[n:]),
    "every nth": (lambda: X[::N], lambda n, x: x[::n]),
    "a window": (lambda: X[N : N + 2], lambda n, x: x[n : n + 2]),
    "set": (lambda: tt.set_subtensor(X[:N], 0.0), lambda n, x: np.r_[np.zeros(len(x[:n])), x[n:]]),
    "reshape": (lambda: tt.concatenate([X, X]).reshape((N, -1))[0], lambda n, x: np.r_[x, x].reshape(n, -1)[0]),
    "tile": (lambda: tt.tile(X, N), lambda n, x: np.tile(x, n)),
    "repeat": (lambda: tt.repeat(X, N), lambda n, x: np.repeat(x, n)),
    "half the length": (lambda: X[: (N * X.shape[0]) // 10], lambda n, x: x[: n * 5 // 10]),
    "a loop": (
        lambda: ppl.scan(lambda s, x: s * x, outputs_info=tt.ones_like(X), non_sequences=X, n_steps=N)[0][-1],
        lambda n, x: x**n,
    ),
    "within a loop": (
        lambda: ppl.map(lambda entry: (tt.arange(N) * entry).sum(), X)[0],
        lambda n, x: x * n * (n - 1) / 2,
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_a_size_by_value_is_numpys_and_its_gradient_right(name):
    build, expected = CASES[name]
    made = build()
    cost = (made * X.sum()).sum()
    f = ppl.function([N, X], [made, ppl.grad(cost, X)], on_unused_input="ignore")
    for n in (1, 2, 5):
        value, slope = f(n, DATA)
        np.testing.assert_allclose(value, expected(n, DATA), rtol=1e-14)
        steps = 1e-6 * np.eye(len(DATA))
        sums = [
            [np.sum(expected(n, DATA + sign * step) * (DATA + sign * step).sum()) for sign in (1, -1)] for step in steps
        ]
        np.testing.assert_allclose(slope, [(up - down) / 2e-6 for up, down in sums], rtol=1e-5, atol=1e-6)
    compiled = f.compilations
    f(2, DATA + 1)
    assert f.compilations == compiled


def test_what_decides_sizes_is_found_in_bodies_and_not_behind_lengths():
    assert deciding([X[: X.shape[0] - 1]]) == (set(), [])
    assert deciding([X[:N] + tt.arange(N)]) == ({N}, [])
    inside = ppl.map(lambda entry: tt.zeros(N).sum() + entry, X)[0]
    assert deciding([inside]) == ({N}, [])
    assert deciding([ppl.grad(inside.sum(), X)]) == ({N}, [])
    assert deciding([X[N]]) == (set(), [])
    found = deciding([tt.zeros(X.argmax())])
    assert found.leaves == set() and found.computed[0] is X.argmax()


def test_a_shape_as_an_input_and_sizes_with_buckets():
    shape = tt.tensor("shape", dtype="int64", shape=(2,))
    assert ppl.function([shape], tt.zeros(shape))([2, 3]).shape == (2, 3)
    f = ppl.function([N, X], tt.concatenate([X, tt.ones(N)]).sum(), buckets=True)
    assert [f(2, DATA), f(2, DATA[:4] * 1.0), f(3, DATA)] == [16.0, 11.0, 17.0]


def test_a_variable_that_counts_its_calls():
    count = ppl.shared(1, name="count")
    f = ppl.function([], tt.ones(count).sum(), updates={count: count + 1})
    assert [float(f()), float(f()), float(f())] == [1.0, 2.0, 3.0]


def test_a_size_that_is_computed_of_data():
    best = X.argmax()
    f = ppl.function([X], [tt.zeros(best), X[:best], ppl.grad((X[: best + 1] ** 2).sum(), X)])
    for data in (DATA, DATA[::-1], DATA[:3]):
        n = int(data.argmax())
        zeros, before, slope = f(data)
        assert zeros.shape == (n,)
        np.testing.assert_array_equal(before, data[:n])
        np.testing.assert_array_equal(slope, np.where(np.arange(len(data)) <= n, 2 * data, 0))


def test_sizes_that_follow_from_one_another():
    first = X[: X.argmax()]
    second = tt.arange(first.sum().astype("int64"))
    assert ppl.function([X], second.sum())(DATA) == sum(range(9))


def test_a_size_that_changes_from_step_to_step_is_refused():
    growing, _ = ppl.scan(lambda n: n + tt.ones(n).sum().astype("int64"), outputs_info=tt.constant(1), n_steps=3)
    with pytest.raises(TypeError, match="a size depends on the values of arrays"):
        growing.eval()


def test_a_size_under_a_transformation_of_jax_is_refused_by_name():
    f = ppl.function([N, X], X[:N].sum())
    with jax.enable_x64(True), pytest.raises(TypeError, match=r"name=n.* decides sizes"):
        jax.jit(f)(2, DATA)
    pure = ppl.to_jax([N, X], X[:N].sum())
    with jax.enable_x64(True):
        assert jax.jit(pure, static_argnums=0)(2, DATA) == 4.0
        with pytest.raises(TypeError, match="a size depends on the values of arrays"):
            jax.jit(pure)(2, DATA)
