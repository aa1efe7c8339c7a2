"""Arguments of `sample` where rewriting leaves nothing to move: each has its effect, or an answer."""

import logging

import pytest

import ppl as pm

FEW = {
    "draws": 60,
    "tune": 60,
    "chains": 1,
    "random_seed": 1,
    "progressbar": False,
    "compute_convergence_checks": False,
}


@pytest.fixture(scope="module")
def nothing_seen():
    with pm.Model() as model:
        pm.Normal("y", pm.Normal("x"), 1)
        pm.Poisson("n", 2.0)
    return model


def test_without_such_arguments_draws_are_exact(nothing_seen):
    with nothing_seen:
        assert pm.sample(**FEW).posterior.attrs["drawn_by"] == "recovery of what was integrated out"


@pytest.mark.parametrize(
    "chosen",
    [
        {"nuts": {"target_accept": 0.9}},
        {"nuts": {"max_treedepth": 2}},
        {"init": "adapt_diag"},
        {"nuts_sampler": "pymc"},
    ],
)
def test_what_steers_nuts_means_nuts_where_nothing_is_observed(nothing_seen, chosen):
    with nothing_seen:
        found = pm.sample(**FEW, **chosen)
    assert found.posterior.attrs["drawn_by"] == "NUTS"
    assert set(found.posterior.data_vars) == {"x", "y", "n"}
    if "max_treedepth" in chosen.get("nuts", ()):
        assert found.sample_stats.tree_depth.max() == 2


def test_chains_start_at_initvals_where_nothing_is_observed(nothing_seen):
    with nothing_seen:
        found = pm.sample(
            **{**FEW, "draws": 1, "tune": 0}, initvals={"x": 50.0, "y": 50.0}, init="adapt_diag", step_scale=1e-6
        )
    assert abs(found.posterior.x.item() - 50) < 1


def test_what_steers_nuts_means_nuts_where_all_would_be_integrated_out():
    with pm.Model():
        pm.Binomial("k", 5, pm.Beta("p", 1, 1), observed=2)
        assert pm.sample(**FEW, max_treedepth=8).posterior.attrs["drawn_by"] == "NUTS"
        assert pm.sample(**FEW, max_treedepth=8, eliminate="p").posterior.attrs["drawn_by"].startswith("recovery")


def test_initvals_of_independent_draws_are_answered(nothing_seen, caplog):
    with nothing_seen, caplog.at_level(logging.WARNING, logger="ppl"):
        pm.sample(**FEW, initvals={"x": 3.0})
    assert "initvals: no chain is run" in caplog.text and "rewrite=False" in caplog.text


def test_a_target_of_acceptance_alone_asks_for_no_chain_and_is_answered(nothing_seen, caplog):
    with nothing_seen, caplog.at_level(logging.INFO, logger="ppl"):
        found = pm.sample(**FEW, target_accept=0.99)
    assert found.posterior.attrs["drawn_by"] == "recovery of what was integrated out"
    assert "target_accept: no chain is run" in caplog.text
