"""Symbolic NumPy on JAX; import it as `tt`, `pt`, `at` or `T`.

Every function is in one table, filled by the modules of this part; `ppl.tensor.exp` is the entry "exp" of it. `dir()`
lists them all.
"""

from typing import Any as _Any

from ppl.tensor import basic as basic
from ppl.tensor import extra_ops as extra_ops
from ppl.tensor import fft as fft
from ppl.tensor import linalg as linalg
from ppl.tensor import math as math
from ppl.tensor import nlinalg as nlinalg
from ppl.tensor import nnet as nnet
from ppl.tensor import random as random
from ppl.tensor import signal as signal
from ppl.tensor import slinalg as slinalg
from ppl.tensor import special as special
from ppl.tensor import variable as variable
from ppl.tensor.arrays import activations as _activations  # noqa: F401
from ppl.tensor.arrays import choosing as _choosing  # noqa: F401
from ppl.tensor.arrays import comparisons as _comparisons  # noqa: F401
from ppl.tensor.arrays import contractions as _contractions  # noqa: F401
from ppl.tensor.arrays import convolutions as _convolutions  # noqa: F401
from ppl.tensor.arrays import covariances as _covariances  # noqa: F401
from ppl.tensor.arrays import curves as _curves  # noqa: F401
from ppl.tensor.arrays import diagonals as _diagonals  # noqa: F401
from ppl.tensor.arrays import grids as _grids  # noqa: F401
from ppl.tensor.arrays import interpolation as interpolation
from ppl.tensor.arrays import polynomials as _polynomials  # noqa: F401
from ppl.tensor.arrays import rearranging as _rearranging  # noqa: F401
from ppl.tensor.arrays import rounding as _rounding  # noqa: F401
from ppl.tensor.arrays import selecting as _selecting  # noqa: F401
from ppl.tensor.arrays import slices as _slices  # noqa: F401
from ppl.tensor.arrays import sorting as _sorting  # noqa: F401
from ppl.tensor.arrays import windows as _windows  # noqa: F401
from ppl.tensor.arrays.creation import CONSTRUCTORS as _CONSTRUCTORS
from ppl.tensor.arrays.creation import Constant as Constant
from ppl.tensor.arrays.creation import Placeholder as Placeholder
from ppl.tensor.arrays.creation import tensor as tensor
from ppl.tensor.arrays.indexing import index as index
from ppl.tensor.config import config as config
from ppl.tensor.core import files as _files  # noqa: F401
from ppl.tensor.core import vectorizing as _vectorizing  # noqa: F401
from ppl.tensor.core.black_box import from_numpy as from_numpy
from ppl.tensor.core.derivatives import gradients as gradients
from ppl.tensor.core.derivatives import jacobians as jacobians
from ppl.tensor.core.effects import Assert as Assert
from ppl.tensor.core.effects import CheckError as CheckError
from ppl.tensor.core.effects import Print as Print
from ppl.tensor.core.evaluate import to_jax as to_jax
from ppl.tensor.core.names import Scope as Scope
from ppl.tensor.core.names import current_scope as current_scope
from ppl.tensor.core.vectorizing import vectorize_graph as vectorize_graph
from ppl.tensor.core.wrapping import from_jax as from_jax
from ppl.tensor.core.wrapping import jax_wrap as jax_wrap
from ppl.tensor.core.wrapping import symjax_to_jax_fn as symjax_to_jax_fn
from ppl.tensor.kernels import correlations as _correlations  # noqa: F401
from ppl.tensor.kernels import distances as _distances  # noqa: F401
from ppl.tensor.kernels import harmonics as _harmonics  # noqa: F401
from ppl.tensor.linear_algebra import decompositions as _decompositions  # noqa: F401  (fills the table)
from ppl.tensor.linear_algebra import kronecker as _kronecker  # noqa: F401
from ppl.tensor.linear_algebra import lifted as _lifted  # noqa: F401
from ppl.tensor.linear_algebra import special_matrices as _special_matrices  # noqa: F401
from ppl.tensor.linear_algebra import triangular as triangular
from ppl.tensor.loops import branches as _branches  # noqa: F401
from ppl.tensor.loops import iteration as _iteration  # noqa: F401
from ppl.tensor.loops import recurrence as recurrence
from ppl.tensor.loops.theano_loops import until as until
from ppl.tensor.special_functions import betas as _betas  # noqa: F401
from ppl.tensor.special_functions import catalog as _catalog  # noqa: F401
from ppl.tensor.special_functions import counts as _counts  # noqa: F401
from ppl.tensor.special_functions import incomplete as _incomplete  # noqa: F401
from ppl.tensor.special_functions import normal as _normal  # noqa: F401
from ppl.tensor.special_functions import tails_of_laws as _tails_of_laws  # noqa: F401
from ppl.tensor.tensor import FUNCTIONS as _FUNCTIONS
from ppl.tensor.tensor import Tensor as Tensor
from ppl.tensor.tensor import TensorType as TensorType
from ppl.tensor.tensor import as_tensor as as_tensor
from ppl.tensor.tensor import constant as constant
from ppl.tensor.variables import make_variable as _make_variable
from ppl.tensor.variables import shared as shared

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
