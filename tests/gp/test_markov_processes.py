"""Covariances of one input as Markov processes: the dense covariance is the oracle, of densities, slopes and draws."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from exact_elimination import both_sides

import ppl as pm
import ppl.tensor as tt
from ppl.distributions import HalfNormal, MvNormal, Normal
from ppl.graph import topological
from ppl.rewrites.marginalization import Observation, Program, plan
from ppl.rewrites.marginalization.expressions.kernels import structure_of
from ppl.rewrites.marginalization.expressions.markov import along_inputs, markov
from ppl.rewrites.marginalization.gaussian import markov_process
from ppl.tensor.kernels.correlations import cosine_wave, exp_quad, matern12, matern32, matern52
from ppl.tensor.kernels.distances import periodic_distance, squared_distance
from ppl.tensor.tensor import TensorType, placeholder

pytestmark = pytest.mark.usefixtures("module_compiled_quickly")

NUMBER = TensorType("float64", ())
LENGTH, SCALE, NOISE = (placeholder(NUMBER, name) for name in ("length", "scale", "noise"))
POINT = {"length": 0.7, "scale": 1.3, "noise": 0.4}


def kernel(correlation: Any, x: np.ndarray, length: Any) -> Any:
    return correlation(squared_distance(x[:, None], x[:, None], length))


COVARIANCES = {
    "exponential": lambda x: SCALE**2 * kernel(matern12, x, LENGTH),
    "sum": lambda x: SCALE**2 * kernel(matern32, x, LENGTH) + 0.5 * kernel(matern12, x, 3.0 * LENGTH) + 0.1,
    "product": lambda x: SCALE * kernel(matern32, x, LENGTH) * kernel(matern52, x, 2.0),
    "quasi-periodic": lambda x: SCALE**2 * kernel(matern12, x, LENGTH) * kernel(cosine_wave, x, 0.7),
    "waves": lambda x: SCALE * kernel(cosine_wave, x, LENGTH) * kernel(cosine_wave, x, 0.4),
}
RNG = np.random.default_rng(1)
INPUTS = {
    "in any order": RNG.uniform(0.0, 30.0, 60),
    "on a grid": np.linspace(1e9, 1e9 + 20.0, 60),
    "some repeated": np.repeat(np.sort(RNG.uniform(0.0, 9.0, 30)), 2),
}


def along_and_whole(cov: Any, y: np.ndarray) -> tuple[Any, Any]:
    """Value and slopes of a log-density along its inputs, and by the whole covariance."""
    n = len(y)
    whole = MvNormal.log_density(y, 0.2 * SCALE, tt.cholesky(cov + NOISE * tt.eye(n)))
    along = along_inputs(whole)
    assert "normal_log_density" not in {node.op.name for node in topological([along])}
    both = [[density, *tt.grad(density, [LENGTH, SCALE, NOISE])] for density in (along, whole)]
    f = pm.function([LENGTH, SCALE, NOISE], [*both[0], *both[1]], on_unused_input="ignore")
    found = np.array(f(*POINT.values()))
    return found[:4], found[4:]


@pytest.mark.parametrize(
    ("name", "inputs"),
    [*((name, "in any order") for name in COVARIANCES), ("sum", "on a grid"), ("sum", "some repeated")],
)
def test_a_markov_covariance_has_the_density_and_the_slopes_of_the_whole(name: str, inputs: str) -> None:
    x = INPUTS[inputs]
    along, whole = along_and_whole(COVARIANCES[name](x), np.sin(x - x[0]))
    np.testing.assert_allclose(along, whole, rtol=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("name", COVARIANCES)
def test_two_thousand_points_agree_to_eight_digits(name: str) -> None:
    x = RNG.uniform(0.0, 200.0, 2000)
    along, whole = along_and_whole(COVARIANCES[name](x), np.sin(x) + 0.1 * RNG.normal(size=2000))
    np.testing.assert_allclose(along, whole, rtol=1e-8)


def process(x: Any, length: Any, name: str, correlation: Any = matern32) -> Any:
    n = len(x)
    return MvNormal.dist(np.zeros(n), cov=length**2 * kernel(correlation, x, length) + 1e-3 * np.eye(n), name=name)


def program_of(sigma: Any, slopes: Any = 1.0, picks: Any = slice(None)) -> Program:
    """Two processes of one input under normal rows."""
    length = HalfNormal.dist(1.0, name="length")
    x = np.sort(RNG.uniform(0.0, 9.0, 48))
    f, g = process(x, length, "f"), process(x, 1.0 + length, "g", matern12)
    seen = (f + g)[picks]
    y = Normal.dist(slopes * seen + 0.3, sigma * length, name="y")
    return Program((length, f, g), (Observation(y, tt.as_tensor(np.sin(np.arange(y.type.shape[0])))),))


@pytest.mark.parametrize(
    ("sigma", "slopes", "picks"),
    [(0.4, 1.0, slice(None)), (np.linspace(0.3, 0.6, 46), 1.0, slice(1, 47)), (0.4, -0.6, slice(None))],
)
def test_two_processes_go_along_one_input_and_come_back_exactly(sigma: Any, slopes: Any, picks: Any) -> None:
    program = program_of(sigma, slopes, picks)
    made = plan(program)
    assert {step.rule for step in made.steps if step.eliminated} == {"state-space model"}
    assert made.free == ("length",)
    sides = both_sides(program, made.program, 3)
    np.testing.assert_allclose(sides.product, sides.joint, rtol=1e-8)
    drawn = {node.op.name for r in made.program.recoveries for node in topological([r.draw])}
    assert "semiseparable_conditional" in drawn


REFUSED = {
    "exp_quad": (lambda x: kernel(exp_quad, x, LENGTH), "a Gaussian covariance has no finite state"),
    "periodic": (
        lambda x: matern12(periodic_distance(x[:, None], x[:, None], LENGTH, 2.0)),
        "a periodic covariance has no finite state",
    ),
    "two inputs": (
        lambda x: matern12(squared_distance(np.stack([x, x], 1), np.stack([x, x], 1), LENGTH)),
        "its inputs have the shape .60, 2., not one column",
    ),
    "different inputs": (
        lambda x: kernel(matern12, x, LENGTH) + kernel(matern32, x**2, LENGTH),
        "its kernels are of different inputs",
    ),
    "a long state": (
        lambda x: sum(kernel(matern52, x, k * LENGTH) for k in range(1, 5)),
        "the state of its process has more than 8 numbers",
    ),
    "no kernel": (lambda x: 0.0 * LENGTH * tt.eye(len(x)) + 1.0, "no kernel of inputs is in it"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_no_markov_covariance_is_left_with_the_reason(name: str) -> None:
    make, why = REFUSED[name]
    with pytest.raises(Exception, match=why) as error:
        markov(structure_of(make(INPUTS["in any order"])))
    assert type(error.value).__name__ == "Unstructured"


def test_few_numbers_stay_with_a_factor() -> None:
    x = np.linspace(0.0, 1.0, 12)
    whole = MvNormal.log_density(x, 0.0, tt.cholesky(kernel(matern32, x, LENGTH) + NOISE * tt.eye(12)))
    assert along_inputs(whole) is whole


def test_a_plan_says_so_and_the_run_agrees_with_the_model_as_written() -> None:
    x = np.arange(60.0)
    with pm.Model() as model:
        length = pm.Gamma("length", 3, 0.5)
        f = pm.MvNormal("f", np.zeros(60), cov=kernel(matern52, x, length) + 1e-6 * np.eye(60))
        pm.Normal("y", f, 0.3, observed=np.sin(x / 3))
        found = pm.sample(50, tune=50, chains=1, random_seed=1, progressbar=False, quiet=True)
    assert "marginalized, state-space model: f" in str(pm.explain(model))
    assert found.posterior.attrs["certificate"].startswith("holds")
    assert abs(found.posterior["f"].values.mean((0, 1)) - np.sin(x / 3)).max() < 0.6


def test_a_covariance_without_a_factor_is_impossible_and_nothing_else() -> None:
    """As with a whole covariance: -inf where there is none, nan for nan."""
    x = INPUTS["in any order"]
    cov = kernel(matern32, x, LENGTH) + (NOISE - 1.0) * tt.eye(60)
    whole = MvNormal.log_density(placeholder(TensorType("float64", (60,)), "y"), 0.0, tt.cholesky(cov))
    y = next(node for node in topological([whole]) if node.type == TensorType("float64", (60,)) and not node.inputs)
    f = pm.function([y, LENGTH, NOISE], [along_inputs(whole), whole])
    for value, noise in ((0.0, 0.3), (0.0, 1.2), (np.nan, 1.2)):
        along, known = f(np.full(60, value), 3.0, noise)
        np.testing.assert_allclose(along, known, rtol=1e-9)
    assert np.isneginf(f(np.zeros(60), 3.0, 0.3)[0])


def test_words_name_the_kernels_and_the_state() -> None:
    law = markov(structure_of(COVARIANCES["sum"](INPUTS["on a grid"])))
    assert markov_process.words(law, "y") == (
        "y: the covariance (matern32 and matern12) is that of a Markov process in its input with a state of 4 numbers; "
        "its 60 points are gone through one after the other."
    )
