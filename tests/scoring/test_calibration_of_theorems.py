"""Models that theorems rewrite are calibrated by simulation, and a recovery that is wrong is found."""

import numpy as np
import pytest
from calibrated_models import MODELS, calibration


@pytest.mark.slow
@pytest.mark.parametrize("name", MODELS)
def test_a_rewritten_model_is_calibrated(name):
    found = calibration(name, 60)
    assert found.least > 1e-3, f"{found.worst}: {found}"


@pytest.mark.slow
@pytest.mark.parametrize("fault", ["draws too narrow", "draws of other data"])
def test_a_wrong_recovery_is_found(fault):
    rng, before = np.random.default_rng(0), {}

    def spoil(draws):
        if fault == "draws too narrow":
            return {name: x.mean(0) + 0.5 * (x - x.mean(0)) for name, x in draws.items()}
        spoiled = before.copy() or {name: x[rng.permutation(len(x))] for name, x in draws.items()}
        before.update(draws)
        return spoiled

    assert calibration("lifetimes", 100, spoil=spoil).least < 1e-3
