"""Fits by stochastic steps: the optimizer of the user, or Adam whose last iterates are averaged."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import ppl.tensor as tt
from ppl.compile.density import labels
from ppl.samplers.approximate.normal import Normal, quality_of
from ppl.tensor.variables import shared
from ppl.variational.approximations import Approximation, Report
from ppl.variational.callbacks import Callback
from ppl.variational.groups import EmpiricalGroup
from ppl.variational.stein import Stein
from ppl.variational.steps import Steps
from ppl.variational.updates import adam

FIRST, LAST = 0.05, 0.005  # learning rates of Adam, in units of a coordinate
SNAPSHOTS = 400  # of the parameters in a fit
SETTLED = 0.1  # standard deviations between halves of the last quarter, below which a fit has converged
TOO_NARROW = 0.25  # error of Stein's identities from which on particles are not those of the posterior


def stride(callbacks: Sequence[Any], most: int) -> int:
    """How many steps are made between looks: one, where somebody wants to see each."""
    every = [c.every if isinstance(c, Callback) and type(c).__module__ == Callback.__module__ else 1 for c in callbacks]
    return int(np.gcd.reduce(every)) if every else most


def not_a_number(approx: Approximation) -> FloatingPointError:
    """The error of a fit whose loss is not a number, naming the entries that are to blame."""
    lines = ["NaN occurred in optimization. "]
    for group in approx.groups:
        values = group.params[0].get_value()
        if values.ndim == 1:
            for name, place, _, _ in group.ordering.values():
                lines += [
                    f"The current approximation of RV `{name}`.ravel()[{i}] is NaN."
                    for i in np.flatnonzero(np.isnan(values[place]))
                ]
    lines.append(
        "Try a smaller learning_rate, start= another point, or leave obj_optimizer out: the default fit is by line "
        "searches, which refuse such steps. The parameters are those before, and .hist has the losses so far."
    )
    return FloatingPointError("\n".join(lines))


class Averaged:
    """Adam with a falling learning rate, and the mean of the parameters over the last quarter of the steps (particles
    stay where they are)."""

    def __init__(self, approx: Approximation) -> None:
        self.approx = approx
        self.rate, self.part = shared(np.asarray(FIRST), "learning_rate"), shared(np.asarray(0.0), "part")
        self.kept: list[np.ndarray] = []

    def optimizer(self, grads: Sequence[Any], params: Sequence[Any]) -> dict[Any, Any]:
        """Adam with a rate for each parameter: first the same for all, later that of means in units of their standard
        deviations, which the steps have to be small against."""
        means = {g.params[0]: g.std for g in self.approx.groups if g.has_logq}  # type: ignore[attr-defined]
        updates: dict[Any, Any] = {}
        for g, p in zip(grads, params, strict=True):
            rate = self.rate * tt.minimum(means[p], 1.0) ** self.part if p in means else self.rate
            updates |= adam([g], [p], learning_rate=rate)
        return updates

    def before(self, done: int, total: int) -> None:
        """Choose the rates: they stay, turn to units of standard deviations, and fall as a cosine at last."""
        at = done / max(1, total)
        self.part.set_value(np.asarray(np.clip((at - 0.4) / 0.3, 0.0, 1.0)))
        part = max(0.0, 2 * at - 1)
        self.rate.set_value(np.asarray(LAST + 0.5 * (FIRST - LAST) * (1 + np.cos(np.pi * part))))

    def after(self, approx: Approximation, done: int, total: int) -> None:
        """Remember the parameters; of particles, their means."""
        if 4 * done >= 3 * total:
            values = [p.get_value() for p in approx.params]
            parts = [np.ravel(v) for v in values] if approx.has_logq else [np.mean(v, axis=0) for v in values]
            self.kept.append(np.concatenate(parts))

    def settle(self, approx: Approximation) -> tuple[bool, str]:
        """Set the parameters of laws to their mean, and say whether the means of the variables had settled."""
        if len(self.kept) < 4:
            return False, "too few steps for an average"
        kept, at = np.array(self.kept), 0
        half = len(kept) // 2
        means, spreads = [], []
        for group in approx.groups:
            shift = np.abs(kept[:half].mean(axis=0) - kept[half:].mean(axis=0))[at : at + group.ddim]
            for p in group.params:
                size = p.get_value().size if group.has_logq else group.ddim
                if group.has_logq:
                    p.set_value(kept[:, at : at + size].mean(axis=0).reshape(p.get_value().shape))
                at += size
            means.append(shift)
            spreads.append(np.asarray(group.std.eval()))  # type: ignore[attr-defined]
        if isinstance(approx.groups[0], EmpiricalGroup):
            return _at_rest(approx)
        moved = float(np.max(np.concatenate(means) / np.concatenate(spreads)))
        if moved < SETTLED:
            return True, "the means have settled"
        return False, f"the means still move by {moved:.2f} sd"


def _at_rest(approx: Approximation) -> tuple[bool, str]:
    """Whether particles have come to rest where they should: the direction of Stein's operator, in units of their
    spread, vanishes, and so do the two errors of `stein_errors`, which a kernel of many dimensions may not see."""
    spread = np.asarray(approx.groups[0].std.eval())  # type: ignore[attr-defined]
    push = Stein(approx).grad() * spread
    size = float(np.max(np.sqrt(np.mean(push**2, axis=0))))
    if not size < SETTLED:
        return False, f"the particles are pushed by {size:.2g} in units of their spread"
    points = np.asarray(approx.groups[0].histogram.get_value())  # type: ignore[attr-defined]
    place, width = stein_errors(points, approx.problem.target(points)[1])
    worst = int(np.argmax(np.maximum(place, width)))
    if max(place[worst], width[worst]) < TOO_NARROW:
        return True, f"the particles are pushed by {size:.2g} in units of their spread"
    name = labels(approx.problem.slots, approx.problem.posterior.names)[worst]
    if place[worst] > width[worst]:
        wrong = f'the slopes along "{name}" have a mean of {place[worst]:.2g} over the spread, where 0 is right'
    else:
        wrong = f'the particles are too close together: along "{name}" Stein\'s identity is off by {width[worst]:.0%}'
    return False, f"the particles are at rest, but not those of the posterior: {wrong}"


def stein_errors(points: np.ndarray, slopes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """How far particles are from two identities of the posterior, for each coordinate: the mean of the slopes of its
    log-density is 0 (measured in units of the particles' spread), and E (x - E x) ∂ log p(x) is -1."""
    away = points - points.mean(axis=0)
    place = np.abs(slopes.mean(axis=0)) * points.std(axis=0)
    return place, np.abs(1.0 + np.mean(away * slopes, axis=0))


def report_of(approx: Approximation, how: str, converged: bool | None, why: str, steps: int, began: float,
              draws: int, more: bool = False) -> Report:  # fmt: skip
    """The report of a fit by steps: with importance ratios where the log-density stays the same and q has one.
    `more` says that variables of the model were fitted along."""
    seconds = time.perf_counter() - began
    plain = Report(how, converged, why, steps, steps * draws, seconds)
    if not approx.has_logq or approx.problem.random_rows or not approx.problem.dim:
        return plain
    log_q, points = log_densities(approx, 1000)
    target = approx.problem.target_now() if more else approx.problem.target
    found = quality_of(target(points)[0] - log_q)
    return plain._replace(**dict(zip(("pareto_k", "elbo", "elbo_error", "log_evidence"), found[:4], strict=True)))


def log_densities(approx: Approximation, draws: int) -> tuple[np.ndarray, np.ndarray]:
    """The log-density of the approximation at draws of it, and these."""
    rng, points, total = np.random.default_rng(0), np.empty((draws, approx.problem.dim)), np.zeros(draws)
    for group in approx.groups:
        mu = group.params[0].get_value()
        factor = group.factor() if hasattr(group, "factor") else np.logaddexp(0.0, group.params[1].get_value())
        law = Normal(mu, factor)
        part = law.at(rng.standard_normal((draws, group.ddim)))
        points[:, group.index] = part
        total += law.log_density(part)
    return total, points


def run(
    steps: Steps,
    n: int,
    score: bool,
    callbacks: Sequence[Any],
    first: int,
    averaged: Averaged | None,
    shown: Callable[[int, np.ndarray], None],
    losses: list[np.ndarray],
) -> None:
    """Make n steps, in as few dispatches as callbacks and the display leave; `losses` grows as they are made."""
    approx, done = steps.approx, 0
    chunk = stride(callbacks, max(5, n // SNAPSHOTS) if averaged is not None else 1000)
    while done < n:
        count = min(n - done, chunk - (first + done) % chunk if callbacks else chunk)
        if averaged is not None:
            averaged.before(done, n)
        before = [v.get_value() for v in steps.state]
        found = steps(count)
        bad = np.isnan(found) if score else np.zeros(count, bool)
        if np.any(bad) or any(np.isnan(p.get_value()).any() for p in approx.params):
            error = not_a_number(approx)
            losses.append(found[: int(np.argmax(bad)) if np.any(bad) else count])
            for variable, value in zip(steps.state, before, strict=True):
                variable.set_value(value)
            raise error
        done += count
        losses.append(found)
        if averaged is not None:
            averaged.after(approx, done, n)
        shown(count, found)
        if callbacks:
            so_far = np.concatenate(losses) if score else None
            for callback in callbacks:
                callback(approx, so_far, first + done)
