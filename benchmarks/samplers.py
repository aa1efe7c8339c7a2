"""Sampling speed against nutpie, NumPyro and BlackJAX, on one machine in one run.

    python benchmarks/samplers.py                         every target, five repeats (an hour on two cores)
    python benchmarks/samplers.py --targets "eight schools" "normal 10" --repeats 3
    python benchmarks/samplers.py --rivals nutpie         against some rivals only; "numpyro, as shipped" is one
    python benchmarks/samplers.py --only cold scaling     seconds in a fresh process; threads; what watching costs
    python benchmarks/samplers.py --save FILE ...         puts the figures into FILE, beside what is there already
    python benchmarks/samplers.py --report FILE           prints the ratios of a file
    ... --report FILE --without "correlation 0.99"        of the targets without these words in their names

The kept figures are in ``benchmarks/results/samplers.json``.

All JAX samplers run with the XLA flag that `ppl` sets, and once more "as shipped": in a process of its own without it,
as their users run them. A rival that is not installed is left out, and said so.
Figures, medians over repeats with their range:

* us/leapfrog: processor seconds of one chain by its gradients, warm-up included, nothing compiled; 5000 draws, or
  50000 where these take less than a tenth of a second, so that what is done once a run does not count; 1000 of PyMC;
* ESS/kgrad: smallest bulk effective sample size by thousands of gradients, warm-up counted;
* ESS/s: the same by wall seconds of four chains on two cores, compilation apart. NumPyro and BlackJAX have no threads
  of chains on one CPU device: their four chains run one after the other and are credited with perfect scaling.

Warm-up is 400 draws for all (nutpie's default) and 1000 draws are kept.
"""

import argparse
import importlib.util
import json
import os
import platform
import subprocess
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple

import ppl.xla.flags

ppl.xla.flags.apply()
warnings.simplefilter("ignore")

import jax  # noqa: E402
import numpy as np  # noqa: E402
from _process import environment  # noqa: E402
from sampler_targets import TARGETS, Target  # noqa: E402

from ppl.samplers import sample  # noqa: E402
from ppl.samplers.programs.programs import PROGRAMS  # noqa: E402
from ppl.samplers.programs.randomness import own_settings  # noqa: E402
from ppl.samplers.runs.diagnostics import ess_bulk  # noqa: E402

TUNE, DRAWS, LONG = 400, 1000, 5000
CORES = 2


class Outcome(NamedTuple):
    """One timed call: draws (chains, draws, dim), gradients of all chains with warm-up, wall seconds."""

    positions: np.ndarray
    gradients: int
    seconds: float


Runner = Callable[[int, int, int], Outcome]  # (chains, draws, seed)
Rows = Iterator[dict[str, Any]]


def starts(target: Target, chains: int, seed: int) -> np.ndarray:
    return np.random.default_rng(seed).uniform(-1, 1, (chains, target.dim))


def ours(target: Target) -> Runner:
    def run(chains: int, draws: int, seed: int) -> Outcome:
        result = sample(
            target.logp, starts(target, chains, seed), data=target.data, chains=chains, tune=TUNE, draws=draws,
            cores=CORES, seed=seed,
        )  # fmt: skip
        gradients = result.stats["n_steps"].sum() + result.warmup_stats["n_steps"].sum()
        return Outcome(result.positions, int(gradients), result.sampling_seconds)

    return run


def with_nutpie(target: Target) -> Runner:
    import nutpie
    import pymc

    with pymc.Model() as model:
        target.pymc(pymc)
    compiled = nutpie.compile_pymc_model(model, backend="numba")

    def run(chains: int, draws: int, seed: int) -> Outcome:
        began = time.perf_counter()
        trace = nutpie.sample(
            compiled,
            draws=draws,
            tune=TUNE,
            chains=chains,
            cores=CORES,
            seed=seed,
            progress_bar=False,
            save_warmup=True,
        )
        seconds = time.perf_counter() - began
        gradients = int(trace.sample_stats["n_steps"].sum() + trace.warmup_sample_stats["n_steps"].sum())
        columns = [
            v.values.reshape(chains, draws, -1) for name, v in trace.posterior.items() if not name.endswith("__")
        ]
        return Outcome(np.concatenate(columns, axis=2), gradients, seconds)

    return run


def one_after_the_other(chain: Callable[[int, Any, Any], tuple[Any, Any]], target: Target) -> Runner:
    """Chains of a jitted function (draws, key, start) -> (positions, gradients), credited with perfect scaling."""

    def run(chains: int, draws: int, seed: int) -> Outcome:
        with own_settings():
            began, results = time.perf_counter(), []
            for number, start in enumerate(starts(target, chains, seed)):
                results.append(jax.block_until_ready(chain(draws, jax.random.key(seed * 1000 + number), start)))
            seconds = (time.perf_counter() - began) / min(CORES, chains)
        return Outcome(np.stack([r[0] for r in results]), int(sum(r[1] for r in results)), seconds)

    return run


def with_numpyro(target: Target) -> Runner:
    from numpyro.infer import NUTS

    kernel = NUTS(potential_fn=lambda q: -target.logp(q, *target.data))

    def chain(draws: int, key: Any, start: Any) -> tuple[Any, Any]:
        def one(state: Any, _: Any) -> tuple[Any, tuple[Any, Any]]:
            state = kernel.sample(state, (), {})
            return state, (state.z, state.num_steps)

        state = kernel.init(key, TUNE, start, (), {})
        positions, steps = jax.lax.scan(one, state, length=TUNE + draws)[1]
        return positions[TUNE:], steps.sum()

    return one_after_the_other(jax.jit(chain, static_argnums=0), target)


def with_blackjax(target: Target) -> Runner:
    import blackjax

    logp = lambda q: target.logp(q, *target.data)

    def chain(draws: int, key: Any, start: Any) -> tuple[Any, Any]:
        warm_key, key = jax.random.split(key)
        warmup = blackjax.window_adaptation(blackjax.nuts, logp, target_acceptance_rate=0.8)
        (state, parameters), adaptation = warmup.run(warm_key, start, num_steps=TUNE)
        step = blackjax.nuts(logp, **parameters).step

        def one(state: Any, key: Any) -> tuple[Any, tuple[Any, Any]]:
            state, info = step(key, state)
            return state, (state.position, info.num_integration_steps)

        positions, steps = jax.lax.scan(one, state, jax.random.split(key, draws))[1]
        return positions, steps.sum() + adaptation.info.num_integration_steps.sum()

    return one_after_the_other(jax.jit(chain, static_argnums=0), target)


def with_pymc(target: Target) -> Runner:
    import pymc

    with pymc.Model() as model:
        target.pymc(pymc)

    def run(chains: int, draws: int, seed: int) -> Outcome:
        with model:
            trace = pymc.sample(
                draws, tune=TUNE, chains=chains, cores=CORES, random_seed=seed, nuts_sampler="pymc", progressbar=False,
                discard_tuned_samples=False, compute_convergence_checks=False,
            )  # fmt: skip
        gradients = int(trace.sample_stats["n_steps"].sum() + trace.warmup_sample_stats["n_steps"].sum())
        columns = [v.values.reshape(chains, draws, -1) for v in trace.posterior.values()]
        return Outcome(np.concatenate(columns, axis=2), gradients, float(trace.sample_stats.attrs["sampling_time"]))

    return run


RIVALS = {"nutpie": with_nutpie, "numpyro": with_numpyro, "blackjax": with_blackjax, "pymc": with_pymc}
SLOW = ("pymc",)  # beside their steps, what is done once a run does not count
SHIPPED = ", as shipped"


class Figures(NamedTuple):
    """The three figures, one value a repeat."""

    us_per_leapfrog: list[float]
    ess_per_kgrad: list[float]
    ess_per_second: list[float]


def long_run(target: Target) -> int:
    """How many draws the single chain makes, with every sampler."""
    run = ours(target)
    run(1, LONG, 10**6)  # compiles
    return LONG if run(1, LONG, 10**6).seconds > 0.1 else 10 * LONG


def measure(run: Runner, long: int, repeats: int) -> Figures:
    for draws in (long, DRAWS):  # compiles
        run(1, draws, 10**6)
    figures = Figures([], [], [])
    for seed in range(repeats):
        before = time.process_time()
        single = run(1, long, seed)
        processor = time.process_time() - before
        four = run(4, DRAWS, seed)
        smallest = float(ess_bulk(four.positions).min())
        figures.us_per_leapfrog.append(processor / single.gradients * 1e6)
        figures.ess_per_kgrad.append(smallest / four.gradients * 1e3)
        figures.ess_per_second.append(smallest / four.seconds)
    return figures


def as_shipped(rival: str, target: Target, repeats: int) -> Figures:
    """The same in a process that sets no XLA flag; there nothing is done once a run, so the long run is a usual one."""
    words = [sys.executable, __file__, "--one", rival, target.name, str(repeats)]
    done = subprocess.run(words, capture_output=True, text=True, env=environment(PPL_NO_XLA_FLAGS="1", XLA_FLAGS=""))
    if done.returncode:
        raise RuntimeError(done.stderr.strip().splitlines()[-1])
    return Figures(**json.loads(done.stdout.splitlines()[-1]))


def text(values: list[float]) -> str:
    return f"{np.median(values):9.3g} [{min(values):.3g}, {max(values):.3g}]"


def compare(targets: list[Target], rivals: list[str], repeats: int) -> Rows:
    for target in targets:
        print(f"\n{target.name} ({target.dim} dimensions)")
        long = long_run(target)
        found: dict[str, Figures] = {}
        for name in ("ppl", *rivals):
            rival = name.removesuffix(SHIPPED)
            draws = DRAWS if name in SLOW else long
            try:
                if name != rival:
                    found[name] = as_shipped(rival, target, repeats)
                else:
                    found[name] = measure((ours if name == "ppl" else RIVALS[name])(target), draws, repeats)
            except Exception as error:  # a rival that fails is a figure too
                print(f"  {name:20s} failed: {type(error).__name__}: {str(error)[:120]}")
                continue
            cells = "   ".join(f"{field} {text(values)}" for field, values in found[name]._asdict().items())
            print(f"  {name:20s} {cells}", flush=True)
            yield {"target": target.name, "sampler": name, "draws": draws, **found[name]._asdict()}


def ratios(rows: list[dict[str, Any]]) -> None:
    """Ours by theirs, as geometric means over the targets, with the worst."""
    medians = {(r["target"], r["sampler"]): {f: np.median(r[f]) for f in Figures._fields} for r in rows}
    print("\nppl by rival, geometric mean over targets (worst)")
    for rival in sorted({r["sampler"] for r in rows} - {"ppl"}):
        for field in Figures._fields:
            values = [
                medians[t, "ppl"][field] / medians[t, s][field]
                for t, s in medians
                if s == rival and (t, "ppl") in medians
            ]
            worst = max(values) if field.startswith("us") else min(values)
            print(f"  {field:16s} against {rival:20s} {np.exp(np.mean(np.log(values))):8.2f} ({worst:.2f})")


COLD = {
    "ppl": """
import ppl.xla.flags; ppl.samplers.programs.flags.apply()
from ppl.samplers import sample
from sampler_targets import TARGETS
import numpy as np, sys
t = next(t for t in TARGETS if t.name == sys.argv[1])
began = time.perf_counter()
sample(t.logp, np.zeros((4, t.dim)), data=t.data, cores=2)
""",
    "nutpie": """
import nutpie, pymc, sys
from sampler_targets import TARGETS
t = next(t for t in TARGETS if t.name == sys.argv[1])
with pymc.Model() as model: t.pymc(pymc)
began = time.perf_counter()
compiled = nutpie.compile_pymc_model(model, backend="numba")
nutpie.sample(compiled, tune=1000, draws=1000, chains=4, cores=2, progress_bar=False)
""",
}


def cold_seconds(sampler: str, target: str, cache: str) -> tuple[float, float]:
    """Seconds of the whole process, and from the log-density to the result, in a fresh process that finds its programs
    in the folder `cache`, or leaves them there."""
    script = f"import time, warnings; start = time.perf_counter(); warnings.simplefilter('ignore')\n{COLD[sampler]}"
    script += "\nprint(time.perf_counter() - start, time.perf_counter() - began)"
    here = Path(__file__).resolve().parent
    path = os.pathsep.join([str(here.parent), str(here), os.environ.get("PYTHONPATH", "")])
    done = subprocess.run(
        [sys.executable, "-c", script, target],
        capture_output=True,
        text=True,
        env=environment(PYTHONPATH=path, PPL_DISK_CACHE=cache),
        check=True,
    )
    whole, from_logp = done.stdout.split()[-2:]
    return float(whole), float(from_logp)


def cold(rivals: list[str], repeats: int) -> Rows:
    import tempfile

    print("\nseconds in a fresh process, 4 chains of 1000 + 1000 draws: all with imports; from log-density to result")
    for target in ("eight schools", "normal 10", "logistic 200x10"):
        cases = [("ppl", False), ("ppl", True)] + ([("nutpie", False)] if "nutpie" in rivals else [])
        for sampler, cached in cases:
            seconds = []
            for _ in range(repeats):
                with tempfile.TemporaryDirectory() as folder:
                    if cached:
                        cold_seconds(sampler, target, folder)
                    seconds.append(cold_seconds(sampler, target, folder))
            name = sampler + (", second process" if cached else "")
            whole, from_logp = [s[0] for s in seconds], [s[1] for s in seconds]
            print(f"  {target:16s} {name:20s} {text(whole)}   {text(from_logp)}", flush=True)
            yield {"target": target, "sampler": name, "process": whole, "from_logp": from_logp}


def scaling(repeats: int) -> Rows:
    """Throughput of two threads by one, and what progress, storage and a callback cost."""
    import tempfile

    target = next(t for t in TARGETS if t.name == "eight schools")
    draws = 300_000

    def seconds(chains: int, **settings: Any) -> float:
        run = sample(
            target.logp,
            np.zeros((chains, target.dim)),
            data=target.data,
            chains=chains,
            draws=draws,
            cores=2,
            **settings,
        )
        return run.sampling_seconds

    seconds(1)
    rows: dict[str, list[float]] = {"two threads by one": [], "watched by unwatched": []}
    for _ in range(repeats):
        rows["two threads by one"].append(2 * seconds(1) / seconds(2))
        with tempfile.TemporaryDirectory() as folder:
            watched = seconds(2, progress="lines", callback=lambda chains: None, checkpoint=Path(folder) / "run")
        rows["watched by unwatched"].append(watched / seconds(2))
    print()
    for name, values in rows.items():
        print(f"  {name:22s} {text(values)}")
        yield {"figure": name, "values": values}


IDENTITY = {"compare": ("target", "sampler"), "cold": ("target", "sampler"), "scaling": ("figure",)}


def merged(file: Path, results: dict[str, list[dict[str, Any]]]) -> dict[str, Any]:
    """What ``file`` holds, with new rows in the place of old ones of the same target and sampler."""
    kept: dict[str, Any] = json.loads(file.read_text()) if file.exists() else {}
    machine = {"cores": os.cpu_count(), "architecture": platform.machine(), "system": platform.system()}
    kept["machine"] = kept.get("machine", {}) | machine  # a note written there by hand stays
    kept["versions"] = {"python": platform.python_version()} | {
        name: version(name) for name in ("jax", "jaxlib", "numpy", *RIVALS) if importlib.util.find_spec(name)
    }
    for part, rows in results.items():
        name_of = lambda row, fields=IDENTITY[part]: tuple(row[field] for field in fields)
        table = {name_of(row): row for row in [*kept.get(part, []), *rows]}
        kept[part] = list(table.values())
    return kept


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--targets", nargs="*", default=[t.name for t in TARGETS])
    shipped = [name + SHIPPED for name in ("numpyro", "blackjax")]
    usual = ["nutpie", "numpyro", "blackjax", *shipped]
    parser.add_argument("--rivals", nargs="*", default=usual, choices=[*RIVALS, *shipped])
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--only", nargs="*", default=["compare", "cold", "scaling"])
    parser.add_argument("--save", type=Path, help="a JSON file for the figures")
    parser.add_argument("--report", type=Path, help="print the ratios of this file, and measure nothing")
    parser.add_argument("--without", help="leave such targets out of the report")
    parser.add_argument("--one", nargs=3, metavar=("RIVAL", "TARGET", "REPEATS"), help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.one:
        rival, name, repeats = given.one
        run = RIVALS[rival](next(t for t in TARGETS if t.name == name))
        print(json.dumps(measure(run, DRAWS, int(repeats))._asdict()))
        return
    if given.report:
        rows = json.loads(given.report.read_text())["compare"]
        ratios([row for row in rows if given.without is None or given.without not in row["target"]])
        return
    if given.without is not None:
        parser.error("--without belongs to --report; --targets says what is measured")
    rivals = [r for r in given.rivals if importlib.util.find_spec(r.removesuffix(SHIPPED))]
    for missing in set(given.rivals) - set(rivals):
        print(f"{missing} is not installed and left out.")
    print(f"jax {jax.__version__}, {os.cpu_count()} cores, XLA_FLAGS={os.environ.get('XLA_FLAGS', '')}")
    parts = {
        "compare": partial(compare, [t for t in TARGETS if t.name in given.targets], rivals, given.repeats),
        "cold": partial(cold, rivals, given.repeats),
        "scaling": partial(scaling, given.repeats),
    }
    results: dict[str, list[dict[str, Any]]] = {name: [] for name in given.only}
    for name in given.only:
        for row in parts[name]():
            results[name].append(row)
            if given.save:
                given.save.write_text(json.dumps(merged(given.save, results), indent=1) + "\n")
    if "compare" in results:
        ratios(results["compare"])
    print(f"\n{PROGRAMS.compilations} programs compiled in {PROGRAMS.seconds:.1f} s")


if __name__ == "__main__":
    main()
