"""`pm.loo_wrapper`: a model and its result in the form that `az.reloo` and moment matching ask for.

Leave-one-out cross-validation by importance sampling fails for points that the posterior depends on much. There the
model is fitted again without the point (`reloo`), or the draws are moved by maps of the unconstrained space until their
weights are good (`loo_moment_match`). Both need a model that can be asked; this is the door to it. Which points a refit
has is Data, so that one compiled program serves all refits.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np

import ppl.tensor as tt
from ppl.distributions import is_draw
from ppl.distributions.draws.draw import draw
from ppl.graph import ancestors, substitute
from ppl.model.context import model_to_read
from ppl.model.inference.sampling import sample
from ppl.model.inputs.data import Data
from ppl.model.inputs.observing import observe_variable
from ppl.model.model import Model, empty_like
from ppl.model.output.traces import from_trace
from ppl.model.posterior.rewriting import rewritten
from ppl.model.prediction.pointwise import log_likelihood_values
from ppl.model.registry.named import Potential
from ppl.model.registry.rebuilding import rebuilt
from ppl.model.registry.variable_registry import Books
from ppl.scoring.bridge_sampling import positions_of
from ppl.smc.tempered import Tempered, path_of
from ppl.tensor.tensor import Tensor

LEFT_IN = "points that are left in"


class LooWrapper:
    """What `az.reloo` calls: `sel_observations`, `sample`, `get_inference_data`, `log_likelihood__i`; and what
    `loo_moment_match` is given: `upars`, `log_prob_upars`, `log_lik_i_upars`."""

    def __init__(self, idata: Any, model: Books, var_name: str, options: dict[str, Any]) -> None:
        self.idata_orig, self.model, self.var_name, self.sample_kwargs = idata, model, var_name, options
        self._shape = np.shape(log_likelihood_values(model, _first(idata), [var_name])[var_name])[2:]

    def check_implemented_methods(self, methods: Sequence[str]) -> list[str]:
        """Which of the methods that ArviZ needs are not there: none."""
        return [name for name in methods if not hasattr(self, name)]

    def sel_observations(self, idx: Any) -> tuple[int, int]:
        """The place of a point among all of them, in C order; twice, for the fit without it and for its score."""
        place = int(np.ravel_multi_index(tuple(np.atleast_1d(idx).astype(int)), self._shape)) if self._shape else 0
        return place, place

    def sample(self, left_out: int) -> Any:
        """The posterior without a point, by the settings of the wrapper."""
        model = self._without
        model.set_data(LEFT_IN, np.delete(np.arange(int(np.prod(self._shape))), left_out))
        return sample(model=model, **self.sample_kwargs)

    def get_inference_data(self, fitted_model: Any) -> Any:
        """The result of a refit, which is one already."""
        return fitted_model

    def log_likelihood__i(self, left_out: int, idata__i: Any) -> Any:
        """The log-density of the point that was left out under each draw of the posterior without it."""
        values = {name: x for name, x in from_trace(idata__i).values.items() if name in self._free}
        return self._as_array(self._scores(values, left_out))

    @cached_property
    def upars(self) -> Any:
        """The draws on the unconstrained scale, (chain, draw, upars_dim), by the model as written."""
        import xarray as xr

        positions = positions_of(self._path, from_trace(self.idata_orig).values)
        names = [f"{s.variable.name}{list(i) if i else ''}" for s in self._path.slots for i in np.ndindex(s.shape)]
        return xr.DataArray(positions, dims=("chain", "draw", "upars_dim"), coords={"upars_dim": names})

    def log_prob_upars(self, upars: Any) -> Any:
        """The log-density of the posterior, up to a constant, at unconstrained points."""
        rows = np.asarray(upars, float).reshape(-1, self._path.dim)
        found = np.add(*self._path.at(rows, np.zeros((len(rows), 2), np.uint32)))
        return self._as_array(found.reshape(upars.shape[:2]))

    def log_lik_i_upars(self, upars: Any, i: int) -> Any:
        """The log-density of one point at unconstrained points."""
        values = self._path.finisher(0).values(np.asarray(upars, float))
        return self._as_array(self._scores({name: values[name] for name in self._free}, int(i)))

    @property
    def _free(self) -> list[str]:
        return [rv.name or "" for rv in self.model.free_RVs]

    @cached_property
    def _path(self) -> Tempered:
        return path_of(rewritten(self.model, False), proper=False)

    def _scores(self, values: dict[str, np.ndarray], place: int) -> np.ndarray:
        found = log_likelihood_values(self.model, values, [self.var_name])[self.var_name]
        one: np.ndarray = found.reshape(*found.shape[:2], -1)[..., place]
        return one

    def _as_array(self, values: np.ndarray) -> Any:
        import xarray as xr

        return xr.DataArray(values, dims=("chain", "draw"))

    @cached_property
    def _without(self) -> Model:
        return with_points_left_out(self.model, self.var_name, self._shape)


def with_points_left_out(model: Books, var_name: str, shape: Sequence[int]) -> Model:
    """The model that sees some points of an observed variable alone: those whose places are its data `LEFT_IN`, all but
    the first until others are set."""
    observed = model.named_vars[var_name]
    made = rebuilt(model, empty_like(model), left_out=frozenset([var_name]))
    at = {var: made.named_vars[name] for name, var in model.named_vars.items() if name in made.named_vars}
    value = substitute(model.rvs_to_values[observed], at)
    with made:
        left_in = Data(LEFT_IN, np.arange(1, int(np.prod(shape))))
        if observed in model.processes:
            _of_process(observed, value, at, left_in, int(np.prod(shape)))
        elif any(is_draw(p) for p in observed.parameters):  # type: ignore[attr-defined]
            _of_terms(observed, value, at, left_in)
        else:
            _of_rows(made, observed, value, at, left_in, shape)
    return made


def _of_rows(made: Model, observed: Any, value: Any, at: Any, left_in: Tensor, shape: Sequence[int]) -> None:
    """Fewer rows of the same family, which rewriting knows as well as all of them."""
    parameters = []
    for parameter, declared in zip(observed.parameters, observed.family.params.values(), strict=True):
        own = declared.domain.ndim if declared.domain is not None else 0
        given = substitute(parameter, at)
        core = given.shape[given.ndim - own :]
        if given.ndim > own:
            given = tt.reshape(tt.broadcast_to(given, (*shape, *core)), (-1, *core))[left_in]
        parameters.append(given)
    rv = draw(observed.family, tuple(parameters), (left_in.shape[0],), observed.name)
    observe_variable(made, rv, tt.reshape(value, (-1,))[left_in], None, None, {})


def _of_terms(observed: Any, value: Any, at: Any, left_in: Tensor) -> None:
    """The log-densities of the points that are left in, as they are."""
    terms = observed.family.log_density(value, *[substitute(p, at) for p in observed.parameters])
    Potential(observed.name, tt.sum(tt.reshape(terms, (-1,))[left_in]))


def _of_process(observed: Any, value: Any, at: Any, left_in: Tensor, count: int) -> None:
    """Of points that depend on each other: the joint density over that of the point given the others."""
    parameters = [substitute(p, at) for p in observed.parameters]
    joint = observed.family.log_density(value, *parameters)
    given_others = tt.reshape(observed.family.given_others(value, *parameters), (-1,))
    left_out = count * (count - 1) // 2 - tt.sum(left_in)
    Potential(observed.name, tt.sum(joint) - given_others[left_out])


def _first(idata: Any) -> dict[str, np.ndarray]:
    """One draw of everything."""
    return {name: x[:1, :1] for name, x in from_trace(idata).values.items()}


def loo_wrapper(idata: Any, model: Books | None = None, *, var_name: str | None = None, **sample_kwargs: Any) -> Any:
    """A model and its result for `az.reloo` and `loo_moment_match`: refits without a point, and densities of draws.

    `sample_kwargs` are those of `pm.sample` for refits; by default as many draws and chains as the result has. All
    refits share one program. Moment matching takes `upars=wrapper.upars`, `log_prob_upars_fn=wrapper.log_prob_upars`,
    `log_lik_i_upars_fn=wrapper.log_lik_i_upars`.

    >>> import ppl as pm
    >>> with pm.Model() as model:
    ...     y = pm.Normal("y", pm.Normal("mu", 0, 10), 1, observed=[0.1, -0.3, 9.0])
    ...     draws = pm.sample(500, chains=2, random_seed=1, quiet=True, idata_kwargs={"log_likelihood": True})
    >>> wrapper = pm.loo_wrapper(draws, model)
    >>> left_out, place = wrapper.sel_observations([2])
    >>> bool(abs(wrapper.sample(left_out).posterior["mu"].mean() + 0.1) < 0.1)  # az.reloo(wrapper) does this
    True
    """
    model = model_to_read(model)
    name = variable_of_points(model, var_name, "loo_wrapper")
    draws = from_trace(idata).values
    missing = [rv.name or "" for rv in model.free_RVs if rv.name not in draws]
    if missing:
        raise KeyError(f"loo_wrapper: the draws have no values of {', '.join(missing)}; sample without var_names=")
    lead = next(iter(draws.values())).shape[:2]
    options = {"chains": lead[0], "draws": lead[1], "quiet": True, "random_seed": 1, **sample_kwargs}
    return LooWrapper(idata, model, name, options)


def variable_of_points(model: Books, var_name: str | None, who: str) -> str:
    """The observed variable whose points are left out; raises where that cannot be done."""
    names = [rv.name or "" for rv in model.observed_RVs]
    if var_name is None and len(names) != 1:
        told = f"there are {', '.join(names)}: say which by var_name=" if names else "the model has none"
        raise ValueError(f"{who}: leaving points out takes one observed variable, and {told}.")
    name = var_name or names[0]
    if name not in names:
        raise ValueError(f'{who}: "{name}" is no observed variable; there are {", ".join(names) or "none"}.')
    observed = model.named_vars[name]
    others = [v for other, v in model.named_vars.items() if other != name and observed in ancestors([v])]
    if others:
        raise NotImplementedError(
            f'{who}: {", ".join(str(v.name) for v in others)} depend on "{name}" itself, so that its points '
            "cannot be left out one by one. Leave blocks of the series out by models of your own."
        )
    vectors = observed.family.support_for(observed.parameters).ndim  # type: ignore[attr-defined]
    if vectors and observed not in model.processes:
        raise NotImplementedError(
            f'{who}: "{name}" is {observed.family.__name__}, whose values are vectors; points of single numbers '  # type: ignore[attr-defined]
            "can be left out, and those of gp.Marginal and gp.MarginalKron."
        )
    return name
