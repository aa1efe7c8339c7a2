"""Posteriors that have no finite integral, where that can be proved.

Theorems, each about what is left of the likelihood when an unbounded parameter goes to the end of its line:

* n normal rows with p flat coefficients and a flat scale σ: the marginal density of σ falls as σ^(p - n), so that
  n ≥ p + 2 rows are needed;
* J normal effects with a flat scale τ: it falls as τ^-J, with a flat mean as τ^(1 - J) (Gelman 2006, section 2.2);
* a flat log τ of such effects: as τ goes to 0 the density has a limit, which the line of log τ holds infinitely often;
* a flat ν of StudentT or α of NegativeBinomial: the likelihood has a limit there, that of Normal or Poisson;
* a flat parameter of one component of a mixture: with a positive probability no row belongs to it.

And one about separation: along a column that has one sign where an outcome is 1 and the other sign, or none, where it
is 0, the likelihood rises for ever (Albert & Anderson 1984). What has flat priors and is not identified is told of by
`identification`, what no data depend on by `influence`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

import ppl.tensor as tt
from ppl.distributions import Flat, HalfFlat, Normal, RandomVariable
from ppl.distributions.declaration.declarations import Limit
from ppl.distributions.declaration.inner import laws_of
from ppl.distributions.families.mixture import Mixture
from ppl.graph import Node, ancestors
from ppl.model.checking.directions import design
from ppl.model.checking.findings import Finding, quoted
from ppl.model.checking.survey import Survey, constant_of
from ppl.rewrites.marginalization.expressions.data import is_data
from ppl.tensor.core.names import NAMED
from ppl.tensor.tensor import Tensor, TensorType, placeholder

KINDS = ("improper posterior",)


def find(survey: Survey) -> Iterator[Finding]:
    """Flat scales with too few rows or groups, flat log-scales of effects, flat coefficients and separated data."""
    flat: set[Node] = {rv for rv in survey.free if survey.is_improper(rv)}
    if not flat:
        return
    for rv in (*survey.observed, *survey.free):
        if rv.family is Normal:
            yield from _scales(survey, rv, flat)
        yield from _limit(survey, rv, flat)
    for rv in survey.observed:
        yield from _separated(survey, rv, flat)
        yield from _empty_components(survey, rv, flat)


def plain(node: Node) -> Node:
    """An expression without its name."""
    while node.op is NAMED:
        node = node.inputs[0]
    return node


def _scales(survey: Survey, rv: RandomVariable, flat: set[Node]) -> Iterator[Finding]:
    mu, sigma = rv.parameters
    scale, latent = plain(sigma), rv in survey.is_free
    rows = int(np.prod(rv.type.shape))
    if scale.op.name == "exp" and latent and plain(scale.inputs[0]) in flat:
        log_scale: Any = plain(scale.inputs[0])
        if log_scale.family is Flat and log_scale.ndim == 0 and survey.is_used_by_one(log_scale, rv):
            yield Finding(
                "improper posterior", (log_scale.name or "", rv.name or ""), "error",
                f'"{log_scale.name}" is the logarithm of the scale of the effects "{rv.name}" and has a flat prior: '
                "as it goes to minus infinity the density has a limit, so that its integral is infinite.",
                f'Put the prior on the scale itself, as HalfNormal or Exponential, or give "{log_scale.name}" a '
                "proper prior.",
            )  # fmt: skip
        return
    if scale not in flat or not isinstance(scale, RandomVariable):
        return
    if scale.family is not HalfFlat or scale.ndim or not survey.is_used_by_one(scale, rv):
        return
    lost = _flat_coefficients(survey, rv, mu, flat) if rows else None  # without rows it has no influence at all
    if lost is None or rows - lost > 1:
        return
    what = "effects" if latent else "rows"
    beside = f" beside {lost} flat coefficient{'s' * (lost > 1)}" if lost else ""
    yield Finding(
        "improper posterior", (scale.name or "", rv.name or ""), "error",
        f'"{scale.name}" has a flat prior and is the scale of {rows} {what} of "{rv.name}"{beside}: its posterior '
        f"falls as its power {lost - rows} only, so that its integral is infinite; {lost + 2} {what} are needed.",
        f'Give "{scale.name}" a proper prior, as HalfNormal or Exponential on the scale of the data.',
    )  # fmt: skip


def _limit(survey: Survey, rv: RandomVariable, flat: set[Node]) -> Iterator[Finding]:
    """A flat parameter that goes to a limit of its family: StudentT becomes normal, NegativeBinomial Poisson."""
    limit = rv.family.limit
    if limit is None:
        return
    place, moved = _growing(rv, limit)
    parameter: Any = plain(rv.parameters[place])
    if parameter not in flat or not survey.is_used_by_one(parameter, rv):
        return
    if any(parameter not in set(survey.parents(rv.parameters[i])) for i in moved):
        return  # by n and p the mean of NegativeBinomial goes to infinity with n
    becomes = limit.law(*(placeholder(TensorType("float64", ()), name) for name in limit.takes)).family.__name__
    yield Finding(
        "improper posterior", (parameter.name or "", rv.name or ""), "error",
        f'"{parameter.name}" has a flat prior and is {limit.words} of "{rv.name}", which has the limit {becomes} as it '
        "grows: the likelihood does not fall, so that the posterior has no finite integral.",
        f'Give "{parameter.name}" a proper prior, such as Gamma(2, 0.1) or Exponential(0.1).',
    )  # fmt: skip


def _growing(rv: RandomVariable, limit: Limit) -> tuple[int, list[int]]:
    """Which of the declared parameters grows, and which others it moves."""
    names = list(rv.family.params)
    if limit.parameter in names:
        return names.index(limit.parameter), []
    way = next(a for a in rv.family.alternatives if set(a.takes) == {limit.parameter, *limit.takes})
    given = {name: placeholder(TensorType("float64", ()), name) for name in way.takes}
    found, growing = way.convert(**given), given[limit.parameter]
    place = next(i for i, name in enumerate(names) if found[name] is growing)
    return place, [i for i, name in enumerate(names) if i != place and growing in ancestors([found[name]])]


def _empty_components(survey: Survey, rv: RandomVariable, flat: set[Node]) -> Iterator[Finding]:
    """A flat parameter of one component of a mixture: none of the rows may belong to it."""
    laws = laws_of(rv) if issubclass(rv.family, Mixture) else ()
    weights = constant_of(rv.parameters[0]) if laws else np.zeros(1)
    if weights is not None and not np.all(weights > 0):
        return
    if len(laws) == 1:
        count = laws[0].type.shape[-1]
        own = [v for v in map(plain, laws[0].parameters) if v in flat and v.type.shape[-1:] == (count,)]
    else:
        behind = [{v for p in law.parameters for v in survey.parents(p)} for law in laws]
        own = [
            v
            for i, b in enumerate(behind)
            for v in sorted(b & flat, key=lambda node: node.serial)
            if not any(v in o for j, o in enumerate(behind) if j != i)
        ]
    for v in dict.fromkeys(own):
        name = getattr(v, "name", None) or ""
        yield Finding(
            "improper posterior", (name, rv.name or ""), "error",
            f'"{name}" has a flat prior and belongs to single components of the mixture "{rv.name}": where no row '
            "belongs to a component the likelihood does not depend on it, so that the posterior has no finite "
            "integral.",
            f'Give "{name}" a proper prior.',
        )  # fmt: skip


def _flat_coefficients(survey: Survey, user: RandomVariable, mu: Any, flat: set[Node]) -> int | None:
    """The rank of the columns that flat variables have in a mean; None where it is not affine in them."""
    inside = [v for v in survey.parents(mu) if v in flat]
    if not inside:
        return 0
    if any(v.family is not Flat for v in inside) or any(not survey.is_used_by_one(v, user) for v in inside):
        return None
    columns = design(mu, inside, [v for v in survey.parents(mu) if v not in flat])
    return None if columns is None else int(np.linalg.matrix_rank(columns))


def _separated(survey: Survey, rv: RandomVariable, flat: set[Node]) -> Iterator[Finding]:
    values = survey.values.get(rv)
    link = _link(rv)
    if values is None or link is None:
        return
    predictor, upward, downward = link[0], *_ends(rv, values)
    inside = [v for v in survey.parents(predictor) if v in flat and v.family is Flat]
    inside = [v for v in inside if survey.is_used_by_one(v, rv)]
    if not inside:
        return
    whole = tt.broadcast_to(predictor, rv.type.shape)
    columns = design(whole, inside, [v for v in survey.parents(predictor) if v not in set(inside)])
    if columns is None or len(columns) != values.size:
        return
    up, down = upward.ravel(), downward.ravel()
    owners = [v for v in inside for _ in range(int(np.prod(v.type.shape)))]
    found: dict[RandomVariable, int] = {}
    for place, column in enumerate(columns.T):
        if np.any(column) and (_rises(column, up, down) or _rises(-column, up, down)):
            found.setdefault(owners[place], place)
    if not found and _splits(columns, up, down) is not None:
        found[owners[_splits(columns, up, down)]] = 0  # type: ignore[index]
    for v in found:
        yield Finding(
            "improper posterior", (v.name or "", rv.name or ""), "error",
            f'The data "{rv.name}" are separated by what "{v.name}" multiplies (all outcomes at one end are alike), '
            f'and the prior of "{v.name}" is flat: the likelihood rises for ever, so that the posterior has no '
            "finite integral.",
            f'Give {quoted([v.name or ""])} a proper prior, such as Normal(0, 2.5) for a standardized covariate.',
        )  # fmt: skip


def _link(rv: RandomVariable) -> tuple[Any] | None:
    """The predictor behind the link that makes it the natural parameter: a sigmoid or an exponential."""
    if not rv.family.inverse_link:
        return None
    parameter, function = rv.family.inverse_link
    node = plain(rv.parameters[list(rv.family.params).index(parameter)])
    return (node.inputs[0],) if node.op.name == function and not is_data(node) else None


def _ends(rv: RandomVariable, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Which rows let the predictor rise, and which let it fall, without end."""
    most: Any = rv.family.support_for(rv.parameters).upper
    if most is None:
        return np.zeros(values.shape, bool), values == 0
    if isinstance(most, Tensor):
        most = constant_of(most)
    return values == (np.nan if most is None else most), values == 0


def _rises(column: np.ndarray, up: np.ndarray, down: np.ndarray) -> bool:
    """Whether along a column every predictor moves as its row lets it without end, or stays."""
    return bool(np.all((column == 0) | ((column > 0) & up) | ((column < 0) & down)))


def _splits(columns: np.ndarray, up: np.ndarray, down: np.ndarray) -> int | None:
    """A column that a threshold splits into the two outcomes, where there is a constant column beside it."""
    constant = [i for i, c in enumerate(columns.T) if np.ptp(c) == 0 and c[0] != 0]
    if not constant or not np.all(up | down):
        return None
    for i, c in enumerate(columns.T):
        for x in (c, -c):
            if up.any() and (~up).any() and np.ptp(c) > 0 and x[up].min() >= x[~up].max():
                return i
    return None
