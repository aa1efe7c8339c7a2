r"""`pm.kfold`: how well a model predicts rows that it has not seen, by fits without each of k folds of them.

For row i of fold f the log predictive density is the log of the mean, over draws of the posterior without that fold, of
its density,

.. math:: \log p(y_i \mid y_{-f}) \approx \log \frac1S \sum_s p(y_i \mid θ_s), \qquad θ_s \sim p(θ \mid y_{-f}),

and their sum over all rows estimates the expected log predictive density (Vehtari, Gelman & Gabry 2017, §2.3). No
importance weights are used, so that no row is too influential; the price is k fits.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np

from ppl.graph.records import record
from ppl.many.gathering import Sent, gathered
from ppl.many.kept_fits import KeptFits, digest_of
from ppl.many.map_fits import asked_of_all, check_common, named
from ppl.many.one_fit import QUIETLY, built, seed_of_fit
from ppl.model.arguments import count
from ppl.model.context import model_to_read
from ppl.model.finishing.whose_run import parts_of_model
from ppl.model.inference.sampling import sample
from ppl.model.inputs.data import set_data
from ppl.model.inputs.data_values import value_now
from ppl.model.output.traces import from_trace
from ppl.model.prediction.pointwise import log_likelihood_values
from ppl.model.registry.variable_registry import Books
from ppl.model.seeds import seed_of
from ppl.scoring.folds import folds_of, given_folds
from ppl.scoring.leaving_out import LEFT_IN, variable_of_points, with_points_left_out


@record
class KFold:
    """What cross-validation by folds found: `elpd`, the sum of `pointwise`, with its standard error `se`.

    `folds` has the number of the fold of each row, `divergent` how many draws of each fit diverged.
    """

    pointwise: np.ndarray  # log predictive densities, in the shape of the rows
    folds: np.ndarray
    draws: int  # of each fit
    divergent: list[int]
    seconds: float

    @property
    def elpd(self) -> float:
        """The expected log predictive density of as many new rows."""
        return float(self.pointwise.sum())

    @property
    def se(self) -> float:
        """Its standard error, rows taken as independent."""
        return float(np.sqrt(self.pointwise.size) * np.std(self.pointwise, ddof=1))

    @property
    def table(self) -> Any:
        """One row for each fold: how many rows it has, their log predictive density, divergences of its fit."""
        import pandas as pd

        flat = self.pointwise.reshape(-1)
        k = len(self.divergent)
        columns = {
            "rows": np.bincount(self.folds, minlength=k),
            "elpd": np.bincount(self.folds, flat, minlength=k),
            "divergent": self.divergent,
        }
        return pd.DataFrame(columns, index=pd.RangeIndex(k, name="fold"))

    def for_arviz(self) -> Any:
        """The same in the form that `az.compare` takes; the effective number of parameters is not known here."""
        import arviz as az
        import xarray as xr

        pointwise = xr.DataArray(self.pointwise, name="loo_i")
        if not hasattr(az, "ELPDData"):
            raise NotImplementedError(
                "KFold.for_arviz: this version of ArviZ has no az.ELPDData; compare the sums of `pointwise` by hand"
            )
        facts = {
            "elpd_loo": self.elpd, "se": self.se, "p_loo": np.nan, "n_samples": self.draws,
            "n_data_points": self.pointwise.size, "warning": any(self.divergent), "loo_i": pointwise, "scale": "log",
        }  # fmt: skip
        return az.ELPDData(data=list(facts.values()), index=list(facts))

    def __str__(self) -> str:
        told = f"elpd {self.elpd:.2f}, standard error {self.se:.2f}: {self.pointwise.size} rows in"
        return f"{told} {len(self.divergent)} folds, {self.seconds:.1f} s\n{self.table}"


def kfold(
    model: Books | Callable[[np.ndarray], Any] | None = None,
    k: int = 10,
    *,
    rows: int | None = None,
    groups: Any = None,
    stratify: Any = None,
    folds: Any = None,
    var_name: str | None = None,
    executor: Any = None,
    checkpoint: str | os.PathLike[str] | None = None,
    random_seed: Any = None,
    progressbar: bool = True,
    **sample_options: Any,
) -> KFold:
    """Expected log predictive density by k-fold cross-validation: each fold of rows is predicted by a fit without it.

    Parameters
    ----------
    model : Model or callable, optional
        The model, that of the `with` block by default; or a function `build(places)` that returns the model of the rows
        at some places, for data whose rows cannot be left out one by one (series, processes, vectors).
    k : int, default 10
        How many folds; as many as there are rows leave one out.
    rows : int, optional
        How many rows there are, where the model is a function.
    groups : array, optional
        A label of each row; rows with the same one are left out together, as when new groups are to be predicted.
    stratify : array, optional
        A label of each row, of which each fold shall have its share.
    folds : array, optional
        The fold of each row, in place of `k`.
    var_name : str, optional
        The observed variable, where there are several.
    executor : int, Executor or other, optional
        Where fits run, as in `map_fits`.
    checkpoint : path, optional
        A folder in which each fold is kept as soon as it is done, as in `map_fits`.
    random_seed : int or other, optional
        Of the folds and of all fits; each fit has its own, which follows from this one and its number.
    progressbar : bool, default True
        Whether a bar shows how many fits are done.
    **sample_options
        Arguments of `pm.sample`, as `draws` and `chains`.

    Returns
    -------
    KFold
        Sum, standard error, and the log predictive density of each row; `.for_arviz()` is for `az.compare`.

    Examples
    --------
    >>> with pm.Model() as model:
    ...     mu = pm.Normal("mu", 0, 10)
    ...     y = pm.Normal("y", mu, 1, observed=[0.1, -0.4, 0.8, 0.3, 1.1, -0.2])
    >>> found = pm.kfold(model, 3, random_seed=1, progressbar=False)
    >>> found.pointwise.shape, found.table["rows"].tolist()
    ((6,), [2, 2, 2])
    """
    check_common("kfold", "raise", sample_options)
    seed = seed_of(random_seed)
    built_here = model is None or isinstance(model, Books)
    if built_here:
        if rows is not None:
            raise TypeError("kfold: rows= says how many a function has to choose from; a model knows that itself")
        model = model_to_read(model)  # type: ignore[arg-type]
        name, shape = _points(model, var_name)
    elif callable(model):
        given = next((len(each) for each in (folds, groups, stratify) if each is not None), rows)
        if given is None:
            raise TypeError("kfold: with a function, say by rows= how many rows there are")
        name, shape = var_name, (given,)
    else:
        raise TypeError(f"kfold: model is a Model or a function of places of rows, got {model!r}")
    total = int(np.prod(shape))
    number = count("k", k, 2)
    of_row = folds_of(total, number, groups, stratify, seed) if folds is None else given_folds(folds, total)
    options = {**QUIETLY, **({} if executor is None else {"cores": 1}), **sample_options}
    job: Any
    if built_here:
        job = _OfModel(model, with_points_left_out(model, name or "", shape), name or "", options, seed)  # type: ignore[arg-type]
    else:
        job = _OfFunction(Sent(model, "build"), name, options, seed)  # type: ignore[arg-type]
    items = [_Fold(np.flatnonzero(of_row != f), np.flatnonzero(of_row == f)) for f in range(of_row.max() + 1)]
    store = None
    if checkpoint is not None:
        about = {"model": digest_of(sorted(parts_of_model(model).items()))} if built_here else named("model", model)  # type: ignore[arg-type]
        store = KeptFits(checkpoint, {**about, "var_name": name, **asked_of_all("kfold", "", options, random_seed)})
    fits = gathered(
        job, items, executor=executor, store=store, on_error="raise", progressbar=progressbar, words="Folds"
    )
    if fits.interrupted:
        raise KeyboardInterrupt
    pointwise = np.empty(total)
    for item, fit in zip(items, fits, strict=True):
        pointwise[item.held_out] = fit.elpd
    return KFold(pointwise.reshape(shape), of_row, fits[0].draws, [fit.divergent for fit in fits], fits.seconds)


class _Fold(NamedTuple):
    """Places of the rows that are fitted, and of those that are predicted."""

    fitted: np.ndarray
    held_out: np.ndarray


class _Predicted(NamedTuple):
    elpd: np.ndarray  # of each row that was held out
    draws: int
    divergent: int


class _OfModel(NamedTuple):
    """A fold of a model, rows of which are left out by data of it."""

    model: Any
    without: Any
    var_name: str
    options: Mapping[str, Any]
    seed: int

    def __call__(self, index: int, fold: _Fold) -> _Predicted:
        set_data({LEFT_IN: fold.fitted}, self.without)
        result = sample(model=self.without, random_seed=seed_of_fit(self.seed, index), **self.options)
        if self.var_name in [rv.name for rv in self.without.observed_RVs]:  # then rows can be taken one by one
            set_data({LEFT_IN: fold.held_out}, self.without)
            return _predicted(result, self.without, self.var_name, slice(None))
        return _predicted(result, self.model, self.var_name, fold.held_out)


class _OfFunction(NamedTuple):
    """A fold of a function that builds models of rows."""

    build: Callable[..., Any]
    var_name: str | None
    options: Mapping[str, Any]
    seed: int

    def __call__(self, index: int, fold: _Fold) -> _Predicted:
        model, other = (built(self.build, places, "build(places)") for places in fold)
        result = sample(model=model, random_seed=seed_of_fit(self.seed, index), **self.options)
        names = [str(rv.name) for rv in other.observed_RVs]
        if self.var_name is None and len(names) != 1:
            raise ValueError(f"kfold: the model observes {', '.join(names) or 'nothing'}: say which by var_name=")
        found = _predicted(result, other, self.var_name or names[0], slice(None))
        if found.elpd.shape != fold.held_out.shape:
            raise ValueError(
                f"kfold: the model of {len(fold.held_out)} rows observes {len(found.elpd)}: build(places) has to"
                " return a model that observes the rows at these places, and no others"
            )
        return found


def _predicted(result: Any, model: Any, name: str, held_out: Any) -> _Predicted:
    """The log predictive densities of rows under draws of a posterior that has not seen them."""
    if result.posterior.attrs.get("interrupted"):
        raise KeyboardInterrupt
    draws = from_trace(result)
    values = {str(rv.name): draws.values[str(rv.name)] for rv in model.free_RVs if rv.name in draws.values}
    terms = log_likelihood_values(model, values, [name])[name]
    terms = terms.reshape(terms.shape[0] * terms.shape[1], -1)[:, held_out]
    top = terms.max(axis=0)
    top = np.where(np.isfinite(top), top, 0.0)
    with np.errstate(divide="ignore"):  # a row that no draw allows
        elpd = top + np.log(np.mean(np.exp(terms - top), axis=0))
    return _Predicted(elpd, len(terms), int(result.sample_stats["diverging"].sum()))


def _points(model: Books, var_name: str | None) -> tuple[str, tuple[int, ...]]:
    """The observed variable whose points are left out, and their shape."""
    name = variable_of_points(model, var_name, "kfold")
    observed = model.named_vars[name]
    if observed in model.processes:
        raise NotImplementedError(
            f'kfold: the points of "{name}" depend on each other, so that they are left out one at a time alone'
            " (pm.loo_wrapper). For folds give a function of places that builds the model of these rows."
        )
    value = value_now(model.rvs_to_values[observed])
    if value is None:
        raise NotImplementedError(
            f'kfold: "{name}" has entries that are missing, and are drawn. Leave them out of the data, or give a'
            " function of places that builds the model of these rows."
        )
    return name, np.shape(value)
