"""The proof models keep what they should, and lose nothing; what must not be rewritten is declined or exact."""

from __future__ import annotations

import runpy
from pathlib import Path

import numpy as np
import pytest
from exact_elimination import both_sides
from proof_models import EFFECTS, ERRORS, FAILURES, HOURS, PROOFS, RATS, TUMOURS
from scipy import stats

import ppl as pm
from ppl.graph import substitute
from ppl.model.posterior.rewriting import program_of
from ppl.rewrites import strict
from ppl.tensor.tensor import as_tensor

pytestmark = pytest.mark.usefixtures("module_compiled_quickly")

ROOT = Path(__file__).resolve().parent.parent


@pytest.fixture(autouse=True)
def _strict(monkeypatch):
    monkeypatch.setattr(strict, "on", True)


@pytest.mark.parametrize("proof", PROOFS, ids=lambda p: p.name)
def test_the_plan_is_exact_and_leaves_what_it_should(proof):
    model = proof.model()
    plan = pm.explain(model)
    sides = both_sides(program_of(model), plan.program, 4)
    np.testing.assert_allclose(sides.product, sides.joint, rtol=1e-9, atol=1e-8, err_msg=str(plan))
    assert {rv.name: int(np.prod(rv.type.shape)) for rv in plan.program.free} == proof.left, plan


def marginal_at(name, **values):
    """The rewritten log-density of the data at values of what is left, priors of these apart."""
    model = next(p for p in PROOFS if p.name == name).model()
    program = pm.explain(model).program
    here = {rv: as_tensor(values[rv.name]) for rv in program.free}
    return sum(float(substitute(t.density, here).sum().eval()) for t in program.terms)


def test_eight_schools_by_the_textbook():
    tau = 3.0
    cov = np.diag(ERRORS**2 + tau**2) + 25.0
    expected = stats.multivariate_normal(np.zeros(8), cov).logpdf(EFFECTS)
    np.testing.assert_allclose(marginal_at("eight_schools", tau=tau), expected, rtol=1e-10)


def test_pumps_are_negative_binomial():
    a, b = 1.3, 0.7
    expected = stats.nbinom(a, b / (b + HOURS)).logpmf(FAILURES).sum()
    np.testing.assert_allclose(marginal_at("pumps", alpha=a, beta=b), expected, rtol=1e-10)


def test_rats_are_beta_binomial():
    a, b = 1.4, 8.6
    expected = stats.betabinom(RATS, a, b).logpmf(TUMOURS).sum()
    np.testing.assert_allclose(marginal_at("rats", alpha=a, beta=b), expected, rtol=1e-10)


CLOSURES = {
    "a difference of normals": (lambda: 2 * pm.Normal.dist(1, 3) - pm.Normal.dist(2, 4) + 3, stats.norm(3, 52**0.5)),
    "a stochastic frontier": (
        lambda: pm.Normal.dist(1.0, 0.6) - pm.HalfNormal.dist(0.8),
        stats.skewnorm(-0.8 / 0.6, loc=1.0, scale=1.0),
    ),
    "a reaction time": (
        lambda: pm.Normal.dist(0.5, 0.2) + pm.Exponential.dist(2.0),
        stats.exponnorm(0.5 / 0.2, loc=0.5, scale=0.2),
    ),
    "the first of two": (
        lambda: pm.math.minimum(pm.Exponential.dist(1.0), pm.Exponential.dist(2.0)),
        stats.expon(scale=1 / 3),
    ),
}


@pytest.mark.parametrize("which", CLOSURES)
def test_closed_families_have_their_densities(which):
    expression, law = CLOSURES[which]
    for x in (0.2, 0.9, 1.7):
        np.testing.assert_allclose(float(pm.logp(expression(), x).eval()), law.logpdf(x), rtol=1e-8)


# --- what must not be rewritten
def test_two_functions_of_the_same_draws_have_no_product_of_densities():
    x, table = pm.Normal.dist(0, 1, shape=2), pm.Normal.dist(0, 1, shape=(2, 2))
    extremes = pm.math.stack([pm.math.sum(x), pm.math.max(x)])
    margins = pm.math.concatenate([table.sum(axis=0), table.sum(axis=1)])
    for twice, values in ((extremes, [1.0, 0.9]), (margins, [1.0, 2.0, 1.5, 1.5])):
        with pytest.raises(Exception, match="dependent"):
            pm.logp(twice, np.array(values)).eval()


def test_a_variable_added_to_itself_is_scaled():
    x = pm.Normal.dist(0, 1)
    np.testing.assert_allclose(float(pm.logp(x + x, 1.0).eval()), stats.norm(0, 2).logpdf(1.0), rtol=1e-12)


def test_a_draw_that_is_broadcast_is_not_many_draws():
    total = pm.Normal.dist(0, 1) + pm.Normal.dist(0, 1, shape=3)
    point = np.array([0.3, -0.2, 1.0])
    cov = np.eye(3) + 1.0
    try:
        found = float(np.sum(pm.logp(total, point).eval()))
    except Exception as declined:
        assert "density" in str(declined)
    else:
        np.testing.assert_allclose(found, stats.multivariate_normal(np.zeros(3), cov).logpdf(point), rtol=1e-9)


def test_weights_that_are_no_probabilities_have_no_density():
    with pm.Model() as model:
        a = pm.Normal("a", 0, 1, shape=3)
        pm.Categorical("y", p=pm.math.sigmoid(a), observed=1)
    assert model.compile_logp()({"a": np.array([0.1, 0.2, 0.3])}) == -np.inf
    assert pm.explain(model).free == ("a",)


def in_a_potential(x):
    pm.Potential("p", -(x**4))
    pm.Normal("y", x, 1.0, observed=0.3)


def in_two_nonlinear_children(x):
    pm.Normal("y", x**2, 1.0, observed=0.3)
    pm.Poisson("n", pm.math.exp(x), observed=2)


def in_a_scale(x):
    pm.Normal("y", x, pm.math.exp(x), observed=0.3)


@pytest.mark.parametrize("use", [in_a_potential, in_two_nonlinear_children, in_a_scale], ids=lambda f: f.__name__)
def test_what_has_no_theorem_stays(use):
    with pm.Model() as model:
        use(pm.Normal("x", 0, 1))
    plan = pm.explain(model)
    assert plan.free == ("x",)
    assert model.compile_logp(rewrite=True)({"x": 0.4}) == pytest.approx(model.compile_logp()({"x": 0.4}), rel=1e-12)


@pytest.mark.slow
def test_the_page_of_the_proof_models_is_theirs():
    """All but the last digits of the differences, which are those of the machine."""
    made = runpy.run_path(str(ROOT / "docs" / "generate_proof_models.py"))
    lines = [
        [line.rsplit("|", 2)[0] for line in text.splitlines()] for text in (made["PAGE"].read_text(), made["page"]())
    ]
    assert lines[0] == lines[1], "run: python docs/generate_proof_models.py"


LONG: dict[str, dict[str, int]] = {  # how long the model runs as it is written, where steps other than NUTS move slowly
    "coal_mining": {"draws": 15_000},
    "hidden_markov": {"draws": 20_000},
    "counts_of_three_kinds": {"draws": 20_000},
    "crossed": {"draws": 6_000},
}


def rates_of_rows(posterior):
    """The mean of the kind of each row in place of kinds, means and spreads, whose numbers are arbitrary."""
    return {"rate": np.take_along_axis(posterior["mean"].values, posterior["kind"].values, axis=-1)}


IN_COMMON = {"counts_of_three_kinds": rates_of_rows}


def questions(values):
    """What is asked of both runs: means, mean squares about one point, and how often numbers are below one."""
    flat = values.reshape(-1, *values.shape[2:]).astype(float)
    center = flat.mean(axis=0)
    found = {"mean": lambda x: x.astype(float), "spread": lambda x: (x - center) ** 2}
    if values.dtype.kind == "f":
        ranks = (0.1, 0.5, 0.9)
        for p, quantile in zip(ranks, np.quantile(flat, ranks, axis=0), strict=True):
            found[f"below quantile {p}"] = lambda x, q=quantile: (x < q).astype(float)
    return found


def estimate(values):
    """A mean over draws, and its Monte Carlo error."""
    import arviz as az

    return values.mean(axis=(0, 1)), np.nan_to_num(az.mcse(az.convert_to_dataset({"x": values}))["x"].values)


@pytest.mark.slow
@pytest.mark.parametrize("name", [proof.name for proof in PROOFS])
def test_recovered_posteriors_are_those_of_a_long_run_as_written(name):
    """Means, spreads and quantiles agree within 5.5 Monte Carlo errors for every entry of every variable: of all 1,500
    comparisons, one would fail by chance in 17,000 such suites if errors were normal."""
    model = next(p for p in PROOFS if p.name == name).model()
    options = {"draws": 4000, "tune": 2000, "chains": 2, "progressbar": False, "quiet": True, "random_seed": 5}
    with model:
        ours = pm.sample(**options).posterior
        plain = pm.sample(rewrite=False, target_accept=0.99, **{**options, **LONG.get(name, {})}).posterior
    assert set(ours.data_vars) == set(plain.data_vars)
    common = IN_COMMON.get(name, lambda posterior: {v: posterior[v].values for v in posterior.data_vars})
    ours, plain = common(ours), common(plain)
    for each in ours:
        for what, of in questions(plain[each]).items():
            (value, error), (wanted, other) = estimate(of(ours[each])), estimate(of(plain[each]))
            allowed = 5.5 * np.hypot(error, other) + 1e-9
            assert np.all(abs(value - wanted) <= allowed), f"{what} of {each}: {value} and {wanted} beyond {allowed}"
