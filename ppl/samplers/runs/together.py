"""All chains in one program: the same tables, reports and files as for chains in threads, one dispatch for all.

A dispatch ends when every chain has its draws, or after as many steps as take about a third of a second: chains in
trajectories of different lengths do not wait for each other, but go on in the next dispatch.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from ppl.samplers.programs.packing import Packed, on_host
from ppl.samplers.programs.programs import PROGRAMS, expand_program, turn
from ppl.samplers.runs.chain import Chain, Layout, Seconds
from ppl.samplers.runs.ensemble import ensemble_program, everywhere, one_of, placed, rows_for, stacked
from ppl.samplers.runs.errors import StorageError
from ppl.samplers.runs.job import Compiled, Job, Signals
from ppl.samplers.runs.start import describe_failure, fault
from ppl.xla.later import jax, jnp

DISPATCH_SECONDS, FIRST_BLOCKS, FASTER = 0.3, 4, 16


def compiled(job: Job, layout: Layout) -> Compiled:
    """The programs of all chains."""
    rows = rows_for(job.chains, job.dim, job.dtype.itemsize)
    states = placed(stacked([layout.blank] * job.chains), job.chains)
    keys = placed(np.zeros((job.chains, 2), np.uint32), job.chains)
    plan, data = everywhere(layout.packs.plan.pack(job.plan), job.chains), everywhere(job.data, job.chains)
    counts = placed(np.zeros(job.chains, np.int64), job.chains)
    advance = PROGRAMS.get(
        ("ensemble", job.kernel_key, rows, len(jax.devices())),
        lambda: ensemble_program(job.kernel, layout.packs, rows),
        (keys, plan, data, states, counts, np.int64(0)),
    )
    expanded = None
    if job.expand is not None:
        one_chain = expand_program(job.expand)

        def fresh(positions: Any, data: Any, begin: Any, end: Any) -> Any:
            room = jax.tree.map(lambda table: jnp.zeros(table.shape, table.dtype), layout.values(positions.shape[0]))
            return one_chain(positions, data, begin, end, room)

        expanded = PROGRAMS.get(
            ("ensemble expand", job.expand_key, rows),
            lambda: jax.vmap(fresh, in_axes=(0, None, 0, 0)),
            (np.zeros((job.chains, rows + 1, job.dim), job.dtype), job.data, *[np.zeros(job.chains, np.int64)] * 2),
        )
    return Compiled(advance, expanded, rows, plan, data, [])


def run(chains: list[Chain], job: Job, compiled: Compiled, signals: Signals) -> None:
    """All draws of all chains, unless they are stopped."""
    keys = placed(np.stack([chain.key for chain in chains]), job.chains)
    fresh = [chain for chain in chains if not job.store.restore(chain)]
    if job.kernel.coupled and len({chain.done for chain in chains}) > 1:
        raise StorageError(
            "The chains were saved at different draws, because the process ended while it saved them. They learn from"
            " each other and cannot go on. Start afresh in another directory."
        )
    if fresh:
        for chain, state in zip(chains, _started(chains, keys, job, compiled), strict=True):
            if chain in fresh:
                chain.state = state
    states, blocks = placed(stacked([chain.state for chain in chains]), job.chains), FIRST_BLOCKS
    while not all(chain.finished for chain in chains) and not signals.stop.is_set():
        signals.go.wait()
        began, processor = time.perf_counter(), time.process_time()
        n = np.array([min(compiled.rows, chain.total - chain.done) for chain in chains], np.int64)
        with turn(compiled.advance):
            states, on_device = compiled.advance(
                keys, compiled.plan, compiled.data, placed(states, job.chains), placed(n, job.chains), np.int64(blocks)
            )
            chunk, state = jax.device_get((on_device, states))
        lasted, processor = time.perf_counter() - began, time.process_time() - processor
        blocks = paced(blocks, lasted)
        values, drawn = None, chunk.facts[:, 0]
        begin = np.array([chain.tuning_among(count) for chain, count in zip(chains, drawn, strict=True)], np.int64)
        if compiled.expanded is not None and np.any(begin < drawn):
            with turn(compiled.expanded):
                values = jax.device_get(compiled.expanded(chunk.positions, job.data, begin, drawn))
        with signals.lock:
            for i, chain in enumerate(chains):
                if n[i]:
                    here = None if values is None else one_of(values, i)
                    if chain.take(one_of(state, i), one_of(chunk, i), here, Seconds(began, lasted, processor)):
                        chain.attend()
        for chain in chains:
            job.store.saved(chain, last=False)
        signals.report()
    for chain in chains:
        job.store.saved(chain, last=True)


def paced(blocks: int, lasted: float) -> int:
    """How many blocks of steps the next dispatch may have, after one of so many that lasted so long."""
    return max(1, min(FASTER * blocks, int(blocks * DISPATCH_SECONDS / lasted)))


def _started(chains: list[Chain], keys: Any, job: Job, compiled: Compiled) -> list[Packed]:
    """A state of each chain at a finite starting point; who has none is asked for another."""
    states: list[Any] = [None] * len(chains)
    packing = chains[0].layout.packs.state
    for attempt in range(job.attempts):
        missing = [i for i, state in enumerate(states) if state is None]
        positions = {i: np.asarray(job.initial(chains[i].number, attempt), job.dtype) for i in missing}
        tried = [packing.pack(job.kernel.init(positions.get(i, positions[missing[0]]))) for i in range(len(chains))]
        with turn(compiled.advance):
            after, _ = compiled.advance(
                keys, compiled.plan, compiled.data, placed(stacked(tried), job.chains),
                placed(np.ones(job.chains, np.int64), job.chains), np.int64(1),
            )  # fmt: skip
            after = on_host(after)
        found = packing.unpack(after)
        logps, gradients = found.logp, found.gradient
        for i in missing:
            if not fault(positions[i], float(logps[i]), gradients[i]):
                states[i] = one_of(after, i)
        if all(state is not None for state in states):
            return states
    i = next(i for i, state in enumerate(states) if state is None)
    raise describe_failure(
        chains[i].number, job.attempts, positions[i], float(logps[i]), gradients[i], job.names, job.terms
    )
