"""Programs as SymJAX's users write them, with `import ppl as symjax; import ppl.tensor as T`, and their numbers."""

import numpy as np
import pytest

import ppl as symjax
import ppl.tensor as T  # noqa: N812

pytestmark = pytest.mark.usefixtures("module_compiled_quickly")


def test_values_without_compiling():
    x = T.Placeholder((2,), "float64", name="x")
    w = T.Variable(np.array([1.0, 2.0]), name="w")
    loss = (x * w).sum()
    assert loss.get({x: np.array([10.0, 1.0])}) == 12.0
    w.update(np.array([0.0, 1.0]))
    assert loss.get({x: np.array([10.0, 1.0])}) == 1.0


def test_sgd_by_hand():
    w = T.Variable(3.0, name="w")
    loss = (w - 1.0) ** 2
    (slope,) = symjax.gradients(loss, [w])
    train = symjax.function(outputs=loss, updates={w: w - 0.3 * slope})
    losses = [float(train()) for _ in range(20)]
    assert losses[0] == 4.0 and losses[-1] < 1e-6
    w.reset()
    assert w.value == 3.0


def test_clone_of_a_graph_and_of_its_gradient():
    w, v = T.Variable(1.0, name="w"), T.Variable(2.0, name="v")
    value = w * 10 + T.exp(w)
    slope = symjax.gradients(value, w)
    both = T.clone([value, slope], {w: v})
    assert both[0].get() == pytest.approx(20 + np.exp(2.0))
    assert both[1].get() == pytest.approx(10 + np.exp(2.0))
    assert value.clone({w: v}) is both[0]
    then = symjax.gradients(both[0], v)
    assert then.get() == pytest.approx(10 + np.exp(2.0))


def test_two_cloned_gradients_stay_two():
    w, v = T.Variable(1.0, name="w"), T.Variable(2.0, name="v")
    first, second = symjax.gradients(w**2, w), symjax.gradients(w**3, w)
    assert [g.get() for g in T.clone([first, second], {w: v})] == [4.0, 12.0]


def test_updates_are_collected_by_scope():
    def counter(name):
        n = T.Variable(0, name=name)
        symjax.add_updates({n: n + 1})
        return n

    with symjax.Scope("collected"):
        a = counter("a")
        with symjax.Scope("inner"):
            b = counter("b")
    assert set(symjax.get_updates(scope="/collected")) == {a, b}
    assert set(symjax.get_updates("b", "/collected")) == {b}
    assert set(symjax.get_updates(variables=[a])) == {a}
    step = symjax.function(outputs=[a, b], updates=symjax.get_updates(scope="/collected"))
    step()
    assert [int(v) for v in step()] == [1, 1]
    plain = symjax.function(outputs=a)
    assert plain() == 2 and plain() == 2  # collected updates are applied where they are passed, nowhere else
    symjax.reset_variables("*", "/collected")
    assert (a.value, b.value) == (0, 0)


def test_variables_by_name_and_to_a_file(tmp_path):
    with symjax.Scope("saved"):
        w = T.Variable(T.ones((2, 2)), name="w")
        again = T.Variable(np.zeros(2), name="w")
    assert again.name == "w_1"
    w.update(np.full((2, 2), 7.0))
    symjax.save_variables(tmp_path / "weights.npz", "w", "/saved")
    w.reset()
    assert w.value.sum() == 4
    symjax.load_variables(tmp_path / "weights.npz", "w", "/saved")
    assert w.value.sum() == 28
    assert [v.name for v in symjax.get_variables("w*", "/saved")] == ["w", "w_1"]


def test_a_batch_of_any_length():
    x = T.Placeholder((0, 2), "float64", name="x")
    w = T.Variable(np.ones((2,)), name="w")
    loss = ((T.dot(x, w) - 1.0) ** 2).mean()
    train = symjax.function(x, outputs=loss, updates={w: w - 0.1 * symjax.gradients(loss, w)})
    assert train(np.ones((3, 2))) == 1.0
    assert train(np.ones((5, 2))) < 1.0
    assert train.compilations == 2


def test_initial_values_by_a_function_of_the_shape():
    w = T.Variable(np.ones, name="w", shape=(3, 2), dtype="float32")
    assert (w.value.shape, w.dtype) == ((3, 2), "float32")
    with pytest.raises(ValueError, match="needs shape="):
        T.Variable(np.ones, name="w")


def test_jacobians_both_ways():
    x = T.Variable(np.array([1.0, 2.0]), name="x")
    y = T.stack([x[0] * x[1], x[0] ** 2])
    for mode in ("forward", "backward"):
        np.testing.assert_allclose(symjax.jacobians(y, x, mode=mode).get(), [[2.0, 1.0], [2.0, 0.0]])


def test_gradients_with_respect_to_any_node_and_tuples():
    x = T.Placeholder((), "float64", name="x")
    y = x * 2
    z = y**2 + x
    by_y, by_x = symjax.gradients(z, (y, x))
    assert by_y.get({x: 3.0}) == 12.0
    assert by_x.get({x: 3.0}) == 25.0
    assert symjax.gradients(T.stop_gradient(y) * x, x).get({x: 3.0}) == 6.0


def test_index_updates():
    x = T.Placeholder((3,), "float64", name="x")
    f = symjax.function(x, outputs=[T.index_update(x, 5.0, T.index[0:2]), T.index_add(x, 1.0, T.index[2])])
    first, second = f(np.zeros(3))
    np.testing.assert_array_equal(first, [5, 5, 0])
    np.testing.assert_array_equal(second, [0, 0, 1])


def test_an_average_that_moves():
    x = T.Placeholder((), "float64", name="x")
    average = T.Variable(0.0, name="average")
    new = 0.9 * average + 0.1 * x
    f = symjax.function(x, outputs=new, updates={average: new})
    values = [float(f(1.0)) for _ in range(3)]
    np.testing.assert_allclose(values, [1 - 0.9**k for k in (1, 2, 3)])


def test_a_density_and_its_gradient():
    """The only probabilistic program of SymJAX's own tests: a log-density over a variable, with its gradient."""
    mu = T.Variable(0.5, name="mu")
    data = np.array([1.0, 2.0, 3.0])
    logp = (-0.5 * (data - mu) ** 2 - 0.5 * np.log(2 * np.pi)).sum() - 0.5 * mu**2
    f = symjax.function(mu, outputs=[logp, symjax.gradients(logp, mu)])
    value, slope = f(1.5)
    assert slope == pytest.approx((data - 1.5).sum() - 1.5)
    assert value == pytest.approx(-0.5 * ((data - 1.5) ** 2).sum() - 1.5 * np.log(2 * np.pi) - 1.125)


def test_scan_in_the_carry_form():
    w = T.Variable(2.0, name="w")
    xs = T.Placeholder((4,), "float64", name="xs")
    last, outputs = T.scan(lambda carry, x, w: (carry + x * w, carry), 0.0, sequences=[xs], non_sequences=[w])
    f = symjax.function(xs, outputs=[last, outputs, symjax.gradients(last, w)])
    total, partial, slope = f(np.arange(4.0))
    assert (total, slope) == (12.0, 6.0)
    np.testing.assert_array_equal(partial, [0, 0, 2, 6])


def test_a_cloned_scan():
    w, v = T.Variable(2.0, name="w"), T.Variable(3.0, name="v")
    last, _ = T.scan(lambda carry, x: (carry * w + x, carry), 1.0, sequences=[np.ones(3)])
    slope = symjax.gradients(last, w)
    assert (last.get(), slope.get()) == (15.0, 17.0)
    moved, moved_slope = T.clone([last, slope], {w: v})
    assert (moved.get(), moved_slope.get()) == (40.0, 34.0)


def test_map_and_cond_and_while():
    w = T.Variable(3.0, name="w")
    squares = T.map(lambda x: x**2 * w, sequences=[T.arange(4.0)])
    np.testing.assert_array_equal(squares.get(), 3.0 * np.arange(4) ** 2)
    assert symjax.gradients(squares.sum(), w).get() == 14.0
    u = T.Placeholder((), "float64", name="u")
    out = T.cond(u > 3, lambda a: a * w, lambda a: a + w, true_inputs=[u], false_inputs=[u])
    f = symjax.function(u, outputs=[out, symjax.gradients(out, w)])
    assert f(5.0) == [15.0, 5.0] and f(1.0) == [4.0, 1.0]
    loop = T.while_loop(lambda s: s[0] < 5, lambda s: (s[0] + 1, s[1] + s[0]), (0, 0))
    assert loop[1].get() == 10


def test_there_is_no_global_graph():
    with pytest.raises(AttributeError, match="a tensor holds what it is computed from"):
        symjax.current_graph()
    assert symjax.current_scope() == "/"


def test_the_variables_behind_a_tensor():
    w, fixed = T.Variable(1.0, name="w"), T.Variable(2.0, name="fixed", trainable=False)
    loss = (w * fixed) ** 2
    for found, wanted in ((loss.variables(), [w]), (loss.variables(trainable=None), [w, fixed])):
        assert list(map(id, found)) == list(map(id, wanted))
    assert T.placeholder_like(T.ones((2, 3))).type == T.Placeholder((2, 3), "float64").type


def test_a_window_that_moves_over_a_signal():
    """A slice at a place that the program computes, in a loop."""
    signal = T.Placeholder((6,), "float64", name="signal")
    _, means = T.scan(lambda i, _: (i + 1, T.dynamic_slice_in_dim(signal, i, 3).mean()), 0, [T.zeros(4)])
    assert symjax.function(signal, outputs=means)(np.arange(6.0)).tolist() == [1, 2, 3, 4]
    moved = T.dynamic_update_slice_in_dim(signal, T.zeros(2), 3, 0)
    assert symjax.function(signal, outputs=moved)(np.ones(6)).tolist() == [1, 1, 1, 0, 0, 1]
