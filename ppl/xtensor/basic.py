"""From tensors to labelled ones and back: PyTensor's `pytensor.xtensor.basic`."""

from ppl.xtensor.shape import rename as rename
from ppl.xtensor.type import tensor_from_xtensor as tensor_from_xtensor
from ppl.xtensor.type import xtensor_from_tensor as xtensor_from_tensor
