"""What blocks of rows cost on one device, and what a mesh of forced devices brings on this machine.

python benchmarks/mesh.py             a gradient by blocks against the plain one, at 100,000 and 1,000,000 rows
python benchmarks/mesh.py --devices   the same by blocks over 1, 2 and 4 forced devices (in processes of their own)

Ratios of processor time in one run, plain and by blocks in turns; the smallest of several rounds each. Matrix products
run on one thread in both.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

import ppl as pm
from ppl.compile.density import FlatProgram, in_a_row
from ppl.compile.row_blocks import blocked
from ppl.model.posterior.rewriting import rewritten
from ppl.samplers.programs.programs import LOOP, PROGRAMS
from ppl.xla.later import jax, module, wide
from ppl.xla.meshes import ROWS, mesh_of, shared_out

ROUNDS = 7
rng = np.random.default_rng(0)
sharding = module("jax.sharding")


def logistic(n: int) -> Any:
    """Ten columns."""
    x = rng.normal(size=(n, 10))
    with pm.Model() as model:
        pm.Bernoulli("y", logit_p=x @ pm.Normal("b", 0, 1, shape=10), observed=rng.random(n) < 0.5)
    return model


def counts(n: int) -> Any:
    """Poisson counts with an effect of each of twenty groups."""
    group, x = rng.integers(0, 20, n), rng.normal(size=n)
    with pm.Model() as model:
        level, slope = pm.Normal("level", 0, pm.HalfNormal("spread", 1), shape=20), pm.Normal("slope")
        pm.Poisson("y", pm.math.exp(level[group] + slope * x), observed=rng.poisson(1, n))
    return model


def student(n: int) -> Any:
    """Student rows around a line."""
    x = rng.normal(size=n)
    with pm.Model() as model:
        freedom, spread = pm.Gamma("freedom", 2, 0.1), pm.HalfNormal("spread", 1)
        pm.StudentT("y", freedom, pm.Normal("slope") * x, spread, observed=x + rng.standard_t(4, n))
    return model


def programs(model: Any, devices: int) -> Iterator[Callable[[], Any]]:
    """A gradient, plain and by blocks over devices: each a call without arguments."""
    posterior = rewritten(model)
    slots = in_a_row([(value, value.type.shape) for value in posterior.values])
    position = np.full(slots[-1].stop, 0.1)
    plain = FlatProgram([posterior.logp()], slots)
    yield compiled(plain, gradient_of(plain), position, jax.device_put(plain.data))
    blocks, mesh = blocked(posterior.logp(), slots, axis=ROWS, shares=devices), mesh_of({"rows": devices})
    assert blocks is not None
    spec, data = sharding.PartitionSpec, blocks.data
    given = [shared_out(mesh, x, ROWS) if i < blocks.spread else shared_out(mesh, x) for i, x in enumerate(data)]
    specs = [spec(ROWS) if i < blocks.spread else spec() for i in range(len(data))]
    spread = jax.shard_map(gradient_of(blocks), mesh=mesh, in_specs=(spec(), *specs), out_specs=spec(), check_vma=False)
    yield compiled(blocks, spread, position, given)


def gradient_of(program: Any) -> Callable[..., Any]:
    return jax.value_and_grad(lambda x, *data: program(x, *data)[0])


def compiled(program: Any, f: Callable[..., Any], position: np.ndarray, data: Any) -> Callable[[], Any]:
    run = PROGRAMS.get(("gradient", program.key), lambda: f, (position, *data), LOOP._replace(threads=False))
    return lambda: jax.block_until_ready(run(position, *data))


def seconds(run: Callable[[], Any], clock: Callable[[], float]) -> float:
    began = clock()
    run()
    return clock() - began


def main(devices: int) -> None:
    """A line for each model and number of rows."""
    with wide():
        for n in (100_000, 1_000_000):
            for make in (logistic, counts, student):
                plain, blocks = programs(make(n), devices)
                (value, slopes), (their_value, their_slopes) = plain(), blocks()
                wrong = max(
                    abs(1 - their_value / value), np.max(np.abs(their_slopes - slopes)) / np.max(np.abs(slopes))
                )
                taken = [[seconds(run, time.process_time) for run in (plain, blocks)] for _ in range(ROUNDS)]
                first, second = np.min(taken, axis=0) * 1e3
                print(
                    f"{make.__name__:9} {n:9_} rows, {devices} device(s): {first:7.2f} ms plain, {second:7.2f} ms by"
                    f" blocks, ratio {second / first:.3f}; largest difference {wrong:.1e}"
                )


if __name__ == "__main__":
    if "--devices" in sys.argv:
        for count in (1, 2, 4):
            flags = f"{os.environ.get('XLA_FLAGS', '')} --xla_force_host_platform_device_count={count}"
            subprocess.run([sys.executable, __file__, str(count)], env={**os.environ, "XLA_FLAGS": flags}, check=True)
    else:
        main(int(sys.argv[1]) if len(sys.argv) > 1 else 1)
