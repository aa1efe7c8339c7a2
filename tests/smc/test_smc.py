"""Sequential Monte Carlo: evidences against closed forms, posteriors, kernels of users, what is refused."""

import logging

import numpy as np
import pytest
from scipy.special import betaln, logsumexp
from scipy.stats import multivariate_normal, norm

import ppl as pm
import ppl.tensor as tt
from ppl.samplers.tempering.evidence import Stage, path_evidence
from ppl.samplers.tempering.weights import reweighted, systematic_resampling
from ppl.smc.kernels import IMH

QUIET = {"progressbar": False, "compute_convergence_checks": False}
Y = np.array([28.0, 8, -3, 7, -1, 1, 18, 12])
SIGMA = np.array([15.0, 10, 16, 11, 9, 11, 10, 18])


def eight_schools():
    with pm.Model() as model:
        mu, tau = pm.Normal("mu", 0, 5), pm.HalfCauchy("tau", 5)
        effect = pm.Normal("effect", 0, 1, shape=8)
        pm.Normal("y", pm.Deterministic("theta", mu + tau * effect), SIGMA, observed=Y)
    return model


def coin():
    with pm.Model() as model:
        p = pm.Beta("p", 1, 1)
        pm.Bernoulli("y", p, observed=np.repeat([0, 1], 50))
    return model


def regression():
    x = np.array([0.2, 0.5, 1.1, 1.4, 2.0, 2.3, 2.9])
    y = np.array([1.0, 1.7, 2.2, 3.4, 3.9, 4.9, 5.2])
    with pm.Model() as model:
        a, b = pm.Normal("a", 0, 3), pm.Normal("b", 0, 2)
        pm.Normal("y", a + b * x, 0.5, observed=y)
    design = np.stack([np.ones(7), x])
    exact = multivariate_normal(np.zeros(7), 0.25 * np.eye(7) + design.T @ np.diag([9.0, 4.0]) @ design).logpdf(y)
    return model, float(exact)


def drug():
    """Math scores after a drug, by its concentration (Wagner et al. 1968): the model of pymc#2162."""
    dose = np.array([1.17, 2.97, 3.26, 4.69, 5.83, 6.0, 6.41])
    score = np.array([78.93, 58.2, 67.47, 37.47, 45.65, 32.92, 29.97])
    with pm.Model() as model:
        intercept, slope = pm.Normal("intercept", 0, 100), pm.Normal("slope", 0, 100)
        pm.Normal("score", intercept + slope * dose, pm.HalfCauchy("sigma", 5), observed=score)
    return model


def evidence(result):
    attrs = result.sample_stats.attrs
    return attrs["log_marginal_likelihood"], attrs["log_marginal_likelihood_se"]


EXACT = {  # the regression by quadrature over sigma, its coefficients integrated in closed form
    "eight schools": (eight_schools, -31.31135), "coin": (coin, betaln(51, 51)), "drug": (drug, -32.37105),
}  # fmt: skip


@pytest.mark.parametrize("rewrite", [True, False])
@pytest.mark.parametrize("name", EXACT)
def test_the_evidence_is_that_of_the_model_as_written(name, rewrite):
    build, exact = EXACT[name]
    result = pm.sample_smc(1000, model=build(), rewrite=rewrite, random_seed=1, chains=2, **QUIET)
    found, error = evidence(result)
    assert abs(found - exact) < max(4 * error, 1e-9)
    assert error < (0.3 if name == "drug" and not rewrite else 0.02)  # priors far wider than the posterior


def test_where_nothing_is_left_to_move_the_evidence_is_exact():
    model, exact = regression()
    result = pm.sample_smc(500, model=model, random_seed=1, chains=2, **QUIET)
    found, error = evidence(result)
    assert abs(found - exact) < 1e-9
    assert error == 0
    assert result.posterior.a.shape == (2, 500)
    assert "0 of 2 dimensions" in result.posterior.attrs["path"]


def test_constants_that_sufficient_statistics_drop_are_put_back():
    """With an unknown scale the rows become sums; densities of counts keep their factorials."""
    rng = np.random.default_rng(0)
    y, counts = rng.normal(1, 2, 30), rng.poisson(3, 40)
    with pm.Model() as model:
        mu, sigma, rate = pm.Normal("mu", 0, 3), pm.HalfNormal("sigma", 3), pm.Gamma("rate", 2, 1)
        pm.Normal("y", mu, sigma, observed=y)
        pm.Poisson("counts", rate, observed=counts)
    rewritten = evidence(pm.sample_smc(1000, model=model, random_seed=1, chains=2, **QUIET))
    written = evidence(pm.sample_smc(1000, model=model, rewrite=False, random_seed=2, chains=2, **QUIET))
    assert abs(rewritten[0] - written[0]) < 4 * np.hypot(rewritten[1], written[1])


@pytest.mark.parametrize("kernel", ["IMH", "MH", "HMC"])
def test_kernels_find_the_weights_of_two_modes(kernel):
    """Two normal laws in four dimensions with weights .1 and .9: the evidence is -4 log 4 (PyMC's example)."""
    n, low, high = 4, np.full(4, 0.5), np.full(4, -0.5)
    log_density = lambda x, at: -0.5 * tt.sum((x - at) ** 2) / 0.01 - n * np.log(0.1) - 0.5 * n * np.log(2 * np.pi)
    with pm.Model() as model:
        x = pm.Uniform("x", -2, 2, shape=n)
        both = [np.log(0.1) + log_density(x, low), np.log(0.9) + log_density(x, high)]
        pm.Potential("likelihood", tt.logaddexp(*both))
    kernel = getattr(pm.smc, kernel)
    result = pm.sample_smc(2000, kernel, model=model, random_seed=3, chains=2, **QUIET)
    found, error = evidence(result)
    assert abs(found + n * np.log(4)) < 4 * error
    share = float((result.posterior.x.values[..., 0] > 0).mean())
    assert abs(share - 0.1) < 0.06
    assert abs(float(abs(result.posterior.x).mean()) - 0.5) < 0.02


def test_the_standard_error_is_that_of_repeated_runs():
    from ppl.smc.chain import ChainOfStages, stage

    kernel = IMH(draws=500, model=coin(), rewrite=False)
    found, errors = [], []
    for seed in range(40):
        chain = ChainOfStages(kernel)
        kernel.initialize(None, np.random.default_rng(seed))
        while kernel.beta < 1:
            stage(chain)
        found.append(kernel.log_marginal_likelihood)
        errors.append(chain.error)
    ratio = np.std(found) / np.mean(errors)
    assert 0.65 < ratio < 1.5
    assert abs(np.mean(found) - betaln(51, 51)) < 4 * np.std(found) / np.sqrt(40)


def test_discrete_variables_are_moved_as_whole_numbers():
    with pm.Model() as model:
        k = pm.Poisson("k", 4.0)
        mu = pm.Normal("mu", 0, 2)
        pm.Normal("y", k + mu, 0.5, observed=6.0)
    result = pm.sample_smc(1500, model=model, rewrite=False, random_seed=1, chains=2, **QUIET)
    ks = np.arange(60)
    log_prior = -4 + ks * np.log(4) - np.cumsum(np.log(np.maximum(ks, 1)))
    joint = log_prior + norm(ks, np.hypot(2, 0.5)).logpdf(6.0)
    found, error = evidence(result)
    assert abs(found - logsumexp(joint)) < 4 * error
    assert result.posterior.k.dtype.kind == "i"
    assert abs(float(result.posterior.k.mean()) - ks @ np.exp(joint - logsumexp(joint))) < 0.15


def test_the_same_seed_gives_the_same_draws_whatever_the_threads():
    runs = [
        pm.sample_smc(300, model=eight_schools(), rewrite=False, random_seed=5, chains=2, cores=cores, **QUIET)
        for cores in (1, 2)
    ]
    assert np.array_equal(runs[0].posterior.mu, runs[1].posterior.mu)
    assert not np.array_equal(runs[0].posterior.mu[0], runs[0].posterior.mu[1])


def test_statistics_are_numbers_by_stage_that_can_be_saved(tmp_path):
    result = pm.sample_smc(300, pm.smc.MH, model=eight_schools(), rewrite=False, random_seed=5, chains=2, **QUIET)
    stats = result.sample_stats
    assert {"log_marginal_likelihood", "beta", "mean_accept_rate", "mean_proposal_scale"} <= set(stats.data_vars)
    assert all(x.dtype == float for x in stats.data_vars.values())
    assert np.nanmax(stats.beta) == 1
    assert np.isfinite(stats.log_marginal_likelihood.values).sum() == 2
    attrs = stats.attrs
    assert (attrs["_n_draws"], attrs["threshold"], attrs["correlation_threshold"]) == (300, 0.5, 0.01)
    assert attrs["_t_sampling"] > 0
    result.to_netcdf(str(tmp_path / "kept.nc"))


def test_a_kernel_of_a_user_moves_the_particles():
    class Mine(pm.smc.SMC_KERNEL):
        """Random steps, particle by particle, as PyMC's guide for subclasses has it."""

        def mutate(self):
            self.taken = 0
            for _ in range(10):
                there = self.tempered_posterior + self.rng.normal(0, 0.5, self.tempered_posterior.shape)
                prior, likelihood = self.prior_logp_func(there), self.likelihood_logp_func(there)
                new = prior + likelihood * self.beta
                goes = np.log(self.rng.random(self.draws)) < new - self.tempered_posterior_logp
                self.tempered_posterior[goes], self.tempered_posterior_logp[goes] = there[goes], new[goes]
                self.prior_logp[goes], self.likelihood_logp[goes] = prior[goes], likelihood[goes]
                self.taken += goes.mean()

        def sample_stats(self):
            return {"beta": self.beta, "taken": self.taken}

        def sample_settings(self):
            return {"mine": 1}

    result = pm.sample_smc(1000, Mine, model=coin(), rewrite=False, random_seed=1, chains=2, **QUIET)
    found, error = evidence(result)
    assert abs(found - betaln(51, 51)) < 4 * error
    assert abs(float(result.posterior.p.std()) - 0.0493) < 0.005
    assert result.sample_stats.attrs["mine"] == 1
    kernel = Mine(draws=10, model=coin(), rewrite=False)
    assert kernel.likelihood_logp_func(np.zeros(1)) == pytest.approx(100 * np.log(0.5))
    assert kernel.var_info == {"p_logodds__": ((), 1)}


def test_starts_of_all_particles(caplog):
    rng = np.random.default_rng(0)
    start = {"p_logodds__": rng.logistic(size=400)}
    result = pm.sample_smc(400, model=coin(), start=start, random_seed=1, chains=2, **QUIET)
    assert abs(evidence(result)[0] - betaln(51, 51)) < 0.15
    with pytest.raises(ValueError, match=r"Number of start dicts must match number of chains \(2\)"):
        pm.sample_smc(400, model=coin(), start=[start], chains=2, **QUIET)
    with pytest.raises(ValueError, match=r'"p_logodds__" has shape \(3,\); the particles need \(400,\)'):
        pm.sample_smc(400, model=coin(), start={"p_logodds__": np.zeros(3)}, chains=2, **QUIET)


def test_initval_does_not_put_all_particles_in_one_place():
    with pm.Model() as model:
        x = pm.Normal("x", 0, 1, initval=0.3)
        pm.Normal("y", x**3, 1, observed=1.0)
    result = pm.sample_smc(300, model=model, random_seed=1, chains=1, rewrite=False, **QUIET)
    assert float(result.posterior.x.std()) > 0.2


def test_what_is_refused():
    with pytest.raises(ValueError, match=r"Threshold value 2 must be between 0 and 1"):
        pm.sample_smc(10, model=coin(), threshold=2, **QUIET)
    with pytest.raises(TypeError, match=r"kernel is a class such as pm\.smc\.IMH"):
        pm.sample_smc(10, "IMH", model=coin(), **QUIET)
    with pytest.raises(TypeError, match="nonsense"):
        pm.sample_smc(10, model=coin(), nonsense=2, **QUIET)
    with pm.Model() as empty:
        pm.Normal("y", 0, 1, observed=1.0)
    with pytest.raises(pm.SamplingError, match="no free random variables"):
        pm.sample_smc(10, model=empty, **QUIET)
    with pm.Model() as improper:
        x = pm.Flat("x")
        pm.StudentT("y", 3, x, 1, observed=1.0)
    with pytest.raises(pm.SamplingError, match='"x" has no proper prior'):
        pm.sample_smc(10, model=improper, **QUIET)
    with pm.Model() as impossible:
        x = pm.Normal("x")
        pm.Potential("never", tt.switch(x > 1e6, 0.0, -np.inf))
    with pytest.raises(pm.SamplingError, match=r"no particle has a finite log-density(.|\n)*never"):
        pm.sample_smc(10, model=impossible, **QUIET)
    with pm.Model() as no_number:
        x = pm.Normal("x")
        pm.Potential("root", tt.sqrt(-1.0 - x**2))
    with pytest.raises(pm.SamplingError, match=r"no particle has a finite log-density(.|\n)*root"):
        pm.sample_smc(10, model=no_number, **QUIET)
    with pm.Model() as whole:
        k = pm.Poisson("k", 3.0)
        pm.Potential("p", -(k**2) / 9.0)
    with pytest.raises(ValueError, match=r"k discrete: use pm\.smc\.IMH"):
        pm.sample_smc(10, pm.smc.HMC, model=whole, rewrite=False, **QUIET)


def test_particles_outside_the_support_of_the_data_do_not_hold_the_path_up():
    with pm.Model() as model:
        x = pm.Normal("x", 0, 1)
        pm.Potential("positive", tt.switch(x > 1.0, -x, -np.inf))
    result = pm.sample_smc(1000, model=model, random_seed=1, chains=2, **QUIET)
    exact = 0.5 + norm.logsf(2.0)
    found, error = evidence(result)
    assert abs(found - exact) < 4 * error
    assert float(result.posterior.x.min()) > 1


def test_an_interrupted_run_gives_the_chains_that_are_finished(monkeypatch, caplog):
    from ppl.smc import sampling

    class Pressed:
        """Ctrl-C as soon as a stage of the second chain is done."""

        count = 0
        __enter__ = lambda self: self
        __exit__ = lambda self, *error: None

    pressed = Pressed()
    real = sampling.stage

    def stage(chain):
        real(chain)
        pressed.count = int(chain.kernel is second)

    monkeypatch.setattr(sampling, "Presses", lambda: pressed)
    monkeypatch.setattr(sampling, "stage", stage)
    kernels = []

    class Kept(IMH):
        def __init__(self, *args, **options):
            super().__init__(*args, **options)
            kernels.append(self)
            nonlocal second
            second = kernels[min(1, len(kernels) - 1)]

    second = None
    with caplog.at_level(logging.WARNING):
        result = pm.sample_smc(200, Kept, model=coin(), rewrite=False, random_seed=1, chains=2, cores=1, **QUIET)
    assert result.posterior.sizes["chain"] == 1
    assert result.posterior.attrs["interrupted"] == 1
    assert "the result has the 1 chains that were finished" in caplog.text


def test_traces_and_pointwise_densities():
    with eight_schools():
        trace = pm.sample_smc(200, random_seed=1, chains=2, return_inferencedata=False, **QUIET)
        result = pm.sample_smc(200, random_seed=1, chains=2, idata_kwargs={"log_likelihood": True}, **QUIET)
    assert trace["theta"].shape == (400, 8)
    assert np.isfinite(trace.report.log_marginal_likelihood)
    assert result.log_likelihood.y.shape == (2, 200, 8)


# The parts


def test_temperatures_keep_the_effective_sample_size():
    log_likelihood = np.random.default_rng(0).normal(0, 30, 4000)
    found = reweighted(log_likelihood, 0.0, 0.5)
    assert 1 / np.sum(found.weights**2) == pytest.approx(2000, abs=2)
    assert reweighted(log_likelihood, 0.9999, 0.5).beta == 1
    dead = np.where(np.arange(4000) % 10 == 0, log_likelihood, -np.inf)
    assert 1 / np.sum(reweighted(dead, 0.0, 0.5).weights ** 2) == pytest.approx(200, abs=2)


def test_the_evidence_of_a_path_is_found_from_any_first_guess():
    # standard normal numbers with the likelihood exp(-x²/2): at β their precision is 1 + β
    rng, betas, dim = np.random.default_rng(3), np.linspace(0, 1, 25), 4000
    seen = [-0.5 * rng.chisquare(dim, (1, 200)) / (1 + beta) for beta in betas]
    stages = [Stage(beta, values, np.arange(200), 200.0) for beta, values in zip(betas, seen, strict=True)]
    exact = -0.5 * dim * np.log1p(betas)
    near, far = path_evidence(stages, exact), path_evidence(stages, 0.99 * exact)
    assert far.log_z == pytest.approx(near.log_z, abs=1e-8) and abs(near.log_z - exact[-1]) < 4 * near.error


def test_systematic_resampling_gives_each_its_share():
    weights = np.random.default_rng(1).dirichlet(np.ones(50))
    counts = np.bincount(
        systematic_resampling(np.repeat(weights, 20) / 20, np.random.default_rng(2)) // 20, minlength=50
    )
    assert np.all(np.abs(counts - 1000 * weights) < 1.01)


def test_arguments_about_processes_are_said_to_have_no_meaning(caplog):
    with pm.Model(), caplog.at_level(logging.INFO):
        pm.Normal("y", pm.Normal("x"), 1, observed=0.5)
        pm.sample_smc(50, chains=1, random_seed=1, blas_cores=2, progressbar=False)
    assert "blas_cores have no meaning here" in caplog.text
