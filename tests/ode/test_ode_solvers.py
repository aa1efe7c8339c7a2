"""Solvers of differential equations against closed forms and SciPy: values, both derivatives, failures."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from ode_cases import CASES, TIMES, robertson, van_der_pol
from scipy.integrate import solve_ivp

from ppl.xla.ode.loop import Control
from ppl.xla.ode.problem import Problem, system_of, values
from ppl.xla.ode.solution import solve
from ppl.xla.ode.steps import _inverse, step
from ppl.xla.ode.tableaus import METHODS

TIGHT = Control("tsit5", 1e-12, 1e-12, 10_000)


@pytest.fixture(autouse=True)
def double_precision():
    with jax.enable_x64(True):
        yield


def solved(case, control, sensitivities="forward"):
    """The solution as a function of t0, the times, y0 and the parameters."""
    return lambda t0, times, y0, *parameters: solve(case.f, control, sensitivities, t0, times, [y0], parameters)


def arguments(case):
    return jnp.asarray(0.0), jnp.asarray(TIMES), jnp.asarray(case.y0), *map(jnp.asarray, case.parameters)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("name", CASES)
def test_solutions_are_those_of_closed_forms(name, method):
    case = CASES[name]
    t0, times, *numbers = arguments(case)
    found = jax.jit(solved(case, TIGHT._replace(method=method)))(t0, times, *numbers)
    np.testing.assert_allclose(found, case.solution(times, *numbers), rtol=0, atol=1e-9)
    np.testing.assert_array_equal(found[0], case.y0)
    np.testing.assert_array_equal(found[1], found[2])


@pytest.mark.parametrize("method", ["tsit5", "rodas5p"])
@pytest.mark.parametrize("sensitivities", ["forward", "adjoint"])
@pytest.mark.parametrize("name", ["logistic", "forced"])
def test_gradients_in_start_parameters_and_times(name, method, sensitivities):
    """The closed form is that for t0 = 0: time is counted from there where f does not depend on it."""
    case = CASES[name]
    t0, times, *numbers = arguments(case)
    run = solved(case, TIGHT._replace(method=method), sensitivities)
    weights = jnp.sin(jnp.arange(len(TIMES)) + 1.0)[:, None]
    value = lambda times, *numbers: jnp.sum(weights * run(t0, times, *numbers) ** 2)
    exact = lambda times, *numbers: jnp.sum(weights * case.solution(times, *numbers) ** 2)
    places = tuple(range(1 + len(numbers)))
    slopes = jax.jit(jax.grad(value, places))(times, *numbers)
    for found, wanted in zip(slopes, jax.grad(exact, places)(times, *numbers), strict=True):
        np.testing.assert_allclose(found, wanted, rtol=1e-7, atol=1e-8)


@pytest.mark.parametrize("sensitivities", ["forward", "adjoint"])
def test_the_first_time_may_move(sensitivities):
    case = CASES["logistic"]
    t0, times, *numbers = arguments(case)
    run = solved(case, TIGHT, sensitivities)
    slope = jax.jit(jax.grad(lambda t0: jnp.sum(run(t0, times[1:], *numbers))))(t0)
    exact = jax.grad(lambda t0: jnp.sum(case.solution(times[1:] - t0, *numbers)))(t0)
    np.testing.assert_allclose(slope, exact, rtol=1e-8)


@pytest.mark.slow
def test_second_derivatives():
    case = CASES["logistic"]
    t0, times, *numbers = arguments(case)
    run = solved(case, TIGHT)
    value = lambda y0, r: jnp.sum(run(t0, times, y0, r, numbers[2]) ** 2)
    exact = lambda y0, r: jnp.sum(case.solution(times, y0, r, numbers[2]) ** 2)
    wanted = jax.hessian(exact, (0, 1))(*numbers[:2])
    found = jax.jit(jax.jacrev(jax.grad(value, (0, 1)), (0, 1)))(*numbers[:2])
    jax.tree.map(lambda x, y: np.testing.assert_allclose(x, y, rtol=1e-7), found, wanted)


def test_only_what_is_asked_for_is_taken_along():
    """A number without a tangent has no row of its own in the loop."""
    case = CASES["logistic"]
    t0, times, *numbers = arguments(case)
    text = str(
        jax.make_jaxpr(jax.grad(lambda r: jnp.sum(solved(case, TIGHT)(t0, times, numbers[0], r, numbers[2]))))(1.0)
    )
    assert "f64[6,1,1]" in text and "f64[6,2,1]" not in text and "f64[6,3,1]" not in text


def test_many_numbers_are_differentiated_backward_and_few_of_them_forward():
    weights = jnp.asarray(np.random.default_rng(0).normal(size=(6, 6)) / 3)  # 36 numbers and 6 of the start
    f = lambda t, y, w: jnp.tanh(w @ y) - y
    y0, times = jnp.ones(6), jnp.asarray([0.5, 2.0])
    run = lambda how: lambda y0, w: jnp.sum(solve(f, TIGHT, how, jnp.asarray(0.0), times, [y0], [w]) ** 2)
    both = jax.jit(jax.grad(run("auto"), (0, 1)))(y0, weights)
    for found, wanted in zip(both, jax.jit(jax.grad(run("forward"), (0, 1)))(y0, weights), strict=True):
        np.testing.assert_allclose(found, wanted, rtol=1e-9, atol=1e-12)
    in_start = jax.jit(jax.grad(run("auto")))
    np.testing.assert_allclose(in_start(y0, weights), both[0], rtol=1e-9)
    assert "f64[2,6,6]" in str(jax.make_jaxpr(in_start)(y0, weights))  # tangents along the six numbers of the start


@pytest.mark.parametrize("method", METHODS)
def test_the_order_of_a_method_is_what_it_declares(method):
    case, table = CASES["forced"], METHODS[method]
    f = lambda t, y: case.f(t, y, *case.parameters)
    y0 = jnp.asarray(case.y0)

    def error(steps):
        y, h = y0, 1.0 / steps
        for i in range(steps):
            y = step(table, f, i * h, y, f(i * h, y), h).y
        return float(jnp.abs(y - case.solution(jnp.ones(1), y0, *case.parameters)[0])[0])

    assert abs(np.log2(error(8) / error(16)) - table.order) < 0.5


def test_the_stiff_method_is_l_stable():
    """y' = λ y, λh → -∞: a step ends at zero."""
    f = lambda t, y: -1e9 * y
    found = step(METHODS["rodas5p"], f, jnp.asarray(0.0), jnp.ones(1), f(0.0, jnp.ones(1)), 1.0)
    assert abs(float(found.y[0])) < 1e-6


def scipy(f, y0, times, **options):
    found = solve_ivp(f, (0.0, times[-1]), y0, t_eval=times, method="Radau", rtol=1e-11, atol=1e-13, **options)
    return found.y.T


def test_robertson_and_its_gradient():
    times, rates = np.array([0.4, 4.0, 40.0, 4e3, 4e5]), (0.04, 1e4, 3e7)
    control = Control("rodas5p", 1e-9, 1e-12, 10_000)
    f = lambda t, y, *rates: jnp.stack(robertson(t, y, *rates))
    run = lambda *rates: solve(f, control, "forward", jnp.asarray(0.0), jnp.asarray(times), [jnp.eye(3)[0]], rates)
    found = jax.jit(run)(*map(jnp.asarray, rates))
    wanted = scipy(lambda t, y: robertson(t, y, *rates), [1.0, 0.0, 0.0], times)
    np.testing.assert_allclose(found, wanted, rtol=1e-7, atol=1e-12)
    slope = jax.jit(jax.jacfwd(run))(*map(jnp.asarray, rates))
    e = 0.04e-4
    up, down = (
        scipy(lambda t, y, a=a: robertson(t, y, a, *rates[1:]), [1.0, 0.0, 0.0], times) for a in (0.04 + e, 0.04 - e)
    )
    np.testing.assert_allclose(slope, (up - down) / (2 * e), rtol=1e-5, atol=1e-9)


def test_van_der_pol_and_what_an_explicit_method_makes_of_it():
    f = lambda t, y: jnp.stack(van_der_pol(t, y, 1000.0))
    times = np.array([100.0, 700.0, 1500.0])
    run = lambda method, most: values(
        system_of(Problem(f, Control(method, 1e-9, 1e-9, most), 1)), jnp.asarray(0.0), jnp.asarray(times),
        [jnp.asarray([2.0, 0.0])],
    )[0]  # fmt: skip
    found = jax.jit(run, static_argnums=(0, 1))("rodas5p", 10_000)
    wanted = scipy(lambda t, y: van_der_pol(t, y, 1000.0), [2.0, 0.0], times)
    np.testing.assert_allclose(found.rows, wanted, rtol=1e-5, atol=1e-8)
    assert int(found.steps) < 2000
    used_up = jax.jit(run, static_argnums=(0, 1))("tsit5", 500)
    assert bool(used_up.failed) and int(used_up.steps) == 500 and np.all(np.isnan(used_up.rows))


def test_a_solution_that_ends_before_the_last_time_has_its_first_rows():
    """y' = y² from 1 is 1 / (1 - t)."""
    run = jax.jit(lambda times: solve(lambda t, y: y**2, TIGHT, "auto", jnp.asarray(0.0), times, [jnp.ones(1)], []))
    found = run(jnp.asarray([0.5, 0.9, 1.1, 2.0]))
    np.testing.assert_allclose(found[:2, 0], [2.0, 10.0], rtol=1e-9)
    assert np.all(np.isnan(found[2:]))
    assert np.all(np.isnan(run(jnp.asarray([0.5, 0.4, 0.6, 0.7]))[1:]))  # times that go back
    assert np.all(np.isnan(run(jnp.asarray([jnp.nan, 0.4, 0.6, 0.7]))))


@pytest.mark.slow
def test_a_batch_is_each_of_its_members():
    case = CASES["logistic"]
    t0, times, y0, _, k = arguments(case)
    rates = jnp.asarray([0.2, 1.1, 4.0])
    for how in ("forward", "adjoint"):
        both = jax.jit(jax.value_and_grad(lambda r, how=how: jnp.sum(solved(case, TIGHT, how)(t0, times, y0, r, k))))
        one = [both(r) for r in rates]
        for i, found in enumerate(jax.jit(jax.vmap(both))(rates)):
            np.testing.assert_allclose(found, [x[i] for x in one], rtol=1e-12)


def test_small_systems_are_solved_with_exchanges_of_rows():
    a = np.random.default_rng(1).normal(size=(5, 5))
    a[0, 0] = a[1, 1] = 0.0
    inverse = _inverse([[jnp.asarray(x) for x in row] for row in a])
    np.testing.assert_allclose(np.array(inverse), np.linalg.inv(a), rtol=1e-10)
