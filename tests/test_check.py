"""What `check` says of models and results: planted faults are found, sane models are left alone, and it is quick."""

import json
import logging
import runpy
import statistics
import sys
import time
import warnings
from pathlib import Path

import jax
import models_of_pymc
import numpy as np
import pytest
from planted_faults import FAULTS
from proof_models import PROOFS
from sane_models import SANE

import ppl as pm
import ppl.tensor as tt
from ppl.model.checking.after.influential_rows import pareto_k
from ppl.model.checking.findings import SEVERITIES
from ppl.model.checking.registry import AFTER, BEFORE
from ppl.model.output.results import collect

ROOT = Path(__file__).resolve().parent.parent
BENCHMARKS = (
    "schools radon regression iid pumps rats counts votes election slopes coal nile rates process latent loop "
    "_many _chain _walk _rates _grid".split()
)
# Grave findings on models of this repository, each read and found true.
TRUE = {
    ("improper_priors", "improper posterior"),  # flat variables without data
    ("a_mixture_of_counts", "label switching"),  # two gamma rates without an order
    ("nested_models", "no influence"),  # two variables stand for themselves
}


def grave(report):
    return [f for f in report if f.severity != "note"]


# --- planted faults


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.name)
def test_a_planted_fault_is_found_with_a_remedy(fault):
    report = pm.check(fault.model())
    found = [f for f in report if f.kind == fault.kind and set(fault.names) <= set(f.variables)]
    assert found, report
    assert any(fault.remedy in f.remedy for f in found), report
    for name in fault.names:
        assert any(name in f.sentence + f.remedy for f in found)


def test_there_are_sixty_planted_faults_and_every_check_before_sampling_finds_one():
    assert len(FAULTS) >= 60 and len({fault.name for fault in FAULTS}) == len(FAULTS)
    assert {kind for check in BEFORE for kind in check.kinds} <= {fault.kind for fault in FAULTS}


@pytest.mark.parametrize("fault", FAULTS[::4], ids=lambda fault: fault.name)
def test_findings_are_whole_sentences(fault):
    for f in pm.check(fault.model()):
        assert f.severity in SEVERITIES
        for text in (f.sentence, f.remedy):
            assert text[0].isupper() or text[0] in '"0123456789'
            assert text.endswith(".") and "  " not in text and ".." not in text.replace("...", "")


# --- no false alarms


@pytest.mark.parametrize("name", SANE)
def test_there_is_nothing_grave_to_say_of_a_sane_model(name):
    assert grave(pm.check(SANE[name]())) == []


def of_pymc(name):
    with pm.Model() as model, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        models_of_pymc.MODELS[name](pm, tt)
    return model


def of_examples():
    """The models of the examples that are functions of their own, and of the others as they are run."""
    found = {"demo": runpy.run_path(str(ROOT / "examples/demo.py"))["eight_schools"]}
    ten = runpy.run_path(str(ROOT / "examples/ten_models.py"))
    named = [f for n, f in ten.items() if callable(f) and getattr(f, "__annotations__", {}).get("return") == "Proof"]
    return found | {f"ten_models {f.__name__}": f for f in named}


def of_benchmarks():
    sys.path.insert(0, str(ROOT / "benchmarks"))
    try:
        import rewrites_models
    finally:
        sys.path.remove(str(ROOT / "benchmarks"))

    def model(name):
        with pm.Model() as made:
            getattr(rewrites_models, name)(pm)
        return made

    return {name: lambda name=name: model(name) for name in BENCHMARKS}


OF_THE_REPOSITORY = {
    **{proof.name: proof.model for proof in PROOFS},
    **{name: lambda name=name: of_pymc(name) for name in models_of_pymc.MODELS},
    **of_benchmarks(),
    **of_examples(),
}


@pytest.mark.parametrize("name", OF_THE_REPOSITORY)
def test_what_is_grave_in_models_of_the_repository_is_true(name):
    made = OF_THE_REPOSITORY[name]()
    report = pm.check(getattr(made, "model", made))
    assert {(name, f.kind) for f in grave(report)} <= TRUE, report


def test_the_models_whose_findings_were_read_still_have_them():
    assert {name for name, _ in TRUE} <= OF_THE_REPOSITORY.keys()


# --- close relatives of faults, which are none


def test_a_prediction_in_the_model_is_no_variable_without_influence():
    with pm.Model() as model:
        mu = pm.Normal("mu", 0, 1)
        pm.Normal("y", mu, 1, observed=[0.1, 0.4])
        pm.Normal("new", mu, 1)
    assert not pm.check(model).findings


def test_standard_effects_times_a_scale_are_identified():
    with pm.Model() as model:
        mu, tau, z = pm.Normal("mu", 0, 1), pm.HalfNormal("tau", 1), pm.Normal("z", 0, 1, shape=3)
        pm.Normal("y", (mu + tau * z)[np.arange(9) % 3], 1, observed=np.linspace(-1, 1, 9))
    assert not pm.check(model).findings


@pytest.mark.parametrize("rows", [1, 2, 3, 4])
def test_a_flat_scale_beside_a_flat_mean_needs_three_rows(rows):
    with pm.Model() as model:
        pm.Normal("y", pm.Flat("mu"), pm.HalfFlat("s"), observed=np.linspace(0, 1, rows))
    assert bool(pm.check(model).of("error")) == (rows < 3)


@pytest.mark.parametrize(("groups", "improper"), [(2, True), (3, False)])
def test_a_flat_spread_about_a_flat_mean_needs_three_groups(groups, improper):
    with pm.Model() as model:
        theta = pm.Normal("theta", pm.Flat("mu"), pm.HalfFlat("tau"), shape=groups)
        pm.Normal("y", theta[np.arange(12) % groups], 1, observed=np.linspace(-1, 1, 12))
    assert any(f.kind == "improper posterior" for f in pm.check(model)) == improper


def test_outcomes_that_overlap_are_not_separated():
    x = np.linspace(-1, 1, 12)
    with pm.Model() as model:
        a, b = pm.Flat("a"), pm.Flat("b")
        pm.Bernoulli("y", logit_p=a + b * x, observed=[0, 0, 0, 1, 0, 0, 1, 1, 0, 1, 1, 1])
    assert not pm.check(model).findings


def test_weights_that_differ_leave_no_labels_to_switch():
    with pm.Model() as model:
        w, mu = pm.Dirichlet("w", [1.0, 3.0]), pm.Normal("mu", 0, 3, shape=2)
        pm.NormalMixture("y", w, mu, 1.0, observed=np.linspace(-3, 3, 12))
    assert not grave(pm.check(model))


def test_an_order_by_a_potential_leaves_no_labels_to_switch():
    with pm.Model() as model:
        w, mu = pm.Dirichlet("w", np.ones(2)), pm.Normal("mu", 0, 3, shape=2)
        pm.Potential("order", pm.math.switch(mu[1] < mu[0], -np.inf, 0.0))
        pm.NormalMixture("y", w, mu, 1.0, observed=np.linspace(-3, 3, 12))
    assert not [f for f in pm.check(model) if f.kind == "label switching"]


def test_a_prior_by_a_potential_makes_a_flat_variable_proper():
    with pm.Model() as model:
        a, b = pm.Flat("a"), pm.Flat("b")
        pm.Potential("prior", -0.5 * (a - b) ** 2)
        pm.Normal("y", a + b, 1, observed=[0.2, 0.4])
    assert not pm.check(model).findings


def test_a_soft_bound_is_no_multiplication_by_zero():
    with pm.Model() as model:
        a, b = pm.Normal("a", 0, 1), pm.Normal("b", 0, 1)
        pm.Potential("order", pm.math.switch(a < b, 0.0, -np.inf))
    assert not pm.check(model).findings


@pytest.mark.parametrize(("top", "severity"), [("Uniform", "error"), ("Exponential", "warning")])
def test_data_beyond_a_bound_are_an_error_only_where_it_cannot_move(top, severity):
    with pm.Model() as model:
        bound = pm.Uniform("top", 0, 5) if top == "Uniform" else pm.Exponential("top", 3.0)
        pm.Uniform("y", 0, bound, observed=np.linspace(0.5, 7, 9))
    (finding,) = [f for f in pm.check(model) if f.kind == "support"]
    assert finding.severity == severity


def test_a_scale_of_a_component_may_be_negative():
    with pm.Model() as model:
        s = pm.Normal("s", 0, 1)
        pm.Mixture("y", [0.3, 0.7], [pm.Normal.dist(0, s), pm.Normal.dist(3, 1)], observed=np.linspace(-3, 3, 12))
    assert [(f.kind, f.variables) for f in pm.check(model)] == [("parameter outside its domain", ("y",))]


def test_data_beyond_a_truncation_of_a_law_are_told():
    with pm.Model() as model:
        low = pm.Uniform("low", 1, 2)
        pm.Truncated("y", pm.Normal.dist(pm.Normal("mu", 0, 1), 1), lower=low, observed=np.linspace(0.5, 4, 8))
    assert ("support", "error") in {(f.kind, f.severity) for f in pm.check(model)}


def test_data_that_were_changed_are_looked_at_again():
    with pm.Model() as model:
        x = pm.Data("x", np.linspace(0, 1, 6))
        a, b = pm.Normal("a", 0, 1), pm.Normal("b", 0, 1)
        pm.Normal("y", a + b * x, 1, observed=np.linspace(0, 1, 6))
        before = pm.check(model)
        pm.set_data({"x": np.ones(6)})
        after = pm.check(model)
    assert not before.findings
    assert [(f.kind, f.variables) for f in after] == [("collinear columns", ("a", "b"))]


# --- the report


def faulty():
    with pm.Model() as model:
        pm.Normal("y<1>", pm.Normal("mu", 0, 1), pm.Normal("s", 0, 1), observed=np.linspace(0, 9, 7))
        pm.Flat("lost")
    return model


def test_a_report_is_text_html_and_json():
    report = pm.check(faulty())
    assert str(report).startswith("model: 1 error, 1 warning") and repr(report) == str(report)
    html = report._repr_html_()
    assert "<table>" in html and "y&lt;1&gt;" in html and "y<1>" not in html
    as_json = json.loads(report.to_json())
    assert as_json == report.to_dict() and [f["severity"] for f in as_json["findings"]] == ["error", "warning"]
    assert as_json["findings"][0].keys() == {"kind", "variables", "severity", "sentence", "remedy"}
    assert len(report) == 2 and list(report) == list(report.findings)


def test_a_report_cannot_be_changed():
    report = pm.check(faulty())
    with pytest.raises(AttributeError):
        report.findings = ()
    with pytest.raises(AttributeError):
        report.findings[0].severity = "note"


def test_a_sane_model_has_a_short_report():
    assert str(pm.check(SANE["linear_regression"]())) == "model: nothing to remark"
    with SANE["linear_regression"]():
        assert not pm.check().findings  # the model of the block


def test_something_else_is_refused():
    with pytest.raises(TypeError, match="takes a model, or results with a posterior"):
        pm.check(3.0)


def test_a_check_that_fails_is_named_and_the_others_go_on(monkeypatch):
    from ppl.rewrites.engine.engine import strict

    def fails(survey):
        raise RuntimeError("planted")

    monkeypatch.setattr(strict, "on", False)
    monkeypatch.setattr("ppl.model.checking.check.BEFORE", (BEFORE[0]._replace(find=fails), *BEFORE[1:]))
    report = pm.check(faulty())
    assert any("planted" in what for what in report.skipped) and report.findings


# --- time


QUIET_PACE = 0.042  # seconds that `pace` takes on the machine of the bar, where nothing else runs


def pace():
    """Processor time of some Python and NumPy, always the same: on a shared machine it grows as a check does."""
    total, kept, start = np.zeros(8), {}, time.process_time()
    for number in range(20_000):
        total = total + 1.0
        kept[number] = number, total.shape
    return time.process_time() - start


def test_a_check_takes_less_than_three_tenths_of_a_second_and_compiles_nothing(capsys):
    """Of processor time, in the pace of a quiet machine, since other programs may run beside the tests."""
    compiled = []
    jax.monitoring.register_event_duration_secs_listener(
        lambda event, _, **__: compiled.append(event) if "backend_compile" in event else None
    )
    pm.check(SANE["logistic_regression"]())  # imports SciPy
    seconds, programs = {}, {}
    builds = {**{fault.name: fault.model for fault in FAULTS}, **SANE, **OF_THE_REPOSITORY}
    for name, build in builds.items():
        for _ in range(2):
            made = build()
            model = getattr(made, "model", made)
            slower = max(pace() / QUIET_PACE, 1.0)
            before, start = len(compiled), time.process_time()
            pm.check(model)
            seconds[name] = min((time.process_time() - start) / slower, seconds.get(name, np.inf))
            programs[name] = len(compiled) - before
    worst = max(seconds, key=seconds.__getitem__)
    with capsys.disabled():
        middle = 1e3 * statistics.median(seconds.values())
        print(f"\ncheck: median {middle:.1f} ms, worst {1e3 * seconds[worst]:.0f} ms ({worst}), {len(seconds)} models")
    assert seconds[worst] < 0.3
    assert not any(programs.values()), {name: n for name, n in programs.items() if n}


# --- results

QUIET = {"draws": 500, "tune": 300, "chains": 4, "random_seed": 1, "progressbar": False}


@pytest.fixture
def quiet():
    before = logging.getLogger("ppl").level
    logging.getLogger("ppl").setLevel(logging.CRITICAL)
    yield
    logging.getLogger("ppl").setLevel(before)


def kinds(report):
    return {f.kind: f for f in report}


def results(draws, attrs=None, log_likelihood=None, **stats):
    """Results with given draws, (chains, draws, ...), and statistics."""
    import xarray as xr

    def group(values):
        return xr.Dataset(
            {n: (("chain", "draw", *[f"{n}_{i}" for i in range(np.ndim(v) - 2)]), v) for n, v in values.items()}
        )

    groups = {"posterior": group(draws).assign_attrs(attrs or {})}
    if stats:
        groups["sample_stats"] = group(stats)
    if log_likelihood:
        groups["log_likelihood"] = group(log_likelihood)
    return collect(groups)


RNG = np.random.default_rng(5)


def test_good_results_have_a_short_report(quiet):
    with SANE["robust_regression"]():
        report = pm.check(pm.sample(**QUIET, idata_kwargs={"log_likelihood": True}))
    assert str(report) == "results: nothing to remark"


def test_a_funnel_is_put_into_words(quiet):
    with pm.Model():
        v = pm.Normal("v", 0, 3)
        pm.Normal("x", 0, pm.math.exp(v / 2), shape=9)
        report = pm.check(pm.sample(**QUIET, rewrite=False))
    found = kinds(report)
    assert found["divergences"].variables == ("v",) and "where v is small" in found["divergences"].sentence
    assert {"v", "x"} & set(found["effective draws"].variables) and "energy" in found


def test_chains_in_two_modes_are_named_with_the_entry():
    draws = RNG.normal(size=(4, 300, 2)) + np.array([0, 0, 9, 9])[:, None, None] * np.array([0, 1])
    found = kinds(pm.check(results({"mu": draws, "s": RNG.normal(size=(4, 300))})))
    assert found["mixing"].variables == ("mu",) and "mu[1]" in found["mixing"].sentence
    assert found["mixing"].severity == "error"


def test_draws_that_depend_on_each_other_are_counted():
    steps = RNG.normal(size=(4, 2000))
    draws = np.stack([np.convolve(s, 0.97 ** np.arange(400))[:2000] for s in steps])
    found = kinds(pm.check(results({"rho": draws, "fine": RNG.normal(size=(4, 2000))})))
    assert found["effective draws"].variables == ("rho",)


def test_the_energy_and_the_tree_depth_are_told_by_chain():
    energy = np.cumsum(RNG.normal(size=(4, 500)), axis=1)
    energy[1:] = RNG.normal(size=(3, 500))
    reached = np.zeros((4, 500), bool)
    reached[2, :100] = True
    found = kinds(pm.check(results({"a": RNG.normal(size=(4, 500))}, energy=energy, reached_max_treedepth=reached)))
    assert "Chain 0 explored" in found["energy"].sentence and "Chain 2 reached" in found["tree depth"].sentence


def test_an_outlier_is_an_influential_row(quiet):
    with pm.Model():
        mu, s = pm.Normal("mu", 0, 5), pm.HalfNormal("s", 1)
        pm.Normal("y", mu, s, observed=np.r_[RNG.normal(size=12), 12.0])
        found = kinds(pm.check(pm.sample(**QUIET, idata_kwargs={"log_likelihood": True})))
    assert "rows 12" in found["influential rows"].sentence and "StudentT" in found["influential rows"].remedy


def test_the_shapes_of_tails_are_those_of_arviz():
    import arviz

    ratios = RNG.normal(size=(2000, 5)) * np.array([0.2, 0.6, 1.0, 1.5, 3.0])
    if not hasattr(arviz, "psislw"):
        pytest.skip("this ArviZ has no psislw")
    np.testing.assert_allclose(pareto_k(ratios), arviz.psislw(ratios.T.copy())[1], atol=1e-8)


def test_rows_with_parameters_of_their_own_are_told_as_such_and_a_single_one_is_not():
    draws = {"a": RNG.normal(size=(4, 500))}
    heavy = -(RNG.normal(size=(4, 500, 9)) ** 2) * 3
    (finding,) = pm.check(results(draws, log_likelihood={"y": heavy}))
    assert finding.severity == "note" and "parameters of their own" in finding.sentence
    assert not pm.check(results(draws, log_likelihood={"y": heavy[:, :, :1]})).findings


def test_rows_that_tell_nothing_are_not_influential():
    assert np.all(pareto_k(np.zeros((1000, 2))) == -np.inf)


def test_the_error_of_quadrature_and_a_run_that_was_stopped_are_told():
    attrs = {"quadrature_error": 0.02, "interrupted": 1, "drawn_by": "quadrature of the one dimension left"}
    found = kinds(pm.check(results({"a": RNG.normal(size=(4, 500))}, attrs)))
    assert "0.02" in found["exactness"].sentence and "500 draws of 4 chains" in found["interrupted"].sentence
    assert not pm.check(
        results({"a": RNG.normal(size=(4, 500))}, {**attrs, "quadrature_error": 1e-9, "interrupted": 0})
    ).findings


def test_a_certificate_is_told_if_it_fails_or_judges_nothing():
    draws = {"a": RNG.normal(size=(4, 500))}
    failed = kinds(pm.check(results(draws, {"certificate": "fails: they differ by 0.3"})))["exactness"]
    assert failed.severity == "error" and "differ by 0.3" in failed.sentence
    assert "too many draws" in pm.check(results(draws, {"certificate": "not judged: too many draws"})).skipped[0]
    assert str(pm.check(results(draws, {"certificate": "holds: at 32 draws"}))) == "results: nothing to remark"


def test_few_draws_and_single_chains_are_told():
    assert "too few" in kinds(pm.check(results({"a": RNG.normal(size=(4, 20))})))["mixing"].sentence
    one = {"a": RNG.normal(size=(1, 500))}
    for attributes in ({}, {"drawn_by": "NUTS"}, {"drawn_by": "NUTS, since draws are not independent here: ..."}):
        assert "Only one chain" in kinds(pm.check(results(one, attributes)))["mixing"].sentence
    assert not pm.check(results(one, {"drawn_by": "rejection in the 2 dimensions left"})).findings


def test_the_documentation_is_up_to_date():
    generate = runpy.run_path(str(ROOT / "docs/generate_checks.py"))
    assert generate["PLACE"].read_text(encoding="utf-8") == generate["page"](), "run: python docs/generate_checks.py"


def test_every_check_of_results_has_a_test():
    text = Path(__file__).read_text()
    assert all(f'"{kind}"' in text for check in AFTER for kind in check.kinds)
