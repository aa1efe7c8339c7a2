"""Graphs evaluated with 700 digits, entry by entry, as a truth to compare floats with."""

from __future__ import annotations

import functools
import math
from typing import Any

import jax
import mpmath
import numpy as np

from ppl.graph import topological
from ppl.tensor.tensor import CONSTANT, value_of

mp = mpmath.mp.clone()
mp.dps = 700  # enough to see 1e-300 beside 1e300


class NoTruthError(Exception):
    """An operation for which there is no truth here."""


class UndefinedError(Exception):
    """The value does not exist among the real numbers."""


def _log(x):
    if x == 0:
        return mp.mpf("-inf")
    if x < 0:
        raise UndefinedError
    return mp.log(x)


def _power(x, p):
    if x < 0 and p != mp.floor(p):
        raise UndefinedError
    if x == 0 and p < 0:
        raise UndefinedError
    return mp.power(x, p)


def _divide(x, y):
    if y == 0:
        raise UndefinedError
    return x / y


def _ndtr(x):
    if abs(x) > 10**6:
        raise UndefinedError
    return mp.erfc(-x / mp.sqrt(2)) / 2


def _sigmoid(x):
    return 1 / (1 + mp.exp(-x))


def _log2(x):
    return _log(x) / mp.log(2)


def _within(low, high, function):
    """A function between numbers where it is real."""

    def real(x):
        if not low <= x <= high:
            raise UndefinedError
        return function(x)

    return real


@functools.lru_cache(100_000)
def _bessel_k(v, x):
    if x <= 0 or abs(v) > 100 or x > 1000 or x < 1e-20:
        raise UndefinedError
    with mp.workdps(40):  # nothing cancels here, and more digits take minutes
        return mp.besselk(v, x)


def _tan(x):
    if abs(mp.cos(x)) < mp.mpf(10) ** -60:
        raise UndefinedError
    return mp.tan(x)


def _arctanh(x):
    if 1 - abs(x) < mp.mpf(10) ** (40 - mp.dps):
        raise NoTruthError("arctanh")
    return mp.atanh(x)


def _ndtri(p):
    return mp.sqrt(2) * _erfinv(2 * p - 1)


@functools.lru_cache(100_000)
def _erfinv(x):
    if abs(x) > 1:
        raise UndefinedError
    if abs(x) == 1 or 1 - abs(x) < mp.mpf(10) ** -60:
        raise NoTruthError("erfinv")
    with mp.workdps(80):  # a search, and more digits take minutes
        return mp.erfinv(x)


ELEMENTWISE = {
    "add": lambda x, y: x + y,
    "subtract": lambda x, y: x - y,
    "multiply": lambda x, y: x * y,
    "true_divide": _divide,
    "negative": lambda x: -x,
    "reciprocal": lambda x: _divide(mp.mpf(1), x),
    "square": lambda x: x * x,
    "sqrt": lambda x: _power(x, mp.mpf("0.5")),
    "power": _power,
    "exp": mp.exp,
    "expm1": mp.expm1,
    "log": _log,
    "log1p": lambda x: _log(1 + x),
    "sigmoid": _sigmoid,
    "logit": lambda x: _log(x) - _log(1 - x),
    "softplus": lambda x: mp.log(1 + mp.exp(x)),
    "log_sigmoid": lambda x: _log(_sigmoid(x)),
    "log1mexp": lambda x: _log(-mp.expm1(x)),
    "logaddexp": lambda x, y: mp.log(mp.exp(x) + mp.exp(y)),
    "abs": abs,
    "sign": mp.sign,
    "sin": mp.sin,
    "cos": mp.cos,
    "tan": _tan,
    "arcsin": _within(-1, 1, mp.asin),
    "arccosh": _within(1, mp.inf, mp.acosh),
    "arccos": _within(-1, 1, mp.acos),
    "arctan": mp.atan,
    "arcsinh": lambda x: mp.sign(x) * mp.log(abs(x) + mp.sqrt(x * x + 1)),
    "arctanh": _within(-1, 1, _arctanh),
    "deg2rad": lambda x: x * mp.pi / 180,
    "rad2deg": lambda x: x * 180 / mp.pi,
    "erfinv": _erfinv,
    "erfcinv": lambda x: _erfinv(1 - x),
    "ndtri": _ndtri,
    "ndtri_exp": lambda x: _ndtri(mp.exp(x)),
    "cbrt": lambda x: mp.sign(x) * mp.cbrt(abs(x)),
    "j0": lambda x: mp.besselj(0, x),
    "j1": lambda x: mp.besselj(1, x),
    "i1": lambda x: mp.besseli(1, x),
    "dawsn": lambda x: mp.sqrt(mp.pi) / 2 * mp.exp(-x * x) * mp.erfi(x),
    "log2": _log2,
    "exp2": lambda x: mp.power(2, x),
    "sinh": mp.sinh,
    "cosh": mp.cosh,
    "tanh": mp.tanh,
    "erf": mp.erf,
    "erfc": mp.erfc,
    "ndtr": _ndtr,
    "log_ndtr": lambda x: mp.log(_ndtr(x)),
    "hypot": lambda x, y: mp.sqrt(x * x + y * y),
    "maximum": max,
    "minimum": min,
    "gammaln": lambda x: mp.loggamma(x).real,
    "kv": _bessel_k,
    "kve": lambda v, x: _bessel_k(v, x) * mp.exp(x),
    "i0": lambda x: mp.besseli(0, x),
    "i0e": lambda x: mp.besseli(0, x) * mp.exp(-abs(x)),
}


def _of_axes(reduce):
    """A reduction of arrays of numbers by NumPy's."""
    return lambda x, axis, keepdims: np.asarray(reduce(x, axis=axis, keepdims=keepdims), object)


def _softmax(x, axis):
    e = np.frompyfunc(mp.exp, 1, 1)(x)
    return e / np.sum(e, axis=axis, keepdims=True)


def _logsumexp(x, axis, keepdims):
    return np.asarray(_each(_log)(np.sum(_each(mp.exp)(x), axis=axis, keepdims=keepdims)), object)


def _each(function):
    return np.frompyfunc(function, 1, 1)


ARRAYS = {
    "sum": _of_axes(np.sum), "prod": _of_axes(np.prod), "max": _of_axes(np.max), "min": _of_axes(np.min),
    "mean": lambda x, axis, keepdims: _of_axes(np.sum)(x, axis, keepdims) / math.prod(x.shape[a] for a in axis),
    "logsumexp": _logsumexp, "softmax": _softmax, "log_softmax": lambda x, axis: _each(_log)(_softmax(x, axis)),
    "matmul": np.matmul, "cumsum": np.cumsum, "trace": np.trace,
    "greater": np.greater, "less": np.less, "switch": np.where,
}  # fmt: skip
REARRANGED = frozenset(
    "getitem transpose reshape expand_dims squeeze broadcast_to concatenate stack tril triu diagonal diagonal_of "
    "matrix_of_diagonal index_update flatten".split(" ")
)


def _rearranged(node, arguments):
    """What an operation that only moves entries makes of numbers: it moves their places; 0 is that of a zero."""
    entries, places = [mp.mpf(0)], []
    for x, array in zip(node.inputs, arguments, strict=True):
        if x.type.dtype[0] == "f":
            places.append(np.arange(len(entries), len(entries) + array.size).reshape(array.shape))
            entries.extend(array.ravel())
        else:
            places.append(array.astype(x.type.dtype))
    with jax.enable_x64(True):
        return np.asarray(np.array(entries, object)[np.asarray(node.op.lower(*places, **node.attrs))], object)


def true_slopes(output, values: dict[Any, Any], inputs: list[Any]) -> list[np.ndarray]:
    """The slopes of the sum of all entries along the inputs, by central differences with 80 digits."""
    with mp.workdps(80):
        given = {node: _numbers(np.asarray(value)) for node, value in values.items()}
        step = mp.mpf(10) ** -25
        found = []
        for x in inputs:
            slope = np.zeros(given[x].shape)
            for place in np.ndindex(slope.shape):
                ends = []
                for side in (step, -step):
                    moved = given[x].copy()
                    moved[place] += side
                    ends.append(truth([output], {**given, x: moved}, digits=80)[0].sum())
                slope[place] = (ends[0] - ends[1]) / (2 * step)
            found.append(slope)
    return found


def truth(outputs, values: dict[Any, Any], digits: int = 700, partial: bool = False) -> list[np.ndarray]:
    """The outputs as arrays of numbers with many digits, given values of the inputs. Where there is no value, an error,
    or if `partial` a nan in its place."""
    with mp.workdps(digits):
        return _truth(outputs, values, _or_nan if partial else lambda function: function)


def _or_nan(function):
    """The function where it has a value, else nan."""

    def known(*xs):
        if any(isinstance(x, mp.mpf) and mp.isnan(x) for x in xs):
            return mp.nan
        try:
            return function(*xs)
        except (UndefinedError, ArithmeticError, ValueError, mpmath.libmp.NoConvergence):
            return mp.nan

    return known


def _truth(outputs, values, guarded):
    done = {node: _numbers(np.asarray(value)) for node, value in values.items()}
    for node in topological(outputs, blockers=done):
        if node in done:
            continue
        if node.op is CONSTANT:
            done[node] = _numbers(value_of(node))
            continue
        arguments = [done[x] for x in node.inputs]
        if node.op.name == "assume":
            done[node] = arguments[0]
        elif node.op.name in ELEMENTWISE:
            function = guarded(ELEMENTWISE[node.op.name])
            done[node] = np.asarray(np.frompyfunc(function, len(arguments), 1)(*arguments), object)
        elif node.op.name in ARRAYS:
            done[node] = np.asarray(ARRAYS[node.op.name](*arguments, **node.attrs), object)
        elif node.op.name in REARRANGED:
            done[node] = _rearranged(node, arguments)
        else:
            raise NoTruthError(node.op.name)
    return [done[node] for node in outputs]


def _numbers(array: np.ndarray) -> np.ndarray:
    if array.dtype == object:
        return array
    if array.dtype.kind not in "iuf" or np.isnan(array.astype(float)).any():
        raise NoTruthError
    return np.asarray(np.frompyfunc(lambda v: mp.mpf(v.item() if hasattr(v, "item") else v), 1, 1)(array), object)
