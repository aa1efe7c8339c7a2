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

They become draws of `CustomDist`, with these functions.
"""

from __future__ import annotations

import functools
from typing import Any, ClassVar

import ppl.tensor as tt
from ppl.alias.absent import Absent
from ppl.alias.missing import NotHereYet, sentence
from ppl.alias.own_ops import Op
from ppl.distributions import CustomDist, transforms
from ppl.distributions.declaration.distribution import Distribution
from ppl.distributions.declaration.inner import support_point_of
from ppl.distributions.draws.operation import InPyTensor, RandomOperation
from ppl.distributions.families.custom_dist import parsed
from ppl.tensor.tensor import as_tensor


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


class OfSymbolicDraws(Absent):
    """`isinstance(x.owner.op, SymbolicRandomVariable)` holds of draws that PyTensor makes of other draws."""

    def __instancecheck__(self, x: object) -> bool:
        of_draws = self is SymbolicRandomVariable and isinstance(x, RandomOperation) and x.symbolic
        return type.__instancecheck__(self, x) or of_draws


SymbolicRandomVariable = OfSymbolicDraws(
    "SymbolicRandomVariable", (), {"path": "pymc.distributions.distribution.SymbolicRandomVariable"}
)


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


def _is_registered(function: Any, op: Op) -> bool:
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
        functions = {key: getattr(cls, key) for key in ("logp", "logcdf", "support_point") if getattr(cls, key)}
        operation = cls.rv_op if isinstance(cls.rv_op, RandomVariable) else cls.rv_op()
        options.setdefault("dtype", operation.dtype or cls.own_dtype)
        return operation.draw(cls.__name__, [as_tensor(p) for p in dist_params], functions, **options)


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
