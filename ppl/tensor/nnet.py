"""Theano's module of activations and losses, `theano.tensor.nnet`."""

from ppl.tensor.arrays.activations import binary_crossentropy as binary_crossentropy
from ppl.tensor.arrays.activations import categorical_crossentropy as categorical_crossentropy
from ppl.tensor.arrays.activations import celu as celu
from ppl.tensor.arrays.activations import elu as elu
from ppl.tensor.arrays.activations import gelu as gelu
from ppl.tensor.arrays.activations import glu as glu
from ppl.tensor.arrays.activations import hard_sigmoid as hard_sigmoid
from ppl.tensor.arrays.activations import hard_silu as hard_silu
from ppl.tensor.arrays.activations import hard_tanh as hard_tanh
from ppl.tensor.arrays.activations import leaky_relu as leaky_relu
from ppl.tensor.arrays.activations import relu as relu
from ppl.tensor.arrays.activations import relu6 as relu6
from ppl.tensor.arrays.activations import selu as selu
from ppl.tensor.arrays.activations import sigmoid_binary_crossentropy as sigmoid_binary_crossentropy
from ppl.tensor.arrays.activations import silu as silu
from ppl.tensor.arrays.activations import soft_sign as soft_sign
from ppl.tensor.arrays.reductions import log_softmax as log_softmax
from ppl.tensor.arrays.reductions import softmax as softmax
from ppl.tensor.core.elementwise import log_sigmoid as log_sigmoid
from ppl.tensor.core.elementwise import sigmoid as sigmoid
from ppl.tensor.core.elementwise import softplus as softplus
