"""`sample_many`: one model, many data sets. What is compiled for the first serves the others of its shapes."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from ppl.many.fits import Fits
from ppl.many.gathering import Sent, gathered, in_batches
from ppl.many.kept_fits import KeptFits, digest_of
from ppl.many.map_fits import asked_of_all, check_common, keeper
from ppl.many.one_fit import kept
from ppl.many.row_buckets import Buckets, buckets_for
from ppl.model.conditioning import clone_model
from ppl.model.context import model_may_be_first
from ppl.model.finishing.whose_run import parts_of_model
from ppl.model.inputs.data import set_data
from ppl.model.output.results import extend, given_groups, has_groups
from ppl.model.registry.variable_registry import Books
from ppl.model.seeds import seed_of

MOST_TOGETHER = 25  # data sets that are sent to another process at a time


@model_may_be_first
def sample_many(
    data: Mapping[str, Any] | Sequence[Mapping[str, Any]],
    *,
    model: Books | None = None,
    keep: str | Sequence[str] | Callable[[Any, Any], Any] = "summary",
    on_error: str = "return",
    executor: Any = None,
    checkpoint: str | os.PathLike[str] | None = None,
    buckets: bool | None = None,
    random_seed: Any = None,
    progressbar: bool = True,
    **sample_options: Any,
) -> Fits:
    """Fit a model to each of many data sets: what varies is `pm.Data`, and each data set gives them other values.

    Data sets of equal shapes share their programs, so that all but the first fit cost their draws alone. The model
    itself keeps its data.

    Parameters
    ----------
    data : dict or sequence of dicts
        Values by the names of `pm.Data`, those of the model where a name is left out: one dict for each fit, or one
        dict of arrays whose first axis goes over the fits.
    model : Model, optional
        The model; that of the `with` block by default.
    keep : str, sequence of str or callable, default "summary"
        What is kept of each fit, as in `map_fits`.
    on_error : {"return", "raise"}, default "return"
        Whether a fit that fails leaves a FitError in its place, or ends the call.
    executor : int, Executor or other, optional
        Where fits run, as in `map_fits`; None is this process. The model travels, and data sets in batches.
    checkpoint : path, optional
        A folder in which each fit is kept as soon as it is done, as in `map_fits`.
    buckets : bool, optional
        Whether data sets of many lengths are padded to a few, so that they share programs; padding does not count, and
        draws have the same law. By default where tables or groups are kept, there are more than five lengths, rows are
        left in the density that is sampled, and the model goes over them one by one.
    random_seed : int or other, optional
        The seed of all fits; each has its own, which follows from this one and its number.
    progressbar : bool, default True
        Whether a bar shows how many fits are done.
    **sample_options
        Arguments of `pm.sample`, as `draws` and `chains`.

    Returns
    -------
    Fits
        A sequence with a result or a FitError for each data set. After Ctrl-C it has what is done.

    Examples
    --------
    >>> with pm.Model() as model:
    ...     mu = pm.Normal("mu", 0, 10)
    ...     y = pm.Normal("y", mu, 1, observed=pm.Data("seen", [0.0, 0.0]))
    >>> fits = pm.sample_many({"seen": [[1.0, 2.0], [5.0, 6.0]]}, model=model, random_seed=1, draws=500)
    >>> [round(float(fit.loc["mu", "mean"]), 1) for fit in fits]
    [1.5, 5.5]
    """
    if model is None:
        raise TypeError("sample_many: call it inside a `with model:` block, or pass model=")
    check_common("sample_many", on_error, sample_options)
    sets, seed, own = _sets(data), seed_of(random_seed), clone_model(model)
    options = ({} if executor is None else {"cores": 1}) | sample_options
    store = None
    if checkpoint is not None:
        asked = asked_of_all("sample_many", keep, options, random_seed)
        told = {"model": digest_of(sorted(parts_of_model(own).items())), "buckets": buckets}
        store = KeptFits(checkpoint, {**told, **asked})
    first = {variable.name or "": variable.get_value() for variable in own.data_vars}
    plain = isinstance(keep, str | Sequence) and keep != "all" and "idata_kwargs" not in sample_options
    padded = buckets_for(own, sets, first, buckets if plain or buckets else False)
    job = _OfSets(own, padded, Sent(keeper(keep), "keep"), options, seed, first)
    lengths = lambda i: sorted((name, np.shape(values)) for name, values in sets[i].items())
    together = None if executor is None else in_batches(MOST_TOGETHER, lambda i: tuple(lengths(i)))
    return gathered(
        job, sets, executor=executor, batches=together, store=store, on_error=on_error, progressbar=progressbar
    )


class _OfSets(NamedTuple):
    """The fit of a data set."""

    model: Any
    buckets: Buckets | None
    keep: Callable[[Any, Any], Any]
    options: Mapping[str, Any]
    seed: int
    first: Mapping[str, Any]  # what a data set leaves out is as in the model

    def __call__(self, index: int, values: Mapping[str, Any]) -> Any:
        set_data({**self.first, **values}, self.model)
        if self.buckets is None or not self.buckets.holds(values, self.first):
            return kept(self.model, self.seed, index, self.keep, self.options)
        return kept(self.buckets.model, self.seed, index, self._as_of_model, self.options)

    def _as_of_model(self, result: Any, padded: Any) -> Any:
        """What is kept, of a result with the data of the model in place of those with padding."""
        if has_groups(result):
            result = extend(result, given_groups(self.model))
        return self.keep(result, self.model)


def _sets(data: Any) -> list[dict[str, Any]]:
    """The data sets, one by one."""
    if not isinstance(data, Mapping):
        return [dict(each) for each in data]
    arrays = {name: np.asarray(values) for name, values in data.items()}
    counts = {name: len(array) if array.ndim else None for name, array in arrays.items()}
    if not counts or len({*counts.values()}) > 1 or None in counts.values():
        told = ", ".join(f"{name}: {'a number' if n is None else n}" for name, n in counts.items())
        raise ValueError(
            f"sample_many: the first axis of all arrays goes over the data sets, and must have one length; got {told}"
        )
    return [{name: array[i] for name, array in arrays.items()} for i in range(next(iter(counts.values())))]
