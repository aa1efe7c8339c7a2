import functools

import numpy as np

from ppl.distributions.distribution import param
from ppl.distributions.domains import Domain, simplex
from ppl.distributions.inner import as_law, log_density_of, support_point_of
from ppl.distributions.modifier import Modifier, sample_law
from ppl.distributions.normal import Normal
from ppl.distributions.probability import log_of
from ppl.tensor import cast, cumsum, equal, expand_dims, logsumexp, moveaxis, round, shape, stack, sum
from ppl.tensor.tensor import as_tensor


class Mixture(Modifier, abstract=True):
    r"""One of several laws f₁, ..., f_K, chosen with probabilities w.

    The components are draws made by `.dist()`: a list, or one draw whose last axis of independent draws runs over them.

    .. math:: f(x) = \sum_k w_k f_k(x)
    """

    w = param(simplex)
    law_at = 1
    order = ("w", "comp_dists")

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
        alike = all(d.name == first.name for d in domains) and first.transform != "interval"
        return Domain(
            first.name if alike else "in the support of a component",
            any_of,
            ndim=first.ndim,
            discrete=all(d.discrete for d in domains),
            lower=first.lower if alike else None,
            upper=first.upper if alike else None,
            transform=first.transform if alike else None,
            entry=first.entry if alike else None,
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
        chosen = equal(expand_dims(which, -1), np.arange(every.type.shape[-1]))
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
