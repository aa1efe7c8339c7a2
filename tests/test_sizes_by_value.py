"""Sizes that are values of inputs: a program for each value, equal to NumPy; what cannot be known is refused."""

import jax
import numpy as np
import pytest

import ppl
import ppl.tensor as tt
from ppl.tensor.core.sizing import deciding

pytestmark = pytest.mark.usefixtures("module_compiled_quickly")

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


COUNTS = tt.lvector("counts")
SELECTED = {
    "the positive ones": (lambda: X[X > 0], lambda x, n: x[x > 0]),
    "rows by a mask": (lambda: tt.outer(X, X)[X > 1, 0], lambda x, n: np.outer(x, x)[x > 1, 0]),
    "a mask of a matrix": (lambda: tt.outer(X, X)[tt.outer(X, X) > 2], lambda x, n: np.outer(x, x)[np.outer(x, x) > 2]),
    "set by a mask": (lambda: tt.set_subtensor(X[X < 0], 0.0), lambda x, n: np.where(x < 0, 0.0, x)),
    "added by a mask": (lambda: tt.inc_subtensor(X[X < 0], 9.0), lambda x, n: np.where(x < 0, x + 9, x)),
    "nonzero": (lambda: tt.nonzero(X)[0], lambda x, n: np.nonzero(x)[0]),
    "values that are not zero": (lambda: tt.nonzero_values(X), lambda x, n: x[x != 0]),
    "argwhere": (lambda: tt.argwhere(tt.outer(X, X)), lambda x, n: np.argwhere(np.outer(x, x))),
    "distinct": (lambda: tt.unique(X), lambda x, n: np.unique(x)),
    "compressed": (lambda: tt.compress(X > 0, X), lambda x, n: np.compress(x > 0, x)),
    "extracted": (lambda: tt.extract(X > 0, X * 2), lambda x, n: np.extract(x > 0, x * 2)),
    "a union": (lambda: tt.union1d(X, [2.0, 3.0]), lambda x, n: np.union1d(x, [2.0, 3.0])),
    "an intersection": (lambda: tt.intersect1d(X, [2.0, 3.0]), lambda x, n: np.intersect1d(x, [2.0, 3.0])),
    "a difference": (lambda: tt.setdiff1d(X, [2.0, 3.0]), lambda x, n: np.setdiff1d(x, [2.0, 3.0])),
    "in one of two": (lambda: tt.setxor1d(X, [2.0, 3.0]), lambda x, n: np.setxor1d(x, [2.0, 3.0])),
    "counted": (lambda: tt.bincount(COUNTS), lambda x, n: np.bincount(n)),
}


@pytest.mark.parametrize("name", SELECTED)
def test_entries_selected_by_their_values_are_numpys(name):
    build, expected = SELECTED[name]
    f = ppl.function([X, COUNTS], build(), on_unused_input="ignore")
    for x in ([3.0, 0.0, -1.0, 3.0], [0.0, 0.0, 0.0, 0.0], [np.nan, 1.0, np.nan, 2.0], [4.0, -4.0, 0.5, np.inf]):
        for n in ([0, 2, 1, 0], [3, 0, 0, 5]):
            found, wanted = f(np.array(x), np.array(n)), expected(np.array(x), np.array(n))
            assert found.dtype == wanted.dtype
            np.testing.assert_array_equal(found, wanted)


def test_a_mask_of_another_length_is_refused_when_it_is_met():
    mask = tt.bvector("mask").astype("bool")
    f = ppl.function([X, mask.inputs[0]], X[mask])
    assert f(np.arange(3.0), np.array([1, 0, 1], np.int8)).tolist() == [0.0, 2.0]
    g = ppl.function([X, mask.inputs[0]], tt.outer(X, X)[:, mask])
    h = ppl.function([X, mask.inputs[0]], tt.compress(mask, X))
    for wrong in ([1], [1, 0], [1, 0, 0, 1]):
        for each in (f, g, h):
            with pytest.raises(IndexError, match=r"mask of shape .* does not fit"):
                each(np.arange(3.0), np.array(wrong, np.int8))


def test_negative_counts_and_steps_are_refused():
    with pytest.raises(ValueError, match="bincount: numbers that are counted are not negative"):
        ppl.function([COUNTS], tt.bincount(COUNTS))(np.array([-1, 2]))
    with pytest.raises(ValueError, match="not negative, got -1"):
        tt.bincount([-1, 2])
    loop, _ = ppl.scan(lambda s: s * 2, outputs_info=tt.constant(1.0), n_steps=N)
    with pytest.raises(ValueError, match="n_steps cannot be negative, got -2"):
        ppl.function([N], loop)(-2)
    sums, _ = ppl.scan(lambda a, s: s + a, sequences=X, outputs_info=tt.constant(0.0), n_steps=N)
    f = ppl.function([X, N], sums)
    assert f(np.arange(4.0), 3).tolist() == [0.0, 1.0, 3.0]
    with pytest.raises(ValueError, match=r"9 .*disagrees with leading axis sizes"):
        f(np.arange(3.0), 9)
    with pytest.raises(TypeError, match="an array of counts must be constant"):
        tt.repeat(X, COUNTS)


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


def test_a_mask_among_the_data_of_a_model():
    with ppl.Model() as model:
        seen = ppl.Data("seen", np.array([True, False, True, True]))
        effects = ppl.Normal("effects", 0, 1, shape=4)
        ppl.Normal("y", effects[seen], 1, observed=[1.0, 2.0, 3.0])
        logp = model.compile_logp()({"effects": np.array([1.0, 0.0, 2.0, 3.0])})
        assert logp == pytest.approx(-7 * 0.5 * np.log(2 * np.pi) - 0.5 * (1 + 4 + 9))
        draws = ppl.sample(20, tune=20, chains=1, random_seed=1, progressbar=False, compute_convergence_checks=False)
        predicted = ppl.sample_posterior_predictive(draws, random_seed=1, progressbar=False)
        assert predicted.posterior_predictive.y.shape[2] == 3
        ppl.set_data({"seen": np.array([True, True, True, False])})
        logp = model.compile_logp()({"effects": np.array([1.0, 2.0, 3.0, 9.0])})
        assert logp == pytest.approx(-7 * 0.5 * np.log(2 * np.pi) - 0.5 * (1 + 4 + 9 + 81))
