"""What keeps the sampler's loop in one kernel: rows taken by known positions without a scatter, small products."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import ppl as pm
import ppl.tensor as tt
import ppl.xla.flags
from ppl.compile.density import FlatProgram, layout, scalar
from ppl.compile.hoisting import hoisted
from ppl.graph import ancestors
from ppl.rewrites import optimize
from ppl.tensor.arrays.grouped import places_of
from ppl.tensor.arrays.segments import segment_sum
from ppl.tensor.linear_algebra import unrolled

pytestmark = pytest.mark.usefixtures("module_compiled_quickly")

RNG = np.random.default_rng(20)
INDICES = {
    "repeated": np.array([2, 0, 2, 2, 5, 0]),
    "negative": np.array([-1, 0, -6]),
    "matrix": np.array([[0, 1], [1, 4]]),
    "once": np.arange(6),
    "many": RNG.integers(0, 6, 200),
}
WIDTHS = [(), (3,)]
each_index = pytest.mark.parametrize("index", INDICES.values(), ids=INDICES)


def flat(output, x):
    """The program of one value, and a point for it."""
    point = {"x": RNG.normal(size=x.type.shape)}
    return FlatProgram([output], layout([x], point)), jnp.asarray(point["x"].ravel())


def takes_rows(program) -> bool:
    return any(node.op.name == "take_rows" for node in ancestors(program.program.outputs))


def hlo(program, position) -> str:
    return jax.jit(jax.grad(scalar(program))).lower(position, *program.data).as_text()


@pytest.fixture(autouse=True)
def _doubles():
    with jax.enable_x64(True):
        yield


@each_index
@pytest.mark.parametrize("width", WIDTHS, ids=["vector", "rows"])
def test_values_and_derivatives_are_those_of_the_index(index, width):
    x = tt.tensor("x", shape=(6, *width), dtype="float64")
    weights = RNG.normal(size=(*index.shape, *width))
    program, position = flat(tt.sum(tt.sin(x[index] * 2) * weights), x)
    plain = lambda q: jnp.sum(jnp.sin(q.reshape(6, *width)[index] * 2) * weights)
    f = lambda q: program(q, *program.data)[0]
    assert takes_rows(program) and "scatter" not in hlo(program, position)
    derivatives = lambda g: [g, jax.grad(g), jax.hessian(g), jax.jacrev(jax.jacrev(g))]
    found, wanted = jax.jit(lambda q: [[d(q) for d in derivatives(g)] for g in (f, plain)])(position)
    for ours, theirs in zip(found, wanted, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-13, atol=1e-13)


@each_index
def test_many_points_at_once(index):
    x = tt.dvector("x", shape=(6,))
    program, position = flat(tt.sum(tt.exp(x[index])), x)
    slopes = jax.grad(lambda q: program(q, *program.data)[0])
    points = position + jnp.arange(4.0)[:, None]
    at_once = lambda ps: (jnp.stack([slopes(p) for p in ps]), jax.vmap(slopes)(ps), jax.vmap(slopes, 1, 1)(ps.T).T)
    one_by_one, rows, columns = jax.jit(at_once)(points)
    np.testing.assert_allclose(rows, one_by_one, rtol=1e-14)
    np.testing.assert_allclose(columns, one_by_one, rtol=1e-14)


def test_positions_along_two_axes():
    x = tt.dmatrix("x", shape=(3, 4))
    i, j = RNG.integers(0, 3, 50), RNG.integers(-4, 4, 50)
    program, position = flat(tt.sum(x[i, j] ** 2), x)
    assert takes_rows(program)
    expected = np.zeros((3, 4))
    np.add.at(expected, (i, j), 2 * np.asarray(position).reshape(3, 4)[i, j])
    slopes = jax.grad(lambda q: program(q, *program.data)[0])(position)
    np.testing.assert_allclose(slopes.reshape(3, 4), expected, rtol=1e-14)


def test_groups_of_groups():
    x = tt.dvector("x", shape=(4,))
    outer, inner = RNG.integers(0, 9, 40), RNG.integers(0, 4, 9)
    program, position = flat(tt.sum(tt.exp(tt.sin(x[inner])[outer])), x)
    assert "scatter" not in hlo(program, position)
    plain = lambda q: jnp.sum(jnp.exp(jnp.sin(q[inner])[outer]))
    slopes = jax.grad(lambda q: program(q, *program.data)[0])
    np.testing.assert_allclose(slopes(position), jax.grad(plain)(position), rtol=1e-13)


def test_no_digits_are_lost_beside_large_slopes():
    """Differences of running sums would leave the small group without a digit."""
    x = tt.dvector("x", shape=(2,))
    program, position = flat(tt.sum(x[[0, 1, 0]] * np.array([1e20, 1e-3, 1e20])), x)
    slopes = jax.grad(lambda q: program(q, *program.data)[0])(position)
    np.testing.assert_array_equal(slopes, [2e20, 1e-3])


def test_an_index_that_is_data():
    x, groups = tt.dvector("x", shape=(4,)), tt.shared(np.array([3, 0, 3]), name="groups")
    build = lambda: FlatProgram([tt.sum(x[groups] * np.array([1.0, 2.0, 4.0]))], layout([x], {"x": np.zeros(4)}))
    for value, expected in (([3, 0, 3], [2, 0, 0, 5]), ([1, 1, 1], [0, 7, 0, 0])):
        groups.set_value(np.array(value))
        program = build()
        assert takes_rows(program)
        slopes = jax.grad(lambda q, p=program: p(q, *p.data)[0])(jnp.zeros(4))
        np.testing.assert_array_equal(slopes, expected)


def test_other_positions_run_the_same_program():
    x = tt.dvector("x", shape=(10,))
    keys = [FlatProgram([tt.sum(tt.exp(x[index]))], layout([x], {"x": np.zeros(10)})).key
            for index in (np.arange(100) % 10, np.arange(100) // 10)]  # fmt: skip
    assert keys[0] == keys[1]


def test_one_group_that_outgrows_the_others_stays_an_index():
    x = tt.dvector("x", shape=(100,))
    program, position = flat(tt.sum(tt.exp(x[np.zeros(1000, int)])), x)
    assert not takes_rows(program)
    assert jax.grad(scalar(program))(position, *program.data)[0] == pytest.approx(1000 * np.exp(position[0]))


def test_positions_out_of_range_and_positions_that_move_stay_an_index():
    v, i = tt.dvector("v"), tt.lscalar("i")
    groups = tt.shared(np.array([0, 7]))
    x = tt.dvector("x", shape=(4,))
    program, position = flat(tt.sum(x[groups]), x)
    assert not takes_rows(program) and np.isnan(scalar(program)(position, *program.data))
    assert not takes_rows(FlatProgram([v[i]], layout([v, i], {"v": np.zeros(3), "i": np.int64(0)})))


def test_places_hold_each_position_once():
    groups = RNG.integers(0, 5, 37)
    places = places_of(groups, 6)
    assert sorted(places[places < 37].tolist()) == list(range(37))
    for group, row in enumerate(places):
        assert all(groups[i] == group for i in row if i < 37)


def folds(model) -> bool:
    """Whether a loop of leapfrog steps over the model's log-density is one kernel, under the flag that `ppl` sets."""
    assert ppl.xla.flags.apply()
    program = FlatProgram(optimize([model.logp()]), layout(model.value_vars, model.initial_point()))
    slopes = jax.grad(scalar(program))

    def leapfrogs(q, p, steps, *data):
        return jax.lax.fori_loop(0, steps, lambda _, s: (s[0] + 0.01 * s[1], s[1] + 0.01 * slopes(s[0], *data)), (q, p))

    q = jnp.zeros(program.slots[-1].stop)
    text = jax.jit(leapfrogs).lower(q, q, 10, *program.data).compile().as_text()
    return " while(" not in text[text.index("ENTRY") :]


def test_the_loop_over_a_model_with_varying_intercepts_is_one_kernel():
    groups, y = RNG.integers(0, 8, 60), RNG.normal(size=60)
    with pm.Model() as model:
        tau = pm.HalfNormal("tau", 1)
        a = pm.Normal("a", 0, tau, shape=8)
        pm.StudentT("y", 4, a[groups], 1.0, observed=y)
    assert folds(model)


def test_sums_by_group():
    y, groups = tt.dvector("x", shape=(50,)), RNG.integers(0, 7, 50)
    program, position = flat(tt.sum(tt.exp(segment_sum(y, groups, 8))), y)
    assert "scatter" not in hlo(program, position)
    plain = lambda q: jnp.sum(jnp.exp(jax.ops.segment_sum(q, groups, 8)))
    for derive in (lambda g: g, jax.grad, jax.hessian):
        f = lambda q: program(q, *program.data)[0]
        np.testing.assert_allclose(derive(f)(position), derive(plain)(position), rtol=1e-13)


@pytest.mark.parametrize(("m", "k", "n"), [(20, 4, 3), (3, 4, 20), (2, 2, 2), (7, 3, 1), (300, 9, 8)])
def test_small_products_have_the_values_and_slopes_of_all_others(m, k, n):
    a, b = RNG.normal(size=(m, k)), RNG.normal(size=(k, n))
    np.testing.assert_allclose(unrolled.matmul(a, b), a @ b, rtol=1e-13, atol=1e-14)
    total = lambda product: lambda a, b: jnp.sum(jnp.sin(product(a, b)))
    for found, wanted in zip(*[jax.grad(total(f), (0, 1))(a, b) for f in (unrolled.matmul, jnp.matmul)], strict=True):
        np.testing.assert_allclose(found, wanted, rtol=1e-12, atol=1e-13)


def test_the_loop_over_a_multinomial_regression_is_one_kernel():
    X, y = RNG.normal(size=(50, 4)), RNG.integers(0, 3, 50)
    with pm.Model() as model:
        B = pm.Normal("B", 0, 1, shape=(4, 3))
        pm.Categorical("y", logit_p=X @ B, observed=y)
    assert folds(model)


@pytest.mark.parametrize(("shape", "axis"), [((5, 3), 1), ((5, 3), 0), ((1, 4), 1)])
def test_entries_picked_along_an_axis(shape, axis):
    x = tt.tensor("x", shape=shape, dtype="float64")
    picked = RNG.integers(0, shape[axis], [7 if a == axis else max(n, 2) for a, n in enumerate(shape)])
    program, position = flat(tt.sum(tt.exp(tt.take_along_axis(x, picked, axis))), x)
    assert takes_rows(program)
    plain = lambda q: jnp.sum(jnp.exp(jnp.take_along_axis(q.reshape(shape), picked, axis)))
    for derive in (lambda g: g, jax.grad):
        f = lambda q: program(q, *program.data)[0]
        np.testing.assert_allclose(derive(f)(position), derive(plain)(position), rtol=1e-13)


def test_what_depends_on_data_alone_is_hoisted_whole():
    """Else a density without parameters would be evaluated operation by operation, each compiled by itself."""
    data = pm.shared(np.arange(3.0))
    rest, before = hoisted([tt.exp(data).sum()], [])
    assert not rest[0].inputs
    assert next(iter(before)) is rest[0]
