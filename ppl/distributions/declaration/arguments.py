"""What is said of arguments that are no parameters: each check names the family, the value and the remedy."""

from __future__ import annotations

import difflib
import warnings
from typing import Any

import numpy as np

from ppl.distributions.declaration.domains import MISSING, Domain, a_distribution, extended_real
from ppl.distributions.draws.draw import RandomVariable
from ppl.graph import Attrs, Node
from ppl.tensor.core.labelled import Labelled
from ppl.tensor.core.later import jnp
from ppl.tensor.core.ops import TensorOp
from ppl.tensor.sampling.generators import moves_on
from ppl.tensor.tensor import FUNCTIONS, Tensor, as_tensor, is_constant, value_of


def as_parameter(value: Any, domain: Domain, who: str) -> Tensor:
    """A parameter as a tensor."""
    if domain is a_distribution:
        if not isinstance(value, RandomVariable):
            raise TypeError(f"{who} must be {domain}, as Normal.dist(0, 1); got {value!r}")
        if value.name is not None:
            raise ValueError(f"{who}: {value.name!r} is a variable of a model; make one without a name by .dist(...)")
        return value
    if isinstance(value, Labelled):
        value.refuse()
    try:
        tensor = as_tensor(value)
    except (TypeError, ValueError) as error:
        raise TypeError(f"{who} must be {domain}, got {value!r}. Give numbers, or a tensor.") from error
    if tensor.dtype[0] == "c":
        raise TypeError(f"{who} must be {domain}, got {value!r}. Take its real part, if that is meant.")
    if domain.discrete and is_constant(tensor) and tensor.dtype[0] == "f":
        array = value_of(tensor)
        if np.all(np.isfinite(array)) and np.all(array == np.floor(array)):
            tensor = as_tensor(array.astype(np.int64))
    return widened(tensor)


def tell_of_rng(who: str, rng: Any) -> None:
    """Say that a generator has no effect on a draw, unless it is one of the graph."""
    if rng is not None and not moves_on(rng):
        text = f"{who}: rng= has no effect: draws take their keys from the random_seed of what draws them."
        warnings.warn(text, UserWarning, stacklevel=4)


class _Unproved(TensorOp):
    def infer(self, inputs: tuple[Node, ...], attrs: Attrs) -> Any:
        return inputs[0].type


unproved = _Unproved("unproved", lambda x: jnp.asarray(x))  # staged, so that NumPy meets no bad number
unproved.__doc__ = "x itself, of whose value nothing is taken for known when a graph is built."


def widened(x: Tensor) -> Tensor:
    """Whole numbers and booleans as int64: sums of parameters and values would run over the ends of a smaller dtype."""
    if x.dtype[0] not in "uib" or x.dtype == "int64":
        return x
    return as_tensor(value_of(x).astype(np.int64)) if is_constant(x) else FUNCTIONS["cast"](x, "int64")


def require(array: np.ndarray, domain: Domain, who: str) -> None:
    """Refuse values outside a domain; `who` begins the message."""
    if array.ndim < domain.ndim:
        raise ValueError(
            f"{who} must be {domain}, which has {domain.ndim} axes, got shape {array.shape}. Give it as many axes or "
            "more."
        )
    if array.dtype.kind == "f" and np.isnan(array).any():
        where = f" at position {tuple(int(i) for i in np.argwhere(np.isnan(array))[0])}" if array.ndim else ""
        remedy = f"{MISSING}; {domain.remedy}" if domain.ndim == 2 and domain.remedy != MISSING else MISSING
        raise ValueError(f"{who} is nan{where}, but must be {domain}. To mend it: {remedy}.")
    inside = np.asarray(domain.contains(array)) & _finite(array, domain)
    if inside.all():
        return
    at = tuple(int(i) for i in np.argwhere(~inside)[0])
    if domain.entry is not None:
        at += tuple(int(i) for i in np.argwhere(~np.asarray(domain.entry.contains(array[at])))[0])
    where = f" at position {at if len(at) > 1 else at[0]}" if at else ""
    remedy = f". To mend it: {domain.remedy}." if domain.remedy else ""
    found = repr(array[at].item()) if np.ndim(array[at]) == 0 else np.array2string(array[at], threshold=8)
    raise ValueError(f"{who} must be {domain}, got {found}{where}{remedy}")


def _finite(array: np.ndarray, domain: Domain) -> Any:
    """Which values hold no infinity, where the domain has none: no law has one as a parameter but as a bound."""
    if domain is extended_real or array.dtype.kind != "f":
        return True
    finite = np.isfinite(array)
    return finite.all(axis=tuple(range(-domain.ndim, 0))) if domain.ndim else finite


OLD = {"sd": "sigma", "testval": "initval"}  # what PyMC 3 called some
ELSEWHERE = {  # what SciPy, NumPyro and Stan call some, and what these are here, where a family has them
    "concentration": ("alpha",),
    "df": ("nu",),
    "loc": ("mu",),
    "logits": ("logit_p",),
    "mean": ("mu",),
    "probs": ("p",),
    "rate": ("lam", "beta"),
    "scale": (),  # sigma of one family, beta of another, 1 / beta of a third
    "std": ("sigma",),
}
EVERYWHERE = ("dims", "shape", "size", "observed", "initval", "transform", "default_transform", "total_size")


def unknown(who: str, key: str, value: Any, known: tuple[str, ...], shown: str) -> str:
    """What is said of a name that a family does not know; `shown` are the known ones with their domains."""
    everywhere = (*known, *EVERYWHERE)
    if key in ELSEWHERE:
        close = [name for name in ELSEWHERE[key] if name in known]
    else:
        close = [OLD[key]] if OLD.get(key) in everywhere else difflib.get_close_matches(key, everywhere, 1)
    hint = f" Did you mean {close[0]}?" if close else ""
    return f"{who} has no parameter {key!r}.{hint} It takes {shown}; got {key}={value!r}."
