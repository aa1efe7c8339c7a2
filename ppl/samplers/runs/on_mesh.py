"""Chains on a mesh of devices: along one of its axes the devices share the chains, along the other the rows of data.

One program makes the draws of a dispatch of all chains. A device works off its chains one by one, or group by group
where chains move side by side, by the same code however many it has; the log-density adds up blocks of rows over the
devices (`ppl.xla.blocks`). So the draws do not depend on the mesh, nor on how many processes its devices belong to.
With several processes each of them runs this same code: what a clock decides, how many draws a dispatch makes, is told
by the first one, with the dispatch, and so is the wish of any of them to stop.
"""

from __future__ import annotations

import contextlib
import os
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from ppl.samplers.programs.kernel import Kernel
from ppl.samplers.programs.packing import Packed, on_host
from ppl.samplers.programs.programs import PROGRAMS, Chunk, chunk_program, of_loop
from ppl.samplers.runs.chain import Chain, Layout, Seconds
from ppl.samplers.runs.ensemble import GROUP, ensemble_program, one_of, rows_for, stacked
from ppl.samplers.runs.interrupt import Termination
from ppl.samplers.runs.job import Compiled, Job, Signals
from ppl.samplers.runs.run import Divergence
from ppl.samplers.runs.start import describe_failure, fault
from ppl.samplers.runs.together import FIRST_BLOCKS, paced
from ppl.xla.later import Array, jax, lax, module
from ppl.xla.meshes import AXES, CHAINS, ROWS, agreed, is_first, several_processes, shared_out
from ppl.xla.processes import AFTER_AN_ERROR, PATIENCE, company

_sharding = module("jax.sharding")
GO_ON, STOP, LEAVE = range(3)  # what a process wants: the draws so far, or that the program ends with the run saved


def compiled(job: Job, layout: Layout) -> Compiled:
    """The program of all chains."""
    rows = rows_for(job.chains, job.dim, job.dtype.itemsize)
    plan, none = layout.packs.plan.pack(job.plan), np.zeros(job.chains, np.int64)
    data = tuple(
        shared_out(job.mesh, array, ROWS) if i < job.spread else shared_out(job.mesh, array)
        for i, array in enumerate(job.data)
    )
    keys, states = np.zeros((job.chains, 2), np.uint32), stacked([layout.blank] * job.chains)
    advance = PROGRAMS.get(
        ("mesh", job.kernel_key, rows, job.chains, job.spread, job.mesh),
        lambda: mesh_program(job.kernel, layout, rows, job),
        (_orders(job, none), keys, plan, data, states),
        of_loop(job.work_of_gradient())._replace(threads=False),
    )
    return Compiled(advance, None, rows, plan, data, [])


def mesh_program(kernel: Kernel, layout: Layout, rows: int, job: Job) -> Callable[..., Any]:
    """``advance(orders, keys, plan, data, states)``: the draws of a dispatch, and what else any process wants."""
    each, group = job.chains // job.mesh.shape[CHAINS], GROUP if job.together else 1
    alone, beside = chunk_program(kernel, layout.packs, rows), ensemble_program(kernel, layout.packs, rows)

    def advance(orders: Array, keys: Array, plan: Packed, data: Any, states: Packed) -> tuple[Packed, Chunk, Array]:
        every = lax.all_gather(orders, AXES, tiled=True)
        wish = every[:, -1].max()
        n, blocks = jax.numpy.where(wish == GO_ON, every[0, :-2], 0), every[0, -2]
        begin = lax.axis_index(CHAINS) * each
        mine = jax.tree.map(lambda x: lax.dynamic_slice_in_dim(x, begin, each), (keys, states, n))

        def of_chain(chain: Any) -> tuple[Packed, Chunk]:
            key, state, n = chain
            return alone(key, plan, data, state, jax.tree.map(jax.numpy.zeros_like, layout.buffers(rows)), n)

        def of_group(chains: Any) -> tuple[Packed, Chunk]:
            keys, states, n = chains
            return beside(keys, plan, data, states, n, blocks)

        if job.together:
            groups = jax.tree.map(lambda x: x.reshape(each // group, group, *x.shape[1:]), mine)
            drawn = jax.tree.map(lambda x: x.reshape(each, *x.shape[2:]), lax.map(of_group, groups))
        else:
            drawn = lax.map(of_chain, mine)
        states, chunk = jax.tree.map(lambda x: lax.all_gather(x, CHAINS, tiled=True), drawn)
        return states, chunk, wish

    spec = _sharding.PartitionSpec
    by_rows = tuple(spec(ROWS) if i < job.spread else spec() for i in range(len(job.data)))
    return jax.shard_map(
        advance, mesh=job.mesh, in_specs=(spec(AXES), spec(), spec(), by_rows, spec()), out_specs=spec(),
        check_vma=False,  # the log-density gathers, and says itself what its slopes are
    )  # fmt: skip


def _orders(job: Job, n: np.ndarray, blocks: int = 1, wish: int = GO_ON) -> Any:
    """How many draws of each chain this process would make, in how many blocks of steps of chains side by side, and
    what else it wants, for each of its devices."""
    row = np.array([*n, blocks, wish], np.int64)
    return shared_out(job.mesh, np.tile(row, (job.mesh.size, 1)), AXES)


def run(chains: list[Chain], job: Job, compiled: Compiled, signals: Signals) -> None:
    """All draws of all chains, unless they are stopped."""
    others = company() if several_processes() else None
    if others is None:
        return _run(chains, job, compiled, signals)
    others.watch(lambda who: _leave_without(who, chains, job, signals))
    try:
        _run(chains, job, compiled, signals)
    except jax.errors.JaxRuntimeError:
        others.alarmed = True  # perhaps because another process is gone: then this one ends here
        time.sleep(AFTER_AN_ERROR + PATIENCE)
        raise
    finally:
        others.watch(None)


def _run(chains: list[Chain], job: Job, compiled: Compiled, signals: Signals) -> None:
    keys = np.stack([chain.key for chain in chains])
    fresh = [chain for chain in chains if not _restored(chain, job)]
    if fresh:
        for chain, state in zip(chains, _started(chains, keys, job, compiled), strict=True):
            if chain in fresh:
                chain.state = state
    blocks = FIRST_BLOCKS
    while not all(chain.finished for chain in chains):
        signals.go.wait()
        began, processor = time.perf_counter(), time.process_time()
        n = np.array([_draws_of_next(chain, job, compiled.rows) for chain in chains])
        wish = LEAVE if signals.leaving.is_set() else STOP if signals.stop.is_set() else GO_ON
        states, chunk, wish = _dispatched(
            compiled, _orders(job, n, blocks, wish), keys, stacked([chain.state for chain in chains])
        )
        if wish != GO_ON:
            break
        seconds = Seconds(began, time.perf_counter() - began, time.process_time() - processor)
        blocks = paced(blocks, seconds.lasted) if job.together else blocks
        with signals.lock:
            asking = [
                chain
                for i, chain in enumerate(chains)
                if not chain.finished and chain.take(one_of(states, i), one_of(chunk, i), None, seconds)
            ]
        for chain in asking:
            chain.attend()
            chain.state = agreed(chain.state)
        for chain in chains:
            job.store.saved(chain, last=False)
        signals.report()
    else:
        wish = GO_ON
    for chain in chains:
        job.store.saved(chain, last=True)
    if wish == LEAVE:
        signals.leaving.set()


def _draws_of_next(chain: Chain, job: Job, rows: int) -> int:
    """Draws of a chain in the next dispatch; that of chains side by side ends after some blocks of steps anyway."""
    if chain.finished:
        return 0
    return min(rows, chain.total - chain.done) if job.together else chain.next_dispatch(rows)


def _dispatched(compiled: Compiled, orders: Any, keys: np.ndarray, states: Packed) -> tuple[Packed, Chunk, int]:
    if several_processes():
        company().turn += 1
    states, chunk, wish = compiled.advance(orders, keys, compiled.plan, compiled.data, states)
    return on_host(states), jax.tree.map(np.asarray, chunk), int(wish)


def _restored(chain: Chain, job: Job) -> bool:
    """Give a chain back what the first process had saved of it. False if it had nothing."""
    found = is_first() and job.store.restore(chain)
    if not several_processes():
        return found
    counts = [found, chain.done, chain.n_diverging, chain.n_gradients, len(chain.divergences)]
    found, chain.done, chain.n_diverging, chain.n_gradients, places = agreed(np.array(counts, np.int64)).tolist()
    if not found:
        return False
    known = [(d.draw, d.position) for d in chain.divergences] or [(0, np.zeros(job.dim))] * places
    saved = agreed((chain.state, np.float64(chain.elapsed), known, chain.filled()))
    chain.state, elapsed, known, tables = saved
    chain.elapsed, chain.divergences = float(elapsed), [Divergence(int(draw), place) for draw, place in known]
    if not is_first():
        chain.fill(tables)
    return True


def _leave_without(who: int, chains: list[Chain], job: Job, signals: Signals) -> None:
    """Save what there is and end this process, where another one is gone: nothing can be computed together any more."""
    with signals.lock:
        with contextlib.suppress(Exception):  # a full disk: what was saved before is what there is
            for chain in chains:
                job.store.saved(chain, last=True)
        done, total = sum(chain.done for chain in chains), sum(chain.total for chain in chains)
        place = job.store.place
        more = f"go on with resume={place!r}" if place else "nothing is saved, as checkpoint= was not given"
        print(
            f"ppl: process {who} of {jax.process_count()} is gone after {done:_} of {total:_} draws; {more}",
            file=sys.stderr, flush=True,
        )  # fmt: skip
        os._exit(Termination.CODE)


def _started(chains: list[Chain], keys: np.ndarray, job: Job, compiled: Compiled) -> list[Packed]:
    """A state of each chain at a finite starting point; who has none is asked for another."""
    found: list[Any] = [None] * len(chains)
    packing = chains[0].layout.packs.state
    for attempt in range(job.attempts):
        missing = [i for i, state in enumerate(found) if state is None]
        positions = {i: np.asarray(job.initial(chains[i].number, attempt), job.dtype) for i in missing}
        tried = agreed(stacked([packing.pack(job.kernel.init(positions.get(i, positions[missing[0]])))
                                for i in range(len(chains))]))  # fmt: skip
        after, _, _ = _dispatched(compiled, _orders(job, np.ones(len(chains), np.int64)), keys, tried)
        here = packing.unpack(after)
        for i in missing:
            if not fault(positions[i], float(here.logp[i]), here.gradient[i]):
                found[i] = one_of(after, i)
        if all(state is not None for state in found):
            return found
    i = next(i for i, state in enumerate(found) if state is None)
    raise describe_failure(
        chains[i].number, job.attempts, positions[i], float(here.logp[i]), here.gradient[i], job.names, job.terms
    )
