"""`check`: what a careful colleague would say of a model, or of its results."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

from ppl.model.checking.findings import Finding, Report, report
from ppl.model.checking.outcome import Outcome
from ppl.model.checking.registry import AFTER, BEFORE, Check
from ppl.model.checking.survey import Survey
from ppl.model.context import is_foreign, model_to_read
from ppl.model.errors import ShapeError
from ppl.model.output.results import group_names, group_of
from ppl.model.registry.variable_registry import Books
from ppl.rewrites.engine.engine import strict


def check(of: Any = None) -> Report:
    """What is to be said of a model before sampling, or of results after it, each with a remedy.

    Nothing is sampled or compiled.

    Parameters
    ----------
    of : Model, or result of `pm.sample`, optional
        By default the model of the `with` block.

    Returns
    -------
    Report
        It prints as text, shows as HTML in a notebook, holds findings (`kind`, `severity`, `variables`, `says`,
        `remedy`), and `to_dict()` and `to_json()` give it as data.

    Examples
    --------
    >>> import ppl as pm
    >>> with pm.Model() as model:
    ...     a, b = pm.Flat("a"), pm.Flat("b")
    ...     y = pm.Normal("y", a + b, 1, observed=[1.2, 0.4, 2.1])
    >>> [(f.kind, f.variables, f.severity) for f in check(model)]
    [('not identified', ('a', 'b'), 'error')]
    """
    start = time.perf_counter()
    if of is None or isinstance(of, Books) or is_foreign(of):
        found, skipped = _of_model(model_to_read(of).root)  # type: ignore[attr-defined]
        return report("model", found, skipped, 1e3 * (time.perf_counter() - start))
    if not _is_result(of):
        raise TypeError(
            f"check() takes a model, or results with a posterior as pm.sample returns them; got {type(of).__name__}. "
            "Sample with return_inferencedata=True."
        )
    outcome = Outcome(of)
    found = _all(AFTER, outcome)
    return report("results", found, outcome.skipped, 1e3 * (time.perf_counter() - start))


def _is_result(of: Any) -> bool:
    return hasattr(of, "groups") and "posterior" in group_names(of) and "chain" in group_of(of, "posterior").sizes


def _of_model(model: Any) -> tuple[list[Finding], Sequence[str]]:
    try:
        model.check_whole()
        survey = Survey(model)
        survey.now  # noqa: B018  lengths that clash are found here
    except (ValueError, ShapeError) as error:
        return [_broken(str(error))], ()
    return _all(BEFORE, survey), survey.skipped


def _broken(reason: str) -> Finding:
    return Finding(
        "model",
        (),
        "error",
        f"The model has no density as it is: {reason}",
        "Mend this first: nothing else can be told.",
    )


def _all(checks: Sequence[Check], seen: Any) -> list[Finding]:
    """The findings of all checks. One that fails is left out and named, as with theorems of the rewriter."""
    found: list[Finding] = []
    for each in checks:
        try:
            found += each.find(seen)
        except Exception as error:
            if strict.on:
                raise
            seen.skipped.append(f"{', '.join(each.kinds)}: the check failed ({type(error).__name__}: {error})")
    return found
