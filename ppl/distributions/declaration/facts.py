"""What a family may declare for theorems, beside its density: each fact with what it means.

A theorem asks the class for a fact, `family.log_variance`, which is false where the family declares none. A class that
declares its own density inherits none of them. `tests/laws/test_facts_of_families.py` holds a law for each fact, which
runs for every family that declares it.
"""

from __future__ import annotations

import inspect
from typing import Annotated, Any, get_type_hints

from ppl.distributions.declaration.declarations import Limit, Missing, Param

Names = tuple[str, ...]


class Facts:
    """The part of a family that theorems read. θ are the parameters in their order."""

    # of parameters, as `location_scale = mu, sigma`; the class holds their names
    location_scale: Annotated[Names, "parameters μ, σ for which (X - μ)/σ has the same law whatever these are"] = ()
    location_parameter: Annotated[str, "a parameter μ for which X - μ has the same law whatever it is"] = ""
    scale_parameter: Annotated[str, "a parameter σ for which X/σ, or (X - μ)/σ, has the same law whatever it is"] = ""
    rate_parameter: Annotated[str, "a parameter λ for which λX has the same law whatever it is"] = ""
    inverse_link: Annotated[Names, "a parameter, and the function of the natural parameter that it is"] = ()
    limit: Annotated[Limit | None, "`limit_of(...)`: the law as a parameter grows, the others fixed"] = None
    improper: Annotated[bool, "whether the density has no finite integral"] = False
    # of one value
    typical_size: Annotated[Any, "(θ): where a positive X is neither small nor large"]
    log_variance: Annotated[Any, "(θ but the scale or rate): the variance of log X"]
    normal_score: Annotated[Any, "(x, θ): the z for which Φ(z) is the distribution function at x"]
    of_normal_score: Annotated[Any, "(z, θ): that x, with the digits of both tails"]
    categories: Annotated[Any, "(θ): how many values 0, 1, ... there are that only tell one thing from another"]
    change_of_variables: Annotated[Any, "`@change_to(family, ...)` of (y, θ): g(y), parameters of the other family in "
                                        "g(y), log |g'(y)|; follows from `law_of(..., words=...)`"]  # fmt: skip
    residuals: Annotated[Any, "(x, θ): pairs of mean less value and its normal errors, see `normal_errors`"]
    normal_steps: Annotated[Any, "(θ): a series of numbers as normal steps, see `NormalSteps`"]
    given_others: Annotated[Any, "(x, θ): the log-density of each entry of a vector given all the others"]
    # of rows
    fisher_information: Annotated[Any, "(θ): the Fisher information of one value on some parameters, by name"]
    estimates: Annotated[Any, "(y, known parameters by name): rough parameters for each of the NumPy values y, by name"]
    logp_of_rows: Annotated[Any, "(rows, θ): the log-density of `rows` by sums that keep their digits; for families "
                                 "that are not exponential, or lose digits by their natural parameters"]  # fmt: skip
    logp_of_distances: Annotated[Any, "(below, above, n, θ): the log-density of n rows by their summed distances below "
                                      "and above the location"]  # fmt: skip
    # of several draws, and of parts of one
    law_of_sum: Annotated[Any, "(along, θ): a draw of the sum of independent draws along axes, see `sums`"]
    law_of_product: Annotated[Any, "(along, θ): a draw of their product"]
    plus: Annotated[Any, "(θ of X, θ of Y): parameters of X + Y for independent X, Y"]
    minus: Annotated[Any, "(θ of X, θ of Y): parameters of X - Y"]
    thinned: Annotated[Any, "(s, θ): parameters of a count each of which is seen with probability s"]
    unseen: Annotated[Any, "(y, s, θ): parameters of what is not seen, given that y are seen"]
    law_of_entry: Annotated[Any, "(k, θ): the family of entry k of a vector, and its parameters"]
    affine_image: Annotated[Any, "(A, b, θ): a draw of Ax + b for a vector x"]
    merged: Annotated[Any, "(G, θ): parameters of Gx, where the rows of G add up disjoint groups of all entries of x"]

    @classmethod
    def _declare(cls, own: dict[str, Any]) -> None:
        """Take the facts from the body of a class."""
        if "logp" in own:
            for fact in WORDS:
                if hasattr(Facts, fact) and fact not in own:
                    setattr(cls, fact, getattr(Facts, fact))
        if "location_scale" in own:
            cls.location_scale = tuple(p.name for p in own["location_scale"])
            cls.location_parameter, cls.scale_parameter = cls.location_scale
        if "inverse_link" in own:
            parameter, function = own["inverse_link"]
            cls.inverse_link = parameter.name, function
        for fact in ("location_parameter", "scale_parameter", "rate_parameter"):
            if isinstance(own.get(fact), Param):
                setattr(cls, fact, own[fact].name)
        for fact in FUNCTIONS:
            if fact in own and inspect.isfunction(own[fact]):
                setattr(cls, fact, staticmethod(own[fact]))
            elif not getattr(cls, fact, None) or ("logp" in own and fact not in own):
                setattr(cls, fact, Missing(cls.__name__, fact))


WORDS: dict[str, str] = {
    fact: hint.__metadata__[0] for fact, hint in get_type_hints(Facts, include_extras=True).items()
}
FUNCTIONS = [fact for fact in WORDS if not hasattr(Facts, fact)]
