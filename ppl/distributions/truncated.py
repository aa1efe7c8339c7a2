import numpy as np

from ppl.distributions.bounds import absent, as_bound, before, log_below, log_mass
from ppl.distributions.domains import Domain
from ppl.distributions.inner import as_law, log_density_of, require_distribution_function, support_point_of
from ppl.distributions.modifier import Modifier, sample_law
from ppl.distributions.quantile import or_searched, searched
from ppl.tensor import clip, exp, log, log1p, logaddexp, maximum, minimum, switch
from ppl.tensor.rejection import draw_until
from ppl.tensor.tensor import as_tensor, value_of


class Truncated(Modifier, abstract=True):
    r"""A law on the condition that its value lies between bounds, which count as inside.

    .. math:: \log f(x) = \log f_0(x) - \log P(\mathrm{lower} \le X_0 \le \mathrm{upper})
    """

    order = ("dist", "lower", "upper", "max_n_steps")

    @classmethod
    def resolve(cls, args, kwargs):
        given = dict(zip(cls.order, args, strict=False)) | dict(kwargs)
        if "dist" not in given or set(given) - set(cls.order):
            raise TypeError(f"{cls.__name__} takes {', '.join(cls.order)}, got {', '.join(given)}")
        law = as_law(given["dist"], cls.__name__)
        if law.event_ndim:
            raise NotImplementedError(
                f"{cls.__name__}: only laws of single numbers are truncated, got {law.family.__name__}"
            )
        require_distribution_function(law, cls.__name__)
        if given.get("lower") is None and given.get("upper") is None:
            raise ValueError(f"{cls.__name__} needs a lower or an upper bound")
        steps = int(given.get("max_n_steps") or 10_000)
        return law, as_bound(given.get("lower"), -np.inf), as_bound(given.get("upper"), np.inf), as_tensor(steps)

    def support(law, lower, upper, steps):
        inner = law.family.support_for(law.parameters)
        low, high = narrowed(inner.lower, lower, maximum), narrowed(inner.upper, upper, minimum)
        return Domain(
            f"{inner.name}, between the bounds of the truncation",
            lambda x: inner.contains(x) & (x >= lower) & (x <= upper),
            discrete=inner.discrete,
            lower=low,
            upper=high,
            transform=None if inner.discrete or (low is None and high is None) else "interval",
        )

    def logp(x, law, lower, upper, steps):
        return log_density_of(law, x) - log_mass(law, lower, upper)

    def logcdf(x, law, lower, upper, steps):
        return log_mass(law, lower, x) - log_mass(law, lower, upper)

    def logccdf(x, law, lower, upper, steps):
        after = x + 1 if law.dtype[0] != "f" else x
        return log_mass(law, after, upper) - log_mass(law, lower, upper)

    def icdf(q, law, lower, upper, steps):
        start = -np.inf if absent(lower) else log_below(law, before(law, lower))
        whole = exp(logaddexp(start, log(q) + log_mass(law, lower, upper)))  # P(X₀ ≤ x)
        closed = clip(law.family.inverse_cdf(whole, *law.parameters), lower, upper)
        number = Truncated.number((law, lower, upper, steps))
        far = (whole < 1e-300) | (whole > 1 - 1e-5)  # there too few of its digits are left
        return or_searched(far, lambda: searched(number, log(q), log1p(-q)), closed)

    def sample(key, shape, law, lower, upper, steps):
        if law.family.icdf and law.family.logcdf:
            return Truncated.icdf(key.uniform(shape), law, lower, upper, steps)
        return draw_until(
            key, lambda key: sample_law(key, law, shape), lambda x: (x >= lower) & (x <= upper), int(value_of(steps))
        )

    def support_point(law, lower, upper, steps):
        point = support_point_of(law)
        if absent(lower):
            return switch(point <= upper, point, upper - 1)
        if absent(upper):
            return switch(point >= lower, point, lower + 1)
        middle = (lower + upper) // 2 if law.dtype[0] != "f" else (lower + upper) / 2
        return switch((point >= lower) & (point <= upper), point, middle)


def narrowed(bound, given, tighter):
    """The tighter of a support's bound and a given one; None where neither binds."""
    if absent(given):
        return bound
    return given if bound is None else tighter(bound, given)
