"""Independent draws of numbers, whatever their densities: distribution functions by quadrature, and their inverses.

The density is followed by polynomials on panels that are halved until two resolutions agree; a draw is the quantile of
a uniform number. There is no warm-up and no autocorrelation, and peaks far apart have their due shares. The one program
that is compiled evaluates a batch of points. Where the density cannot be followed (a tail without finite mass, points
amid the mass where it is not a number, more kinks than evaluations allow), ``UnresolvedError`` says why. The panels are
compared with the density once more at points they were not made from, in each panel and evenly over the mass: a peak or
a gap that hid between the points of the grid, too narrow to show slopes, is found where one of these meets it, and the
search begins anew from there.

Several numbers that do not depend on each other are looked for side by side: a position holds a point for each.
"""

from __future__ import annotations

import functools
import time
from collections.abc import Callable, Hashable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

import numpy as np

from ppl.samplers.independent.panels import ACCEPTED, GOLDEN, Panels, panels
from ppl.samplers.independent.region import Result, Search, region
from ppl.samplers.programs.kernel import Data, LogDensity
from ppl.samplers.programs.programs import DRAWS, PROGRAMS, expand_program, turn
from ppl.samplers.programs.randomness import own_settings
from ppl.samplers.programs.work import TURNS
from ppl.samplers.runs.errors import UnresolvedError
from ppl.xla.later import Array, jax, jnp

BATCH, LEAST_SHARE = 512, 32
PROBES, SHARP_PROBES = 512, 4096  # the latter where some have been surprises
INNER = 2  # points of each panel that it was not made from
AGREED = 1e-3  # log-densities; the distribution function has its own bound
MOST_LOOKS, SURPRISES = 4, 8

AtOnce = Callable[[np.ndarray], np.ndarray | None]
Evaluate = Callable[[np.ndarray], np.ndarray]  # (points, numbers) -> log-densities, (points, numbers)


class Independent(NamedTuple):
    """A source of independent draws of numbers that do not depend on each other."""

    each: tuple[Panels, ...]
    names: tuple[str, ...]
    compile_seconds: float

    @property
    def error(self) -> float:
        """Of the distribution function of each number, at most."""
        return max(panels.error for panels in self.each)

    def draws(self, seed: int, chain: int, count: int, purpose: int = 0) -> tuple[np.ndarray, np.ndarray]:
        """The first ``count`` draws of a chain, (count, numbers), and their log-densities; another ``purpose``, other
        draws. Those of a number depend on its name, and not on the numbers beside it."""
        found = [
            panels.quantiles(self._uniform(seed, purpose, chain, name, count))
            for panels, name in zip(self.each, self.names, strict=True)
        ]
        values, log_densities = zip(*found, strict=True)
        return np.stack(values, axis=1), np.sum(log_densities, axis=0)

    def _uniform(self, seed: int, purpose: int, chain: int, name: str, count: int) -> np.ndarray:
        own = (int.from_bytes(name.encode(), "big"),) if name else ()
        words = np.random.SeedSequence(seed, spawn_key=(int.from_bytes(b"line", "big"), purpose, chain, *own))
        return np.random.default_rng(words).random(count)


def quadrature(
    logp: LogDensity,
    starts: Sequence[Any],
    *,
    data: Data = (),
    key: Hashable = None,
    at_once: AtOnce | None = None,
    names: Sequence[str] | None = None,
    reach: Sequence[float] | None = None,
) -> Independent:
    """Independent draws from the density whose logarithm is ``logp(position, *data)``, for positions of length one.

    It is looked for from ``starts`` outwards: numbers, or positions. Of longer positions, ``logp`` gives the
    log-densities of all entries, each of which depends on that entry alone; they should have ``names``, as their draws
    depend on these. ``key`` stands for the content of ``logp`` where that is built anew for each call, as in
    ``sample``. ``at_once`` gives the log-densities of up to ``BATCH`` positions, (m, n) -> (m, n), without a program,
    or None; then there is nothing to compile. ``reach`` says of each number how far from its starts mass may be if
    there is none at them: far out on a scale of log-odds numbers do not tell a value from the end of its interval.

    >>> source = quadrature(lambda x: -0.5 * x[0] ** 2, [3.0])
    >>> values, log_densities = source.draws(seed=1, chain=0, count=1000)
    >>> values.shape, bool(abs(values.mean()) < 0.1), source.error < 1e-10
    ((1000, 1), True, True)
    """
    began = time.perf_counter()
    places = np.asarray(starts, np.float64)
    places = places[:, None] if places.ndim == 1 else places
    numbers = places.shape[1]
    names = names if names is not None else [""] * (numbers == 1) or [str(i) for i in range(numbers)]
    if len(set(names)) != numbers or len(names) != numbers:
        raise ValueError(f"names: each of the {numbers} numbers of a position needs one of its own, got {list(names)}")
    evaluate = batches(logp, numbers, data, key, at_once)
    compiling = time.perf_counter() - began
    each = zip(names, places.T, reach if reach is not None else [np.inf] * numbers, strict=True)
    searches = {name: followed(list(dict.fromkeys(line)), far) for name, line, far in each}
    found = side_by_side(searches, evaluate, places[0])
    return Independent(tuple(found), tuple(names), compiling)


def side_by_side(searches: Mapping[str, Search[Result]], evaluate: Evaluate, first: np.ndarray) -> list[Result]:
    """The results of searches, one along each entry of a position: what they want to look at next is looked at
    together. Entries with nothing to look at stay where they were ``first``."""
    found: dict[int, Result] = {}
    each = list(searches.values())
    asked = {k: next(search) for k, search in enumerate(each)}
    while asked:
        batch = np.repeat(first[None], max(map(len, asked.values())), axis=0)
        for k, points in asked.items():
            batch[: len(points), k] = points
        values = evaluate(batch)
        for k, points in list(asked.items()):
            try:
                asked[k] = each[k].send(values[: len(points), k])
            except StopIteration as end:
                found[k] = end.value
                del asked[k]
            except UnresolvedError as error:
                name = list(searches)[k]
                raise UnresolvedError(f"{name}: {error}" if len(each) > 1 else str(error)) from None
    return [found[k] for k in range(len(each))]


def followed(starts: Sequence[float], reach: float = np.inf) -> Search[Panels]:
    """Panels that hold what is seen from ``starts``, and from wherever they turn out to be wrong."""
    for look in range(MOST_LOOKS):
        found = yield from panels((yield from region(starts, reach)))
        wrong, missed = yield from _surprises(found, SHARP_PROBES if look else PROBES)
        if not len(wrong):
            return found
        starts = [*starts, *wrong[:SURPRISES]]
    raise UnresolvedError(f"the log-density at {wrong[0]:.6g} is not what it is around that point{missed}")


def _surprises(found: Panels, probes: int) -> Search[tuple[np.ndarray, str]]:
    """Points where the density is not what panels say, the worst first, and in words what share of it they miss.

    None of the points is one that the panels were made from: some lie in each, the others evenly over the mass."""
    inner = found.between(INNER)
    evenly = probes - inner.size if inner.size <= probes // 8 else probes
    anywhere = np.mod(np.arange(1, evenly + 1) * GOLDEN, 1.0)
    points, expected = found.quantiles((np.arange(evenly) + anywhere) / evenly)
    seen = yield np.concatenate([points, inner.ravel()])
    off = found.off(inner, seen[evenly:].reshape(inner.shape))
    lost = float(off.sum())
    worst = np.argsort(-off, axis=None)[: 0 if lost <= found.error + ACCEPTED else SURPRISES // 2]
    missed = f", and points between those it was made from put its error at {lost:.1e}" if len(worst) else ""
    other = points[~(np.abs(seen[:evenly] - expected) < AGREED)]
    return np.concatenate([inner.ravel()[worst], other]), missed


def batches(
    logp: LogDensity,
    numbers: int,
    data: Data,
    key: Hashable,
    at_once: AtOnce | None = None,
    outputs: int | None = None,
    threads: int = 1,
) -> Evaluate:
    """The log-densities at many positions, by one program for ``BATCH`` of them, one after the other: one of each
    number, or as many as ``outputs`` says. ``at_once`` gives them for up to ``BATCH`` positions without a program, or
    None. The program runs in some ``threads``, each of which has its share of the positions."""
    outputs = numbers if outputs is None else outputs

    def vector(position: Array, *data: Any) -> Array:
        return jnp.reshape(logp(position, *data), (outputs,))

    @functools.cache
    def compiled() -> tuple[Any, Data, Array]:
        """The program, and those of its arguments that every call has: moving them to the device takes longer than
        many a density."""
        with own_settings():
            known, buffer = jax.device_put((data, np.zeros((BATCH, outputs))))
            program = PROGRAMS.get(
                ("expand", logp if key is None else ("keyed", key), "line", numbers, outputs),
                lambda: expand_program(vector),
                (np.zeros((BATCH, numbers)), known, np.int64(0), np.int64(0), buffer),
                DRAWS,
                runs=MOST_LOOKS * BATCH / TURNS,
            )
            return program, known, buffer

    def by_program(part: np.ndarray) -> np.ndarray:
        program, known, buffer = compiled()
        with own_settings(), turn(program):
            found = program(padded(part, BATCH), known, np.int64(0), np.int64(len(part)), buffer)
            return np.asarray(found)[: len(part)]

    if at_once is None:
        compiled()
    pool = ThreadPoolExecutor(threads) if at_once is None and threads > 1 else None  # its threads end with it

    def evaluate(positions: np.ndarray) -> np.ndarray:
        size = BATCH if pool is None else min(BATCH, max(LEAST_SHARE, -(-len(positions) // threads)))
        parts = [positions[i : i + size] for i in range(0, len(positions), size)]
        values = map(one, parts) if pool is None else pool.map(by_program, parts)
        return np.concatenate([np.zeros((0, outputs)), *values])

    def one(part: np.ndarray) -> np.ndarray:
        values = at_once(part) if at_once is not None else None
        return by_program(part) if values is None else values.reshape(-1, outputs)

    return evaluate


def padded(points: np.ndarray, size: int) -> np.ndarray:
    """As many points as that: the first of them again where there are fewer."""
    return np.concatenate([points, np.repeat(points[:1], size - len(points), axis=0)]) if len(points) < size else points
