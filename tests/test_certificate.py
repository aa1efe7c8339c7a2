"""Every run checks itself against the model as written; the planted faults are in `laws/test_planted_faults.py`."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

import ppl as pm
import ppl.tensor as tt
from ppl.distributions import Gamma
from ppl.model.certificate import certificate as certificates
from ppl.model.certificate.volumes import Degenerate, NoVolume, Pattern, Volume
from ppl.rewrites.marginalization.conjugate import conjugate
from ppl.tensor.tensor import TensorType, placeholder

pytestmark = pytest.mark.usefixtures("compiled_quickly")
Y = np.array([28.0, 8, -3, 7, -1, 1, 18, 12])
S = np.array([15.0, 10, 16, 11, 9, 11, 10, 18])
FEW = {"draws": 60, "tune": 100, "chains": 2, "progressbar": False, "quiet": True, "random_seed": 3}


def schools():
    with pm.Model() as model:
        mu, tau = pm.Normal("mu", 0, 5), pm.HalfCauchy("tau", 5)
        theta = pm.Normal("theta", mu, tau, shape=8)
        pm.Normal("y", theta, S, observed=Y)
        pm.Deterministic("share", theta / mu)
    return model


def counts():
    with pm.Model() as model:
        rate = pm.Gamma("rate", 2, 1, shape=4)
        pm.Poisson("y", rate, observed=[0, 1, 2, 5])
    return model


def labels():
    with pm.Model() as model:
        w = pm.Dirichlet("w", np.ones(3))
        mu = pm.Normal("mu", 0, [1, 2, 3.0], shape=3)
        label = pm.Categorical("label", w, shape=20)
        pm.Normal("y", mu[label], 1, observed=np.linspace(-3, 3, 20))
    return model


def waiting():
    with pm.Model() as model:
        v = pm.Exponential("v", 1, shape=5)
        pm.Normal("y", 0, pm.math.sqrt(v), observed=[0.1, -1, 2, 0.3, 1])
        pm.Exponential("unused", v)
    return model


def walk():
    with pm.Model() as model:
        s = pm.HalfNormal("s", 1)
        x = pm.GaussianRandomWalk("x", sigma=s, init_dist=pm.Normal.dist(0, 1), shape=12)
        pm.Normal("y", x, 0.5, observed=np.sin(np.arange(12.0)))
    return model


def steps():
    with pm.Model() as model:
        k = pm.Poisson("k", 3)
        a = pm.Normal("a", k, 1)
        pm.Poisson("y", pm.math.exp(a), observed=3)
    return model


@pytest.mark.parametrize("make", [schools, counts, labels, waiting, walk, steps])
def test_runs_certify_themselves(make):
    found = pm.sample(model=make(), **FEW).posterior.attrs
    assert found["certificate"].startswith("holds: at 32 draws"), found["certificate"]
    assert found["certificate_error"] < 1e-11


@pytest.mark.parametrize(
    "options",
    [{"rewrite": False}, {"var_names": ["mu"]}, {"protect": ["theta"]}, {"nuts": {}}, {"draws": 1}],
)
def test_whatever_was_asked_for(options):
    assert pm.explain(pm.sample(model=schools(), **{**FEW, **options})).certified


def test_a_result_tells():
    result = pm.sample(model=counts(), **FEW)
    told = pm.explain(result)
    assert told.certified and told.certificate_error < 1e-12
    assert "Gamma with Poisson" in str(told) and "certificate holds" in str(told)
    assert "<td>holds" in told._repr_html_()
    with pytest.raises(TypeError, match="for a model; this is the result of a run"):
        pm.explain(result, protect=["rate"])


def test_it_looks_at_as_many_draws_as_it_is_asked_for():
    found = pm.sample(model=counts(), certificate=np.int64(75), **FEW)
    assert found.posterior.attrs["certificate"].startswith("holds: at 75 draws")
    with pytest.raises(ValueError, match="certificate must be a whole number of at least 2, got 1"):
        pm.sample(model=counts(), certificate=1, **FEW)
    with pytest.raises(TypeError, match="certificate is True, False, or at how many draws"):
        pm.sample(model=counts(), certificate="no", **FEW)


def test_it_can_be_left_out():
    found = pm.sample(model=counts(), certificate=False, **FEW)
    assert found.posterior.attrs["certificate"] == "not judged: certificate=False"
    assert not pm.explain(found).certified


def test_a_fault_is_an_error_that_names_the_rule_and_keeps_the_draws(monkeypatch):
    real = conjugate.draw
    wrong = lambda family, parameters, *more: real(
        family, (parameters[0] + 1.0, *parameters[1:]) if family is Gamma else parameters, *more
    )
    monkeypatch.setattr(conjugate, "draw", wrong)
    with pytest.raises(certificates.CertificateError) as caught:
        pm.sample(model=counts(), **FEW)
    for part in ("contradict the model", "'conjugate', which integrated out rate", "report it", "rewrite=False"):
        assert part in str(caught.value)
    assert caught.value.result.posterior["rate"].shape == (2, 60, 4)
    monkeypatch.setattr(conjugate, "draw", real)
    assert pm.explain(pm.sample(model=counts(), **FEW)).certified


def test_deterministics_are_worked_out_again(monkeypatch):
    from ppl.model.finishing import finishing

    values = finishing.Finisher.values
    bent = lambda self, positions: {n: x + (n == "share") * 1e-4 for n, x in values(self, positions).items()}
    monkeypatch.setattr(finishing.Finisher, "values", bent)
    with pytest.raises(certificates.CertificateError, match="share of the result is not what follows"):
        pm.sample(model=schools(), **FEW)


def test_what_rounding_decides_is_no_fault(monkeypatch):
    """As draws by eigenvectors of eigenvalues that are alike: the last digits of a matrix say how these are turned."""
    at = certificates.Identity.at

    def turned(self, positions, recovered, keys):
        sides = at(self, positions, recovered, keys)
        by = 1e-4 * np.cos(1e18 * positions[:, :1])
        return sides._replace(again={n: x + (n == "theta") * by for n, x in sides.again.items()})

    with pm.Model() as model:
        tau = pm.HalfCauchy("tau", 5)
        pm.Normal("y", pm.Normal("theta", 0, tau, shape=8), S, observed=Y)
    with monkeypatch.context() as patch:
        patch.setattr(certificates.Identity, "at", turned)
        assert pm.explain(pm.sample(model=model, **FEW)).certified
        patch.setattr(certificates, "ROUNDING", 0)
        with pytest.raises(certificates.CertificateError, match="theta of the result is not what follows"):
            pm.sample(model=model, **FEW)


@pytest.mark.parametrize("options", [{}, {"rewrite": False}])
def test_numbers_beyond_the_largest_are_told_and_not_judged(options, caplog):
    with pm.Model() as model:
        pm.Normal("mu", 0, 1)
        pm.InverseGamma("v", 0.001, 0.001)  # a half of it is beyond
    found = pm.sample(model=model, **(FEW | {"draws": 100, "quiet": False} | options))
    infinite = np.isinf(found.posterior.v.values)
    assert 0.2 < infinite.mean() < 0.8
    assert f'"v" is infinite in {infinite.sum()} of 200 draws' in caplog.text
    assert "beyond 1.8e+308" in found.posterior.attrs["sampler_warnings"]
    assert '"mu" is infinite' not in caplog.text
    told = pm.explain(found)
    assert told.certified
    looked_at = infinite.reshape(-1)[np.linspace(0, 199, 32).round().astype(int)]
    assert f"at {32 - looked_at.sum()} draws" in found.posterior.attrs["certificate"]


def test_a_variable_that_is_infinite_in_nearly_all_draws_is_not_judged():
    with pm.Model() as model:
        pm.Pareto("x", 1e-7, 1.0, shape=50)
        pm.Normal("mu", 0, 1)
    assert (
        "a variable is infinite at 32 of the 32 draws" in pm.sample(model=model, **FEW).posterior.attrs["certificate"]
    )


X = placeholder(TensorType("float64", (4,)), "x")
A = np.random.default_rng(1).normal(size=(4, 4))


@pytest.mark.parametrize(
    ("made", "expected"),
    [
        ([pm.math.dot(A, X) + 3], lambda x: np.linalg.slogdet(A)[1]),
        ([pm.math.exp(X)], np.sum),
        ([pm.math.exp(X[:2]), 5 * X[::-1][:2]], lambda x: x[0] + x[1] + 2 * np.log(5)),
        ([pm.math.dot(A, pm.math.tanh(X))], lambda x: np.linalg.slogdet(A)[1] + np.log(1 - np.tanh(x) ** 2).sum()),
        ([pm.math.cumsum(X) ** 3], lambda x: np.log(3 * np.cumsum(x) ** 2).sum()),
    ],
)
def test_volumes(made, expected):
    x = np.random.default_rng(2).normal(size=(3, 4))
    found = Volume([X], made, []).at({X: x})
    np.testing.assert_allclose(found, [expected(row) for row in x], rtol=1e-9, atol=1e-9)


def test_a_map_without_volume_says_so():
    with pytest.raises(NoVolume, match="4 random numbers make 2"):
        Volume([X], [X[:2]], [])


def test_a_variable_that_nothing_observed_depends_on_still_needs_a_law():
    """As written the density is 0 where the law of y has a negative scale: drawing y later must not forget that."""
    with pm.Model() as model:
        a = pm.Normal("a", 0, 1)
        pm.Normal("z", a, 1, observed=0.3)
        pm.Normal("y", 0, 1.0 - a)
        pm.Bernoulli("b", pm.math.sigmoid(a))  # whose probability is proved to be one
    plan = pm.explain(model)
    assert plan.free == ("a",) and [k.why for k in plan.kept] == ['"domain of y" depends on it']
    found = pm.sample(model=model, **FEW)
    assert float(found.posterior["a"].max()) < 1 and pm.explain(found).certified


def test_a_law_that_does_not_exist_at_a_draw_is_a_fault():
    """Whether a covariance is one is not asked while sampling: where it is none, the draws are refused."""
    with pm.Model() as model:
        a = pm.Normal("a", 0, 1)
        pm.Normal("z", a, 1, observed=0.3)
        pm.MvNormal("y", np.zeros(3), np.eye(3) * (0.5 - a))
    with pytest.raises(certificates.CertificateError, match="a draw has the log-density"):
        pm.sample(model=model, **FEW)


def test_more_numbers_than_are_random_is_a_fault():
    """Noise that is used twice, say."""
    with pytest.raises(Degenerate, match="2 random numbers make 4"):
        Volume([X[:2]], [pm.math.concatenate([X[:2], X[:2]])], [])


MATRICES = placeholder(TensorType("float64", (5, 2)), "m")
TRIANGLE = placeholder(TensorType("float64", (2, 2)), "t")


@pytest.mark.parametrize(
    "made",
    [
        pm.math.dot(MATRICES, tt.tril(TRIANGLE).T) + TRIANGLE[0],
        tt.solve_lower(tt.tril(TRIANGLE), MATRICES),
        tt.solve_triangular(tt.tril(TRIANGLE), MATRICES.T, lower=True),
        tt.times_vectors(TRIANGLE, MATRICES),
    ],
)
def test_rows_that_share_a_matrix_move_together(made):
    """Their determinant is that of the whole derivative, by blocks."""
    rng = np.random.default_rng(3)
    values = {TRIANGLE: rng.normal(size=(3, 2, 2)) + 2 * np.eye(2), MATRICES: rng.normal(size=(3, 5, 2))}
    volume = Volume([TRIANGLE, MATRICES], [pm.math.exp(TRIANGLE), made], [])
    assert max(volume.groups) < 8 and max(rows.shape[1] for rows, _ in volume.pattern.blocks) <= 2
    whole = Volume([TRIANGLE, MATRICES], [pm.math.exp(TRIANGLE), made], [])
    whole.groups, whole.pattern = np.arange(14), Pattern(np.ones((14, 14), bool))
    np.testing.assert_allclose(volume.at(values), whole.at(values), rtol=1e-9, atol=1e-9)


def test_blocks_of_a_determinant():
    rng = np.random.default_rng(4)
    filled = np.kron(np.triu(np.ones((4, 4))), np.ones((3, 3))) > 0
    filled = filled[rng.permutation(12)][:, rng.permutation(12)]
    matrices = rng.normal(size=(5, 12, 12)) * filled
    pattern = Pattern(filled)
    assert [rows.shape for rows, _ in pattern.blocks] == [(4, 3)]
    entries = matrices[:, pattern.rows, pattern.columns]
    np.testing.assert_allclose(pattern.log_det(entries), np.linalg.slogdet(matrices)[1], rtol=1e-10)
    np.testing.assert_allclose(pattern.times(entries, np.arange(12.0)), matrices @ np.arange(12.0), rtol=1e-12)
    assert Pattern(np.array([[True, True], [False, False]])).log_det(np.ones((1, 2)))[0] == -np.inf


def test_a_sampler_that_stands_still_proves_nothing(monkeypatch):
    from ppl.model.finishing import finishing

    judge = finishing.Finisher._certificate
    at_one_place = lambda run: SimpleNamespace(positions=0 * run.positions, draws=run.draws)
    still = lambda self, run, stats, values: judge(self, at_one_place(run), {}, values)
    monkeypatch.setattr(finishing.Finisher, "_certificate", still)
    with pm.Model():
        pm.Poisson("y", pm.math.exp(pm.Normal("a", 0, pm.HalfNormal("s", 1), shape=3)), observed=[1, 2, 3])
        found = pm.sample(**FEW).posterior.attrs["certificate"]
    assert found.startswith("not judged: the draws that were looked at are all the same")


def test_a_density_as_written_that_is_no_number_is_told(monkeypatch):
    """The draws may be right, but nothing tells: a user hears of it, and not only the attribute."""
    without = certificates.not_judged(certificates.NO_DENSITY)
    monkeypatch.setattr(certificates.Notary, "certify", lambda *given: without)
    with pm.Model() as model:
        pm.Normal("y", pm.Normal("a", 0, 1), 1, observed=0.3)
    found = pm.sample(model=model, **FEW)
    assert "nothing tells whether they come from it" in found.posterior.attrs["sampler_warnings"]
