"""Models from models: interventions, observations, other transforms, frozen data, copies."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from typing import Any

from ppl.distributions import is_draw
from ppl.distributions.transforms import Transform
from ppl.graph import Node, ancestors
from ppl.model.model import Model, empty_like
from ppl.model.registry.rebuilding import is_expression, rebuilt, refers
from ppl.model.registry.variable_registry import Books
from ppl.tensor.core.labelled import takes_labelled
from ppl.tensor.tensor import Tensor


def _variables(model: Books, chosen: Mapping[Any, Any], what: str) -> dict[Tensor, Any]:
    found: dict[Tensor, Any] = {}
    for key, value in chosen.items():
        var = model.variable(key) if isinstance(key, str) else key
        if not any(var is each for each in model.named_vars.values()):
            raise ValueError(f"{what}: {var!r} is no variable of the model")
        found[var] = value
    return found


@takes_labelled
def do(
    model: Books,
    vars_to_interventions: Mapping[Any, Any],
    *,
    make_interventions_shared: bool = True,
    prune_vars: bool = False,
) -> Model:
    """The model in which some variables or data are set from outside: what they depended on has no influence on them
    any more.

    Parameters
    ----------
    model : Model
        The model, which stays as it is.
    vars_to_interventions : dict
        Values by variables or names. What is set to an expression of itself stays, and others use `do_` and its name in
        its place.
    make_interventions_shared : bool, default True
        Whether interventions become Data, which `set_data` can change, or fixed values.
    prune_vars : bool, default False
        Whether variables are left out that no observed variable and no potential needs.

    Returns
    -------
    Model

    Examples
    --------
    >>> with pm.Model() as model:
    ...     rain = pm.Bernoulli("rain", 0.3)
    ...     wet = pm.Bernoulli("wet", 0.1 + 0.8 * rain)
    >>> set_to_rain = pm.do(model, {"rain": 1})
    >>> [rv.name for rv in set_to_rain.free_RVs]
    ['wet']
    """
    chosen = _variables(model, vars_to_interventions, "do")
    for var in chosen:
        if any(var is p for p in model.potentials):
            raise ValueError(
                f"do: {var.name!r} is a potential; intervene on a random variable, a deterministic or data"
            )
    left_out: frozenset[str] = frozenset()
    if prune_vars:
        needed = _behind_observations(model, chosen)
        needed |= ancestors([value for var, value in chosen.items() if var in needed and is_expression(value)])
        left_out = frozenset(name for name, v in model.named_vars.items() if v not in needed)
    made = rebuilt(
        model, empty_like(model), interventions=chosen, as_data_variables=make_interventions_shared, left_out=left_out
    )
    for var, value in chosen.items():
        if is_expression(value) and refers(value, var):
            warnings.warn(
                f"Intervention expression references the variable that is being intervened: {var.name}. It is called "
                f"do_{var.name}, and {var.name} stays as it is.",
                UserWarning,
                stacklevel=2,
            )
    return made


def _behind_observations(model: Books, set_from_outside: Mapping[Tensor, Any]) -> set[Node]:
    """What observed variables and potentials need; what is set from outside needs nothing, and is no observation."""
    seen = [rv for rv in model.observed_RVs if rv not in set_from_outside]
    wanted = [*model.potentials, *seen, *(model.rvs_to_values[rv] for rv in seen)]
    return ancestors(wanted, blockers=set_from_outside)


def prune_vars_detached_from_observed(model: Books) -> Model:
    """The model without the variables that no observed variable and no potential needs.

    >>> from ppl.model.transform.basic import prune_vars_detached_from_observed
    >>> with pm.Model() as model:
    ...     mu, apart = pm.Normal("mu"), pm.Normal("apart")
    ...     y = pm.Normal("y", mu, observed=1.0)
    >>> list(prune_vars_detached_from_observed(model).named_vars)
    ['mu', 'y']
    """
    needed = _behind_observations(model, {})
    left_out = frozenset(name for name, var in model.named_vars.items() if var not in needed)
    return rebuilt(model, empty_like(model), left_out=left_out)


@takes_labelled
def observe(model: Books, vars_to_observations: Mapping[Any, Any]) -> Model:
    """The model in which some variables are observed; what was observed before has the new value.

    A deterministic with draws of its own, as `pm.math.clip(pm.Normal.dist(mu, 1), 0, 1)`, can be observed too: its law
    follows from theirs.

    Parameters
    ----------
    model : Model
        The model, which stays as it is.
    vars_to_observations : dict
        Data by variables or names. Missing values become variables.

    Returns
    -------
    Model

    Examples
    --------
    >>> with pm.Model() as model:
    ...     mu = pm.Normal("mu", 0, 1)
    ...     y = pm.Normal("y", mu, 1, shape=2)
    >>> [rv.name for rv in pm.observe(model, {"y": [0.3, 0.2]}).observed_RVs]
    ['y']
    """
    chosen = _variables(model, vars_to_observations, "observe")
    named = {*model.basic_RVs}
    for var in chosen:
        if any(var is rv for rv in model.basic_RVs):
            continue
        if not any(var is d for d in model.deterministics):
            raise ValueError(f"observe: {var.name!r} is neither a random variable nor a deterministic of the model")
        if not any(is_draw(node) and node not in named for node in ancestors([var], blockers=named)):
            raise ValueError(
                f"observe: {var.name!r} follows from other variables of the model without a draw of its own, so that it"
                " has no density. Observe one of these, or write it with a draw inside, as in pm.Normal.dist()."
            )
    return rebuilt(model, empty_like(model), observations=chosen)


def clone_model(model: Books) -> Model:
    """A copy that shares nothing that can change.

    >>> with pm.Model() as model:
    ...     s = pm.HalfNormal("s", 1)
    >>> clone = pm.clone_model(model)
    >>> clone.free_RVs[0].name, clone.free_RVs[0] is s
    ('s', True)
    """
    return rebuilt(model, empty_like(model))


@takes_labelled
def change_value_transforms(model: Books, vars_to_transforms: Mapping[Any, Transform | None]) -> Model:
    """The model with other transforms for some free variables; None for no transform.

    >>> with pm.Model() as model:
    ...     s = pm.HalfNormal("s", 1)
    >>> plain = pm.change_value_transforms(model, {"s": None})
    >>> [v.name for v in plain.value_vars]
    ['s']
    """
    chosen = _variables(model, vars_to_transforms, "change_value_transforms")
    for var in chosen:
        if not any(var is rv for rv in model.free_RVs):
            raise ValueError(
                f"change_value_transforms: {var.name!r} is not a free variable of the model, and only these have "
                f"transforms: {', '.join(rv.name or '' for rv in model.free_RVs) or 'none'}"
            )
    return rebuilt(model, empty_like(model), transforms=chosen)


@takes_labelled
def remove_value_transforms(model: Books, vars: Sequence[Any] | None = None) -> Model:
    """The model whose free variables (all, or those given) have no transforms.

    >>> with pm.Model() as model:
    ...     s = pm.HalfNormal("s", 1)
    >>> [v.name for v in pm.remove_value_transforms(model).value_vars]
    ['s']
    """
    chosen = model.free_RVs if vars is None else vars
    return change_value_transforms(model, dict.fromkeys(chosen))


def freeze_dims_and_data(model: Books, dims: Sequence[str] | None = None, data: Sequence[str] | None = None) -> Model:
    """The model with Data as constants (all, or those named), so that all shapes are known; dimensions follow.

    >>> with pm.Model() as model:
    ...     x = pm.Data("x", [1.0, 2.0])
    ...     y = pm.Normal("y", x, 1)
    >>> frozen = pm.freeze_dims_and_data(model)
    >>> frozen["y"].type.shape
    (2,)
    """
    known = [v.name or "" for v in model.data_vars]
    for name in data or ():
        if name not in known:
            raise KeyError(f"the model has no Data {name!r}; it has {', '.join(known) or 'none'}")
    for name in dims or ():
        if name not in model.dim_lengths:
            raise KeyError(f"the model has no dimension {name!r}; it has {', '.join(model.dim_lengths) or 'none'}")
    return rebuilt(model, empty_like(model), frozen=known if data is None else list(data))
