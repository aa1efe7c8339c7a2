"""What families refuse: the message names the family, the parameter, what it must be, the value, and a remedy."""

import numpy as np
import pytest

import ppl.distributions as pd

COV = np.array([[1.0, 2.0], [2.0, 1.0]])
REFUSED = {
    "Normal: sigma must be positive, got -1.*write exp": lambda: pd.Normal.dist(0, -1.0),
    "Normal: sigma must be positive, got 0": lambda: pd.Normal.dist(0, [1.0, 0.0]),
    "Normal: mu is nan": lambda: pd.Normal.dist(np.nan, 1.0),
    "Bernoulli: p must be between 0 and 1, got 1.5.*sigmoid": lambda: pd.Bernoulli.dist(1.5),
    "Bernoulli: logit_p is nan": lambda: pd.Bernoulli.dist(logit_p=np.nan),
    "Mixture: w must be probabilities that sum to 1, got": lambda: pd.Mixture.dist(
        [0.5, 0.8], [pd.Normal.dist(0, 1), pd.Normal.dist(1, 1)]
    ),
    "Multinomial: p must be probabilities that sum to 1": lambda: pd.Multinomial.dist(3, [-0.5, 1.5]),
    "MvNormal: cov must be positive definite, but its smallest eigenvalue is -1": lambda: pd.MvNormal.dist([0, 0], COV),
    "MvNormal: one value has the shape .2,. by its parameters": lambda: pd.MvNormal.dist(0, np.eye(2), shape=(5, 3)),
    r"Normal: the shapes \(3,\) and \(2,\) do not broadcast": lambda: pd.Normal.dist(np.zeros(3), np.ones(2)),
    "Normal: give sigma or tau, not both": lambda: pd.Normal.dist(0, sigma=1.0, tau=1.0),
    "Gamma: .* do not go together|Gamma: give": lambda: pd.Gamma.dist(alpha=1.0, mu=1.0),
    "Normal has no parameter 'sd'. Did you mean sigma": lambda: pd.Normal.dist(0, sd=1.0),
    "Gamma needs alpha, or mu and sigma": lambda: pd.Gamma.dist(beta=2.0),
    "Uniform: lower must be below upper": lambda: pd.Uniform.dist(1.0, 0.0),
    "DiscreteUniform: lower must not be above upper, got lower=3, upper=1": lambda: pd.DiscreteUniform.dist(3, 1),
    "NegativeBinomial: mu must be not negative, got -1": lambda: pd.NegativeBinomial.dist(mu=-1.0, alpha=2.0),
    "Binomial: n must be an integer, not negative, got inf": lambda: pd.Binomial.dist(np.inf, 0.5),
    "Binomial: n must be an integer, not negative, got 2.5": lambda: pd.Binomial.dist(2.5, 0.5),
    "Truncated: Flat has no distribution function.*as Uniform": lambda: pd.Truncated.dist(pd.Flat.dist(), 0, 1),
    "Censored: HalfFlat has no distribution function": lambda: pd.Censored.dist(pd.HalfFlat.dist(), 0, 1),
    "PolyaGamma: h must be positive": lambda: pd.PolyaGamma.dist(-1.0),
}


@pytest.mark.parametrize("message", REFUSED)
def test_it_says_who_what_and_what_to_do(message):
    with pytest.raises((TypeError, ValueError, NotImplementedError), match=message):
        REFUSED[message]()
