r"""One draw of which some entries are observed and others are not, though no part of it is independent of the rest.

The *whole* is a draw as its family makes it. Run forwards it is drawn once, and `MissingEntries` and `ObservedEntries`
take theirs from it. For a density it stands for its law f, and the two are given values: their joint density is that of
the whole, f(observed entries joined with missing ones), and is counted with the observed ones.

.. math:: \log f(y_{\text{missing}}) + \log f(y_{\text{observed}} \mid y_{\text{missing}}) = \log f(y)

The second term is rarely known by itself, so there is one for both. All that is asked of the law is that the entries
are free of each other in its support: each has a domain of its own.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ppl.distributions.declaration.distribution import Distribution, param
from ppl.distributions.declaration.domains import Domain, a_whole, integer, real, real_vector
from ppl.distributions.declaration.inner import log_density_of, support_point_of
from ppl.distributions.draws.draw import RandomVariable, draw
from ppl.distributions.transforms import IntervalTransform
from ppl.tensor import broadcast_to, concatenate, ravel
from ppl.tensor.tensor import Tensor, as_tensor, value_of

places = Domain("which entries are missing", lambda x: True, ndim=1)


class _Entries(Distribution, abstract=True):
    """Some entries of a draw, in one vector."""

    @classmethod
    def event_axes(cls, parameters: Any) -> list[int]:
        return [parameter.ndim for parameter in parameters]

    def support(whole, missing, *others):  # type: ignore[no-untyped-def]
        return vector_of(entry_of(whole))


class MissingEntries(_Entries, abstract=True):
    """The entries at which `missing` is true. Their density is counted with that of the others."""

    whole, missing = param(a_whole), param(places)

    def event_shape(whole, missing):  # type: ignore[no-untyped-def]
        return (int(value_of(missing).sum()),)

    def logp(x, whole, missing):  # type: ignore[no-untyped-def]
        return as_tensor(0.0)

    def sample(key, shape, whole, missing):  # type: ignore[no-untyped-def]
        return taken(whole, value_of(missing))

    def support_point(whole, missing):  # type: ignore[no-untyped-def]
        return taken(broadcast_to(support_point_of(whole), whole.shape), value_of(missing))


class ObservedEntries(_Entries, abstract=True):
    """The other entries, given the missing ones: a density for each independent value of the whole."""

    whole, missing, unobserved = param(a_whole), param(places), param(real_vector)

    def event_shape(whole, missing, unobserved):  # type: ignore[no-untyped-def]
        return (int((~value_of(missing)).sum()),)

    def logp(x, whole, missing, unobserved):  # type: ignore[no-untyped-def]
        return log_density_of(whole, joined(x, unobserved, value_of(missing)))

    def sample(key, shape, whole, missing, unobserved):  # type: ignore[no-untyped-def]
        return taken(whole, ~value_of(missing))

    def support_point(whole, missing, unobserved):  # type: ignore[no-untyped-def]
        return taken(broadcast_to(support_point_of(whole), whole.shape), ~value_of(missing))


def divided(law: RandomVariable, missing: np.ndarray, names: tuple[str, str]) -> tuple[RandomVariable, RandomVariable]:
    """The missing and the observed entries of a draw like `law`."""
    whole = draw(law.family, law.parameters, missing.shape[: missing.ndim - law.event_ndim])
    where = as_tensor(missing)
    unobserved = draw(MissingEntries, (whole, where), None, names[0])
    return unobserved, draw(ObservedEntries, (whole, where, unobserved), None, names[1])


def joined(observed: Tensor, unobserved: Tensor, missing: np.ndarray) -> Tensor:
    """The whole from its entries, in the order in which `missing` holds them; `observed` may have further axes."""
    places = np.empty(missing.shape, np.int64)
    places[~missing] = np.arange((~missing).sum())
    places[missing] = np.arange(missing.sum()) + (~missing).sum()
    more = tuple(observed.shape)[:-1]
    return concatenate([observed, broadcast_to(unobserved, (*more, int(missing.sum())))], axis=-1)[..., places]


def taken(whole: Tensor, chosen: np.ndarray) -> Tensor:
    """Some entries of the whole in one vector."""
    return ravel(whole)[np.flatnonzero(chosen)]


def entry_of(whole: Tensor) -> Domain | None:
    """Where an entry lies, whatever the others are, if that can be said; of a value no more is known than its dtype."""
    if not isinstance(whole, RandomVariable):
        return real if whole.dtype[0] == "f" else integer
    return whole.family.support_for(whole.parameters).entry


def vector_of(entry: Domain | None) -> Domain:
    """Vectors of such entries."""
    assert entry is not None, "asked of laws whose entries are free of each other"
    return Domain(
        f"a vector, each entry {entry}",
        lambda x: np.all(entry.contains(x), axis=-1),
        ndim=1,
        discrete=entry.discrete,
        lower=entry.lower,
        upper=entry.upper,
        transform="interval" if isinstance(entry.transform, IntervalTransform) else entry.transform,
        entry=entry,
    )
