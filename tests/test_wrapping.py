"""JAX's functions as operations, and graphs as JAX's functions, under every transformation that JAX has."""

import os
import subprocess
import sys

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import ppl
import ppl.tensor as tt

ROWS = np.arange(6.0).reshape(2, 3)


@ppl.from_jax(static=("axis",))
def moments(x, *, axis=0):
    """Mean and variance along an axis, in a dictionary."""
    return {"mean": x.mean(axis), "variance": x.var(axis)}


def test_a_decorated_function_with_several_results_and_a_constant():
    x = tt.dmatrix("x")
    found = moments(x, axis=1)
    f = ppl.function([x], found)
    assert f(ROWS)["mean"].tolist() == [1, 4] and np.allclose(f(ROWS)["variance"], 2 / 3)
    assert found["mean"].ndim == 1 and moments(x, axis=0)["mean"] is not found["mean"]
    slopes = ppl.grad(found["variance"].sum(), x)
    assert np.allclose(slopes.eval({x: ROWS}), [[-2 / 3, 0, 2 / 3]] * 2)


def test_tensors_anywhere_among_the_arguments():
    total = ppl.from_jax(lambda parts, scale: sum(jnp.sum(v) for v in parts["of"]) * scale)
    x, y = tt.dvectors("x", "y")
    f = ppl.function([x, y], total({"of": [x, y, np.ones(2)]}, scale=2.0))
    assert f([1.0], [2.0, 3.0]) == 16.0


def test_a_constant_that_does_not_exist():
    with pytest.raises(TypeError, match="f has no parameter axes"):
        ppl.from_jax(lambda x: x, static=("axes",), name="f")


def test_a_graph_goes_through_transformations():
    x, w = tt.dvector("x"), tt.dvector("w")
    cost = tt.sum(tt.log1p(tt.exp(x * w))) + ppl.grad(tt.sum(x**3), x).sum()
    f = ppl.to_jax([x, w], cost)
    by_hand = lambda x, w: jnp.sum(jnp.log1p(jnp.exp(x * w))) + jnp.sum(3 * x**2)
    with jax.enable_x64(True):
        a, b = jnp.array([0.3, -1.0]), jnp.array([1.0, 2.0])
        both = jnp.stack([a, b])
        for change, given in (
            (jax.jit, (a, b)),
            (jax.grad, (a, b)),
            (jax.hessian, (a, b)),
            (lambda g: jax.vmap(jax.grad(g), (None, 0)), (a, both)),
            (lambda g: jax.vmap(jax.vmap(g, (0, None)), (None, 0)), (both, both)),
            (lambda g: lambda x, w: jax.jvp(g, (x, w), (w, x))[1], (a, b)),
            (lambda g: jax.checkpoint(jax.grad(g)), (a, b)),
        ):
            np.testing.assert_allclose(change(f)(*given), change(by_hand)(*given), rtol=1e-14)


TWO_DEVICES = """
import jax, numpy as np
import jax.numpy as jnp
from functools import partial
from jax.sharding import Mesh, PartitionSpec as P
import ppl, ppl.tensor as tt
x = tt.tensor("x", "float64", (None, 3))
f = ppl.to_jax([x], (tt.exp(x) * 2).sum(axis=1))
data = np.arange(12.0).reshape(4, 3) / 10
wanted = 2 * np.exp(data).sum(1)
with jax.enable_x64(True):
    assert len(jax.devices()) == 2
    mesh = Mesh(np.array(jax.devices()), ("rows",))
    sharded = jax.jit(jax.shard_map(f, mesh=mesh, in_specs=P("rows"), out_specs=P("rows")))(data)
    assert len(sharded.sharding.device_set) == 2
    np.testing.assert_allclose(sharded, wanted)
    np.testing.assert_allclose(jax.pmap(f)(data.reshape(2, 2, 3)).reshape(4), wanted)
"""


DRAWN = """
import numpy as np, ppl as pm
laws = [pm.Normal.dist(0, 1, size=1001), pm.Gamma.dist(2, 1, size=1001), pm.Poisson.dist(30, size=1001)]
print(*[x for draws in pm.draw(laws, random_seed=3) for x in draws])
"""


def test_draws_are_the_same_on_one_device_and_on_four():
    """To the last bits, which depend on how XLA shares the places out among threads."""
    found = []
    for count in (1, 4):
        flags = f"{os.environ.get('XLA_FLAGS', '')} --xla_force_host_platform_device_count={count}"
        command, variables = [sys.executable, "-c", DRAWN], {**os.environ, "XLA_FLAGS": flags}
        run = subprocess.run(command, env=variables, capture_output=True, text=True, check=True)
        found.append(np.array(run.stdout.split(), float))
    np.testing.assert_allclose(found[0], found[1], rtol=1e-13)


def test_a_graph_on_two_devices():
    flags = f"{os.environ.get('XLA_FLAGS', '')} --xla_force_host_platform_device_count=2"
    run = subprocess.run(
        [sys.executable, "-c", TWO_DEVICES], env={**os.environ, "XLA_FLAGS": flags}, capture_output=True, text=True
    )
    assert run.returncode == 0, run.stderr


def test_open_lengths_may_have_to_be_those_of_others():
    """Rows that go with known ones, while the length of each stays open."""
    both = tt.from_jax(lambda x, y: jnp.vectorize(jnp.convolve, signature="(n),(m)->(k)")(x, y))
    x = tt.tensor("x", "float64", (None, None))
    found = both(x, np.ones((2, 4)))
    assert found.type.shape == (2, None)
    np.testing.assert_array_equal(ppl.function([x], found)(np.ones((2, 5)))[0], [1, 2, 3, 4, 4, 3, 2, 1])
    with pytest.raises(TypeError, match="contracting dimensions"):
        tt.from_jax(lambda x, y: jnp.dot(x, y) + 1.0)(tt.tensor("x", "float64", (3, None)), np.ones((2, 2)))
