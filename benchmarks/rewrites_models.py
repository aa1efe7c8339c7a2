"""What rewriting gains: each model rewritten, as written, and by PyMC with nutpie and with NumPyro, in one run.

python benchmarks/rewrites_models.py                 all models, a table; every measurement in a process of its own
python benchmarks/rewrites_models.py schools coal    some of them
python benchmarks/rewrites_models.py rows            microseconds a gradient by the number of rows
python benchmarks/rewrites_models.py chains          seconds to compile chains, and microseconds a gradient, both ways
python benchmarks/rewrites_models.py planning        milliseconds to plan models, and 1,000 random variables

The score is the smallest effective sample size over all entries of all variables, of their middle (bulk) and of their
quantiles (tail), by second; for the middle alone it is printed too (docs/decisions/010 says why both):

* in all: with everything from the import to the draws, in a fresh process with no programs on disk;
* imported: the same from where all packages are imported, ArviZ among them, so with compiling but without imports;
* apart from compiling: for us all of a second call (which finds the plan kept with the model), recovery, checks and the
  result included; for nutpie and NumPyro the time that PyMC says their sampler took.

Models with discrete variables run by our two ways and by PyMC's default, NUTS with Metropolis steps for the labels;
nutpie and NumPyro do not take them.
"""

from __future__ import annotations

import importlib
import json
import platform
import subprocess
import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from _process import environment

OURS = ("rewritten", "as written")
RIVALS = ("nutpie", "numpyro")
RIVALS_WITH_LABELS = ("pymc",)
EFFECTS, ERRORS = [28.0, 8.0, -3.0, 7.0, -1.0, 1.0, 18.0, 12.0], [15.0, 10.0, 16.0, 11.0, 9.0, 11.0, 10.0, 18.0]
DRAWS = {"draws": 1000, "tune": 1000, "chains": 2, "random_seed": 1, "progressbar": False}
ROUNDS = 5  # of which the quickest counts: the machine does other things too
CLOCKS = ("in all", "imported", "apart")
SCORES = {*CLOCKS, *(f"bulk {clock}" for clock in CLOCKS)}
RNG = np.random.default_rng(0)


def schools(pm: Any) -> None:
    """Eight schools, centered: as in the textbook."""
    mu, tau = pm.Normal("mu", 0, 5), pm.HalfCauchy("tau", 5)
    theta = pm.Normal("theta", mu, tau, shape=8)
    pm.Normal("y", theta, np.array(ERRORS), observed=np.array(EFFECTS))


def radon(pm: Any) -> None:
    """919 houses in 85 counties, intercepts and slopes by county."""
    county, floor = RNG.integers(0, 85, 919), RNG.integers(0, 2, 919).astype(float)
    y = 1.4 + 0.3 * RNG.normal(size=85)[county] - 0.6 * floor + 0.7 * RNG.normal(size=919)
    mu = pm.Normal("mu", 0, 10, shape=2)
    tau, sigma = pm.HalfNormal("tau", 1, shape=2), pm.HalfNormal("sigma", 1)
    a, b = pm.Normal("a", mu[0], tau[0], shape=85), pm.Normal("b", mu[1], tau[1], shape=85)
    pm.Normal("y", a[county] + b[county] * floor, sigma, observed=y)


def regression(pm: Any, rows: int = 100_000) -> None:
    """Ten coefficients and many rows."""
    x = RNG.normal(size=(rows, 10))
    beta, sigma = pm.Normal("beta", 0, 1, shape=10), pm.HalfNormal("sigma", 1)
    pm.Normal("y", pm.math.dot(x, beta), sigma, observed=x @ np.arange(10) / 10 + RNG.normal(size=rows))


def iid(pm: Any, rows: int = 100_000) -> None:
    """A location and a scale, many rows."""
    mu, sigma = pm.Normal("mu", 0, 10), pm.HalfNormal("sigma", 5)
    pm.Normal("y", mu, sigma, observed=RNG.normal(2.0, 1.5, rows))


def pumps(pm: Any) -> None:
    """Gamma and Poisson, ten of each."""
    hours = np.array([94.3, 15.7, 62.9, 126, 5.24, 31.4, 1.05, 1.05, 2.1, 10.5])
    alpha, beta = pm.Exponential("alpha", 1.0), pm.Gamma("beta", 0.1, 1.0)
    theta = pm.Gamma("theta", alpha, beta, shape=10)
    pm.Poisson("y", theta * hours, observed=np.array([5, 1, 5, 14, 3, 19, 1, 1, 4, 22]))


def rats(pm: Any) -> None:
    """Beta and binomial, 71 of each."""
    n = np.random.default_rng(3).integers(10, 52, 71)
    a, b = pm.Gamma("a", 2, 0.5), pm.Gamma("b", 2, 0.1)
    theta = pm.Beta("theta", a, b, shape=71)
    pm.Binomial("y", n, theta, observed=np.random.default_rng(4).binomial(n, RNG.beta(2.4, 14.3, 71)))


def counts(pm: Any) -> None:
    """Gamma and Poisson, 200 groups of five counts, by shape and mean."""
    group, rates = np.repeat(np.arange(200), 5), RNG.gamma(3.0, 1.0, 200)
    shape, mean = pm.HalfNormal("shape", 5), pm.HalfNormal("mean", 10)
    rate = pm.Gamma("rate", shape, shape / mean, shape=200)
    pm.Poisson("y", rate[group], observed=RNG.poisson(rates[group]))


def votes(pm: Any) -> None:
    """Dirichlet and multinomial, 25 districts with an unknown concentration."""
    shares = RNG.dirichlet([6.0, 3.0, 1.0], 25)
    size, middle = pm.HalfNormal("size", 20), pm.Dirichlet("middle", np.ones(3))
    share = pm.Dirichlet("share", size * middle, shape=(25, 3))
    pm.Multinomial("y", 60, share, observed=RNG.multinomial(60, shares))


def election(pm: Any) -> None:
    """1,500 votes by age, education, both, state and region, centered."""
    n, state, region = 1500, RNG.integers(0, 51, 1500), RNG.integers(0, 5, 51)
    age, school, x = RNG.integers(0, 4, n), RNG.integers(0, 4, n), RNG.integers(0, 2, (n, 2))
    line = 0.3 * RNG.normal(size=51)[state] - 1.6 * x[:, 0] + 0.2
    scale, beta = pm.HalfNormal("scale", 1, shape=5), pm.Normal("beta", 0, 10, shape=3)
    a, b = pm.Normal("a", 0, scale[0], shape=4), pm.Normal("b", 0, scale[1], shape=4)
    c, d = pm.Normal("c", 0, scale[2], shape=(4, 4)), pm.Normal("d", 0, scale[3], shape=51)
    e = pm.Normal("e", 0, scale[4], shape=5)
    line_of = beta[0] + beta[1] * x[:, 0] + beta[2] * x[:, 1] + a[age] + b[school] + c[age, school] + d[state]
    pm.Bernoulli("y", logit_p=line_of + e[region][state], observed=RNG.random(n) < 1 / (1 + np.exp(-line)))


def slopes(pm: Any) -> None:
    """500 answers of 100 people, correlated levels and slopes, centered."""
    person, x = np.repeat(np.arange(100), 5), RNG.normal(size=500)
    level, slope = RNG.multivariate_normal([1.0, 0.0], [[0.5, 0.2], [0.2, 0.5]], 100).T
    chol, _, _ = pm.LKJCholeskyCov("chol", n=2, eta=2.0, sd_dist=pm.Exponential.dist(1.0))
    u = pm.MvNormal("u", pm.Normal("mu", 0, 2, shape=2), chol=chol, shape=(100, 2))
    p = 1 / (1 + np.exp(-level[person] - slope[person] * x))
    pm.Bernoulli("y", logit_p=u[person, 0] + u[person, 1] * x, observed=RNG.random(500) < p)


def coal(pm: Any) -> None:
    """A change of rate at an unknown time."""
    years = np.arange(111)
    tau = pm.DiscreteUniform("tau", 0, 110)
    early, late = pm.Exponential("early", 1.0), pm.Exponential("late", 1.0)
    y = np.random.default_rng(2).poisson(np.where(years < 40, 3.0, 1.0))
    pm.Poisson("y", pm.math.switch(tau >= years, early, late), observed=y)


def nile(pm: Any) -> None:
    """A change of level at an unknown time, in a hundred normal rows."""
    years = np.arange(100)
    tau = pm.DiscreteUniform("tau", 0, 99)
    early, late = pm.Normal("early", 1000, 300), pm.Normal("late", 1000, 300)
    y = np.random.default_rng(6).normal(np.where(years < 28, 1100.0, 850.0), 130.0)
    pm.Normal("y", pm.math.switch(tau > years, early, late), pm.HalfNormal("sigma", 200), observed=y)


def rates(pm: Any) -> None:
    """Fifteen rates without a common prior."""
    rng = np.random.default_rng(7)
    theta = pm.Normal("theta", 0, 1.5, shape=15)
    pm.Binomial("y", 30, logit_p=theta, observed=rng.binomial(30, rng.uniform(0.1, 0.9, 15)))


def process(pm: Any) -> None:
    """A hundred values of a Gaussian process of known shape, with an unknown amplitude and noise."""
    rng, x = np.random.default_rng(8), np.linspace(0, 10, 100)
    shape = np.exp(-0.5 * (x[:, None] - x) ** 2)
    y = rng.multivariate_normal(np.zeros(100), 4.0 * shape + 0.25 * np.eye(100))
    amplitude, noise = pm.HalfNormal("amplitude", 3), pm.HalfNormal("noise", 1)
    pm.MvNormal("y", np.zeros(100), cov=amplitude**2 * shape + noise**2 * np.eye(100), observed=y)


def latent(pm: Any) -> None:
    """Fifteen values of a latent Gaussian process of unknown length, amplitude and noise, each seen once."""
    rng, x = np.random.default_rng(9), np.linspace(0, 10, 15)
    length, amplitude, noise = pm.InverseGamma("length", 5, 5), pm.HalfNormal("amplitude", 2), pm.HalfNormal("noise", 1)
    gaps = (x[:, None] - x) ** 2
    cov = amplitude**2 * pm.math.exp(-0.5 * gaps / length**2) + 1e-4 * np.eye(15)
    f = pm.MvNormal("f", np.zeros(15), cov=cov)
    pm.Normal("y", f, noise, observed=np.sin(x) + 0.3 * rng.normal(size=15))


def loop(pm: Any) -> None:
    """20 logistic regressions with a common law of levels, each variable written by itself in a Python loop."""
    mu, tau = pm.Normal("mu", 0, 1), pm.HalfNormal("tau", 1)
    rng = np.random.default_rng(5)
    for i in range(20):
        level, slope = pm.Normal(f"level{i}", mu, tau), pm.Normal(f"slope{i}", 0, 1)
        x = rng.normal(size=10 + i % 4)
        p = 1 / (1 + np.exp(-rng.normal() - rng.normal() * x))
        pm.Bernoulli(f"y{i}", logit_p=level + slope * x, observed=rng.random(x.size) < p)


HIERARCHIES = (pumps, rats, counts, votes)  # whose latents are conjugate
CENTERED = (election, slopes)  # of which nothing can be integrated out
MODELS: dict[str, Callable[..., None]] = {
    f.__name__: f
    for f in (*HIERARCHIES, *CENTERED, schools, radon, loop, regression, iid, coal, nile, rates, process, latent)
}
DISCRETE = {"coal", "nile"}


def run(name: str, backend: str, clock: str = "in all") -> dict[str, float]:
    """Seconds and effective draws of a model by one backend, measured in this process."""
    if clock == "imported":
        for package in ("arviz", "ppl") if backend in OURS else ("pymc", backend):
            importlib.import_module(package)
    began = time.perf_counter()
    options: dict[str, Any] = {}
    if backend in OURS:
        import ppl as pm

        options["rewrite"] = backend == "rewritten"
    else:
        import pymc as pm

        options["nuts_sampler"] = backend
    with pm.Model():
        MODELS[name](pm)
        result = pm.sample(**DRAWS, **options)
        seconds = time.perf_counter() - began
        found = {
            clock: least_ess(result) / seconds,
            f"bulk {clock}": least_ess(result, "bulk") / seconds,
            f"seconds {clock}": seconds,
        }
        if clock == "imported":
            return found
        if "rewrite" not in options:
            seconds = float(result.posterior.attrs["sampling_time"])
        else:
            began = time.perf_counter()
            result = pm.sample(**{**DRAWS, "random_seed": 2}, **options)
            seconds = time.perf_counter() - began
    return {
        **found,
        "apart": least_ess(result) / seconds,
        "bulk apart": least_ess(result, "bulk") / seconds,
        "seconds apart": seconds,
        "bulk": least_ess(result, "bulk"),
        "tail": least_ess(result, "tail"),
    }


def least_ess(result: Any, *methods: str) -> float:
    """The smallest effective sample size over all entries of all variables, of bulk and tail unless one is named."""
    import arviz

    sizes = [arviz.ess(result.posterior, method=method) for method in methods or ("bulk", "tail")]
    return min(float(np.nanmin(ess[v].values)) for ess in sizes for v in ess.data_vars)


def rows() -> dict[str, float]:
    """Microseconds a gradient of the two models with many rows, of 100 in a loop, by the number of rows."""
    import ppl as pm
    from ppl.model.posterior.rewriting import rewritten

    found = {}
    for name, model_of in (("iid", iid), ("regression", regression)):
        for n in (10_000, 100_000, 1_000_000, 10_000_000):
            with pm.Model() as model:
                model_of(pm, n)
            posterior = rewritten(model, protect=["mu"] if name == "iid" else ["beta"])
            found[f"{name}, {n} rows [us a gradient]"] = _microseconds(posterior, 100)
    return found


def _microseconds(posterior: Any, in_turn: int = 1) -> float:
    """What a gradient takes where sampling starts, so many of them in a loop as a sampler makes them."""
    import jax

    from ppl.compile.density import FlatProgram, scalar
    from ppl.model.starting.start_points import starts_for

    starts = starts_for(posterior, None, 1, 1, False)
    density = FlatProgram([posterior.logp()], starts.slots, once=posterior.of_data)
    with jax.enable_x64(True):
        gradient = jax.grad(scalar(density))
        move = lambda x, data: x + 1e-9 * gradient(x, *data)
        step = jax.jit(lambda x, *data: jax.lax.fori_loop(0, in_turn, lambda _, x: move(x, data), x))
        at, data = np.asarray(starts(0, 0)), density.data
        jax.block_until_ready(step(at, *data))
        rounds = []
        for _ in range(ROUNDS):
            began = time.perf_counter()
            for _ in range(200):
                result = step(at, *data)
            jax.block_until_ready(result)
            rounds.append(time.perf_counter() - began)
        return min(rounds) / 200 / in_turn * 1e6


def chains() -> dict[str, float]:
    """Seconds of a first run less a second, and microseconds a gradient, of latent paths rewritten and as written."""
    import ppl as pm
    from ppl.model.posterior.rewriting import rewritten

    found, few = {}, {**DRAWS, "draws": 10, "tune": 10, "chains": 1, "quiet": True, "compute_convergence_checks": False}
    with pm.Model():  # what a first run of any model takes is not counted
        schools(pm)
        pm.sample(**few)
    for title, written in PATHS.items():
        for way in OURS:
            with pm.Model() as model:
                written(pm)
                times = [time.perf_counter()]
                for _ in range(2):
                    pm.sample(**few, rewrite=way == "rewritten")
                    times.append(time.perf_counter())
            found[f"{title}, {way} [s to compile]"] = 2 * times[1] - times[0] - times[2]
            posterior = rewritten(model, way == "rewritten")
            found[f"{title}, {way} [us a gradient]"] = _microseconds(posterior)
            found[f"{title}, {way} [us a gradient of 100 in a loop]"] = _microseconds(posterior, 100)
    return found


def _walks(pm: Any, count: int, steps: int = 200) -> None:
    """Coefficients that walk, all in each row."""
    scale, start = pm.HalfNormal("scale", 0.5, shape=count), pm.Normal.dist(0, 1)
    x = RNG.normal(size=(count, steps))
    walks = [pm.GaussianRandomWalk(f"walk{k}", sigma=scale[k], init_dist=start, shape=steps) for k in range(count)]
    y = np.sum(x * np.cumsum(0.2 * RNG.normal(size=x.shape), axis=1), axis=0) + RNG.normal(size=steps)
    pm.Normal("y", sum(w * xs for w, xs in zip(walks, x, strict=True)), pm.HalfNormal("sigma", 2), observed=y)


def _level(pm: Any, steps: int = 1000) -> None:
    """A level that walks and an autoregression, every tenth value missing."""
    seen = np.flatnonzero(np.arange(steps) % 10)
    walk, noise = pm.HalfNormal("walk", 1), pm.HalfNormal("noise", 1)
    level = pm.GaussianRandomWalk("level", sigma=walk, init_dist=pm.Normal.dist(0, 5), shape=steps)
    rho = pm.Uniform("rho", -1, 1)
    cycle = pm.AR("cycle", [rho], sigma=pm.HalfNormal("push", 1), init_dist=pm.Normal.dist(0, 1), shape=steps)
    y = np.cumsum(0.3 * RNG.normal(size=steps)) + RNG.normal(size=steps)
    pm.Normal("y", (level + cycle)[seen], noise, observed=y[seen])


PATHS: dict[str, Callable[..., None]] = {
    "two walks of 200 steps": lambda pm: _walks(pm, 2), "six walks of 200 steps": lambda pm: _walks(pm, 6),
    "level and AR, 1000 steps": _level,
}  # fmt: skip


def planning() -> dict[str, float]:
    """Milliseconds to plan models for the first time in a process: those above, those of the tests, 1,000 variables."""
    import ppl as pm

    found = {name: _planned(lambda pm, name=name: MODELS[name](pm)) for name in MODELS}
    sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests"))
    import models_of_pymc
    import proof_models

    import ppl.tensor as tt

    others = {proof.name: pm.explain(proof.model()).milliseconds for proof in proof_models.PROOFS}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # values are missing, on purpose
        for name, build in models_of_pymc.MODELS.items():
            others[name] = _planned(lambda pm, build=build: build(pm, tt))
    slowest = sorted(others, key=others.__getitem__)[-3:]
    found |= {f"{name}, among the slowest of {len(others)} more": others[name] for name in reversed(slowest)}
    found |= {title: _planned(written) for title, written in THOUSANDS.items()}
    return {f"{title} [ms]": value for title, value in found.items()}


def _planned(written: Callable[..., None]) -> float:
    import ppl as pm

    with pm.Model() as model:
        written(pm)
    return pm.explain(model).milliseconds


def _many(pm: Any) -> None:
    scale = pm.HalfNormal("scale", 1)
    for i in range(500):
        pm.Normal(f"y{i}", pm.Normal(f"x{i}", 0, scale), 1, observed=0.0)


def _chain(pm: Any) -> None:
    z = [pm.Categorical("z0", [0.5, 0.5])]
    for t in range(1, 1000):
        z.append(pm.Categorical(f"z{t}", pm.math.constant([[0.9, 0.1], [0.2, 0.8]])[z[-1]]))
    pm.Normal("y", pm.math.stack(z), 1.0, observed=np.zeros(1000))


def _walk(pm: Any) -> None:
    scale, x = pm.HalfNormal("scale", 1), pm.Normal("x0", 0, 1)
    for t in range(1, 500):
        x = pm.Normal(f"x{t}", x, scale)
        pm.Normal(f"y{t}", x, 1, observed=0.0)


def _rates(pm: Any) -> None:
    for i in range(500):
        pm.Binomial(f"y{i}", 10, pm.Beta(f"p{i}", 1, 1), observed=3)


def _grid(pm: Any) -> None:
    """Four chains of labels side by side, of which sums are seen."""
    before: list[Any] = []
    for t in range(60):
        here = [pm.Bernoulli(f"z{t}_{k}", pm.math.switch(before[k], 0.9, 0.2) if before else 0.5) for k in range(4)]
        pm.Normal(f"y{t}", sum(1.0 * z for z in here), 1, observed=0.1)
        before = here


THOUSANDS = {
    "1000 normal variables": _many, "1000 labels in a chain": _chain, "1000 of a walk": _walk,
    "1000 rates and counts": _rates, "300 of four chains of labels": _grid,
}  # fmt: skip
ALONE = {"rows": rows, "chains": chains, "planning": planning}


def measured(*task: str) -> dict[str, float]:
    """The numbers of a task, from a fresh process; none where it cannot run."""
    alone = environment(PPL_DISK_CACHE="0")  # what is compiled is measured
    done = subprocess.run([sys.executable, __file__, "--one", *task], capture_output=True, text=True, env=alone)
    lines = [line for line in done.stdout.splitlines() if line.startswith("{")]
    if done.returncode or not lines:
        reason = done.stderr.strip().splitlines()[-1:] or ["no output"]
        print(f"{' '.join(task)}: {reason[0]}", file=sys.stderr)
        return {}
    return json.loads(lines[-1])


def report(names: list[str]) -> None:
    """Measure and print."""
    print(f"Python {platform.python_version()}, {versions()}")
    for name in names:
        if name in ALONE:
            for title, value in measured(name).items():
                print(f"  {title:60} {value:10.2f}", flush=True)
            continue
        backends = OURS + (RIVALS_WITH_LABELS if name in DISCRETE else RIVALS)
        table = {b: found | measured(name, b, "imported") for b in backends if (found := measured(name, b))}
        print(f"{name}: {(MODELS[name].__doc__ or '').strip()}")
        for b, row in table.items():
            print(
                f"  {b:12} {row['in all']:9.1f} ESS/s in all ({row['seconds in all']:6.2f} s), {row['imported']:9.1f} "
                f"imported ({row['seconds imported']:6.2f} s), {row['apart']:10.1f} apart from compiling "
                f"({row['seconds apart']:7.3f} s, least ESS {row['bulk']:.0f} bulk, {row['tail']:.0f} tail)",
                flush=True,
            )
        for b, row in table.items():
            if b != "rewritten" and "rewritten" in table:
                gains = {key: table["rewritten"][key] / row[key] for key in table["rewritten"] if key in SCORES}
                told = [f"{gains[key]:.2f} times {key}, bulk alone {gains[f'bulk {key}']:.2f}" for key in CLOCKS]
                print(f"    rewritten by {b}: {'; '.join(told)}")


def versions() -> str:
    """The versions of the packages that take part."""
    from importlib.metadata import PackageNotFoundError, version

    found = []
    for package in ("jax", "pymc", "nutpie", "numpyro"):
        try:
            found.append(f"{package} {version(package)}")
        except PackageNotFoundError:
            continue
    return ", ".join(found)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--one"]:
        task = sys.argv[2:]
        print(json.dumps(ALONE[task[0]]() if task[0] in ALONE else run(*task)))
    else:
        report(sys.argv[1:] or [*MODELS, *ALONE])
