"""Families of users, and those without a counterpart: by the density that PyMC has for them."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

import numpy as np

from ppl.bridge.reading import Application, NotConvertedError, Reader, as_tensor, called
from ppl.distributions import CustomDist
from ppl.tensor.tensor import Tensor, placeholder


def by_density(at: Application, parameters: Sequence[Any], size: Any) -> Tensor:
    """A draw by a density in PyTensor: the function that PyMC has registered for the op, read for each point."""
    op, node = at.op, at.node
    reader = at.reader
    out = node.outputs[-1].type
    ndims = op.ndims_params if op.ndims_params is not None else [p.type.ndim for p in parameters]

    def logp(value: Any, *given: Any) -> Tensor:
        return density(reader, op, node, value, out, parameters, given)

    given = [reader.tensor(p) for p in parameters]
    own: dict[str, Any] = {"size": size}
    if op.ndim_supp and all(n < op.ndim_supp for n in ndims):  # no parameter tells the length of a value
        own = {"shape": (*_batch(given, size), *_length(at, out, parameters))}
    drawn = CustomDist.dist(
        *given,
        logp=logp,
        random=_random(op),
        ndim_supp=op.ndim_supp,
        ndims_params=tuple(ndims),
        dtype=out.dtype,
        class_name=called(op),
        **own,
    )
    logp(placeholder(drawn.type), *given)  # what cannot be read is told now, and not when the model is compiled
    return drawn


def _batch(given: Sequence[Tensor], size: Any) -> list[Any]:
    """The shape of independent values: as it is asked for, else that of the parameters together."""
    if size is not None:
        return list(size)
    together = sum(given, start=as_tensor(0.0))
    return [together.shape[i] if n is None else n for i, n in enumerate(together.type.shape)]


def _length(at: Application, out: Any, parameters: Sequence[Any]) -> list[Any]:
    """The shape of one value, as the type tells it, else as the op computes it from the parameters."""
    known = list(out.shape[out.ndim - at.op.ndim_supp :])
    if None in known:
        known = list(at.op._supp_shape_from_params(list(parameters)))
    return [n if isinstance(n, int | np.integer) else at.reader.tensor(n) for n in known]


def density(
    reader: Reader, op: Any, node: Any, value: Any, kind: Any, parameters: Sequence[Any], given: Sequence[Any]
) -> Tensor:
    """The log-density at a value, by PyMC's function of PyTensor's variables."""
    function = registered("_logprob", op)
    if function is None:
        raise NotConvertedError(f'"{reader.about}": PyMC has no log-density for {called(op)}, so ppl has none either.')
    stand_in = _input_like(node, value, kind)
    stand_ins = [p.type() for p in parameters]
    positions = {id(p): s for p, s in zip(parameters, stand_ins, strict=True)}
    inputs = [positions.get(id(i), i) for i in node.inputs]
    result = function(op, (stand_in,), *inputs)
    known = {stand_in: as_tensor(value)} | {s: as_tensor(g) for s, g in zip(stand_ins, given, strict=True)}
    return as_tensor(reader.inner(known).read(result))


def _input_like(node: Any, value: Any, kind: Any) -> Any:
    """An input of PyTensor that stands for a value of ppl."""
    ndim = as_tensor(value).ndim
    return kind() if ndim == kind.ndim else kind.clone(shape=(None,) * ndim)()


def log_density(op: Any, inputs: Sequence[Any], value: Any) -> Any:
    """The log-density of an op's variable in PyTensor: by its own function, or as PyMC derives it."""
    function = registered("_logprob", op)
    if function is not None and not getattr(op, "inline_logprob", False):
        return function(op, (value,), *inputs)
    rv = next(out for out in op.make_node(*inputs).outputs if hasattr(out.type, "ndim"))
    return sys.modules["pymc.logprob.basic"].logp(rv, value, warn_rvs=False)


def registered(dispatch: str, op: Any) -> Any:
    """The function that PyMC's dispatch has for an op; None where it has none."""
    module = sys.modules.get("pymc.logprob.abstract")
    table = getattr(module, dispatch, None)
    if table is None:
        return None
    found = table.dispatch(type(op))
    return None if found is table.dispatch(object) else found


def _random(op: Any) -> Any:
    """Draws by the op's own NumPy function, called when draws are asked for."""
    rng_fn = getattr(op, "rng_fn", None)
    if rng_fn is None:
        return None

    def random(*parameters: np.ndarray, rng: np.random.Generator, size: Any) -> Any:
        return rng_fn(rng, *parameters, size)

    return random
