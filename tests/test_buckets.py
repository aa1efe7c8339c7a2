"""Sizes rounded up to powers of two: the same results from fewer programs; refused where padding would be seen."""

import numpy as np
import pytest

import ppl
import ppl.tensor as tt

pytestmark = pytest.mark.usefixtures("module_compiled_quickly")

RANDOM = np.random.default_rng(5)


def both(inputs, outputs):
    return [ppl.function(inputs, outputs, buckets=b) for b in (True, False)]


def agree(inputs, outputs, *values):
    """With and without buckets, to rounding."""
    bucketed, plain = both(inputs, outputs)
    for given in values:
        for found, wanted in zip(bucketed(*given), plain(*given), strict=True):
            assert found.shape == wanted.shape and found.dtype == wanted.dtype
            np.testing.assert_allclose(found, wanted, rtol=1e-12, atol=1e-14)
    return bucketed


x, y, m = tt.dvector("x"), tt.dvector("y"), tt.dmatrix("m")
w = tt.tensor("w", dtype="float64", shape=(3,))


def test_reductions_see_the_real_entries_only():
    reductions = [tt.sum, tt.prod, tt.mean, tt.max, tt.min, tt.all, tt.any, tt.logsumexp]
    outputs = [reduce(x - 5.0) for reduce in reductions] + [x.var(), x.std(ddof=1), tt.exp(x) * 2, x.shape[0] * 1.0]
    f = agree([x], outputs, *[(RANDOM.normal(size=n),) for n in (1, 2, 3, 5, 6)])
    assert f.compilations == 4  # for 1, 2, 4 and 8


def test_matrices():
    outputs = [m @ w, m.T @ m, m.sum(0), m.sum(1), m.mean(), (m * w).T, m * 2]
    sizes = tt.tensor("m", dtype="float64", shape=(None, 3))
    outputs = [ppl.clone_replace(out, {m: sizes}) for out in outputs]
    f = agree([sizes, w], outputs, *[(RANDOM.normal(size=(n, 3)), RANDOM.normal(size=3)) for n in (1, 3, 4, 5, 6)])
    assert f.compilations == 3


def test_running_totals_positions_and_shares():
    outputs = [
        tt.cumsum(x), tt.cumprod(x), tt.cummax(-x), tt.cummin(x), tt.argmax(-x), tt.argmin(x - 9), tt.softmax(x),
        tt.log_softmax(x), tt.stack([x, x * 2]), tt.concatenate([x[None, :], x[None, :] ** 2]).sum(1),
        tt.argmax(x > 50), tt.cumsum(x > 0),
    ]  # fmt: skip
    outputs.append(ppl.grad(sum(tt.sum(tt.log(abs(out) + 0.1) * 2.0) for out in outputs if out.dtype == "float64"), x))
    f = agree([x], outputs, *[(RANDOM.normal(size=n),) for n in (1, 3, 5, 7)])
    assert f.compilations == 3


def test_what_is_stacked_has_one_length():
    stacked = ppl.function([x, y], tt.concatenate([x[None, :], y[None, :]]), buckets=True)
    with pytest.raises(ValueError, match="input 0 has 3, input 1 has 4"):
        stacked(np.ones(3), np.ones(4))


SIZES = (3, 5), (4, 7), (1, 3)


def test_several_unknown_axes():
    outputs = [m @ y, x @ m, (x[:, None] * m * y).sum(), m.T + 1, tt.ones_like(m) * 2, m.sum(0) / y.sum()]
    given = [
        (RANDOM.normal(size=a), RANDOM.normal(size=b), RANDOM.normal(size=(a, b))) for a, b in ((3, 5), (4, 7), (1, 3))
    ]
    f = agree([x, y, m], outputs, *given)
    assert f.compilations == 2  # 4 by 8, 1 by 4


def test_rows_taken_by_position():
    groups, table = tt.lvector("groups"), tt.tensor("table", dtype="float64", shape=(4, 2))
    cost = (table[groups] * x[:, None]).sum()
    given = [(RANDOM.integers(0, 4, n), RANDOM.normal(size=n), RANDOM.normal(size=(4, 2))) for n in (5, 6, 8)]
    f = agree([groups, x, table], [cost, table[groups], *ppl.grad(cost, [table, x])], *given)
    assert f.compilations == 1


def test_gradients():
    features = tt.tensor("features", dtype="float64", shape=(None, 3))
    loss = tt.mean(tt.softplus(-y * (features @ w))) + (w**2).sum()
    outputs = [loss, *ppl.grad(loss, [w, features])]
    given = [(RANDOM.normal(size=(n, 3)), RANDOM.choice([-1.0, 1.0], n), RANDOM.normal(size=3)) for n in (5, 6, 7, 8)]
    f = agree([features, y, w], outputs, *given)
    assert f.compilations == 1


def test_the_padding_is_finite_where_the_data_are():
    """The slope of log at zero would turn the gradient in s into nan, if the padding were zeros."""
    s = tt.dscalar("s")
    cost = (tt.log(x) * s + tt.sqrt(x * s)).sum()
    agree([x, s], [cost, *ppl.grad(cost, [x, s])], (np.array([1.0, 2.0, 3.0]), np.array(2.0)))


def test_lengths_that_are_one_or_none():
    given = [(np.ones(a), np.arange(float(b))) for a, b in ((5, 1), (1, 5), (1, 1), (0, 0))]
    f = agree([x, y], [x + y, (x * y).sum()], *given)
    assert f(np.ones(0), np.ones(0))[0].shape == (0,)


def test_lengths_that_differ_are_not_hidden_by_padding():
    bucketed, plain = both([x, y], x + y)
    for f in (bucketed, plain):
        with pytest.raises((ValueError, TypeError), match=r"lengths that meet differ|broadcast"):
            f(np.ones(5), np.ones(7))
    dot = ppl.function([x, y], x @ y, buckets=True)
    with pytest.raises(ValueError, match="input 0 has 5, input 1 has 7"):
        dot(np.ones(5), np.ones(7))


@pytest.mark.parametrize(
    "build, name",
    [
        (lambda: tt.sort(x), "sort"),
        (lambda: x.reshape((-1, 1)), "reshape"),
        (lambda: tt.median(x), "median"),
        (lambda: tt.roll(x, 1), "roll_op"),
        (lambda: tt.set_subtensor(x[1:], 0.0), "index_update"),
        (lambda: tt.constant(np.arange(9.0))[: x.shape[0] * 2], "getitem"),
        (lambda: tt.argmax(x[:, None] * x), "argmax"),
        (lambda: x + np.arange(3.0), "add"),
        (lambda: ppl.scan(lambda a, s: s + a.sum(), x[:, None] * x, 0.0)[0], "scan_op"),
        (lambda: ppl.scan(lambda a, s: (s + a, tt.until(s > 1)), x, np.float64(0))[0], "while_op"),
        (lambda: ppl.printing.Print("x")(x).sum(), "print_value"),
        (lambda: tt.random.normal(size=(x.shape[0],), rng=ppl.tensor.random.Key.from_seed(1)) + x, "random_normal"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_what_could_see_the_padding_is_refused(build, name):
    f = ppl.function([x], build(), buckets=True, mode="FAST_COMPILE")
    with pytest.raises(ValueError, match=rf"buckets=True: {name} meets a padded axis.* leave buckets out"):
        f(np.arange(3.0))


def test_a_slice_whose_end_is_computed():
    f = ppl.function([x], x[tt.argmax(x) :] * 2, buckets=True)
    for values in (np.array([1.0, 5.0, 2.0]), np.array([4.0, 1.0, 2.0, 3.0, 1.0])):
        np.testing.assert_array_equal(f(values), values[values.argmax() :] * 2)


LENGTHS = [(RANDOM.normal(size=n),) for n in (1, 3, 6, 7)]


def sloped(outputs, x):
    """The outputs, and the slope of what all their numbers come to."""
    real = [out for out in outputs if out.dtype == "float64"]
    return [*outputs, ppl.grad(sum((tt.sin(out) * (i + 1.0)).sum() for i, out in enumerate(real)), x)]


def test_slices_are_numpys():
    ends = None, 0, 1, 2, 5, -1, -2, -6
    slices = [slice(a, b, step) for a in ends for b in ends for step in (None, 3, -1, -2) if RANDOM.random() < 0.1]
    f = ppl.function([x], [x[each] for each in slices], buckets=True)
    for n in (1, 2, 3, 5, 7, 8):
        for each, found in zip(slices, f(np.arange(float(n))), strict=True):
            assert found.tolist() == np.arange(float(n))[each].tolist(), (n, each)
    assert f.compilations == 4


def test_slices():
    n = x.shape[0]
    outputs = [
        x[1:-1][::-1],
        x[: n - 1],
        x[n - 2 :],
        x[tt.minimum(n, 3) :],
        tt.diff(x, 2),
        tt.flip(x)[::2],
        tt.arange(n),
    ]
    agree([x], sloped(outputs, x), *LENGTHS)


def test_entries_and_rows():
    places = tt.lvector("places")
    outputs = sloped([x[0], x[-1], x[places], x[[0, -1]], m[1:, -1], m[-1], m[::-1, 0], m[places, 1:], m[:, places]], x)
    outputs = [*outputs[:-1], *ppl.grad(sum(tt.sin(out).sum() for out in outputs[:-1]), [x, m])]
    given = [
        (RANDOM.normal(size=n), RANDOM.integers(-20, 20, n), RANDOM.normal(size=(n, k)))
        for n, k in ((2, 3), (5, 6), (7, 5))
    ]
    f = agree([x, places, m], outputs, *given)
    assert f.compilations == 2
    for k, message in ((3, r"a length is 2, and 4 or more is needed: input 0 has 2"), (-4, "and 4 or more")):
        bucketed, plain = both([x], x[k] * 2)
        assert bucketed(np.arange(4.0)) == plain(np.arange(4.0))
        with pytest.raises(ValueError, match=message):
            bucketed(np.arange(2.0))
        with pytest.raises(IndexError, match=rf"index {k} is out of range for axis 0 of an array of shape \(2,\)"):
            plain(np.arange(2.0))


def test_pieces_put_together():
    y2 = tt.tensor("y2", dtype="float64", shape=(2,))
    outputs = [
        tt.concatenate([x, y]), tt.concatenate([y2, x, y2, y]), tt.concatenate([x[1:], x[:1]]),
        tt.concatenate([x[:0], y]),
        tt.concatenate([x[:, None] * y2, y[:, None] * y2]), tt.concatenate([x[None, :], x[None, ::-1]], axis=1),
        tt.cumsum(tt.concatenate([[0.0], x])), tt.concatenate([y, x])[::2],
    ]  # fmt: skip
    given = [
        (RANDOM.normal(size=a), RANDOM.normal(size=b), RANDOM.normal(size=2))
        for a, b in ((1, 5), (3, 4), (6, 7), (5, 8))
    ]
    agree([x, y, y2], sloped(outputs, x), *given)


def test_lengths_that_follow_from_others_meet():
    agree(
        [x], sloped([x[1:] * x[:-1], x[1:] @ x[:-1], x[1:] + x[:1], x[-1:] * x, x[:-2] + x[1:][:-1]], x), *LENGTHS[2:]
    )
    f = ppl.function([x, y], x[1:] + y, buckets=True)
    assert f(np.arange(6.0), np.arange(5.0)).shape == (5,)
    with pytest.raises(ValueError, match="lengths that meet differ: 4, where input 0 has 5, input 1 has 6"):
        f(np.arange(5.0), np.arange(6.0))
    empty = ppl.function([x], x[1:].max(), buckets=True)
    with pytest.raises(ValueError, match="a length is 0, and 1 or more is needed"):
        empty(np.ones(1))


def test_slopes_that_are_stretched():
    """A slope of one entry, as of x[:1], stands for all entries beside it."""
    one = x[:1]
    agree([x], [ppl.grad((one**3).sum(), one) * x], *LENGTHS)


def test_loops():
    w0 = tt.dscalar("w0")
    one = np.float64(1.0)
    outputs = [
        ppl.scan(lambda a, s: s * 0.5 + tt.sqrt(a**2), x, one)[0],
        ppl.scan(lambda a, s: s * 0.5 + a, x, one, go_backwards=True)[0],
        ppl.scan(lambda a, b, s: s * w0 + a * b, {"input": x, "taps": [0, 1]}, one)[0],
        ppl.scan(lambda a, b: a - b, [x[1:], x[:-1]])[0],
        ppl.scan(lambda s: s * w0, outputs_info=one, n_steps=x.shape[0])[0][-1],
    ]
    cost = sum((tt.sin(out) * (i + 1.0)).sum() for i, out in enumerate(outputs))
    agree([x, w0], [*outputs, *ppl.grad(cost, [x, w0])], *[(value, np.float64(0.7)) for (value,) in LENGTHS[1:]])


def test_updates_keep_real_sizes():
    state = ppl.shared(np.zeros(1), "state")
    f = ppl.function([x], x.sum(), updates={state: x * 2}, buckets=True)
    assert f(np.arange(5.0)) == 10 and state.get_value().tolist() == [0, 2, 4, 6, 8]
