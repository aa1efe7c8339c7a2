"""Forked children, platforms that are not there, signals: a process works, or says in words why not."""

import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
forks = pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")


def run(script, code=0, **environment):
    """What a process prints that runs the script and leaves with this code."""
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(script)], capture_output=True, text=True, timeout=120, cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT), **environment},
    )  # fmt: skip
    assert done.returncode == code, done.stderr
    return done.stdout + done.stderr


FORKED = """
import multiprocessing, sys
import numpy as np
import ppl as pm
import ppl.tensor as tt

x = tt.dvector("x")
f = pm.function([x], tt.exp(x).sum())
with pm.Model() as model:
    pm.Normal("y", pm.Normal("m"), pm.HalfNormal("s"), observed=[0.5, 1.5])
QUIET = dict(tune=20, chains=2, cores=2, random_seed=1, progressbar=False, quiet=True, certificate=False)
calls = {
    "call": lambda: f(np.zeros(3)),
    "new function": lambda: pm.function([x], tt.sin(x).sum())(np.zeros(3)),
    "sample": lambda: pm.sample(20, model=model, rewrite=False, compute_convergence_checks=False, **QUIET),
}

def child(name):
    try:
        calls[name]()
    except RuntimeError as error:
        print(name, "refused:", error, flush=True)
    else:
        print(name, "works", flush=True)

def forked(name):
    process = multiprocessing.get_context("fork").Process(target=child, args=[name], daemon=True)
    process.start()
    process.join(30)
    if process.is_alive():
        print(name, "hangs", flush=True)
        process.kill()
"""


@forks
def test_a_child_that_was_forked_after_jax_was_used_is_refused_with_the_remedy():
    told = run(FORKED + "f(np.zeros(3))\nfor name in calls: forked(name)")
    for name in ("call", "new function", "sample"):
        line = next(line for line in told.splitlines() if line.startswith(f"{name} "))
        assert line.startswith(f"{name} refused: This process")
        assert "get_context('spawn')" in line and "loky" in line


@forks
def test_a_child_that_was_forked_before_jax_was_used_works_and_so_does_its_parent():
    told = run(FORKED + "for name in calls: forked(name)\nchild('call')")
    assert [line for line in told.splitlines() if line.endswith(("works", "hangs"))] == [
        "call works", "new function works", "sample works", "call works"
    ]  # fmt: skip


@pytest.mark.parametrize("asked", ["nothing", "cuda"])
def test_a_platform_that_is_not_there_is_told_in_one_sentence(asked):
    script = """
    import numpy as np
    import ppl as pm
    import ppl.tensor as tt
    x = tt.dvector("x")
    with pm.Model() as model:
        pm.Normal("y", pm.Normal("m"), pm.HalfNormal("s"), observed=[0.5, 1.5])
    calls = [
        lambda: pm.function([x], tt.exp(x).sum())(np.zeros(3)),
        lambda: pm.sample(10, tune=10, model=model, progressbar=False),
    ]
    for call in calls:
        try:
            call()
        except RuntimeError as error:
            print(error)
    """
    told = run(script, JAX_PLATFORMS=asked).splitlines()
    if asked == "cuda" and not told:
        pytest.skip("there is CUDA here")
    assert len(told) == 2
    assert told[0] == told[1]
    assert told[0].startswith(
        f"JAX_PLATFORMS asks for {asked!r}, and JAX has no such device here, but cpu: leave it out"
    )


TERMINATED = """
import os, signal, sys, threading, time
import numpy as np
import ppl as pm

with pm.Model() as model:
    pm.Normal("y", pm.Normal("m"), pm.HalfNormal("s"), observed=[0.5, 1.5])
signals = []
def sample(draws, wanted=None, **more):
    def look(trace, draw):
        if wanted is not None and draw.draw_idx > 300 and not signals:
            signals.append(wanted)
            os.kill(os.getpid(), wanted)
        return None
    common = dict(tune=100, chains=2, cores=1, random_seed=1, progressbar=False, certificate=False, rewrite=False)
    return pm.sample(draws, model=model, compute_convergence_checks=False, callback=look, **common, **more)
"""


@pytest.mark.skipif(os.name == "nt", reason="sends SIGTERM")
def test_sigterm_saves_a_run_and_leaves_with_the_code_to_start_it_again(tmp_path):
    place = str(tmp_path / "run")
    said = f"""
try:
    sample(10**6, signal.SIGTERM, checkpoint={place!r})
except SystemExit:
    print("restored", signal.getsignal(signal.SIGTERM) is signal.SIG_DFL, flush=True)
    raise
print("went on")
"""
    told = run(TERMINATED + said, code=75)
    assert "restored True" in told
    assert "went on" not in told
    assert f"SIGTERM: the run is saved in {place}; resume={place!r} goes on with it." in told
    assert (tmp_path / "run" / "chain-0" / "state.npz").exists()
    said = f"""
whole = sample(500)
resumed = sample(500, resume={place!r})
print("the same", np.array_equal(whole.posterior.m, resumed.posterior.m))
"""
    assert "the same True" in run(TERMINATED + said)


@pytest.mark.skipif(os.name == "nt", reason="sends SIGTERM")
def test_sigterm_is_left_alone_where_nothing_is_saved():
    run(TERMINATED + "sample(10**6, signal.SIGTERM)", code=-15)


@pytest.mark.skipif(os.name == "nt", reason="sends SIGTERM")
def test_sigterm_goes_to_a_handler_of_the_user(tmp_path):
    said = f"""
seen = []
mine = lambda number, frame: seen.append(number)
signal.signal(signal.SIGTERM, mine)
trace = sample(600, signal.SIGTERM, checkpoint={str(tmp_path / "run")!r})
print(len(seen), trace.posterior.sizes["draw"], signal.getsignal(signal.SIGTERM) is mine)
"""
    assert "1 600 True" in run(TERMINATED + said)
