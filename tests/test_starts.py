"""Where variables start: in the support of their law."""

import numpy as np
import pytest

import ppl

LAWS = {
    "an exponential": lambda pm, tt: lambda mu, size: tt.exp(pm.Normal.dist(mu, 1, size=size)),
    "a shifted half-normal": lambda pm, tt: lambda mu, size: 3 + pm.HalfNormal.dist(1 + mu**2, size=size),
    "an inverse": lambda pm, tt: lambda mu, size: 1 / pm.Gamma.dist(2 + mu**2, 1, size=size),
    "a scaled log-normal": lambda pm, tt: lambda mu, size: pm.LogNormal.dist(mu, 1, size=size) * 2,
    "a clipped normal": lambda pm, tt: lambda mu, size: tt.clip(pm.Normal.dist(mu, 1, size=size), 1, 3),
}


def _model(pm, law, shape):
    tt = ppl.tensor
    if pm is not ppl:
        import pytensor.tensor as tt
    with pm.Model() as model:
        x = pm.CustomDist("x", pm.Normal("mu"), dist=LAWS[law](pm, tt), shape=shape)
        pm.Normal("y", x, 1, observed=np.full(shape, 1.5))
    return model


@pytest.mark.parametrize("shape", [(), (6,)])
@pytest.mark.parametrize("law", LAWS)
def test_a_law_by_an_expression_starts_where_pymc_starts_it(law, shape, pymc5):
    found, theirs = (_model(pm, law, shape).initial_point() for pm in (ppl, pymc5))
    np.testing.assert_allclose(found["x"], theirs["x"], rtol=1e-12)
    assert np.isfinite(_model(ppl, law, shape).compile_logp()(found))


def test_laws_inside_a_law_by_an_expression_are_no_values():
    components = lambda: [ppl.Gamma.dist(2, 1), ppl.Gamma.dist(3, 2)]
    with ppl.Model() as model:
        ppl.CustomDist("x", dist=lambda size: ppl.Mixture.dist([0.5, 0.5], components(), size=size), shape=3)
    assert model.initial_point()["x"].tolist() == [1.75] * 3


def test_a_latent_law_of_positive_numbers_finds_a_start_beside_its_support_point():
    small = lambda size: ppl.Beta.dist(2, 2, size=size) * 0.1
    with ppl.Model():
        x = ppl.CustomDist("x", dist=small, shape=6)
        ppl.Normal("y", x, 1, observed=np.ones(6))
        options = {"tune": 20, "chains": 2, "random_seed": 1, "progressbar": False, "quiet": True}
        found = ppl.sample(20, **options, rewrite=False).posterior.x.values
    assert found.min() > 0 and found.max() < 0.1
