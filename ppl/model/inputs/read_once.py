"""Observed variables whose rows are read once: what stands for the rows enters the model in their place."""

from __future__ import annotations

from typing import Any

from ppl.distributions import RandomVariable
from ppl.model.bar import Bar
from ppl.model.errors import SamplingError
from ppl.model.registry.named import Potential
from ppl.model.registry.variable_registry import Books
from ppl.sources.source_rows import SourceRows
from ppl.sources.statistics import RefusedError, statistics_of
from ppl.tensor.tensor import Tensor, as_tensor

PLAIN = {"b": "iu", "i": "biu", "u": "biu", "f": "biuf"}  # kinds of columns that are values of each kind of variable


def observe_rows(
    model: Books, rv: RandomVariable, observed: Any, source: SourceRows, dims: Any, total_size: Any
) -> Tensor:
    """Read the rows of a variable, and enter what its density needs of them."""
    name = rv.name or ""
    who = f'{rv.family.__name__} "{name}"'
    if not isinstance(observed, Tensor):
        raise TypeError(f"{who}: its parameters are columns of {source!r}, and so has its observed value to be")
    if dims is not None or total_size is not None:
        raise ValueError(f"{who}: leave dims= and total_size= out, since its rows are read once and not kept")
    if observed.dtype[0] not in PLAIN.get(rv.dtype[0], ""):
        raise TypeError(
            f"{who}: its values are {rv.dtype}, and the column holds {observed.dtype}: change its kind in the source"
        )
    try:
        with Bar("Rows", source.progressbar) as bar:
            kept = statistics_of(rv, observed, source, bar)
    except RefusedError as why:
        raise SamplingError(
            f"{who}: {why}. Rows of a source are read once, and their statistics kept; where there are none, take"
            " memory=True in from_arrow, which reads all rows into memory, or a sample of them."
        ) from None
    if kept.rows is None:
        made = Potential(name, kept.term, model=model)
    else:
        made, values = kept.rows
        model.add_observed(made, as_tensor(values))
        Potential(f"{name} rows", kept.term, model=model)
    model.read_once[name] = f"{kept.words}; digest of the source {source.digest}"
    return made


def refuse_read_once(model: Books, names: Any, what: str) -> None:
    """Raise where the rows of a variable are asked for one by one."""
    for name in names:
        if name in model.read_once:
            raise NotImplementedError(
                f'{what}: the rows of "{name}" were read once and are not kept ({model.read_once[name]}). Build the'
                " model with from_arrow(..., memory=True), of a sample of the rows, for what is asked of each row."
            )
