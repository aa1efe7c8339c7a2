"""Models with Gaussian processes from the first line to draws, beside NumPyro and PyMC.

    python benchmarks/gp.py births cox grid conditional first hilbert

Each run is a process of its own with nothing cached; rivals that cannot be imported are left out. `births`: daily
counts of twenty years as a slow trend, a season and days of the week, with the same Hilbert-space bases for both.
`cox`: counts in 20 x 20 cells. `grid`: what a process on 40 x 40 points under normal rows leaves. `conditional`: 500
new points for 4,000 draws (PyMC makes 100, and the time of 4,000 is 40 times that). `first`: a `Marginal` process.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from _process import environment

N, SLOW, YEARLY, YEAR, L = 7_305, 20, 20, 365.25, 1.5
DRAWS = {"births": (500, 500), "cox": (300, 300)}  # tuning and kept, two chains
CELLS = 20


# --- data -------------------------------------------------------------------------------------------------------------
def births_data() -> dict[str, np.ndarray]:
    """Days in units of half the time, bases, and noisy births."""
    days, rng = np.arange(N), np.random.default_rng(1)
    x = (days - days.mean()) / days.std()
    half = L * (x.max() - x.min()) / 2
    frequencies = np.pi * np.arange(1, SLOW + 1) / (2 * half)
    slow = np.sin(frequencies * (x[:, None] + half)) / np.sqrt(half)
    angle = 2 * np.pi * days[:, None] / YEAR * np.arange(1, YEARLY)
    week = np.eye(7)[days % 7][:, :6]
    season = 0.3 * np.sin(angle[:, 0]) + 0.1 * np.cos(angle[:, 1])
    y = 0.4 * np.sin(1.5 * x) + season - 0.5 * (days % 7 >= 5) + 0.3 * rng.normal(size=N)
    return {"x": x, "days": days, "slow": slow, "frequencies": frequencies, "angle": angle, "week": week, "y": y}


def cox_data() -> tuple[np.ndarray, np.ndarray]:
    """Where the cells are along one side, and counts."""
    side = np.linspace(0, 1, CELLS)
    rng = np.random.default_rng(2)
    one = np.linalg.cholesky(np.exp(-0.5 * ((side[:, None] - side) / 0.25) ** 2) + 1e-8 * np.eye(CELLS))
    f = one @ rng.normal(size=(CELLS, CELLS)) @ one.T
    return side, rng.poisson(np.exp(0.5 + f)).ravel()


# --- the same models --------------------------------------------------------------------------------------------------
def births_of_ours() -> Any:
    import ppl as pm

    d = births_data()
    with pm.Model():
        slow = pm.gp.HSGP(m=[SLOW], c=L, cov_func=pm.HalfNormal("eta", 1) ** 2 * pm.gp.cov.ExpQuad(
            1, ls=pm.LogNormal("ls", 0, 1)))  # fmt: skip
        season = pm.gp.HSGPPeriodic(m=YEARLY, scale=pm.HalfNormal("eta_year", 1), cov_func=pm.gp.cov.Periodic(
            1, period=YEAR, ls=pm.LogNormal("ls_year", 0, 1)))  # fmt: skip
        f = slow.prior("slow", d["x"][:, None]) + season.prior("season", d["days"][:, None].astype(float))
        week = pm.Normal("week", 0, 1, shape=6)
        pm.Normal("y", f + pm.math.dot(d["week"], week), pm.HalfNormal("sigma", 1), observed=d["y"])
        return _ours(pm, *DRAWS["births"])


def births_of_numpyro() -> Any:
    import jax.numpy as jnp
    import numpyro
    from numpyro import distributions as dist

    d = births_data()

    def bessel(a: Any) -> Any:
        """I_j(a) e^-a for j = 0, 1, ..., by a sum over angles."""
        angles = 2 * np.pi * np.arange(128) / 128
        return jnp.cos(np.arange(YEARLY)[:, None] * angles) @ jnp.exp(a * (np.cos(angles) - 1)) / 128

    def model() -> None:
        eta, ls = numpyro.sample("eta", dist.HalfNormal(1)), numpyro.sample("ls", dist.LogNormal(0, 1))
        root = eta * jnp.sqrt(np.sqrt(2 * np.pi) * ls) * jnp.exp(-0.25 * (ls * d["frequencies"]) ** 2)
        slow = d["slow"] @ (root * numpyro.sample("slow", dist.Normal(0, 1).expand([SLOW])))
        eta_year, ls_year = (
            numpyro.sample("eta_year", dist.HalfNormal(1)),
            numpyro.sample("ls_year", dist.LogNormal(0, 1)),
        )
        q = bessel(0.25 / ls_year**2)
        q = eta_year * jnp.sqrt(jnp.concatenate([q[:1], 2 * q[1:]]))
        b = numpyro.sample("season", dist.Normal(0, 1).expand([2 * YEARLY - 1]))
        season = q[0] * b[0] + np.cos(d["angle"]) @ (q[1:] * b[1:YEARLY]) + np.sin(d["angle"]) @ (q[1:] * b[YEARLY:])
        week = numpyro.sample("week", dist.Normal(0, 1).expand([6]))
        mean = slow + season + d["week"] @ week
        numpyro.sample("y", dist.Normal(mean, numpyro.sample("sigma", dist.HalfNormal(1))), obs=d["y"])

    return _numpyro(model, *DRAWS["births"])


def cox_of_ours(by_axes: bool = True) -> Any:
    import ppl as pm

    side, y = cox_data()
    with pm.Model():
        eta, ls = pm.HalfNormal("eta", 1), pm.InverseGamma("ls", 3, 0.5)
        kernel = pm.gp.cov.ExpQuad(1, ls=ls)
        if by_axes:
            f = pm.gp.LatentKron(cov_funcs=[eta**2 * kernel, kernel]).prior("f", Xs=[side[:, None]] * 2)
        else:
            both = np.stack([x.ravel() for x in np.meshgrid(side, side, indexing="ij")], axis=1)
            f = pm.gp.Latent(cov_func=eta**2 * pm.gp.cov.ExpQuad(2, ls=ls)).prior("f", X=both)
        pm.Poisson("y", pm.math.exp(pm.Normal("mean", 0, 1) + f), observed=y)
        return _ours(pm, *DRAWS["cox"])


def cox_dense_of_ours() -> Any:
    return cox_of_ours(False)


def cox_of_numpyro() -> Any:
    import jax.numpy as jnp
    import numpyro
    from numpyro import distributions as dist

    side, y = cox_data()
    both = np.stack([x.ravel() for x in np.meshgrid(side, side, indexing="ij")], axis=1)
    squares = np.sum((both[:, None] - both) ** 2, axis=-1)

    def model() -> None:
        eta, ls = numpyro.sample("eta", dist.HalfNormal(1)), numpyro.sample("ls", dist.InverseGamma(3, 0.5))
        K = eta**2 * jnp.exp(-0.5 * squares / ls**2) + 1e-6 * np.eye(len(y))
        f = jnp.linalg.cholesky(K) @ numpyro.sample("f", dist.Normal(0, 1).expand([len(y)]))
        numpyro.sample("y", dist.Poisson(jnp.exp(numpyro.sample("mean", dist.Normal(0, 1)) + f)), obs=y)

    return _numpyro(model, *DRAWS["cox"])


def _ours(pm: Any, tune: int, draws: int) -> Any:
    return pm.sample(draws, tune=tune, chains=2, random_seed=1, quiet=True, compute_convergence_checks=False).posterior


def _numpyro(model: Callable[[], None], tune: int, draws: int) -> Any:
    import arviz as az
    import jax
    import numpyro

    jax.config.update("jax_enable_x64", True)
    numpyro.set_host_device_count(2)
    sampler = numpyro.infer.MCMC(numpyro.infer.NUTS(model), num_warmup=tune, num_samples=draws, num_chains=2,
                                 chain_method="parallel", progress_bar=False)  # fmt: skip
    sampler.run(jax.random.PRNGKey(1))
    return az.from_dict(posterior=jax.tree.map(np.asarray, sampler.get_samples(group_by_chain=True))).posterior


# --- processes of their own -------------------------------------------------------------------------------------------
def measured(name: str) -> None:
    """One model: seconds from the import on, and the smallest number of effective draws."""
    import arviz as az

    imported = {"ours": "ppl", "numpyro": "numpyro"}[name.rsplit("_", 1)[1]]
    __import__(imported)
    began, used = time.perf_counter(), time.process_time()
    posterior = globals()[name]()
    wall, cpu = time.perf_counter() - began, time.process_time() - used
    names = [v for v in posterior.data_vars if not v.startswith("f") or v == "f_rotated_"]
    ess = az.ess(posterior[names])
    least = min(float(ess[v].min()) for v in ess.data_vars)
    print(json.dumps({"wall": wall, "cpu": cpu, "ess": least}))


def apart(what: str, limit: float = 1500.0) -> dict[str, float] | None:
    """A part of this file in a process of its own, with nothing cached; None where it cannot be imported or is late."""
    with tempfile.TemporaryDirectory() as empty:
        try:
            done = subprocess.run([sys.executable, __file__, what], env={**environment(), "XDG_CACHE_HOME": empty},
                                  capture_output=True, text=True, timeout=limit)  # fmt: skip
        except subprocess.TimeoutExpired:
            print(f"  {what}: stopped after {limit:.0f} s")
            return None
    if done.returncode:
        print(f"  {what}: {done.stderr.strip().splitlines()[-1]}")
        return None
    found: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return found


def compared(title: str, ours: dict[str, str], rival: str) -> None:
    """Smallest numbers of effective draws a second, compile time counted."""
    print(title, flush=True)
    theirs = apart(rival)
    for label, name in {**ours, "NumPyro": rival}.items():
        found = theirs if name == rival else apart(name)
        if found is None:
            continue
        rate = found["ess"] / found["wall"]
        ratio = "" if theirs is None or name == rival else f"  ratio {rate * theirs['wall'] / theirs['ess']:8.1f}"
        print(f"  {label:24} {found['wall']:8.1f} s (processor {found['cpu']:8.1f})  smallest ESS {found['ess']:8.0f}"
              f"  a second {rate:9.3f}{ratio}", flush=True)  # fmt: skip


def births() -> None:
    """Twenty years of days."""
    compared(f"births, {N:,} days, 65 coefficients (bar 50)", {"ppl": "births_of_ours"}, "births_of_numpyro")


def cox() -> None:
    """Counts in cells."""
    ours = {"ppl, by axes": "cox_of_ours", "ppl, dense": "cox_dense_of_ours"}
    compared(f"log-Gaussian Cox, {CELLS} x {CELLS} cells (bar 3)", ours, "cox_of_numpyro")


def grid() -> None:
    """A process on a grid under normal rows."""
    import ppl as pm

    axes, rng = [np.linspace(0, 1, 40)[:, None]] * 2, np.random.default_rng(0)
    with pm.Model() as model:
        kernels = [pm.HalfNormal("eta") ** 2 * pm.gp.cov.Matern52(1, ls=pm.InverseGamma("ls0", 3, 1)),
                   pm.gp.cov.ExpQuad(1, ls=pm.InverseGamma("ls1", 3, 1))]  # fmt: skip
        f = pm.gp.LatentKron(cov_funcs=kernels).prior("f", Xs=axes)
        pm.Normal("y", f, pm.HalfNormal("sigma"), observed=rng.normal(size=1600))
    began = time.perf_counter()
    free = pm.explain(model).free
    planned = time.perf_counter() - began
    print(f"grid of 40 x 40 under normal rows: left are {', '.join(free)} (planned in {planned:.2f} s)")


def conditional() -> None:
    """New points for the draws that there are."""
    print("conditional at 500 points for 4,000 draws (bar 20)", flush=True)
    ours, theirs = apart("conditional_of_ours"), apart("conditional_of_pymc")
    if ours is not None:
        print(f"  ppl  {ours['wall']:8.2f} s (processor {ours['cpu']:.2f})")
    if theirs is not None:
        print(f"  PyMC {theirs['wall']:8.2f} s (100 draws, times 40; processor {theirs['cpu']:.2f})")
    if ours is not None and theirs is not None:
        print(f"  ratio {theirs['wall'] / ours['wall']:.1f}")


def predicted(pm: Any, draws: int) -> None:
    import arviz as az

    rng = np.random.default_rng(0)
    X = np.sort(rng.uniform(0, 10, 100))[:, None]
    y = np.sin(X[:, 0]) + 0.3 * rng.normal(size=100)
    columns = {"ls": 0.8 + 0.3 * rng.random((4, draws // 4)), "eta": 0.7 + rng.random((4, draws // 4)),
               "sigma": 0.25 + 0.1 * rng.random((4, draws // 4))}  # fmt: skip
    with pm.Model():
        ls, eta, sigma = pm.Gamma("ls", 2, 1), pm.HalfNormal("eta", 2), pm.HalfNormal("sigma", 1)
        gp = pm.gp.Marginal(cov_func=eta**2 * pm.gp.cov.ExpQuad(1, ls=ls))
        gp.marginal_likelihood("y", X=X, y=y, sigma=sigma)
        gp.conditional("new", np.linspace(0, 12, 500)[:, None])
        began, used = time.perf_counter(), time.process_time()
        found = pm.sample_posterior_predictive(az.from_dict(posterior=columns), var_names=["new"], progressbar=False,
                                               random_seed=1)  # fmt: skip
    assert np.isfinite(found.posterior_predictive["new"].values).all()
    wall, cpu = time.perf_counter() - began, time.process_time() - used
    print(json.dumps({"wall": wall * 4000 / draws, "cpu": cpu * 4000 / draws}))


def conditional_of_ours() -> None:
    import ppl as pm

    predicted(pm, 4000)


def conditional_of_pymc() -> None:
    import pymc as pm

    predicted(pm, 100)


def first() -> None:
    """The first run of a small marginal process, from before the import to the draws."""
    print("Marginal, 100 points, three parameters, nothing cached (bar 4 s)", flush=True)
    for kernel in ("ExpQuad", "Matern52"):
        began = time.perf_counter()
        found = apart(f"first_of_{kernel}")
        if found is not None:
            whole = time.perf_counter() - began
            print(f"  {kernel:9} {whole:6.2f} s, of which import {found['import']:.2f}, sample {found['wall']:.2f}; "
                  f"processor {found['cpu']:.2f}", flush=True)  # fmt: skip


def first_run(kernel: str) -> None:
    began = time.perf_counter()
    import ppl as pm

    imported = time.perf_counter() - began
    rng = np.random.default_rng(0)
    X = np.linspace(0, 10, 100)[:, None]
    y = np.sin(X[:, 0]) + 0.3 * rng.normal(size=100)
    began = time.perf_counter()
    with pm.Model():
        ls, eta, sigma = pm.Gamma("ls", 2, 1), pm.HalfNormal("eta", 2), pm.HalfNormal("sigma", 1)
        gp = pm.gp.Marginal(cov_func=eta**2 * getattr(pm.gp.cov, kernel)(1, ls=ls))
        gp.marginal_likelihood("y", X=X, y=y, sigma=sigma)
        pm.sample(random_seed=1, quiet=True)
    print(json.dumps({"import": imported, "wall": time.perf_counter() - began, "cpu": time.process_time()}))


def hilbert() -> None:
    """Cost of a Hilbert-space process under normal rows by their number: it must not grow."""
    import jax

    import ppl as pm
    from ppl.compile.density import FlatProgram, layout, scalar
    from ppl.model.posterior.rewriting import rewritten

    print("Hilbert-space process, 20 functions, normal rows   plan, s   value and gradient, ms", flush=True)
    for n in (1_000, 10_000, 100_000, 1_000_000):
        rng = np.random.default_rng(0)
        x = np.sort(rng.uniform(0, 10, n))
        began = time.perf_counter()
        with pm.Model() as model:
            cov = pm.HalfNormal("eta") ** 2 * pm.gp.cov.ExpQuad(1, ls=pm.LogNormal("ls", 0, 1))
            f = pm.gp.HSGP(m=[20], c=1.5, cov_func=cov).prior("f", x[:, None])
            pm.Normal("y", f, pm.HalfNormal("sigma"), observed=np.sin(x) + 0.3 * rng.normal(size=n))
        posterior = rewritten(model)
        slots = layout(posterior.values, posterior.start(None, 0))
        program = FlatProgram([posterior.logp()], slots, once=posterior.of_data)
        with jax.enable_x64(True):
            data = program.data
            at = np.zeros(slots[-1].stop)
            both = jax.jit(jax.value_and_grad(scalar(program)))
            jax.block_until_ready(both(at, *data))
            planned, best = time.perf_counter() - began, np.inf
            for _ in range(20):
                began = time.perf_counter()
                jax.block_until_ready(both(at, *data))
                best = min(best, time.perf_counter() - began)
        print(f"n = {n:<12,}left: {slots[-1].stop} dimensions {planned:18.2f}{1e3 * best:15.3f}", flush=True)


PARTS = {"births": births, "cox": cox, "grid": grid, "conditional": conditional, "first": first, "hilbert": hilbert}

if __name__ == "__main__":
    part = sys.argv[1]
    if part.startswith("first_of_"):
        first_run(part.removeprefix("first_of_"))
    elif part.startswith("conditional_of_"):
        globals()[part]()
    else:
        measured(part)
