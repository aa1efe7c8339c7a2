"""Cross-validation by folds: exact values of a conjugate model, folds by groups and classes, any engine."""

import warnings
from concurrent.futures import ThreadPoolExecutor

import arviz as az
import numpy as np
import pytest
from scipy.stats import norm

import ppl as pm
from ppl.scoring.folds import folds_of

Y = np.random.default_rng(2).normal(1, 1, 12)
QUIET = {"random_seed": 1, "progressbar": False, "draws": 1000, "tune": 200, "chains": 2}


def plain(y=Y):
    with pm.Model() as model:
        pm.Normal("y", pm.Normal("mu", 0, 10), 1.0, observed=y)
    return model


def at(places):
    return plain(Y[places])


def exact(folds):
    """log p(y_i | rows of the other folds), in closed form."""
    found = np.empty(len(Y))
    for i, fold in enumerate(folds):
        rest = Y[folds != fold]
        variance = 1 / (len(rest) + 0.01)
        found[i] = norm(variance * rest.sum(), np.sqrt(1 + variance)).logpdf(Y[i])
    return found


@pytest.fixture(scope="module")
def found():
    return pm.kfold(plain(), 4, **QUIET)


def test_each_row_is_predicted_by_a_fit_without_its_fold(found):
    np.testing.assert_allclose(found.pointwise, exact(found.folds), atol=0.02, rtol=0.02)
    assert found.elpd == pytest.approx(found.pointwise.sum())
    assert found.se == pytest.approx(np.sqrt(12) * found.pointwise.std(ddof=1))
    assert found.table["rows"].tolist() == [3, 3, 3, 3] and found.table["elpd"].sum() == pytest.approx(found.elpd)
    assert str(found).startswith("elpd -") and "12 rows in 4 folds" in str(found)


def test_a_function_of_places_and_any_engine_give_the_same(found, tmp_path):
    with ThreadPoolExecutor(2) as threads:
        kept = {"executor": threads, "checkpoint": tmp_path / "folds"}
        np.testing.assert_array_equal(pm.kfold(plain(), 4, **kept, **QUIET).pointwise, found.pointwise)
    again = pm.kfold(plain(), 4, checkpoint=tmp_path / "folds", **QUIET)
    np.testing.assert_array_equal(again.pointwise, found.pointwise)
    by_function = pm.kfold(at, folds=found.folds, **QUIET)
    np.testing.assert_allclose(by_function.pointwise, exact(found.folds), atol=0.02, rtol=0.02)


def test_arviz_compares_models_by_it(found):
    with pm.Model() as other:
        pm.Normal("y", 0.0, 1.0 + 0.0 * pm.Normal("mu", 0, 1), observed=Y)
    worse = pm.kfold(other, folds=found.folds, **{**QUIET, "draws": 50, "tune": 50})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        table = az.compare({"mean known": worse.for_arviz(), "mean": found.for_arviz()})
    assert table.index[0] == "mean" and table.loc["mean", "elpd_loo"] == pytest.approx(found.elpd)
    gap = found.pointwise - worse.pointwise
    assert table.loc["mean known", "elpd_diff"] == pytest.approx(gap.sum())
    assert "elpd_loo" in str(found.for_arviz())


def test_folds_are_of_equal_size_by_class_or_of_whole_groups():
    alone = folds_of(11, 4, None, None, 0)
    assert sorted(np.bincount(alone)) == [2, 3, 3, 3]
    np.testing.assert_array_equal(alone, folds_of(11, 4, None, None, 0))
    assert not np.array_equal(alone, folds_of(11, 4, None, None, 1))
    classes = np.array(list("aaaabbbbbbbb"))
    spread = folds_of(12, 4, None, classes, 0)
    assert all(np.bincount(spread[classes == c], minlength=4).tolist() == [n] * 4 for c, n in (("a", 1), ("b", 2)))
    groups = np.repeat([7, 3, 5, 9], [6, 1, 2, 3])
    whole = folds_of(12, 2, groups, None, 0)
    assert all(len({*whole[groups == g]}) == 1 for g in groups) and np.bincount(whole).tolist() == [6, 6]


WRONG = {
    "both": (lambda: pm.kfold(plain(), groups=Y, stratify=Y), ValueError, "give one of them"),
    "few groups": (lambda: pm.kfold(plain(), 5, groups=np.arange(12) % 3), ValueError, "3 groups cannot be put into k"),
    "few rows": (lambda: pm.kfold(plain(), 13), ValueError, "12 rows cannot be put into k=13 folds"),
    "one fold": (lambda: pm.kfold(plain(), folds=np.zeros(12)), ValueError, "so that none is left to fit"),
    "length": (lambda: pm.kfold(plain(), groups=[1, 2]), ValueError, r"shape \(12,\); got shape \(2,\)"),
    "no rows": (lambda: pm.kfold(at), TypeError, "say by rows= how many rows"),
    "rows": (lambda: pm.kfold(plain(), rows=3), TypeError, "a model knows that itself"),
    "no model": (lambda: pm.kfold(3.0), TypeError, "a Model or a function of places"),
    "others": (lambda: pm.kfold(lambda places: plain(), 3, rows=6, **QUIET), pm.FitError, "observes 12: build.places."),
}  # fmt: skip


@pytest.mark.parametrize("case", WRONG)
def test_what_is_wrong_is_said(case):
    call, error, words = WRONG[case]
    with pytest.raises(error, match=words):
        call()


def test_rows_that_depend_on_each_other_ask_for_a_function():
    with pm.Model() as model:
        gp = pm.gp.Marginal(cov_func=pm.gp.cov.ExpQuad(1, pm.HalfNormal("l", 1)))
        gp.marginal_likelihood("y", np.arange(4.0)[:, None], np.zeros(4), sigma=1.0)
    with pytest.raises(NotImplementedError, match="give a function of places"):
        pm.kfold(model)
    with warnings.catch_warnings(), pm.Model() as missing:
        warnings.simplefilter("ignore")
        pm.Normal("y", pm.Normal("mu"), 1, observed=np.array([1.0, np.nan, 2.0]))
    with pytest.raises(NotImplementedError, match="y depend on"):
        pm.kfold(missing)


def test_a_grid_of_priors_is_refitted():
    with pm.Model() as model:
        mu = pm.Normal("mu", 0, pm.Data("scale", 10.0))
        pm.Normal("y", mu, 1.0, observed=Y)
    draws = pm.sample(model=model, **QUIET)
    table = pm.sensitivity(draws, model, grid={"scale": [0.1, 10.0]}, **QUIET)
    assert table.index.names == ["scale", "quantity"]
    precision = 12 + 1 / np.array([0.1, 10.0]) ** 2
    np.testing.assert_allclose(table["mean"], Y.sum() / precision, atol=0.03)
    np.testing.assert_allclose(table["sd"], precision**-0.5, rtol=0.06)
    assert table["shift"].iloc[0] < -1 and abs(table["shift"].iloc[1]) < 0.1
    for wrong, words in (({"grid": {"width": [1]}}, "got width, and the model has scale"), ({"executor": 2}, "refits")):
        with pytest.raises((ValueError, TypeError), match=words):
            pm.sensitivity(draws, model, **wrong)
    with pytest.raises(TypeError, match="powers of the prior"):
        pm.sensitivity(draws, model, grid={"scale": [1.0]}, prior="mu")
