"""The log-density of each model, its terms and its gradient are those of PyMC, and so are names and shapes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from models_of_pymc import MODELS, books, built, densities, kept, slopes, source_of, told_by_pymc

import ppl
import ppl.tensor

pytestmark = pytest.mark.usefixtures("module_compiled_quickly")

RELATIVE = 1e-9
# Log-densities that differ by a constant, which no posterior sees.
CONSTANTS = {
    (
        "correlated_effects",
        "chol",
    ): "PyMC adds the logarithm of the volume of correlations, where it must be subtracted",
    ("a_packed_covariance", "packed"): "as above",
    ("scales_of_several_kinds", "chol"): "as above",
    ("a_correlation", "corr"): "as above",
    ("areas", "car"): "PyMC leaves constants out",
}
KEPT = kept()


def compare(name: str, told: dict[str, Any]) -> None:
    ours = built(ppl, ppl.tensor, MODELS[name])
    here = books(ours)
    assert here == {book: told[book] for book in here}
    mine = ours.compile_fn([*densities(ours), *slopes(ours)])
    labels = ["logp", *(v.name for v in (*ours.basic_RVs, *ours.potentials)), "gradient"]
    dtypes = {v.name: v.dtype for v in ours.value_vars}
    offset: Any = None
    for point in told["points"]:
        at = {k: np.asarray(v, dtypes[k]) for k, v in point["at"].items()}
        theirs = [np.asarray(value) for value in point["values"]]
        pairs = dict(zip(labels, zip(mine(at), theirs, strict=True), strict=False))
        if offset is None:
            offset = sum(a - b for label, (a, b) in pairs.items() if (name, label) in CONSTANTS)
        for label, (a, b) in pairs.items():
            shift = offset if label == "logp" or (name, label) in CONSTANTS else 0.0
            near = RELATIVE * max(1.0, np.abs(b).max(initial=0.0))
            np.testing.assert_allclose(a - shift, b, RELATIVE, near, err_msg=f"{name}: {label}")


@pytest.mark.parametrize("name", MODELS)
def test_densities_and_gradients_are_those_that_pymc_told(name):
    told = KEPT.get(name, {})
    assert told.get("source") == source_of(name), "run python tests/models_of_pymc.py, with PyMC 5"
    compare(name, told)


@pytest.mark.slow
@pytest.mark.parametrize("name", MODELS)
def test_densities_and_gradients_are_those_of_pymc_at_many_points(pymc5, name):
    compare(name, told_by_pymc(pymc5, name, 20))


def test_a_density_that_is_not_that_of_pymc_is_found():
    told = KEPT["positive_priors"]
    first = told["points"][0]
    for wrong in (
        {**told, "value_vars": told["value_vars"][::-1]},
        {**told, "points": [{**first, "values": [first["values"][0] + 1e-7, *first["values"][1:]]}]},
    ):
        with pytest.raises(AssertionError):
            compare("positive_priors", wrong)
