"""Each row of the checklist, and that its documentation is up to date."""

import importlib.util
from pathlib import Path

import numpy as np
import pytest
from checklist_rewrites import CHECKLIST, HOLES
from scipy import special, stats

import ppl
import ppl.tensor as tt
from ppl.graph import ancestors
from ppl.rewrites import assume, simplify, strict, text

ROOT = Path(__file__).resolve().parent.parent


def by_form(items):
    return pytest.mark.parametrize("item", [i for i in items if i.forms], ids=lambda item: str(item.number))


@by_form(CHECKLIST)
def test_row(item, monkeypatch):
    monkeypatch.setattr(strict, "on", True)
    for before, after in item.forms:
        assert text(simplify(before)) == after


@by_form(HOLES)
def test_hole(item, monkeypatch):
    monkeypatch.setattr(strict, "on", True)
    for before, after in item.forms:
        assert text(simplify(before)) == after


def test_each_row_has_a_test_that_is_there():
    for item in (*CHECKLIST, *HOLES):
        assert item.forms or item.tests or "left to XLA" in item.note
        for told in item.tests:
            file, _, name = told.partition("::")
            assert f"def {name}(" in (ROOT / "tests" / file).read_text()


def test_gradients_of_stable_forms_have_digits_far_out():
    """26 and 27: log erfc where erfc is 0, and log softmax where an entry of softmax is."""
    x, v = tt.dscalar("x"), tt.dvector("v")
    slope = ppl.function([x], ppl.grad(tt.log(tt.erfc(x)), x))
    np.testing.assert_allclose(slope(1e5), -2e5, rtol=1e-9)
    slopes = ppl.function([v], ppl.grad(tt.log(tt.softmax(v))[0], v))
    np.testing.assert_allclose(slopes([-2000.0, 0.0]), [1.0, -1.0], rtol=1e-12)


class ProductOfNormals:
    def logpdf(self, x):
        return np.log(special.k0(abs(x) / 8) / (np.pi * 8))


class LogOdds:
    def logpdf(self, x):
        p = special.expit(x)
        return stats.beta(2, 3).logpdf(p) + np.log(p * (1 - p))


N, S, WEIGHTS = ppl.Normal.dist, np.array([[1.0, 0.3], [0.3, 2.0]]), np.array([1.0, 2.0])
ODDS = ppl.Beta.dist(2.0, 3.0)
DENSITIES = {
    "X + Y": (N(1, 2) + N(3, 4), stats.norm(4, 20**0.5)),
    "X - Y": (N(1, 2) - N(3, 4), stats.norm(-2, 20**0.5)),
    "X * Y": (N(0, 2) * N(0, 4), ProductOfNormals()),
    "X * Y of log-normals": (ppl.LogNormal.dist(0, 1) * ppl.LogNormal.dist(1, 2), stats.lognorm(5**0.5, scale=np.e)),
    "X / Y": (N(0, 2) / N(0, 4), stats.cauchy(0, 0.5)),
    "X / Y of gammas": (ppl.Gamma.dist(2, 1) / ppl.Gamma.dist(3, 1), stats.betaprime(2, 3)),
    "log odds of a Beta": (tt.log(ODDS / (1 - ODDS)), LogOdds()),
    "a projection": (
        tt.dot(WEIGHTS, ppl.MvNormal.dist([0.0, 1.0], S)),
        stats.norm(2, (WEIGHTS @ S @ WEIGHTS) ** 0.5),
    ),
}


@pytest.mark.parametrize("name", DENSITIES)
def test_densities_that_pytensor_has_not(name):
    expression, law = DENSITIES[name]
    np.testing.assert_allclose(ppl.logp(expression, 1.1).eval(), law.logpdf(1.1), rtol=1e-12)


def test_densities_of_choices_and_counts_that_pytensor_has_not():
    choice = tt.switch(ppl.Bernoulli.dist(0.3), N(0, 1), N(3, 1))
    wanted = np.log(0.3 * stats.norm.pdf(1.1) + 0.7 * stats.norm(3, 1).pdf(1.1))
    np.testing.assert_allclose(ppl.logp(choice, 1.1).eval(), wanted, rtol=1e-12)
    total = ppl.Poisson.dist(1.5) + ppl.Poisson.dist(2.0)
    np.testing.assert_allclose(ppl.logp(total, 4).eval(), stats.poisson(3.5).logpmf(4), rtol=1e-12)


def test_rows_that_are_no_expression(monkeypatch):
    """34: an entry of a draw has the density of a draw with these entries of the parameters. 39: a loop."""
    monkeypatch.setattr(strict, "on", True)
    mu, s, y = tt.tensor("mu", "float64", (4,)), tt.tensor("s", "float64", (4,)), tt.dscalar("y")
    of_entry, of_entries = ppl.logp(ppl.Normal.dist(mu, s)[2], y), ppl.logp(ppl.Normal.dist(mu[2], s[2]), y)
    assert simplify(of_entry) is simplify(of_entries)
    v, a = tt.dvector("v"), assume(tt.dscalar("a"), positive=True)
    loop = ppl.scan(lambda e, total: total + tt.log(a * tt.exp(e)), v, tt.as_tensor(0.0), return_updates=False)
    (outside,) = [node for node in ancestors(simplify(loop)) if node.op.name == "log"]
    assert text(outside) == "log(a)"


def test_the_documentation_is_up_to_date():
    spec = importlib.util.spec_from_file_location("generate_rewrites", ROOT / "docs" / "generate_rewrites.py")
    generate = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(generate)
    assert generate.PAGE.read_text() == generate.page(), "run: python docs/generate_rewrites.py"
