"""Devices in a grid: along one axis they share the rows of data, along the other the chains.

The devices may be those of several processes, which then run the same program and go in step (`jax.distributed`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ppl.xla.later import is_loaded, jax, module

CHAINS, ROWS = AXES = ("chains", "rows")
_sharding, _hosts = module("jax.sharding"), module("jax.experimental.multihost_utils")


def mesh_of(asked: Any) -> Any:
    """A mesh with the axes "chains" and "rows", of a mesh of JAX with some of these, or of their lengths.

    >>> dict(mesh_of({"rows": 1}).shape)
    {'chains': 1, 'rows': 1}
    """
    if isinstance(asked, Mapping):
        unknown = [name for name in asked if name not in AXES]
        if unknown or not all(isinstance(n, int) and not isinstance(n, bool) and n > 0 for n in asked.values()):
            raise ValueError(f'mesh: lengths of the axes "chains" and "rows" are asked for, got {dict(asked)!r}.')
        shape = [asked.get(name, 1) for name in AXES]
        devices, wanted = jax.devices(), shape[0] * shape[1]
        if wanted > len(devices) or (jax.process_count() > 1 and wanted != len(devices)):
            raise ValueError(
                f"mesh={dict(asked)!r} asks for {wanted} devices, and JAX has {len(devices)} in"
                f" {jax.process_count()} process(es). {_MORE if wanted > len(devices) else _ALL}"
            )
        return _sharding.Mesh(np.array(devices[:wanted]).reshape(shape), AXES)
    if not hasattr(asked, "axis_names") or not set(asked.axis_names) <= {*AXES}:
        raise ValueError(
            f'mesh is a Mesh of JAX with axes "chains" and "rows", or a dict of their lengths, got {asked!r}.'
        )
    order = [asked.axis_names.index(name) for name in AXES if name in asked.axis_names]
    shape = [asked.shape.get(name, 1) for name in AXES]
    return _sharding.Mesh(asked.devices.transpose(order).reshape(shape), AXES)


_MORE = (
    "On a CPU, XLA_FLAGS=--xla_force_host_platform_device_count=8, set before Python starts, makes eight of its cores"
    " (or of its threads) devices; python -m ppl.distributed -n 2 starts two processes."
)
_ALL = "With several processes the mesh has all devices: give lengths whose product that is."


def several_processes() -> bool:
    """Whether this process is one of several that go in step."""
    return is_loaded() and jax.process_count() > 1


def is_first() -> bool:
    """Whether this process speaks for all."""
    return not several_processes() or jax.process_index() == 0


def agreed(values: Any) -> Any:
    """The arrays of the first process, to the last bit, in all; their shapes and dtypes are the same in each."""
    if not several_processes():
        return values
    leaves, structure = jax.tree.flatten(jax.tree.map(np.asarray, values))
    whole = np.frombuffer(b"".join([leaf.tobytes() for leaf in leaves]), np.uint8)
    words = np.concatenate([whole, np.zeros(-whole.size % 4, np.uint8)]).view(np.uint32)  # sent as sums with zeros
    sent, at, found = np.asarray(_hosts.broadcast_one_to_all(words)).astype(np.uint32).tobytes(), 0, []
    for leaf in leaves:
        found.append(np.frombuffer(sent[at : at + leaf.nbytes], leaf.dtype).reshape(leaf.shape).copy())
        at += leaf.nbytes
    return jax.tree.unflatten(structure, found)


def shared_out(mesh: Any, array: Any, *axes: Any) -> Any:
    """An array on the devices of a mesh, its first axes spread along those named; every process has all of it."""
    array = np.asarray(array)
    where = _sharding.NamedSharding(mesh, _sharding.PartitionSpec(*axes))
    return jax.make_array_from_callback(array.shape, where, lambda index: array[index])
