"""Theano's module of derivatives, `theano.gradient`: the same functions under the names they have there."""

from ppl.tensor.derivatives import grad as grad
from ppl.tensor.derivatives import grad_clip as grad_clip
from ppl.tensor.derivatives import grad_scale as grad_scale
from ppl.tensor.derivatives import hessian as hessian
from ppl.tensor.derivatives import jacobian as jacobian
from ppl.tensor.derivatives import jvp, vjp
from ppl.tensor.derivatives import stop_gradient as consider_constant
from ppl.tensor.derivatives import stop_gradient as disconnected_grad
from ppl.tensor.derivatives import stop_gradient as zero_grad

Rop, Lop = jvp, vjp

__all__ = [
    "Lop", "Rop", "consider_constant", "disconnected_grad", "grad", "grad_clip", "grad_scale", "hessian", "jacobian",
    "zero_grad",
]  # fmt: skip
