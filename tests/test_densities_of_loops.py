"""Densities of the rows of a loop over draws: against the same written out, against PyMC, and what must raise."""

import numpy as np
import pytest
from scipy import stats

import ppl
import ppl.tensor as tt
from ppl.compile import function
from ppl.distributions import Gamma, MvNormal, Normal, StudentT, Truncated, icdf, logcdf, logp
from ppl.distributions.log_probability.measure import NoDensityError
from ppl.tensor.tensor import TensorType, placeholder

pytestmark = pytest.mark.usefixtures("module_compiled_quickly")

STEPS = Normal.dist(0.0, 1.5, shape=4)
Y = np.array([0.3, -0.2, 0.5, 1.4])
SCALE = 1.5


def rows(step, **options):
    return ppl.scan(step, return_updates=False, **options)


def given(means, x=Y):
    return stats.norm.logpdf(x, means, SCALE)


def lags(a, before, last):
    return 0.3 * last - 0.2 * before + a


def walk(step, steps=STEPS, start=0.0, **options):
    return rows(step, sequences=steps, outputs_info=[tt.as_tensor(start)], **options)


def before(y, start=0.0):
    return np.r_[start, y[:-1]]


BOTH = np.c_[Y, -Y]
BOTH_BEFORE = np.r_[np.zeros((1, 2)), BOTH[:-1]]
CUT = np.maximum(Y, 0)
PAST = np.array([0.1, 0.7])
STARTED = np.r_[PAST, Y]
PAIRS = Normal.dist(0.0, SCALE, shape=(4, 2))
TIED = MvNormal.dist(np.zeros(4), np.eye(4) + 1)

# rows of a loop, a value, and the density of each row given those before
LOOPS = {
    "no state": (
        lambda: rows(lambda a: tt.exp(2 * a + 1), sequences=STEPS),
        np.exp(2 * Y + 1),
        given(0) - 2 * Y - 1 - np.log(2),
    ),
    "an autoregression": (lambda: walk(lambda a, x: 0.5 * x + a), Y, given(0.5 * before(Y))),
    "a bent one": (lambda: walk(lambda a, x: tt.sin(x) + a), Y, given(np.sin(before(Y)))),
    "a start": (lambda: walk(lambda a, x: x + a, start=2.0), Y, given(before(Y, 2.0))),
    "a walk of factors": (
        lambda: walk(lambda a, x: x * tt.exp(a), start=1.0),
        np.exp(np.cumsum(Y)),
        given(0) - np.cumsum(Y),
    ),
    "two lags": (
        lambda: rows(lags, sequences=STEPS, outputs_info=[{"initial": tt.constant(PAST), "taps": [-2, -1]}]),
        Y,
        given(0.3 * STARTED[1:5] - 0.2 * STARTED[:4]),
    ),
    "the second lag": (
        lambda: rows(
            lambda a, x: 0.5 * x + a, sequences=STEPS, outputs_info=[{"initial": tt.constant(PAST), "taps": [-2]}]
        ),
        Y,
        given(0.5 * STARTED[:4]),
    ),
    "from the end": (
        lambda: ppl.scan(lambda x, a: (0.5 * x + a,) * 2, 0.0, [STEPS], reverse=True)[1],
        Y,
        given(0.5 * np.r_[Y[1:], 0]),
    ),
    "backwards": (lambda: walk(lambda a, x: 0.5 * x + a, go_backwards=True), Y, given(0.5 * before(Y))),
    "vectors": (
        lambda: walk(lambda a, x, k: k * x + a, PAIRS, np.zeros(2), non_sequences=np.array([0.5, 0.2])),
        BOTH,
        given(BOTH_BEFORE * [0.5, 0.2], BOTH),
    ),
    "a number for each vector": (
        lambda: walk(lambda a, b, x: b * x + a, [PAIRS, np.arange(4.0)], np.zeros(2)),
        BOTH,
        given(BOTH_BEFORE * np.arange(4.0)[:, None], BOTH),
    ),
    "cut off": (
        lambda: walk(lambda a, x: tt.maximum(0.5 * x + a, 0.0)),
        CUT,
        np.where(Y > 0, given(0.5 * before(CUT)), stats.norm.logcdf(0, 0.5 * before(CUT), SCALE)),
    ),
    "a step that cannot be": (
        lambda: walk(lambda a, x: x + a, Gamma.dist(2.0, 1.0, shape=4)),
        np.array([1.0, 3.0, 2.0, 4.0]),
        stats.gamma.logpdf([1.0, 2.0, -1.0, 2.0], 2),
    ),
    "dependent steps": (
        lambda: walk(lambda a, x: 0.5 * x + a, TIED),
        Y,
        stats.multivariate_normal(np.zeros(4), np.eye(4) + 1).logpdf(Y - 0.5 * before(Y)),
    ),
}


def drawn(step, start=0.0, n=4, **options):
    return rows(step, outputs_info=[tt.as_tensor(start)], n_steps=n, **options)


# the same, of draws that the steps make
LOOPS |= {
    "draws of no state": (lambda: rows(lambda: Gamma.dist(2.0, 1.0), n_steps=4), Y**2, stats.gamma.logpdf(Y**2, 2)),
    "draws that are added": (lambda: drawn(lambda x: 0.5 * x + Normal.dist(0, SCALE)), Y, given(0.5 * before(Y))),
    "draws around the state": (lambda: drawn(lambda x: Normal.dist(tt.sin(x), SCALE)), Y, given(np.sin(before(Y)))),
    "draws of a changing scale": (
        lambda: drawn(lambda x: Normal.dist(0.5 * x, tt.exp(x))),
        Y,
        stats.norm.logpdf(Y, 0.5 * before(Y), np.exp(before(Y))),
    ),
    "draws of another family": (
        lambda: drawn(lambda x, k: StudentT.dist(5.0, x, k), non_sequences=[tt.as_tensor(2.0)], strict=True),
        Y,
        stats.t.logpdf(Y, 5, before(Y), 2.0),
    ),
    "draws of a law of another": (
        lambda: drawn(lambda x: x + Truncated.dist(Normal.dist(0, SCALE), lower=0)),
        np.cumsum(Y**2),
        stats.halfnorm.logpdf(Y**2, scale=SCALE),
    ),
    "draws of vectors": (
        lambda: drawn(lambda x: MvNormal.dist(0.5 * x, np.eye(2) + 1), np.zeros(2)),
        BOTH,
        [stats.multivariate_normal(0.5 * x, np.eye(2) + 1).logpdf(y) for x, y in zip(BOTH_BEFORE, BOTH, strict=True)],
    ),
}


@pytest.mark.parametrize("name", LOOPS)
def test_the_density_of_rows_is_that_of_each_step_given_those_before(name):
    build, value, expected = LOOPS[name]
    np.testing.assert_allclose(logp(build(), value).eval(), expected, rtol=1e-12)


def test_loops_have_the_density_that_pymc_gives_them(pymc5):
    import pytensor

    step = lambda x: pymc5.Normal.dist(pytensor.tensor.sin(x) / 2, np.float64(SCALE))
    loop = pytensor.scan(step, outputs_info=[np.float64(0.25)], n_steps=4, return_updates=False)
    value = pytensor.tensor.dvector("value")
    theirs = pymc5.logp(loop, value).eval({value: Y})
    ours = walk(lambda a, x: tt.sin(x) / 2 + a, start=0.25)
    np.testing.assert_allclose(logp(ours, Y).eval(), theirs, rtol=1e-12)


def test_every_step_makes_a_draw_of_its_own():
    outside = Normal.dist(0.0, 1.0)
    own, shared = ppl.draw([rows(lambda: Normal.dist(0.0, 1.0), n_steps=4), rows(lambda: 2 * outside, n_steps=4)])
    assert len(set(own)) == 4 and len(set(shared)) == 1


def test_a_step_that_draws_from_a_law_of_another_form_is_refused():
    inner = drawn(lambda x: Truncated.dist(Normal.dist(x, 1.0), lower=0))
    for loop in (drawn(lambda x: Gamma.dist(x, 1.0), 1.0), inner):
        for use in (lambda loop=loop: logp(loop, Y), lambda loop=loop: ppl.draw(loop)):
            with pytest.raises(NotImplementedError, match="but for its location and scale"):
                use()


def series_step_by_step(pm, scan, pt, updates, dims):
    """As the examples of PyMC write it."""

    def step(x_tm2, x_tm1, rho, sigma):
        x = x_tm1 * rho[0] + x_tm2 * rho[1] + pm.Normal.dist(sigma=sigma)
        return x, updates([x])

    def dist(start, rho, sigma, size):
        taps = {"initial": start, "taps": range(-2, 0)}
        return scan(fn=step, outputs_info=[taps], non_sequences=[rho, sigma], n_steps=4, strict=True)[0]

    with pm.Model(coords={"step": range(4), "time": range(6)}) as model:
        rho, start = pm.Normal("rho", 0, 0.2, shape=2), pm.Normal("start", 0, 0.5, shape=2)
        later = pm.CustomDist("later", start, rho, pm.HalfNormal("sigma", 0.2), dist=dist, dims=dims)
        pm.Deterministic("ar", pt.concatenate([start, later]), dims="time")
    return model


@pytest.mark.filterwarnings("ignore:Scan return signature will change")
@pytest.mark.parametrize("dims", ["step", None])
def test_a_series_drawn_step_by_step_has_the_shape_and_the_density_of_that_of_pymc(pymc5, dims):
    import pytensor
    import pytensor.tensor as pt
    from ppl.pytensorf import collect_default_updates as updates
    from pymc.pytensorf import collect_default_updates

    theirs = series_step_by_step(pymc5, pytensor.scan, pt, collect_default_updates, dims)
    ours = series_step_by_step(ppl, ppl.scan, tt, updates, dims)
    assert {k: np.shape(v) for k, v in ours.initial_point().items()} == {
        k: np.shape(v) for k, v in theirs.initial_point().items()
    }
    at = {"rho": np.array([0.3, 0.2]), "start": PAST, "later": Y, "sigma_log__": np.array(-0.3)}
    np.testing.assert_allclose(ours.compile_logp()(at), theirs.compile_logp()(at), rtol=1e-9)
    assert ppl.draw(ours["ar"], 3).shape == (3, 6)


def test_slopes_go_through_the_steps():
    k = tt.dscalar("k")
    loop = walk(lambda a, x, k: k * x + a, non_sequences=k)
    slope = function([k], tt.grad(tt.sum(logp(loop, Y)), k))(0.4)
    assert slope == pytest.approx(np.sum((Y - 0.4 * before(Y)) * before(Y)) / SCALE**2, rel=1e-12)


MATRIX = np.array([[0.5, 0.2], [-0.3, 0.1]])
MIXED = {  # of the rows before, a step may take any function
    "a matrix": (lambda a, x: tt.dot(MATRIX, x) + a, BOTH_BEFORE @ MATRIX.T, 1.0),
    "turned round": (lambda a, x: x[::-1] + a, BOTH_BEFORE[:, ::-1], 1.0),
    "a sum and a length": (
        lambda a, x: tt.sum(x) + (1 + tt.sum(x**2)) * a,
        BOTH_BEFORE.sum(1, keepdims=True), 1 + (BOTH_BEFORE**2).sum(1, keepdims=True),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", MIXED)
def test_a_step_may_mix_the_entries_of_the_row_before(name):
    step, mean, scale = MIXED[name]
    found = logp(walk(step, PAIRS, np.zeros(2)), BOTH).eval()
    np.testing.assert_allclose(found, stats.norm.logpdf(BOTH, mean, SCALE * scale), rtol=1e-12)


def test_a_matrix_that_changes_from_step_to_step_and_one_of_the_user():
    matrices, b = np.random.default_rng(3).normal(size=(4, 2, 2)), placeholder(TensorType("float64", (2, 2)))
    loop = rows(
        lambda e, m, x, b: tt.dot(m, tt.dot(b, x)) + e,
        sequences=[PAIRS, matrices], outputs_info=[tt.as_tensor(np.zeros(2))], non_sequences=[b],
    )  # fmt: skip
    mean = np.einsum("tij,jk,tk->ti", matrices, MATRIX, BOTH_BEFORE)
    density, slope = function([b], [logp(loop, BOTH), tt.grad(tt.sum(logp(loop, BOTH)), b)])(MATRIX)
    np.testing.assert_allclose(density, given(mean, BOTH), rtol=1e-12)
    steps = np.einsum("tij,ti,tk->jk", matrices, (BOTH - mean) / SCALE**2, BOTH_BEFORE)
    np.testing.assert_allclose(slope, steps, rtol=1e-10)


def autoregression(start=0.0):
    return walk(lambda a, x: 0.5 * x + a, start=start)


NUMBER = Normal.dist(0.0, 1.0)
REFUSED = {
    "a random start": (lambda: autoregression(NUMBER), "starts from Normal draw, which is random.*Give that a value"),
    "one draw in all steps": (
        lambda: rows(lambda t, m: t + m, sequences=np.arange(3.0), non_sequences=NUMBER),
        "repeated by broadcasting",
    ),
    "two draws in a step": (lambda: rows(lambda a, m: a * m, sequences=STEPS, non_sequences=NUMBER), "both random"),
    "a draw in two steps": (
        lambda: rows(lambda a, b: a + 2 * b, sequences={"input": STEPS, "taps": [0, -1]}),
        "both use Normal draw",
    ),
    "the last state": (lambda: ppl.scan(lambda x, a: (x + a, x + a), 0.0, [STEPS])[0], "the rows that a scan stacks"),
    "the last row": (lambda: autoregression()[-1], "depend on each other"),
    "a state that is no row": (lambda: ppl.scan(lambda x, a: (x + 1, x + a), 0.0, [STEPS])[1], "no row of a step"),
    "a product of the draw": (
        lambda: walk(lambda a, x: x + tt.dot(np.eye(2), a), PAIRS, np.zeros(2)),
        "of its own draw.*Write the steps as",
    ),
    "a running sum of the draw": (
        lambda: walk(lambda a, x: x + tt.cumsum(a), PAIRS, np.zeros(2)),
        "uses 'cumsum' of its own draw",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_has_no_density_says_why(name):
    build, message = REFUSED[name]
    with pytest.raises(NoDensityError, match=message):
        logp(build(), np.zeros(build().type.shape))


def test_rows_that_depend_on_each_other_have_no_tails():
    with pytest.raises(NoDensityError, match="no distribution function"):
        logcdf(autoregression(), Y)
    with pytest.raises(NoDensityError, match="quantile"):
        icdf(autoregression(), 0.5)


def test_data_may_go_through_a_loop_before_they_meet_variables():
    with ppl.Model():
        x = ppl.Data("x", Y)
        sums = rows(lambda a, s: s + tt.exp(a), sequences=[x], outputs_info=[tt.zeros(())])
        ppl.StudentT("y", 3, ppl.Normal("slope") * sums, ppl.HalfNormal("scale"), observed=Y)
        found = ppl.sample(10, tune=10, chains=1, random_seed=1, progressbar=False, quiet=True)
    assert np.isfinite(found.posterior["slope"].values).all()
