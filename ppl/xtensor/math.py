"""Functions of labelled tensors, entry by entry, and products: PyTensor's `pytensor.xtensor.math`.

Those that take entries one by one are those of `ppl.tensor` under the same names, with operands aligned by the names of
their axes: `NAMES` lists them.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import ppl.tensor as tt
from ppl.tensor.tensor import FUNCTIONS as OF_TENSORS
from ppl.xtensor.alignment import aligned, common_dims, moved
from ppl.xtensor.type import FUNCTIONS, XTensorVariable, as_xtensor, function

# `name`, or `name=function` where the tensor function of another name is meant.
NAMES = """abs add angle arccos arccosh arcsin arcsinh arctan arctan2 arctanh betainc betaincinv bitwise_and bitwise_not
    bitwise_or bitwise_xor bitwise_invert=bitwise_not ceil clip complex conj conjugate=conj cos cosh deg2rad equal
    eq=equal erf erfc erfcinv erfcx erfinv exp exp2 expm1 floor floor_divide floor_div=floor_divide
    int_div=floor_divide gamma gammainc gammaincc gammainccinv gammaincinv gammal gammaln gammau greater_equal
    ge=greater_equal greater gt=greater hyp2f1 i0 i1 imag invert isinf isnan iv ive j0 j1 kve less_equal le=less_equal
    log log10 log1mexp log1p log2 less lt=less mod multiply mul=multiply negative neg=negative not_equal neq=not_equal
    owens_t polygamma power pow=power psi rad2deg real reciprocal round maximum minimum sigmoid expit=sigmoid sign sin
    sinh softplus square sqr=square sqrt subtract sub=subtract switch where=switch tan tanh tri_gamma true_divide
    true_div=true_divide trunc invert and_=bitwise_and or_=bitwise_or xor=bitwise_xor logical_and=bitwise_and
    logical_or=bitwise_or logical_xor=bitwise_xor logical_not=invert"""
PLACES = dict(word.partition("=")[::2] for word in NAMES.split())
ENTRYWISE = {name: place or name for name, place in PLACES.items()}


def entry_by_entry(name: str, of_tensors: Callable[..., Any] | None = None) -> Callable[..., XTensorVariable]:
    """A function of tensors that takes each entry by itself, for labelled ones."""
    f = of_tensors or OF_TENSORS[name]

    def labelled(*operands: Any) -> XTensorVariable:
        xs = [as_xtensor(x) for x in operands]
        dims = tuple(common_dims(xs))
        return XTensorVariable(f(*[aligned(x, dims) for x in xs]), dims)

    labelled.__name__ = labelled.__qualname__ = name
    labelled.__doc__ = f"`ppl.tensor.{name}` of labelled tensors, whose axes are matched by name."
    return labelled


for _name, _place in ENTRYWISE.items():
    setattr(sys.modules[__name__], _name, entry_by_entry(_place))
    FUNCTIONS[_name] = getattr(sys.modules[__name__], _name)


@function
def identity(x: Any) -> XTensorVariable:
    """The same tensor."""
    return as_xtensor(x)


@function
def second(x: Any, y: Any) -> XTensorVariable:
    """`y` along all dims of both."""
    return FUNCTIONS["broadcast"](as_xtensor(x), as_xtensor(y))[1]


@function
def cast(x: Any, dtype: Any) -> XTensorVariable:
    """The same numbers in another dtype."""
    x = as_xtensor(x)
    if x.dtype.startswith("complex") and not str(dtype).startswith("complex"):
        raise TypeError("Casting from complex to real is ambiguous: consider real(), imag(), angle() or abs()")
    return XTensorVariable(x.node.astype(dtype), x.dims)


@function
def softmax(x: Any, dim: Any = None) -> XTensorVariable:
    """exp(x) along dims, divided by its sum there; all dims where none are named."""
    x = as_xtensor(x)
    return XTensorVariable(tt.softmax(x.node, axis=axes_of(x, dim)), x.dims)


@function
def logsumexp(x: Any, dim: Any = None) -> XTensorVariable:
    """log Σ exp(x) along dims; all dims where none are named."""
    x = as_xtensor(x)
    gone = names_of(x, dim)
    return XTensorVariable(tt.logsumexp(x.node, axis=axes_of(x, dim)), [d for d in x.dims if d not in gone])


def names_of(x: XTensorVariable, dim: Any) -> tuple[str, ...]:
    """The dims that a user means: one, several, or all for None and an ellipsis."""
    if dim is None or dim is Ellipsis:
        return x.dims
    names = (dim,) if isinstance(dim, str) else tuple(dim)
    unknown = [name for name in names if name not in x.dims]
    if unknown:
        raise ValueError(f"Dimensions {unknown} not found in the dims {x.dims} of {x!r}")
    return names


def axes_of(x: XTensorVariable, dim: Any) -> tuple[int, ...]:
    """The same as axes."""
    return tuple(x.dims.index(name) for name in names_of(x, dim))


@function
def dot(x: Any, y: Any, dim: Any = None) -> XTensorVariable:
    """Products summed along dims: those that both have where none are named, all with an ellipsis.

    >>> x, y = ppl.xtensor.xtensor("x", dims=("row", "k")), ppl.xtensor.xtensor("y", dims=("k", "column"))
    >>> ppl.xtensor.dot(x, y).dims, ppl.xtensor.dot(x, y, dim=...).dims
    (('row', 'column'), ())
    """
    x, y = as_xtensor(x), as_xtensor(y)
    both = tuple(common_dims((x, y)))
    if dim is None:
        gone = tuple(d for d in both if d in x.dims and d in y.dims)
    else:
        gone = both if dim is Ellipsis else (dim,) if isinstance(dim, str) else tuple(dim)
    for d in gone:
        if d not in both:
            raise ValueError(f"Dimension {d} not found in either input: {x!r}, {y!r}")
    x, y = (v.sum([d for d in gone if d in v.dims and d not in w.dims]) for v, w in ((x, y), (y, x)))
    shared = [d for d in gone if d in x.dims and d in y.dims]
    if not shared:
        return FUNCTIONS["multiply"](x, y)
    left, right = [d for d in x.dims if d not in shared], [d for d in y.dims if d not in shared]
    out = [*left, *(d for d in right if d not in left)]
    if len(shared) == 1 and len(left) < 2 and len(right) < 2 and not set(left) & set(right):
        return XTensorVariable(tt.dot(moved(x, left + shared), moved(y, shared + right)), out)
    letters = {d: chr(ord("a") + i) for i, d in enumerate(both)}
    term = lambda dims: "".join(letters[d] for d in dims)
    return XTensorVariable(tt.einsum(f"{term(x.dims)},{term(y.dims)}->{term(out)}", x.node, y.node), out)
