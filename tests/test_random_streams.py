"""Random streams: the right law, the same draws in every run, and draws that do not know of each other."""

import numpy as np
import pytest
from scipy import stats
from some_slow import every

import ppl
import ppl.tensor as tt
from ppl.tensor.random import LAWS, RandomStream
from ppl.tensor.sampling.keys import Key

N = 20_000
SMALL = 1e-5  # a right law fails one of these tests in a hundred thousand choices of the seed


def drawn(law, *parameters, size=N, seed=11, **options):
    return ppl.function([], getattr(RandomStream(seed), law)(*parameters, size=size, **options))()


CONTINUOUS = {
    "normal": ((1.0, 2.0), stats.norm(1, 2)),
    "uniform": ((-1.0, 3.0), stats.uniform(-1, 4)),
    "lognormal": ((0.5, 0.7), stats.lognorm(0.7, scale=np.exp(0.5))),
    "halfnormal": ((1.0, 2.0), stats.halfnorm(1, 2)),
    "cauchy": ((1.0, 2.0), stats.cauchy(1, 2)),
    "halfcauchy": ((1.0, 2.0), stats.halfcauchy(1, 2)),
    "laplace": ((1.0, 2.0), stats.laplace(1, 2)),
    "logistic": ((1.0, 2.0), stats.logistic(1, 2)),
    "gumbel": ((1.0, 2.0), stats.gumbel_r(1, 2)),
    "exponential": ((2.0,), stats.expon(scale=2)),
    "gamma": ((2.5, 3.0), stats.gamma(2.5, scale=1 / 3)),
    "chisquare": ((3.0,), stats.chi2(3)),
    "invgamma": ((2.5, 3.0), stats.invgamma(2.5, scale=3)),
    "gengamma": ((2.0, 3.0, 1.5), stats.gengamma(2 / 3, 3, scale=1.5)),
    "beta": ((2.0, 0.5), stats.beta(2, 0.5)),
    "t": ((4.0, 1.0, 2.0), stats.t(4, 1, 2)),
    "pareto": ((3.0, 2.0), stats.pareto(3, scale=2)),
    "weibull": ((1.5,), stats.weibull_min(1.5)),
    "rayleigh": ((2.0,), stats.rayleigh(scale=2)),
    "triangular": ((-1.0, 0.5, 2.0), stats.triang(0.5, -1, 3)),
    "truncexpon": ((2.0, 1.0, 0.5), stats.truncexpon(2, 1, 0.5)),
    "truncated_normal": ((-0.5, 1.5), stats.truncnorm(-0.5, 1.5)),
    "wald": ((1.5, 2.0), stats.invgauss(0.75, scale=2)),
    "vonmises": ((0.5, 2.0), stats.vonmises(2, 0.5)),
}
DISCRETE = {
    "bernoulli": ((0.3,), stats.bernoulli(0.3)),
    "binomial": ((10, 0.3), stats.binom(10, 0.3)),
    "negative_binomial": ((3.0, 0.4), stats.nbinom(3, 0.4)),
    "beta_binomial": ((10, 2.0, 1.5), stats.betabinom(10, 2, 1.5)),
    "geometric": ((0.2,), stats.geom(0.2)),
    "hypergeometric": ((20, 30, 15), stats.hypergeom(50, 20, 15)),
    "poisson": ((3.5,), stats.poisson(3.5)),
    "integers": ((2, 9), stats.randint(2, 9)),
    "randint": ((2, 9), stats.randint(2, 9)),
}
OF_VECTORS = {"categorical", "dirichlet", "multinomial", "multivariate_normal", "permutation", "choice"}
OTHER_NAMES = {"randn": "normal", "rand": "uniform", "shuffle": "permutation"}


def test_every_law_is_tested():
    assert set(LAWS) == {*CONTINUOUS, *DISCRETE, *OF_VECTORS, *OTHER_NAMES}
    assert all(LAWS[other] is LAWS[name] for other, name in OTHER_NAMES.items())


@pytest.mark.parametrize("law", every(2, sorted(CONTINUOUS)))
def test_continuous_draws_follow_their_cdf(law):
    parameters, wanted = CONTINUOUS[law]
    assert stats.kstest(drawn(law, *parameters), wanted.cdf).pvalue > SMALL


def spread_out(counts, wanted):
    """Uniform between the values of the cdf before and after each count: continuous, and uniform if it is right."""
    return wanted.cdf(counts) - np.random.default_rng(1).random(len(counts)) * wanted.pmf(counts)


@pytest.mark.parametrize(
    "lower, upper", [(-np.inf, np.inf), (3.0, np.inf), (40.0, 41.0), (-np.inf, -60.0), (-9.0, 9.0)]
)
def test_truncated_normal_draws_far_out(lower, upper):
    draws = drawn("truncated_normal", lower, upper)
    assert (draws >= lower).all() and (draws <= upper).all()
    assert stats.kstest(draws, stats.truncnorm(lower, upper).cdf).pvalue > SMALL


@pytest.mark.parametrize("law", every(2, sorted(DISCRETE)))
def test_discrete_draws_follow_their_cdf(law):
    parameters, wanted = DISCRETE[law]
    counts = drawn(law, *parameters)
    assert counts.dtype == np.int64
    assert stats.kstest(spread_out(counts, wanted), "uniform").pvalue > SMALL


@pytest.mark.parametrize("mean", every(2, [0.0, 1e-3, 9.9, 10.0, 1e4, 1e7, 1e9, 1e12, 1e15]))
def test_poisson_draws_of_any_mean(mean):
    """JAX's own are wrong from 1e7 on."""
    counts = drawn("poisson", mean)
    if mean == 0:
        assert not counts.any()
    else:
        assert stats.kstest(spread_out(counts, stats.poisson(mean)), "uniform").pvalue > SMALL
        assert abs(np.mean(counts) - mean) < 5 * np.sqrt(mean / N)


def test_poisson_draws_of_no_mean():
    assert drawn("poisson", np.array([np.nan, -1.0, np.inf]), size=(3,)).tolist() == [-1, -1, -1]


@pytest.mark.parametrize("n, p", every(2, [(10**9, 0.5), (10**12, 0.3), (10**9, 1e-8), (5, 0.0), (5, 1.0)]))
def test_binomial_draws_of_any_size(n, p):
    counts = drawn("binomial", n, p)
    if p in (0, 1):
        assert (counts == n * p).all()
    else:
        assert stats.kstest(spread_out(counts, stats.binom(n, p)), "uniform").pvalue > SMALL


def test_vectors():
    counts = np.bincount(drawn("categorical", [0.2, 0.5, 0.3]), minlength=3)
    assert stats.chisquare(counts, N * np.array([0.2, 0.5, 0.3])).pvalue > SMALL
    shares = drawn("dirichlet", np.array([1.0, 2.0, 3.0]))
    np.testing.assert_allclose(shares.sum(-1), 1)
    assert stats.kstest(shares[:, 1], stats.beta(2, 4).cdf).pvalue > SMALL
    trials = drawn("multinomial", 8, np.array([0.2, 0.5, 0.3]))
    assert (trials.sum(-1) == 8).all()
    assert stats.kstest(spread_out(trials[:, 2], stats.binom(8, 0.3)), "uniform").pvalue > SMALL
    cov = np.array([[2.0, 0.6], [0.6, 1.0]])
    z = (drawn("multivariate_normal", np.array([1.0, -1.0]), cov) - [1, -1]) @ np.linalg.inv(np.linalg.cholesky(cov)).T
    assert stats.kstest(z.ravel(), "norm").pvalue > SMALL
    assert abs(np.corrcoef(z.T)[0, 1]) < 5 / np.sqrt(N)


def test_rearrangements():
    stream = RandomStream(3)
    rows = np.arange(12.0).reshape(6, 2)
    moved = ppl.function([], stream.permutation(rows))()
    assert sorted(map(tuple, moved)) == sorted(map(tuple, rows)) and (moved != rows).any()
    chosen = ppl.function([], stream.choice(np.array([3, 5, 9]), size=(N,), p=np.array([0.2, 0.5, 0.3])))()
    assert stats.chisquare([np.sum(chosen == n) for n in (3, 5, 9)], N * np.array([0.2, 0.5, 0.3])).pvalue > SMALL
    assert len(set(ppl.function([], stream.choice(10, size=(10,), replace=False))().tolist())) == 10


# --- reproducible, and independent of what has nothing to do with it
def test_the_same_seed_gives_the_same_draws_in_every_program():
    def two_calls(extra):
        stream = RandomStream(5)
        x = stream.normal(size=3, name="x")
        others = [stream.gamma(2.0, 1.0, size=4) for _ in range(extra)]
        f = ppl.function([], [x * 2 if extra else x, *others])
        return [np.asarray(f()[0]) for _ in range(2)]

    alone, together = two_calls(0), two_calls(3)
    np.testing.assert_array_equal(together[0], 2 * alone[0])
    np.testing.assert_array_equal(together[1], 2 * alone[1])
    assert (alone[0] != alone[1]).all()


def test_draws_of_one_stream_are_unrelated():
    stream = RandomStream(5)
    a, b = ppl.function([], [stream.normal(size=N), stream.normal(size=N)])()
    assert abs(np.corrcoef(a, b)[0, 1]) < 5 / np.sqrt(N)
    c, d = (drawn("normal", seed=s) for s in (1, 2))
    assert abs(np.corrcoef(c, d)[0, 1]) < 5 / np.sqrt(N)


def test_a_node_is_one_draw():
    x = RandomStream(1).normal(size=3)
    f = ppl.function([], [x, x + 1])
    a, b = f()
    np.testing.assert_allclose(a + 1, b, rtol=1e-15)
    again, _ = f()
    assert (again != a).all()
    still = ppl.function([], x, no_default_updates=True)
    np.testing.assert_array_equal(still(), still())


def test_seeds_start_again():
    stream = RandomStream(1)
    f = ppl.function([], stream.normal(size=3))
    first, second = f(), f()
    stream.seed()
    np.testing.assert_array_equal(f(), first)
    stream.seed(2)
    assert (f() != second).all()
    stream.seed(1)
    np.testing.assert_array_equal(f(), first)
    with pytest.raises(ValueError, match='a draw called "u" already'):
        [stream.uniform(name="u") for _ in range(2)]


def test_updates_are_explicit():
    stream = RandomStream(1)
    f = ppl.function([], stream.normal(), updates=stream.updates())
    assert f() != f()
    assert len(stream.updates()) == 1


def test_keys():
    key = Key.from_seed(1)
    assert Key.from_seed(1).normal((2,)) is key.normal((2,))
    assert key.normal((2,)) is not Key.from_seed(1).normal((2,))
    halves = [half.normal((N,)) for half in Key.from_seed(2).split()]
    a, b = tt.get(halves)
    assert abs(np.corrcoef(a, b)[0, 1]) < 5 / np.sqrt(N)
    assert tt.get(Key.from_seed("a").fold_in(3).bits((4,))).dtype == np.uint32
    with pytest.raises(TypeError, match="two uint32 numbers"):
        Key(np.zeros(2))


def test_draws_reach_inside_loops():
    """A step of a scan draws from a key that it is given: as many draws as steps, all different."""
    keys = Key.from_seed(4).split(5)
    draws = ppl.scan(lambda k: Key(k).normal(), sequences=tt.stack([k.node for k in keys]), return_updates=False)
    values = draws.eval()
    assert len(set(values.tolist())) == 5
    alone = [
        ppl.function([], Key(k.node).normal())() for k in keys
    ]  # the same bits; XLA of JAX 0.12 rounds otherwise in a loop
    np.testing.assert_allclose(values, alone, rtol=1e-15)


def test_draws_are_differentiable_in_their_parameters():
    """d/da E[X] = 1 for X ~ Gamma(a, 1); the derivative of a draw is an unbiased estimate of it."""
    a = tt.dscalar("a")
    slope = ppl.grad(Key.from_seed(6).gamma(a, (N,)).mean(), a)
    assert abs(slope.eval({a: 2.0}) - 1) < 0.02
