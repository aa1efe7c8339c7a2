"""Programs with several stacks of matrices work them off in loops; a program with one is left as it is."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

import ppl
import ppl.tensor as tt
from ppl.samplers.programs.programs import _STACKED_LAPACK
from ppl.xla import stacks

RNG = np.random.default_rng(4)
MATRICES = RNG.normal(size=(2, 3, 4, 4)) + 4.0 * np.eye(4)


def several(x):
    """Stacks in a program, in functions that it calls, in its loops and in its branches."""
    square = x @ jnp.swapaxes(x, -1, -2)
    again = lax.while_loop(lambda c: c[0] < 3, lambda c: (c[0] + 1, jnp.linalg.inv(c[1])), (0, x))[1]
    total, _ = lax.scan(
        lambda t, w: (t + jnp.linalg.slogdet(w * x)[1], None), jnp.zeros(x.shape[:2]), jnp.arange(1.0, 4)
    )
    root = lax.cond(x[0, 0, 0, 0] > 0, jnp.linalg.cholesky, lambda y: y, square)
    slope = jax.grad(lambda y: jnp.linalg.slogdet(y)[1].sum())(x)
    return {"eigh": jnp.linalg.eigh(square)[0], "inverse": again, "totals": (total, root), "slope": slope}


def stacked(executable):
    return len(_STACKED_LAPACK.findall(executable.as_text()))


def test_several_stacks_go_matrix_by_matrix_and_have_the_same_values():
    with jax.enable_x64(True):
        looped = stacks.in_turn(several, (MATRICES,)).lower().compile()
        found = looped(MATRICES)
    square = MATRICES @ MATRICES.swapaxes(-1, -2)
    inverse = np.linalg.inv(MATRICES)
    total = 3 * np.linalg.slogdet(MATRICES)[1] + 4 * np.log(6.0)
    wanted = {"eigh": np.linalg.eigvalsh(square), "inverse": inverse, "slope": inverse.swapaxes(-1, -2)}
    for name, value in {**wanted, "totals": (total, np.linalg.cholesky(square))}.items():
        jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-10, atol=1e-12), found[name], value)
    assert stacked(looped) == 0


def test_one_stack_stays():
    with jax.enable_x64(True):
        one = stacks.in_turn(jnp.linalg.cholesky, (np.broadcast_to(np.eye(4), (3, 4, 4)),)).lower().compile()
    assert stacked(one) == 1


def test_compiled_functions_of_several_stacks_end():
    """The first size has nothing to share out, and is met first."""
    x = tt.tensor("x", dtype="float64", shape=(None, 4, 4))
    square = tt.matmul(x, tt.swapaxes(x, -1, -2))
    outputs = [tt.linalg.eigh(square)[0], tt.linalg.inv(x), tt.slogdet(x)[1], tt.linalg.eigh(square + 1)[0]]
    f = ppl.function([x], outputs)
    for size in (1, 3, 64):
        given = RNG.normal(size=(size, 4, 4)) + 4.0 * np.eye(4)
        for _ in range(20):
            found = f(given)
        product = given @ given.swapaxes(-1, -2)
        wanted = np.linalg.eigvalsh(product), np.linalg.inv(given), np.linalg.slogdet(given)[1]
        for one, other in zip(found, (*wanted, np.linalg.eigvalsh(product + 1)), strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-10)
    assert f.compilations == 3
