r"""Which coordinates suit the variables that no rule could integrate out.

A variable of fixed law that is a parameter of latent variables (the standard deviation of groups, say) is often not
excluded from the ends of its support by the data, and takes the coordinate of its family. A variable μ + σZ with
random μ or σ (normal, Student's t, Laplace, ...) is centered as far as the information of the data decides it, and a
positive one of a random scale by its logarithm. Heavy tails are drawn in where the data leave them.
Coefficients of a dense design X, with P = X'wX + 1/τ², are centered by the λ at which the variance of what moves,
[P⁻¹]_jj τ^{2λ-2}, does not change with τ:

.. math:: λ_j = 1 - \frac{[P^{-2}]_{jj}}{τ^2 [P^{-1}]_{jj}}
Coefficients of a constant design X are turned by the triangle of √w X, their prior taken for further rows.
"""

from __future__ import annotations

from collections.abc import Collection
from functools import partial
from typing import Any, NamedTuple

import numpy as np

import ppl.tensor as tt
from ppl.distributions import (
    Cauchy,
    Laplace,
    LKJCholeskyCov,
    LogNormal,
    MvNormal,
    Normal,
    RandomVariable,
    StudentT,
)
from ppl.distributions.declaration.normal_errors import NormalSteps, NotNormal
from ppl.distributions.transforms import default_transform
from ppl.distributions.transforms.images import stays_inside
from ppl.graph import ancestors
from ppl.rewrites.limits import LIMITS
from ppl.rewrites.marginalization.costs import arithmetic, densities, evaluation
from ppl.rewrites.marginalization.expressions.data import NotAffine, data_value, is_data, known_shape
from ppl.rewrites.marginalization.expressions.positive import known_positive
from ppl.rewrites.marginalization.gaussian.spectrum import known_factor
from ppl.rewrites.marginalization.program import NoMatch, Observation, Program, children, parts, reaches
from ppl.rewrites.marginalization.starts import start_of
from ppl.rewrites.reparameterization.centering import (
    Balanced,
    BalancedLogarithm,
    BalancedProcess,
    BalancedVectors,
    KnownProcess,
    PartiallyCentered,
    ScaledLogarithm,
    Whitened,
)
from ppl.rewrites.reparameterization.coordinates import (
    BetweenEnds,
    Coordinate,
    NearScore,
    coordinate_of,
    fixed_coordinate,
)
from ppl.rewrites.reparameterization.covariances import SpreadAndCorrelation
from ppl.rewrites.reparameterization.fisher_information import blocks, entries, squares, told, told_of_logarithm
from ppl.rewrites.reparameterization.random_walks import Pulled, PulledSteps
from ppl.rewrites.reparameterization.walk_geometry import work_of_draw
from ppl.tensor.tensor import Tensor, as_tensor, placeholder


def coordinates(
    written: Program, left: Program, protected: Collection[RandomVariable], reasons: dict[str, str] | None = None
) -> dict[RandomVariable, Coordinate]:
    """A coordinate for each variable left of a program, as written before, that has a better one than its own. Where
    one was known and costs more than it saves, `reasons` are told so."""
    found: dict[RandomVariable, Coordinate] = {}
    for rv in left.free:
        if rv in protected or None in rv.type.shape:
            continue
        chosen: Coordinate | None = None
        if coordinate_of(rv.family) is not None and all(is_data(p) for p in rv.parameters):
            heavy = rv.family is Cauchy  # its tails hinder, whatever it is a parameter of
            chosen = fixed_coordinate(rv) if heavy or _rules_latents(written, rv) else None
        elif rv.family.location_scale and not all(is_data(p) for p in _location_and_scale(rv)):
            chosen = _centered(written, rv)
        elif rv.family is LogNormal and not all(map(is_data, rv.parameters)):
            chosen = _centered_logarithm(written, rv)
        elif rv.family.log_variance:
            chosen = _without_scale(written, rv)
        elif rv.family is LKJCholeskyCov and rv.ndim == 1:
            chosen = SpreadAndCorrelation()
        elif rv.family is MvNormal:
            chosen = _centered_vectors(written, rv) or _centered_process(written, rv)
        elif rv.family.normal_steps and rv.ndim == 1:
            chosen = _cheapest(written, left, rv, _of_series(written, rv), reasons)
        elif rv.family is StudentT and _tails_are_seen(written, rv):
            chosen = NearScore()
        elif rv.family in COEFFICIENTS and rv.ndim == 1:
            steps = _of_steps(written, rv)
            chosen = _cheapest(written, left, rv, steps, reasons) if steps else _whitened(written, rv)
        else:
            chosen = _between_ends(rv)
        if chosen is not None:
            found[rv] = chosen
    return found


def _between_ends(rv: RandomVariable) -> BetweenEnds | None:
    """The ends of the support, where the transform of the family leads beyond these, as that of truncated laws may."""
    usual = None if rv.event_ndim else default_transform(rv.family, rv.parameters)
    return None if usual is None or stays_inside(rv, usual) else BetweenEnds(rv.family)


def _tails_are_seen(program: Program, rv: RandomVariable) -> bool:
    """Whether a variable of a known law of Student's has heavy tails, and rows say so little that they are visited."""
    if not all(map(is_data, rv.parameters)):
        return False
    nu, _, scale = map(data_value, rv.parameters)
    information = told(program, rv) if np.all(nu <= LIMITS.heavy_tails) else None
    return information is not None and bool(np.all(information * scale**2 <= LIMITS.little_information))


def _rules_latents(program: Program, rv: RandomVariable) -> bool:
    """Whether a latent variable that data depend on has it among its parameters."""
    return any(children(program, other) for other in children(program, rv) if isinstance(other, RandomVariable))


def _centered(program: Program, rv: RandomVariable) -> Coordinate | None:
    """The weight of the data in the precision of each entry; None where it cannot be told."""
    spread = start_of(program, _location_and_scale(rv)[1])
    if spread is None:
        return None
    information = told(program, rv)
    if information is not None:
        information = _alike(information)
        return Balanced(information, spread / np.sqrt(1.0 + information * spread**2), rv.family.__name__)
    share = _share_in_design(program, rv, spread)
    return None if share is None else PartiallyCentered(share, rv.family.__name__)


def _alike(information: np.ndarray) -> np.ndarray:
    """One number for all entries of which rows say about the same: any number keeps the law, and one is worked out
    once."""
    low, high = information.min(initial=np.inf), information.max(initial=0.0)
    return np.asarray(information.mean()) if 0.0 < high <= LIMITS.same_information * low else information


def _centered_logarithm(program: Program, rv: RandomVariable) -> BalancedLogarithm | None:
    """By the information about the logarithm."""
    spread = start_of(program, rv.parameters[1])
    information = None if spread is None else told_of_logarithm(program, rv)
    if information is None or spread is None:
        return None
    information = _alike(information)
    return BalancedLogarithm(information, spread / np.sqrt(1.0 + information * spread**2))


def _without_scale(program: Program, rv: RandomVariable) -> ScaledLogarithm | None:
    """By the share of the prior in the precision of the logarithm of each entry."""
    given = dict(zip(rv.family.params, rv.parameters, strict=True))
    if is_data(given.pop(rv.family.scale_parameter or rv.family.rate_parameter)):
        return None
    others = {name: start_of(program, p) for name, p in given.items()}
    information = None if any(x is None for x in others.values()) else told_of_logarithm(program, rv)
    if information is None:
        return None
    variance = data_value(as_tensor(rv.family.log_variance(**others)))
    share = np.broadcast_to(1.0 / (1.0 + information * variance), known_shape(rv))
    return (
        ScaledLogarithm(share, rv.family.__name__) if share.max(initial=0.0) >= LIMITS.least_share_of_a_prior else None
    )


def _centered_vectors(program: Program, rv: RandomVariable) -> BalancedVectors | None:
    """Vectors that share a covariance; None where nothing is known of the data or of where it starts."""
    chol = rv.parameters[1]
    if all(map(is_data, rv.parameters)):
        return None
    start = start_of(program, chol) if chol.ndim == 2 and known_shape(rv)[-1] <= LIMITS.unrolled_factor else None
    information = None if start is None else told(program, rv, blocks)
    return None if information is None or start is None else BalancedVectors.at(information, start)


def _centered_process(program: Program, rv: RandomVariable) -> BalancedProcess | KnownProcess | None:
    """One vector of a known mean whose covariance joins many entries; None where nothing is known of the data. A mean
    that varies is pinned down by data through all entries together, and mixes better as written."""
    mu, chol = rv.parameters
    if rv.ndim != 1 or chol.ndim != 2 or known_shape(rv)[0] <= LIMITS.unrolled_factor or not is_data(mu):
        return None
    information = told(program, rv)
    if information is None:
        return None
    information = np.broadcast_to(information, known_shape(rv))
    known = known_factor(chol)[1]
    if not is_data(known):
        return BalancedProcess(information)
    if known_shape(rv)[0] > LIMITS.most_for_eigenvectors or not np.isfinite(data_value(known)).all():
        return None
    return KnownProcess(data_value(known), information)


def _share_in_design(program: Program, rv: RandomVariable, spread: np.ndarray) -> np.ndarray | None:
    """Of coefficients of a dense design, by how the variance v that the data leave of each goes with τ."""
    if rv.ndim != 1 or known_shape(rv)[0] > LIMITS.coefficients_turned:
        return None
    information = told(program, rv, squares)
    if information is None:
        return None
    spread = np.broadcast_to(LIMITS.low_scale * spread, known_shape(rv))
    precision = np.diag(spread**-2.0) + information
    if not np.isfinite(precision).all():
        return None
    left = np.linalg.pinv(precision, hermitian=True)
    return np.clip(1.0 - np.diagonal(left @ left) / (spread**2 * np.diagonal(left)), 0.0, 1.0)


def _location_and_scale(rv: RandomVariable) -> list[Tensor]:
    parameters = dict(zip(rv.family.params, rv.parameters, strict=True))
    return [parameters[name] for name in rv.family.location_scale]


class Walk(NamedTuple):
    """A random walk, or a series whose steps carry a part of the value before them on: the information that
    observations have of each place, the scale of its steps, the coordinate that whitens it, and how it is written."""

    information: np.ndarray
    scale: Tensor
    whitened: Coordinate
    written: str
    carried: Any = 1.0


def _cheapest(
    written: Program, left: Program, rv: RandomVariable, walk: Walk | None, reasons: dict[str, str] | None
) -> Coordinate | None:
    """The coordinate that whitens a walk, unless an effective draw costs less as it is written: the operations of a
    gradient, of which some wait for each other, times the steps. Where it is not known where the scale starts, the one
    that suits all scales."""
    start = None if walk is None else start_of(written, walk.scale)
    if walk is None or start is None or not np.all(start > 0):
        return walk and walk.whitened
    rest = evaluation([f for f in left.factors if f is not rv])
    carried = start_of(written, as_tensor(walk.carried))
    of = partial(
        work_of_draw,
        information=walk.information,
        scale=float(np.mean(start)),
        known=is_data(walk.scale),
        carried=1.0 if carried is None else float(np.clip(carried, 0.0, 1.0)),
    )
    ways = {"whitened": walk.whitened, walk.written: None}
    works = {way: of(way, rest + _work_of(coordinate, rv)) for way, coordinate in ways.items()}
    times = works["whitened"] / works[walk.written]
    if times < 1.0:
        return walk.whitened
    if reasons is not None:
        told = f"it stays {walk.written}, since a draw would cost {times:.2f} times as much if it were whitened"
        reasons[rv.name or ""] = "; ".join([*filter(None, [reasons.get(rv.name or "")]), told])
    return None


def _work_of(coordinate: Coordinate | None, rv: RandomVariable) -> float:
    """Operations of a variable and of its density in a coordinate."""
    if coordinate is None:
        return arithmetic(densities([rv]))
    z, given = placeholder(rv.type), (*rv.parameters, *coordinate.further)
    return arithmetic([coordinate.backward(z, *given), coordinate.log_density(z, *given)], [z])


def _of_series(program: Program, rv: RandomVariable) -> Walk | None:
    """None where the information of observations cannot be told, or where the start or the steps are not normal."""
    try:
        law: NormalSteps = rv.family.normal_steps(*rv.parameters)
    except NotNormal:
        return None
    information = told(program, rv) if known_shape(rv)[0] >= 3 else None
    if information is None or not information.any():
        return None
    information = np.broadcast_to(information, known_shape(rv))
    return Walk(information, law.scale, Pulled(information, rv.family), "centered", law.carried)


def _of_steps(program: Program, rv: RandomVariable) -> Walk | None:
    """The walk of standard normal steps, where data depend on them by cumsum(σ e) alone, with a σ made before them."""
    standard = rv.family is Normal and all(
        is_data(p) and np.all(data_value(p) == x) for p, x in zip(rv.parameters, (0.0, 1.0), strict=True)
    )
    factors = children(program, rv)
    if not standard or not factors or known_shape(rv)[0] < 3:
        return None
    nodes = set().union(*(ancestors(list(parts(f))) for f in factors))
    walks = [n for n in nodes if isinstance(n, Tensor) and n.op is tt.cumsum and rv in ancestors(n)]
    scale = _scale_of_steps(walks[0].inputs[0], rv) if len(walks) == 1 else None
    if scale is None or any(rv in reaches(f, [walks[0]]) for f in factors):
        return None
    if any(isinstance(x, RandomVariable) and x.serial > rv.serial for x in ancestors(scale)):
        return None
    information = np.zeros(known_shape(rv))
    for factor in factors:
        try:
            if not isinstance(factor, Observation):
                return None
            information = information + entries(program, factor, walks[0])
        except (NotAffine, NoMatch):
            return None
    whitened = PulledSteps(information, (scale,))
    return Walk(information, scale, whitened, "non-centered") if information.any() else None


def _scale_of_steps(product: Any, rv: RandomVariable) -> Tensor | None:
    """The positive number σ of σ e."""
    if product.op.name != "multiply" or not any(x is rv for x in product.inputs):
        return None
    scale = product.inputs[0] if product.inputs[1] is rv else product.inputs[1]
    number = scale.type.shape == () or (None not in scale.type.shape and np.prod(scale.type.shape) == 1)
    return scale.reshape(()) if number and rv not in ancestors(scale) and known_positive(scale) else None


COEFFICIENTS = (Normal, StudentT, Laplace)  # families of coefficients; the last parameter is a scale


def _whitened(program: Program, rv: RandomVariable) -> Whitened | None:
    """The triangle of the design of coefficients with a constant prior; None where they are not much alike."""
    (n,) = known_shape(rv)
    if not 1 < n <= LIMITS.coefficients_turned or not all(is_data(p) for p in rv.parameters):
        return None
    scale = np.broadcast_to(data_value(rv.parameters[-1]), (n,))
    information = told(program, rv, squares)
    if information is None:
        return None
    precision = np.diag(scale**-2.0) + information
    unit = np.sqrt(np.diagonal(precision))
    if not np.isfinite(precision).all() or np.linalg.cond(precision / np.outer(unit, unit)) < LIMITS.columns_alike:
        return None
    return Whitened(rv.family.__name__, np.linalg.cholesky(precision).T)
