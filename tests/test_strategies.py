"""Each way to draw takes the models that it is for, through one signature and one list."""

import inspect

import numpy as np
import pytest

import ppl as pm
from ppl.model.finishing.runs import Drawn
from ppl.model.inference import strategies
from ppl.model.inference.engines import ENGINES
from ppl.model.inference.request import request
from ppl.model.inference.sampling import sample
from ppl.model.inference.strategies import rejection as by_rejection
from ppl.model.inference.task import task_of
from ppl.rewrites.limits import limited
from ppl.samplers import UnresolvedError

pytestmark = pytest.mark.usefixtures("module_compiled_quickly")
Y = np.linspace(-1.0, 1.5, 12)


def coin():
    pm.Binomial("y", 10, pm.Beta("p", 1, 1), observed=7)


def location():
    pm.StudentT("y", 4, pm.Normal("a", 0, 1), 0.5, observed=Y)


def line():
    pm.StudentT("y", 4, pm.Normal("a", 0, 1) + pm.Normal("b", 0, 1) * Y, 0.5, observed=Y)


def line_and_location():
    line()
    pm.StudentT("v", 4, pm.Normal("c", 0, 1), 0.5, observed=Y)


def curve():
    a, b, c, d = (pm.Normal(name, 0, 1) for name in "abcd")
    pm.StudentT("y", 4, a + b * Y + c * Y**2 + d * Y**3 + pm.Normal("e", 0, 1) * Y**4, 0.5, observed=Y)


def curve_and_location():
    curve()
    pm.StudentT("v", 4, pm.Normal("f", 0, 1), 0.5, observed=Y)


def label():
    pm.Normal("y", pm.Bernoulli("z", 0.4) * pm.Normal("a", 0, 1), 0.5, observed=Y)


CASES = [
    (coin, {}, "by_recovery"),
    (coin, {"nuts": {"target_accept": 0.9}}, "by_nuts"),
    (coin, {"target_accept": 0.9}, "by_recovery"),
    (location, {"target_accept": 0.9}, "by_quadrature"),
    (location, {}, "by_quadrature"),
    (line, {}, "by_rejection"),
    (line, {"target_accept": 0.9}, "by_rejection"),
    (line, {"rewrite": False}, "by_nuts"),
    (line_and_location, {}, "by_rejection"),
    (curve, {}, "by_nuts"),
    (curve_and_location, {}, "by_factors"),
    (location, {"independent": False}, "by_nuts"),
    (line, {"independent": False}, "by_nuts"),
    (curve_and_location, {"independent": False}, "by_nuts"),
    (line_and_location, {"callback": print}, "by_nuts"),
    (line, {"nuts_sampler": "nutpie"}, "by_another_package"),
    (label, {"rewrite": False}, "by_steps"),
]


def elsewhere(density, starts, nuts, plan, options):
    shape = plan["chains"], plan["draws"]
    return Drawn(np.zeros((*shape, starts.dim)), {"lp": np.zeros(shape), "diverging": np.zeros(shape, bool)}, 0.0)


@pytest.mark.parametrize(("make", "options", "expected"), CASES)
def test_the_strategy_that_is_for_a_model_draws(make, options, expected, monkeypatch):
    monkeypatch.setitem(ENGINES, "nutpie", elsewhere)
    taken = []

    def noting(strategy):
        def tried(task):
            found = strategy(task)
            taken.extend([strategy.__name__] if found is not None else [])
            return found

        return tried

    monkeypatch.setattr(strategies, "STRATEGIES", tuple(map(noting, strategies.STRATEGIES)))
    with pm.Model() as model:
        make()
    given = {"draws": 4, "tune": 4, "chains": 2, "cores": 1, "random_seed": 1, "progressbar": False, "quiet": True}
    if options.get("callback") is print:
        options = {"callback": lambda trace, draw: None}
    result = pm.sample(**given, **options, model=model, compute_convergence_checks=False, certificate=False)
    assert taken == [expected]
    assert all(result.posterior[rv.name].shape[:2] == (2, 4) for rv in model.free_RVs)


def test_a_request_is_checked_before_any_work():
    with pm.Model():
        line()
        with pytest.raises(ValueError, match="there is no sampler 'nuts'"):
            pm.sample(nuts_sampler="nuts")


def test_a_task_says_what_is_drawn_and_by_what():
    with pm.Model() as model:
        line_and_location()
    given = {**inspect.unwrap(sample).__kwdefaults__, "draws": 4, "model": model, "random_seed": 1, "options": {}}
    task = task_of(request(sample, given))
    assert {v.name for v in task.posterior.values} == {"a", "b", "c"} and task.methods.only_nuts
    assert task.division is not None and [len(part.values) for part in task.division.parts] == [2, 1]


def test_what_rejection_refuses_goes_to_a_chain_with_the_reason(monkeypatch):
    def refused(*given, **more):
        raise UnresolvedError("a share 0.1 of the mass is not where proposals come from")

    monkeypatch.setattr(by_rejection, "rejection", refused)
    with pm.Model():
        line()
        result = pm.sample(draws=4, tune=4, chains=1, random_seed=1, progressbar=False, quiet=True, certificate=False)
    by = result.posterior.attrs["drawn_by"]
    assert by.startswith("NUTS, since draws are not independent here: a share 0.1") and "n_steps" in result.sample_stats


def test_the_energy_of_independent_draws_is_minus_their_log_density():
    """So that pictures of energies have what they need."""
    with pm.Model():
        location()
        stats = pm.sample(draws=20, tune=0, chains=2, random_seed=1, progressbar=False, quiet=True).sample_stats
    np.testing.assert_array_equal(stats["energy"], -stats["lp"])


def test_what_takes_long_far_away_goes_to_a_chain():
    """Steps of a solver depend on the parameters, and rejection looks far and wide."""
    curve = pm.ode.DifferentialEquation(lambda y, t, p: [-p[0] * y[0] ** 2], [0.5, 1.0], n_states=1, n_theta=1)
    with pm.Model() as model:
        rate, start = pm.LogNormal("rate"), pm.LogNormal("start")
        pm.Normal("y", curve(theta=[rate], y0=[start]), 0.1, observed=[[0.6], [0.4]])
    given = {**inspect.unwrap(sample).__kwdefaults__, "draws": 100, "model": model, "random_seed": 1, "options": {}}
    task = task_of(request(sample, given))
    assert task.starts.dim == 2
    assert by_rejection._against(task) == "the log-density may take long far from the posterior"


def test_few_numbers_go_to_a_chain_where_that_is_less_work():
    with pm.Model() as model:
        line()
    given = {**inspect.unwrap(sample).__kwdefaults__, "draws": 100, "model": model, "random_seed": 1, "options": {}}
    task = task_of(request(sample, given | {"tune": 100, "chains": 1}))
    assert by_rejection._against(task) is None
    reasons = {"operations_of_compiling": "a chain is less work",
               "operations_of_rejection": "the log-density is much arithmetic"}  # fmt: skip
    for limit, reason in reasons.items():
        with limited(**{limit: 0.0}):
            task.finish.facts["drawn_by"] = "NUTS"
            assert by_rejection.by_rejection(task) is None
            assert task.finish.facts["drawn_by"] == f"NUTS, since {reason}"
    with limited(few_numbers=1):
        task.finish.facts["drawn_by"] = "NUTS"
        assert by_rejection.by_rejection(task) is None and task.finish.facts["drawn_by"] == "NUTS"
