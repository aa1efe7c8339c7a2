"""Whether a program with vectors has the joint density of the one that a loop wrote, and gives its variables back."""

import numpy as np
import pytest

import ppl as pm
import ppl.tensor as tt
from ppl.graph import substitute
from ppl.rewrites.marginalization.program import log_density


def joint(program, values):
    """The joint log-density of a program at values of its variables."""
    return sum([tt.sum(log_density(f, values)) for f in program.factors], start=tt.as_tensor(0.0)).eval()


def check_vectors(before, found):
    for seed in range(3):
        drawn = dict(zip(before.free, pm.draw(list(before.free), random_seed=seed), strict=True))
        values = {rv: tt.as_tensor(x) for rv, x in drawn.items()}
        values |= {many: tt.as_tensor(end_to_end([drawn[rv] for rv in each])) for many, each in found.members.items()}
        for back in reversed(found.program.recoveries):
            values.setdefault(back.variable, substitute(back.draw, values))
            np.testing.assert_array_equal(substitute(back.draw, values).eval(), drawn[back.variable])
        assert joint(found.program, values) == pytest.approx(joint(before, values), rel=1e-12)


def end_to_end(values):
    return values[0] if len(values) == 1 else np.concatenate([np.ravel(x) for x in values])
