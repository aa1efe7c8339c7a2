"""A run on a mesh, for tests in processes of their own: `mesh_run.py model draws mesh... [checkpoint=PATH] [end=HOW]`.

For each mesh it prints a digest of all draws, those of the warm-up too. `end=KILL:1` lets process 1 end by SIGKILL
after some dispatches; `end=TERM:0` and `end=STOP:1` likewise.
"""

import hashlib
import json
import os
import signal
import sys

import numpy as np

import ppl as pm
from ppl.samplers.runs import on_mesh

rng = np.random.default_rng(0)


def logistic(n):
    x = rng.normal(size=(n, 3))
    with pm.Model() as model:
        b = pm.Normal("b", 0, 1, shape=3)
        pm.Bernoulli("y", logit_p=x @ b, observed=rng.random(n) < 0.5)
    return model


def hierarchical(n):
    group, x = rng.integers(0, 6, n), rng.normal(size=n)
    with pm.Model() as model:
        spread, slope = pm.HalfNormal("spread", 1), pm.Normal("slope", 0, 1)
        level = pm.Normal("level", pm.Normal("middle", 0, 1), spread, shape=6)
        pm.Poisson("y", pm.math.exp(level[group] + slope * x), observed=rng.poisson(2, size=n))
    return model


def process(n):
    x = np.sort(rng.uniform(0, 1, n))
    with pm.Model() as model:
        length, height = pm.LogNormal("length", -1, 0.5), pm.HalfNormal("height", 1)
        gp = pm.gp.HSGP(m=[8], c=1.5, cov_func=height**2 * pm.gp.cov.ExpQuad(1, ls=length))
        pm.Poisson("y", pm.math.exp(gp.prior("f", X=x[:, None])), observed=rng.poisson(np.exp(np.sin(6 * x))))
    return model


def ending(how):
    """Let one process end by a signal after some dispatches."""
    name, number = how.split(":")
    plain, count = on_mesh._dispatched, [0]

    def dispatched(*arguments):
        count[0] += 1
        if count[0] == 8 and jax.process_index() == int(number):
            os.kill(os.getpid(), getattr(signal, f"SIG{name}"))
        return plain(*arguments)

    on_mesh._dispatched = dispatched


if __name__ == "__main__":
    import jax

    name, draws, *rest = sys.argv[1:]
    options = dict(each.split("=", 1) for each in rest if "=" in each)
    if "initialize" in options:
        pm.distributed.initialize()
    if "end" in options:
        ending(options["end"])
    chains = int(options.get("chains", 2))
    nuts = {"chain_method": options.get("chain_method", "auto")}
    saved = {"checkpoint": options["checkpoint"], "resume": "auto"} if "checkpoint" in options else {}
    for mesh in (each for each in rest if "=" not in each):
        rng = np.random.default_rng(0)
        with globals()[name](300):
            found = pm.sample(
                int(draws), tune=int(draws), chains=chains, random_seed=3, nuts=nuts, mesh=json.loads(mesh), shard=True,
                quiet=True, discard_tuned_samples=False, compute_convergence_checks=False,
                certificate=False, **saved,
            )  # fmt: skip
        digest = hashlib.sha256()
        for group in (found.warmup_posterior, found.posterior):
            for values in sorted(group.data_vars):
                digest.update(np.ascontiguousarray(group[values].values).tobytes())
        # one write, also where Python's output has no buffer: processes share the pipe, and pieces of lines would mix
        sys.stdout.write(f"draws {digest.hexdigest()[:16]}\n")
        sys.stdout.flush()
