"""What the package takes of JAX beyond its documented interface: one module, known versions, each part tried."""

import re
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from ppl.xla import private

ROOT = Path(__file__).resolve().parent.parent
PRIVATE = re.compile(r"jax\._src|jax\.core\b|jax\.extend|jax\.interpreters")


def minor(version):
    return tuple(map(int, version.split(".")[:2]))


def test_the_installed_jax_is_one_that_the_module_was_tried_with():
    oldest, newest = map(minor, private.HOLDS_FOR)
    assert oldest <= minor(jax.__version__) <= newest, (
        f"JAX {jax.__version__} is none of {' to '.join(private.HOLDS_FOR)}: run the tests, mend ppl/xla/private.py"
        " where they fail, and write the version into its HOLDS_FOR"
    )


def test_it_holds_for_the_oldest_version_that_can_be_installed():
    (least,) = re.findall(r'"jax>=([\d.]+)"', (ROOT / "pyproject.toml").read_text())
    assert minor(least) == minor(private.HOLDS_FOR[0])


def test_no_other_module_names_what_is_private():
    files = [f for f in (ROOT / "ppl").rglob("*.py") if f.name != "private.py"]
    found = [
        f"{f.relative_to(ROOT)}:{n}"
        for f in files
        for n, line in enumerate(f.read_text().splitlines(), 1)
        if PRIVATE.search(line)
    ]
    assert not found, found


def test_what_is_traced_is_told_from_what_is_known():
    seen = []
    jax.jit(lambda x: (seen.append(private.is_traced(x)), x)[1])(1.0)
    assert seen == [True] and not private.is_traced(jnp.ones(2)) and not private.is_traced(np.ones(2))


def test_programs_are_read_and_run_equation_by_equation():
    def f(x):
        return jax.lax.cond(x[0] > 0, jnp.sin, jnp.cos, jax.lax.fori_loop(0, 3, lambda _, y: 2 * y, x))

    closed = jax.make_jaxpr(f)(jnp.ones(2))
    inside = {eqn.primitive.name: list(private.bodies(eqn)) for eqn in closed.jaxpr.eqns}
    assert len(inside["cond"]) == 2 and any(inside[name] for name in ("scan", "while") if name in inside)
    results = private.run_by(
        lambda eqn, values: private.bound(eqn, values, eqn.params), closed.jaxpr, closed.consts, [jnp.ones(2)]
    )
    np.testing.assert_allclose(results[0], f(jnp.ones(2)))
    assert private.is_closed(closed) and private.opened(closed)[0] is closed.jaxpr


def test_a_pair_of_linear_operations_is_differentiated_and_batched():
    spread = lambda x, at: x[at]
    add_up = lambda y, at: jnp.zeros((3, *y.shape[1:]), y.dtype).at[at].add(y)
    take, _ = private.transposes(["take_in_a_test", "add_up_in_a_test"], spread, add_up, 1)
    x, at = jnp.arange(3.0), jnp.array([0, 2, 2, 1])
    f = lambda x: jnp.sum(jnp.sin(take.bind(x, at)) * jnp.arange(4.0))
    plain = lambda x: jnp.sum(jnp.sin(x[at]) * jnp.arange(4.0))
    np.testing.assert_allclose(jax.jit(jax.grad(f))(x), jax.grad(plain)(x), rtol=1e-6)
    np.testing.assert_allclose(jax.vmap(f)(jnp.stack([x, 2 * x])), jax.vmap(plain)(jnp.stack([x, 2 * x])), rtol=1e-6)
    np.testing.assert_allclose(jax.hessian(f)(x), jax.hessian(plain)(x), rtol=1e-6)


def test_devices_and_platforms_are_known():
    jnp.ones(1).block_until_ready()
    assert private.devices_are_open()


def test_the_service_of_several_processes_can_be_held_elsewhere():
    from jax._src import distributed

    with private.served_by(print):
        assert distributed._jax.get_distributed_runtime_service is print
    assert distributed._jax.get_distributed_runtime_service is not print
    private.coordination_service("127.0.0.1:0", 1, heartbeat_timeout=30).shutdown()
    assert private.board() is None  # of one process


@pytest.mark.parametrize("name", ["get_executable_and_time", "put_executable_and_time"])
def test_the_functions_of_the_disk_cache_have_their_names(name, monkeypatch):
    from jax._src import compilation_cache

    monkeypatch.setattr(compilation_cache, name, getattr(compilation_cache, name))
    private.wrap_in_disk_cache(name, lambda plain: "wrapped")
    assert getattr(compilation_cache, name) == "wrapped"
