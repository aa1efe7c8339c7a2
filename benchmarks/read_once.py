"""Rows that do not fit into memory: seconds, peak of memory, and how far the fit is from one in memory.

python benchmarks/read_once.py [gigabytes]        # 2 by default, written to a temporary folder

A Parquet file of normal rows about eight columns is read by `from_arrow` in a process of its own, which says how much
memory it took. Of a smaller file, coefficients are compared with those of the same model with all rows in memory, draw
by draw in units of their standard deviations; and with one column a million of its standard deviations from zero, least
squares by the triangular factor of blocks with those by one factorization of all rows.
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
COMPARED = 0.25  # gigabytes that are fitted in memory too


def blocks(rows: int):
    rng = np.random.default_rng(1)
    for begin in range(0, rows, GROUP):
        n = min(GROUP, rows - begin)
        x = rng.normal(size=(n, COLUMNS))
        y = x @ np.arange(1.0, COLUMNS + 1) + 0.5 + rng.normal(size=n)
        yield x, y


def written(file: Path, rows: int) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    names = [f"x{i}" for i in range(COLUMNS)] + ["y"]
    schema = pa.schema([(name, pa.float64()) for name in names])
    with pq.ParquetWriter(file, schema, compression="none", use_dictionary=False) as writer:
        for x, y in blocks(rows):
            writer.write_table(pa.table([*x.T, y], schema=schema))


def kept(file: str, memory: bool) -> None:
    """In a process of its own: the model of the file, and what it took."""
    import ppl as pm

    began, processor = time.perf_counter(), time.process_time()
    with pm.Model() as model:
        rows = pm.from_arrow(file, progressbar=False, memory=memory)
        beta, a = pm.Normal("beta", 0, 100, shape=COLUMNS), pm.Normal("a", 0, 1e7)
        names = [f"x{i}" for i in range(COLUMNS)]
        design = np.stack([rows[name] for name in names], axis=1) if memory else rows[names]
        pm.Normal("y", a + design @ beta, pm.HalfNormal("s", 5), observed=rows["y"])
    read = time.perf_counter() - began, time.process_time() - processor
    result = pm.sample(500, model=model, random_seed=1, progressbar=False, quiet=True)
    beta = result.posterior["beta"].values
    facts = {
        "read": read,
        "seconds": time.perf_counter() - began,
        "peak": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
        "words": model.read_once.get("y", "all rows in memory"),
        "mean": beta.mean((0, 1)).tolist(),
        "sd": beta.std((0, 1)).tolist(),
        "first": beta[0, 0].tolist(),
        "scale": float(result.posterior["s"].mean()),
    }
    print(json.dumps(facts))


def fit(file: Path, memory: bool = False) -> dict:
    how = [sys.executable, __file__, "--memory" if memory else "--kept", str(file)]
    done = subprocess.run(how, capture_output=True, text=True)
    if done.returncode:
        sys.exit(done.stderr)
    found = json.loads(done.stdout.splitlines()[-1])
    print(found["words"].partition("; digest")[0])
    seconds, processor = found["read"]
    drawn = f"with draws {found['seconds']:.1f} s, peak of memory {found['peak']:.0f} MB"
    print(f"  read in {seconds:.1f} s ({processor:.1f} s of processor), {drawn}", flush=True)
    return found


def main() -> None:
    if len(sys.argv) == 3:
        return kept(sys.argv[2], sys.argv[1] == "--memory")
    size = float(sys.argv[1]) if len(sys.argv) > 1 else 2.0
    with tempfile.TemporaryDirectory() as folder:
        for gigabytes, both in ((min(size, COMPARED), True), (size, False)):
            file = Path(folder) / f"rows-{gigabytes}.parquet"
            written(file, int(gigabytes * 1e9 / 8 / (COLUMNS + 1)))
            print(f"{file.stat().st_size / 1e9:.2f} GB of Parquet: ", end="")
            once = fit(file)
            if both:
                all_rows = fit(file, memory=True)
                for what in ("first", "mean"):
                    gap = np.abs(np.subtract(once[what], all_rows[what])) / all_rows["sd"]
                    print(f"  {what} draw: at most {gap.max():.1e} standard deviations from that of rows in memory")
                print(f"  mean of the scale: {abs(once['scale'] / all_rows['scale'] - 1):.1e} from it, relative")
            file.unlink()
    far_from_zero()
    return None


def far_from_zero() -> None:
    from ppl.sources.statistics import Triangle

    for far in (0.0, 1e6):
        shift = np.r_[np.zeros(COLUMNS - 1), far]
        tables = [np.column_stack([np.ones(len(y)), x + shift, y]) for x, y in blocks(1_000_000)]
        made = Triangle()
        for table in tables:
            made.add(table)
        once, whole = (solved(factor) for factor in (made.factor(), np.linalg.qr(np.concatenate(tables), mode="r")))
        gap = np.abs(once / whole - 1)[1:].max()
        print(
            f"least squares, the last column {far:.0e} from zero: {gap:.1e} from those of one factorization, relative"
        )


def solved(factor: np.ndarray) -> np.ndarray:
    """The coefficients of least squares by the triangular factor of design and values."""
    return np.linalg.solve(factor[:-1, :-1], factor[:-1, -1])


if __name__ == "__main__":
    main()
