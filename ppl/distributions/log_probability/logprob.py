r"""Densities of random expressions: `logp`, `logcdf`, `logccdf`, `icdf`, and several together by `conditional_logp`.

>>> import numpy as np
>>> from ppl.distributions import Normal
>>> float(logp(2 * Normal.dist(0.0, 1.0) + 1, np.float64(3.0)).eval())
-2.112085713764618

The rules are in the files `measures_of_...`. What follows from no rule raises `NoDensityError`;
nothing is ever scored as independent that is not."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any

import ppl.tensor as tt
from ppl.distributions.declaration.batches import entry_by_entry, over_parts
from ppl.distributions.declaration.distribution import Distribution
from ppl.distributions.draws.draw import RandomVariable, is_draw
from ppl.distributions.draws.drawing import refuse_inner_draws
from ppl.distributions.log_probability import of_arrays as of_arrays  # the rules: importing fills the table
from ppl.distributions.log_probability import of_choices as of_choices
from ppl.distributions.log_probability import of_entries as of_entries
from ppl.distributions.log_probability import of_extremes as of_extremes
from ppl.distributions.log_probability import of_folds as of_folds
from ppl.distributions.log_probability import of_loops as of_loops
from ppl.distributions.log_probability import of_maps as of_maps
from ppl.distributions.log_probability import of_steps as of_steps
from ppl.distributions.log_probability.joint import joint_factors
from ppl.distributions.log_probability.measure import Function, Measure, measure, shown, sources
from ppl.graph import Node, ancestors
from ppl.tensor.tensor import Tensor, TensorType, as_tensor, placeholder


def logp(rv: Any, value: Any, warn_rvs: bool = True) -> Tensor:
    """The log-density of a random expression at a value, one number for each independent part."""
    law = the_law(rv)
    return _warned(at(law.logp, as_value(value, rv), rv, law), rv, value, warn_rvs)


def logcdf(rv: Any, value: Any, warn_rvs: bool = True) -> Tensor:
    """log P(X ≤ value)."""
    law = the_law(rv)
    return _warned(at(law.below, as_value(value, rv), rv, law), rv, value, warn_rvs)


def logccdf(rv: Any, value: Any, warn_rvs: bool = True) -> Tensor:
    """log P(X > value)."""
    law = the_law(rv)
    return _warned(at(law.above, as_value(value, rv), rv, law), rv, value, warn_rvs)


def icdf(rv: Any, value: Any, warn_rvs: bool = True) -> Tensor:
    """The quantile: the smallest x with P(X ≤ x) ≥ value."""
    law = the_law(rv)
    q = numbers(value, rv)
    found = law.quantile(q) if law.ndim else at(law.quantile, q, rv, law)  # of vectors there is none: it says so
    return _warned(found, rv, value, warn_rvs)


def the_law(rv: Any) -> Measure:
    """The measure of an expression that must be random."""
    if isinstance(rv, type) and issubclass(rv, Distribution):
        raise TypeError(
            f"{rv.__name__} is a family, of which there is no density: give a draw, {rv.__name__}.dist(...)"
        )
    if not isinstance(rv, Tensor):
        raise TypeError(
            f"a random expression is a tensor that depends on draws, got {rv!r} of type {type(rv).__name__}"
        )
    if not sources(rv):
        for node in ancestors([rv]):
            refuse_inner_draws(node)
        raise TypeError(f"{rv!r} depends on no draw: it has no density. Make a draw by a family's .dist().")
    return measure(rv)


def as_value(value: Any, rv: Tensor) -> Tensor:
    """A value of an expression; whole numbers count as floats where the expression is of floats."""
    x = numbers(value, rv)
    return tt.cast(x, rv.dtype) if rv.dtype[0] == "f" and x.dtype[0] in "biu" else x


def numbers(value: Any, rv: Tensor) -> Tensor:
    """A value as a tensor; what is no number is refused with the name of the law that it was meant for."""
    try:
        return as_tensor(value)
    except TypeError as error:
        who = rv.family.who(rv.name) if isinstance(rv, RandomVariable) else shown(rv)
        raise TypeError(f"{who}: {error}. Give numbers; names of categories as their places, from 0.") from None


def at(f: Function, x: Tensor, rv: Tensor, law: Measure) -> Tensor:
    """A function of the law at a value, or at many: their axes come first. There is one number for each independent
    part, of which a value may be that of all."""
    require_fitting(x, rv, law.ndim)
    return over_parts(_at(f, x, rv), rv, law.ndim)


def _at(f: Function, x: Tensor, rv: Tensor) -> Tensor:
    """Expressions of operations that are not entry by entry are asked for one value of their very shape at a time."""
    shape, more = rv.type.shape, max(x.ndim - rv.ndim, 0)
    if None in shape or entry_by_entry(rv):
        return f(x)
    if x.type.shape[more:] != shape:
        x = tt.broadcast_to(x, (*tuple(x.shape)[:more], *shape))
    if not more:
        return f(x)
    one = placeholder(TensorType(x.dtype, shape))
    return tt.vectorize_graph(f(one), {one: x})


def require_fitting(x: Tensor, rv: Tensor, ndim: int) -> None:
    """Refuse a value whose shape is none that values of the expression have."""
    have, want = x.type.shape, rv.type.shape
    pairs = list(zip(have[::-1], want[::-1], strict=False))
    alike = lambda a, b: a is None or b is None or a == b
    fits = all(alike(a, b) if i < ndim else alike(a, b) or 1 in (a, b) for i, (a, b) in enumerate(pairs))
    if fits and len(have) >= ndim:
        return
    last = "last axis makes" if ndim == 1 else f"last {ndim} axes make"
    axes = f", whose {last} up one value" if ndim else ""
    raise ValueError(f"{shown(rv)} has the shape {want}{axes}; a value of the shape {have} does not fit it")


def _warned(result: Tensor, rv: Tensor, value: Any, warn_rvs: bool) -> Tensor:
    """Warn of draws left in the result, unless the value brought them; the variables of a model that a plain draw has
    for parameters are its own business."""
    if warn_rvs:
        given = sources(value) if isinstance(value, Node) else set()
        left = {each for each in sources(result) - given if not (is_draw(rv) and each.name)}
        if left:
            names = ", ".join(sorted(shown(each) for each in left))
            warnings.warn(
                f"Random variables ({names}) were found in the derived graph of {shown(rv)}: the result is itself "
                "random. "
                "Give them values first, or pass warn_rvs=False.",
                UserWarning,
                stacklevel=3,
            )
    return result


# --- several at once
def conditional_logp(rvs_to_values: Mapping[Tensor, Any], warn_rvs: bool = True) -> dict[Tensor, Tensor]:
    """The factors of the joint log-density of several random expressions with values, which may depend on each other:
    the sum of all of them is the joint log-density.

    >>> import ppl.tensor as tt
    >>> x, v = pm.Normal.dist(0, 1), tt.dscalar("v")
    >>> terms = ppl.distributions.conditional_logp({x: v})
    >>> len(terms)
    1
    """
    pairs = [(rv, as_value(value, rv)) for rv, value in rvs_to_values.items()]
    for rv, value in pairs:
        require_fitting(value, rv, 0)
    factors = joint_factors(pairs, None)
    if warn_rvs:
        for (rv, value), factor in zip(pairs, factors, strict=True):
            _warned_joint(factor, rv, value)
    return {rv: factor for (rv, _), factor in zip(pairs, factors, strict=True)}


def _warned_joint(factor: Tensor, rv: Tensor, value: Tensor) -> None:
    left = sources(factor) - sources(value)
    if left:
        names = ", ".join(sorted(shown(each) for each in left))
        warnings.warn(
            f"Random variables ({names}) have no value, so the density of {shown(rv)} is itself random. Give them "
            "values.",
            UserWarning,
            stacklevel=4,
        )
