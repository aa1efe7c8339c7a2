"""PyMC's own tests, with `import pymc` meaning ppl: how many pass, and why the others fail.

    python benchmarks/pymc_tests.py --git DIR                       every area, then the table
    python benchmarks/pymc_tests.py --git DIR model gp              some areas
    python benchmarks/pymc_tests.py --table                         the table of what has run
    python benchmarks/pymc_tests.py --list differs                  failures of a kind, one a line

DIR is the git directory of a clone that has PyMC's commit `COMMIT`, whose `pymc/` and `tests/` are those of the source
distribution of 5.28.5. Its tests are taken out into a folder of their own, and none of them is kept here. The
environment has PyMC 5.28.5 and ArviZ 0.x; `--libs` is a folder for what the tests want besides:
`pip install --no-deps --target LIBS` with pytest==8.4.2, pluggy, iniconfig, pytest-timeout, pytest-mock, polyagamma,
numdifftools, algopy.

Each area runs in a process of its own, which is started again without the test it died in; each test has a limit of
processor time. What ran before is not run again, unless `--again`. `pymc_tests_plugin.py` says what is bridged, and
`pymc_tests_causes.json` is what was read by hand: for each failure, by its message and its name, the kind and the
cause. A failure that no row knows is `not read`.
"""

from __future__ import annotations

import argparse
import collections
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from _process import environment

HERE = Path(__file__).resolve().parent
COMMIT = "1ad929ca6bced2a4848e655408dbf86849325084"
AREAS = """backends dims distributions gp logprob model ode progress_bar sampling smc stats step_methods tuning
    variational others""".split()
KINDS = {  # of failures
    "a": "insides",  # the test looks into PyTensor's or PyMC's insides
    "b": "missing",  # a feature is not there, and says so
    "c": "differs",  # what a user sees is another thing
    "e": "meant",  # it is another thing on purpose: more than PyMC has, exact where PyMC is not, or other words
    "d": "harness",  # the harness, the machine, or a limit of time
    "?": "not read",
}


def taken_out(git: str, source: Path) -> None:
    """The tests of the commit, in a folder."""
    if (source / "tests").exists():
        return
    source.mkdir(parents=True, exist_ok=True)
    command = ["git", "--git-dir", git, "archive", COMMIT, "tests", "pyproject.toml"]
    packed = subprocess.run(command, capture_output=True)  # a partial clone complains of files that are not asked for
    subprocess.run(["tar", "-x", "-C", str(source)], input=packed.stdout, check=False)
    if not (source / "tests").exists():
        raise SystemExit(f"no tests of PyMC in {git}: {packed.stderr.decode(errors='replace')[-300:]}")


def files_of(area: str, source: Path) -> list[str]:
    """The test files of an area: a folder, or those beside the folders."""
    found = (source / "tests").glob("test_*.py") if area == "others" else (source / "tests" / area).rglob("test_*.py")
    return sorted(str(path.relative_to(source)) for path in found)


def run(area: str, arguments: argparse.Namespace, out: Path) -> None:
    """Run what has no outcome yet, again and again until the process comes to its end."""
    if arguments.again:
        out.unlink(missing_ok=True)
    libs = [os.path.abspath(arguments.libs)] if arguments.libs else []
    env = environment(PYMC_TESTS_OUT=str(out), PYMC_TESTS_LIMIT=str(arguments.limit), JAX_PLATFORMS="cpu")
    env["PYTHONPATH"] = os.pathsep.join([str(HERE), env["PYTHONPATH"], *libs])
    command = [sys.executable, "-m", "pytest", *files_of(area, arguments.source), "-p", "pymc_tests_plugin", "-q"]
    command += ["-p", "no:cacheprovider", "--continue-on-collection-errors", "--tb=short", "--timeout=600"]
    while True:
        ended = subprocess.run(command, cwd=arguments.source, env=env, capture_output=True, text=True)
        rows = list(read(out))
        begun = [row["node"] for row in rows if row["kind"] == "start"]
        done = {row["node"] for row in rows if row["kind"] == "test"}
        if not rows or rows[-1]["kind"] == "end":
            break
        if not begun or begun[-1] in done:
            print(f"{area}: the process ended with {ended.returncode}: {ended.stdout[-500:]}", file=sys.stderr)
            break
        died = {"kind": "test", "node": begun[-1], "outcome": "failed", "message": "the process died", "seconds": 0}
        with out.open("a") as lines:
            lines.write(json.dumps(died) + "\n")


def read(out: Path) -> Iterator[dict[str, Any]]:
    """The rows that the plugin wrote."""
    if out.exists():
        with out.open() as lines:
            yield from map(json.loads, lines)


def outcomes(outs: list[Path]) -> dict[str, dict[str, Any]]:
    """The outcome of each test: failures in its setup count as its own."""
    found: dict[str, dict[str, Any]] = {}
    for row in (row for out in outs for row in read(out)):
        if row["kind"] == "test" and found.get(row["node"], {}).get("outcome") != "failed":
            found[row["node"]] = row
    return found


def cause_of(row: dict[str, Any], causes: list[dict[str, str]]) -> tuple[str, str]:
    """The kind and the cause of a failure."""
    message = row.get("message", "")
    for each in causes:
        if re.search(each["test"], row["node"]) and re.search(each["message"], message):
            return each["class"], each["what"]
    return "?", re.sub(r"\s+", " ", message)[:100]


def area_of(node: str) -> str:
    parts = node.split("::")[0].split("/")
    return parts[1] if len(parts) > 2 else "others"


def table(found: dict[str, dict[str, Any]], causes: list[dict[str, str]]) -> str:
    """Area by area, then the causes of what differs or is missing, as Markdown."""
    counts: dict[str, collections.Counter[str]] = collections.defaultdict(collections.Counter)
    why: dict[str, collections.Counter[str]] = collections.defaultdict(collections.Counter)
    for node, row in found.items():
        kind, what = cause_of(row, causes) if row["outcome"] == "failed" else (row["outcome"], "")
        counts[area_of(node)][kind] += 1
        why[kind][what] += 1
    lines = ["| area | run | pass | " + " | ".join(KINDS.values()) + " |", "|---" * (3 + len(KINDS)) + "|"]
    total: collections.Counter[str] = sum(counts.values(), collections.Counter())
    for area, count in [*sorted(counts.items()), ("**all**", total)]:
        cells = [sum(count.values()) - count["skipped"], count["passed"] + count["xfailed"] + count["xpassed"]]
        cells += [count[kind] for kind in KINDS]
        lines.append(f"| {area} | " + " | ".join(map(str, cells)) + " |")
    for kind in "cbe?":
        lines += ["", f"{KINDS[kind]}:", ""]
        lines += [f"- {what} ({n})" for what, n in why[kind].most_common()]
    return "\n".join(lines)


def main() -> None:
    reader = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    reader.add_argument("--git", help="git directory of a clone of PyMC")
    reader.add_argument("--libs", help="folder with pytest 8.4.2 and what the tests want besides")
    reader.add_argument("--out", type=Path, default=Path(tempfile.gettempdir()) / "ppl_pymc_tests", help="results")
    reader.add_argument("--limit", type=int, default=40, help="seconds of processor time for a test")
    reader.add_argument("--again", action="store_true", help="run what has run before, too")
    reader.add_argument("--table", action="store_true", help="run nothing")
    reader.add_argument("--list", choices=list(KINDS.values()), help="the failures of a kind")
    reader.add_argument("areas", nargs="*", help=", ".join(AREAS))
    arguments = reader.parse_args()
    arguments.source = arguments.out / "source"
    if unknown := set(arguments.areas) - set(AREAS):
        reader.error(f"no area {', '.join(sorted(unknown))}: there are {', '.join(AREAS)}")
    outs = {area: arguments.out / f"{area}.jsonl" for area in arguments.areas or AREAS}
    if not arguments.table and not arguments.list:
        if not arguments.git:
            reader.error("--git says where PyMC's tests are")
        taken_out(arguments.git, arguments.source)
        for area, out in outs.items():
            start = time.monotonic()
            run(area, arguments, out)
            print(f"{area}: {time.monotonic() - start:.0f} s", file=sys.stderr)
    causes = json.loads((HERE / "pymc_tests_causes.json").read_text(encoding="utf-8"))
    found = outcomes(list(outs.values()))
    if not arguments.list:
        print(table(found, causes))
        return
    for node, row in found.items():
        if row["outcome"] == "failed" and KINDS[(cause := cause_of(row, causes))[0]] == arguments.list:
            print(f"{node.removeprefix('tests/')} | {cause[1]} | {row.get('message', '')[:200]!r} | {row.get('at')}")


if __name__ == "__main__":
    main()
