"""Every family, transform and op of PyMC converted: books, densities and gradients are those that PyMC tells."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from against_pymc import agree, books, density_and_slope, near_at_all, nothing_compiled
from kept import BY_A_CONSTANT, MODELS, built, kept, source_of
from some_slow import every

import ppl

pytestmark = [pytest.mark.usefixtures("module_compiled_quickly", "pymc5"), pytest.mark.filterwarnings("ignore")]
KEPT = kept()


@pytest.mark.parametrize("name", every(2, MODELS))
def test_books_densities_and_gradients_are_those_that_pymc_told(pymc5, name):
    told = KEPT.get(name, {})
    assert told.get("source") == source_of(name), "run python tests/bridge/kept.py, with PyMC 5"
    source = built(pymc5, name)
    with warnings.catch_warnings(), nothing_compiled():
        warnings.simplefilter("ignore")
        made = ppl.from_pymc(source)
    assert books(made) == told["books"]
    ours = density_and_slope(source, made)
    kinds = {v.name: v.dtype for v in made.value_vars}
    points = [{k: np.asarray(v, kinds[k]) for k, v in row["at"].items()} for row in told["points"]]
    rows = [(at, ours(at), row["values"]) for at, row in zip(points, told["points"], strict=True)]
    near_at_all(rows, 1e-8, name in BY_A_CONSTANT)


@pytest.mark.slow
@pytest.mark.parametrize("name", MODELS)
def test_densities_and_gradients_are_those_of_pymc(pymc5, name):
    agree(built(pymc5, name), offset=name in BY_A_CONSTANT)
