"""Random rows of data: other ones each time a compiled function is called."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ppl.distributions.log_probability.measure import sources
from ppl.graph import ancestors
from ppl.model.arguments import count
from ppl.model.errors import SamplingError
from ppl.model.inputs.observed import as_data, is_masked
from ppl.tensor.random import RandomStream
from ppl.tensor.tensor import Tensor, as_tensor
from ppl.tensor.variables import Variable


def Minibatch(variable: Any, *variables: Any, batch_size: int) -> Any:
    """`batch_size` random rows of an array, or the same rows of several; with `total_size=` the density is unbiased.

    Each call of a compiled function (`model.compile_logp()`, `model.compile_dlogp()`) sees other rows, which is what
    stochastic gradients need. `sample` needs a density that stays the same, and refuses it.

    >>> import ppl as pm
    >>> x, y = pm.Minibatch(np.arange(100.0), np.arange(100.0) ** 2, batch_size=5)
    >>> with pm.Model() as model:
    ...     slope = pm.Normal("slope")
    ...     z = pm.Normal("z", slope * x, 1, observed=y, total_size=100)
    >>> logp = model.compile_logp()
    >>> logp({"slope": 1.0}) == logp({"slope": 1.0})
    np.False_
    """
    size = count("batch_size", batch_size, 1)
    arrays = [_rows(each, i) for i, each in enumerate((variable, *variables))]
    lengths = {array.type.shape[0] for array in arrays}
    if len(lengths) > 1:
        raise ValueError(f"Minibatch: the arrays have different numbers of rows: {sorted(map(str, lengths))}")
    at = RandomStream().integers(0, arrays[0].shape[0], size=(size,), name="minibatch")
    batches = [array[at] for array in arrays]
    return batches if variables else batches[0]


def _rows(data: Any, position: int) -> Tensor:
    found = as_data(data, f"Minibatch, argument {position}")
    if is_masked(found):
        raise ValueError(f"Minibatch: argument {position} has missing values; drop these rows first")
    tensor = as_tensor(found)
    if sources(tensor):
        raise ValueError(f"Minibatch: argument {position} is not valid for it: rows are taken of data, not of draws")
    if not tensor.ndim:
        raise ValueError(f"Minibatch: argument {position} is a single number, not rows")
    return tensor


def refuse_minibatches(densities: Iterable[Tensor]) -> None:
    """Raise where a density changes from call to call: no sampler converges on such a one."""
    for node in ancestors(list(densities)):
        if isinstance(node, Variable) and node.default_update is not None:
            raise SamplingError(
                f"The log-density depends on random rows ({node.name!r}) and changes from call to call, so no chain "
                "has it as its target, and no draw a value of its own. Give the whole data in place of a Minibatch."
            )
