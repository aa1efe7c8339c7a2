"""How many independent draws the chains are worth."""

from __future__ import annotations

from collections.abc import Iterator

from ppl.model.checking.findings import Finding, quoted
from ppl.model.checking.outcome import Outcome, worst
from ppl.samplers.runs.diagnostics import LEAST_ESS_PER_CHAIN, ess_bulk, ess_tail

KINDS = ("effective draws",)


def find(outcome: Outcome) -> Iterator[Finding]:
    """Variables with fewer than 100 effective draws a chain, for the middle or for the tails."""
    if not outcome.is_long_enough:
        return
    least = LEAST_ESS_PER_CHAIN * outcome.chains
    for diagnostic, what, use in (
        (ess_bulk, "bulk", "means and medians"),
        (ess_tail, "tail", "quantiles and intervals"),
    ):
        bad = worst(outcome, outcome.each(diagnostic), lambda size: size < least, most=False)
        if bad:
            names = tuple(name for name, *_ in bad)
            _, entry, value, _ = bad[0]
            times = max(2, -(-least // max(1, int(value))))
            yield Finding(
                "effective draws", names, "warning",
                f"{quoted(names)} {'has' if len(names) == 1 else 'have'} few effective draws in the {what}: "
                f"{value:.0f} for {entry}, where {least} are needed, so that {use} are noisy.",
                f"Draw about {times} times as many ({times * outcome.count:,} a chain), or reparameterize {entry}."
                if times <= 10
                else f"More draws alone will not do: reparameterize {entry}, or see in pm.explain(model) what is "
                "sampled as it is written.",
            )  # fmt: skip
