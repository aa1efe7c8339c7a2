"""The XLA flag is set when it can be, and what the user set is kept."""

import logging
import os
import subprocess
import sys
from pathlib import Path

import pytest

from ppl.xla import flags

SETTING = f"{flags.OPTION}={flags.LIMIT}"
ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("", f"{flags.GROUP}{SETTING}"),
        ("--xla_dump_to=/x", f"--xla_dump_to=/x {flags.GROUP}{SETTING}"),
        (f"{flags.GROUP}a=1 --b", f"{flags.GROUP}a=1,{SETTING} --b"),
    ],
)
def test_other_flags_are_kept(before, after):
    assert flags.with_option(before) == after


def test_the_limit_of_the_user_wins(monkeypatch):
    monkeypatch.setenv("XLA_FLAGS", f"{flags.GROUP}{flags.OPTION}=5")
    assert flags.apply()
    assert os.environ["XLA_FLAGS"] == f"{flags.GROUP}{flags.OPTION}=5"


def test_the_user_can_opt_out(monkeypatch):
    monkeypatch.setenv("XLA_FLAGS", "")
    monkeypatch.setenv(flags.OPT_OUT, "1")
    assert not flags.apply()
    assert os.environ["XLA_FLAGS"] == ""


def test_too_late_is_said_once(monkeypatch, caplog):
    monkeypatch.setenv("XLA_FLAGS", "")
    monkeypatch.delenv(flags.OPT_OUT, raising=False)
    monkeypatch.setattr(flags, "devices_are_open", lambda: True)
    monkeypatch.setattr(flags, "_told", False)
    with caplog.at_level(logging.WARNING, logger="ppl"):
        assert not flags.apply()
        assert not flags.apply()
    assert len(caplog.records) == 1
    assert "Import ppl before the first JAX computation" in caplog.text


def test_it_works_in_a_fresh_process():
    script = (
        "import jax; from ppl.xla import flags; assert flags.apply(); jax.numpy.ones(1);"
        "flags.os.environ.pop('XLA_FLAGS'); assert not flags.apply()"
    )
    environment = {k: v for k, v in os.environ.items() if k != "XLA_FLAGS"} | {"PYTHONPATH": str(ROOT)}
    done = subprocess.run([sys.executable, "-c", script], env=environment, capture_output=True, text=True, check=True)
    assert "Import ppl before" in done.stderr
