"""Derivatives of every kind, against each other and against finite differences."""

import numpy as np
import pytest

import ppl
import ppl.tensor as tt

pytestmark = pytest.mark.usefixtures("module_compiled_quickly")

A = np.array([[0.5, -1.0, 0.3], [0.2, 0.7, -0.4]])
V, W = np.array([0.3, -0.8, 1.2]), np.array([1.5, -0.5])


@pytest.fixture
def f():
    """A map from three numbers to two, with its input; its derivative is below."""
    x = tt.dvector("x")
    return x, tt.tanh(tt.constant(A) @ x) * (x**2).sum()


def at(x):
    return np.tanh(A @ x) * np.sum(x**2)


def slopes(x):
    t = np.tanh(A @ x)
    return (1 - t**2)[:, None] * A * np.sum(x**2) + 2 * t[:, None] * x


def second(x):
    """The Hessian of sum(W f) by differences of the exact first derivative."""
    step = 1e-6
    return np.stack([(W @ slopes(x + step * e) - W @ slopes(x - step * e)) / (2 * step) for e in np.eye(3)])


def test_the_derivative_of_a_distance_is_0_where_the_distance_is():
    """As in PyTensor: a Laplace variable starts at its location, where one of both sides would be arbitrary."""
    x = tt.dvector("x")
    slope = ppl.function([x], tt.grad(tt.sum(abs(x)), x))
    np.testing.assert_array_equal(slope(np.array([-2.0, 0.0, 3.0])), [-1.0, 0.0, 1.0])


def test_jacobians_in_both_modes(f):
    x, y = f
    for mode in ("forward", "backward"):
        np.testing.assert_allclose(ppl.jacobian(y, x, mode=mode).eval({x: V}), slopes(V), rtol=1e-12)
        np.testing.assert_allclose(ppl.jacobians(y, x, mode=mode).eval({x: V}), slopes(V), rtol=1e-12)


def test_jacobian_of_arrays():
    a, b = tt.dmatrix("a"), tt.dvector("b")
    by_a, by_b = tt.get(ppl.jacobian(a @ b, [a, b]), {a: A, b: V})
    assert by_a.shape == (2, 2, 3) and by_b.shape == (2, 3)
    np.testing.assert_allclose(by_a, np.einsum("ik,j->ikj", np.eye(2), V))
    np.testing.assert_allclose(by_b, A)


def test_rop_and_lop_are_products_with_the_jacobian(f):
    x, y = f
    np.testing.assert_allclose(ppl.Rop(y, x, V + 1).eval({x: V}), slopes(V) @ (V + 1), rtol=1e-12)
    np.testing.assert_allclose(ppl.Lop(y, x, W).eval({x: V}), W @ slopes(V), rtol=1e-12)


def test_several_outputs_and_variables():
    x, y = tt.dscalars("x", "y")
    outputs = [x * y, tt.sin(x)]
    pushed = ppl.Rop(outputs, [x, y], [1.0, 2.0])
    np.testing.assert_allclose(tt.get(pushed, {x: 0.5, y: 3.0}), [3 + 2 * 0.5, np.cos(0.5)])
    pulled = ppl.Lop(outputs, [x, y], [1.0, 2.0])
    np.testing.assert_allclose(tt.get(pulled, {x: 0.5, y: 3.0}), [3 + 2 * np.cos(0.5), 0.5])


def test_hessian_and_its_products(f):
    x, y = f
    cost = (tt.constant(W) * y).sum()
    hessian = ppl.hessian(cost, x).eval({x: V})
    np.testing.assert_allclose(hessian, second(V), rtol=1e-7)
    np.testing.assert_allclose(hessian, hessian.T, rtol=1e-12)
    np.testing.assert_allclose(tt.hessian_vector_product(cost, x, V + 1).eval({x: V}), hessian @ (V + 1), rtol=1e-12)
    np.testing.assert_allclose(ppl.jacobian(ppl.grad(cost, x), x).eval({x: V}), hessian, rtol=1e-12)


def test_derivatives_of_derivatives():
    x = tt.dscalar("x")
    y = tt.sin(x) * tt.exp(x)
    for order in range(1, 5):
        y = ppl.grad(y, x)
        wanted = np.imag((1 + 1j) ** order * np.exp((1 + 1j) * 0.7))
        np.testing.assert_allclose(y.eval({x: 0.7}), wanted, rtol=1e-12)


def test_a_derivative_in_one_of_its_own_variables():
    """d/dx of (∂f/∂y)(x, x²): substitution into a derivative reaches its point, not its variable."""
    x, y = tt.dscalars("x", "y")
    slope = ppl.grad(tt.sin(x * y), y)
    on_curve = ppl.clone_replace(slope, {y: x**2})
    np.testing.assert_allclose(on_curve.eval({x: 0.7}), 0.7 * np.cos(0.7**3), rtol=1e-12)
    total = ppl.grad(on_curve, x).eval({x: 0.7})
    np.testing.assert_allclose(total, np.cos(0.7**3) - 0.7 * np.sin(0.7**3) * 3 * 0.7**2, rtol=1e-12)


def test_computed_tensors_are_replaced_inside_bodies():
    """In Theano a derivative is a graph like any other; here it holds one, and replacements reach it."""
    x, a, z, v = tt.dscalar("x"), tt.dscalar("a"), tt.dscalar("z"), tt.dvector("v")
    e = tt.exp(a)
    graphs = [
        (ppl.grad(tt.sin(x) * e, x), 2 * np.cos(0.3)),
        (ppl.grad(ppl.grad(x**3 * e, x), x), 2 * 6 * 0.3),
        (ppl.jacobian(v * e, v), 2 * np.eye(3)),
        (ppl.Rop(v * e, v, v), 2 * V),
        (ppl.Lop(v * e, v, v), 2 * V),
        (ppl.ifelse(x > 0, e * x, e), 0.6),
        (ppl.vectorize_graph(x * e, {x: v}), 2 * V),
        (ppl.scan(lambda t, s: s + t * e, v, 0.0, return_updates=False), 2 * np.cumsum(V)),
        (ppl.while_loop(lambda s: s < 100, lambda s: s * e, x), 0.3 * 2**9),
    ]
    values = {x: 0.3, z: 2.0, v: V}
    for graph, wanted in graphs:
        np.testing.assert_allclose(ppl.clone_replace(graph, {e: z}).eval(values), wanted, rtol=1e-12)
        (again,) = ppl.graph_replace([graph], {e: z})
        np.testing.assert_allclose(again.eval(values), wanted, rtol=1e-12)
        given = ppl.function([x, z, v], graph, givens={e: z}, on_unused_input="ignore")
        np.testing.assert_allclose(given(0.3, 2.0, V), wanted, rtol=1e-12)
    with pytest.raises(ValueError, match=r"is not in the graph"):
        ppl.graph_replace([graphs[0][0]], {tt.exp(z): z})
    inner = tt.exp(x)
    with pytest.raises(ValueError, match=r"cannot be replaced inside value_and_grad_op, whose variable it depends on"):
        ppl.clone_replace(ppl.grad(inner * a, x), {inner: z})


def test_cloned_gradients_keep_their_own_function():
    """SymJAX's regression: functions were told apart by name, so a clone took another's."""
    x, z = tt.dscalars("x", "z")
    both = [ppl.grad(tt.sin(x), x), ppl.grad(x**3, x)]
    np.testing.assert_allclose(tt.get(ppl.clone_replace(both, {x: z * 2}), {z: 0.5}), [np.cos(1.0), 3.0])


def test_with_respect_to_what_is_computed():
    x = tt.dscalar("x")
    y = tt.exp(x)
    z = y**2 + y * x
    by_y, by_x = tt.get(ppl.grad(z, [y, x]), {x: 0.3})
    np.testing.assert_allclose(by_y, 2 * np.exp(0.3) + 0.3)
    np.testing.assert_allclose(by_x, 2 * np.exp(0.6) + np.exp(0.3) * 1.3)


def test_what_counts_as_constant():
    x = tt.dscalar("x")
    y = x**2
    assert ppl.grad(y * x, x, consider_constant=[y]).eval({x: 3.0}) == 9
    for held in (tt.stop_gradient, tt.disconnected_grad, tt.zero_grad, tt.consider_constant):
        assert ppl.grad(held(y) * x, x).eval({x: 3.0}) == 9
    assert ppl.grad(tt.stop_gradient(y) + 0 * x, x).eval({x: 3.0}) == 0


def test_values_pass_where_gradients_are_changed():
    x = tt.dscalar("x")
    clipped, scaled = tt.grad_clip(x**2, -1.0, 1.0), tt.grad_scale(x**2, multiplier=-2.0)
    values = tt.get([clipped, ppl.grad(clipped, x), scaled, ppl.grad(scaled, x)], {x: 3.0})
    assert [v.item() for v in values] == [9.0, 6.0, 9.0, -12.0]
    assert ppl.grad(5 * clipped, x).eval({x: 3.0}) == 6.0


def test_value_and_gradient_together():
    x, y = tt.dscalars("x", "y")
    value, (by_x, by_y) = ppl.value_and_grad(x * tt.log(y), [x, y])
    np.testing.assert_allclose(tt.get([value, by_x, by_y], {x: 2.0, y: 3.0}), [2 * np.log(3), np.log(3), 2 / 3])


def test_known_gradients():
    x, y = tt.dvector("x"), tt.dscalar("y")
    z = x * y
    g = ppl.grad(None, [x, y], known_grads={z: tt.constant(V)})
    by_x, by_y = tt.get(g, {x: V, y: 2.0})
    np.testing.assert_allclose(by_x, 2 * V)
    np.testing.assert_allclose(by_y, V @ V)


def test_disconnected():
    x, y = tt.dscalars("x", "y")
    with pytest.raises(ValueError, match=r"does not depend on Input\(name=y"):
        ppl.grad(x**2, y)
    with pytest.warns(UserWarning, match="its derivative is zero"):
        assert ppl.grad(x**2, y, disconnected_inputs="warn").eval() == 0
    assert ppl.grad(x**2, [x, y], disconnected_inputs="ignore", return_disconnected="none")[1] is None


def test_sizes_that_are_not_known():
    x = tt.dvector("x")
    g = ppl.function([x], [ppl.grad((x**3).sum(), x), ppl.hessian((x**3).sum(), x)])
    for n in (0, 1, 4):
        first, then = g(np.arange(float(n)))
        np.testing.assert_allclose(first, 3 * np.arange(n) ** 2)
        np.testing.assert_allclose(then, np.diag(6.0 * np.arange(n)))


def test_derivatives_are_graphs():
    """The body is seen by rewriting and by walks, and may be differentiated by JAX as well."""
    import jax

    x = tt.dscalar("x")
    g = ppl.grad(tt.exp(x) ** 2, x)
    assert "exp" in ppl.dprint(g, file="str")
    with jax.enable_x64(True):
        np.testing.assert_allclose(jax.grad(ppl.to_jax([x], g))(0.5), 4 * np.exp(1.0))


def test_verify_grad():
    rng = np.random.default_rng(3)
    ppl.verify_grad(lambda a, b: tt.tanh(a @ b), [A, V], rng=rng)
    ppl.gradient.verify_grad(tt.exp, [np.float32([0.5, -0.5])], rng=rng)
    with pytest.raises(ValueError, match=r"verify_grad: input 0 at \(1,\): the gradient says"):
        ppl.verify_grad(lambda x: x * tt.stop_gradient(x), [np.array([0.0, 2.0])], rng=rng)
