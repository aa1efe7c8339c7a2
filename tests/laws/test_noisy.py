"""Normal vectors seen through noise go into the law of what is seen, and come back."""

import numpy as np
import pytest
from exact_elimination import along_a_line, both_sides

import ppl as pm
import ppl.tensor as tt
from ppl.graph import ancestors
from ppl.model.posterior.rewriting import program_of, rewritten
from ppl.rewrites import strict
from ppl.rewrites.limits import LIMITS
from ppl.rewrites.marginalization import words
from ppl.rewrites.marginalization.gaussian import noisy_process as noisy

pytestmark = [
    pytest.mark.usefixtures("module_compiled_quickly"),
    pytest.mark.filterwarnings("ignore::ppl.model.errors.ImputationWarning"),
]

RNG = np.random.default_rng(12)
N = 9
AT = np.sort(RNG.uniform(0.0, 4.0, N))
X, Y = RNG.normal(size=(N, 2)), RNG.normal(size=N) + 1.0
PAIR = np.stack([Y, X[:, 1]])
SOME, TWICE = np.array([0, 2, 3, 7]), np.array([4, 4, 1, 0, 8, 8])
KNOWN = np.exp(-abs(AT[:, None] - AT))


@pytest.fixture(autouse=True)
def faults_are_errors(monkeypatch):
    monkeypatch.setattr(strict, "on", True)


def kernel(name="", at=AT):
    length, eta = pm.InverseGamma(f"length{name}", 5.0, 5.0), pm.HalfNormal(f"eta{name}", 2.0)
    return eta**2 * tt.exp(-0.5 * (at[:, None] - at) ** 2 / length**2) + 1e-3 * np.eye(len(at))


def vector(name="f", mu=0.3 * X[:, 0], cov=None):
    return pm.MvNormal(name, mu, cov=kernel() if cov is None else cov)


def vectors():
    return pm.MvNormal("f", 0.3 * X[:, 0], cov=kernel(), shape=(2, N))


def seen(mean, y=Y, sigma=None):
    pm.Normal("y", mean, pm.HalfNormal("sigma", 1.0) if sigma is None else sigma, observed=y)


def triangle():
    """A covariance of which the lower triangle alone is looked at."""
    return kernel() + np.triu(np.ones((N, N)), 1)


def shaken(x):
    return x + pm.MvNormal("g", np.zeros(N), cov=kernel("g", np.cos(3.0 * AT)))


ALONE = {
    "one row for each entry": lambda: seen(vector()),
    "one mean for all": lambda: seen(vector(mu=1.5)),
    "backwards": lambda: seen(vector()[::-1]),
    "in the shape of a table": lambda: seen(vector().reshape((3, 3)), Y.reshape((3, 3))),
    "some entries": lambda: seen(vector()[SOME], Y[SOME]),
    "entries twice": lambda: seen(vector()[TWICE], Y[TWICE]),
    "the lower triangle": lambda: seen(vector(cov=triangle())[::-1]),
    "a scale for each row": lambda: seen(vector(), sigma=pm.HalfNormal("sigma", 1.0) * np.linspace(1.0, 2.0, N)),
    "random scales": lambda: seen(vector()[::-1], sigma=pm.HalfNormal("sigma", 1.0, shape=N)),
    "a multiple": lambda: seen(1.0 - 0.7 * vector()),
    "a random multiple": lambda: seen(1.0 + pm.Normal("c", 0.0, 1.0) * vector()),
    "a multiple for each row": lambda: seen(np.linspace(-1.0, 2.0, N) * vector()[::-1] + X[:, 1]),
    "other variables beside it": lambda: seen(
        pm.StudentT("a", 4.0) + vector() + X @ pm.Laplace("b", 0.0, 1.0, shape=2)
    ),
    "several vectors": lambda: seen(vectors(), PAIR),
    "columns": lambda: seen(1.0 + 0.5 * vectors().T, PAIR.T),
    "some entries of several vectors": lambda: seen(vectors()[:, SOME[::-1]], PAIR[:, SOME]),
    "missing rows": lambda: seen(vector(), np.ma.array(Y, mask=np.arange(N) % 3 == 1)),
}
TOGETHER = {
    "two processes": lambda: seen(shaken(vector())),
    "two processes, one of them known": lambda: seen(shaken(vector(cov=KNOWN))),
    "two processes of known covariances": lambda: seen(
        vector(cov=pm.HalfNormal("eta") ** 2 * KNOWN) + 2.0 * pm.MvNormal("g", np.zeros(N), cov=KNOWN @ KNOWN)
    ),
    "a process and some entries of another": lambda: seen(shaken(vector())[SOME], Y[SOME]),
    "correlated noise": lambda: pm.MvNormal("y", vector(), cov=kernel("y", AT[::-1].copy()), observed=Y),
    "correlated noise of several vectors": lambda: pm.MvNormal("y", vectors(), cov=kernel("y"), observed=PAIR),
    "correlated noise by its factor": lambda: pm.MvNormal(
        "y", vector(), chol=pm.HalfNormal("t") * np.linalg.cholesky(KNOWN), observed=Y
    ),
    "the mean of a process": lambda: seen(vector(mu=pm.Normal("g", 0.0, 5.0) + X @ pm.Normal("h", shape=2))),
    "effects beside a process": lambda: seen(
        vector() + pm.Normal("g", 0.0, pm.HalfNormal("t"), shape=2)[AT.astype(int) % 2]
    ),
}  # fmt: skip
CASES = {**ALONE, **TOGETHER}


def made(write):
    with pm.Model() as model:
        write()
    return model


@pytest.mark.parametrize("which", CASES)
def test_the_joint_is_the_law_of_what_is_seen_times_that_of_the_vectors(which):
    model = made(CASES[which])
    plan = pm.explain(model)
    assert {"f", "g", "h"}.isdisjoint(plan.free), str(plan)
    assert any(s.rule == words.PROCESS and s.eliminated == ("f",) for s in plan.steps), str(plan)
    sides = both_sides(program_of(model), plan.program, 3)
    assert np.isfinite(sides.joint).all()
    np.testing.assert_allclose(sides.product, sides.joint, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("which", CASES)
def test_slopes_of_the_marginal_are_those_of_finite_differences(which):
    slope, expected = along_a_line(rewritten(made(CASES[which]), moved=False), 8)
    np.testing.assert_allclose(slope, expected, rtol=1e-7, atol=1e-7)


def amplitude():
    return pm.HalfNormal("eta", 2.0) ** 2 * KNOWN


BY_EIGENVECTORS = {
    "one row for each entry": lambda: seen(1.0 - 2.0 * vector(cov=amplitude())[::-1]),
    "by its factor": lambda: seen(pm.MvNormal("f", X[:, 0], chol=pm.HalfNormal("t") * np.linalg.cholesky(KNOWN))),
    "several vectors": lambda: seen(pm.MvNormal("f", X[:, 0], cov=amplitude(), shape=(2, N)), PAIR),
    "a mean": lambda: seen(vector(mu=pm.Normal("g", 0.0, 5.0) + X @ pm.Normal("h", shape=2), cov=amplitude())),
}
BY_CHOLESKY = {
    "some entries": lambda: seen(vector(cov=amplitude())[SOME], Y[SOME]),
    "random scales": lambda: seen(vector(cov=amplitude()), sigma=pm.HalfNormal("sigma", 1.0, shape=N)),
}


@pytest.mark.parametrize("which", [*BY_EIGENVECTORS, *BY_CHOLESKY])
def test_known_covariances_too_large_for_a_block_are_decomposed_once(which, monkeypatch):
    monkeypatch.setattr(LIMITS, "residuals_together", 4)
    model = made({**BY_EIGENVECTORS, **BY_CHOLESKY}[which])
    plan = pm.explain(model)
    assert any(s.rule == words.PROCESS and s.eliminated == ("f",) for s in plan.steps), str(plan)
    ops = {n.op.name for n in ancestors([t.density for t in plan.program.terms])}
    assert ("kron_times" in ops) == (which in BY_EIGENVECTORS)
    sides = both_sides(program_of(model), plan.program, 3)
    np.testing.assert_allclose(sides.product, sides.joint, rtol=1e-9, atol=1e-9)


def test_noise_that_is_forgotten_is_found_out(monkeypatch):
    """The planted fault: a marginal without the covariance of the noise."""
    monkeypatch.setattr(noisy.Independent, "added_to", lambda self, cov: cov)
    with pytest.raises(AssertionError):
        test_the_joint_is_the_law_of_what_is_seen_times_that_of_the_vectors("one row for each entry")


def by_factor():
    return pm.MvNormal("f", np.zeros(N), chol=tt.cholesky(kernel()) * pm.HalfNormal("t"))


DECLINED = {
    "two observations": lambda: (seen(f := vector()), pm.Normal("again", f, 1.0, observed=Y)),
    "more rows than entries": lambda: seen(vector()[np.r_[TWICE, TWICE]], np.r_[Y[TWICE], Y[TWICE]]),
    "sums of entries": lambda: seen(tt.cumsum(vector())),
    "a known covariance": lambda: seen(vector(cov=pm.HalfNormal("eta") ** 2 * KNOWN)),
    "a covariance by its factor": lambda: seen(by_factor()),
    "an effect for each row": lambda: seen(vector() + pm.Normal("g", 0.0, pm.HalfNormal("t"), shape=N)),
    "correlated rows in another order": lambda: pm.MvNormal("y", vector()[::-1], cov=kernel("y"), observed=Y),
}


@pytest.mark.parametrize("which", DECLINED)
def test_others_go_in_gaussian_blocks(which):
    plan = pm.explain(made(DECLINED[which]))
    assert "f" not in plan.free and {s.rule for s in plan.steps if "f" in s.eliminated} == {"Gaussian block"}, str(plan)


STAY = {
    "correlated rows across several vectors": lambda: pm.MvNormal(
        "y", vectors()[:, :4].reshape((4, 2)), cov=kernel("y", AT[:2]), observed=PAIR[:, :4].reshape((4, 2))
    ),
    "several vectors of which other entries are seen": lambda: seen(vectors().ravel()[SOME], Y[SOME]),
    "several vectors of several scales": lambda: seen(vectors(), PAIR, np.array([[1.0], [2.0]])),
    "counts": lambda: pm.Poisson("y", tt.exp(vector()), observed=np.ones(N)),
    "a scale that depends on it": lambda: seen(f := vector(), sigma=tt.exp(f[0])),
    "a square": lambda: seen(vector() ** 2),
    "heavy tails": lambda: pm.StudentT("y", 4.0, vector(), 1.0, observed=Y),
}


@pytest.mark.parametrize("which", STAY)
def test_what_is_not_normal_given_it_stays(which):
    assert "f" in pm.explain(made(STAY[which])).free


LABELED = {
    "a scale for each row": lambda z: seen(vector(), sigma=pm.HalfNormal("s", shape=2)[z]),
    "a mean for each row": lambda z: seen(vector() + pm.Laplace("m", 0.0, 1.0, shape=2)[z]),
    "a mean for each cell": lambda z: seen(
        pm.KroneckerNormal("f", np.zeros(N), covs=[kernel(at=AT[:3]), KNOWN[:3, :3]])
        + pm.Laplace("m", 0.0, 1.0, shape=2)[z]
    ),
}


@pytest.mark.parametrize("which", LABELED)
@pytest.mark.parametrize("count", [1, N])
def test_rows_become_one_factor_only_where_their_labels_can_be_summed_out_together(which, count):
    with pm.Model() as model:
        z = pm.Bernoulli("z", 0.3, shape=count)
        LABELED[which](z if count == N else z[0])
    plan = pm.explain(model)
    assert "z" not in plan.free and ("f" in plan.free) == (count == N), str(plan)


def test_parameters_outside_their_domains_are_as_impossible_as_before():
    with pm.Model() as model:
        s, r = pm.Normal("s"), pm.Normal("r")
        f = pm.MvNormal("f", np.zeros(2), cov=tt.stack([tt.stack([1.0, r]), tt.stack([r, 1.0])]))
        pm.Normal("y", f, s, observed=[1.0, 2.0])
    assert pm.explain(model).steps[0].rule == words.PROCESS
    density = model.compile_logp(rewrite=True)
    assert np.isfinite(density({"s": 3.0, "r": 0.5}))
    assert density({"s": -3.0, "r": 0.5}) == -np.inf
    assert density({"s": 3.0, "r": 1.5}) == -np.inf  # with its noise the matrix is definite, f by itself has no law


def test_a_process_in_single_precision_comes_back_in_it():
    with tt.config.change_flags(floatX="float32"):
        (recovery,) = pm.explain(made(ALONE["one row for each entry"])).program.recoveries
        assert recovery.draw.dtype == recovery.variable.dtype == "float32"


def test_digits_are_kept_far_from_zero():
    """A mean a million standard deviations from zero, and as close data, give the density that they give at zero."""

    def density(far):
        with pm.Model() as model:
            cov = pm.HalfNormal("eta") ** 2 * tt.exp(-abs(AT[:, None] - AT) / pm.HalfNormal("length"))
            f = pm.MvNormal("f", np.full(N, far), cov=cov)
            pm.Normal("y", f, pm.HalfNormal("sigma"), observed=np.round(Y * 1024) / 1024 + far)
        assert pm.explain(model).steps[0].rule == words.PROCESS
        return model.compile_logp(rewrite=True)({"eta_log__": 0.1, "length_log__": 0.3, "sigma_log__": -0.5})

    np.testing.assert_allclose(density(2.0**20), density(0.0), rtol=1e-9)
