"""Rows that do not fit into memory: seconds, peak of memory, and how far the fit is from one in memory.

python benchmarks/read_once.py [gigabytes]        # 2 by default, written to a temporary folder

A Parquet file of normal rows about eight columns, of which one is a million of its standard deviations from zero, is
read by `from_arrow` in a process of its own, which says how much memory it took. The coefficients are compared with
those of NumPy's least squares on as much of the rows as 500 MB hold, in this process.
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

COLUMNS, GROUP = 8, 250_000  # predictors, and rows of a group of the file


def blocks(rows: int):
    rng = np.random.default_rng(1)
    for begin in range(0, rows, GROUP):
        n = min(GROUP, rows - begin)
        x = rng.normal(size=(n, COLUMNS))
        x[:, -1] += 1e6
        y = x[:, :-1] @ np.arange(1.0, COLUMNS) + 3.0 * (x[:, -1] - 1e6) + 0.5 + rng.normal(size=n)
        yield x, y


def written(file: Path, rows: int) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    names = [f"x{i}" for i in range(COLUMNS)] + ["y"]
    schema = pa.schema([(name, pa.float64()) for name in names])
    with pq.ParquetWriter(file, schema, compression="none", use_dictionary=False) as writer:
        for x, y in blocks(rows):
            writer.write_table(pa.table([*x.T, y], schema=schema))


def kept(file: str) -> None:
    """In a process of its own: the model of the file, and what it took."""
    import ppl as pm

    began, processor = time.perf_counter(), time.process_time()
    with pm.Model() as model:
        rows = pm.from_arrow(file, progressbar=False)
        beta, a = pm.Normal("beta", 0, 100, shape=COLUMNS), pm.Normal("a", 0, 1e7)
        mean = a + rows[[f"x{i}" for i in range(COLUMNS)]] @ beta
        y = pm.Normal("y", mean, pm.HalfNormal("s", 5), observed=rows["y"])
    read = time.perf_counter() - began, time.process_time() - processor
    result = pm.sample(500, model=model, random_seed=1, progressbar=False, quiet=True)
    mean, values = (np.asarray(a) for a in (result.posterior["beta"].mean(("chain", "draw")), model.rvs_to_values[y].inputs[0].attrs["value"]))
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(json.dumps({"read": read, "seconds": time.perf_counter() - began, "peak": peak, "means": mean.tolist(), "rows": len(values), "words": model.read_once["y"]}))


def main() -> None:
    if len(sys.argv) == 3 and sys.argv[1] == "--kept":
        return kept(sys.argv[2])
    size = float(sys.argv[1]) if len(sys.argv) > 1 else 2.0
    rows = int(size * 1e9 / 8 / (COLUMNS + 1))
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "rows.parquet"
        written(file, rows)
        done = subprocess.run([sys.executable, __file__, "--kept", str(file)], capture_output=True, text=True)
        if done.returncode:
            sys.exit(done.stderr)
        found = json.loads(done.stdout.splitlines()[-1])
        print(f"{file.stat().st_size / 1e9:.2f} GB, {found['words']}")
        print(f"read in {found['read'][0]:.1f} s ({found['read'][1]:.1f} s of processor), with draws {found['seconds']:.1f} s, peak of memory {found['peak']:.0f} MB")
    return None


if __name__ == "__main__":
    main()
