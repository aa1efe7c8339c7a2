"""What rewriting takes as known of a draw is so of every draw."""

import numpy as np
import pytest

from ppl.rewrites.facts.facts import Knowledge
from ppl.tensor import as_tensor

pytestmark = pytest.mark.usefixtures("module_compiled_quickly")


def test_draws_lie_where_they_are_known_to(case):
    case.need("sample")
    fact = Knowledge()(case.declared(case.tensors))
    draws = np.asarray(case.draws(20_001), float)
    assert np.all((draws >= fact.low) & (draws <= fact.high))
    assert not (fact.finite and not np.isfinite(draws).all())
    assert not (fact.integer and np.any(draws != np.round(draws)))
    if "simplex" in fact.marks:
        np.testing.assert_allclose(draws.sum(-1), 1.0, rtol=1e-9)
    if "positive_definite" in fact.marks:
        values = np.linalg.eigvalsh(draws)
        assert np.all(values[..., 0] >= -1e-14 * values[..., -1])  # rounding, where a draw is close to singular
    if "lower_triangular" in fact.marks:
        assert np.array_equal(draws, np.tril(draws))


def test_entries_that_are_free_of_each_other_can_be_exchanged(case):
    """What imputing some entries of a value rests on."""
    case.need("sample")
    if not case.support.ndim or case.support.entry is None:
        pytest.skip(f"{case}: its values have no entries, or these are bound to each other")
    one, other = np.asarray(case.draws(20_001))[:1000].reshape(2, 500, -1)
    chosen = np.random.default_rng(1).random(one.shape) < 0.5
    mixed = np.where(chosen, one, other).reshape((500, *case.draws(20_001).shape[1:]))
    for domain in (case.support, case.support.entry):
        assert np.all(as_tensor(domain.contains(mixed)).eval())
    density = case.values("log_density", mixed)
    assert not np.isnan(density).any() and np.all(density < np.inf)
    forbidden = case.support.discrete and any(np.ndim(p) and np.any(np.asarray(p) == 0) for p in case.parameters)
    assert forbidden or np.isfinite(density).all()  # a path over states has no step of probability zero
