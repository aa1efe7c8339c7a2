"""`plan`: what a mesh of devices would bring to a model, told beforehand by a model of costs; nothing is run.

Operations of a gradient are counted, not timed. With g the time of the rows' part of it on one device, r that of the
rest, which every device computes, P devices along the rows and a message of b bytes, a gradient takes

    t(P) = g / P + r + a log2 P + b / bandwidth,

and the efficiency is (g + r) / (P t(P)). The latency a of a collective is that of the devices: between processes of a
CPU 0.34 ms was measured on a quiet machine; the others are figures to plan with.
"""

from __future__ import annotations

from math import log2
from typing import Any

import numpy as np

from ppl.compile.density import FlatProgram, in_a_row, scalar
from ppl.compile.row_blocks import blocked
from ppl.graph.records import record
from ppl.model.context import model_to_read
from ppl.model.posterior.rewriting import Posterior, rewritten
from ppl.model.registry.variable_registry import Books
from ppl.samplers.programs.work import work
from ppl.xla.blocks import BLOCKS
from ppl.xla.later import jax, wide
from ppl.xla.meshes import CHAINS, ROWS, mesh_of, several_processes

UNIT = 1e-7  # ms, of one operation of `work` on a core of a CPU
LATENCY = {"processes": 0.34, "cpu": 0.05, "gpu": 0.02, "tpu": 0.01}  # ms, of a collective of two
BANDWIDTH = {"processes": 1e6, "cpu": 5e6, "gpu": 2e8, "tpu": 1e8}  # bytes in a ms
LEAST = 0.5  # efficiency below which rows are not shared out, unless the user says so


@record
class MeshPlan:
    """What a mesh brings to a model: all times are of one gradient, in ms, by a count of operations.

    Examples
    --------
    >>> with pm.Model() as model:
    ...     y = pm.StudentT("y", 4, pm.Normal("mu"), 1, observed=np.linspace(-1, 1, 100))
    >>> found = pm.plan(model, {"chains": 2})
    >>> found.rows, found.rows_axis, found.pays
    (100, 1, True)
    """

    rows: int | None  # that are shared out; None where the model has none
    chains_axis: int
    rows_axis: int
    alone: float  # on one device
    together: float  # on the mesh
    rest: float  # of `alone`, what every device computes
    message: int  # bytes
    bytes_by_rows: int  # of data, on one device of the mesh
    bytes_everywhere: int
    kind: str

    @property
    def efficiency(self) -> float:
        """The share of the devices along the rows that is used."""
        return self.alone / (self.rows_axis * self.together)

    @property
    def pays(self) -> bool:
        """Whether rows are shared out without being told to."""
        return self.rows_axis == 1 or (self.rows is not None and self.efficiency >= LEAST)

    def __str__(self) -> str:
        lines = [f"Mesh: {self.chains_axis} × chains, {self.rows_axis} × rows, of {self.kind}"]
        if self.rows is None:
            lines.append("Rows: none that devices could share; each chain is computed whole")
        else:
            lines.append(f"Rows: {self.rows:_} in {BLOCKS} blocks, {_size(self.bytes_by_rows)} on each device")
        lines.append(f"On every device: {_size(self.bytes_everywhere)} of other data, {self.rest:.3g} ms of a gradient")
        lines.append(
            f"A gradient: {self.alone:.3g} ms on one device, {self.together:.3g} ms on the mesh, by a count of"
            f" operations; messages of {_size(self.message)}"
        )
        if self.rows_axis > 1:
            verdict = "pays" if self.pays else "does not pay: refused unless shard=True"
            lines.append(f"Efficiency along the rows: {self.efficiency:.2f} expected, {verdict}")
        return "\n".join(lines)

    __repr__ = __str__


def _size(count: float) -> str:
    for unit in ("bytes", "kB", "MB"):
        if count < 1000:
            return f"{count:.3g} {unit}"
        count /= 1000
    return f"{count:.3g} GB"


def plan(model: Books | None = None, mesh: Any = None) -> MeshPlan:
    """What a mesh of devices would bring to a model: bytes on each device, ms a gradient, and the efficiency to expect.

    Nothing is run: operations are counted, and a formula says what messages add. `pm.sample(mesh=...)` refuses to share
    out rows below an efficiency of 0.5 unless `shard=True`.

    Parameters
    ----------
    model : Model, optional
        The model; that of the `with` block by default.
    mesh : dict or jax.sharding.Mesh
        As in `pm.sample`; a dict may ask for more devices than there are here.

    Returns
    -------
    MeshPlan
        It prints as text; `pays`, `efficiency` and the rest are numbers.

    Examples
    --------
    >>> with pm.Model() as model:
    ...     slope = pm.Normal("slope")
    ...     seen = pm.Bernoulli("seen", logit_p=slope * np.linspace(-1, 1, 500), observed=np.arange(500) % 2)
    >>> pm.plan(model, {"rows": 4}).pays
    False
    """
    if mesh is None:
        raise TypeError('plan: give the mesh, as in plan(model, {"rows": 4}).')
    lengths = {name: mesh.get(name, 1) for name in (CHAINS, ROWS)} if isinstance(mesh, dict) else mesh_of(mesh).shape
    posterior = rewritten(model_to_read(model))
    slots = in_a_row([(value, value.type.shape) for value in posterior.values])
    return planned(posterior, slots, lengths[CHAINS], lengths[ROWS])


def planned(posterior: Posterior, slots: Any, chains_axis: int, rows_axis: int) -> MeshPlan:
    """The plan of a posterior whose values have these places in a vector."""
    plain = FlatProgram([posterior.logp()], slots, once=posterior.of_data)
    by_rows = blocked(posterior.logp(), slots, posterior.of_data, None, rows_axis)
    kind = "processes" if several_processes() else jax.default_backend()
    position = np.zeros(slots[-1].stop if slots else 0)
    counted = lambda f, data: UNIT * work(jax.value_and_grad(f), position, *map(_kind, data))
    with wide():
        alone = counted(scalar(plain), plain.data)
        if by_rows is None:
            return MeshPlan(None, chains_axis, rows_axis, alone, alone, alone, 0, 0, _bytes(plain.data), kind)
        data = by_rows.data
        rest = min(alone, counted(by_rows.but_for_blocks, data))
    message = 8 * by_rows.message if rows_axis > 1 else 0
    told = LATENCY.get(kind, LATENCY["cpu"]) * log2(rows_axis) + message / BANDWIDTH.get(kind, BANDWIDTH["cpu"])
    together = (alone - rest) / rows_axis + rest + told
    own, others = data[: by_rows.spread], data[by_rows.spread :]
    return MeshPlan(
        by_rows.rows,
        chains_axis,
        rows_axis,
        alone,
        together,
        rest,
        message,
        _bytes(own) // rows_axis,
        _bytes(others),
        kind,
    )


def refuse_what_cannot_pay(posterior: Posterior, slots: Any, mesh: Any) -> None:
    """Raise where rows are to be shared out and messages would take longer than what is shared."""
    found = planned(posterior, slots, mesh.shape[CHAINS], mesh.shape[ROWS])
    if not found.pays:
        raise ValueError(
            f"mesh: {found.rows_axis} devices along the rows would be used to {found.efficiency:.0%}: a gradient is"
            f" {found.alone:.3g} ms of work on one of them and would take {found.together:.3g} ms on all. Leave mesh="
            " out, share out chains alone, or say shard=True. (`ppl.plan(model, mesh)` tells more.)"
        )


def _kind(array: Any) -> Any:
    return jax.ShapeDtypeStruct(np.shape(array), array.dtype if hasattr(array, "dtype") else np.asarray(array).dtype)


def _bytes(data: Any) -> int:
    return int(sum(np.asarray(x).nbytes for x in data))
