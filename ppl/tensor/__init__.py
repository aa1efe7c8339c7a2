"""Symbolic NumPy on JAX; import it as `tt`, `pt`, `at` or `T`.

Every function is in one table, filled by the modules of this part; `ppl.tensor.exp` is the entry "exp" of it. `dir()`
lists them all.
"""

from typing import Any as _Any

from ppl.tensor import activations as _activations  # noqa: F401
from ppl.tensor import basic as basic
from ppl.tensor import branches as _branches  # noqa: F401
from ppl.tensor import choosing as _choosing  # noqa: F401
from ppl.tensor import comparisons as _comparisons  # noqa: F401
from ppl.tensor import contractions as _contractions  # noqa: F401
from ppl.tensor import convolutions as _convolutions  # noqa: F401
from ppl.tensor import covariances as _covariances  # noqa: F401
from ppl.tensor import curves as _curves  # noqa: F401
from ppl.tensor import decompositions as _decompositions  # noqa: F401  (fills the table)
from ppl.tensor import diagonals as _diagonals  # noqa: F401
from ppl.tensor import extra_ops as extra_ops
from ppl.tensor import fft as fft
from ppl.tensor import files as _files  # noqa: F401
from ppl.tensor import grids as _grids  # noqa: F401
from ppl.tensor import interpolation as interpolation
from ppl.tensor import iteration as _iteration  # noqa: F401
from ppl.tensor import kronecker as _kronecker  # noqa: F401
from ppl.tensor import linalg as linalg
from ppl.tensor import math as math
from ppl.tensor import nlinalg as nlinalg
from ppl.tensor import nnet as nnet
from ppl.tensor import polynomials as _polynomials  # noqa: F401
from ppl.tensor import random as random
from ppl.tensor import rearranging as _rearranging  # noqa: F401
from ppl.tensor import recurrence as recurrence
from ppl.tensor import rounding as _rounding  # noqa: F401
from ppl.tensor import selecting as _selecting  # noqa: F401
from ppl.tensor import signal as signal
from ppl.tensor import slices as _slices  # noqa: F401
from ppl.tensor import slinalg as slinalg
from ppl.tensor import sorting as _sorting  # noqa: F401
from ppl.tensor import special as special
from ppl.tensor import special_betas as special_betas
from ppl.tensor import special_counts as special_counts
from ppl.tensor import special_functions as _special_functions  # noqa: F401
from ppl.tensor import special_incomplete as special_incomplete
from ppl.tensor import special_matrices as _special_matrices  # noqa: F401
from ppl.tensor import special_normal as special_normal
from ppl.tensor import special_tails as special_tails
from ppl.tensor import triangular as triangular
from ppl.tensor import variable as variable
from ppl.tensor import vectorizing as _vectorizing  # noqa: F401
from ppl.tensor import windows as _windows  # noqa: F401
from ppl.tensor.config import config as config
from ppl.tensor.creation import CONSTRUCTORS as _CONSTRUCTORS
from ppl.tensor.creation import Constant as Constant
from ppl.tensor.creation import Placeholder as Placeholder
from ppl.tensor.creation import tensor as tensor
from ppl.tensor.derivatives import gradients as gradients
from ppl.tensor.derivatives import jacobians as jacobians
from ppl.tensor.effects import Assert as Assert
from ppl.tensor.effects import CheckError as CheckError
from ppl.tensor.effects import Print as Print
from ppl.tensor.evaluate import to_jax as to_jax
from ppl.tensor.indexing import index as index
from ppl.tensor.names import Scope as Scope
from ppl.tensor.names import current_scope as current_scope
from ppl.tensor.tensor import FUNCTIONS as _FUNCTIONS
from ppl.tensor.tensor import Tensor as Tensor
from ppl.tensor.tensor import TensorType as TensorType
from ppl.tensor.tensor import as_tensor as as_tensor
from ppl.tensor.tensor import constant as constant
from ppl.tensor.theano_loops import until as until
from ppl.tensor.variables import make_variable as _make_variable
from ppl.tensor.variables import shared as shared
from ppl.tensor.vectorizing import vectorize_graph as vectorize_graph
from ppl.tensor.wrapping import from_jax as from_jax
from ppl.tensor.wrapping import jax_wrap as jax_wrap
from ppl.tensor.wrapping import symjax_to_jax_fn as symjax_to_jax_fn

as_tensor_variable = asarray = array = as_tensor
TensorVariable = Tensor
Variable = _make_variable  # SymJAX's constructor; the class of such nodes is `ppl.tensor.variables.Variable`


e, euler_gamma, inf, nan, newaxis, pi = (
    2.718281828459045,
    0.5772156649015329,
    float("inf"),
    float("nan"),
    None,
    3.141592653589793,
)


def __getattr__(name: str) -> _Any:
    found = _FUNCTIONS.get(name) or _CONSTRUCTORS.get(name)
    if found is None:
        raise AttributeError(f"ppl.tensor has no function {name!r}")
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *_FUNCTIONS, *_CONSTRUCTORS})
