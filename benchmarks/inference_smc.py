"""Sequential Monte Carlo against PyMC, and the scoring tools, on one machine in one run.

    python benchmarks/inference_smc.py                   all rows (about five minutes on two cores)
    python benchmarks/inference_smc.py --repeats 10      fewer runs behind each standard deviation
    python benchmarks/inference_smc.py --without-pymc    own figures alone

Each row has the same number of particles for both, two chains, the model as written for both (`rewrite=False`), and a
third line with the rewriting that users get. Seconds are of processor time of the whole call, programs compiled before;
"sd" is the standard deviation of the log evidence of single chains over repeated runs, "off" how far their mean is from
the exact value. A ratio above a third of PyMC is a loss against the bar, and is printed as one.
"""

import argparse
import logging
import time
import warnings
from typing import Any

import numpy as np

import ppl

warnings.simplefilter("ignore")
logging.getLogger("ppl").setLevel(logging.ERROR)
Y = np.array([28.0, 8, -3, 7, -1, 1, 18, 12])
SIGMA = np.array([15.0, 10, 16, 11, 9, 11, 10, 18])
BAR = 1 / 3


def eight_schools(pm: Any) -> Any:
    with pm.Model() as model:
        mu, tau = pm.Normal("mu", 0, 5), pm.HalfCauchy("tau", 5)
        effect = pm.Normal("effect", 0, 1, shape=8)
        pm.Normal("y", mu + tau * effect, SIGMA, observed=Y)
    return model


def coin(pm: Any) -> Any:
    with pm.Model() as model:
        pm.Bernoulli("y", pm.Beta("p", 1, 1), observed=np.repeat([0, 1], 50))
    return model


ROWS = {"eight schools, 1000 particles": (eight_schools, 1000, -31.31135), "coin, 2000": (coin, 2000, -71.39896)}


def last(values: Any) -> list[float]:
    """The log evidence of each chain: all numbers that are any, since PyMC's stages but the last have nan. Where chains
    have different numbers of stages its array holds lists."""
    if isinstance(values, list) or (isinstance(values, np.ndarray) and values.ndim):
        return [x for part in values for x in last(part)]
    number = values.item() if isinstance(values, np.ndarray) else values
    if isinstance(number, list):
        return last(number)
    return [float(number)] if np.isfinite(number) else []


def measured(pm: Any, build: Any, draws: int, repeats: int, **options: Any) -> tuple[float, float, float]:
    """Processor seconds of a call, and standard deviation and mean of the log evidence."""
    model, seconds, found = build(pm), [], []
    for seed in range(repeats + 1):
        began = time.process_time()
        with model:
            result = pm.sample_smc(
                draws,
                chains=2,
                cores=1,
                random_seed=seed,
                progressbar=False,
                compute_convergence_checks=False,
                **options,
            )
        if seed:  # the first run compiles
            seconds.append(time.process_time() - began)
            found += last(result.sample_stats["log_marginal_likelihood"].values)
    return float(np.median(seconds)), float(np.std(found)), float(np.mean(found))


def compare(repeats: int, rival: Any) -> None:
    for name, (build, draws, exact) in ROWS.items():
        print(f"{name}: exact {exact}")
        ours = measured(ppl, build, draws, repeats, rewrite=False)
        rows = {"ppl, as written": ours, "ppl, rewritten": measured(ppl, build, draws, repeats)}
        if rival is not None:
            rows["PyMC"] = theirs = measured(rival, build, draws, max(2, repeats // 3))
        for who, (seconds, sd, mean) in rows.items():
            print(f"  {who:16} {seconds:7.3f} s   sd {sd:.4f}   off {mean - exact:+.4f}", flush=True)
        if rival is not None:
            for what, place in (("time", 0), ("sd", 1)):
                ratio = ours[place] / theirs[place]
                print(f"  {what} of PyMC: {ratio:.2f} as written{'' if ratio <= BAR else '   LOSS: the bar is 1/3'}")


def scoring() -> None:
    """Bridge sampling, calibration and sensitivity on eight schools."""
    model = eight_schools(ppl)
    draws = ppl.sample(1000, chains=4, model=model, random_seed=1, quiet=True)
    for rewrite in (True, False):
        ppl.bridge(draws, model, rewrite=rewrite)
        began = time.perf_counter()
        found = ppl.bridge(draws, model, rewrite=rewrite)
        print(f"bridge, {found.words}: {found.log_z:.4f} ± {found.se:.4f}, {time.perf_counter() - began:.2f} s")
    began = time.perf_counter()
    ppl.sensitivity(draws, model)
    print(f"sensitivity, 4,000 draws: {time.perf_counter() - began:.2f} s (bar 1)")
    wall, cpu = time.perf_counter(), time.process_time()
    found = ppl.sbc(model, 1000, random_seed=1, progressbar=False)
    seconds = time.perf_counter() - wall, time.process_time() - cpu
    print(f"sbc, 1,000 replications: {seconds[0]:.1f} s, of processor {seconds[1]:.1f} (bar 20); {found.calibrated=}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeats", type=int, default=20)
    parser.add_argument("--without-pymc", action="store_true")
    given = parser.parse_args()
    rival = None
    if not given.without_pymc:
        import pymc as rival

        logging.getLogger("pymc").setLevel(logging.ERROR)
    compare(given.repeats, rival)
    scoring()


if __name__ == "__main__":
    main()
