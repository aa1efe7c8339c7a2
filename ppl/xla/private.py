"""All that this package takes of JAX beyond its documented interface, in one place.

A new version of JAX may change any of it; `tests/test_private_names.py` says for which versions it holds, and tries
each part. What only helps (whether devices are open, which compiled programs on disk are damaged) is left out where
JAX has no such name; what results depend on fails there.
"""

from __future__ import annotations

import contextlib
import importlib
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from ppl.xla.later import is_loaded, jax, jnp, module

HOLDS_FOR = ("0.10", "0.12")  # the oldest version and the newest one that the tests have run with
ad, batching, mlir = (module(f"jax.interpreters.{name}") for name in ("ad", "batching", "mlir"))
_disk_cache, _compiler = module("jax._src.compilation_cache"), module("jax._src.compiler")
_client = module("jaxlib.xla_client")
CORE, BACKENDS = "jax.extend.core", "jax.extend.backend"  # these take their time to load, and are asked for when needed

Jaxpr = Any  # a program as a list of equations: jax.extend.core.Jaxpr


def is_traced(value: Any) -> bool:
    """Whether a value stands for one that is only known when the program runs."""
    return is_loaded() and isinstance(value, jax.core.Tracer)


# Programs as lists of equations


def bodies(eqn: Any) -> Iterator[Jaxpr]:
    """The programs inside of an operation: of a loop, a choice, a function."""
    for value in eqn.params.values():
        for each in value if isinstance(value, tuple | list) else (value,):
            if hasattr(each, "eqns"):
                yield opened(each)[0]


def opened(program: Any) -> tuple[Jaxpr, Sequence[Any]]:
    """A program and the constants that it holds, if it is one that holds them."""
    return (program.jaxpr, program.consts) if hasattr(program, "jaxpr") else (program, ())


def is_closed(value: Any) -> bool:
    """Whether a parameter of an operation is a program with its constants."""
    return hasattr(value, "eqns") and hasattr(value, "jaxpr")


def run_by(results: Callable[[Any, list[Any]], Sequence[Any]], jaxpr: Jaxpr, consts: Any, arguments: Any) -> list[Any]:
    """The results of a program, each of whose operations is done by `results`, of the equation and its arguments."""
    known: dict[Any, Any] = dict(zip((*jaxpr.constvars, *jaxpr.invars), (*consts, *arguments), strict=True))
    value_of = lambda x: x.val if hasattr(x, "val") else known[x]  # a literal holds its value
    for eqn in jaxpr.eqns:
        known.update(zip(eqn.outvars, results(eqn, [value_of(x) for x in eqn.invars]), strict=True))
    return [value_of(x) for x in jaxpr.outvars]


def called(eqn: Any) -> Any:
    """The program of an operation that is a function, which may be written out in its place; else None."""
    return None if eqn.primitive.name == "scan" else eqn.params.get("jaxpr", eqn.params.get("call_jaxpr"))


def bound(eqn: Any, values: Sequence[Any], params: dict[str, Any]) -> Sequence[Any]:
    """What an operation makes of values, with some parameters and in the settings that it was traced in."""
    with eqn.ctx.manager:
        return _several(eqn, eqn.primitive.bind(*values, **eqn.primitive.get_bind_params(params)))


def row_by_row(eqn: Any, rows: Sequence[Any]) -> Sequence[Any]:
    """What an operation makes of each row of its arguments, in a loop."""
    return _several(eqn, jax.lax.map(lambda row: eqn.primitive.bind(*row, **eqn.params), rows))


def _several(eqn: Any, results: Any) -> Sequence[Any]:
    return results if eqn.primitive.multiple_results else [results]


# Operations of our own


def transposes(names: Sequence[str], run: Callable[..., Any], back: Callable[..., Any], count: int) -> tuple[Any, Any]:
    """Two operations that are linear in their first argument, each the transpose of the other; their `count` other
    arguments are positions, in which no slope is taken."""
    one, two = _linear(names[0], run, count), _linear(names[1], back, count)
    for made, transposed in ((one, two), (two, one)):
        ad.primitive_transposes[made] = _transpose_by(transposed)
    return one, two


def _transpose_by(other: Any) -> Callable[..., Any]:
    def transpose(slope: Any, x: Any, *positions: Any) -> Any:
        result = ad.Zero(x.aval) if type(slope) is ad.Zero else other.bind(slope, *positions)
        return result, *(None for _ in positions)

    return transpose


def _linear(name: str, run: Callable[..., Any], count: int) -> Any:
    made = importlib.import_module(CORE).Primitive(name)
    made.def_impl(jax.jit(run))
    made.def_abstract_eval(lambda *types: _like(jax.eval_shape(run, *types)))
    mlir.register_lowering(made, mlir.lower_fun(run, multiple_results=False))
    ad.defjvp(made, lambda slope, _, *positions: made.bind(slope, *positions), *(None,) * count)

    def batched(arguments: Any, axes: Any) -> Any:
        if all(axis is None for axis in axes[1:]):  # rows may have any shape: the new axis goes last
            return made.bind(jnp.moveaxis(arguments[0], axes[0], -1), *arguments[1:]), arguments[0].ndim - 1
        return jax.vmap(run, axes)(*arguments), 0

    batching.primitive_batchers[made] = batched
    return made


def _like(result: jax.ShapeDtypeStruct) -> Any:
    return jax.core.ShapedArray(result.shape, result.dtype)


# Devices, processes, and compiled programs on disk


def board() -> Any:
    """Where processes that go in step leave short notes for each other, by `key_value_set` and `key_value_try_get`;
    None where there is one process."""
    return getattr(getattr(sys.modules.get("jax._src.distributed"), "global_state", None), "client", None)


def devices_are_open() -> bool:
    """Whether JAX has opened its devices in this process."""
    alive = getattr(sys.modules.get("jax._src.xla_bridge"), "backends_are_initialized", None)
    return bool(alive()) if alive is not None else False


def coordination_service(address: str, count: int, **options: Any) -> Any:
    """The service by which so many processes go in step."""
    holder = importlib.import_module("jax._src.distributed")._jax
    return holder.get_distributed_runtime_service(address, count, **options)


@contextlib.contextmanager
def served_by(make: Callable[..., Any]) -> Iterator[None]:
    """Inside, `jax.distributed.initialize` takes its service from `make`, of an address and the number of processes."""
    holder = importlib.import_module("jax._src.distributed")._jax
    plain = holder.get_distributed_runtime_service
    holder.get_distributed_runtime_service = make
    try:
        yield
    finally:
        holder.get_distributed_runtime_service = plain


def platforms() -> list[str]:
    """The platforms that JAX finds by itself; nothing stays open."""
    backend = importlib.import_module(BACKENDS)
    try:
        return sorted(backend.backends())
    finally:
        backend.clear_backends()


def used_arguments(compiled: Any) -> list[int] | None:
    """The numbers of the arguments that a compiled function takes; None where JAX does not tell, or passes more than
    the arguments."""
    inside = getattr(compiled, "_executable", None)
    used, known = getattr(inside, "_kept_var_idx", None), getattr(inside, "_all_args_info", None)
    of_arguments = used is not None and known is not None and len(known.in_avals) == compiled.in_tree.num_leaves
    return sorted(used) if of_arguments else None


def loaded_executable(content: bytes, options: Mapping[str, Any], devices: Any) -> Any:
    """What XLA had made with such options for one device, a 1 x 1 array, from the bytes of a file of JAX's cache."""
    serialized, _ = _disk_cache.extract_executable_and_time(_disk_cache.decompress_executable(content))
    device = devices[0, 0]
    chosen = _compiler.get_compile_options(1, 1, devices, dict(options), backend=device.client)
    return device.client.deserialize_executable(serialized, _client.DeviceList((device,)), chosen)


def wrap_in_disk_cache(name: str, wrapped: Callable[[Callable[..., Any]], Callable[..., Any]]) -> None:
    """Put a function around the one of this name that reads or writes compiled programs on disk, if JAX has it."""
    module = sys.modules.get("jax._src.compilation_cache")
    plain = getattr(module, name, None)
    if plain is not None:
        setattr(module, name, wrapped(plain))
