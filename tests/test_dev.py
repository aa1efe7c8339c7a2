"""dev.py and the benchmarks say in one line what is wrong."""

import json
import os
import runpy
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
dev = runpy.run_path(str(ROOT / "dev.py"))


def house(place: Path) -> Path:
    """A bare copy of what dev.py needs, with no environment made yet."""
    shutil.copy(ROOT / "dev.py", place)
    shutil.copy(ROOT / "pyproject.toml", place)
    shutil.copytree(ROOT / "requirements", place / "requirements")
    return place / "dev.py"


def run(script: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, str(script), *words], capture_output=True, text=True, env={"PATH": ""})


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["demo"], "dev.py: examples/demo.py is missing: is this a whole checkout?\n"),
        (["bench"], "dev.py: there are no benchmarks yet\n"),
        (["lint", "ppl"], "dev.py: lint takes no arguments\n"),
    ],
)
def test_says_in_one_line(tmp_path, words, message):
    done = run(house(tmp_path), *words)
    assert (done.returncode, done.stderr) == (1, message)


def test_says_which_benchmarks_there_are(tmp_path):
    script = house(tmp_path)
    (tmp_path / "benchmarks").mkdir()
    (tmp_path / "benchmarks/core.py").touch()
    assert run(script, "bench", "cores").stderr == "dev.py: no benchmark cores: there are core\n"


def test_without_a_command_says_what_it_can_do(tmp_path):
    done = run(house(tmp_path))
    assert done.returncode == 2
    assert all(f"dev.py {command}" in done.stdout for command in dev["COMMANDS"])


@pytest.mark.parametrize(
    ("log", "why"),
    [
        ("error: Failed to fetch\n  cause: dns error: failed to lookup address", "no network"),
        (
            "WARNING: Retrying: [Errno -3] Temporary failure in name resolution\nERROR: No matching distribution",
            "no network",
        ),
        ("invalid peer certificate\nSSLCertVerificationError", "a certificate was not accepted"),
        ("OSError: [Errno 28] No space left on device", "the disk is full"),
        (
            "noise\nERROR: No matching distribution found for jax==0.10.2",
            "No matching distribution found for jax==0.10.2",
        ),
    ],
)
def test_explains_a_failed_installation(log, why):
    assert dev["reason"](log).startswith(why)


def test_stamp_knows_the_group_and_the_lock(tmp_path):
    module = runpy.run_path(str(house(tmp_path)))
    before = module["stamp"]("run"), module["stamp"]("test")
    with (tmp_path / "requirements/test.txt").open("a") as lock:
        lock.write("# changed\n")
    after = module["stamp"]("run"), module["stamp"]("test")
    assert before[0] == after[0]
    assert before[1] != after[1]
    assert before[0] != before[1]


def test_the_report_of_samplers_leaves_targets_out_and_measuring_does_not(tmp_path):
    def called(*words: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, ROOT / "benchmarks/samplers.py", *words]
        return subprocess.run(command, capture_output=True, text=True, env=os.environ | {"PYTHONPATH": str(ROOT)})

    figures = {("easy", "ppl"): 1.0, ("easy", "rival"): 2.0, ("hard", "ppl"): 8.0, ("hard", "rival"): 1.0}
    fields = ("us_per_leapfrog", "ess_per_kgrad", "ess_per_second")
    rows = [{"target": t, "sampler": s} | {field: [x] for field in fields} for (t, s), x in figures.items()]
    (tmp_path / "kept.json").write_text(json.dumps({"compare": rows}))
    report = ["--report", str(tmp_path / "kept.json")]
    assert "2.00 (8.00)" in called(*report).stdout
    assert "0.50 (0.50)" in called(*report, "--without", "hard").stdout
    refused = called("--without", "hard")
    assert refused.returncode and "--without belongs to --report" in refused.stderr


def test_slices_of_the_full_suite_cover_every_file_with_slow_tests():
    known = dev["slices"]()
    assert known["fast"] == ["-m", "not slow"]
    assert {"laws/test_random_models", "test_proof_models", "samplers/test_calibration"} <= known.keys()


def test_a_report_of_slices(tmp_path, capsys):
    (tmp_path / "good.txt").write_text("...\n12 passed, 1 skipped in 3.2s\n\nexit 0\n")
    (tmp_path / "none.txt").write_text("5 deselected in 0.2s\n\nexit 5\n")
    (tmp_path / "bad.txt").write_text("F\n1 failed, 11 passed in 3.2s\n\nexit 1\n")
    (tmp_path / "killed.txt").write_text("....\n")
    names = ["good", "none", "bad", "killed", "never"]
    assert dev["report"](tmp_path, names) == 1
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[1] for line in lines[:3]] == ["green", "green", "red"]
    assert "cut off" in lines[3] and "not run" in lines[4]
    assert lines[-1].startswith("2 of 5 slices are green")
    assert dev["report"](tmp_path, ["good", "none"]) == 0
