"""A run checks itself: some of its draws are held against the model as the user wrote it (`identity`)."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any, NamedTuple

import numpy as np

import ppl.tensor as tt
from ppl.compile.density import Slot, flattened, layout
from ppl.model.certificate.identity import Identity, NoIdentity, Sides
from ppl.model.certificate.volumes import Degenerate, NoVolume
from ppl.model.errors import CertificateError
from ppl.model.output.sampler_warnings import SamplerWarning
from ppl.model.posterior.rewriting import Posterior, rewritten
from ppl.model.prediction.draw_rows import RowProgram, draw_keys, over_draws
from ppl.rewrites.engine.engine import strict

DRAWS = 32  # of a run that are checked
FEWEST = 2  # of those whose check is much work
WORK = 1.5e7  # numbers that NumPy goes over, some fifteen milliseconds: more draws are not worth it
TOLERANCE = {"float64": 1e-8, "float32": 1e-3}  # of the size of the terms
ROUNDING = 50  # how many times less a difference may move when its inputs move by rounding, to be no rounding itself
NEARBY = (4, 64, 1024)  # units in the last place of a number, by which inputs are moved to see what rounding does
POINTS = 6  # at which the steps of a plan are tried one by one, where a certificate fails

NO_DENSITY = "the density of the model as written is not a number at the draws"


class Certificate(NamedTuple):
    """What a run found out about itself: whether its draws agree with the model as written, and how closely."""

    verdict: str  # "holds", "fails" or "not judged"
    draws: int
    error: float  # the largest difference, relative to the size of the log-density
    reason: str = ""

    def __str__(self) -> str:
        if self.verdict == "holds":
            return (
                f"holds: at {self.draws} draws, joint density as written = density sampled × density of the variables "
                f"drawn back, up to one constant and a relative difference of {self.error:.0e}"
            )
        return f"{self.verdict}: {self.reason}"


def not_judged(reason: str) -> Certificate:
    """A certificate that says nothing, and why."""
    return Certificate("not judged", 0, float("nan"), reason)


class Notary:
    """Certifies runs of one posterior."""

    def __init__(self, posterior: Posterior, slots: Sequence[Slot], outputs: Mapping[str, tt.Tensor]) -> None:
        self.posterior, self.slots, self.reason, self.verdict = posterior, list(slots), "", "not judged"
        self.identity: Identity | None = None
        try:
            self.identity = Identity(posterior, slots, outputs)
        except Degenerate as why:
            self.reason, self.verdict = f"{why}: some are not random", "fails"
        except (NoVolume, NoIdentity) as why:
            self.reason = str(why)
        except Exception as error:
            if strict.on:
                raise
            self.reason = f"{type(error).__name__}: {error}"

    def prepare(self, draws: int, asked: int | None = None) -> None:
        """Make ready for a run of so many draws, while these are made."""
        if self.identity is not None:
            with suppress(Exception):  # they are told of when there is something to certify
                self.identity.prepare(len(self._picked(self.identity, draws, asked)))

    def _picked(self, identity: Identity, draws: int, asked: int | None) -> np.ndarray:
        """The numbers of the draws that are checked, of so many: as many as are asked for, or as cost little."""
        count = int(np.clip(WORK / max(1.0, identity.work), FEWEST, DRAWS)) if asked is None else min(asked, draws)
        at = np.linspace(0, draws - 1, count).round().astype(int)
        return at[np.diff(at, prepend=-1) > 0]

    def certify(
        self,
        run: Any,
        lp: np.ndarray | None,
        values: Mapping[str, np.ndarray],
        seed: int,
        asked: int | None = None,
    ) -> Certificate:
        """The certificate of a run: `lp` has the log-density of each draw, `values` every name for every draw, and
        `asked` draws are looked at, or as many as cost little."""
        if self.identity is not None and self.identity.is_fixed:
            return not_judged("nothing is random")
        if self.identity is None:
            return Certificate(self.verdict, 0, float("nan"), self.reason)
        try:
            with np.errstate(all="ignore"):  # beside a draw numbers may end
                return self._judged(self.identity, run, lp, values, seed, asked)
        except Exception as error:
            if strict.on:
                raise
            return not_judged(f"{type(error).__name__}: {error}")

    def _judged(
        self,
        identity: Identity,
        run: Any,
        lp: np.ndarray | None,
        values: Mapping[str, np.ndarray],
        seed: int,
        asked: int | None,
    ) -> Certificate:
        chains, draws = run.positions.shape[:2]
        picked = self._picked(identity, chains * draws, asked)
        at = np.unravel_index(picked, (chains, draws))
        positions, keys = run.positions[at], draw_keys(seed, "recover", chains, draws)[at]
        different = len(np.unique(positions, axis=0)) if self.slots else len(picked)
        if different < 2:
            return not_judged("the draws that were looked at are all the same, of which any density is a constant")
        result = {name: x[at] for name, x in values.items()}
        sides = identity.at(positions, result, keys)
        sampled = self._log_density(positions) if lp is None or not np.isfinite(lp[at]).all() else lp[at]
        tolerance = TOLERANCE[tt.config.floatX]
        unsteady = functools.cache(lambda: self._unsteadiness(identity, positions, result, keys, sides.again))
        allowed = functools.cache(lambda: TOLERANCE["float32"] if identity.single(result) else tolerance)
        for name, again in sides.again.items():
            apart = _apart(result[name], again)
            if not apart <= tolerance and not apart <= ROUNDING * unsteady()[name] and not apart <= allowed():
                what = f"{name} of the result is not what follows from the variables: they differ by {apart:.1e}"
                return Certificate("fails", len(picked), apart, what)
        unlawful = np.isneginf(sides.drawn)  # a law that a variable was drawn from is none
        ended = _any_entry(np.isnan, result, len(picked)) | unlawful
        unknown = np.isnan(sides.left) & ~ended  # a factor that fails by rounding in the model as written
        random = {rv.name: result[rv.name] for rv in self.posterior.model.free_RVs if rv.name in result}
        beyond = _any_entry(np.isinf, random, len(picked))  # its density is lost: the result has a warning of its own
        known = np.isfinite(sampled) & ~unknown & ~beyond
        enough = min(FEWEST, len(picked))
        if (~beyond).sum() < enough:
            return not_judged(
                f"a variable is infinite at {beyond.sum()} of the {len(picked)} draws that were looked at"
            )
        if known.sum() < enough:
            return not_judged(NO_DENSITY)
        if not np.isfinite(sides.left[known]).all():
            where = int(np.argmax(known & ~np.isfinite(sides.left)))
            both = f"{sides.left[where]} in the model as written, and {sampled[where]} as sampled"
            what = f"a draw has the log-density {both}"
            return Certificate("fails", len(picked), float("inf"), what)
        apart = (sides.left - sampled)[known]
        size = 1.0 + (sides.size + abs(sampled))[known]
        error = _largest(apart, size)
        if error <= tolerance or error <= allowed():
            return Certificate("holds", len(picked) - int(beyond.sum()), error)
        if error * np.median(size) <= ROUNDING * self._rounding(identity, positions, result, keys):
            return not_judged(f"rounding in the log-density is as large as the difference found, {error:.0e}")
        what = (
            f"the log-densities of draws as written and as sampled differ by more than a constant, "
            f"by up to {np.ptp(apart):.3g} where they are about {np.median(size):.3g}"
        )
        return Certificate("fails", len(picked), error, what)

    def _unsteadiness(
        self,
        identity: Identity,
        positions: np.ndarray,
        result: Mapping[str, np.ndarray],
        keys: np.ndarray,
        here: Mapping[str, np.ndarray],
    ) -> dict[str, float]:
        """How far the variables move when what they follow from moves by about what rounding does to it. Where
        eigenvalues are alike another rounding turns the eigenvectors, and the same random numbers give another draw."""
        moved = [
            identity.at(_nearby(positions, n), {name: _nearby(x, n) for name, x in result.items()}, keys).again
            for n in NEARBY
        ]
        return {name: max(_apart(each[name], x) for each in moved) for name, x in here.items()}

    def _rounding(
        self, identity: Identity, positions: np.ndarray, result: Mapping[str, np.ndarray], keys: np.ndarray
    ) -> float:
        """How far the sides move when their inputs move by about what rounding does to them."""

        def densities(units: int) -> np.ndarray:
            """That of the model as written, and that which was sampled, at numbers some units in the last place off."""
            written = identity.as_written({name: _nearby(x, units) for name, x in result.items()})
            if written is None:
                written = identity.at(_nearby(positions, units), result, keys).left
            return np.stack([written, self._log_density(_nearby(positions, units))])

        here = densities(0)
        change = np.stack([densities(n) - here for n in NEARBY])
        return float(np.max(abs(change[np.isfinite(change)]), initial=0.0))

    def _log_density(self, positions: np.ndarray) -> np.ndarray:
        """The log-density that the sampler was given."""
        if not self.slots:
            return np.zeros(len(positions))
        make = lambda: RowProgram([s.variable for s in self.slots], [self.posterior.logp()], self.posterior.of_data)
        program = self.posterior.once(("rows of logp", *map(id, self.slots)), make)
        (found,) = over_draws(program, [slot.read(positions)[None] for slot in self.slots])
        return np.asarray(found[0])


def _nearby(x: np.ndarray, units: int) -> np.ndarray:
    """Numbers that differ by some units in the last place, each in a direction of its own."""
    if x.dtype.kind != "f":
        return x
    return x * (1 + units * np.finfo(float).eps * np.cos(7.0 * np.arange(x.size))).reshape(x.shape)


def _largest(apart: np.ndarray, size: np.ndarray) -> float:
    """How far differences are from one constant, relative to the size of their terms. The constant is taken where the
    terms are smallest, since there it has most digits."""
    best = int(np.argmin(size)) if len(size) else 0
    return float(np.max(abs(apart - apart[best]) / size, initial=0.0)) if len(size) else 0.0


def _any_entry(what: Callable[[Any], Any], result: Mapping[str, np.ndarray], count: int) -> np.ndarray:
    """At which draws an entry of a variable is nan, or infinite."""
    each = [what(x).any(axis=tuple(range(1, x.ndim))) for x in result.values() if x.dtype.kind == "f"]
    return np.any(each, axis=0) if each else np.zeros(count, bool)


def _apart(result: np.ndarray, again: np.ndarray) -> float:
    """The largest difference of two arrays, relative to their size; infinite where one is finite alone."""
    a, b = np.asarray(result, float), np.asarray(again, float)
    same = (a == b) | (np.isnan(a) & np.isnan(b))
    if same.all():
        return 0.0
    apart = abs(a - b)[~same]
    size = np.maximum(1.0, np.max(abs(b[np.isfinite(b)]), initial=0.0))
    return float(np.max(np.where(np.isfinite(apart), apart, np.inf))) / float(size)


def culprits(posterior: Posterior, values: Mapping[str, np.ndarray], seed: int) -> list[str]:
    """The steps of a plan without which the identity holds: rule and variables of each."""
    model, plan = posterior.model, posterior.plan
    found: list[str] = []
    if plan is None or any(rv.name not in values for rv in model.free_RVs):
        return found
    if any(np.isnan(values[rv.name or ""]).any() for rv in model.free_RVs):  # from there no other plan can start
        return found
    entries = {many.name: [rv.name for rv in each] for many, each in plan.members.items()}
    for step in plan.steps:
        written = [name for gone in step.eliminated for name in entries.get(gone, [gone])]
        if written and _holds(rewritten(model, True, written), values, seed):
            found.append(f"{step.rule!r}, which integrated out {', '.join(step.eliminated)}")
    return found


def _holds(posterior: Posterior, values: Mapping[str, np.ndarray], seed: int) -> bool:
    """Whether the identity holds for a posterior at some draws that another one has made."""
    free = [rv.name or "" for rv in posterior.model.free_RVs]
    chains, draws = values[free[0]].shape[:2]
    at = np.unravel_index(np.linspace(0, chains * draws - 1, POINTS).round().astype(int), (chains, draws))
    result = {name: x[at] for name, x in values.items()}
    points = [posterior.start({name: result[name][i] for name in free}) for i in range(POINTS)]
    slots = layout(posterior.values, points[0])
    positions = np.stack([flattened(slots, point) for point in points])
    notary = Notary(posterior, slots, {name: posterior.outputs[name] for name in free})
    if notary.identity is None:
        return False
    sides: Sides = notary.identity.at(positions, result, draw_keys(seed, "recover", chains, draws)[at])
    sampled = notary._log_density(positions)
    apart, size = sides.left - sampled, 1.0 + sides.size + abs(sampled)
    return _largest(apart, size) <= TOLERANCE[tt.config.floatX]


def failure(certificate: Certificate, posterior: Posterior, values: Mapping[str, np.ndarray], seed: int) -> str:
    """What to say of a certificate that fails."""
    plan = posterior.plan
    text = f"The draws contradict the model: {certificate.reason}."
    if plan is None:
        return f"{text} This is a fault of ppl, not of your model: please report it with the model."
    try:
        found = culprits(posterior, values, seed)
    except Exception:  # draws may lie where a model cannot begin; that they are wrong is what has to be said
        found = []
    rules = ", ".join(dict.fromkeys(repr(step.rule) for step in plan.steps)) or "none"
    blame = f"The fault lies in the rule {'; or '.join(found)}." if found else f"The rules used were {rules}."
    return (
        f"{text} {blame} This is a fault of ppl, not of your model: please report it with the model. Until then"
        " pm.sample(..., rewrite=False) samples the model as it is written. The draws are kept as `result` of this"
        " error; do not use them."
    )


def doubts(certificate: Certificate) -> list[SamplerWarning]:
    """What a user should know about draws that could not be compared with the model as it is written."""
    if certificate.reason != NO_DENSITY:
        return []
    text = (
        "The log-density of the model as it is written is not a number at the draws, so nothing tells whether they come"
        " from it. model.point_logps(point) shows at one of them which term is none."
    )
    return [SamplerWarning("warning", text)]


__all__ = ["Certificate", "CertificateError", "Notary", "doubts", "failure", "not_judged"]
