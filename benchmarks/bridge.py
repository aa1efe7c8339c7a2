"""Models of the real PyMC by `ppl.from_pymc`: milliseconds of the processor, dimensions after rewriting, densities.

python benchmarks/bridge.py                    the models below; PyMC has to be installed
python benchmarks/bridge.py --models FILE.py   the functions of a file instead, each of (pm, pt), which return a model
python benchmarks/bridge.py --densities        also compared with PyMC's log-density and gradient at three points
python benchmarks/bridge.py --profile NAME     where the time of one model goes

Each model is converted five times: `first` is the first time in this process, which also loads what the model needs,
`ms` the least of the others. A model that is refused is told in the words of its error.
"""

from __future__ import annotations

import argparse
import cProfile
import importlib.util
import pstats
import statistics
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import ppl

RNG = np.random.default_rng(5)
Build = Callable[[Any, Any], Any]
REPEATS = 5


def eight_schools(pm: Any, pt: Any) -> Any:
    y, s = np.array([28.0, 8, -3, 7, -1, 1, 18, 12]), np.array([15.0, 10, 16, 11, 9, 11, 10, 18])
    with pm.Model(coords={"school": np.arange(8)}) as model:
        tau = pm.HalfCauchy("tau", 5)
        theta = pm.Normal("theta", pm.Normal("mu", 0, 5), tau, dims="school")
        pm.Normal("y", theta, s, observed=y, dims="school")
    return model


def radon(pm: Any, pt: Any) -> Any:
    """Varying intercepts and slopes with an LKJ prior, by dims and Data."""
    counties, n = 85, 919
    with pm.Model(coords={"county": np.arange(counties), "effect": ["a", "b"]}) as model:
        floor = pm.Data("floor", RNG.integers(0, 2, n).astype(float), dims="house")
        county = pm.Data("county_of", RNG.integers(0, counties, n), dims="house")
        chol, _, _ = pm.LKJCholeskyCov("chol", n=2, eta=2.0, sd_dist=pm.Exponential.dist(1.0))
        z = pm.Normal("z", dims=("effect", "county"))
        ab = pm.Deterministic("ab", pm.Normal("mu", dims="effect") + pt.dot(chol, z).T, dims=("county", "effect"))
        mu = ab[county, 0] + ab[county, 1] * floor
        pm.Normal("y", mu, pm.Exponential("sigma", 1), observed=RNG.normal(size=n), dims="house")
    return model


def logistic(pm: Any, pt: Any) -> Any:
    with pm.Model(coords={"column": np.arange(20)}) as model:
        x = pm.Data("x", RNG.normal(size=(500, 20)), dims=("row", "column"))
        eta = pm.Normal("intercept") + x @ pm.Normal("beta", dims="column")
        pm.Bernoulli("y", p=pm.math.invlogit(eta), observed=RNG.integers(0, 2, 500), dims="row")
    return model


def media_mix(pm: Any, pt: Any) -> Any:
    """Carry-over of eight weeks and saturation of six channels, with seasons: the largest of these graphs."""
    weeks, channels, lags = 120, 6, 8
    spend, season = RNG.random((weeks, channels)), RNG.normal(size=(weeks, 4))
    with pm.Model(coords={"week": np.arange(weeks), "channel": np.arange(channels), "wave": np.arange(4)}) as model:
        x = pm.Data("spend", spend, dims=("week", "channel"))
        waves = pm.Data("season", season, dims=("week", "wave"))
        kept, steep = pm.Beta("kept", 1, 3, dims="channel"), pm.Gamma("steep", 3, 1, dims="channel")
        beta = pm.HalfNormal("beta", 2, dims="channel")
        effects = []
        for c in range(channels):
            moved = [pt.concatenate([pt.zeros(i), x[: x.shape[0] - i, c]]) for i in range(lags)]
            weights = pt.as_tensor_variable([pt.power(kept[c], i) for i in range(lags)])
            carried = pt.dot(weights / weights.sum(), pt.stack(moved))
            saturated = (1 - pt.exp(-steep[c] * carried)) / (1 + pt.exp(-steep[c] * carried))
            effects.append(beta[c] * saturated)
        effect = pm.Deterministic("effect", pt.stack(effects, axis=1), dims=("week", "channel"))
        mu = pm.Normal("intercept") + effect.sum(axis=-1) + waves @ pm.Normal("gamma", dims="wave")
        pm.Normal("y", mu, pm.HalfNormal("sigma"), observed=RNG.normal(size=weeks), dims="week")
    return model


def mixture(pm: Any, pt: Any) -> Any:
    with pm.Model(coords={"k": np.arange(3)}) as model:
        w = pm.Dirichlet("w", np.ones(3), dims="k")
        ordered = pm.distributions.transforms.ordered
        mu = pm.Normal("mu", 0, 5, dims="k", transform=ordered, initval=[-1.0, 0.0, 1.0])
        pm.NormalMixture("y", w=w, mu=mu, sigma=pm.HalfNormal("s", 2, dims="k"), observed=RNG.normal(size=200))
    return model


def item_response(pm: Any, pt: Any) -> Any:
    with pm.Model(coords={"person": np.arange(60), "item": np.arange(12)}) as model:
        ability = pm.ZeroSumNormal("ability", dims="person")
        eta = pm.LogNormal("a", 0, 0.5, dims="item") * (ability[:, None] - pm.Normal("b", 0, 1, dims="item"))
        pm.Bernoulli("y", logit_p=eta, observed=RNG.integers(0, 2, (60, 12)), dims=("person", "item"))
    return model


def gaussian_process(pm: Any, pt: Any) -> Any:
    x = np.linspace(0, 1, 60)[:, None]
    with pm.Model() as model:
        cov = pm.HalfNormal("eta") ** 2 * pm.gp.cov.Matern52(1, pm.Gamma("length", 2, 1))
        cov = cov + pm.gp.cov.Periodic(1, period=1, ls=pm.Gamma("smooth", 2, 1))
        gp = pm.gp.Marginal(cov_func=cov)
        gp.marginal_likelihood("y", X=x, y=RNG.normal(size=60), sigma=pm.HalfNormal("sigma"))
    return model


def spectral_process(pm: Any, pt: Any) -> Any:
    with pm.Model() as model:
        x = pm.Data("x", np.linspace(0, 1, 80)[:, None])
        cov = pm.HalfNormal("eta") ** 2 * pm.gp.cov.ExpQuad(1, pm.LogNormal("length"))
        f = pm.gp.HSGP(m=[20], c=1.5, cov_func=cov).prior("f", X=x)
        pm.Poisson("y", pt.exp(f), observed=RNG.poisson(2, 80))
    return model


def vector_autoregression(pm: Any, pt: Any) -> Any:
    y, lags = RNG.normal(size=(60, 3)), 3
    with pm.Model(coords={"equation": list("abc"), "cause": list("abc"), "lag": np.arange(lags)}) as model:
        a = pm.Normal("a", 0, 0.3, dims=("lag", "equation", "cause"))
        means = [pm.Normal("c", dims="equation")]
        means += [pt.dot(y[lags - i : len(y) - i], a[i - 1].T) for i in range(1, lags + 1)]
        chol, _, _ = pm.LKJCholeskyCov("chol", n=3, eta=1.0, sd_dist=pm.Exponential.dist(1.0))
        pm.MvNormal("y", mu=sum(means), chol=chol, observed=y[lags:])
    return model


def hidden_markov(pm: Any, pt: Any) -> Any:
    """The forward recursion written as a Python loop: a deep graph."""
    y = RNG.poisson(3, 60)
    with pm.Model() as model:
        moves = pt.log(pm.Dirichlet("moves", np.ones((3, 3))))
        rate = pm.Gamma("rate", [2.0, 5.0, 9.0], 1.0)
        forward = pm.logp(pm.Poisson.dist(rate), y[0]) - np.log(3)
        for count in y[1:]:
            forward = pt.logsumexp(forward[:, None] + moves, axis=0) + pm.logp(pm.Poisson.dist(rate), count)
        pm.Potential("likelihood", pt.logsumexp(forward))
    return model


def time_series(pm: Any, pt: Any) -> Any:
    with pm.Model(coords={"time": np.arange(100)}) as model:
        trend = pm.GaussianRandomWalk(
            "trend", sigma=pm.HalfNormal("step", 0.1), init_dist=pm.Normal.dist(0, 1), dims="time"
        )
        noise = pm.AR("noise", pm.Normal("rho", 0, 0.5, shape=2), sigma=1.0, init_dist=pm.Normal.dist(), dims="time")
        pm.StudentT("y", 4, mu=trend + noise, sigma=pm.HalfNormal("sigma"), observed=RNG.normal(size=100), dims="time")
    return model


def survival(pm: Any, pt: Any) -> Any:
    time_, seen, x = RNG.exponential(2, 80), RNG.integers(0, 2, 80).astype(bool), RNG.normal(size=(80, 3))
    with pm.Model(coords={"column": np.arange(3)}) as model:
        scale = pt.exp(pm.Normal("a") + x @ pm.Normal("b", dims="column"))
        upper = np.where(seen, np.inf, time_)
        pm.Censored("t", pm.Weibull.dist(pm.HalfNormal("shape", 2), scale), None, upper, observed=time_)
    return model


def named_dims(pm: Any, pt: Any) -> Any:
    import pymc.dims as pmd

    with pm.Model(coords={"row": np.arange(50), "column": np.arange(4)}) as model:
        x = pmd.Data("x", RNG.normal(size=(50, 4)), dims=("row", "column"))
        beta = pmd.Normal("beta", 0, 1, dims="column")
        mu = pmd.Normal("a", 0, 1) + x.dot(beta)
        y = pmd.Data("y_seen", RNG.normal(size=50), dims="row")
        pmd.Normal("y", mu, pmd.HalfNormal("s", 1), observed=y, dims="row")
    return model


OURS: list[Build] = [
    eight_schools, radon, logistic, media_mix, mixture, item_response, gaussian_process, spectral_process,
    vector_autoregression, hidden_markov, time_series, survival, named_dims,
]  # fmt: skip


class Row(NamedTuple):
    """What is known of one model once it was converted."""

    name: str
    nodes: int
    first: float
    least: float
    dims: str
    away: str

    def __str__(self) -> str:
        return f"{self.name:24} {self.nodes:6} {self.first:8.0f} {self.least:8.1f}  {self.dims:>12}  {self.away}"


def nodes_of(model: Any) -> int:
    """How many applications the graph of random variables holds."""
    seen: set[int] = set()
    stack = [*model.basic_RVs, *model.deterministics, *model.potentials]
    while stack:
        node = stack.pop().owner
        if node is not None and id(node) not in seen:
            seen.add(id(node))
            stack.extend(node.inputs)
    return len(seen)


def milliseconds(model: Any) -> Iterator[float]:
    """Processor time of each conversion."""
    for _ in range(REPEATS):
        start = time.process_time()
        ppl.from_pymc(model)
        yield 1000 * (time.process_time() - start)


def farthest(source: Any, made: Any) -> float:
    """The largest relative difference of log-densities and gradients at three points near the start."""
    theirs = source.compile_fn([source.logp(), source.dlogp()], on_unused_input="ignore")
    values = [made.rvs_to_values[made[v.name]] for v in source.free_RVs]
    ours = made.compile_fn([made.logp(), made.dlogp(vars=[v for v in values if v.dtype.startswith("f")])])
    rng, found = np.random.default_rng(3), 0.0
    start = source.initial_point(random_seed=0)
    for _ in range(3):
        point = {k: v + rng.uniform(-0.3, 0.3, np.shape(v)) if v.dtype.kind == "f" else v for k, v in start.items()}
        for a, b in zip(ours(point), theirs(point), strict=True):
            found = max(found, float(np.abs(a - b).max(initial=0) / max(1.0, np.abs(b).max(initial=0))))
    return found


def row(build: Build, pm: Any, pt: Any, densities: bool) -> Row:
    """One model, converted and looked at."""
    source = build(pm, pt)
    try:
        first, *more = milliseconds(source)
    except NotImplementedError as error:
        return Row(build.__name__, nodes_of(source), np.nan, np.nan, "refused", str(error))
    made = ppl.from_pymc(source)
    plan = ppl.explain(made)
    away = f"{farthest(source, made):.0e}" if densities else ""
    return Row(build.__name__, nodes_of(source), first, min(more), f"{plan.ndim_before} -> {plan.ndim}", away)


def functions_of(path: Path) -> list[Build]:
    """The public functions of a file."""
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    own = (f for f in vars(module).values() if callable(f) and getattr(f, "__module__", "") == path.stem)
    return [f for f in own if not f.__name__.startswith("_")]


def profiled(model: Any) -> None:
    """Where the time of a conversion goes, once everything is loaded."""
    ppl.from_pymc(model)
    profile = cProfile.Profile(time.process_time)
    profile.runcall(ppl.from_pymc, model)
    pstats.Stats(profile).sort_stats("cumulative").print_stats(45)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--models", type=Path)
    parser.add_argument("--densities", action="store_true")
    parser.add_argument("--profile")
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    import pymc as pm
    import pytensor.tensor as pt

    builds = functions_of(given.models) if given.models else OURS
    if given.profile:
        profiled(next(b for b in builds if b.__name__ == given.profile)(pm, pt))
        return
    print(f"{'model':24} {'nodes':>6} {'first':>8} {'ms':>8}  {'dimensions':>12}  {'away' if given.densities else ''}")
    rows = []
    for build in builds:
        rows.append(row(build, pm, pt, given.densities))
        print(rows[-1], flush=True)
    times = [r.least for r in rows if np.isfinite(r.least)]
    print(f"{len(times)} of {len(rows)} converted; median {statistics.median(times):.1f} ms, most {max(times):.1f} ms")


if __name__ == "__main__":
    main()
