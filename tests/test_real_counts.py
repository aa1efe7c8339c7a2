"""Counts of trials and bounds that are real variables: the density goes by gamma functions, or by whole parts, as
PyMC's does."""

from __future__ import annotations

from typing import Any

import mpmath
import numpy as np
import pytest
from scipy import special, stats

import ppl as pm

MODELS = {
    "Binomial": lambda pm, N: pm.Binomial("y", n=N, p=0.3, observed=[16, 18]),
    "BetaBinomial": lambda pm, N: pm.BetaBinomial("y", n=N, alpha=1.5, beta=2.0, observed=[16, 18]),
    "ZeroInflatedBinomial": lambda pm, N: pm.ZeroInflatedBinomial("y", psi=0.7, n=N, p=0.3, observed=[16, 0]),
    "upper end": lambda pm, N: pm.DiscreteUniform("y", 0, N, observed=[16, 18]),
    "lower end": lambda pm, N: pm.DiscreteUniform("y", N - 30.5, 50, observed=[16, 18]),
    "all of an urn": lambda pm, N: pm.HyperGeometric("y", N=N, k=20, n=18, observed=[16, 18]),
    "good ones of an urn": lambda pm, N: pm.HyperGeometric("y", N=100, k=N, n=18, observed=[16, 18]),
    "taken from an urn": lambda pm, N: pm.HyperGeometric("y", N=100, k=50, n=N, observed=[16, 18]),
    "Multinomial": lambda pm, N: pm.Multinomial("y", n=N, p=[0.2, 0.8], observed=[[16, 18]]),
    "DirichletMultinomial": lambda pm, N: pm.DirichletMultinomial("y", n=N, a=[0.2, 0.8], observed=[[16, 18]]),
    "truncated": lambda pm, N: pm.Truncated("y", pm.Binomial.dist(n=N, p=0.3), upper=20, observed=[16, 0]),
    "censored": lambda pm, N: pm.Censored("y", pm.Binomial.dist(n=N, p=0.3), None, 20, observed=[20, 0]),
    "NegativeBinomial": lambda pm, N: pm.NegativeBinomial("y", n=N, p=0.3, observed=[16, 18]),
}
AT = (34.0, 34.5, 40.2, 17.5)  # the last is below an observed count
COUNTED = np.array([16, 18, 22, 25, 27])


def at_points(library: Any, write: Any) -> np.ndarray:
    with library.Model() as model:
        write(library, library.Uniform("N", 10, 500))
    density = model.compile_logp()
    return np.array([float(density({"N_interval__": special.logit((n - 10) / 490)})) for n in AT])  # each at once


@pytest.mark.filterwarnings("ignore:Scan return signature:DeprecationWarning")
@pytest.mark.parametrize("name", MODELS)
def test_densities_are_those_of_pymc(pymc5: Any, name: str) -> None:
    """Its logarithms of beta functions have seven digits here."""
    np.testing.assert_allclose(at_points(pm, MODELS[name]), at_points(pymc5, MODELS[name]), rtol=1e-7)


def test_a_beta_binomial_law_goes_by_gamma_functions() -> None:
    n, a, b = 34.5, 1.5, 2.0
    with pm.Model():
        y = pm.BetaBinomial.dist(n=pm.math.exp(np.log(n) * pm.Data("one", 1.0)), alpha=a, beta=b)
    for count in (0, 16, 34):
        ways = mpmath.gamma(n + 1) / mpmath.gamma(count + 1) / mpmath.gamma(n - count + 1)
        wanted = mpmath.log(ways * mpmath.beta(count + a, n - count + b) / mpmath.beta(a, b))
        assert float(pm.logp(y, count).eval()) == pytest.approx(float(wanted), rel=1e-12)


def test_a_real_number_of_trials_is_drawn_by_its_density() -> None:
    """And not by the whole numbers alone that happen to be looked at; against sums over a grid."""
    with pm.Model():
        N = pm.Uniform("N", 30, 500)
        t = pm.Beta("t", 2, 2)
        pm.Binomial("y", n=N, p=t, observed=COUNTED)
        found = pm.sample(2000, chains=2, random_seed=1, progressbar=False, quiet=True)
    drawn, share = found.posterior["N"].values.ravel(), found.posterior["t"].values.ravel()
    n = np.linspace(30, 500, 200_001)
    ways = sum(special.gammaln(n + 1) - special.gammaln(n - y + 1) for y in COUNTED)
    log_density = ways + special.betaln(2 + COUNTED.sum(), 2 + 5 * n - COUNTED.sum())
    below = np.cumsum(np.exp(log_density - log_density.max()))
    assert stats.kstest(drawn, lambda x: np.interp(x, n, below / below[-1])).pvalue > 1e-6
    after = stats.beta(2 + COUNTED.sum(), 2 + 5 * drawn - COUNTED.sum())
    assert stats.kstest(after.cdf(share), "uniform").pvalue > 1e-6


@pytest.mark.parametrize("low", [30.0, 31.0])
def test_whole_numbers_alone_are_not_drawn_by_quadrature(low: float) -> None:
    """Of which the start is one, or is not: a chain, which then takes over, finds no start, as in PyMC."""
    with pm.Model():
        N = pm.Uniform("N", low, 500)
        pm.Potential("whole", pm.math.switch(pm.math.eq(N, pm.math.floor(N)), -0.01 * N, -np.inf))
        with pytest.raises(pm.SamplingError, match="found no starting point"):
            pm.sample(10, chains=1, random_seed=1, progressbar=False, quiet=True)


def test_of_fractions_that_are_written_down_the_whole_part_is_taken_and_told() -> None:
    with pytest.warns(UserWarning, match=r"Binomial: n must be an integer, .* got 34\.5: its whole part"):
        trials = pm.Binomial.dist(n=34.5, p=0.3)
    with pytest.warns(UserWarning, match=r"DiscreteUniform: upper must be an integer, got 10\.5: its whole part"):
        numbers = pm.DiscreteUniform.dist(0, 10.5)
    assert trials.parameters[0].eval() == 34 and numbers.parameters[1].eval() == 10


def test_no_count_is_drawn_of_a_number_of_trials_that_is_not_whole() -> None:
    with pm.Model():
        y = pm.Binomial("y", n=pm.Uniform("N", 30, 31), p=0.5)
        z = pm.DiscreteUniform("z", 0, pm.Uniform("M", 3, 4))
    with pytest.raises(ValueError, match="n must be an integer, not negative"):
        pm.draw(y, random_seed=1)
    assert set(pm.draw(z, 200, random_seed=1)) == {0, 1, 2, 3}


def test_a_count_of_real_trials_is_summed_and_not_thinned() -> None:
    """The sum over its values is not a binomial law, which a whole number of trials makes it."""
    with pm.Model() as model:
        N = pm.Uniform("N", 3, 9)
        pm.Binomial("seen", n=pm.Binomial("count", n=N, p=0.5), p=0.3, observed=2)
    assert "binomial thinning" not in [s.rule for s in pm.explain(model).steps]
    n, joint = 6.3, model.compile_logp()
    at = {"N_interval__": special.logit((n - 3) / 6)}
    terms = [joint(at | {"count": np.int64(k)}) for k in range(7)]
    assert model.compile_logp(rewrite=True)(at) == pytest.approx(special.logsumexp(terms), rel=1e-12)
