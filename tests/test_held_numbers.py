"""Numbers with dear formulas are computed once before arrays use them: the same values, and the same derivatives."""

import jax
import numpy as np
import pytest

import ppl.tensor as tt
from ppl.compile.numbers import HELD, held_numbers
from ppl.graph import ancestors
from ppl.rewrites.values.by_numpy import is_known
from ppl.tensor.core.evaluate import to_jax

ENTRIES = np.linspace(0.1, 2.0, 7)
FORMS = {
    "a tail times an array": lambda x: tt.sum(tt.log_ndtr(x) * ENTRIES),
    "a function of a tail": lambda x: tt.sum(tt.exp(tt.log_ndtr(x) / 3) + ENTRIES),
    "a gamma function": lambda x: tt.sum(tt.gammaln(x) ** 2 * ENTRIES),
}


@pytest.mark.parametrize("form", FORMS)
def test_a_dear_number_is_held_and_nothing_else_changes(form):
    x = tt.dscalar("x")
    written = FORMS[form](x)
    (held,) = held_numbers([written], [x])
    assert any(node.op is HELD for node in ancestors([held]))
    with jax.enable_x64(True):
        before, after = (jax.value_and_grad(to_jax([x], y)) for y in (written, held))
        for at in (0.3, 2.5, 11.0):
            np.testing.assert_allclose(after(at), before(at), rtol=1e-15)


@pytest.mark.parametrize(
    "write",
    [lambda x: tt.sum(x * ENTRIES), lambda x: tt.log_ndtr(x) * 2.0, lambda x: tt.sum(tt.log_ndtr(ENTRIES) * x)],
    ids=["cheap", "no array", "data alone"],
)
def test_what_is_cheap_or_used_by_no_array_stays_as_it_is(write):
    x = tt.dscalar("x")
    written = write(x)
    assert held_numbers([written], [x])[0] is written


def test_numpy_knows_it():
    x = tt.dscalar("x")
    (held,) = held_numbers([FORMS["a tail times an array"](x)], [x])
    assert all(is_known(node) for node in ancestors([held]) if node.op is HELD)
