"""`profile`: where the time of a first run goes."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pytest

import ppl as pm
from ppl.samplers import PROGRAMS

FEW = {"draws": 30, "tune": 30, "chains": 2, "random_seed": 1}


def counts():
    with pm.Model() as model:
        effects = pm.Normal("effects", 0, pm.HalfNormal("scale", 1), shape=4)
        pm.Poisson("y", pm.math.exp(effects), observed=[1, 2, 3, 4])
    return model


def test_a_run_by_chains_is_seen_whole():
    model = counts()
    pm.sample(model=model, progressbar=False, quiet=True, **FEW)
    kept, before = model.last_posterior, PROGRAMS.compilations
    found = pm.profile(model=model, imports=False, **FEW)
    assert PROGRAMS.compilations > before, "what this process knew already is set aside"
    assert model.last_posterior is kept
    assert [*found.stages] == ["rewriting and starts", "compiling", "sampling", "results"]
    assert all(seconds > 0 for seconds in found.stages.values()) and found.total == sum(found.stages.values())
    assert "chunk" in [made.what for made in found.programs] and found.drawn_by == "NUTS"
    assert found.gradient > 0 and {"scale", "effects"} <= found.statements.keys()
    text = str(found)
    for word in ("chains", "compiling", "µs", "effects"):
        assert word in text
    assert "<pre>" in found._repr_html_()


def test_programs_that_were_known_are_known_again():
    model = counts()
    pm.sample(model=model, progressbar=False, quiet=True, **FEW)
    pm.profile(model=model, imports=False, **FEW)
    before = PROGRAMS.compilations
    pm.sample(model=model, progressbar=False, quiet=True, **FEW)
    assert PROGRAMS.compilations == before


def test_where_no_chain_runs_there_is_no_gradient():
    with pm.Model() as model:
        pm.Normal("y", pm.Normal("mu", 0, 1), 1, observed=[1.0, 2.0])
    found = pm.profile(model=model, imports=False, **FEW)
    assert found.gradient is None and not found.statements and "gradient" not in str(found)
    assert "recovery" in found.drawn_by and found.stages["compiling"] == 0


def test_a_program_that_is_read_from_disk_is_told(tmp_path):
    program = (
        "import ppl as pm\n"
        "with pm.Model() as m:\n"
        "    pm.Poisson('y', pm.math.exp(pm.Normal('x', 0, pm.HalfNormal('s'), shape=9)), observed=range(9))\n"
        "    found = pm.profile(imports=False, draws=20, tune=20, chains=1, random_seed=1)\n"
        "print([made.from_disk for made in found.programs if made.what == 'chunk'])\n"
    )
    told = [
        subprocess.run(
            [sys.executable, "-c", program], env={**os.environ, "PPL_DISK_CACHE": str(tmp_path / "kept")},
            capture_output=True, text=True, check=True,
        ).stdout.strip()
        for _ in range(2)
    ]  # fmt: skip
    assert told == ["[False]", "[True]"]


def test_imports_are_those_of_a_process_of_its_own():
    with pm.Model() as model:
        pm.Normal("y", pm.Normal("mu", 0, 1), 1, observed=[1.0])
    found = pm.profile(model=model, **FEW)
    assert found.imports["ppl"] > 0 and "imports" in str(found)
    assert found.total == pytest.approx(sum(found.stages.values()) + sum(found.imports.values()))


@pytest.mark.parametrize("name", ["blocking", "progressbar", "quiet"])
def test_what_profile_decides_itself_is_refused(name):
    with pytest.raises(TypeError, match=f"leave {name}= out"):
        pm.profile(model=counts(), **{name: False})


def test_data_stay_what_they_were():
    with pm.Model() as model:
        x = pm.Data("x", np.arange(4.0))
        pm.StudentT("y", 4, pm.Normal("a") + x, 1, observed=np.arange(4.0))
    pm.profile(model=model, imports=False, **FEW)
    np.testing.assert_array_equal(x.get_value(), np.arange(4.0))
