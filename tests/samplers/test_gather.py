"""Gathers by a known index: values and gradients are those of plain indexing, and the loop still folds."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from ppl.samplers.programs import gather
from ppl.samplers.programs.programs import PROGRAMS
from ppl.samplers.programs.randomness import own_settings
from ppl.samplers.sample import sample

INDICES = {
    "even": np.random.default_rng(0).integers(7, size=100),
    "sorted": np.sort(np.random.default_rng(1).integers(7, size=100)),
    "one large group": np.append(np.zeros(300, int), [1, 2, 3, 6]),
    "all alike": np.full(40, 3),
    "each once": np.arange(7)[::-1],
    "no rows": np.zeros(0, int),
}


@pytest.mark.parametrize("shape", [(7,), (7, 2)], ids=["scalars", "vectors"])
@pytest.mark.parametrize("name", INDICES)
def test_take_is_indexing_and_so_is_its_gradient(name, shape):
    rng = np.random.default_rng(2)
    rows, values = INDICES[name], rng.normal(size=shape)
    weights = rng.normal(size=(rows.size, *shape[1:]))
    with own_settings():
        plain = lambda v: jnp.sum(jnp.sin(v[rows]) * weights)
        turned = lambda v: jnp.sum(jnp.sin(gather.take(v, gather.index(rows, 7))) * weights)
        for mine, theirs in zip(jax.value_and_grad(turned)(values), jax.value_and_grad(plain)(values), strict=True):
            np.testing.assert_allclose(mine, theirs, rtol=1e-12, atol=1e-13)


def test_one_large_group_does_not_make_a_large_table():
    index = gather.index(np.append(np.zeros(2000, int), np.repeat(np.arange(1, 101), 20)), 101)
    assert index.parts.size + index.groups.size < 4 * 4000


def test_a_loop_with_a_gather_folds():
    index = gather.index(np.random.default_rng(3).integers(3, size=50), 3)
    PROGRAMS.clear()
    logp = lambda q, *index: -0.5 * jnp.sum(q**2) - 0.1 * jnp.sum(gather.take(q, gather.Index(*index)) ** 2)
    sample(logp, np.zeros((1, 3)), data=tuple(index), chains=1, draws=5, tune=5)
    text = next(iter(PROGRAMS._kept.values())).as_text()
    assert " while(" not in text[text.index("ENTRY") :]


@pytest.mark.parametrize(("rows", "message"), [([0, 3], "between 0 and 2, got 0 to 3"), ([0.5], "got float64"),
                                               ([[0]], r"of shape \(1, 1\)")])  # fmt: skip
def test_an_index_that_is_none_is_named(rows, message):
    with pytest.raises(ValueError, match=message):
        gather.index(np.asarray(rows), 3)
