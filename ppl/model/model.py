"""The model as users meet it: its books, its density, its starting points, its pictures."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any

import numpy as np

import ppl.tensor as tt
from ppl.compile import Function, function
from ppl.graph import ancestors
from ppl.model.context import modelcontext
from ppl.model.errors import ShapeError, ShapeWarning, StartError
from ppl.model.former import OF_MODELS, hint
from ppl.model.inputs.data import set_data
from ppl.model.posterior.call_times import CallTimes, call_times
from ppl.model.posterior.density import Joint, add_all
from ppl.model.posterior.point import Point, initial_point
from ppl.model.posterior.point_functions import PointFunction, ValueGradFunction
from ppl.model.posterior.rewriting import Posterior, rewritten
from ppl.model.posterior.starts import check_start
from ppl.model.registry.rebuilding import rebuilt
from ppl.model.registry.registration import Registration
from ppl.model.registry.variable_registry import Books, home_of
from ppl.model.seeds import seed_of
from ppl.model.views import drawing_model, printing
from ppl.model.views.debugging import debug
from ppl.tensor.core.labelled import bare
from ppl.tensor.tensor import Tensor


class Model(Registration):
    """A Bayesian model. Inside `with Model() as model:` every named distribution becomes a variable of it.

    Parameters
    ----------
    name : str, default ""
        Stands before the names of the variables of a model inside another (`"group::mu"`).
    coords : dict, optional
        Labels by the names of dimensions, as in `coords={"school": ["A", "B"]}`; `dims="school"` then gives a variable
        its shape, and results their labels.
    check_bounds : bool, default True
        PyMC's argument, kept as an attribute: parameters outside their domains have the density 0 in any case.
    coords_mutable : dict, optional
        Further labels, by the argument that earlier versions of PyMC had for those that may change; here all may.
    model : Model or None, optional
        The model around it; by default that of the `with` block, if there is one.

    Examples
    --------
    >>> import ppl as pm
    >>> with pm.Model() as model:
    ...     mu = pm.Normal("mu", 0, 5)
    ...     y = pm.Normal("y", mu, 1, observed=[1.0, 2.0])
    >>> [rv.name for rv in model.free_RVs]
    ['mu']
    >>> round(float(model.compile_logp()({"mu": 0.0})), 3)
    -6.866
    """

    def __getattr__(self, name: str) -> Any:
        """A variable of this model as an attribute, where nothing else is called so."""
        if "named_vars" in self.__dict__ and (full := self.name_for(name)) in self.named_vars:
            return self.named_vars[full]
        raise AttributeError(f"a Model has no attribute {name!r}{hint(name, OF_MODELS)}")

    # --- copies -----------------------------------------------------------------------------------------------------
    def copy(self) -> Model:
        """A model of its own with the same variables, which shares nothing that can change."""
        return rebuilt(self, empty_like(self))

    def __copy__(self) -> Model:
        return self.copy()

    def __deepcopy__(self, memo: Any) -> Model:
        return self.copy()

    # --- density ----------------------------------------------------------------------------------------------------
    def logp(self, vars: Any = None, jacobian: bool = True, sum: bool = True, *, rewrite: bool = False) -> Any:
        """The log-density as a graph over the value variables: of the model, or of some variables.

        With `sum=False` a list with one array a variable, entry by entry. With `rewrite=True` that of what sampling
        would work on, where variables are summed or integrated out: a loss for training what is left.
        """
        if rewrite:
            return self._rewritten(vars, jacobian, sum).logp()
        joint = Joint(self)
        chosen, potentials = self._chosen(vars)
        parts = [joint.logp(rv, jacobian) for rv in chosen] + [joint.at_values(p) for p in potentials]
        return add_all([tt.sum(part) for part in parts]) if sum else parts

    def _chosen(self, vars: Any) -> tuple[list[Tensor], list[Tensor]]:
        """The variables and potentials meant, in the order of the model."""
        if vars is None:
            return self.basic_RVs, self.potentials
        if isinstance(vars, Mapping):
            raise TypeError("logp() is a graph of some variables: the value at a point is compile_logp()(point)")
        asked = vars if isinstance(vars, list | tuple) else [vars]
        by_value = self.values_to_rvs
        wanted = {by_value.get(v, v) for v in (self.variable(v) if isinstance(v, str) else bare(v) for v in asked)}
        for v in wanted:
            if not any(v is each for each in (*self.basic_RVs, *self.potentials)):
                raise ValueError(f"{v!r} is no random variable or potential of this model")
        return [rv for rv in self.basic_RVs if rv in wanted], [p for p in self.potentials if p in wanted]

    def _rewritten(self, vars: Any, jacobian: bool, sum: bool) -> Posterior:
        if vars is not None or not jacobian or not sum:
            raise ValueError("rewrite=True is about the whole density: leave vars, jacobian and sum out")
        return rewritten(self, moved=False)

    def dlogp(self, vars: Any = None, jacobian: bool = True) -> Tensor:
        """The gradient of the log-density with respect to continuous values, as one vector."""
        return self.gradient_of(self.logp(jacobian=jacobian), self._continuous(vars))

    def gradient_of(self, logp: Tensor, values: list[Tensor]) -> Tensor:
        """The gradient of a number with respect to values, as one vector."""
        slopes = tt.grad(logp, values, disconnected_inputs="ignore")
        return tt.concatenate([slope.reshape((-1,)) for slope in slopes])

    def d2logp(self, vars: Any = None, jacobian: bool = True, negate_output: bool = True) -> Tensor:
        """The matrix of second derivatives, negated unless asked otherwise (as in PyMC)."""
        values = self._continuous(vars)
        gradient = self.dlogp(vars, jacobian)
        blocks = tt.jacobian(gradient, values, disconnected_inputs="ignore")
        rows = gradient.shape[0]
        hessian = tt.concatenate([block.reshape((rows, -1)) for block in blocks], axis=1)
        return -hessian if negate_output else hessian

    def _continuous(self, vars: Any) -> list[Tensor]:
        if vars is None:
            return self.continuous_value_vars
        asked = vars if isinstance(vars, list | tuple) else [vars]
        return [self.rvs_to_values.get(v, v) for v in map(bare, asked)]

    @property
    def varlogp(self) -> Tensor:
        """The log-density of the free variables, on the transformed scale."""
        return self.logp(self.free_RVs)

    @property
    def varlogp_nojac(self) -> Tensor:
        """The log-density of the free variables, without the Jacobians of transforms."""
        return self.logp(self.free_RVs, jacobian=False)

    @property
    def observedlogp(self) -> Tensor:
        """The log-density of the observed variables."""
        return self.logp(self.observed_RVs)

    @property
    def potentiallogp(self) -> Tensor:
        """The sum of the potentials."""
        return self.logp(self.potentials)

    @property
    def datalogp(self) -> Tensor:
        """The log-density of data and potentials."""
        return self.observedlogp + self.potentiallogp

    def compile_fn(
        self, outs: Any, *, inputs: Any = None, mode: Any = None, point_fn: bool = True, **options: Any
    ) -> Function | PointFunction:
        """A compiled function of values: called with a point (a dict), or with arrays if not `point_fn`."""
        given = self.value_vars if inputs is None else list(inputs)
        options.setdefault("on_unused_input", "ignore")
        if not point_fn:
            return function(given, outs, mode=mode, **options)
        return PointFunction(self, given, outs, {"mode": mode, **options})

    def compile_logp(
        self, vars: Any = None, jacobian: bool = True, sum: bool = True, *, rewrite: bool = False, **options: Any
    ) -> Any:
        """The log-density as a compiled function of a point; with `rewrite=True` of what sampling would work on."""
        if rewrite:
            posterior = self._rewritten(vars, jacobian, sum)
            return self.compile_fn(posterior.logp(), inputs=posterior.values, **options)
        return self.compile_fn(self.logp(vars, jacobian, sum), **options)

    def compile_dlogp(self, vars: Any = None, jacobian: bool = True, **options: Any) -> Any:
        """The gradient as a compiled function of a point."""
        return self.compile_fn(self.dlogp(vars, jacobian), **options)

    def compile_d2logp(
        self, vars: Any = None, jacobian: bool = True, negate_output: bool = True, **options: Any
    ) -> Any:
        """The second derivatives as a compiled function of a point."""
        return self.compile_fn(self.d2logp(vars, jacobian, negate_output), **options)

    def logp_dlogp_function(
        self,
        grad_vars: Any = None,
        tempered: bool = False,
        initial_point: Mapping[str, Any] | None = None,
        ravel_inputs: bool | None = None,
        *,
        compute_grads: bool = True,
        **options: Any,
    ) -> ValueGradFunction:
        """Log-density and gradient (or without it) as one compiled function, of a point or of one flat array.

        With `tempered=True` data and potentials count by a weight, 1 until `set_weights` says another.
        """
        if ravel_inputs is False:
            raise TypeError("logp_dlogp_function takes a point, or a flat array: leave ravel_inputs=False out")
        start = initial_point or self.initial_point()
        return ValueGradFunction(self, grad_vars, start, options, tempered, compute_grads)

    # --- points -----------------------------------------------------------------------------------------------------
    def initial_point(self, random_seed: Any = None) -> Point:
        """A value for every unconstrained variable; the seed matters to those with initval="prior" alone."""
        return initial_point(self, seed=seed_of(random_seed))

    def set_initval(self, rv_var: Any, initval: Any) -> None:
        """Where sampling starts a variable."""
        rv = self.variable(rv_var) if isinstance(rv_var, str) else bare(rv_var)
        if rv not in self.rvs_to_initial_values:
            raise KeyError(f"{rv!r} is no free variable of this model")
        check_start(rv, initval)
        (home_of(rv) or self).rvs_to_initial_values[rv] = initval

    def point_logps(
        self, point: Mapping[str, Any] | None = None, round_vals: int = 2, **options: Any
    ) -> dict[str, Any]:
        """The log-density of each variable and potential at a point."""
        point = self.initial_point() if point is None else point
        named = [*self.basic_RVs, *self.potentials]
        parts = self.compile_fn([tt.sum(p) for p in self.logp(named, sum=False)], **options)(point)
        return {v.name or "": np.round(np.asarray(value), round_vals) for v, value in zip(named, parts, strict=True)}

    def check_start_vals(self, start: Any, **options: Any) -> None:
        """Raise where the density at starting values is not finite, naming the variables."""
        for point in start if isinstance(start, list | tuple) else [start]:
            known = {v.name for v in self.value_vars}
            unknown = set(point) - known
            if unknown:
                raise KeyError(
                    f"Some start parameters do not appear in the model: {', '.join(sorted(unknown))}. "
                    f"It has {', '.join(sorted(map(str, known)))}."
                )
            found = self.point_logps(point, 10, **options)
            bad = {name: float(value) for name, value in found.items() if not np.isfinite(value)}
            if bad:
                raise StartError(
                    f"the log-density at the starting values is not finite for {bad}. model.debug() says why."
                )

    def eval_rv_shapes(self) -> dict[str, tuple[int, ...]]:
        """The shape of every free variable and of its value."""
        point = self.initial_point()
        shapes = {name: np.shape(value) for name, value in point.items()}
        for rv in self.free_RVs:
            value = self.rvs_to_values[rv]
            transform = self.rvs_to_transforms[rv]
            if transform is not None and None not in rv.type.shape:
                shapes[rv.name or ""] = rv.type.shape
            elif rv.name not in shapes:
                shapes[rv.name or ""] = shapes[value.name or ""]
        return shapes

    debug = debug

    def profile(
        self, outs: Any, *, n: int = 1000, point: Any = None, profile: bool = True, **options: Any
    ) -> CallTimes:
        """Seconds a call of a compiled expression takes, as the median, the least and the mean of `n` calls."""
        if not profile:
            raise ValueError("profile() measures: profile=False has no meaning here")
        return call_times(self.compile_fn(outs, **options), self.initial_point() if point is None else point, n)

    # --- data and dimensions ----------------------------------------------------------------------------------------
    def set_data(self, name: str, values: Any, coords: Mapping[str, Any] | None = None) -> None:
        """Another value for Data."""
        set_data({name: values}, self, coords=coords)

    def set_dim(self, name: str, new_length: int, coord_values: Any = None) -> None:
        """Another length for a dimension that no data fix."""
        if name not in self.dim_lengths:
            raise KeyError(f"the model has no dimension {name!r}; it has {', '.join(self.dim_lengths) or 'none'}")
        if coord_values is not None and len(coord_values) != new_length:
            raise ShapeError(f"dimension {name!r}: {len(coord_values)} labels for length {new_length}")
        labels = self.coords[name]
        if coord_values is None and labels is not None and len(labels) != new_length:
            raise ValueError(
                f"dimension {name!r} has {len(labels)} labels, and shall have length {new_length}: pass coord_values="
            )
        known = self._dim_lengths[name]
        if isinstance(known, int) and known != new_length:
            users = [key for key, dims in self.root.named_vars_to_dims.items() if name in dims]
            if users:
                raise ValueError(
                    f"dimension {name!r} has length {known}, fixed when {', '.join(users)} was made, and cannot get "
                    f"length {new_length}: PyMC leaves shapes open, here a variable is made with its "
                    f"shape. A length that changes is that of data: make Data with dims={name!r} before the variables, "
                    "and change it with set_data(..., coords=...); or build the model anew."
                )
            self._dim_lengths[name] = new_length
        elif self.present_length(name) != new_length:
            owners = [var.name or "" for var in self.root.data_vars if var in ancestors([known])]
            told = f"dimension {name!r} has length {self.present_length(name)}, that of the data {', '.join(owners)}"
            if coord_values is None:
                first = f"set_data({{{owners[0]!r}: ...}}, coords=...)"
                raise ValueError(f"{told}, and cannot get length {new_length} without them: {first}")
            warnings.warn(
                f"{told}, and labels for length {new_length}: set these data too.", ShapeWarning, stacklevel=2
            )
        if coord_values is not None:
            self.coords[name] = tuple(coord_values)

    # --- showing ----------------------------------------------------------------------------------------------------
    def str_repr(self, formatting: str = "plain", include_params: bool = True) -> str:
        """The model as lines of name ~ distribution; `formatting` is "plain" or "latex"."""
        return printing.str_for_model(self, formatting, include_params)

    def __str__(self) -> str:
        return self.str_repr()

    def __repr__(self) -> str:
        return self.str_repr()

    def _repr_latex_(self) -> str:
        return self.str_repr("latex")

    def table(self, **options: Any) -> Any:
        """The variables with their distributions, dimensions and shapes, as a rich table."""
        return printing.table(self, **options)

    def to_graphviz(self, **options: Any) -> Any:
        """The picture of the model, by graphviz."""
        return drawing_model.model_to_graphviz(self, **options)

    def to_mermaid(self, **options: Any) -> str:
        """The picture of the model, as Mermaid text."""
        return drawing_model.model_to_mermaid(self, **options)

    def to_networkx(self, **options: Any) -> Any:
        """The picture of the model, as a NetworkX graph."""
        return drawing_model.model_to_networkx(self, **options)


def empty_like(model: Books) -> Model:
    """A model without variables, by the name and with the checks of another."""
    return Model(model.name, check_bounds=model.check_bounds, model=None)


def compile_fn(outs: Any, *, inputs: Any = None, model: Model | None = None, **options: Any) -> Any:
    """`model.compile_fn` for the model of the `with` block: a compiled function of values of its variables.

    >>> with pm.Model() as model:
    ...     x = pm.Normal("x", 0, 1)
    ...     f = pm.compile_fn(model.logp())
    >>> round(float(f({"x": 0.0})), 3)
    -0.919
    """
    found: Any = modelcontext(model)
    return found.compile_fn(outs, inputs=inputs, **options)


def point_of(
    *args: Any, filter_model_vars: bool = False, model: Model | None = None, **kwargs: Any
) -> dict[str, np.ndarray]:
    """A dict of arrays by name, from names or variables; only of the model's values with `filter_model_vars`.

    >>> pm.Point(mu=1.0)
    {'mu': array(1.)}
    """
    point = {str(getattr(k, "name", k)): np.asarray(v) for k, v in dict(*args, **kwargs).items()}
    if filter_model_vars:
        known = {v.name for v in modelcontext(model).value_vars}
        point = {name: value for name, value in point.items() if name in known}
    return point
