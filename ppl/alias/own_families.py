"""Families that users define as PyMC's developer guide tells: a `RandomVariable` that draws, a class of its density.

    class SkellamRV(RandomVariable):
        name, signature, dtype = "skellam", "(),()->()", "int64"

        @classmethod
        def rng_fn(cls, rng, a, b, size): ...

    class Skellam(Discrete):
        rv_op = SkellamRV()

        @classmethod
        def dist(cls, a, b, **kwargs):
            return super().dist([a, b], **kwargs)

        def logp(value, a, b): ...

They become draws of `CustomDist`, with these functions. A law that is a graph of other draws is a
`SymbolicRandomVariable`, which holds the graph, and a `rv_op` that builds it:

    class ShiftedRV(SymbolicRandomVariable):
        extended_signature = "[rng],(),()->[rng],()"

    class Shifted(Continuous):
        @classmethod
        def rv_op(cls, mu, shift, size=None, rng=None):
            mu_, shift_ = mu.type(), shift.type()
            next_rng, y = pm.Exponential.dist(scale=mu_, size=size, rng=rng).owner.outputs
            return ShiftedRV([rng, mu_, shift_], [next_rng, y + shift_])(rng, mu, shift)
"""

from __future__ import annotations

import functools
import inspect
from contextvars import ContextVar
from typing import Any, ClassVar, NamedTuple

import numpy as np

import ppl.tensor as tt
from ppl.alias.missing import NotHereYet, sentence
from ppl.alias.own_ops import Op
from ppl.distributions import CustomDist, transforms
from ppl.distributions.declaration.distribution import Distribution
from ppl.distributions.declaration.inner import support_point_of
from ppl.distributions.draws.operation import InPyTensor, RandomOperation
from ppl.distributions.families.custom_dist import parsed
from ppl.graph import substitute
from ppl.tensor.sampling.generators import is_key
from ppl.tensor.tensor import Tensor, TensorType, as_tensor
from ppl.tensor.variables import shared


def _dispatch(path: str) -> Any:
    """A function of an operation's class, with which users register their own."""

    def default(op: Any, *args: Any, **kwargs: Any) -> Any:
        raise NotHereYet(sentence(path, type(op).__name__))

    default.__name__ = default.__qualname__ = path.rpartition(".")[2]
    return functools.singledispatch(default)


_logprob = _dispatch("pymc.logprob.abstract._logprob")
_logcdf = _dispatch("pymc.logprob.abstract._logcdf")
_icdf = _dispatch("pymc.logprob.abstract._icdf")
_support_point = _dispatch("pymc.distributions.distribution._support_point")
_default_transform = _dispatch("pymc.logprob.transforms._default_transform")
_change_dist_size = _dispatch("pymc.distributions.shape_utils._change_dist_size")
_vectorize_node = _dispatch("pytensor.graph.replace._vectorize_node")


def support_point(rv: Any) -> Any:
    """Where a draw starts: a value inside its support, in its shape.

    >>> support_point(pm.Normal.dist(2.3, 1)).eval().item()
    2.3
    """
    return tt.broadcast_to(support_point_of(rv), rv.shape)


@_support_point.register(RandomOperation)
def _support_point_of_draw(op: Any, rv: Any, *inputs: Any) -> Any:
    return support_point(rv)


@_default_transform.register(RandomOperation)
def _transform_of_draw(op: Any, rv: Any) -> Any:
    return transforms.default_transform(rv.family, rv.parameters)


NO_GENERATOR = None  # in the place of PyTensor's generator, which registered functions are given and do not use


class OfDraws(type):
    """`isinstance(x.owner.op, RandomVariable)` holds of draws, but of those that PyTensor makes of other draws."""

    def __instancecheck__(cls, x: object) -> bool:
        of_draws = cls is RandomVariable and isinstance(x, RandomOperation) and not x.symbolic
        return type.__instancecheck__(cls, x) or of_draws


class OfSymbolicDraws(type):
    """`isinstance(x.owner.op, SymbolicRandomVariable)` holds of draws that PyTensor makes of other draws."""

    def __instancecheck__(cls, x: object) -> bool:
        of_draws = cls is SymbolicRandomVariable and isinstance(x, RandomOperation) and x.symbolic
        return type.__instancecheck__(cls, x) or of_draws


class Built(NamedTuple):
    """A graph of draws that was built, by which operation, and of what."""

    op: SymbolicRandomVariable
    given: tuple[Any, ...]


_built: ContextVar[list[Built] | None] = ContextVar("built", default=None)


class SymbolicRandomVariable(metaclass=OfSymbolicDraws):
    """A law that is a graph of other draws: `outputs` in terms of `inputs`, one of which is the draw.

    Called with what takes the place of the inputs, it gives that output. `extended_signature` tells the axes of inputs
    and outputs, generators and sizes in brackets.
    """

    extended_signature: str | None = None
    ndim_supp: int | None = None
    ndims_params: Any = None
    default_output: int | None = None
    name: str | None = None

    def __init__(
        self, inputs: Any, outputs: Any, extended_signature: str | None = None, ndim_supp: int | None = None
    ) -> None:
        self.inputs, self.outputs = list(inputs), list(outputs)
        self.extended_signature = extended_signature or self.extended_signature
        if self.extended_signature:
            self.ndims_params, self.ndim_supp = parsed(self.extended_signature, type(self).__name__)
        self.ndim_supp = self.ndim_supp if ndim_supp is None else ndim_supp
        if self.default_output is None:
            values = [i for i, x in enumerate(self.outputs) if isinstance(x.type, TensorType) and not is_key(x)]
            if not values:
                raise TypeError(f"{type(self).__name__}: one of the outputs is the draw, got {self.outputs}")
            self.default_output = values[0]

    def __call__(self, *given: Any, name: str | None = None) -> Any:
        if len(given) != len(self.inputs):
            who = type(self).__name__
            raise TypeError(f"{who}: {len(self.inputs)} inputs, and {len(given)} are given in their place")
        places = {
            x: as_tensor(y) for x, y in zip(self.inputs, given, strict=True) if isinstance(x, Tensor) and x is not y
        }
        built = _built.get()
        if built is not None:
            built.append(Built(self, given))
        (draw,) = substitute([self.outputs[self.default_output]], places)
        return draw if name is None else draw.copy(name)

    def update(self, node: Any) -> dict[Any, Any]:
        """PyTensor's generators and their next states; here draws take their keys from a seed."""
        return {}


class OfUser(InPyTensor):
    """The operation of a user's class, as it is."""

    def __init__(self, op: RandomVariable) -> None:
        super().__init__(op.name, kind=type(op))
        self.op = op

    def operation(self, ndim: int, axes: Any, dtype: str, parameters: Any) -> Any:
        return self.op


class RandomVariable(Op, metaclass=OfDraws):
    """How values of a user's law are drawn by NumPy, and how many axes its parameters and one value have."""

    name: str | None = None
    signature: str | None = None
    ndim_supp: int | None = None
    ndims_params: Any = None
    dtype: Any = "floatX"
    default_output = 1

    def __init__(self, name: Any = None, ndim_supp: Any = None, ndims_params: Any = None, dtype: Any = None,
                 inplace: Any = None, signature: Any = None) -> None:  # fmt: skip
        given = {"name": name, "ndim_supp": ndim_supp, "ndims_params": ndims_params, "dtype": dtype,
                 "signature": signature}  # fmt: skip
        for key, value in given.items():
            if value is not None:
                setattr(self, key, value)
        if self.signature and self.ndim_supp is None:
            self.ndims_params, self.ndim_supp = parsed(self.signature, type(self).__name__)

    @classmethod
    def rng_fn(cls, rng: Any, *params: Any) -> Any:
        """Draws: the last argument is their shape."""
        raise NotImplementedError(f"{cls.__name__} does not say how it is drawn: define rng_fn(cls, rng, ..., size)")

    def __call__(self, *params: Any, size: Any = None, name: str | None = None, rng: Any = None, **options: Any) -> Any:
        return self.draw(type(self).__name__, params, self._registered(), size=size, name=name, **options)

    def draw(self, who: str, params: Any, functions: dict[str, Any], **options: Any) -> Any:
        """A draw with the density and other functions of its family."""
        axes = {"signature": self.signature} if self.signature else {
            "ndim_supp": self.ndim_supp, "ndims_params": self.ndims_params
        }  # fmt: skip
        random = lambda *values, rng, size: self.rng_fn(rng, *values, size)
        options.setdefault("dtype", self.dtype)
        drawn = CustomDist.dist(*params, random=random, class_name=who, **axes, **functions, **options)
        drawn.family.in_pytensor = OfUser(self)
        drawn.family.in_pytensor.__set_name__(drawn.family, "in_pytensor")
        return drawn

    rng_param, size_param, dist_params = (
        RandomOperation.rng_param, RandomOperation.size_param, RandomOperation.dist_params
    )  # fmt: skip

    def _registered(self) -> dict[str, Any]:
        found = {}
        if _is_registered(_logprob, self):
            found["logp"] = lambda value, *params: _logprob(self, (value,), NO_GENERATOR, None, *params)
        if _is_registered(_logcdf, self):
            found["logcdf"] = lambda value, *params: _logcdf(self, value, NO_GENERATOR, None, *params)
        return found


def _is_registered(function: Any, op: Any) -> bool:
    return function.dispatch(type(op)) is not function.dispatch(object)


class OwnFamily(Distribution, abstract=True):
    """A user's family: `rv_op` draws, `logp` and the others are functions of a value and the parameters."""

    rv_op: ClassVar[Any] = None
    own_transform: ClassVar[Any] = None
    own_dtype: ClassVar[str] = "floatX"

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**{"abstract": True, **options})

    def __new__(cls, name: str, *args: Any, **kwargs: Any) -> Any:
        if cls.own_transform is not None:
            kwargs.setdefault("default_transform", cls.own_transform)
        return super().__new__(cls, name, *args, **kwargs)

    @classmethod
    def dist(cls, dist_params: Any, **options: Any) -> Any:  # type: ignore[override]
        """A draw without a model, given the parameters as a list."""
        if cls.rv_op is None:
            raise NotImplementedError(f"{cls.__name__} does not say how it is drawn: set rv_op to a RandomVariable")
        options.pop("rng", None)
        stated = {"logp": cls.stated_logp, "logcdf": cls.stated_logcdf, "support_point": cls.support_point}
        functions = {key: f for key, f in stated.items() if f}
        if not isinstance(cls.rv_op, RandomVariable | type):
            return cls._of_graph([as_tensor(p) for p in dist_params], functions, options)
        operation = cls.rv_op if isinstance(cls.rv_op, RandomVariable) else cls.rv_op()
        options.setdefault("dtype", operation.dtype or cls.own_dtype)
        return operation.draw(cls.__name__, [as_tensor(p) for p in dist_params], functions, **options)

    @classmethod
    def _of_graph(cls, params: list[Tensor], functions: dict[str, Any], options: dict[str, Any]) -> Any:
        """A draw of a law that is a graph of other draws, which `rv_op` builds of the parameters."""
        names = inspect.signature(cls.rv_op).parameters
        further = {key: options.pop(key) for key in list(options) if key in names and key not in ("size", "name")}
        token = _built.set([])
        try:
            cls.rv_op(*params, **further)
            built = (_built.get() or [None])[-1]
        finally:
            _built.reset(token)
        if built is not None:
            options.setdefault("ndim_supp", built.op.ndim_supp)
            functions |= {key: f for key, f in _registered_of(built, params).items() if key not in functions}

        def graph(*values_and_size: Any) -> Any:
            *values, size = values_and_size
            return cls.rv_op(*values, size=size or None, **further)

        options.pop("dtype", None)
        return CustomDist.dist(*params, dist=graph, class_name=cls.__name__, **functions, **options)


def _registered_of(built: Built, params: list[Tensor]) -> dict[str, Any]:
    """The density and the cumulative distribution function that are registered for an operation."""

    def called(function: Any, value: Any, values: Any) -> Any:
        places = dict(zip(params, map(as_tensor, values), strict=True))
        given = [substitute([x], places)[0] if isinstance(x, Tensor) else x for x in built.given]
        return function(built.op, value, *given)

    found: dict[str, Any] = {}
    if _is_registered(_logprob, built.op):
        found["logp"] = lambda value, *values: called(_logprob, (value,), values)
    if _is_registered(_logcdf, built.op):
        found["logcdf"] = lambda value, *values: called(_logcdf, value, values)
    return found


def normalize_rng_param(rng: Any = None) -> Any:
    """A generator as a variable of the graph; a new one where none is given."""
    return shared(np.random.default_rng()) if rng is None else as_tensor(rng)


def normalize_size_param(size: Any) -> Any:
    """A size as it is given."""
    return size


class Continuous(OwnFamily):
    """A user's family of real values."""


class PositiveContinuous(Continuous):
    """A user's family of positive values."""

    own_transform = transforms.log


class UnitContinuous(Continuous):
    """A user's family of values between 0 and 1."""

    own_transform = transforms.logodds


class CircularContinuous(Continuous):
    """A user's family of angles."""

    own_transform = transforms.circular


class Discrete(OwnFamily):
    """A user's family of whole numbers."""

    own_dtype = "int64"
