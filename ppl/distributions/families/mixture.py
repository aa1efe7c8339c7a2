import functools
import warnings

import numpy as np

from ppl.distributions.declaration.distribution import InPyTensor, param
from ppl.distributions.declaration.domains import Domain, simplex
from ppl.distributions.declaration.inner import as_law, log_density_of, support_point_of
from ppl.distributions.declaration.modifier import Modifier, sample_law
from ppl.distributions.families.normal import Normal
from ppl.distributions.formulas.probability import log_of
from ppl.distributions.transforms import IntervalTransform, default_transform
from ppl.distributions.transforms.images import same_number, same_transform
from ppl.tensor import arange, cast, cumsum, equal, expand_dims, logsumexp, moveaxis, round, shape, stack, sum
from ppl.tensor.tensor import Tensor, as_tensor, is_constant, value_of


class Mixture(Modifier, abstract=True):
    r"""One of several laws f₁, ..., f_K, chosen with probabilities w.

    The components are draws made by `.dist()`: a list, or one draw whose last axis of independent draws runs over them.

    .. math:: f(x) = \sum_k w_k f_k(x)

    >>> x = pm.Mixture.dist(w=[0.3, 0.7], comp_dists=[pm.Normal.dist(0, 1), pm.StudentT.dist(3, 0, 5)])
    >>> pm.logp(x, 0.0).eval().round(4).item()
    -1.7653
    """

    w = param(simplex)
    law_at = 1
    order = ("w", "comp_dists")
    in_pytensor = InPyTensor(None, inputs="rng *", symbolic=True)

    @classmethod
    def resolve(cls, args, kwargs):
        given = dict(zip(cls.order, args, strict=False)) | dict(kwargs)
        if set(given) != {"w", "comp_dists"}:
            raise TypeError(f"{cls.__name__} takes w and comp_dists, got {', '.join(given)}")
        dists = given["comp_dists"]
        laws = [as_law(d, cls.__name__) for d in (dists if isinstance(dists, list | tuple) else [dists])]
        return cls.mixed(as_tensor(given["w"]), *laws)

    @classmethod
    def mixed(cls, w, *laws):
        if len({law.event_ndim for law in laws}) > 1:
            raise ValueError(f"{cls.__name__}: the components have {[law.event_ndim for law in laws]} axes a value")
        if len({as_tensor(law).dtype[0] for law in laws}) > 1:
            raise ValueError(f"{cls.__name__}: the components must be all discrete or all continuous")
        if len(laws) == 1 and laws[0].ndim == laws[0].event_ndim:
            raise ValueError(f"{cls.__name__} of one distribution needs a last axis over components: give it a shape")
        count = len(laws) if len(laws) > 1 else laws[0].type.shape[laws[0].ndim - laws[0].event_ndim - 1]
        if w.ndim == 0 or (None not in (count, w.type.shape[-1]) and w.type.shape[-1] != count):
            raise ValueError(f"{cls.__name__}: w has shape {w.type.shape}, but there are {count} components")
        return (w, *laws)

    @classmethod
    def without_sizes(cls, parameters):
        return parameters if len(parameters) == 2 else super().without_sizes(parameters)  # one law's runs over parts

    @classmethod
    def batch_drop(cls, parameters, position):
        alone = len(parameters) == 2 and position == 1
        return 1 if position == 0 else parameters[position].event_ndim + alone

    def support(w, *laws):
        domains = [law.family.support_for(law.parameters) for law in laws]
        if len(laws) == 1:
            inner, axis = domains[0], -1 - domains[0].ndim
            any_of = lambda x: np.any(inner.contains(expand_dims(as_tensor(x), axis)), axis=-1)
        else:
            any_of = lambda x: functools.reduce(lambda a, b: a | b, [d.contains(x) for d in domains])
        first = domains[0]
        same_name = all(d.name == first.name for d in domains)
        shared = _shared_transform(laws)
        return Domain(
            first.name if same_name else "in the support of a component",
            any_of,
            ndim=first.ndim,
            discrete=all(d.discrete for d in domains),
            lower=_common([d.lower for d in domains], len(laws) == 1),
            upper=_common([d.upper for d in domains], len(laws) == 1),
            transform=shared,
            entry=first.entry if same_name else None,
        )

    def logp(x, w, *laws):
        if len(laws) == 1:
            terms = log_density_of(laws[0], expand_dims(x, -1 - laws[0].event_ndim))
        else:
            terms = stacked([log_density_of(law, x) for law in laws])
        return logsumexp(log_of(w) + terms, axis=-1)

    def logcdf(x, w, *laws):
        return logsumexp(log_of(w) + tails("log_cdf", x, laws), axis=-1)

    def logccdf(x, w, *laws):
        return logsumexp(log_of(w) + tails("log_ccdf", x, laws), axis=-1)

    def sample(key, size, w, *laws):
        event = laws[0].event_ndim
        batch = tuple(size)[: len(size) - event]
        which = sum(expand_dims(key.uniform(batch), -1) >= cumsum(w, axis=-1)[..., :-1], axis=-1)
        which = expand_dims(which, tuple(range(-event, 0)))
        if len(laws) == 1:
            count = shape(w)[-1]
            every = moveaxis(sample_law(key, laws[0], (*batch, count)), -1 - event, -1)
        else:
            every = stack([sample_law(key, law, batch) for law in laws], axis=-1)
        chosen = equal(expand_dims(which, -1), arange(shape(w)[-1]))
        return cast(sum(every * cast(chosen, every.dtype), axis=-1), every.dtype)

    def mean(w, *laws):
        return weighted(w, laws, [law.family.mean(*law.parameters) for law in laws])

    def variance(w, *laws):
        means = [law.family.mean(*law.parameters) for law in laws]
        squares = [law.family.variance(*law.parameters) + m**2 for law, m in zip(laws, means, strict=True)]
        return weighted(w, laws, squares) - weighted(w, laws, means) ** 2

    def support_point(w, *laws):
        points = [support_point_of(law) for law in laws]
        point = weighted(w, laws, points)
        return cast(round(point), "int64") if laws[0].dtype[0] != "f" else point


class MixtureTransformWarning(UserWarning):
    """A mixture to be sampled whose components have no transform in common."""


def warn_of_no_transform(rv):
    """Say so where a variable is a mixture of laws on different sets, so that it moves without a transform."""
    if issubclass(rv.family, Mixture) and rv.dtype[0] == "f" and not _same_transforms(rv.parameters[1:]):
        warnings.warn(
            f'No safe default transform found for Mixture distribution "{rv.name}": its components have different '
            "supports or default transforms. A transform= of your own serves where one is appropriate.",
            MixtureTransformWarning,
            stacklevel=7,  # the call that makes the variable
        )


def _same_transforms(laws):
    """Whether the transforms of all components are the same; those of one law also along its components."""
    each = [default_transform(law.family, law.parameters) for law in laws]
    if len(laws) == 1 and isinstance(each[0], IntervalTransform):
        return all(end is None or _alone(end) is not None for end in each[0].bounds(*laws[0].parameters))
    pairs = zip(each, laws, strict=True)
    return all(same_transform(each[0], t, laws[0].parameters, law.parameters) for t, law in pairs)


def _shared_transform(laws):
    """The transform that all components have."""
    shared = default_transform(laws[0].family, laws[0].parameters)
    if shared is None or not _same_transforms(laws):
        return None
    if not isinstance(shared, IntervalTransform):
        return shared
    return IntervalTransform.of_parameters(_bounds)


def _bounds(w, *laws):
    ends = default_transform(laws[0].family, laws[0].parameters).bounds(*laws[0].parameters)
    return tuple([_alone(end) for end in ends]) if len(laws) == 1 else ends


def _common(bounds, one_law):
    """The bound that all components have; None where they have none in common."""
    if one_law:
        return _alone(bounds[0])
    return bounds[0] if all(same_number(bounds[0], bound) for bound in bounds) else None


def _alone(bound):
    """The bound of one law, which is the same for all of its components; None where it is not known to be."""
    if not isinstance(bound, Tensor | np.ndarray) or bound.ndim == 0:
        return bound
    known = value_of(bound) if isinstance(bound, Tensor) and is_constant(bound) else bound
    alike = isinstance(known, np.ndarray) and known.size and np.all(known == known.flat[0])
    return float(known.flat[0]) if alike else None


def stacked(terms):
    """Terms of any shapes that broadcast, along a new last axis."""
    blank = functools.reduce(lambda a, b: a + b, [0.0 * cast(t, "bool") for t in terms])
    return stack([t + blank for t in terms], axis=-1)


def tails(side, x, laws):
    """log P(X ≤ x) or log P(X > x) under each component, along a last axis."""
    if len(laws) == 1:
        return getattr(laws[0].family, side)(expand_dims(x, -1), *laws[0].parameters)
    return stacked([getattr(law.family, side)(x, *law.parameters) for law in laws])


def weighted(w, laws, numbers):
    """The mean of one number (or vector) for each component, with the weights."""
    event = laws[0].event_ndim
    if len(laws) == 1:
        table = as_tensor(numbers[0])
        table = moveaxis(table, -1 - event, -1) if table.ndim > event else expand_dims(table, -1)
    else:
        table = stacked([as_tensor(n) for n in numbers])
    for _ in range(event):
        w = expand_dims(w, -2)
    return sum(w * table, axis=-1)


class NormalMixture(Mixture, abstract=True):
    r"""One of several normal laws, chosen with probabilities w; the last axis of mu and sigma runs over them.

    .. math:: f(x) = \sum_k w_k N(x; μ_k, σ_k)

    >>> x = pm.NormalMixture.dist(w=[0.3, 0.7], mu=[-1.0, 2.0], sigma=1.0)
    >>> pm.logp(x, 0.0).eval().round(4).item()
    -2.2038
    """

    order = ("w", "mu", "sigma", "tau", "comp_shape")

    @classmethod
    def resolve(cls, args, kwargs):
        given = dict(zip(cls.order, args, strict=False)) | dict(kwargs)
        unknown = set(given) - set(cls.order)
        if unknown or "w" not in given:
            raise TypeError(f"{cls.__name__} takes {', '.join(cls.order)}, got {', '.join(given)}")
        w, size = as_tensor(given.pop("w")), given.pop("comp_shape", ()) or None
        parameters = Normal.resolve((), given)
        if size is None and all(p.ndim == 0 for p in parameters):
            size = (shape(w)[-1],)
        return cls.mixed(w, Normal.dist(*parameters, size=size))
