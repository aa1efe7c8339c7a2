"""What families refuse: the message names the family, the parameter, what it must be, the value, and a remedy."""

import numpy as np
import pytest
from plain_words import require_plain

import ppl as pm
import ppl.distributions as pd

COV = np.array([[1.0, 2.0], [2.0, 1.0]])
REFUSED = {
    "Multinomial: p are weights, none of them negative, got .-0.5": lambda: pd.Multinomial.dist(3, [-0.5, 1.5]),
    "Categorical: p are weights, none of them negative, got .-0.5": lambda: pd.Categorical.dist([-0.5, 1.5]),
    "Normal: mu must be real, got 1j. Take its real part": lambda: pd.Normal.dist(1j, 1.0),
    "Normal: mu must be real, got 'a'. Give numbers": lambda: pd.Normal.dist("a", 1.0),
    "Normal: a tensor holds numbers and booleans, got 'a'.*Give numbers": lambda: pm.logp(pd.Normal.dist(), "a"),
    "Normal: mu must be real, got None. Leave it out for its default, 0.0": lambda: pd.Normal.dist(None, 1.0),
    "Uniform: upper must be real, got None": lambda: pd.Uniform.dist(0.0, None),
    "MvNormal: mu must be a vector of reals, got None": lambda: pd.MvNormal.dist(None, np.eye(2)),
    "StudentT needs nu .positive.$": lambda: pd.StudentT.dist(None, 0, 1),
    "Gamma: a tensor holds .* got None": lambda: pm.icdf(pd.Gamma.dist(1, 1), None),
    "Normal is a family, of which there is no density: give a draw, Normal.dist": lambda: pm.logp(pd.Normal, 0.0),
    "Bernoulli: logit_p is nan": lambda: pd.Bernoulli.dist(logit_p=np.nan),
    "MvNormal: cov must be positive definite, but its smallest eigenvalue is -1": lambda: pd.MvNormal.dist([0, 0], COV),
    r"MvNormal: one value has the shape .2,. by its parameters, mu \(a vector of reals\) of shape \(2,\), .* end in": (
        lambda: pd.MvNormal.dist(0, np.eye(2), shape=(5, 3))
    ),
    r"MvNormal: one value has 1 axes, but the shape \(\) has 0. Let it end in .* \(2,\)": lambda: pd.MvNormal.dist(
        0, np.eye(2), shape=()
    ),
    r"Normal: the shapes \(3,\) and \(2,\) do not broadcast, in mu \(real\) of shape \(3,\) and sigma \(positive\) of "
    r"shape \(2,\). .* make them equal": lambda: pd.Normal.dist(np.zeros(3), np.ones(2)),
    r"Normal: the shapes .* in mu \(real\) of shape \(3,\) .* asked for of shape \(2,\)": lambda: pd.Normal.dist(
        np.zeros(3), 1.0, size=2
    ),
    r"Normal: a size is not negative, got \(-2,\). Give 0": lambda: pd.Normal.dist(0, 1, size=-2),
    r"Normal: give sigma or tau, not both; got sigma=1.0, tau=2.0. They are sigma \(positive\), tau \(positive\)": (
        lambda: pd.Normal.dist(0, sigma=1.0, tau=2.0)
    ),
    r"Normal: mu \(real\) is given twice, as 0 by its place and as 2 by its name": lambda: pd.Normal.dist(0, 1, mu=2),
    r"Gamma: alpha \(positive\), mu \(positive\) do not go together, got alpha=1.0, mu=1.0. Give one of": (
        lambda: pd.Gamma.dist(alpha=1.0, mu=1.0)
    ),
    "Beta: mu=0.5, sigma=0.9 give alpha=-0.3.*but alpha must be positive. Give mu and sigma that go": (
        lambda: pd.Beta.dist(mu=0.5, sigma=0.9)
    ),
    r"Normal has no parameter 'sd'. Did you mean sigma\? It takes mu \(real\), sigma \(positive\).*; got sd=1.0": (
        lambda: pd.Normal.dist(0, sd=1.0)
    ),
    r"Gamma needs alpha \(positive\), or mu and sigma": lambda: pd.Gamma.dist(beta=2.0),
    r"Exponential takes at most 2 parameters \(lam \(positive\), scale \(positive\)\), got 3: 1, 2, 3": (
        lambda: pd.Exponential.dist(1, 2, 3)
    ),
    r"Interpolated: x_points \(increasing\) and pdf_points .* one length, .* got shapes \(3,\) and \(2,\)": (
        lambda: pd.Interpolated.dist([0.0, 1, 2], [1.0, 1])
    ),
    "NegativeBinomial: mu must be not negative, got -1": lambda: pd.NegativeBinomial.dist(mu=-1.0, alpha=2.0),
    "Truncated: Flat has no distribution function.*as Uniform": lambda: pd.Truncated.dist(pd.Flat.dist(), 0, 1),
    "Truncated: lower must not be above upper, got lower=2, upper=1": lambda: pd.Truncated.dist(pd.Normal.dist(), 2, 1),
    "Truncated: no value of Gamma, which is not negative, lies between": lambda: pd.Truncated.dist(
        pd.Gamma.dist(2.0, 1.0), -3, -1
    ),
    "Truncated: no value of Poisson, .* lies between lower=2.2 and upper=2.8": lambda: pd.Truncated.dist(
        pd.Poisson.dist(2.0), 2.2, 2.8
    ),
    "Truncated: lower is nan, but must be real, or infinite": lambda: pd.Truncated.dist(pd.Normal.dist(), np.nan),
    "Truncated has no parameter 'low'. Did you mean lower": lambda: pd.Truncated.dist(pd.Normal.dist(), low=1),
    "Censored: lower must not be above upper, got lower=2, upper=1": lambda: pd.Censored.dist(pd.Normal.dist(), 2, 1),
    "Censored: HalfFlat has no distribution function": lambda: pd.Censored.dist(pd.HalfFlat.dist(), 0, 1),
    "Binomial: n must be an integer, not negative, got inf": lambda: pd.Binomial.dist(np.inf, 0.5),
}
WARNED = {  # constants outside their domains: as in PyMC the draw is made, and nothing can come of it
    "Normal: sigma must be positive, got -1.*write exp": lambda: pd.Normal.dist(0, -1.0),
    "Normal: sigma must be positive, got 0": lambda: pd.Normal.dist(0, [1.0, 0.0]),
    "Normal: mu is nan, but must be real. To mend it: replace": lambda: pd.Normal.dist(np.nan, 1.0),
    "Normal: mu must be real, got inf": lambda: pd.Normal.dist(np.inf, 1.0),
    "Normal: sigma must be positive, got inf at position 1": lambda: pd.Normal.dist(0, [1.0, np.inf]),
    "Bernoulli: p must be between 0 and 1, got 1.5.*sigmoid": lambda: pd.Bernoulli.dist(1.5),
    "Mixture: w must be probabilities that sum to 1, got .*divide by the sum": lambda: pd.Mixture.dist(
        [0.5, 0.8], [pd.Normal.dist(0, 1), pd.Normal.dist(1, 1)]
    ),
    "Multinomial: p must be probabilities that sum to 1, got .0. 0": lambda: pd.Multinomial.dist(3, [0.0, 0.0]),
    "Categorical: p must be probabilities that sum to 1, got .0. 0": lambda: pd.Categorical.dist([0.0, 0.0]),
    "Dirichlet: a must be a vector of positive numbers, got -1.0 at position 1.*exp": lambda: pd.Dirichlet.dist(
        [1, -1.0]
    ),
    "(?s)MvNormal: chol must be a lower triangular matrix.*got .*lower=False": lambda: pd.MvNormal.dist(
        0, chol=[[1.0, 5.0], [0.0, 1.0]]
    ),
    r"Uniform: lower must be below upper, got lower=1.0, upper=0.0. They are lower \(real\), .* mend it: exchange": (
        lambda: pd.Uniform.dist(1.0, 0.0)
    ),
    "DiscreteUniform: lower must not be above upper, got lower=3, upper=1": lambda: pd.DiscreteUniform.dist(3, 1),
    "HyperGeometric: k must not be above N, got N=10, k=20": lambda: pd.HyperGeometric.dist(N=10, k=20, n=5),
    "HyperGeometric: n must not be above N, got N=10, n=15": lambda: pd.HyperGeometric.dist(N=10, k=2, n=15),
    "Interpolated: pdf_points must not all be 0": lambda: pd.Interpolated.dist([0.0, 1, 2], [0.0, 0, 0]),
    "Binomial: n must be an integer, not negative, got 2.5": lambda: pd.Binomial.dist(2.5, 0.5),
    "PolyaGamma: h must be positive": lambda: pd.PolyaGamma.dist(-1.0),
}


@pytest.mark.parametrize("message", REFUSED)
def test_it_says_who_what_and_what_to_do(message):
    with pytest.raises((TypeError, ValueError, NotImplementedError), match=message) as caught:
        REFUSED[message]()
    require_plain(str(caught.value))


@pytest.mark.parametrize("message", WARNED)
def test_a_constant_outside_its_domain_is_told_and_nothing_comes_of_it(message):
    with pytest.warns(UserWarning, match=message) as caught:
        draw = WARNED[message]()
    require_plain(str(caught[0].message))
    if "whole part" in str(caught[0].message):
        assert draw.parameters[0].eval() == 2
        return
    number = 0.5 if draw.dtype[0] == "f" else 1
    assert not np.isfinite(pm.logp(draw, np.full(draw.type.shape, number)).eval()).all()


def test_nothing_is_drawn_by_a_law_that_is_none():
    with pytest.warns(UserWarning, match="sigma must be positive"):
        draw = pd.Normal.dist(0, -1.0)
    with pytest.raises(pm.ParameterValueError, match=r"Normal: sigma must be positive, got -1\.0"):
        pm.draw(draw)


@pytest.mark.parametrize(
    ("family", "word", "hint"),
    [("Normal", "loc", "mu"), ("Exponential", "rate", "lam"), ("Gamma", "rate", "beta"), ("StudentT", "df", "nu")],
)
def test_words_of_other_libraries_are_known(family, word, hint):
    with pytest.raises(TypeError, match=rf"has no parameter '{word}'. Did you mean {hint}\?"):
        getattr(pm, family).dist(**{word: 1.0})


def test_a_word_that_means_many_things_is_not_guessed():
    with pytest.raises(TypeError, match=r"has no parameter 'scale'. It takes alpha"):
        pm.Gamma.dist(alpha=2.0, scale=3.0)


def test_dimensions_are_of_variables_of_a_model():
    with pytest.raises(NotImplementedError, match=r"Normal.dist: dims= is of variables of a model.*shape= or size="):
        pm.Normal.dist(0, 1, dims=("town",))
