"""Indexing and indexed updates against NumPy, drawn by hypothesis."""

import jax
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as some
from hypothesis.extra import numpy as some_arrays

import ppl
import ppl.tensor as tt
from ppl.xla.later import wide

pytestmark = pytest.mark.usefixtures("module_compiled_quickly")


@some.composite
def indexed(draw):
    """An array, and an index into it: integers, slices, new axes, an ellipsis, arrays of integers, masks."""
    shape = draw(some_arrays.array_shapes(min_dims=1, max_dims=3, min_side=1, max_side=4))
    x = np.arange(float(np.prod(shape))).reshape(shape)
    kind = draw(some.sampled_from(["basic", "arrays", "mixed", "mask"]))
    if kind == "basic":
        return x, draw(some_arrays.basic_indices(shape, max_dims=5, allow_newaxis=True))
    if kind == "arrays":
        return x, draw(some_arrays.integer_array_indices(shape))
    if kind == "mask":
        return x, draw(some_arrays.arrays(bool, shape[: draw(some.integers(1, len(shape)))]))
    count = draw(some.integers(1, 3))
    parts = [
        draw(
            some.one_of(
                some.integers(-n, n - 1),
                some.slices(n),
                some_arrays.arrays(np.int64, (count,), elements=some.integers(-n, n - 1)),
            )
        )
        for n in shape
    ]
    return x, tuple(parts)


def hidden(index):
    """The index with symbols for its arrays of integers, and their values."""
    parts = index if isinstance(index, tuple) else (index,)
    values, shown = {}, []
    for part in parts:
        if isinstance(part, np.ndarray) and part.dtype != bool:
            symbol = tt.tensor(None, dtype=part.dtype, shape=(None,) * part.ndim)
            values[symbol] = part
            part = symbol
        shown.append(part)
    return tuple(shown), values


@settings(max_examples=150)
@given(indexed())
def test_getitem(case):
    x, index = case
    known = tt.constant(x)[index]
    assert known.type.shape == x[index].shape
    s = tt.tensor("x", dtype="float64", shape=(None,) * x.ndim)
    shown, values = hidden(index) if not isinstance(index, np.ndarray) else (index, {})
    np.testing.assert_array_equal(s[shown].get({s: x, **values}), x[index])
    np.testing.assert_array_equal(known.get(), x[index])


@settings(max_examples=100)
@given(indexed(), some.sampled_from(["set", "inc"]))
def test_set_and_inc(case, how):
    x, index = case
    y = -1.0 - np.arange(float(np.prod(x[index].shape))).reshape(x[index].shape)
    wanted = x.copy()
    s = tt.tensor("x", dtype="float64", shape=x.shape)
    if how == "inc":
        np.add.at(wanted, index, y)
        found = [tt.inc_subtensor(s[index], y), s[index].inc(y), tt.index_add(s, y, index)]
    else:
        y = np.full_like(y, -1.0)  # the order in which repeated places are written is nobody's promise
        wanted[index] = y
        found = [tt.set_subtensor(s[index], y), s[index].set(y), tt.index_update(s, y, index)]
    for each in found:
        np.testing.assert_array_equal(each.get({s: x}), wanted)


@settings(max_examples=30)
@given(indexed())
def test_gradients_put_back_what_was_taken(case):
    x, index = case
    s = tt.tensor("x", dtype="float64", shape=x.shape)
    taken = s[index]
    weights = 1.0 + np.arange(float(np.prod(taken.type.shape))).reshape(taken.type.shape)
    wanted = np.zeros_like(x)
    np.add.at(wanted, index, weights)
    np.testing.assert_array_equal(ppl.grad((weights * taken).sum(), s).get({s: x}), wanted)


def test_all_places_can_be_set_and_are_no_more_work_than_the_tensor():
    x = tt.dvector("x")
    at = {x: np.arange(4.0)}
    for every in (x[:], x[0:], x[...]):
        assert tt.set_subtensor(every, 7.0).get(at).tolist() == [7, 7, 7, 7]
        assert tt.inc_subtensor(every, x).get(at).tolist() == [0, 2, 4, 6]
        assert every + 1 is x + 1 and tt.exp(every) is tt.exp(x) and every[1] is x[1]
    assert tt.set_subtensor(x[1:3][:], 9.0).get(at).tolist() == [9, 9]  # of what is viewed, not of all it came from
    assert ppl.grad((tt.set_subtensor(x[:], x**2) ** 2).sum(), x).get(at).tolist() == [0, 4, 32, 108]


def test_gradients_of_updates():
    x, y = tt.dvector("x"), tt.dvector("y")
    values = {x: np.arange(4.0), y: np.array([5.0, 7.0])}
    weights = np.array([1.0, 2.0, 3.0, 4.0])
    by_x, by_y = tt.get(ppl.grad((weights * tt.set_subtensor(x[1:3], y)).sum(), [x, y]), values)
    assert by_x.tolist() == [1, 0, 0, 4] and by_y.tolist() == [2, 3]
    by_x, by_y = tt.get(ppl.grad((weights * tt.inc_subtensor(x[np.array([1, 1])], y)).sum(), [x, y]), values)
    assert by_x.tolist() == [1, 2, 3, 4] and by_y.tolist() == [2, 2]


def test_symbolic_ends_of_slices():
    x, n = tt.dvector("x"), tt.dvector("y").shape[0]
    f = ppl.function([x, n.inputs[0]], x[1:n][::-1])
    assert f(np.arange(6.0), np.zeros(4)).tolist() == [3, 2, 1]
    assert f(np.arange(6.0), np.zeros(2)).tolist() == [1]


def test_symbolic_integers():
    x, i = tt.dmatrix("x"), tt.lscalar("i")
    f = ppl.function([x, i], [x[i], x[i, 1:], x[-1, i]])
    a = np.arange(6.0).reshape(2, 3)
    assert [v.tolist() for v in f(a, 1)] == [a[1].tolist(), a[1, 1:].tolist(), a[-1, 1]]
    assert np.isnan(ppl.function([x, i], x[i])(a, 7)).all()


def test_where_a_mask_must_be_known():
    x = tt.dvector("x")
    assert x[np.array([True, False, True])].eval({x: [1.0, 2.0, 3.0]}).tolist() == [1, 3]
    with pytest.raises(IndexError, match=r"index 3 is out of range for axis 0 .* length 3"):
        tt.constant([1.0, 2.0, 3.0])[3]
    with pytest.raises(TypeError, match="takes an indexed tensor"):
        tt.set_subtensor(x, 1.0)
    with pytest.raises(ValueError, match=r"of shape \(3,\) does not fit into x\[index\] of shape \(2,\)"):
        tt.set_subtensor(tt.constant([1.0, 2.0, 3.0])[1:], [1.0, 2.0, 3.0])
    with pytest.raises(TypeError, match="`in` needs values"):
        1 in x  # noqa: B015


def test_iteration_and_length():
    x = tt.tensor("x", dtype="float64", shape=(3, 2))
    assert len(x) == 3 and [row.type.shape for row in x] == [(2,)] * 3
    with pytest.raises(TypeError, match="only known when the program runs"):
        len(tt.dvector("y"))


UNDER_A_MASK = {
    "the array's own": (lambda x, v: x > 0, lambda x, v: 7.0),
    "rows, by a number": (lambda x, v: v > 0, lambda x, v: 0.0),
    "rows, by a row": (lambda x, v: v > 0, lambda x, v: v),
    "rows, by a row of one": (lambda x, v: v > 0, lambda x, v: v[None, :]),
    "columns": (lambda x, v: (slice(None), v > 0), lambda x, v: v[:, None]),
    "the diagonal": (lambda x, v: (v > 0,) * 2, lambda x, v: 1.0),
}


@pytest.mark.parametrize("update", ["set_subtensor", "inc_subtensor"])
@pytest.mark.parametrize("case", UNDER_A_MASK)
def test_updates_under_a_mask_that_is_computed_compile(case, update):
    """How many entries a mask picks is known to no compiled program; which ones change is a choice for each of them."""
    rng = np.random.default_rng(3)
    index, value = UNDER_A_MASK[case]
    x, v = tt.dmatrix("x"), tt.dvector("v")
    changed = getattr(tt, update)(x[index(x, v)], value(x, v))
    compiled = jax.jit(lambda a, b: tt.to_jax([x, v], changed)(a, b))
    for _ in range(3):
        a, b = rng.normal(size=(4, 4)), rng.normal(size=4)
        expected, there = a.copy(), index(a, b)
        expected[there] = value(a, b) + (expected[there] if update == "inc_subtensor" else 0.0)
        with wide():
            np.testing.assert_allclose(compiled(a, b), expected)


def test_a_mask_with_a_value_for_each_of_its_places_and_partial_ones():
    x, v = tt.dmatrix("x"), tt.dvector("v")
    a, b = np.random.default_rng(4).normal(size=(4, 4)), np.array([1.0, -1.0, 2.0, -3.0])
    whole, part, one = a.copy(), a.copy(), a.copy()
    whole[a > 0], part[b > 0, :2], one[b > 0, 1] = (2 * a)[a > 0], b[:2], 3.0
    picked = [(x[x > 0], (2 * x)[x > 0]), (x[v > 0, :2], v[:2]), (x[v > 0, 1], 3.0)]
    outputs = [tt.set_subtensor(view, value) for view, value in picked]
    for found, expected in zip(ppl.function([x, v], outputs)(a, b), (whole, part, one), strict=True):
        np.testing.assert_allclose(found, expected)


def test_a_list_of_parts_is_an_index_of_several_axes():
    x = tt.as_tensor(np.arange(12.0).reshape(3, 4))
    np.testing.assert_array_equal(x[[slice(None), 0]].eval(), [0.0, 4.0, 8.0])
    np.testing.assert_array_equal(x[[0, 2]].eval(), [[0, 1, 2, 3], [8, 9, 10, 11]])


def test_positions_outside_are_brought_inside_on_request():
    x, at = np.arange(5.0), np.array([-7, 3, 11])
    for mode in ("wrap", "clip"):
        np.testing.assert_array_equal(tt.take(tt.as_tensor(x), at, 0, mode).eval(), np.take(x, at, 0, mode=mode))
    with pytest.raises(ValueError, match="mode is 'raise', 'wrap' or 'clip', got 'last'"):
        tt.take(x, at, mode="last")
