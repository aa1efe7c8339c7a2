"""Draws from a model run forwards: prior and posterior predictive draws, and `draw`."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ppl.graph import Node, ancestors, substitute, topological
from ppl.model.arguments import check_keys, check_truths, chosen_names, count
from ppl.model.bar import Bar
from ppl.model.context import model_may_be_first, model_to_read
from ppl.model.errors import ParameterValueError, ShapeError
from ppl.model.inputs.read_once import refuse_read_once
from ppl.model.log import log
from ppl.model.output import results
from ppl.model.output.hidden import is_hidden, shown
from ppl.model.output.sampler_warnings import not_numbers, tell
from ppl.model.output.traces import Draws, from_trace
from ppl.model.posterior.snapshot import naming_data
from ppl.model.prediction.draw_rows import draw_keys
from ppl.model.prediction.forwards import drawn_over
from ppl.model.prediction.restricted_priors import restricted_draws
from ppl.model.prediction.taken_from_draws import changed_data, relabeled, taken_from_draws
from ppl.model.seeds import seed_of
from ppl.tensor.core.labelled import takes_labelled
from ppl.tensor.tensor import Tensor, TensorType, as_tensor, placeholder
from ppl.tensor.variables import Variable

if TYPE_CHECKING:
    from ppl.model.model import Model

RESULT_OPTIONS = ("coords", "dims")
USUAL_GROUPS = ("posterior_predictive", "constant_data", "observed_data")


@takes_labelled
def draw(vars: Any, draws: int = 1, random_seed: Any = None, **kwargs: Any) -> Any:
    """Draws of one or several random expressions and all that they depend on.

    Parameters
    ----------
    vars : tensor or list of tensors
        What is drawn; those that are drawn together share what they depend on.
    draws : int, default 1
        How many; above 1 they lie along a new first axis.
    random_seed : int, sequence of int, Generator or RandomState, optional
        The same seed gives the same draws.
    **kwargs
        Options of `ppl.function`, with which the draws are compiled.

    Returns
    -------
    array or list of arrays

    Examples
    --------
    >>> import ppl as pm
    >>> pm.draw(pm.Normal.dist(0, 1, shape=3), draws=5, random_seed=1).shape
    (5, 3)
    """
    check_keys("draw()", kwargs, ("mode",))
    draws = count("draws", draws, 1)
    several = isinstance(vars, list | tuple)
    wanted = [as_tensor(v) for v in (vars if several else [vars])]
    values = [value[0] if draws > 1 else value[0, 0, ...] for value in forward(wanted, seed_of(random_seed), draws)]
    return values if several else values[0]


def forward(outputs: Sequence[Tensor], seed: int, draws: int) -> list[np.ndarray]:
    """Independent draws of expressions, each (1, draws, ...)."""
    return drawn_over(outputs, {}, [draw_keys(seed, "forward", 1, draws)])


@model_may_be_first
def sample_prior_predictive(
    draws: int = 500,
    model: Model | None = None,
    var_names: Any = None,
    random_seed: Any = None,
    return_inferencedata: bool = True,
    idata_kwargs: Mapping[str, Any] | None = None,
    compile_kwargs: Mapping[str, Any] | None = None,
    samples: int | None = None,
) -> Any:
    """Draws of the model before it has seen data.

    Parameters
    ----------
    draws : int, default 500
        How many.
    model : Model, optional
        The model; by default that of the `with` block.
    var_names : list of str, optional
        What is drawn; by default all but transformed values.
    random_seed : int, sequence of int, Generator or RandomState, optional
        The same seed gives the same draws.
    return_inferencedata : bool, default True
        False gives a dictionary of arrays.
    idata_kwargs : dict, optional
        "coords" and "dims" of the result.
    compile_kwargs : dict, optional
        PyMC's argument; XLA compiles every program.
    samples : int, optional
        The older name of `draws`.

    Returns
    -------
    InferenceData, DataTree or dict
        Groups `prior`, `prior_predictive`, `observed_data`, `constant_data`.

    Examples
    --------
    >>> with pm.Model():
    ...     mu = pm.Normal("mu", 0, 1)
    ...     y = pm.Normal("y", mu, 1, observed=[0.3, 0.1])
    ...     prior = pm.sample_prior_predictive(100, random_seed=1)
    >>> prior.prior_predictive["y"].shape
    (1, 100, 2)
    """
    if samples is not None:
        if draws != 500:
            raise ValueError("draws and samples are the same argument: give one of them")
        draws = samples
    draws = count("draws", draws, 1)
    options = check_keys("idata_kwargs", idata_kwargs, RESULT_OPTIONS)
    check_keys("compile_kwargs", compile_kwargs, ("mode",))
    model = model_to_read(model)
    known = [v.name or "" for v in (*model.basic_RVs, *model.deterministics)]
    names = shown(known) if var_names is None else chosen_names("var_names", var_names, known)
    names = _drawn_row_by_row(model, names, var_names, "prior")
    _tell_of_potentials(model, "prior")
    drawn = [rv.name for rv in model.basic_RVs if rv in ancestors([model.named_vars[n] for n in names])]
    log.info("Sampling: [%s]", ", ".join(sorted(map(str, drawn))))
    with naming_data(model):
        found = _of_prior(model, [model.named_vars[name] for name in names], seed_of(random_seed), draws)
    values = dict(zip(names, found, strict=True))
    if not return_inferencedata:
        return {name: value[0] for name, value in values.items()}
    observed = {rv.name for rv in model.observed_RVs}
    groups = {}
    for group, inside in (("prior", False), ("prior_predictive", True)):
        part = {name: value for name, value in values.items() if (name in observed) is inside}
        if part:
            groups[group] = results.group(model, part, **options)
    return results.collect({**groups, **results.given_groups(model, **options)})


def _of_prior(model: Model, outputs: Sequence[Tensor], seed: int, draws: int) -> list[np.ndarray]:
    """Draws from the prior: where a transform restricts a variable, from the law that the model gives it."""
    given, columns = restricted_draws(model, outputs, seed, draws)
    places: dict[Node, Tensor] = {
        rv: placeholder(TensorType(rv.dtype, column.shape[2:]), rv.name)
        for rv, column in zip(given, columns, strict=True)
    }
    return drawn_over(outputs, places, [draw_keys(seed, "forward", 1, draws), *columns])


def _drawn_row_by_row(model: Model, names: Sequence[str], asked: Any, what: str) -> list[str]:
    """The names without those whose rows are not kept; what was asked for by name is refused, and so is nothing."""
    left = [name for name in names if name not in model.read_once]
    if asked is not None or not left:
        refuse_read_once(model, names, f"{what} predictive draws")
    return left


def _tell_of_potentials(model: Model, what: str) -> None:
    """Warn that draws are those of the random variables alone."""
    if model.potentials:
        names = ", ".join(str(p.name) for p in model.potentials)
        text = f"The effect of potentials ({names}) on other variables is left out of {what} predictive draws."
        warnings.warn(text, UserWarning, stacklevel=3)


def _depending_on_observed(model: Model) -> set[str]:
    """Observed variables, and deterministics that follow from them."""
    observed = set(model.observed_RVs)
    after = [d for d in model.deterministics if observed & ancestors(d)]
    return {v.name or "" for v in (*model.observed_RVs, *after)}


def sample_posterior_predictive(
    trace: Any,
    model: Model | None = None,
    var_names: Any = None,
    sample_dims: Sequence[str] | None = None,
    random_seed: Any = None,
    progressbar: bool = True,
    progressbar_theme: Any = None,
    return_inferencedata: bool = True,
    extend_inferencedata: bool = False,
    predictions: bool = False,
    idata_kwargs: Mapping[str, Any] | None = None,
    compile_kwargs: Mapping[str, Any] | None = None,
) -> Any:
    """New data for every draw of a posterior, all made at once, in chunks of bounded memory.

    Parameters
    ----------
    trace : InferenceData, DataTree, Dataset, MultiTrace or list of dict
        Draws of the posterior.
    model : Model, optional
        The model; by default that of the `with` block. Its Data may be others than those it was sampled with.
    var_names : list of str, optional
        What is drawn: by default the observed variables. A free variable that is named is drawn anew, and so is all
        that depends on it or on Data that changed; the log says which.
    sample_dims : sequence of str, optional
        The dimensions of draws; by default `("chain", "draw")`.
    random_seed : int, sequence of int, Generator or RandomState, optional
        The same seed gives the same draws.
    progressbar : bool, default True
        Whether a bar is shown where it takes longer than half a second.
    progressbar_theme : optional
        PyMC's argument, without effect.
    return_inferencedata : bool, default True
        False gives a dictionary of arrays.
    extend_inferencedata : bool, default False
        Whether the groups are added to `trace`.
    predictions : bool, default False
        Whether the groups are called `predictions` and `predictions_constant_data`.
    idata_kwargs : dict, optional
        "coords" and "dims" of the result.
    compile_kwargs : dict, optional
        PyMC's argument; XLA compiles every program.

    Returns
    -------
    InferenceData, DataTree or dict
        Group `posterior_predictive`, or `predictions`, with the data.

    Examples
    --------
    >>> with pm.Model():
    ...     mu = pm.Normal("mu", 0, 1)
    ...     y = pm.Normal("y", mu, 1, observed=[0.3, 0.1])
    ...     posterior = pm.sample(200, chains=2, random_seed=1, quiet=True)
    ...     new = pm.sample_posterior_predictive(posterior, random_seed=1, progressbar=False)
    >>> new.posterior_predictive["y"].shape
    (2, 200, 2)
    """
    if progressbar_theme is not None:
        raise TypeError("progressbar_theme= is not supported: the display has one set of colors")
    options = check_keys("idata_kwargs", idata_kwargs, RESULT_OPTIONS)
    check_keys("compile_kwargs", compile_kwargs, ("mode",))
    check_truths(
        return_inferencedata=return_inferencedata, extend_inferencedata=extend_inferencedata, predictions=predictions
    )
    if extend_inferencedata and not return_inferencedata:
        raise ValueError("extend_inferencedata=True needs return_inferencedata=True")
    model = model_to_read(model)
    draws = from_trace(trace, sample_dims)
    known = [v.name or "" for v in (*model.basic_RVs, *model.deterministics)]
    observed = _depending_on_observed(model)
    names = (
        shown([n for n in known if n in observed]) if var_names is None else chosen_names("var_names", var_names, known)
    )
    names = _drawn_row_by_row(model, names, var_names, "posterior") if names else names
    if not names:
        log.warning("The model has no observed variables, so nothing is drawn: say with var_names= what to draw.")
        if extend_inferencedata:
            return trace
        return results.collect({}) if return_inferencedata else {}
    _tell_of_potentials(model, "posterior")
    _refuse_hidden(model, names, draws)
    bar = Bar("Sampling", progressbar)
    changed = changed_data(model, trace)
    given = taken_from_draws(model, names, draws, changed, relabeled(model, trace))
    _tell_of_unknown_data(model, names, draws, given, changed)
    values = _drawn(model, names, draws, given, seed_of(random_seed), bar)
    if not return_inferencedata:
        return {name: draws.laid_out(value) for name, value in values.items()}
    group = draws.as_group(model, values, **options)
    name, constant, observed = ("predictions", "predictions_constant_data", None) if predictions else USUAL_GROUPS
    groups = {name: group, **results.given_groups(model, constant, observed, **options)}
    if not extend_inferencedata:
        return results.collect(groups)
    there = set() if predictions else set(results.group_names(trace)) - {name}
    return results.extend(trace, {key: each for key, each in groups.items() if key not in there})


def _refuse_hidden(model: Model, names: Sequence[str], draws: Draws) -> None:
    """Refuse to draw from the prior what the posterior has, but the result leaves out for its name."""
    behind = ancestors([model.named_vars[name] for name in names])
    known = {*draws.values, *names}
    for rv in model.free_RVs:
        if rv in behind and rv.name not in known and is_hidden(rv.name or ""):
            raise ValueError(
                f'the draws do not hold "{rv.name}", whose name looks like that of an unconstrained value: sample with '
                'idata_kwargs={"include_transformed": True}, call it otherwise, or name it in var_names to draw it'
            )


def _tell_of_unknown_data(
    model: Model, names: Sequence[str], draws: Draws, given: Sequence[Tensor], changed: Mapping[Variable, Any]
) -> None:
    """Say which variables are drawn anew though the posterior has them, for want of the data it was drawn with."""
    unknown = [v for v, before in changed.items() if before is None]
    outputs = [model.named_vars[name] for name in names]
    behind = ancestors(outputs, blockers=given) - set(outputs) - set(given)
    anew = [rv.name or "" for rv in model.free_RVs if rv in behind and rv.name in draws.values]
    found = [name for name in anew if not ancestors([model.named_vars[name]]).isdisjoint(unknown)]
    if found:
        log.warning(
            "%s: drawn anew, not taken from the trace, since it does not tell which %s its draws were made with. "
            "Give the whole result of sample(), with its constant_data, to keep those draws.",
            ", ".join(found), ", ".join(v.name or "" for v in unknown),
        )  # fmt: skip


def _drawn(
    model: Model, names: Sequence[str], draws: Draws, given: Sequence[Tensor], seed: int, bar: Bar
) -> dict[str, np.ndarray]:
    """Draws of the named variables, one for each draw of the posterior, which holds what is `given`."""
    outputs = [model.named_vars[name] for name in names]
    places: dict[Node, Tensor] = {}
    columns = []
    for node in given:
        value = _column(node, draws.values[node.name or ""])
        places[node] = placeholder(TensorType(node.dtype, value.shape[2:]), node.name)
        columns.append(value)
    behind = topological(outputs, blockers=given)
    in_model = set(model.basic_RVs)
    resampled = [str(n.name) for n in behind if isinstance(n, Tensor) and n in in_model and n not in places]
    log.info("Sampling: [%s]", ", ".join(sorted(resampled)))
    chains, length = next(iter(draws.values.values())).shape[:2] if draws.values else draws.shape
    try:
        keys = draw_keys(seed, "predict", chains, length)
        found = drawn_over(outputs, places, [keys, *columns], shown=bar, spare=True)
    except ParameterValueError:
        raise
    except (TypeError, ValueError) as error:
        raise _shape_clash(model, error, given, columns) from error
    values = dict(zip(names, found, strict=True))
    tell(not_numbers(values, "predictive draws"))
    return values


def _column(node: Tensor, value: np.ndarray) -> np.ndarray:
    known = node.type.shape
    found = value.shape[2:]
    if len(found) != len(known) or any(n is not None and n != m for n, m in zip(known, found, strict=True)):
        raise ShapeError(f'"{node.name}" has shape {known} in the model, but {found} in the draws')
    return value.astype(node.dtype, copy=False)


def _shape_clash(model: Model, error: Exception, given: Sequence[Tensor], columns: Sequence[np.ndarray]) -> Exception:
    data = {v.name: np.shape(v.value) for v in model.data_vars}
    kept = {node.name: column.shape[2:] for node, column in zip(given, columns, strict=True)}
    why = _clash(model, given, columns) or str(error).rstrip(".")
    return ShapeError(
        f"the draws do not fit the model's data any more: {why}. Data now: {data}; from the posterior: {kept}. Give "
        "every Data that shares a dimension a new value in one set_data call, or draw the variable anew with var_names."
    )


def _clash(model: Model, given: Sequence[Tensor], columns: Sequence[np.ndarray]) -> str | None:
    """The first variable whose shape cannot be had from data of now and draws of then, and why."""
    known: dict[Node, Node] = {v: placeholder(TensorType(v.dtype, np.shape(v.value)), v.name) for v in model.data_vars}
    for node, column in zip(given, columns, strict=True):
        known[node] = placeholder(TensorType(node.dtype, column.shape[2:]), node.name)
    for var in sorted((*model.basic_RVs, *model.deterministics), key=lambda var: var.serial):
        try:
            if var not in known:
                known[var] = substitute(var, known)
        except (TypeError, ValueError) as error:
            return f'"{var.name}": {str(error).removesuffix(".")}'
    return None
