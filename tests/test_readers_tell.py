"""Whoever reads data while a plan is made says so, since a plan is kept for as long as what was read stays the same.

All arrays of the known models are made variables here, as `pm.Data` are. Each reading of a variable's value while a
plan is made is caught, and the plan must know of it.
"""

from __future__ import annotations

import sys
from functools import partial

import numpy as np
import pytest
from models_of_pymc import MODELS
from proof_models import PROOFS

import ppl as pm
import ppl.tensor as tt
from ppl.graph import topological
from ppl.model.posterior import snapshot
from ppl.model.posterior.rewriting import rewritten
from ppl.rewrites.marginalization.expressions import data
from ppl.rewrites.values import reads
from ppl.tensor.tensor import CONSTANT, value_of
from ppl.tensor.variables import Cell, shared

pytestmark = pytest.mark.filterwarnings("ignore")


def of_pymc(build):
    with pm.Model() as model:
        build(pm, tt)
    return model


KNOWN = {proof.name: proof.model for proof in PROOFS} | {
    f"of PyMC: {name}": partial(of_pymc, build) for name, build in MODELS.items()
}


@pytest.fixture
def data_as_variables(monkeypatch):
    """Arrays of constants are variables whenever a model is looked at."""
    sized = snapshot.at_present_sizes

    def lent(outputs, done):
        wanted = list(outputs)
        for node in topological(wanted, blockers=done):
            value = np.asarray(value_of(node)) if node.op is CONSTANT and node not in done else np.empty(0)
            if value.ndim and value.size > 1 and value.dtype.kind in "fiu":
                done[node] = shared(value, shape=value.shape)
        return sized(wanted, done)

    monkeypatch.setattr(snapshot, "at_present_sizes", lent)


@pytest.fixture
def read(monkeypatch):
    """Where the value of each cell was read, while an answer that is kept was looked for."""
    found, slot = {}, Cell.value

    def value(cell):
        reader = sys._getframe(1)
        if reads._noting.get() and reader.f_code.co_filename != reads.__file__:
            found.setdefault(cell, []).append(f"{reader.f_code.co_filename}:{reader.f_lineno}")
        return slot.__get__(cell)

    monkeypatch.setattr(Cell, "value", property(value, lambda cell, new: slot.__set__(cell, new)))
    return found


@pytest.mark.parametrize("name", KNOWN)
def test_what_planning_reads_is_told(name, data_as_variables, read):
    posterior = rewritten(KNOWN[name]())
    told = {node.attrs["cell"] for node in posterior.reads._contents}
    assert not {cell: where for cell, where in read.items() if cell not in told}


def test_what_is_not_told_is_found(data_as_variables, read, monkeypatch):
    monkeypatch.setattr(data, "note", lambda nodes: None)
    posterior = rewritten(KNOWN["radon"]())
    assert read and not posterior.reads._contents
