"""Draws that leave memory as they are made: memory and speed of a run that is saved in Zarr, beside one in memory.

python benchmarks/streamed_draws.py [draws] [numbers]     # 200000 draws of 100 numbers by default

Independent normal numbers, whose draws cost next to nothing, so that saving shows as much as it can. Each run is a
process of its own; memory is looked at while the run goes on.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np


def resident() -> float:
    """Megabytes of this process now."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * 4096 / 2**20


def run(draws: int, numbers: int, place: str) -> None:
    import jax.numpy as jnp

    from ppl.samplers.sample import sample

    seen: list[tuple[int, float]] = []
    options = {"checkpoint": place, "storage": "zarr"} if place != "-" else {}
    logp = lambda x: -0.5 * jnp.sum(x**2)
    start = np.zeros((1, numbers))
    sample(logp, start, chains=1, draws=10, tune=500)  # compiles
    began, processor = time.perf_counter(), time.process_time()
    found = sample(
        logp, start, chains=1, draws=draws, tune=500, callback=lambda c: seen.append((c[0].done, resident())), **options
    )
    wall, processor = time.perf_counter() - began, time.process_time() - processor
    half = [memory for done, memory in seen if done > draws / 4]
    print(json.dumps({"wall": wall, "processor": processor, "first": half[0], "last": half[-1], "draws": found.draws}))


def main() -> None:
    if len(sys.argv) == 5:
        return run(int(sys.argv[2]), int(sys.argv[3]), sys.argv[4])
    draws = int(sys.argv[1]) if len(sys.argv) > 1 else 200_000
    numbers = int(sys.argv[2]) if len(sys.argv) > 2 else 100
    walls = {}
    with tempfile.TemporaryDirectory() as folder:
        for name, place in (("memory", "-"), ("zarr", folder + "/run"), ("a URL", f"file://{folder}/url")):
            done = subprocess.run(
                [sys.executable, __file__, "--run", str(draws), str(numbers), place], capture_output=True, text=True
            )
            if done.returncode:
                sys.exit(done.stderr)
            found = json.loads(done.stdout.splitlines()[-1])
            walls[name] = found["processor"]
            seconds = f"{found['wall']:6.1f} s, {found['processor']:6.1f} s of processor"
            memory = f"{found['first']:6.0f} MB after a quarter of the draws, {found['last']:6.0f} at the end"
            speed = f"{walls['memory'] / found['processor']:.2f} of the speed"
            print(f"{name:7} {seconds}, {memory}, {speed}", flush=True)
    return None


if __name__ == "__main__":
    main()
