"""Functions of single numbers: PyTensor's scalar ops and what they are in ppl, one line each."""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable
from typing import Any

import numpy as np

import ppl.tensor as tt
from ppl.bridge.by_jax import by_jax
from ppl.bridge.reading import Application, as_tensor, converts, entry_for
from ppl.tensor.tensor import Tensor

Function = Callable[..., Any]


def _all_of(f: Function) -> Function:
    return lambda *xs: functools.reduce(f, xs)


# By the names of the classes of scalar ops.
SCALARS: dict[str, Function] = {
    # arithmetic
    "Add": _all_of(operator.add),
    "Mul": _all_of(operator.mul),
    "Sub": operator.sub,
    "TrueDiv": operator.truediv,
    "IntDiv": operator.floordiv,
    "Mod": tt.mod,
    "Pow": operator.pow,
    "Neg": operator.neg,
    "Abs": tt.abs,
    "Sign": tt.sign,
    "Reciprocal": tt.reciprocal,
    "Sqr": tt.sqr,
    "Sqrt": tt.sqrt,
    "Maximum": _all_of(tt.maximum),
    "ScalarMaximum": _all_of(tt.maximum),
    "Minimum": _all_of(tt.minimum),
    "ScalarMinimum": _all_of(tt.minimum),
    "Clip": tt.clip,
    "Ceil": tt.ceil,
    "Floor": tt.floor,
    "Trunc": tt.trunc,
    "RoundHalfToEven": tt.round_half_to_even,
    "RoundHalfAwayFromZero": tt.round_half_away_from_zero,
    "Identity": lambda x: x,
    # comparisons and choices
    "LT": tt.lt,
    "GT": tt.gt,
    "LE": tt.le,
    "GE": tt.ge,
    "EQ": tt.eq,
    "NEQ": tt.neq,
    "IsNan": tt.isnan,
    "IsInf": tt.isinf,
    "Switch": tt.switch,
    "AND": _all_of(tt.and_),
    "OR": _all_of(tt.or_),
    "XOR": _all_of(tt.xor),
    "Invert": tt.invert,
    # exponentials
    "Exp": tt.exp,
    "Exp2": tt.exp2,
    "Expm1": tt.expm1,
    "Log": tt.log,
    "Log2": tt.log2,
    "Log10": tt.log10,
    "Log1p": tt.log1p,
    "Log1mexp": tt.log1mexp,
    "Sigmoid": tt.sigmoid,
    "Softplus": tt.softplus,
    "XlogX": tt.xlogx,
    "XlogY0": tt.xlogy,
    # trigonometry
    "Deg2Rad": tt.deg2rad,
    "Rad2Deg": tt.rad2deg,
    "Cos": tt.cos,
    "Sin": tt.sin,
    "Tan": tt.tan,
    "ArcCos": tt.arccos,
    "ArcSin": tt.arcsin,
    "ArcTan": tt.arctan,
    "ArcTan2": tt.arctan2,
    "Cosh": tt.cosh,
    "Sinh": tt.sinh,
    "Tanh": tt.tanh,
    "ArcCosh": tt.arccosh,
    "ArcSinh": tt.arcsinh,
    "ArcTanh": tt.arctanh,
    # complex numbers
    "Real": tt.real,
    "Imag": tt.imag,
    "Angle": tt.angle,
    "Complex": tt.complex,
    "Conj": tt.conj,
    "ComplexFromPolar": tt.complex_from_polar,
    # special functions
    "Erf": tt.erf,
    "Erfc": tt.erfc,
    "Erfcx": tt.erfcx,
    "Erfinv": tt.erfinv,
    "Erfcinv": tt.erfcinv,
    "Owens_t": tt.owens_t,
    "Gamma": tt.gamma,
    "GammaLn": tt.gammaln,
    "Psi": tt.psi,
    "TriGamma": tt.trigamma,
    "PolyGamma": tt.polygamma,
    "GammaInc": tt.gammainc,
    "GammaIncC": tt.gammaincc,
    "GammaIncInv": tt.gammaincinv,
    "GammaIncCInv": tt.gammainccinv,
    "GammaU": tt.gammau,
    "GammaL": tt.gammal,
    "J0": tt.j0,
    "J1": tt.j1,
    "I0": tt.i0,
    "I1": tt.i1,
    "Iv": tt.iv,
    "Ive": tt.ive,
    "Kve": tt.kve,
    "BetaInc": tt.betainc,
    "BetaIncInv": tt.betaincinv,
    "Hyp2F1": tt.hyp2f1,
}


@converts("Elemwise", "ScalarOp")
def elementwise(at: Application) -> Any:
    """A function of numbers, entry by entry."""
    scalar = getattr(at.op, "scalar_op", at.op)
    name = type(scalar).__name__
    if name == "Cast":
        return cast(at.tensor(0), scalar.o_type.dtype)
    if name == "Second":
        return filled_like(*at.tensors)
    inputs = unpadded(at)
    if name == "Composite":
        values = at.reader.body(scalar.fgraph.inputs, scalar.fgraph.outputs, inputs)
        return [as_tensor(value) for value in values]
    function = entry_for(scalar, SCALARS)
    return function(*inputs) if function else by_jax(at)


def unpadded(at: Application) -> list[Tensor]:
    """The inputs without the axes of length 1 that PyTensor puts before them, which broadcasting adds by itself."""
    under = [without_padding(x) for x in at.variables]
    if all(map(operator.is_, under, at.node.inputs)):
        return at.tensors
    bare = [at.reader.tensor(x) for x in under]
    whole = getattr(at.out, "ndim", 0)
    return bare if max((x.ndim for x in bare), default=0) == whole else at.tensors


def without_padding(variable: Any) -> Any:
    """What stands under new first axes of length 1."""
    node = variable.owner
    while node is not None and type(node.op).__name__ == "DimShuffle" and _only_pads(node):
        variable = node.inputs[0]
        node = variable.owner
    return variable


def _only_pads(node: Any) -> bool:
    order, own = list(node.op.new_order), list(range(node.inputs[0].type.ndim))
    new = len(order) - len(own)
    return new > 0 and order == ["x"] * new + own


def cast(x: Tensor, dtype: str) -> Tensor:
    """Numbers in another type; whole ones have 64 bits."""
    wanted = "int64" if np.dtype(dtype).kind in "iu" else dtype
    return x if x.dtype == wanted else tt.cast(x, wanted)


def filled_like(like: Tensor, x: Tensor) -> Tensor:
    """Numbers in the shape of another array, whatever that holds."""
    shape = tt.broadcast_shapes_of([like, x])
    return x if tuple(shape) == tuple(x.type.shape) and like.ndim <= x.ndim else tt.broadcast_to(x, shape)
