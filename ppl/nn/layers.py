"""Layers in Lasagne's manner: calling one returns the tensor.

    x = T.Placeholder((None, 64), "float32")
    hidden = Dense(x, 100, activation=relu)
    scores = Dense(hidden, 10)

Parameters are variables in a scope of the layer's name ("/Dense/W", "/Dense_1/W"), found by `get_variables("/Dense*")`,
saved, loaded and reset by the same globs. `name=` chooses the scope, for files that are read by another program. The
first axis is the batch, of any length; channels come second.
"""

from __future__ import annotations

from ppl.nn.layers_attention import MultiHeadAttention as MultiHeadAttention
from ppl.nn.layers_convolution import Conv1D as Conv1D
from ppl.nn.layers_convolution import Conv1DTranspose as Conv1DTranspose
from ppl.nn.layers_convolution import Conv2D as Conv2D
from ppl.nn.layers_convolution import Conv2DTranspose as Conv2DTranspose
from ppl.nn.layers_convolution import Pool1D as Pool1D
from ppl.nn.layers_convolution import Pool2D as Pool2D
from ppl.nn.layers_dense import Dense as Dense
from ppl.nn.layers_dense import Embedding as Embedding
from ppl.nn.layers_dense import Flatten as Flatten
from ppl.nn.layers_noise import Dropout as Dropout
from ppl.nn.layers_normalization import BatchNormalization as BatchNormalization
from ppl.nn.layers_normalization import LayerNormalization as LayerNormalization
from ppl.nn.layers_recurrent import GRU as GRU
from ppl.nn.layers_recurrent import LSTM as LSTM
from ppl.nn.layers_recurrent import RNN as RNN

LAYERS = [
    Dense, Flatten, Embedding, Conv1D, Conv2D, Conv1DTranspose, Conv2DTranspose, Pool1D, Pool2D, BatchNormalization,
    LayerNormalization, Dropout, RNN, GRU, LSTM, MultiHeadAttention,
]  # fmt: skip
