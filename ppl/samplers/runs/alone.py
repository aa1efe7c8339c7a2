"""A chain in a thread of its own, in dispatches of about 75 ms, with everything the host does in between.

XLA releases Python's lock while a program runs, so threads are as good as processes and share one executable. Between
dispatches a chain copies its draws out, reports, saves, and looks whether it should pause or stop.
"""

import time
from typing import Any

import numpy as np

from ppl.samplers.programs.packing import Packed, on_host
from ppl.samplers.programs.programs import PROGRAMS, Buffers, chunk_program, expand_program, of_loop, rows_for, turn
from ppl.samplers.programs.randomness import chain_key
from ppl.samplers.runs.chain import Chain, Layout, Seconds
from ppl.samplers.runs.job import Compiled, Job, Signals
from ppl.samplers.runs.start import describe_failure, fault
from ppl.xla.later import jax


def compiled(job: Job, layout: Layout) -> Compiled:
    """The programs of one chain."""
    rows, plan = rows_for(job.dim, job.dtype.itemsize), layout.packs.plan.pack(job.plan)
    advance = PROGRAMS.get(
        ("chunk", job.kernel_key, rows),
        lambda: chunk_program(job.kernel, layout.packs, rows),
        (chain_key(0, 0), plan, job.data, layout.blank, layout.buffers(rows), np.int64(0)),
        of_loop(job.work_of_gradient()),
        donated=(4,),
    )
    expanded = None
    if job.expand is not None:
        expand = job.expand
        expanded = PROGRAMS.get(
            ("expand", job.expand_key, rows),
            lambda: expand_program(expand),
            (np.zeros((rows, job.dim), job.dtype), job.data, np.int64(0), np.int64(0), layout.values(rows)),
            donated=(4,),
        )
    return Compiled(advance, expanded, rows, jax.device_put(plan), jax.device_put(job.data), [])


def run(chain: Chain, job: Job, compiled: Compiled, signals: Signals) -> None:
    """All draws of ``chain``, unless it is stopped."""
    key, plan, data = jax.device_put(chain.key), compiled.plan, compiled.data
    buffers, values = _room(chain.layout, compiled)
    if not job.store.restore(chain):
        chain.state, buffers = _started(chain, key, job, compiled, buffers)
    while not chain.finished and not signals.stop.is_set():
        signals.go.wait()
        began, processor = time.perf_counter(), time.process_time()
        n = chain.next_dispatch(compiled.rows)
        with turn(compiled.advance):
            state, chunk = compiled.advance(key, plan, data, chain.state, buffers, np.int64(n))
            chunk.facts.block_until_ready()
        lasted, processor = time.perf_counter() - began, time.process_time() - processor
        buffers, drawn = chunk.buffers, int(np.asarray(chunk.facts)[0])
        if compiled.expanded is not None and (begin := chain.tuning_among(drawn)) < drawn:
            with turn(compiled.expanded):
                values = compiled.expanded(chunk.positions, data, np.int64(begin), np.int64(drawn), values)
                jax.block_until_ready(values)
        with signals.lock:
            attention = chain.take(state, chunk, values, Seconds(began, lasted, processor))
        if attention:
            chain.attend()
        job.store.saved(chain, last=False)
        signals.report()
    compiled.spare.append((buffers, values))
    job.store.saved(chain, last=True)


def _room(layout: Layout, compiled: Compiled) -> tuple[Buffers, Any]:
    """What a dispatch fills: the tables of a chain that is done, or new ones."""
    try:
        return compiled.spare.pop()
    except IndexError:
        return layout.buffers(compiled.rows), layout.values(compiled.rows)


def _started(chain: Chain, key: Any, job: Job, compiled: Compiled, buffers: Buffers) -> tuple[Packed, Buffers]:
    """A state at a finite starting point: the kernel's first step does nothing but evaluate it."""
    packing = chain.layout.packs.state
    for attempt in range(job.attempts):
        position = np.asarray(job.initial(chain.number, attempt), job.dtype)
        with turn(compiled.advance):
            start = packing.pack(job.kernel.init(position))
            state, chunk = compiled.advance(key, compiled.plan, compiled.data, start, buffers, np.int64(1))
            buffers = chunk.buffers
            found = packing.unpack(on_host(state))
        logp, gradient = float(found.logp), found.gradient
        if not fault(position, logp, gradient):
            return state, buffers
    raise describe_failure(chain.number, job.attempts, position, logp, gradient, job.names, job.terms)
