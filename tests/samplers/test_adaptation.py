"""Step size, metric and schedule against values worked out by hand."""

import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax
from sampler_targets import normal

from ppl.samplers.adaptation import low_rank as lr
from ppl.samplers.adaptation import moments, policy, step_size
from ppl.samplers.programs.randomness import own_settings
from ppl.samplers.programs.work import of_gradient, work
from ppl.samplers.sample import sample


@pytest.fixture(autouse=True)
def _settings():
    with own_settings():
        yield


def test_dual_averaging_by_hand():
    average = step_size.averaging_from(jnp.asarray(0.1))
    assert float(average.mu) == pytest.approx(np.log(1.0), abs=1e-12)
    average = step_size.advance(average, jnp.asarray(0.5), jnp.asarray(0.8))
    h = 0.3 / 11
    assert float(average.h_bar) == pytest.approx(h)
    assert float(average.log_step) == pytest.approx(-h / 0.05)
    assert float(average.log_bar) == pytest.approx(-h / 0.05)  # the first weight is 1
    average = step_size.advance(average, jnp.asarray(1.0), jnp.asarray(0.8))
    h = (1 - 1 / 12) * h + (0.8 - 1.0) / 12
    assert float(average.log_step) == pytest.approx(-np.sqrt(2) / 0.05 * h)


def test_a_step_never_grows_beyond_pi():
    average = step_size.averaging_from(jnp.asarray(1.0))
    for _ in range(5):
        average = step_size.advance(average, jnp.asarray(1.0), jnp.asarray(0.8))
    assert float(average.log_step) == pytest.approx(np.log(np.pi))


@pytest.mark.parametrize(("limit", "expected"), [(1.0, 1.6), (0.01, 0.1 / 16)])
def test_the_search_stops_where_acceptance_crosses_the_target(limit, expected):
    search, over = step_size.new_search(jnp.asarray(0.1)), False
    while not over:
        acceptance = jnp.asarray(0.9 if float(search.step) < limit else 0.1)
        search, over = step_size.search_on(search, acceptance, jnp.asarray(0.8), jnp.asarray(0.1))
    assert float(search.step) == pytest.approx(expected)


def test_a_hopeless_search_falls_back_to_the_first_step():
    search, over = step_size.new_search(jnp.asarray(0.1)), False
    while not over:
        search, over = step_size.search_on(search, jnp.asarray(1.0), jnp.asarray(0.8), jnp.asarray(0.1))
    assert float(search.step) == pytest.approx(0.1)
    assert int(search.tries) == step_size.MAX_TRIES


def exact(covariance: np.ndarray, n: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Draws of N(0, Σ) and the gradients there."""
    x = np.random.default_rng(seed).multivariate_normal(np.zeros(len(covariance)), covariance, n)
    return x, -x @ np.linalg.inv(covariance)


def covariance(dim: int, seed: int = 3) -> np.ndarray:
    rng = np.random.default_rng(seed)
    a = rng.normal(size=(dim, dim))
    return np.diag(rng.uniform(0.1, 3, dim)) @ (a @ a.T / dim + np.eye(dim)) @ np.diag(np.ones(dim))


def symmetric(dim: int) -> np.ndarray:
    c = covariance(dim)
    return c @ c.T


def test_running_moments_are_the_moments():
    x, g = exact(symmetric(4), 50)
    m = moments.empty(4, jnp.float64)
    for a, b in zip(x, g, strict=True):
        m = moments.include(m, jnp.asarray(a), jnp.asarray(b))
    np.testing.assert_allclose(m.mean_x, x.mean(axis=0))
    np.testing.assert_allclose(m.square_g, 50 * g.var(axis=0))
    np.testing.assert_allclose(moments.welford_scale(m, jnp.ones(4)), x.std(axis=0, ddof=1))
    np.testing.assert_allclose(moments.fisher_scale(m, jnp.ones(4)) ** 2, np.sqrt(x.var(axis=0) / g.var(axis=0)))


def test_an_entry_that_cannot_be_estimated_keeps_its_scale():
    m = moments.empty(2, jnp.float64)
    for value in (0.0, 1.0, 2.0):
        m = moments.include(m, jnp.asarray([value, 0.0]), jnp.asarray([1.0, 1.0]))
    np.testing.assert_array_equal(moments.fisher_scale(m, jnp.asarray([7.0, 8.0])), [7.0, 8.0])
    assert float(moments.welford_scale(m, jnp.asarray([7.0, 8.0]))[1]) == 8.0


def test_a_stationary_start_gets_unit_scale():
    np.testing.assert_allclose(moments.scale_from_gradient(jnp.asarray([0.0, 4.0, -0.25])), [1.0, 0.5, 2.0])


def test_fisher_diagonal_of_a_normal_is_between_marginal_and_conditional():
    c = symmetric(4)
    x, g = exact(c, 200_000)
    expected = np.sqrt(np.diag(c) / np.diag(np.linalg.inv(c)))
    np.testing.assert_allclose(policy.fisher(x, g).scale ** 2, expected, rtol=0.02)


def test_spd_mean_by_hand():
    mean = lr.spd_mean(np.diag([1.0, 4.0, 8.0]), np.diag([1.0, 1.0, 0.5]))
    np.testing.assert_allclose(mean, np.diag([1.0, 2.0, 4.0]), atol=1e-12)


def test_low_rank_recovers_a_normal_from_few_draws():
    c = symmetric(6)
    x, g = exact(c, 40)
    w = lr.low_rank(x, g, most=6, cutoff=1.0)
    a = np.diag(w.scale) @ (np.eye(6) + w.basis @ np.diag(w.stretch) @ w.basis.T)
    np.testing.assert_allclose(a @ a.T, c, rtol=1e-3, atol=1e-3 * c.max())


def test_whitening_is_undone_by_its_map():
    x, g = exact(symmetric(6), 100)
    w = lr.low_rank(x, g, most=3)
    a = np.diag(w.scale) @ (np.eye(6) + w.basis @ np.diag(w.stretch) @ w.basis.T)
    np.testing.assert_allclose(lr.whiten(w, x) @ a.T, x, atol=1e-10)
    np.testing.assert_allclose(lr.whiten_gradient(w, g), g @ a, atol=1e-10)


def correlated(dim: int, rho: float) -> np.ndarray:
    return (1 - rho) * np.eye(dim) + rho * np.ones((dim, dim))


def test_the_policy_takes_the_low_rank_where_correlations_are_strong():
    x, g = exact(correlated(10, 0.99), 100)
    assert policy.choose(policy.candidates(x, g, 8), "fisher_diag") == "low_rank"


def test_what_most_directions_have_in_common_needs_no_columns():
    """All correlations 0.99: 39 variances of 0.01, and one of nearly 40."""
    c = correlated(40, 0.99)
    w = lr.low_rank(*exact(c, 400), most=16)
    assert w.stretch.size == 1
    a = np.diag(w.scale) @ (np.eye(40) + w.basis @ np.diag(w.stretch) @ w.basis.T)
    left = np.linalg.eigvals(np.linalg.solve(a @ a.T, c)).real
    assert left.max() / left.min() < 4


@pytest.mark.parametrize(
    ("logs", "unseen", "most", "expected"),
    [
        ([0.0, 0.1, 0.2], False, 3, (0, 0, 0.1)),
        ([-2.0, -1.9, -1.8, 5.0], False, 3, (0, 1, -1.9)),
        ([-9.0, 0.0, 0.2, 9.0], False, 3, (1, 1, 0.1)),
        ([-9.0, 0.0, 0.2, 9.0], False, 1, (1, 0, 4.5)),
        ([-2.0, -1.9, -1.8, 5.0], True, 4, (3, 1, 0.0)),
        ([3.0], False, 1, (0, 0, 3.0)),
        ([3.0], True, 1, (0, 1, 0.0)),
    ],
)
def test_as_few_eigenvalues_as_can_be_are_taken_away(logs, unseen, most, expected):
    below, above, middle = lr.outside(np.array(logs), unseen, most, width=0.5)
    assert (below, above) == expected[:2]
    assert middle == pytest.approx(expected[2])


def test_the_policy_keeps_a_diagonal_where_it_is_right():
    x, g = exact(np.diag(np.geomspace(1e-4, 1e4, 10)), 100)
    assert policy.choose(policy.candidates(x, g, 8), "fisher_diag") == "fisher_diag"


def path(dim: int) -> np.ndarray:
    """An autoregression seen with noise: many directions differ, none by much."""
    step = np.eye(dim) - 0.95 * np.eye(dim, k=-1)
    return np.linalg.inv(step.T @ step / 0.09 + np.eye(dim) / 0.25)


@pytest.mark.parametrize(("work_of_gradient", "chosen"), [(4e3, "fisher_diag"), (1e6, "low_rank")])
def test_columns_must_save_time_not_steps(work_of_gradient, chosen):
    x, g = exact(path(100), 230)
    found = policy.candidates(x, g, 16, lambda: work_of_gradient)
    assert policy.choose(found, "fisher_diag") == chosen


def test_the_work_of_a_gradient_is_asked_for_only_where_it_matters():
    def asked() -> float:
        raise AssertionError

    for c in (np.diag(np.geomspace(1e-4, 1e4, 10)), correlated(10, 0.999)):
        policy.candidates(*exact(c, 100), 8, asked)


def test_strong_correlations_are_found_beside_a_cheap_gradient():
    """A window that shows little of them may not have seen them yet: few columns stay, whatever they take."""
    dim, rho = 100, 0.99
    a, b = 1 / (1 - rho), rho / ((1 - rho) * (1 - rho + dim * rho))
    initial = np.random.default_rng(4).uniform(-1, 1, (4, dim))
    logp = lambda q: -0.5 * (a * jnp.sum(q**2) - b * jnp.sum(q) ** 2)
    run = sample(logp, initial, chains=4, tune=400, draws=200, seed=4)
    assert [int(record.state.metric.rank) for record in run.records] == [1] * 4


def test_work_by_hand():
    n, x = 7, np.zeros(7)
    a = np.eye(n)
    assert work(lambda x: x + x, x) == n
    assert work(lambda x: jnp.exp(x)[None], x) == 15 * n
    assert work(lambda x: a @ x, x) == n * n
    assert work(jnp.linalg.cholesky, a) >= n**3
    assert work(lambda x: jnp.zeros(3).at[jnp.arange(n) % 3].add(x), x) >= 20 * n
    turn = lambda x, _: (x * 2.0, None)
    assert work(lambda x: lax.scan(turn, x, length=5)[0], x) == 5 * n
    assert work(lambda x: lax.cond(True, lambda x: jnp.exp(x), lambda x: x, x), x) >= 15 * n
    gradient = of_gradient(lambda x, a: -0.5 * x @ (a @ x), n, np.float64, (a,), "a quadratic form")
    assert 2 * n * n <= gradient() <= 3 * n * n


def test_the_guard_prefers_welford_where_fisher_makes_trajectories_longer():
    blocks = np.kron(np.eye(5), correlated(2, 0.95)) + 0.0
    c = np.zeros((20, 20))
    c[:10, :10], c[10:, 10:] = blocks, np.eye(10)
    x, g = exact(c, 400)
    costs = {k.name: k.cost for k in policy.candidates(x, g, 0)}
    expected = "welford_diag" if costs["welford_diag"] < policy.WORTH * costs["fisher_diag"] else "fisher_diag"
    assert policy.choose(policy.candidates(x, g, 0), "fisher_diag") == expected


@pytest.mark.parametrize("tune", [0, 5, 20, 50, 100, 400, 1000])
def test_any_length_of_warmup_works(tune):
    run = sample(normal, np.zeros((1, 2)), data=(np.zeros(2), np.eye(2)), chains=1, tune=tune, draws=50, metric="auto")
    assert run.positions.shape == (1, 50, 2)
    assert np.all(np.isfinite(run.positions))
    steps = run.stats["step_size"]
    assert np.all(steps == steps[0, 0])


def test_windows_switch_when_they_should():
    """With 1000 tuning draws: windows of 10 to draw 300, then 80 and 120 draws; none ends after draw 670."""
    run = sample(
        normal, np.zeros((1, 2)), data=(np.zeros(2), np.eye(2)), chains=1, tune=1000, draws=0, keep_warmup=True
    )
    state = run.records[0].state
    good = np.flatnonzero(run.warmup_stats["index_in_trajectory"][0] != 0) + 1
    ends, counted, window = [], 1, 10
    for draw in good:  # the good draws, as the schedule counts them (the start counts for the first window)
        if draw >= 300 and window == 10:
            window = max(80, counted)
        counted += 1
        if draw + window > 850:
            break
        if counted >= window:
            ends.append(int(draw))
            window = window if draw < 300 else round(1.5 * window)
            counted = 0
    assert int(state.background_from) == ends[-1]
    assert int(state.foreground_from) == ends[-2]
    assert bool(state.late)


@pytest.mark.parametrize("metric", ["fisher_diag", "welford_diag", "low_rank", "auto"])
def test_acceptance_reaches_its_target(metric):
    c = np.diag([1.0, 100.0, 0.01])
    data = (np.ones(3), np.linalg.inv(c))
    run = sample(
        normal, np.zeros((2, 3)), data=data, chains=2, draws=2000, tune=1000, metric=metric, target_accept=0.85
    )
    assert abs(run.stats["acceptance_rate"].mean() - 0.85) < 0.04
