"""Programs as Theano's users write them, with `import ppl as theano; import ppl.tensor as tt`, and their numbers."""

import io
from collections import OrderedDict

import numpy as np
import pytest
from scipy.special import expit

import ppl as theano
import ppl.tensor as tt

pytestmark = pytest.mark.usefixtures("module_compiled_quickly")


def test_a_matrix_sum():
    x, y = tt.dmatrices("x", "y")
    f = theano.function([x, y], x + y)
    np.testing.assert_array_equal(f([[1, 2], [3, 4]], [[10, 20], [30, 40]]), [[11, 22], [33, 44]])


def test_several_outputs_at_once():
    a, b = tt.dmatrices("a", "b")
    diff = a - b
    f = theano.function([a, b], [diff, abs(diff), diff**2])
    results = f([[1, 1], [1, 1]], [[0, 1], [2, 3]])
    np.testing.assert_array_equal(results[0], [[1, 0], [-1, -2]])
    np.testing.assert_array_equal(results[2], [[1, 0], [1, 4]])


def test_default_arguments():
    x, y, w = tt.dscalars("x", "y", "w")
    f = theano.function([x, theano.In(y, value=1), theano.In(w, value=2, name="w_by_name")], (x + y) * w)
    assert (f(33), f(33, 2), f(33, 0, 1), f(33, w_by_name=1), f(33, w_by_name=1, y=0)) == (68, 70, 33, 34, 33)


def test_an_accumulator_and_a_decrementor_share_a_state():
    state = theano.shared(0)
    inc = tt.iscalar("inc")
    accumulator = theano.function([inc], state, updates=[(state, state + inc)])
    decrementor = theano.function([inc], state, updates=[(state, state - inc)])
    assert (accumulator(1), accumulator(300), state.get_value()) == (0, 1, 301)
    assert (decrementor(2), state.get_value()) == (301, 299)
    foo = tt.scalar(dtype=state.dtype)
    skip = theano.function([inc, foo], state * 2 + inc, givens=[(state, foo)])
    assert (skip(1, 3), state.get_value()) == (7, 299)


def test_copying_a_function_with_another_state():
    state, inc = theano.shared(0), tt.iscalar("inc")
    accumulator = theano.function([inc], state, updates=[(state, state + inc)])
    accumulator(10)
    new_state = theano.shared(0)
    other = accumulator.copy(swap={state: new_state})
    other(100)
    assert (state.get_value(), new_state.get_value()) == (10, 100)


def test_derivatives_by_name():
    x = tt.dscalar("x")
    gy = theano.grad(x**2, x)
    assert theano.function([x], gy)(4) == 8
    m = tt.dmatrix("m")
    dlogistic = theano.function([m], tt.grad(tt.sum(1 / (1 + tt.exp(-m))), m))
    np.testing.assert_allclose(dlogistic([[0, 1], [-1, -2]]), [[0.25, 0.19661193], [0.19661193, 0.10499359]], rtol=1e-6)


def test_jacobian_hessian_and_products():
    x, v = tt.dvector("x"), tt.dvector("v")
    W, V = tt.dmatrix("W"), tt.dmatrix("V")
    np.testing.assert_allclose(tt.jacobian(x**2, x).eval({x: [4, 4]}), [[8, 0], [0, 8]])
    np.testing.assert_allclose(tt.hessian((x**2).sum(), x).eval({x: [4, 4]}), 2 * np.eye(2))
    y = tt.dot(x, W)
    jv = theano.function([W, V, x], theano.Rop(y, W, V))
    np.testing.assert_allclose(jv([[1, 1], [1, 1]], [[2, 2], [2, 2]], [0, 1]), [2, 2])
    vj = theano.function([v, x, W], theano.Lop(y, W, v), on_unused_input="ignore")
    np.testing.assert_allclose(vj([2, 2], [0, 1], np.ones((2, 2))), [[0, 0], [2, 2]])


def test_logistic_regression():
    source = np.random.default_rng(0)
    N, feats = 200, 8
    true = source.normal(size=feats)
    data = source.normal(size=(N, feats))
    labels = (data @ true > 0).astype("int64")
    x, y = tt.dmatrix("x"), tt.dvector("y")
    w, b = theano.shared(np.zeros(feats), name="w"), theano.shared(0.0, name="b")
    p_1 = 1 / (1 + tt.exp(-tt.dot(x, w) - b))
    xent = -y * tt.log(p_1) - (1 - y) * tt.log(1 - p_1)
    cost = xent.mean() + 0.01 * (w**2).sum()
    gw, gb = tt.grad(cost, [w, b])
    train = theano.function(inputs=[x, y], outputs=[p_1 > 0.5, xent], updates=((w, w - 0.5 * gw), (b, b - 0.5 * gb)))
    predict = theano.function(inputs=[x], outputs=p_1 > 0.5)
    for _ in range(200):
        train(data, labels)
    assert (predict(data) == labels).mean() > 0.97


def test_a_two_layer_network_learns_xor():
    source = np.random.default_rng(1)
    X, y = tt.dmatrix("X"), tt.lvector("y")
    layers = [theano.shared(source.normal(size=shape), name=n) for n, shape in (("W1", (3, 8)), ("W2", (8, 2)))]
    hidden = tt.tanh(tt.dot(X, layers[0]))
    p = tt.softmax(tt.dot(hidden, layers[1]), axis=1)
    cost = -tt.mean(tt.log(p)[tt.arange(y.shape[0]), y])
    updates = OrderedDict((w, w - 1.0 * g) for w, g in zip(layers, theano.grad(cost, layers), strict=True))
    train = theano.function([X, y], cost, updates=updates)
    points, labels = np.array([[0, 0, 1], [0, 1, 1], [1, 0, 1], [1, 1, 1.0]]), np.array([0, 1, 1, 0])
    losses = [train(points, labels) for _ in range(500)]
    assert losses[0] > 0.4 > 0.05 > losses[-1]


def test_clone_replaces_and_does_not_loop():
    x, y = tt.dscalars("x", "y")
    z = x * 2 + y
    once = theano.clone(z, replace={x: x + 1})
    assert theano.function([x, y], once)(1.0, 0.0) == 4.0
    assert theano.function([x, y], theano.clone(once, replace={x: x + 1}))(1.0, 0.0) == 6.0
    other = theano.clone(z, share_inputs=False)
    with pytest.raises(ValueError, match="not among the inputs"):
        theano.function([x, y], other)


def test_shared_variables_and_default_updates():
    n = theano.shared(np.asarray(0, dtype="int32"), name="n")
    n.default_update = n + 1
    f = theano.function([], n * 2)
    g = theano.function([], n * 2, no_default_updates=True)
    assert [int(f()), int(f()), int(g()), int(g())] == [0, 2, 4, 4]
    v = theano.shared(np.zeros(2), borrow=False)
    v.set_value(np.ones(5))
    assert v.get_value().shape == (5,) and v.get_value(borrow=True).sum() == 5
    v.get_value()[:] = 9
    assert v.get_value().sum() == 5


def test_set_and_inc_subtensor():
    v = tt.dvector("v")
    f = theano.function([v], [tt.set_subtensor(v[0:2], 5.0), tt.inc_subtensor(v[[0, 0, 1]], 1.0)])
    first, second = f(np.zeros(3))
    np.testing.assert_array_equal(first, [5, 5, 0])
    np.testing.assert_array_equal(second, [2, 1, 0])


def test_a_masked_branch_has_a_finite_gradient():
    x = tt.dscalar("x")
    safe = tt.switch(x > 0, x, 1.0)
    y = tt.switch(x > 0, tt.log(safe), 0.0)
    assert theano.function([x], theano.grad(y, x))(0.0) == 0.0


def test_constants_of_the_gradient():
    x, y = tt.dscalars("x", "y")
    square = x**2
    assert theano.grad(square * x * y, x, consider_constant=[square]).eval({x: 3.0, y: 2.0}) == 18.0
    assert theano.grad(theano.gradient.disconnected_grad(x) * x, x).eval({x: 3.0}) == 3.0
    assert theano.gradient.grad_clip(x, -1.0, 1.0).eval({x: 5.0}) == 5.0
    assert theano.grad(theano.gradient.grad_clip(x, -1.0, 1.0) ** 2, x).eval({x: 5.0}) == 1.0
    with pytest.raises(ValueError, match="does not depend on"):
        theano.grad(x**2, y)
    assert theano.grad(x**2, y, disconnected_inputs="ignore").eval({x: 1.0, y: 1.0}) == 0


@pytest.mark.parametrize("given", ["a number", "an input", "a shared variable"])
def test_the_power_of_a_vector_by_scan(given):
    A, k = tt.dvector("A"), {"a number": 4, "an input": tt.iscalar("k"), "a shared variable": theano.shared(4)}[given]
    result, updates = theano.scan(
        fn=lambda prior, A: prior * A, outputs_info=tt.ones_like(A), non_sequences=A, n_steps=k
    )
    inputs = [A, k] if given == "an input" else [A]
    power = theano.function(inputs=inputs, outputs=result[-1], updates=updates)
    np.testing.assert_array_equal(power(np.arange(5.0), *[4] * (len(inputs) - 1)), np.arange(5.0) ** 4)
    if given == "an input":
        np.testing.assert_array_equal(power(np.arange(5.0), 2), np.arange(5.0) ** 2)
        assert power.compilations == 2  # a program for each number of steps
    if given == "a shared variable":
        k.set_value(3)
        np.testing.assert_array_equal(power(np.arange(5.0)), np.arange(5.0) ** 3)


def test_a_triangle_as_long_as_an_input_says():
    up_to = tt.iscalar("up_to")
    rows, _ = theano.scan(lambda end, sums: sums + end, sequences=tt.arange(up_to), outputs_info=tt.constant(0))
    triangular = theano.function([up_to], rows)
    np.testing.assert_array_equal(triangular(5), [0, 1, 3, 6, 10])
    np.testing.assert_array_equal(triangular(2), [0, 1])


def test_a_polynomial_and_its_gradient_by_scan():
    coefficients, x = tt.dvector("coefficients"), tt.dscalar("x")
    terms, updates = theano.scan(
        fn=lambda coefficient, power, x: coefficient * x**power,
        outputs_info=None,
        sequences=[coefficients, tt.arange(3)],
        non_sequences=x,
    )
    assert not updates
    polynomial = terms.sum()
    f = theano.function([coefficients, x], [polynomial, theano.grad(polynomial, x)])
    assert f(np.array([1.0, 0.0, 2.0]), 3.0) == [19.0, 12.0]


def test_taps_and_until():
    fibonacci, _ = theano.scan(
        lambda a, b: a + b, outputs_info=[{"initial": tt.constant(np.array([1.0, 1.0])), "taps": [-2, -1]}], n_steps=6
    )
    np.testing.assert_array_equal(fibonacci.eval(), [2, 3, 5, 8, 13, 21])
    bound = tt.dscalar("bound")
    doubling, _ = theano.scan(
        lambda s, bound: (s * 2, theano.scan_module.until(s * 2 > bound)), outputs_info=tt.constant(1.0),
        non_sequences=bound, n_steps=1024,
    )  # fmt: skip
    powers = theano.function([bound], [doubling, doubling.sum()])
    np.testing.assert_array_equal(powers(45)[0], [2, 4, 8, 16, 32, 64])
    np.testing.assert_array_equal(powers(3)[0], [2, 4])
    assert powers(45)[1] == 126


def test_ifelse_and_folds():
    a, b = tt.dscalars("a", "b")
    x, y = tt.dmatrices("x", "y")
    lazy = theano.function([a, b, x, y], theano.ifelse(a < b, tt.mean(x), tt.mean(y)))
    assert lazy(1.0, 2.0, np.ones((2, 2)), np.zeros((2, 2))) == 1.0
    v = tt.dvector("v")
    total, _ = theano.reduce(lambda entry, sum_so_far: sum_so_far + entry, v, 0.0)
    assert theano.function([v], total)(np.arange(4.0)) == 6.0


def test_printing(capfd):
    x = tt.dscalar("x")
    f = theano.function([x], theano.printing.Print("x is")(x) + 1)
    assert f(2.0) == 3.0
    assert "x is 2.0" in capfd.readouterr().out
    assert theano.printing.pprint(tt.log(x * 2)) == theano.pp(tt.log(x * 2)) == "log(x * 2)"
    file = io.StringIO()
    theano.printing.debugprint(f, file=file)
    assert "add [id A]" in file.getvalue()


def test_the_dtype_policy():
    with theano.config.change_flags(floatX="float32"):
        x = tt.matrix("x")
        f = theano.function([x], tt.sigmoid(x))
        result = f(np.zeros((1, 1), theano.config.floatX))
    assert result.dtype == np.float32
    np.testing.assert_allclose(result, expit(0.0))


def test_looking_at_the_compiled_graph():
    x = tt.dvector("x")
    f = theano.function([x], tt.exp(tt.log(x)) * 2 + tt.sin(x))
    ops = [node.op.name for node in f.maker.fgraph.toposort()]
    assert "sin" in ops and ops.index("sin") < ops.index("add")
    assert f.maker.fgraph.inputs == (x,) and len(f.maker.fgraph.outputs) == 1
    assert x in f.maker.fgraph.variables and len(f.maker.fgraph.apply_nodes) == len(ops)
    plain = theano.function([x], tt.exp(x) + 0, mode="FAST_COMPILE")
    assert [node.op.name for node in plain.maker.fgraph.toposort()] == ["exp", "add"]
