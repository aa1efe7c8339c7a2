"""Theano's module of activations and losses, `theano.tensor.nnet`."""

from ppl.tensor.activations import binary_crossentropy as binary_crossentropy
from ppl.tensor.activations import categorical_crossentropy as categorical_crossentropy
from ppl.tensor.activations import celu as celu
from ppl.tensor.activations import elu as elu
from ppl.tensor.activations import gelu as gelu
from ppl.tensor.activations import glu as glu
from ppl.tensor.activations import hard_sigmoid as hard_sigmoid
from ppl.tensor.activations import hard_silu as hard_silu
from ppl.tensor.activations import hard_tanh as hard_tanh
from ppl.tensor.activations import leaky_relu as leaky_relu
from ppl.tensor.activations import relu as relu
from ppl.tensor.activations import relu6 as relu6
from ppl.tensor.activations import selu as selu
from ppl.tensor.activations import sigmoid_binary_crossentropy as sigmoid_binary_crossentropy
from ppl.tensor.activations import silu as silu
from ppl.tensor.activations import soft_sign as soft_sign
from ppl.tensor.elementwise import log_sigmoid as log_sigmoid
from ppl.tensor.elementwise import sigmoid as sigmoid
from ppl.tensor.elementwise import softplus as softplus
from ppl.tensor.reductions import log_softmax as log_softmax
from ppl.tensor.reductions import softmax as softmax
