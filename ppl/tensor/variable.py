"""The names of `pytensor.tensor.variable` that programs import."""

from ppl.tensor.tensor import Tensor

TensorVariable = TensorConstant = Tensor
