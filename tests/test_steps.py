"""Step methods: each leaves the posterior invariant, and each variable gets the one that PyMC would choose."""

import numpy as np
import pytest

import ppl
import ppl.model as pm
import ppl.tensor as tt
from ppl.distributions import Bernoulli, Categorical, Normal, Poisson
from ppl.model.inference.steps.assignment import assign
from ppl.model.inference.steps.colors import colored
from ppl.model.posterior.rewriting import rewritten
from ppl.samplers.steps.moves import chance

Y = np.array([0.1, 2.9, 3.2, -0.4])
QUICK = {"chains": 2, "random_seed": 5, "progressbar": False, "quiet": True, "compute_convergence_checks": False}


def sampled(model, step, draws=2000, tune=500):
    with model:
        return pm.sample(draws, tune=tune, step=step, rewrite=False, **QUICK)


def normal_model():
    with pm.Model() as model:
        mu = Normal("mu", 1, 2)
        nu = Normal("nu", -1, 1)
        Normal("y", mu + nu, 1, observed=[2.0])
    return model


def test_no_move_accepts_a_density_that_is_infinite_or_no_number():
    assert [float(chance(np.float64(new), np.float64(0))) for new in (np.nan, np.inf, -np.inf)] == [0, 0, 0]
    assert chance(np.float64(1), np.float64(0)) == 1 and 0.3 < chance(np.float64(-1), np.float64(0)) < 0.4


MEAN = np.array([1, -1]) + np.array([4, 1]) / 6 * 2  # conditioning (mu, nu) on their sum
SD = np.sqrt(np.array([4, 1]) - np.array([16, 1]) / 6)


@pytest.mark.parametrize(
    "make",
    [
        lambda: pm.Metropolis(),
        lambda: pm.Metropolis(S=np.array([[2.0, -1.0], [-1.0, 1.0]])),
        lambda: pm.Metropolis(proposal_dist=pm.LaplaceProposal),
        lambda: pm.HamiltonianMC(path_length=1.5),
        lambda: [pm.HamiltonianMC(["mu"]), pm.Metropolis(["nu"])],
        lambda: pm.Slice(),
        lambda: pm.DEMetropolisZ(),
        lambda: [pm.NUTS(["mu"]), pm.Slice(["nu"])],
        lambda: pm.CompoundStep([pm.Metropolis(["mu"]), pm.NUTS(["nu"], target_accept=0.9)]),
    ],
    ids=[
        "metropolis",
        "metropolis-mv",
        "metropolis-laplace",
        "hmc",
        "hmc+metropolis",
        "slice",
        "demetropolisz",
        "nuts+slice",
        "compound",
    ],
)
def test_continuous_variables(make):
    model = normal_model()
    with model:
        step = make()
    posterior = sampled(model, step, draws=4000).posterior
    for name, mean, sd in zip(("mu", "nu"), MEAN, SD, strict=True):
        assert abs(float(posterior[name].mean()) - mean) < 0.25 * sd
        assert abs(float(posterior[name].std()) / sd - 1) < 0.2


def test_a_population_of_chains_learns_from_each_other():
    model = normal_model()
    options = {**QUICK, "chains": 6, "rewrite": False}
    with model:
        found = pm.sample(2000, tune=500, step=pm.DEMetropolis(), **options)
        again = pm.sample(2000, tune=500, step=pm.DEMetropolis(), **{**options, "cores": 1})
        for chains, step, message in (
            (2, pm.DEMetropolis(), "at least 3 chains, got 2"),
            (4, pm.DEMetropolis(["mu"]), "NUTS would move nu out of step"),
        ):
            with pytest.raises(ValueError, match=message):
                pm.sample(step=step, **{**options, "chains": chains})
    for name, mean, sd in zip(("mu", "nu"), MEAN, SD, strict=True):
        np.testing.assert_array_equal(found.posterior[name], again.posterior[name])
        assert abs(float(found.posterior[name].mean()) - mean) < 0.2 * sd
        assert abs(float(found.posterior[name].std()) / sd - 1) < 0.15
    stats = found.sample_stats
    assert stats.accepted.dtype == bool and abs(float(stats.accept.mean()) - float(stats.accepted.mean())) < 0.03


def test_a_small_population_is_warned_of():
    with pm.Model():
        Normal("x", 0, 1, shape=4)
        with pytest.warns(UserWarning, match="more chains than dimensions: it moves 4, and there are 4"):
            few = pm.sample(20, tune=20, step=pm.DEMetropolis(), rewrite=False, **{**QUICK, "chains": 4})
    assert few.posterior.x.shape == (4, 20, 4)


def switches():
    """Binary indicators with known odds: z_i = 1 shifts y_i by 3."""
    with pm.Model() as model:
        z = Bernoulli("z", 0.3, shape=4)
        Normal("y", 2.0 * z, 1.0, observed=Y)
    odds = 0.3 / 0.7 * np.exp(2 * Y - 2)
    return model, odds / (1 + odds)


@pytest.mark.parametrize("method", [None, "BinaryMetropolis", "BinaryGibbsMetropolis", "CategoricalGibbsMetropolis"])
def test_binary_variables(method):
    model, expected = switches()
    with model:
        step = None if method is None else getattr(pm, method)(["z"])
    found = sampled(model, step)
    assert found.posterior.z.dtype == np.int64
    assert np.allclose(found.posterior.z.mean(("chain", "draw")), expected, atol=0.05)
    assert "accept" in found.sample_stats and "lp" in found.sample_stats


@pytest.mark.parametrize("proposal", ["uniform", "proportional"])
def test_categories(proposal):
    p = np.array([0.2, 0.5, 0.3])
    with pm.Model() as model:
        k = Categorical("k", p, shape=3)
        Normal("y", 1.0 * k, 1.0, observed=[0.0, 1.0, 2.5])
        step = pm.CategoricalGibbsMetropolis([k], proposal=proposal)
    weights = p * np.exp(-0.5 * (np.array([0.0, 1.0, 2.5])[:, None] - np.arange(3)) ** 2)
    weights /= weights.sum(axis=1, keepdims=True)
    k = sampled(model, step, draws=4000).posterior.k.values
    found = np.stack([(k == value).mean((0, 1)) for value in range(3)], axis=1)
    assert np.allclose(found, weights, atol=0.04)


def test_counts_by_a_rounded_random_walk():
    with pm.Model() as model:
        n = Poisson("n", 4.0)
        Normal("y", n, 2.0, observed=6.0)
    posterior = sampled(model, None, draws=6000).posterior.n.values
    values = np.arange(30)
    log_p = values * np.log(4.0) - np.cumsum(np.log(np.maximum(values, 1))) - 0.5 * ((6.0 - values) / 2) ** 2
    p = np.exp(log_p - log_p.max())
    p /= p.sum()
    assert abs(posterior.mean() - p @ values) < 0.25 and posterior.min() >= 0


def test_gradients_and_counts_in_one_sweep():
    with pm.Model() as model:
        z = Bernoulli("z", 0.5)
        mu = Normal("mu", 0, 1)
        Normal("y", mu + 3 * z, 1, observed=3.0)
    found = sampled(model, None, draws=4000)
    one = 1 / (1 + np.exp(-(9.0 / 4)))  # y | z has variance 2
    assert abs(float(found.posterior.z.mean()) - one) < 0.04
    assert abs(float(found.posterior.mu.mean()) - (one * 0.0 + (1 - one) * 1.5)) < 0.08
    assert {"tree_depth", "accept", "diverging"} <= set(found.sample_stats.data_vars)


def test_the_same_seed_gives_the_same_draws():
    model, _ = switches()
    first, second = (sampled(model, None, draws=50, tune=20).posterior.z.values for _ in range(2))
    assert np.array_equal(first, second)
    with model:
        longer = pm.sample(50, tune=20, rewrite=False, **{**QUICK, "chains": 3, "cores": 1}).posterior.z.values
    assert np.array_equal(longer[:2], first)


def test_methods_are_chosen_as_pymc_does():
    with pm.Model() as model:
        Bernoulli("b", 0.5)
        Categorical("two", [0.5, 0.5])
        Categorical("three", [0.2, 0.5, 0.3])
        Poisson("n", 3.0)
        Normal("x", 0, 1)
    chosen = assign(rewritten(model, rewrite=False), None)
    assert [v.name for v in chosen.nuts] == ["x"]
    assert [repr(method) for method in chosen.methods] == [
        "BinaryGibbsMetropolis: [b, two]", "CategoricalGibbsMetropolis: [three]", "Metropolis: [n]",
    ]  # fmt: skip


def test_variables_with_steps_are_not_rewritten():
    model = normal_model()
    with model:
        found = pm.sample(50, tune=50, step=pm.Slice(["mu"]), **QUICK)
    assert "nstep_out" in found.sample_stats and {"mu", "nu"} <= set(found.posterior.data_vars)


def test_steps_that_cannot_be_are_refused():
    with pm.Model() as model:
        x = Normal("x", 0, 1)
        b = Bernoulli("b", 0.5)
        n = Poisson("n", 3.0)
        with pytest.raises(ValueError, match='NUTS cannot move "b"'):
            pm.NUTS([b])
        with pytest.raises(ValueError, match="categories are not known"):
            pm.CategoricalGibbsMetropolis([n])
        with pytest.raises(ValueError, match="categories are not known"):
            pm.BinaryMetropolis([n])
        with pytest.raises(ValueError, match="permutation"):
            pm.sample(step=pm.BinaryGibbsMetropolis([b], order=[3]), **QUICK)
        with pytest.warns(UserWarning, match="Slice: rng= has no effect"):
            pm.Slice([x], rng=1)
        with pytest.raises(ValueError, match="two methods move x"):
            pm.sample(step=[pm.Slice([x]), pm.Metropolis([x])], **QUICK)
        with pytest.raises(ValueError, match="target_accept"):
            pm.NUTS([x], target_accept=2)
    with pm.Model():
        Normal("other", 0, 1)
        with pytest.raises(ValueError, match="x"):
            pm.sample(step=pm.Slice([x], model=model), **QUICK)


# --- entries that are independent given the rest move together
def chain_of_switches(n, pull=0.7):
    with pm.Model() as model:
        z = Bernoulli("z", 0.4, shape=n)
        pm.Potential("ties", pull * (z[1:] == z[:-1]))
    return model


def labels_by_group(n=200):
    with pm.Model() as model:
        k = Categorical("k", [0.2, 0.5, 0.3], shape=n)
        Normal("y", tt.constant([-2.0, 0.0, 2.0])[k], 1.0, observed=np.linspace(-3, 3, n))
    return model


def counts_behind(n=50):
    with pm.Model() as model:
        N = Poisson("N", 6.0, shape=n)
        Normal("y", N, 1.5, observed=np.linspace(2, 9, n))
    return model


def in_pairs():
    with pm.Model() as model:
        z = Bernoulli("z", 0.4, shape=(3, 4))
        b = Bernoulli("b", 0.5, shape=4)
        Normal("y", z + b, 1.0, observed=np.zeros((3, 4)))
    return model


def all_in_one_sum():
    with pm.Model() as model:
        z = Bernoulli("z", 0.4, shape=5)
        Normal("y", z.sum(), 1.0, observed=2.0)
    return model


@pytest.mark.parametrize(
    "make, shades",
    [
        (lambda: chain_of_switches(9), [2]),
        (labels_by_group, [1]),
        (counts_behind, [1]),
        (in_pairs, [2]),
        (all_in_one_sum, [None]),
    ],
    ids=["chain", "labels", "counts", "pairs", "sum"],
)
def test_entries_that_share_no_term_have_one_color(make, shades):
    posterior = rewritten(make(), rewrite=False)
    groups = [method.vars for method in assign(posterior, None).methods]
    found = [colored(group, posterior.terms) for group in groups]
    assert [None if each is None else len(each.owners) for each in found] == shades


def test_a_chain_of_switches_follows_its_joint_law():
    n = 6
    model = chain_of_switches(n)
    states = np.array(list(np.ndindex(*(2,) * n)))
    log_p = states @ np.full(n, np.log(0.4 / 0.6)) + 0.7 * (states[:, 1:] == states[:, :-1]).sum(axis=1)
    p = np.exp(log_p - log_p.max())
    p /= p.sum()
    z = sampled(model, None, draws=8000).posterior.z.values.reshape(-1, n)
    found = np.bincount(z @ 2 ** np.arange(n - 1, -1, -1), minlength=2**n) / len(z)
    assert 0.5 * np.abs(found - p).sum() < 0.05


def test_labels_and_counts_that_move_together_follow_their_laws():
    k = sampled(labels_by_group(), None, draws=4000, tune=100).posterior.k.values
    weights = np.array([0.2, 0.5, 0.3]) * np.exp(-0.5 * (np.linspace(-3, 3, 200)[:, None] - [-2.0, 0.0, 2.0]) ** 2)
    weights /= weights.sum(axis=1, keepdims=True)
    assert np.allclose(np.stack([(k == v).mean((0, 1)) for v in range(3)], axis=1), weights, atol=0.05)
    posterior = sampled(counts_behind(), None, draws=8000, tune=1000)
    values = np.arange(40)
    log_p = values * np.log(6.0) - np.cumsum(np.log(np.maximum(values, 1)))
    p = np.exp(log_p - 0.5 * ((np.linspace(2, 9, 50)[:, None] - values) / 1.5) ** 2)
    p /= p.sum(axis=1, keepdims=True)
    mean = p @ values
    sd = np.sqrt(p @ values**2 - mean**2)
    assert np.all(np.abs(posterior.posterior.N.values.mean((0, 1)) - mean) < 0.15 * sd)
    assert {"accept", "accepted", "scaling"} <= set(posterior.sample_stats.data_vars)


@pytest.mark.parametrize("by", ["coords", "shape of data"])
def test_labels_whose_number_follows_from_data_are_moved_by_steps(by):
    """The density that these labels have is no sum over rows alone, so that they are not summed out."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=15)
    y = 1 + 2 * x + 0.3 * rng.normal(size=15)
    y[3] += 8
    with ppl.Model(coords={"obs": np.arange(15)} if by == "coords" else None):
        xs = ppl.Data("xs", x, dims="obs" if by == "coords" else None)
        size = {"dims": "obs"} if by == "coords" else {"shape": xs.shape[0]}
        intercept, slope, sigma = ppl.Normal("intercept", 0, 10), ppl.Normal("slope", 0, 10), ppl.HalfNormal("sigma", 1)
        outlier = ppl.Bernoulli("outlier", ppl.Uniform("share", 0, 0.5), **size)
        near = ppl.logp(ppl.Normal.dist(intercept + slope * xs, sigma), y)
        far = ppl.logp(ppl.Normal.dist(0, 10), y)
        ppl.Potential("rows", ((1 - outlier) * near + outlier * far).sum() - 0.01 * outlier.sum() ** 2)
        found = ppl.sample(300, tune=300, chains=1, random_seed=1, progressbar=False, quiet=True).posterior
    shares = found["outlier"].mean(("chain", "draw")).values
    assert shares[3] > 0.9 and np.delete(shares, 3).max() < 0.5
