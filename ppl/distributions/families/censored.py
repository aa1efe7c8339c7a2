import numpy as np

from ppl.distributions.declaration.arguments import unknown
from ppl.distributions.declaration.declarations import requires
from ppl.distributions.declaration.distribution import InPyTensor
from ppl.distributions.declaration.domains import Domain, a_distribution
from ppl.distributions.declaration.inner import as_law, log_density_of, require_distribution_function, support_point_of
from ppl.distributions.declaration.modifier import Modifier, sample_law
from ppl.distributions.formulas.bounds import absent, before, bounds_of, log_above, log_below
from ppl.tensor import clip, equal, switch


class Censored(Modifier, abstract=True):
    r"""A law whose value is only known to be beyond a bound where it is: a value outside is moved to the bound.

    .. math:: f(\mathrm{lower}) = P(X_0 \le \mathrm{lower}), \qquad f(x) = f_0(x), \qquad
              f(\mathrm{upper}) = P(X_0 \ge \mathrm{upper})

    >>> pm.draw(pm.Censored.dist(pm.Normal.dist(5, 1), lower=None, upper=0.0), random_seed=1).item()
    0.0
    """

    laws = 1  # bounds may be draws too, which are drawn
    called = ("law", "lower", "upper")
    ordered = requires(lambda lower, upper: lower <= upper, "lower must not be above upper", "exchange them")
    order = ("dist", "lower", "upper")
    in_pytensor = InPyTensor(None, inputs="*", symbolic=True)

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
                f"{cls.__name__}: only laws of single numbers are censored, got {law.family.__name__}"
            )
        require_distribution_function(law, cls.__name__)
        return law, *bounds_of(cls.__name__, given.get("lower"), given.get("upper"))

    def support(law, lower, upper):
        inner = law.family.support_for(law.parameters)
        return Domain(
            f"{inner.name}, between the bounds of the censoring",
            lambda x: (inner.contains(x) & (x >= lower) & (x <= upper)) | np.equal(x, lower) | np.equal(x, upper),
            discrete=inner.discrete,
        )

    def logp(x, law, lower, upper):
        return censored_density(law, x, lower, upper)

    def logcdf(x, law, lower, upper):
        return switch(x < lower, -np.inf, switch(x >= upper, 0.0, log_below(law, x)))

    def logccdf(x, law, lower, upper):
        return switch(x < lower, 0.0, switch(x >= upper, -np.inf, log_above(law, x)))

    def icdf(q, law, lower, upper):
        return clip(law.family.inverse_cdf(q, *law.parameters), lower, upper)

    def sample(key, shape, law, lower, upper):
        return clip(sample_law(key, law, shape), lower, upper)

    def support_point(law, lower, upper):
        point = support_point_of(law)
        return clip(point, lower, upper)


def censored_density(law, x, lower, upper):
    """The density inside, the probability of the tail at a bound."""
    result = log_density_of(law, x)
    if not absent(upper):
        result = switch(equal(x, upper), log_above(law, before(law, upper)), result)
    if not absent(lower):
        result = switch(equal(x, lower), log_below(law, lower), result)
    return result
