"""Transforms that a user chose: compared by value with those of the families, and their images with the supports.

A transform leads from unconstrained numbers to its *image*. One whose image is the support of a law changes nothing but
the coordinates. One whose image is smaller restricts the law to it: the density stays as it was inside and is 0
elsewhere, so that what holds of integrals over the whole support does not hold of such a variable. One whose image is
larger leads to values outside the support, where the density is 0.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ppl.distributions.declaration.domains import Domain
from ppl.distributions.declaration.inner import laws_of
from ppl.distributions.draws.draw import RandomVariable
from ppl.distributions.transforms import Chain, IntervalTransform, Transform, default_transform
from ppl.graph import ancestors
from ppl.tensor.tensor import Tensor, is_constant, placeholder, value_of


def is_own(rv: RandomVariable, transform: Transform | None) -> bool:
    """Whether a transform of a variable is another one than that of its family."""
    return not same_transform(transform, default_transform(rv.family, rv.parameters), rv.parameters)


def same_transform(a: Transform | None, b: Transform | None, parameters: Any, others: Any = None) -> bool:
    """Whether two transforms are the same map, for these parameters of a law, or `others` for the second."""
    if a is b and others is None:
        return True
    if a is None or b is None or type(a) is not type(b):
        return a is b
    others = parameters if others is None else others
    if isinstance(a, IntervalTransform) and isinstance(b, IntervalTransform):
        return all(map(same_number, a.bounds(*parameters), b.bounds(*others)))
    if isinstance(a, Chain) and isinstance(b, Chain):
        pairs = list(zip(a.transform_list, b.transform_list, strict=False))
        same_length = len(a.transform_list) == len(b.transform_list)
        return same_length and all(same_transform(x, y, parameters, others) for x, y in pairs)
    return _same_settings(vars(a), vars(b))


def same_number(a: Any, b: Any) -> bool:
    """Whether two numbers or tensors are the same: constants by value, symbols as expressions."""
    if a is b or a is None or b is None:
        return a is b
    known = [_constant(x) for x in (a, b)]
    return all(x is not None for x in known) and bool(np.all(np.equal(*known)))


def _constant(x: Any) -> Any:
    """A number or an array; None for a symbol."""
    return (value_of(x) if is_constant(x) else None) if isinstance(x, Tensor) else np.asarray(x)


def _same_settings(a: dict[str, Any], b: dict[str, Any]) -> bool:
    if a.keys() != b.keys():
        return False
    pairs = [(a[key], b[key]) for key in a]
    plain = all(isinstance(x, bool | int | float | str | tuple | np.ndarray) or x is None or x is y for x, y in pairs)
    return plain and all(x is y or np.array_equal(x, y) for x, y in pairs)


def stays_inside(rv: RandomVariable, transform: Transform) -> bool:
    """Whether a transform surely leads to values in the support of a variable."""
    support, image = rv.family.support_for(rv.parameters), transform.image(*rv.parameters)
    if image is not None and _within(image, support):
        return True
    first = transform.transform_list[0] if isinstance(transform, Chain) else transform
    return bool(image is None or support.ndim) and not is_own(rv, first)


def restricts(rv: RandomVariable, transform: Transform | None) -> bool:
    """Whether the image of a user's transform may be smaller than the support of his variable."""
    if transform is None or not is_own(rv, transform):
        return False
    image = None if isinstance(transform, Chain) else transform.image(*rv.parameters)
    return image is None or image.entry is not None or not _within(rv.family.support_for(rv.parameters), image)


def _within(part: Domain, whole: Domain) -> bool:
    """Whether one set surely lies in another, up to the ends of intervals."""
    if part.ndim and part.name == whole.name:
        return True
    inner, outer = part.entry if part.ndim else part, whole.entry if whole.ndim else whole
    if inner is None or outer is None or inner.discrete or outer.discrete:
        return False
    low = outer.lower is None or (inner.lower is not None and _at_least(inner.lower, outer.lower))
    return low and (outer.upper is None or (inner.upper is not None and _at_least(outer.upper, inner.upper)))


def _at_least(a: Any, b: Any) -> bool:
    """Whether one bound is surely at least another."""
    if same_number(a, b):
        return True
    known = [_constant(x) for x in (a, b)]
    return all(x is not None for x in known) and bool(np.all(np.greater_equal(*known)))


def depends_on(rv: RandomVariable, transform: Transform) -> set[Any]:
    """What the values of a variable follow from besides the unconstrained ones."""
    return set(ancestors([transform.backward(placeholder(transform.forward(rv, *rv.parameters).type), *rv.parameters)]))


def check_transform(rv: Any, transform: Transform | None) -> None:
    """Refuse a user's transform that does not suit his variable."""
    if transform is None:
        return
    if not isinstance(rv, RandomVariable) or rv.dtype[0] != "f":
        raise ValueError(
            f'Transformations for discrete distributions: "{rv.name}" is {rv.dtype}, and no transform leads from '
            f"numbers of a continuous range to it; got {transform!r}. Leave it out."
        )
    if not is_own(rv, transform):
        return
    unconstrained = placeholder(transform.forward(rv, *rv.parameters).type)
    alone, support = rv.ndim - rv.event_ndim, rv.family.support_for(rv.parameters)
    if transform.log_jac_det(unconstrained, *rv.parameters).ndim > alone and support.entry is None:
        raise NotImplementedError(
            f"Univariate transform {type(transform).__name__} cannot be applied to multivariate "
            f'{rv.family.__name__}: a value of "{rv.name}" is {support}, whose entries depend on each other. Give a '
            "transform of whole values, or leave the default one before it: transform= without default_transform=None."
        )
    _check_sources(rv, transform, unconstrained)


def _check_sources(rv: RandomVariable, transform: Transform, unconstrained: Tensor) -> None:
    """Refuse bounds that use draws by another way than the parameters they are given."""
    laws = frozenset(laws_of(rv))
    given = [p if p in laws else placeholder(p.type) for p in rv.parameters]
    found = ancestors([transform.backward(unconstrained, *given)], blockers=given)
    drawn = sorted(x.name or x.family.__name__ for x in found - laws if isinstance(x, RandomVariable))
    if drawn:
        raise ValueError(
            f'"{rv.name}": the bounds of its transform use {", ".join(drawn)} itself. Take it from the parameters that '
            "bounds_fn is given, as in Interval(bounds_fn=lambda rng, size, mu, sigma: (mu, None))."
        )
