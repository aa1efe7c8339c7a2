"""Discrete variables that rewriting does not sum out: no gradient moves them."""

from __future__ import annotations

from collections.abc import Iterator

from ppl.model.checking.findings import Finding
from ppl.model.checking.survey import Survey

KINDS = ("discrete variable",)


def find(survey: Survey) -> Iterator[Finding]:
    """Discrete latents and counts that step methods must move, since NUTS cannot."""
    if not any(rv.dtype[0] != "f" and rv in survey.informed for rv in survey.free) or survey.plan is None:
        return
    kept = {k.name: k.why for k in survey.plan.kept}
    for rv in survey.plan.program.free:
        if rv.dtype[0] == "f":
            continue
        why = kept.get(rv.name or "", "")
        domain = rv.family.support_for(rv.parameters)
        mend = (
            f'Write what depends on "{rv.name}" as pm.Mixture over its values, so that no latent variable stands '
            "between it and the data"
            if domain.upper is not None
            else f'Give "{rv.name}" a finite support so that it is summed out, or write its sum into the law of the '
            "data, as NegativeBinomial and BetaBinomial do"
        )
        yield Finding(
            "discrete variable", (rv.name or "",), "warning",
            f'"{rv.name}" ({rv.family.__name__}) is discrete and is not summed out{f" ({why})" if why else ""}: NUTS '
            "cannot move it, so that a Metropolis or Gibbs step does, slowly, and in turn with NUTS.",
            f"{mend}, or run more and longer chains.",
        )  # fmt: skip
