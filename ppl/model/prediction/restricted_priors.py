"""Prior draws of variables that a transform of the user's restricts, such as increasing cutpoints.

The density is that of the prior as written, where the variables lie in the images of their transforms, and 0 elsewhere.
So draws of the prior as written are kept where they do. Draws of one law in increasing order are those on the condition
that they increase, since every order is as likely: these are sorted instead. And of a law that depends on no other
variable, each number is drawn between the bounds at once.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

import ppl.tensor as tt
from ppl.distributions import RandomVariable, Truncated, is_draw
from ppl.distributions.declaration.inner import laws_of
from ppl.distributions.draws.draw import draw
from ppl.distributions.transforms import Chain, Ordered, Transform
from ppl.distributions.transforms.images import is_own
from ppl.graph import Node, ancestors, substitute
from ppl.model.errors import SamplingError
from ppl.model.prediction.draw_rows import draw_keys
from ppl.model.prediction.forwards import drawn_over
from ppl.model.registry.custom_transforms import restricted
from ppl.tensor.tensor import Tensor, is_constant, value_of

if TYPE_CHECKING:
    from ppl.model.model import Model

MOST = 5_000_000  # proposals
AT_ONCE = 100_000
CLOSE = 1e-6  # relative: a value is in the image of a transform if it is found again from its unconstrained value


def restricted_draws(
    model: Model, outputs: Sequence[Tensor], seed: int, draws: int
) -> tuple[list[Tensor], list[np.ndarray]]:
    """The restricted variables that outputs depend on, with all random variables behind them, and draws of these."""
    behind = ancestors(outputs)
    chosen = [rv for rv in restricted(model) if rv in behind]
    if not chosen:
        return [], []
    behind = ancestors(chosen)
    variables = sorted((rv for rv in model.basic_RVs if rv in behind), key=lambda rv: rv.serial)
    values, inside = _proposals(model, variables, chosen)
    kept: list[list[np.ndarray]] = []
    found = proposed = 0
    while found < draws:
        if proposed >= MOST:
            raise _too_rare(chosen, found, proposed)
        size = draws if not proposed else min(AT_ONCE, MOST, 2 * (draws - found) * proposed // max(found, 1))
        keys = draw_keys(seed, f"restricted {len(kept)}", 1, size)
        *columns, accepted = drawn_over([*values, inside], {}, [keys])
        kept.append([column[:, accepted[0]] for column in columns])
        found, proposed = found + int(accepted.sum()), proposed + size
    return list(variables), [np.concatenate(parts, axis=1)[:, :draws] for parts in zip(*kept, strict=True)]


def _proposals(model: Model, variables: Sequence[Any], chosen: Sequence[Any]) -> tuple[list[Any], Tensor]:
    """Draws of variables, and whether the chosen ones lie in the images of their transforms."""
    values: dict[Node, Node] = {}
    restricted_ones = set(chosen)
    inside: Any = tt.as_tensor(True)
    for rv in variables:
        drawn: Any = substitute(rv, values)
        if rv in restricted_ones:
            transform = model.rvs_to_transforms[rv]
            assert transform is not None, "no transform restricts nothing"
            parameters = substitute(list(rv.parameters), values)
            between = _between(rv, transform)
            drawn = _in_order(rv, drawn, transform, parameters) if between is None else between
            inside = inside & _contains(transform, drawn, parameters)
        values[rv] = drawn
    return [values[rv] for rv in variables], inside


def _contains(transform: Transform, x: Tensor, parameters: Any) -> Tensor:
    """Whether a value is in the image of a transform."""
    unconstrained = transform.forward(x, *parameters)
    again = transform.backward(unconstrained, *parameters)
    return tt.all(tt.isfinite(unconstrained)) & tt.all(abs(again - x) <= CLOSE * (1.0 + abs(x)))


def _between(rv: RandomVariable, transform: Transform) -> Tensor | None:
    """Draws between the bounds of a transform, where the law is the same whatever other variables are."""
    image = transform.image(*rv.parameters)
    alone = not any(is_draw(x) for x in ancestors(rv.parameters)) and None not in rv.type.shape
    if isinstance(transform, Chain) or image is None or image.ndim or rv.event_ndim or not alone:
        return None
    if not rv.family.logcdf:
        return None
    law, bounds = draw(rv.family, rv.parameters), (image.lower, image.upper)
    return Truncated.dist(law, *bounds, shape=rv.type.shape, name=rv.name)


def _in_order(rv: RandomVariable, drawn: Tensor, transform: Transform, parameters: Any) -> Tensor:
    """Draws in the order that a transform asks for, where all orders are as likely."""
    *first, last = transform.transform_list if isinstance(transform, Chain) else [transform]
    usual = Chain(first) if len(first) > 1 else first[0] if first else None
    if not isinstance(last, Ordered) or not _exchangeable(rv) or (usual is not None and is_own(rv, usual)):
        return drawn
    y = drawn if usual is None else usual.forward(drawn, *parameters)
    y = tt.sort(y, axis=-1)
    y = y if last.ascending else y[..., ::-1]
    return y if usual is None else usual.backward(y, *parameters)


def _exchangeable(rv: RandomVariable) -> bool:
    """Whether the entries along the last axis are independent draws of one law."""
    return not rv.event_ndim and not laws_of(rv) and all(map(_alike, rv.parameters))


def _alike(parameter: Tensor) -> bool:
    if parameter.ndim == 0 or parameter.type.shape[-1] == 1:
        return True
    return is_constant(parameter) and bool(np.all(value_of(parameter) == value_of(parameter)[..., :1]))


def _too_rare(chosen: Sequence[Any], found: int, proposed: int) -> SamplingError:
    names = ", ".join(f'"{rv.name}"' for rv in chosen)
    return SamplingError(
        f"prior draws: of {proposed:,} draws of the prior as written {found:,} lie where the transforms of {names} "
        "restrict it to, and these are too few to go on. Write the restriction as a law (Truncated, or increasing "
        "values as the sums of positive steps), or leave these variables and what depends on them out of var_names."
    )
