"""A chain in a thread of its own, in dispatches of about 75 ms, with everything the host does in between.

XLA releases Python's lock while a program runs, so threads are as good as processes and share one executable. Between
dispatches a chain copies its draws out, reports, saves, and looks whether it should pause or stop.
"""

import time
from typing import Any

import jax
import numpy as np

from .chain import Chain
from .job import Compiled, Job, Signals
from .programs import PROGRAMS, chunk_program, expand_program, rows_for, turn
from .randomness import chain_key
from .start import describe_failure, fault


def compiled(job: Job) -> Compiled:
    """The programs of one chain."""
    rows = rows_for(job.dim, job.dtype.itemsize)
    state = job.kernel.init(np.zeros(job.dim, job.dtype))
    advance = PROGRAMS.get(
        ("chunk", job.kernel_key, rows),
        lambda: chunk_program(job.kernel, rows),
        (chain_key(0, 0), job.plan, job.data, state, np.int64(0)),
    )
    expanded = None
    if job.expand is not None:
        expand = job.expand
        expanded = PROGRAMS.get(
            ("expand", job.expand_key, rows),
            lambda: expand_program(expand),
            (np.zeros((rows, job.dim), job.dtype), job.data, np.int64(0)),
        )
    return Compiled(advance, expanded, rows, jax.device_put(job.plan), jax.device_put(job.data))


def run(chain: Chain, job: Job, compiled: Compiled, signals: Signals) -> None:
    """All draws of ``chain``, unless it is stopped."""
    key, plan, data = jax.device_put(chain.key), compiled.plan, compiled.data
    if not job.store.restore(chain, job.kernel.init(np.zeros(job.dim, job.dtype))):
        chain.state = _started(chain, key, job, compiled)
    while not chain.finished and not signals.stop.is_set():
        signals.go.wait()
        began, processor = time.perf_counter(), time.process_time()
        n = chain.next_dispatch(compiled.rows)
        with turn(compiled.advance):
            state, chunk = compiled.advance(key, plan, data, chain.state, np.int64(n))
            chunk.facts.block_until_ready()
        lasted, processor = time.perf_counter() - began, time.process_time() - processor
        values = None
        if compiled.expanded is not None and chain.done >= chain.tune:
            with turn(compiled.expanded):
                values = jax.block_until_ready(compiled.expanded(chunk.positions, data, chunk.drawn))
        with signals.lock:
            chain.take(job.plan, state, chunk, values, (began, lasted, processor))
        job.store.saved(chain, last=False)
        signals.report()
    job.store.saved(chain, last=True)


def _started(chain: Chain, key: Any, job: Job, compiled: Compiled) -> Any:
    """A state at a finite starting point: the kernel's first step does nothing but evaluate it."""
    for attempt in range(job.attempts):
        position = np.asarray(job.initial(chain.number, attempt), job.dtype)
        with turn(compiled.advance):
            state, _ = compiled.advance(key, compiled.plan, compiled.data, job.kernel.init(position), np.int64(1))
            state.logp.block_until_ready()
        logp, gradient = float(state.logp), np.asarray(state.gradient)
        if not fault(position, logp, gradient):
            return state
    raise describe_failure(chain.number, job.attempts, position, logp, gradient, job.names, job.terms)
