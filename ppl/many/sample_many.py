"""`sample_many`: one model, many data sets. What is compiled for the first serves the others of its shapes."""

from __future__ import annotations

import time
import traceback
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from ppl.many.fits import FitError, Fits
from ppl.many.map_fits import INTERRUPTED, check_common, keeper
from ppl.many.one_fit import kept
from ppl.model.conditioning import clone_model
from ppl.model.context import model_may_be_first
from ppl.model.inference.bar import Bar
from ppl.model.inputs.data import set_data
from ppl.model.registry.variable_registry import Books
from ppl.model.seeds import seed_of


@model_may_be_first
def sample_many(
    data: Mapping[str, Any] | Sequence[Mapping[str, Any]],
    *,
    model: Books | None = None,
    keep: str | Sequence[str] | Callable[[Any, Any], Any] = "summary",
    on_error: str = "return",
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
    sets, seed, keep_of = _sets(data), seed_of(random_seed), keeper(keep)
    own, options = clone_model(model), {"progressbar": False, "quiet": True, **sample_options}
    first = {variable: variable.get_value() for variable in own.data_vars}
    began, found, interrupted = time.perf_counter(), [], False
    with Bar("Fits", progressbar) as bar:
        for i, values in enumerate(sets):
            for variable, value in first.items():  # what a data set leaves out is as in the model
                variable.set_value(value)
            try:
                set_data(values, own)
                found.append(kept(own, seed, i, keep_of, options))
            except KeyboardInterrupt:
                interrupted = True
                break
            except Exception as error:
                if on_error == "raise":
                    raise
                found.append(FitError(i, values, f"{type(error).__name__}: {error}", traceback.format_exc()))
            bar.advance(1, len(sets))
    found += [FitError(i, sets[i], INTERRUPTED) for i in range(len(found), len(sets))]
    return Fits(found, time.perf_counter() - began, interrupted)


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
