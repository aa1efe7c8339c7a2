"""`map_fits`: a model for each of many items, sampled wherever there is room.

What is sent to a worker is a function that builds a model, and an item; no model travels. The seed of a fit follows
from the number of its item, so that the results are the same on every engine, in every order and on any number of
workers. Programs are shared through the folder on disk: what one worker has compiled, the others read.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from ppl.many.fits import Fits
from ppl.many.gathering import Sent, gathered
from ppl.many.kept_fits import KeptFits, code_of
from ppl.many.one_fit import Groups, Summary, Whole, Work
from ppl.model.seeds import seed_of
from ppl.model.version import __version__


def map_fits(
    build: Callable[[Any], Any],
    items: Iterable[Any],
    *,
    executor: Any = None,
    keep: str | Sequence[str] | Callable[[Any, Any], Any] = "summary",
    on_error: str = "return",
    checkpoint: str | os.PathLike[str] | None = None,
    random_seed: Any = None,
    progressbar: bool = True,
    **sample_options: Any,
) -> Fits:
    """Fit a model to each of many items: stores, patients, folds, simulated data sets.

    Parameters
    ----------
    build : callable
        `build(item)` returns the Model of an item. It runs where the fit runs.
    items : iterable
        What the models are built of. Items and results travel, so that they must be picklable where `executor` has
        other processes.
    executor : int, Executor or other, optional
        None: one fit after the other, in this process. A number: so many processes of this machine. Any Executor of
        `concurrent.futures`; a Client of Dask; the module `ray`; a `joblib.Parallel`; an executor of submitit.
    keep : str, sequence of str or callable, default "summary"
        What is kept of each fit: "summary", the table of `pm.summary` with all digits; "all", the whole result; names
        of its groups, as ["posterior"]; or a function of the result and the model.
    on_error : {"return", "raise"}, default "return"
        Whether a fit that fails leaves a FitError in its place, or ends the call.
    checkpoint : path, optional
        A folder in which each fit is kept as soon as it is done. A later call with the same arguments goes on from
        there; what `build` reads beside its item is not looked at. It belongs to the user alone, since reading pickled
        results runs code.
    random_seed : int or other, optional
        The seed of all fits; each has its own, which follows from this one and the number of its item.
    progressbar : bool, default True
        Whether a bar shows how many fits are done.
    **sample_options
        Arguments of `pm.sample`, as `draws` and `chains`. With `executor`, `cores` is 1 unless it is said here.

    Returns
    -------
    Fits
        A sequence with a result or a FitError for each item, in their order. After Ctrl-C it has what is done.

    Examples
    --------
    >>> def build(y):
    ...     with pm.Model() as model:
    ...         mu = pm.Normal("mu", 0, 10)
    ...         pm.Normal("y", mu, 1, observed=y)
    ...     return model
    >>> fits = pm.map_fits(build, [[1.0, 1.2], [5.0, 6.0, 7.0]], random_seed=1, draws=500)
    >>> [round(fit.loc["mu", "mean"]) for fit in fits]
    [1, 6]
    """
    if not callable(build):
        raise TypeError(f"map_fits: build is a function of an item that returns a Model, got {build!r}")
    check_common("map_fits", on_error, sample_options)
    items, seed, kept = list(items), seed_of(random_seed), keeper(keep)
    options = ({} if executor is None else {"cores": 1}) | sample_options
    job = Work(Sent(build, "build"), Sent(kept, "keep"), options, seed)
    store = None if checkpoint is None else KeptFits(checkpoint, _asked(build, keep, options, random_seed))
    return gathered(job, items, executor=executor, store=store, on_error=on_error, progressbar=progressbar)


def check_common(who: str, on_error: str, sample_options: Mapping[str, Any]) -> None:
    """Refuse what no call of many fits takes."""
    if on_error not in ("return", "raise"):
        raise ValueError(f'{who}: on_error is "return" or "raise", got {on_error!r}')
    for name in ("model", "blocking", "callback", "resume"):
        if name in sample_options:
            raise TypeError(f"{who}: {name}= belongs to a single fit: leave it out")


def keeper(keep: Any) -> Callable[[Any, Any], Any]:
    """The function of a result and its model that `keep` means."""
    if keep == "summary":
        return Summary()
    if keep == "all":
        return Whole()
    if callable(keep):
        return keep
    if isinstance(keep, str) or not keep or not all(isinstance(name, str) for name in keep):
        raise ValueError(f'keep is "summary", "all", names of groups as ["posterior"], or a function; got {keep!r}')
    return Groups(keep)


def _asked(build: Any, keep: Any, options: Mapping[str, Any], seed: Any) -> dict[str, Any]:
    """What a folder of fits holds results of."""
    return {**named("build", build), **asked_of_all("map_fits", keep, options, seed)}


def asked_of_all(who: str, keep: Any, options: Mapping[str, Any], seed: Any) -> dict[str, Any]:
    """What all calls of many fits say of a folder: what is kept, how chains run, by which seed and version."""
    if seed is None:
        raise ValueError(f"{who}: checkpoint= goes on with the same fits later, which takes random_seed=")
    told = {key: value for key, value in options.items() if key != "cores"}
    return {
        **(named("keep", keep) if callable(keep) else {"keep": keep}),
        "arguments": sorted(told.items()),
        "random_seed": seed_of(seed),
        "version of ppl": __version__,
    }


def named(what: str, f: Any) -> dict[str, str]:
    """The name of a function and what stands for its text."""
    name = f"{getattr(f, '__module__', '')}.{getattr(f, '__qualname__', type(f).__qualname__)}"
    return {what: name, f"code of {what}": code_of(f)}
