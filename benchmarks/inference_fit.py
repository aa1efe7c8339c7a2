"""Approximations against rivals: from a model to draws, to the optimum, a step, Pathfinder.

    python benchmarks/inference_fit.py                    every section
    python benchmarks/inference_fit.py process gradients  some of them

process     eight schools, `fit` and 1,000 draws, in a second process: seconds after the import
gradients   gradients until the means are within 0.05 sd of those of the best mean field, and stay there, of ours; until
            they are there for the first time, or their average over the last half of the steps is, of NumPyro's
            AutoNormal with Adam(0.01), on the same log-density
steps       microseconds of a stochastic step (PyMC's ADVI with Adam; NumPyro's SVI)
pathfinder  four paths and 1,000 draws in a fresh process: seconds after the import; BlackJAX on the same log-density

Losses are printed as they are. Rivals that are not installed are left out.
"""

from __future__ import annotations

import importlib.util
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from _process import environment
from sampler_targets import Target as Kept
from sampler_targets import correlated, eight_schools, logistic

from ppl.samplers.approximate.mean_field import mean_field
from ppl.samplers.approximate.target import Target

NEAR = 0.05  # standard deviations
EIGHT = """
import sys, time
import numpy as np
import ppl as pm
began, used = time.perf_counter(), time.process_time()
with pm.Model():
    mu, tau, t = pm.Normal("mu", 0, 5), pm.HalfCauchy("tau", 5), pm.Normal("t", 0, 1, shape=8)
    pm.Normal("y", mu + tau * t, np.array([15., 10, 16, 11, 9, 11, 10, 18]),
              observed=np.array([28., 8, -3, 7, -1, 1, 18, 12]))
    draws = pm.fit(progressbar=False, random_seed=1{options}).sample(1000)
print(time.perf_counter() - began, time.process_time() - used)
"""


def has(package: str) -> bool:
    return importlib.util.find_spec(package) is not None


def process() -> None:
    """Eight schools through the door that users take, in processes of their own."""
    kinds = {
        "default": "",
        "as written": ", rewrite=False",
        "full rank, as written": ", method='fullrank_advi', rewrite=False",
    }
    for title, options in kinds.items():
        runs = [_run(EIGHT.replace("{options}", options)) for _ in range(4)]
        best = min(runs[1:])
        print(f"  {title:32} first {runs[0][0]:6.2f} s, second process {best[0]:6.2f} s, processor {best[1]:6.2f} s")


def _run(code: str) -> list[float]:
    done = subprocess.run([sys.executable, "-c", code], env=environment(), capture_output=True, text=True, check=True)
    return [float(x) for x in done.stdout.split()[-2:]]


def funnel_of_groups() -> Any:
    """Counts in groups, centered, with an unknown scale."""
    import jax.numpy as jnp

    y = np.random.default_rng(1).poisson(np.exp(1 + 0.5 * np.random.default_rng(2).standard_normal(20)))

    def logp(x: Any, y: Any) -> Any:
        mu, s, a = x[0], x[1], x[2:]
        rows = jnp.sum(y * a - jnp.exp(a))
        return rows - 0.5 * jnp.sum((a - mu) ** 2) * jnp.exp(-2 * s) - 20 * s - 0.5 * mu**2 - 0.5 * s**2

    return logp, (np.asarray(y, float),), 22


def regression(rows: int) -> Any:
    """Normal rows of unknown scale."""
    import jax.numpy as jnp

    rng = np.random.default_rng(rows)
    X = rng.standard_normal((rows, 5)) @ (np.eye(5) + 0.5)
    y = X @ np.arange(5) + rng.standard_normal(rows)

    def logp(x: Any, X: Any, y: Any) -> Any:
        away = y - X @ x[:5]
        return (
            -0.5 * jnp.sum(away**2) * jnp.exp(-2 * x[5]) - rows * x[5] - 0.005 * jnp.sum(x[:5] ** 2) - 0.5 * x[5] ** 2
        )

    return logp, (X, y), 6


def poisson_regression() -> Any:
    import jax.numpy as jnp

    rng = np.random.default_rng(3)
    X = rng.standard_normal((200, 4))
    y = rng.poisson(np.exp(0.3 * X.sum(axis=1))).astype(float)
    return lambda b, X, y: jnp.sum(y * (X @ b) - jnp.exp(X @ b)) - 0.5 * jnp.sum(b**2), (X, y), 4


def student_regression() -> Any:
    import jax.numpy as jnp

    rng = np.random.default_rng(4)
    X = rng.standard_normal((100, 3))
    y = X @ [1.0, 2.0, 3.0] + rng.standard_t(3, 100)
    return lambda b, X, y: -2 * jnp.sum(jnp.log1p((y - X @ b) ** 2 / 3)) - 0.5 * jnp.sum(b**2) / 25, (X, y), 3


def as_written(target: Any) -> tuple[Callable[..., Any], tuple[Any, ...], int]:
    """A target of the other benchmarks: its log-density, data and number of dimensions."""
    return (target.logp, target.data, target.dim) if isinstance(target, Kept) else target


MODELS: dict[str, Callable[[], Any]] = {
    "eight schools": eight_schools,
    "correlated normal, 20": lambda: correlated(20, 0.9),
    "logistic 200 x 5": lambda: logistic(200, 5),
    "logistic 2000 x 10": lambda: logistic(2000, 10),
    "regression, 30 rows": lambda: regression(30),
    "regression, 1000 rows": lambda: regression(1000),
    "counts in groups": funnel_of_groups,
    "Poisson regression": poisson_regression,
    "Student t regression": student_regression,
    "correlated normal, 5": lambda: correlated(5, 0.5),
}


def gradients() -> None:
    """Gradients to the best mean field."""
    ratios = []
    for title, make in MODELS.items():
        logp, data, dim = as_written(make())
        truth = _best(logp, data, dim)
        ours, seconds = _ours(logp, data, dim, truth)
        line = f"  {title:24} dim {dim:3}  ours {ours:6}, {seconds:5.2f} s processor"
        if has("numpyro"):
            theirs = _numpyro(logp, data, dim, truth)
            line += f"  NumPyro {theirs:6}  ratio {ours / theirs:6.3f}"
            ratios.append(ours / theirs)
        print(line, flush=True)
    if ratios:
        print(f"  geometric mean of the ratios: {np.exp(np.mean(np.log(ratios))):.3f}")


def _best(logp: Any, data: Any, dim: int) -> tuple[np.ndarray, np.ndarray]:
    """The best mean field by many more draws."""
    from ppl.samplers.approximate import mean_field as module
    from ppl.samplers.approximate.draws import antithetic

    target = Target(logp, dim, data)
    found = mean_field(target, np.zeros(dim), respond=False)
    mean, sd, _ = module._fitted(target, antithetic(2048, dim, 1), found.mean, found.sd, 100, 1e-6, [], None)
    return mean, sd


def _near(mean: np.ndarray, truth: tuple[np.ndarray, np.ndarray]) -> bool:
    return bool(np.max(np.abs(mean - truth[0]) / truth[1]) < NEAR)


def _ours(logp: Any, data: Any, dim: int, truth: Any) -> tuple[int, float]:
    target, seen = Target(logp, dim, data), []
    target(np.zeros((1, dim)))
    target.evaluations, began = 0, time.process_time()
    watch = lambda mean, sd, loss: seen.append((target.evaluations, _near(mean, truth)))
    mean_field(target, np.zeros(dim), respond=False, watch=watch)
    seconds = time.process_time() - began
    far = [count for count, near in seen if not near]
    if not seen[-1][1]:
        print("    ours did not end within 0.05 sd of it")
    return next((count for count, near in seen if near and count > max(far, default=0)), seen[-1][0]), seconds


def _numpyro(logp: Any, data: Any, dim: int, truth: Any, most: int = 20_000) -> int:
    import jax
    import numpyro
    import numpyro.distributions as dist
    from numpyro.infer import SVI, Trace_ELBO
    from numpyro.infer.autoguide import AutoNormal

    jax.config.update("jax_enable_x64", True)

    def model() -> None:
        x = numpyro.sample("x", dist.ImproperUniform(dist.constraints.real_vector, (), (dim,)))
        numpyro.factor("density", logp(x, *data))

    svi = SVI(model, AutoNormal(model), numpyro.optim.Adam(0.01), Trace_ELBO())
    state = svi.init(jax.random.PRNGKey(0))
    some = jax.jit(lambda state: jax.lax.fori_loop(0, 20, lambda i, s: svi.update(s)[0], state))
    means: list[np.ndarray] = []
    for i in range(0, most, 20):
        means.append(np.asarray(svi.get_params(state)["x_auto_loc"]))
        if _near(means[-1], truth) or _near(np.mean(means[len(means) // 2 :], axis=0), truth):
            return max(20, i)
        state = some(state)
    print(f"    NumPyro is not there after {most} steps")
    return most


def steps() -> None:
    """Microseconds of a stochastic step."""
    import ppl as pm
    from ppl.variational.operators import KL
    from ppl.variational.steps import Steps

    for title, model in {"eight schools": _schools(pm), "logistic 2000 x 10": _logistic(pm)}.items():
        made = Steps(KL(pm.MeanField(model=model)), None, pm.adam(learning_rate=0.001), 1, 1)
        made(1000)
        took = min(_seconds(lambda made=made: made(5000)) for _ in range(3))
        line = f"  {title:24} {1e6 * took / 5000:8.1f} µs"
        if has("numpyro"):
            line += f"  NumPyro {_numpyro_step(title):8.1f} µs"
        print(line, flush=True)


def _seconds(call: Callable[[], Any]) -> float:
    began = time.process_time()
    call()
    return time.process_time() - began


def _schools(pm: Any) -> Any:
    with pm.Model() as model:
        mu, tau, t = pm.Normal("mu", 0, 5), pm.HalfCauchy("tau", 5), pm.Normal("t", 0, 1, shape=8)
        scales = np.array([15.0, 10, 16, 11, 9, 11, 10, 18])
        pm.Normal("y", mu + tau * t, scales, observed=np.array([28.0, 8, -3, 7, -1, 1, 18, 12]))
    return model


def _logistic(pm: Any) -> Any:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((2000, 10))
    with pm.Model() as model:
        b = pm.Normal("b", 0, 1, shape=10)
        pm.Bernoulli("y", logit_p=X @ b, observed=rng.random(2000) < 1 / (1 + np.exp(-X.sum(axis=1))))
    return model


def _numpyro_step(title: str) -> float:
    import jax
    import numpyro
    import numpyro.distributions as dist
    from numpyro.infer import SVI, Trace_ELBO
    from numpyro.infer.autoguide import AutoNormal

    logp, data, dim = as_written(MODELS[title]())

    def model() -> None:
        x = numpyro.sample("x", dist.ImproperUniform(dist.constraints.real_vector, (), (dim,)))
        numpyro.factor("density", logp(x, *data))

    svi = SVI(model, AutoNormal(model), numpyro.optim.Adam(0.001), Trace_ELBO())
    run = lambda: jax.block_until_ready(svi.run(jax.random.PRNGKey(0), 5000, progress_bar=False).losses)
    run()
    some = jax.jit(lambda state: jax.lax.fori_loop(0, 5000, lambda i, s: svi.update(s)[0], state))
    state = svi.init(jax.random.PRNGKey(0))
    jax.block_until_ready(some(state))
    return 1e6 * min(_seconds(lambda: jax.block_until_ready(some(state))) for _ in range(3)) / 5000


def pathfinder() -> None:
    """Four paths of eight schools in a fresh process."""
    for title, more in {"default": "", "as written": ", rewrite=False"}.items():
        run = _run(EIGHT.replace("{options}", f", method='pathfinder'{more}"))
        print(f"  {title:24} {run[0]:6.2f} s, processor {run[1]:6.2f} s")
    if has("blackjax"):
        import blackjax
        import jax

        jax.config.update("jax_enable_x64", True)
        logp, data, dim = as_written(eight_schools())
        began, used = time.perf_counter(), time.process_time()
        starts = np.random.default_rng(0).uniform(-2, 2, (4, dim))
        run_one = jax.jit(jax.vmap(
            lambda key, x: blackjax.vi.pathfinder.approximate(key, lambda p: logp(p, *data), x, num_samples=10)[0]
        ))  # fmt: skip
        jax.block_until_ready(run_one(jax.random.split(jax.random.key(0), 4), starts))
        print(
            f"  {'BlackJAX, four paths':24} {time.perf_counter() - began:6.2f} s, processor "
            f"{time.process_time() - used:6.2f} s"
        )


SECTIONS = {"process": process, "gradients": gradients, "steps": steps, "pathfinder": pathfinder}

if __name__ == "__main__":
    for name in sys.argv[1:] or SECTIONS:
        print(name, flush=True)
        SECTIONS[name]()
