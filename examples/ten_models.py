"""Ten kinds of models that rewriting shrinks, each checked against a formula of its own.

Every function writes a model as a user would and says how many numbers should be left to sample, at which values of
these to look, and what the log-density is there by the textbook: dense matrices, enumeration, a recursion in NumPy.
"""

import warnings
from pathlib import Path
from typing import Any, NamedTuple

import matplotlib
import numpy as np
from scipy import special, stats

matplotlib.use("Agg")
import matplotlib.pyplot as plt

import ppl as pm
from ppl.rewrites import text

OUTPUT = Path(__file__).parent / "output"
RNG = np.random.default_rng(20)
EFFECT = np.array([28.0, 8.0, -3.0, 7.0, -1.0, 1.0, 18.0, 12.0])
ERROR = np.array([15.0, 10.0, 16.0, 11.0, 9.0, 11.0, 10.0, 18.0])
DISASTERS = np.array([
    4, 5, 4, 0, 1, 4, 3, 4, 0, 6, 3, 3, 4, 0, 2, 6, 3, 3, 5, 4, 5, 3, 1, 4, 4, 1, 5, 5, 3, 4, 2, 5, 2, 2, 3, 4, 2, 1, 3,
    np.nan, 2, 1, 1, 1, 1, 3, 0, 0, 1, 0, 1, 1, 0, 0, 3, 1, 0, 3, 2, 2, 0, 1, 1, 1, 0, 1, 0, 1, 0, 0, 0, 2, 1, 0, 0, 0,
    1, 1, 0, 2, 3, 3, 1, np.nan, 2, 1, 1, 1, 1, 2, 4, 2, 0, 0, 1, 4, 0, 0, 0, 1, 0, 0, 0, 0, 0, 1, 0, 0, 1, 0, 1,
])  # fmt: skip


class Proof(NamedTuple):
    """A model, how many numbers are left, a point of these, and the log-density there (in the model's own values)."""

    model: pm.Model
    left: int
    point: dict[str, Any]
    expected: float


def positive(value, prior) -> float:
    """The log-density of log x, where x has a prior."""
    return prior.logpdf(value) + np.log(value)


def logs(**values) -> dict[str, float]:
    """Positive values where the sampler moves them."""
    return {f"{name}_log__": np.log(value) for name, value in values.items()}


def normal(y, mean, cov) -> float:
    return stats.multivariate_normal(np.broadcast_to(mean, len(y)), cov).logpdf(y)


def membership(group, count) -> np.ndarray:
    return (group[:, None] == np.arange(count)).astype(float)


def eight_schools() -> Proof:
    """Effects of coaching, centered: schools and their mean are integrated out."""
    with pm.Model() as model:
        mu, tau = pm.Normal("mu", 0, 5), pm.HalfNormal("tau", 10)
        theta = pm.Normal("theta", mu, tau, shape=8)
        pm.Normal("y", theta, ERROR, observed=EFFECT)
    expected = positive(3.0, stats.halfnorm(0, 10)) + normal(EFFECT, 0.0, np.diag(ERROR**2 + 9.0) + 25.0)
    return Proof(model, 1, logs(tau=3.0), expected)


def radon() -> Proof:
    """Varying intercepts and slopes in 85 counties: three scales are left of 175 numbers."""
    county, floor = RNG.integers(0, 85, 919), RNG.integers(0, 2, 919).astype(float)
    y = 1.4 + 0.3 * RNG.normal(size=85)[county] - 0.6 * floor + 0.7 * RNG.normal(size=919)
    with pm.Model() as model:
        mu = pm.Normal("mu", 0, 10, shape=2)
        tau_a, tau_b, sigma = (pm.HalfNormal(name, 1) for name in ("tau_a", "tau_b", "sigma"))
        a, b = pm.Normal("a", mu[0], tau_a, shape=85), pm.Normal("b", mu[1], tau_b, shape=85)
        pm.Normal("y", a[county] + b[county] * floor, sigma, observed=y)
    z = membership(county, 85)
    same = z @ z.T
    cov = 0.7**2 * np.eye(919) + (0.3**2 * same + 100.0) + np.outer(floor, floor) * (0.2**2 * same + 100.0)
    prior = sum(positive(s, stats.halfnorm(0, 1)) for s in (0.3, 0.2, 0.7))
    return Proof(model, 3, logs(tau_a=0.3, tau_b=0.2, sigma=0.7), prior + normal(y, 0.0, cov))


def crossed_effects() -> Proof:
    """Marks by students, lecturers and departments: four scales are left."""
    counts = {"student": 200, "lecturer": 8, "department": 3}
    groups = {name: RNG.integers(0, n, 1000) for name, n in counts.items()}
    y = 3.0 + sum(0.5 * RNG.normal(size=n)[groups[name]] for name, n in counts.items()) + RNG.normal(size=1000)
    with pm.Model() as model:
        mean = pm.Normal("mu", 3, 2)
        for name, n in counts.items():
            mean = mean + pm.Normal(name, 0, pm.HalfNormal(f"tau_{name}", 1), shape=n)[groups[name]]
        pm.Normal("y", mean, pm.HalfNormal("sigma", 1), observed=y)
    scales = {"tau_student": 0.4, "tau_lecturer": 0.6, "tau_department": 0.5, "sigma": 0.9}
    cov = 0.9**2 * np.eye(1000) + 4.0
    for name, n in counts.items():
        z = membership(groups[name], n)
        cov += scales[f"tau_{name}"] ** 2 * z @ z.T
    prior = sum(positive(s, stats.halfnorm(0, 1)) for s in scales.values())
    return Proof(model, 4, logs(**scales), prior + normal(y, 3.0, cov))


def pumps() -> Proof:
    """Failures of pumps: their rates are integrated out, the counts become negative binomial."""
    hours = np.array([94.3, 15.7, 62.9, 126, 5.24, 31.4, 1.05, 1.05, 2.1, 10.5])
    failures = np.array([5, 1, 5, 14, 3, 19, 1, 1, 4, 22])
    with pm.Model() as model:
        alpha, beta = pm.Exponential("alpha", 1.0), pm.Gamma("beta", 0.1, 1.0)
        rate = pm.Gamma("rate", alpha, beta, shape=10)
        pm.Poisson("failures", rate * hours, observed=failures)
    prior = positive(1.3, stats.expon()) + positive(0.7, stats.gamma(0.1))
    counts = stats.nbinom(1.3, 0.7 / (0.7 + hours)).logpmf(failures).sum()
    return Proof(model, 2, logs(alpha=1.3, beta=0.7), prior + counts)


def rat_tumours() -> Proof:
    """Tumours of rats: the rates are integrated out, the counts become beta-binomial."""
    tumours, rats = np.array([0, 1, 2, 5, 4, 1, 9, 4, 2, 16]), np.array([20, 19, 23, 24, 20, 18, 22, 20, 19, 48])
    with pm.Model() as model:
        alpha, beta = pm.Gamma("alpha", 2, 1), pm.Gamma("beta", 2, 0.2)
        rate = pm.Beta("rate", alpha, beta, shape=10)
        pm.Binomial("tumours", rats, rate, observed=tumours)
    prior = positive(1.4, stats.gamma(2)) + positive(8.6, stats.gamma(2, scale=5.0))
    return Proof(model, 2, logs(alpha=1.4, beta=8.6), prior + stats.betabinom(rats, 1.4, 8.6).logpmf(tumours).sum())


def frailties() -> Proof:
    """A Poisson regression with exposures and a frailty for each of 40 groups, which are integrated out."""
    group, x, exposure = RNG.integers(0, 40, 400), RNG.normal(size=400), RNG.uniform(0.5, 2.0, 400)
    counts = RNG.poisson(exposure * np.exp(0.3 * x) * RNG.gamma(2.0, 0.5, 40)[group])
    with pm.Model() as model:
        slope, shape = pm.Normal("slope", 0, 1), pm.Exponential("shape", 1.0)
        frailty = pm.Gamma("frailty", shape, shape, shape=40)
        pm.Poisson("counts", exposure * pm.math.exp(slope * x) * frailty[group], observed=counts)
    mean, a = exposure * np.exp(0.2 * x), 1.7
    n, y = np.bincount(group, mean, 40), np.bincount(group, counts, 40)
    each = a * np.log(a) - special.gammaln(a) + special.gammaln(a + y) - (a + y) * np.log(a + n)
    rows = counts * np.log(mean) - special.gammaln(counts + 1)
    prior = stats.norm.logpdf(0.2) + positive(a, stats.expon())
    return Proof(model, 2, {"slope": 0.2, **logs(shape=a)}, prior + each.sum() + rows.sum())


def coal_mining() -> Proof:
    """Disasters in coal mines, two years missing: nothing is left to sample, every draw is exact."""
    years = np.arange(1851, 1962)
    with pm.Model() as model, warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # that two years are imputed
        change = pm.DiscreteUniform("change", years[0], years[-1])
        early, late = pm.Exponential("early", 1.0), pm.Exponential("late", 1.0)
        rate = pm.math.switch(change >= years, early, late)
        pm.Poisson("disasters", rate, observed=DISASTERS)
    seen = ~np.isnan(DISASTERS)

    def integrated(here) -> float:
        """∫ e^{-r} Π Poisson(y | r) dr, without the factorials."""
        y, n = DISASTERS[here & seen].sum(), (here & seen).sum()
        return special.gammaln(1.0 + y) - (1.0 + y) * np.log(1.0 + n)

    each = [integrated(years <= t) + integrated(years > t) for t in years]
    return Proof(model, 0, {}, special.logsumexp(each) - np.log(111) - special.gammaln(DISASTERS[seen] + 1).sum())


def hidden_states() -> Proof:
    """Three hidden states: the path is summed out by the forward recursion."""
    moves = np.array([[0.9, 0.08, 0.02], [0.1, 0.8, 0.1], [0.05, 0.15, 0.8]])
    y = RNG.normal(size=300) + np.repeat([-1.0, 0.5, 2.0], 100)
    with pm.Model() as model:
        level = pm.Normal("level", [-1.0, 0.0, 1.0], 0.5, shape=3)
        state = pm.DiscreteMarkovChain("state", P=moves, init_dist=pm.Categorical.dist(np.ones(3) / 3), shape=300)
        pm.Normal("y", level[state], 0.8, observed=y)
    at = np.array([-0.9, 0.3, 1.8])
    alpha = np.log(np.ones(3) / 3)
    for i, value in enumerate(y):
        alpha = alpha if not i else special.logsumexp(alpha[:, None] + np.log(moves), axis=0)
        alpha = alpha + stats.norm(at, 0.8).logpdf(value)
    prior = stats.norm([-1.0, 0.0, 1.0], 0.5).logpdf(at).sum()
    return Proof(model, 3, {"level": at}, prior + special.logsumexp(alpha))


def trend_in_time() -> Proof:
    """A level with a slope that walks, a cycle, a regression and missing times: five parameters are left of 189."""
    n = 60
    x, t = RNG.normal(size=n), np.arange(n)
    y = np.cumsum(np.cumsum(0.1 * RNG.normal(size=n)) + 0.3 * RNG.normal(size=n)) + 0.8 * x + RNG.normal(size=n)
    y[[3, 20, 21]] = np.nan
    with pm.Model() as model, warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # that three times are imputed
        bend, step, swing, noise = (pm.HalfNormal(name, 1) for name in ("bend", "step", "swing", "noise"))
        rho, beta = pm.Beta("rho", 2, 2), pm.Normal("beta", 0, 1)
        slope = pm.GaussianRandomWalk("slope", sigma=bend, init_dist=pm.Normal.dist(0, 1), shape=n)
        level = pm.GaussianRandomWalk("level", sigma=step, init_dist=pm.Normal.dist(0, 5), shape=n)
        cycle = pm.AR("cycle", rho, swing, init_dist=pm.Normal.dist(0, 1), shape=n)
        pm.Normal("y", level + pm.math.cumsum(slope) + cycle + beta * x, noise, observed=y)
    scales = {"bend": 0.3, "step": 0.4, "swing": 0.5, "noise": 0.9}
    back, sums, least = t[:, None] - t, np.tri(n), np.minimum(t[:, None], t)
    decay = np.where(back >= 0, 0.6 ** np.abs(back), 0.0)
    cov = 25.0 + 0.4**2 * least + sums @ (1.0 + 0.3**2 * least) @ sums.T
    cov += decay @ np.diag(np.where(t == 0, 1.0, 0.5**2)) @ decay.T + np.outer(x, x) + 0.9**2 * np.eye(n)
    seen = ~np.isnan(y)
    prior = sum(positive(s, stats.halfnorm(0, 1)) for s in scales.values()) + stats.beta(2, 2).logpdf(0.6)
    prior += np.log(0.6 * 0.4)  # of the logit
    point = {**logs(**scales), "rho_logodds__": special.logit(0.6)}
    return Proof(model, 5, point, prior + normal(y[seen], 0.0, cov[np.ix_(seen, seen)]))


def counts_of_two_kinds() -> Proof:
    """Counts of two kinds with unknown dispersions: the 2,000 labels are summed out."""
    counts = np.concatenate([RNG.negative_binomial(2, 0.5, 1000), RNG.poisson(9.0, 1000)])
    with pm.Model() as model:
        mean, spread = pm.Gamma("mean", 2, 0.5, shape=2), pm.Exponential("spread", 1.0, shape=2)
        kind = pm.Categorical("kind", [0.4, 0.6], shape=2000)
        pm.NegativeBinomial("y", mu=mean[kind], alpha=spread[kind], observed=counts)
    m, a = np.array([2.0, 8.0]), np.array([1.5, 4.0])
    each = np.log([0.4, 0.6]) + stats.nbinom(a, a / (a + m)).logpmf(counts[:, None])
    prior = positive(m, stats.gamma(2, scale=2.0)).sum() + positive(a, stats.expon()).sum()
    return Proof(model, 4, logs(mean=m, spread=a), prior + special.logsumexp(each, axis=1).sum())


def yes_or_no() -> Proof:
    """A logistic regression on categories: 100,000 rows become counts in a few cells."""
    floor, county = RNG.integers(0, 2, 100_000).astype(float), RNG.integers(0, 12, 100_000)
    y = RNG.integers(0, 2, 100_000)
    with pm.Model() as model:
        slope, level = pm.Normal("slope", 0, 1), pm.Normal("level", 0, 1, shape=12)
        pm.Bernoulli("y", logit_p=slope * floor + level[county], observed=y)
    at = np.linspace(-1.0, 1.0, 12)
    rows = 0.4 * floor + at[county]
    prior = stats.norm.logpdf(0.4) + stats.norm.logpdf(at).sum()
    return Proof(model, 13, {"slope": 0.4, "level": at}, prior + (y * rows - np.logaddexp(0.0, rows)).sum())


MODELS = [
    eight_schools, radon, crossed_effects, pumps, rat_tumours, frailties, coal_mining, hidden_states, trend_in_time,
    counts_of_two_kinds, yes_or_no,
]  # fmt: skip


def closures() -> None:
    """Laws of expressions of draws, against those of SciPy."""
    cases = {
        "2X - Y + 3": (2 * pm.Normal.dist(1, 3) - pm.Normal.dist(2, 4) + 3, stats.norm(3, np.sqrt(52))),
        "normal less half-normal": (pm.Normal.dist(1.0, 0.6) - pm.HalfNormal.dist(0.8), stats.skewnorm(-4 / 3, 1.0)),
        "normal and exponential": (pm.Normal.dist(0.5, 0.2) + pm.Exponential.dist(2.0), stats.exponnorm(2.5, 0.5, 0.2)),
        "the first of two": (pm.math.minimum(pm.Exponential.dist(1), pm.Exponential.dist(2)), stats.expon(0, 1 / 3)),
    }
    for name, (expression, law) in cases.items():
        found = float(pm.logp(expression, 0.9).eval())
        assert np.isclose(found, law.logpdf(0.9), rtol=1e-8), name
        print(f"  {name}: log-density {found:.4f} at 0.9, as SciPy has it")
    x = pm.tensor.dscalar("x")
    print(f"  log(exp(x) * exp(4 + x)) = {text(pm.simplify(pm.tensor.log(pm.tensor.exp(x) * pm.tensor.exp(4 + x))))}")


def checked(proof: Proof) -> tuple[Any, float]:
    """The plan of a model, and its log-density at the point, which is that of the textbook."""
    plan = pm.explain(proof.model)
    assert plan.ndim == proof.left, plan
    found = float(proof.model.compile_logp(rewrite=True)(proof.point))
    assert abs(found - proof.expected) < 1e-8 * max(1.0, abs(found)), (found, proof.expected)
    return plan, found


def main() -> None:
    closures()
    before, after = [], []
    for make in MODELS:
        proof = make()
        plan, found = checked(proof)
        print(f"\n{make.__name__}: {make.__doc__}\n{plan}")
        print(f"  log-density {found:.6f}, by the textbook {proof.expected:.6f}")
        before.append(plan.ndim_before)
        after.append(plan.ndim)
    draw([make.__name__.replace("_", " ") for make in MODELS], before, after, OUTPUT / "ten_models.png")


def draw(names, before, after, path: Path) -> None:
    """Dimensions as written and as sampled."""
    at = np.arange(len(names))[::-1]
    figure, axes = plt.subplots(figsize=(7, 4), layout="constrained")
    axes.hlines(at, np.maximum(after, 0.5), before, color="0.8", zorder=0)
    axes.plot(before, at, "o", color="0.5", label="as written")
    axes.plot(np.maximum(after, 0.5), at, "o", label="left to sample (at 0.5: none)")
    axes.set(xscale="log", xlabel="dimensions", yticks=at, yticklabels=names)
    axes.legend(frameon=False, fontsize=8)
    path.parent.mkdir(exist_ok=True)
    figure.savefig(path, dpi=150)
    plt.close(figure)


if __name__ == "__main__":
    main()
