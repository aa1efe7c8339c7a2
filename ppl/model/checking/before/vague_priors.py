"""Priors with numbers that mean something else in other programs, or that are vague in a harmful way."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ppl.distributions import Gamma, InverseGamma
from ppl.model.checking.findings import Finding
from ppl.model.checking.survey import Survey

KINDS = ("vague prior",)

PRECISIONS = (1e-2, 1e-3, 1e-4, 1e-5, 1e-6)  # as BUGS programs write them, for standard deviations of 10 to 1,000
SHARP = 0.011


def find(survey: Survey) -> Iterator[Finding]:
    """Gamma priors with shape and rate near zero, and standard deviations that look like precisions."""
    for rv in survey.free:
        known, name, family = survey.constants(rv), rv.name or "", rv.family.__name__
        if known is None:
            continue
        of_gamma = [np.inf]
        if rv.family in (Gamma, InverseGamma):
            of_gamma = [known.get(p, np.inf) for p in ("alpha", "beta")]
        if all(np.all(number <= SHARP) for number in of_gamma):
            yield Finding(
                "vague prior", (name,), "note",
                f'The prior {family}({float(np.max(of_gamma[0])):g}, {float(np.max(of_gamma[1])):g}) of "{name}" has '
                "nearly all of its probability next to zero and at huge values: it is not uninformative, and hard "
                "to sample (Gelman 2006).",
                f'Put the prior on the standard deviation, as HalfNormal or Exponential, in place of "{name}".',
            )  # fmt: skip
        sigma = known.get("sigma")
        if (
            family == "Normal"
            and sigma is not None
            and sigma.size == 1
            and np.isclose(float(sigma.max()), PRECISIONS).any()
        ):
            number = float(sigma.max())
            yield Finding(
                "vague prior", (name,), "note",
                f'The standard deviation of "{name}" is {number:g}, which fixes it at its mean; BUGS and JAGS write '
                "vague priors with such numbers, which are precisions there.",
                f'If a precision is meant, write pm.Normal("{name}", mu, tau={number:g}).',
            )  # fmt: skip
