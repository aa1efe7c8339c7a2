"""All checks, in the order in which they are made. A check is one file, and one line here."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from types import ModuleType
from typing import Any, NamedTuple

from ppl.model.checking.after import (
    divergences,
    effective_draws,
    energy,
    exactness,
    influential_rows,
    mixing,
    tree_depth,
)
from ppl.model.checking.before import (
    columns,
    constant_data,
    deterministics,
    dimensions,
    discrete,
    families,
    funnels,
    identification,
    improper,
    influence,
    integers,
    label_switching,
    minibatches,
    missing,
    names,
    prior_conflict,
    scales,
    supports,
    vague_priors,
)
from ppl.model.checking.findings import Finding


class Check(NamedTuple):
    """A check: the kinds of its findings, what it looks for in words, and the function."""

    kinds: tuple[str, ...]
    looks_for: str
    find: Callable[[Any], Iterator[Finding]]

    @classmethod
    def of(cls, file: ModuleType) -> Check:
        """The check that a file holds."""
        return cls(file.KINDS, " ".join((file.find.__doc__ or "").split()), file.find)


BEFORE = tuple(
    map(
        Check.of,
        [
            influence,
            identification,
            scales,
            label_switching,
            improper,
            prior_conflict,
            vague_priors,
            supports,
            funnels,
            discrete,
            columns,
            constant_data,
            families,
            integers,
            missing,
            dimensions,
            names,
            minibatches,
            deterministics,
        ],
    )
)
AFTER = tuple(
    map(
        Check.of,
        [
            divergences,
            mixing,
            effective_draws,
            energy,
            tree_depth,
            influential_rows,
            exactness,
        ],
    )
)
