"""Compiled functions of points: dicts from the names of value variables to arrays.

XLA takes a microsecond for each argument of a program, so the values of a point are put one after the other into one
vector, and the program takes them out again. How, is fixed when a function is built; a call looks at shapes and dtypes
once. A value that does not pass as it is goes the slow way, where it is converted or refused by name.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import prod
from operator import itemgetter
from typing import Any

import numpy as np

from ppl.compile import Function, function
from ppl.compile.inputs import In, fitting, survives
from ppl.compile.modes import get_mode
from ppl.model.posterior.snapshot import naming_data
from ppl.model.posterior.vectors import RaveledVars, join_nonshared_inputs
from ppl.model.registry.variable_registry import Books
from ppl.tensor.tensor import INPUT, Tensor, TensorType, placeholder
from ppl.tensor.variables import Variable, shared


class Reader:
    """Takes the values of variables out of points, as arrays that fit, or numbers where a variable is one."""

    def __init__(self, variables: Sequence[Tensor], who: str = "the function", downcast: bool | None = None) -> None:
        self._inputs, self._who, self._downcast = list(map(In, variables)), who, downcast
        self.names = [x.name or "" for x in variables]
        self._of_point: Callable[[Any], Sequence[Any]] = itemgetter(*self.names) if len(self.names) > 1 else self._few
        self._shapes = self._seen = [x.type.shape for x in variables]
        self._dtypes = [np.dtype(x.dtype) for x in variables]

    def __call__(self, point: Mapping[str, Any]) -> Sequence[Any]:
        try:
            values = self._of_point(point)
        except KeyError:
            missing = ", ".join(name for name in self.names if name not in point)
            raise KeyError(f"the point has no value for {missing}; it has {', '.join(point) or 'none'}") from None
        try:
            if [v.shape for v in values] == self._seen and [v.dtype for v in values] == self._dtypes:
                return values
        except AttributeError:  # a number, or a list
            pass
        values = [self._fitting(at, value) for at, value in enumerate(values)]
        self._seen = [np.shape(value) for value in values]  # open lengths are most often those of the last call
        return values

    def _few(self, point: Mapping[str, Any]) -> list[Any]:
        return [point[name] for name in self.names]

    def _fitting(self, at: int, value: Any) -> Any:
        """The value, converted where no number is lost; raises where it cannot be one of its variable."""
        shape, dtype = self._shapes[at], self._dtypes[at]
        if type(value) is float and not shape and dtype == np.float64:
            return value
        if isinstance(value, np.ndarray) and value.shape == shape and value.dtype == dtype:
            return value
        try:
            return fitting(self._who, at, self._inputs[at], value, self._downcast)
        except TypeError:
            whole = in_its_dtype(self._inputs[at].variable, value)
            return fitting(self._who, at, self._inputs[at], whole, self._downcast)


def in_its_dtype(x: Tensor, value: Any) -> Any:
    """A value in the dtype of its variable, where no number is lost: whole numbers may come as floats."""
    array = np.asarray(value)
    whole = array.dtype.kind in "biuf" and x.dtype[0] in "biu" and survives(array, x.dtype)
    return array.astype(x.dtype) if whole else value


class Joined:
    """Tensors as parts of one vector for each dtype; those of open shape stay alone.

    `inputs` are the vectors and the tensors that are alone, `parts` the expressions that stand for the others.
    """

    def __init__(self, tensors: Sequence[Tensor]) -> None:
        kinds: dict[str, list[int]] = {}
        for at, x in enumerate(tensors):
            if None not in x.type.shape:
                kinds.setdefault(x.dtype, []).append(at)
        self.parts: dict[Tensor, Tensor] = {}
        self.inputs: list[Tensor] = []
        self._places = [places for places in kinds.values() if len(places) > 1]
        for places in self._places:
            stops = np.cumsum([prod(tensors[at].type.shape) for at in places]).tolist()  # type: ignore[arg-type]
            vector = placeholder(TensorType(tensors[places[0]].dtype, (stops[-1],)))
            self.inputs.append(vector)
            for at, start, stop in zip(places, [0, *stops], stops, strict=False):
                self.parts[tensors[at]] = vector[start:stop].reshape(tensors[at].type.shape)
        joined = {at for places in self._places for at in places}
        self._alone = [at for at in range(len(tensors)) if at not in joined]
        self.inputs += [tensors[at] for at in self._alone]
        self._whole = len(self.inputs) == 1 and not self._alone

    def __call__(self, values: Sequence[Any]) -> list[Any]:
        """The values of `inputs`."""
        if self._whole:
            return [np.concatenate(values, axis=None)]
        vectors = [np.concatenate([values[at] for at in places], axis=None) for places in self._places]
        return [*vectors, *[values[at] for at in self._alone]]


JOINED_WITH = {"mode", "on_unused_input", "name", "allow_input_downcast"}  # options that say nothing of single inputs


class PointFunction:
    """A compiled function that is called with a point: a dict from names of value variables to arrays."""

    def __init__(self, model: Books, inputs: Sequence[Tensor], outputs: Any, options: Mapping[str, Any]) -> None:
        self.model = model
        self._asked = list(inputs), outputs, dict(options)
        self._f: Function | None = None
        self._joined = Joined(inputs) if self._may_join() else None
        if self._joined is None:
            self._run = self.f
        else:
            self._run = function(self._joined.inputs, outputs, givens=self._joined.parts, **options)
        who = f'function "{self._run.name}"' if self._run.name else "the function"
        given = self.f.inputs if self._joined is None else self._asked[0]
        self._values = Reader(given, who, options.get("allow_input_downcast"))

    def _may_join(self) -> bool:
        """Whether nothing is asked but values of the outputs: a mode that tells of single values calls each by its own
        name."""
        inputs, _, options = self._asked
        plain = all(getattr(x, "op", None) is INPUT for x in inputs) and len(set(inputs)) == len(inputs)
        asked = options.keys() <= JOINED_WITH and options.get("on_unused_input") == "ignore"
        return plain and asked and not get_mode(options.get("mode")).guards()

    @property
    def f(self) -> Function:
        """The same as a function of the values, one by one."""
        if self._f is None:
            inputs, outputs, options = self._asked
            self._f = function(inputs, outputs, **options)
        return self._f

    def __call__(self, point: Mapping[str, Any]) -> Any:
        try:
            values = self._values(point)
            return self._run(*(values if self._joined is None else self._joined(values)))
        except (TypeError, ValueError):
            with naming_data(self.model):
                raise


class ValueGradFunction:
    """The log-density and its gradient, as a compiled function of a point or of a flat array.

    `raw` is for programs that call it a million times.
    """

    def __init__(
        self,
        model: Any,
        grad_vars: Any,
        start: Mapping[str, Any],
        options: Mapping[str, Any],
        tempered: bool = False,
        compute_grads: bool = True,
    ) -> None:
        values = model._continuous(grad_vars)
        self._weight: Variable | None = shared(np.ones(()), "weight") if tempered else None
        logp = model.logp() if self._weight is None else model.varlogp + self._weight * model.datalogp
        wanted = [logp, model.gradient_of(logp, values)] if compute_grads else [logp]
        outputs, vector = join_nonshared_inputs(start, wanted, values)
        others = [v for v in model.value_vars if v not in set(values)]
        self._f: Function = function([vector, *others], outputs, **{"on_unused_input": "ignore", **options})
        self._model, self._grad_vars = model, values
        shapes = [np.shape(start[v.name]) for v in values]
        self._values = Reader(
            [placeholder(TensorType(v.dtype, s), v.name) for v, s in zip(values, shapes, strict=True)]
        )
        self._layout = ", ".join(f"{v.name}{list(s) if s else ''}" for v, s in zip(values, shapes, strict=True))
        self._shape, self._dtype = vector.type.shape, np.dtype(vector.dtype)
        self._others = Reader(others)
        self.set_extra_values({v.name: start[v.name] for v in others})

    def set_extra_values(self, extra_vars: Mapping[str, Any]) -> None:
        """Values of the variables in which no derivative is taken."""
        unknown = ", ".join(sorted(set(extra_vars) - set(self._others.names)))
        if unknown:
            raise KeyError(f"no further variables are called {unknown}; there are {self._others.names}")
        self._extra = {**getattr(self, "_extra", {}), **extra_vars}
        self._rest = self._others(self._extra)

    def set_weights(self, weights: Any) -> None:
        """How much data and potentials count: 1 for the posterior, 0 for the prior."""
        if self._weight is None:
            raise ValueError("the log-density has no weight: make it by logp_dlogp_function(tempered=True)")
        self._weight.set_value(np.reshape(np.asarray(weights, float), ()))

    def get_extra_values(self) -> dict[str, Any]:
        """Values of the variables in which no derivative is taken."""
        return dict(self._extra)

    def raw(self, position: np.ndarray) -> tuple[float, np.ndarray]:
        """The log-density and its gradient at a flat vector of 64-bit floats: what samplers and optimizers of other
        packages call, also from C.

        The vector has the entries of the values one after the other, in the order of `model.continuous_value_vars` or
        of `grad_vars`; the gradient is a new array in the same order.
        """
        if type(position) is not np.ndarray or position.dtype != self._dtype or position.shape != self._shape:
            position = self._vector(position)
        value, gradient = self._f(position, *self._rest)
        return value.item(), gradient

    @property
    def dtype(self) -> np.dtype:
        """The kind of numbers of the flat array."""
        return self._dtype

    def _vector(self, position: Any) -> np.ndarray:
        array = np.asarray(position)
        if array.shape != self._shape or array.dtype.kind not in "fiu":
            raise ValueError(
                f"the log-density takes a vector of {self._shape[0]} numbers, {self._layout}, got an array of shape "
                f"{array.shape} and dtype {array.dtype}"
            )
        return array.astype(self._dtype)

    def __call__(self, grad_vars: Any, extra_vars: Mapping[str, Any] | None = None) -> Any:
        if extra_vars:
            self.set_extra_values(extra_vars)
        rest = self._rest
        if isinstance(grad_vars, Mapping):
            values = self._values(grad_vars)
            vector = np.concatenate(values, axis=None) if values else np.zeros(0, self._dtype)
            if len(grad_vars) > len(self._values.names) and self._extra:
                rest = self._others({**self._extra, **grad_vars})
        else:
            vector = self._vector(grad_vars.data if isinstance(grad_vars, RaveledVars) else grad_vars)
        try:
            found = self._f(vector, *rest)
        except (TypeError, ValueError):
            with naming_data(self._model):
                raise
        return tuple(found) if len(found) > 1 else found[0]
