"""What planning found, and how it is told: in text and in notebooks."""

from __future__ import annotations

import html
from dataclasses import dataclass, field

from ppl.distributions import RandomVariable
from ppl.graph.records import record
from ppl.rewrites.limits import LIMITS
from ppl.rewrites.marginalization.program import MOST_NAMES, Program, shortened
from ppl.rewrites.reparameterization.coordinates import Coordinate


@record
class Step:
    """One rewrite: its rule, the variables it marginalized, the dimensions before and after, and why it was allowed."""

    rule: str
    eliminated: tuple[str, ...]
    before: str
    after: str
    why: str


@record
class Kept:
    """A variable that is still sampled, or rows that are still gone over, and why."""

    name: str
    why: str


@dataclass
class Plan:
    """What was rewritten, and the program that is left."""

    program: Program
    steps: list[Step] = field(default_factory=list)
    kept: list[Kept] = field(default_factory=list)
    rows: list[Kept] = field(default_factory=list)  # that each evaluation goes over, where they are many
    coordinates: dict[RandomVariable, Coordinate] = field(default_factory=dict)  # of what is left, where not its own
    members: dict[RandomVariable, tuple[RandomVariable, ...]] = field(default_factory=dict)  # of vectors for loops
    asked: frozenset[RandomVariable] = frozenset()  # what the user wants eliminated, whatever it costs
    ndim_before: int = 0
    milliseconds: float = 0.0
    stiffness: float = 1.0  # how many times more steps trajectories would take, if what is marginalized stayed
    gone_through: int = 0  # factors, once for each theorem and variable that was tried
    stopped: str = ""  # why no further theorem was tried
    apart: bool = False  # whether the values of what is left are numbers that do not depend on each other
    heading: str = ""  # what becomes of parts that nothing joins
    parts: list[Kept] = field(default_factory=list)
    # How many times less arithmetic one evaluation takes: infinite without a sampler, 1 where there were labels, which
    # no gradient moves. How many evaluations an effective draw needs is not known before sampling: of ten effects and
    # their scale NUTS may draw as well as of the scale alone, or twenty times worse.
    gain: float = 1.0

    @property
    def free(self) -> tuple[str, ...]:
        """The names that the sampler still moves."""
        return tuple(rv.name or "" for rv in self.program.free)

    @property
    def ndim(self) -> int:
        return self.program.ndim

    @property
    def nodes(self) -> int:
        return self.program.nodes

    @property
    def headline(self) -> str:
        """How many dimensions rewriting leaves to sample."""
        before = "1 dimension" if self.ndim_before == 1 else f"{self.ndim_before} dimensions"
        one = self.ndim_before == 1
        if self.ndim == self.ndim_before:
            return f"{before} {'stays' if one else 'stay'}"
        return f"{before} {'becomes' if one else 'become'} {self.ndim}"

    @property
    def needs_no_chain(self) -> bool:
        """Whether so little is left that draws are independent for sure."""
        return self.apart or not self.program.free

    @property
    def outlook(self) -> str:
        """What becomes of sampling, where so little is left that it may need no Markov chain."""
        if not self.program.free:
            return "nothing is left to sample: draws are independent and exact"
        unless = "unless NUTS is asked for"
        if self.apart and self.ndim == 1:
            return f"one dimension is left: draws are independent, by quadrature, {unless}"
        if self.apart:
            return f"the {self.ndim} dimensions left are independent, and draws too, by quadrature, {unless}"
        if self.ndim <= LIMITS.few_numbers and all(rv.dtype[0] == "f" for rv in self.program.free):
            return f"{self.ndim} dimensions are left: draws are independent, by rejection, or by NUTS"
        return ""

    def __str__(self) -> str:
        lines = [f"{self.headline} ({self.milliseconds:.0f} ms)"]
        if self.stopped:
            lines.append(f"  {self.stopped}")
        if not self.needs_no_chain and abs(self.gain - 1.0) > 0.05:
            times = f"{self.gain:.2g} times less" if self.gain > 1.0 else f"{1.0 / self.gain:.2g} times more"
            lines.append(f"  one evaluation is estimated to take {times} arithmetic")
        lines += [
            f"  marginalized, {step.rule}: {', '.join(shortened(step.eliminated))}. {step.why}"
            if step.eliminated
            else f"  {step.rule}: {step.why}"
            for step in self.steps
        ]
        if self.kept:
            lines.append("  still sampled:")
            lines += [f"    {kept.name}: {kept.why}" for kept in self.kept]
        if self.rows:
            lines.append("  observations that each evaluation goes over row by row:")
            lines += [f"    {kept.name}: {kept.why}" for kept in self.rows]
        if self.parts:
            lines.append(f"  {self.heading}:")
            shown, more = self.parts[:MOST_NAMES], len(self.parts) - MOST_NAMES
            lines += [f"    {part.name}: {part.why}" for part in shown] + [f"    and {more} more"] * (more > 0)
        if self.outlook:
            lines.append(f"  {self.outlook}")
        return "\n".join(lines)

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        rows = "".join(
            f"<tr><td>{html.escape(s.rule)}</td><td>{html.escape(', '.join(shortened(s.eliminated)))}</td>"
            f"<td>{html.escape(s.why)}</td></tr>"
            for s in self.steps
        )
        kept = "".join(
            f"<tr><td>{what}</td><td>{html.escape(k.name)}</td><td>{html.escape(k.why)}</td></tr>"
            for what, stay in (("kept", self.kept), ("rows", self.rows), ("part", self.parts[:MOST_NAMES]))
            for k in stay
        )
        head = self.headline
        head += f"; {self.stopped}" if self.stopped else ""
        table = f"<table><tr><th>rule</th><th>variables</th><th>why</th></tr>{rows}{kept}</table>"
        return f"<p>{head}</p>{table}" + "".join(
            f"<p>{html.escape(words)}</p>" for words in (self.heading, self.outlook) if words
        )
