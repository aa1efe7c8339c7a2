import numpy as np

from ppl.distributions.declaration.arguments import unknown
from ppl.distributions.declaration.declarations import requires
from ppl.distributions.declaration.distribution import InPyTensor
from ppl.distributions.declaration.domains import Domain, a_distribution
from ppl.distributions.declaration.inner import as_law, log_density_of, require_distribution_function, support_point_of
from ppl.distributions.declaration.modifier import Modifier, sample_law
from ppl.distributions.families.normal import Normal
from ppl.distributions.families.truncated_normal import TruncatedNormal
from ppl.distributions.formulas.bounds import absent, before, bounds_of, log_above, log_below, log_mass
from ppl.distributions.formulas.quantile import is_searched, or_searched, searched
from ppl.distributions.transforms import IntervalTransform
from ppl.tensor import cast, clip, equal, exp, full, log, log1p, logaddexp, maximum, minimum, switch
from ppl.tensor.sampling.rejection import draw_until
from ppl.tensor.sampling.roots import carried_root
from ppl.tensor.tensor import as_tensor, is_constant, value_of


def _bounds(law, lower, upper):
    return lower, upper


# As in PyMC, also where the law's own support ends before a bound: values beyond it have the density 0.
BETWEEN = IntervalTransform.of_parameters(_bounds)
OFTEN = 1 / 8  # of the draws inside: proposing until one is takes less time than searching for a quantile


class Truncated(Modifier, abstract=True):
    r"""A law on the condition that its value lies between bounds, which count as inside.

    .. math:: \log f(x) = \log f_0(x) - \log P(\mathrm{lower} \le X_0 \le \mathrm{upper})

    >>> x = pm.Truncated.dist(pm.Gamma.dist(2, 1), lower=1.0, upper=3.0)
    >>> round(float(pm.logcdf(x, 3.0).eval()), 4)
    0.0
    """

    laws = 1  # bounds may be draws too, which are drawn
    called = ("law", "lower", "upper")
    ordered = requires(lambda lower, upper: lower <= upper, "lower must not be above upper", "exchange them")
    order = ("dist", "lower", "upper", "max_n_steps")
    in_pytensor = InPyTensor(
        None,
        shown=lambda law, *_: f"Truncated{law.family.__name__}",
        parameters=lambda law, lower, upper: (*law.owner.parameters, lower, upper),
        outputs="* rng",
        symbolic=True,
        same_as=lambda law, lower, upper: _by_its_own_family(law, lower, upper),
    )

    @classmethod
    def resolve(cls, args, kwargs):
        given = dict(zip(cls.order, args, strict=False)) | dict(kwargs)
        for key in set(given) - set(cls.order):
            raise TypeError(unknown(cls.__name__, key, given[key], cls.order, ", ".join(cls.order)))
        if "dist" not in given:
            raise TypeError(f"{cls.__name__} needs dist ({a_distribution}), as Normal.dist(0, 1)")
        law = as_law(given["dist"], cls.__name__)
        if law.event_ndim:
            raise NotImplementedError(
                f"{cls.__name__}: only laws of single numbers are truncated, got {law.family.__name__}"
            )
        require_distribution_function(law, cls.__name__)
        if given.get("lower") is None and given.get("upper") is None:
            raise ValueError(f"{cls.__name__} needs a lower or an upper bound")
        _check_steps(cls.__name__, given.get("max_n_steps"))
        lower, upper = bounds_of(cls.__name__, given.get("lower"), given.get("upper"))
        refuse_empty(cls.__name__, law, lower, upper)
        return law, lower, upper

    def support(law, lower, upper):
        inner = law.family.support_for(law.parameters)
        low, high = narrowed(inner.lower, lower, maximum), narrowed(inner.upper, upper, minimum)
        return Domain(
            f"{inner.name}, between the bounds of the truncation",
            lambda x: inner.contains(x) & (x >= lower) & (x <= upper),
            discrete=inner.discrete,
            lower=low,
            upper=high,
            transform=None if inner.discrete or (low is None and high is None) else BETWEEN,
        )

    def logp(x, law, lower, upper):
        density = log_density_of(law, x)  # -inf where the law is none: there is no mass to divide by
        return switch(equal(density, -np.inf), -np.inf, density - log_mass(law, lower, upper))

    def logcdf(x, law, lower, upper):
        return log_mass(law, lower, x) - log_mass(law, lower, upper)

    def logccdf(x, law, lower, upper):
        after = x + 1 if law.dtype[0] != "f" else x
        return log_mass(law, after, upper) - log_mass(law, lower, upper)

    def icdf(q, law, lower, upper):
        return _inverted(q, law, lower, upper)

    def sample(key, shape, law, lower, upper):
        return sample_between(key, shape, law, lower, upper)

    def support_point(law, lower, upper):
        point, discrete = support_point_of(law), law.dtype[0] != "f"
        above = True if absent(lower) else point >= lower if discrete else point > lower  # a bound itself is no start:
        below = True if absent(upper) else point <= upper if discrete else point < upper  # transforms send it to ±∞
        if absent(lower):
            return switch(below, point, upper - 1)
        if absent(upper):
            return switch(above, point, lower + 1)
        return switch(above & below, point, (lower + upper) // 2 if discrete else (lower + upper) / 2)


def _by_its_own_family(law, lower, upper):
    """A truncated normal law, which has a family of its own; None for others."""
    return TruncatedNormal.dist(*law.parameters, lower=lower, upper=upper) if law.family is Normal else None


def _check_steps(who, steps):
    """PyMC gives up after so many proposals; draws never fail here, so the number only has to be one."""
    if steps is not None and (isinstance(steps, bool) or not isinstance(steps, int | np.integer) or steps < 1):
        raise ValueError(
            f"{who}: max_n_steps is a whole number of at least 1, got {steps!r}. Draws need none: leave it out"
        )


def refuse_empty(who, law, lower, upper):
    """Refuse constant bounds between which the law has no value."""
    inner = law.family.support_for(law.parameters)
    ends = [inner.lower, lower, inner.upper, upper]
    if not all(end is None or is_constant(as_tensor(end)) for end in ends):
        return
    below, low, above, high = (None if end is None else value_of(as_tensor(end)) for end in ends)
    low, high = (low if below is None else np.maximum(below, low)), (high if above is None else np.minimum(above, high))
    if inner.discrete:
        low, high = np.ceil(low), np.floor(high)
    if np.any(low > high) or (not inner.discrete and np.any((low == high) & ~np.isin(low, inner.atoms))):
        raise ValueError(
            f"{who}: no value of {law.family.__name__}, which is {inner}, lies between lower={value_of(lower)} and "
            f"upper={value_of(upper)}. Move the bounds apart, or into the support."
        )


def narrowed(bound, given, tighter):
    """The tighter of a support's bound and a given one; None where neither binds."""
    if absent(given):
        return bound
    return given if bound is None else tighter(bound, given)


def _inverted(q, law, lower, upper, needed=True):
    """The quantile, anything where it is not needed."""
    mass, own = log_mass(law, lower, upper), law.family.number(law.parameters)
    start = -np.inf if absent(lower) else log_below(law, before(law, lower))
    rest = -np.inf if absent(upper) else log_above(law, upper)
    log_q, log_p = logaddexp(start, log(q) + mass), logaddexp(rest, log1p(-q) + mass)  # P(X₀ ≤ x), P(X₀ > x)
    find = lambda needed: searched(own, log_q, log_p, 1 - q, needed)
    found = law.family.inverse_cdf(exp(log_q), *law.parameters)
    if is_searched(found):
        return cast(clip(find(needed), lower, upper), law.dtype)
    far = needed & ((log_q < np.log(1e-300)) | (log_p < np.log(1e-5)))  # there too few of its digits are left
    return cast(clip(or_searched(far, find, found), lower, upper), law.dtype)


def sample_between(key, shape, law, lower=-np.inf, upper=np.inf):
    """Draws of a law given that they lie between bounds: by the quantile where that is a formula. Else they are
    proposed until they lie there, where enough of the law does, and a quantile is searched for where it does not."""
    lower, upper = as_tensor(lower), as_tensor(upper)
    u = key.uniform(shape)
    if not is_searched(law.family.inverse_cdf(u, *law.parameters)):
        return _inverted(u, law, lower, upper)
    often = log_mass(law, lower, upper) > np.log(OFTEN)
    inside = lambda x: (x >= lower) & (x <= upper) | ~often
    one_law = not law.family.draw_type(law.parameters, None).ndim and lower.ndim == upper.ndim == 0
    like = full(shape, 0, dtype=law.dtype)
    drawn = draw_until(key, lambda key, shape: sample_law(key, law, shape), inside, like, alike=one_law)
    if law.dtype[0] == "f":
        drawn = carried_root(drawn, lambda x: Truncated.stated_logcdf(x, law, lower, upper))
    return or_searched(~often, lambda rare: _inverted(u, law, lower, upper, rare), drawn)
