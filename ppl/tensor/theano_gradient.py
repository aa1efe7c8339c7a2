"""Theano's module of derivatives, `theano.gradient`: the same functions under the names they have there."""

from typing import Any

from ppl.tensor.core.derivatives import grad as grad
from ppl.tensor.core.derivatives import grad_clip as grad_clip
from ppl.tensor.core.derivatives import grad_scale as grad_scale
from ppl.tensor.core.derivatives import hessian as hessian
from ppl.tensor.core.derivatives import hessian_vector_product as hessian_vector_product
from ppl.tensor.core.derivatives import jacobian as jacobian
from ppl.tensor.core.derivatives import jvp, vjp
from ppl.tensor.core.derivatives import stop_gradient as consider_constant
from ppl.tensor.core.derivatives import stop_gradient as disconnected_grad
from ppl.tensor.core.derivatives import stop_gradient as zero_grad
from ppl.tensor.tensor import FUNCTIONS

Rop, Lop = jvp, vjp


def __getattr__(name: str) -> Any:
    """`verify_grad` compiles, so it stands in a part above this one, and is found in the table of functions."""
    if name != "verify_grad":
        raise AttributeError(f"ppl.gradient has no {name!r}")
    return FUNCTIONS[name]


__all__ = [
    "Lop", "Rop", "consider_constant", "disconnected_grad", "grad", "grad_clip", "grad_scale", "hessian",
    "hessian_vector_product", "jacobian", "zero_grad",
]  # fmt: skip
