"""Small names of PyMC's public surface that programs use beside models: dtype helpers, input lists, constants."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

import ppl.tensor as tt
from ppl.compile import clone_replace
from ppl.distributions import is_draw
from ppl.graph import Node, ancestors, leaves
from ppl.model.context import modelcontext
from ppl.model.inputs.observed import as_data
from ppl.tensor.config import config
from ppl.tensor.core.derivatives import grad, hessian
from ppl.tensor.tensor import INPUT, Tensor, as_tensor

bool_types = {"int8"}
int_types = {"int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"}
float_types = {"float32", "float64"}
complex_types = {"complex64", "complex128"}
continuous_types = float_types | complex_types
discrete_types = bool_types | int_types


def floatX(x: Any) -> Any:
    """A number, array or tensor in the dtype of `config.floatX`.

    >>> pm.floatX([1, 2])
    array([1., 2.])
    """
    return tt.cast(x, config.floatX) if isinstance(x, Tensor) else np.asarray(x, dtype=config.floatX)


def intX(x: Any) -> Any:
    """A number, array or tensor as 64-bit integers.

    >>> pm.intX([1.0, 2.0])
    array([1, 2])
    """
    return tt.cast(x, "int64") if isinstance(x, Tensor) else np.asarray(x).astype(np.int64)


def inputvars(a: Any) -> list[Node]:
    """The inputs that tensors are computed from.

    >>> import ppl.tensor as tt
    >>> x = tt.dscalar("x")
    >>> [v.name for v in pm.inputvars(x + 1)]
    ['x']
    """
    return [node for node in leaves(a if isinstance(a, list | tuple) else [a]) if node.op is INPUT]


def cont_inputs(a: Any) -> list[Node]:
    """The inputs of floating dtype.

    >>> import ppl.tensor as tt
    >>> x, n = tt.dscalar("x"), tt.iscalar("n")
    >>> [v.name for v in pm.cont_inputs(x * n)]
    ['x']
    """
    return typefilter(inputvars(a), continuous_types)


def typefilter(vars: Iterable[Any], types: Iterable[str]) -> list[Any]:
    """The tensors whose dtype is among the given ones.

    >>> import ppl.tensor as tt
    >>> x, n = tt.dscalar("x"), tt.iscalar("n")
    >>> [v.name for v in pm.typefilter([x, n], pm.discrete_types)]
    ['n']
    """
    wanted = set(types)
    return [v for v in vars if v.dtype in wanted]


def isgenerator(obj: Any) -> bool:
    """Whether an object has a `__next__`.

    >>> pm.isgenerator(iter([1, 2])), pm.isgenerator([1, 2])
    (True, False)
    """
    return hasattr(obj, "__next__")


def gradient(f: Any, vars: Any = None) -> Tensor:
    """The gradient of a scalar with respect to its continuous inputs, as one vector."""
    points = cont_inputs(f) if vars is None else list(vars)
    if not points:
        return tt.zeros((0,))
    slopes = grad(f, points, disconnected_inputs="warn")
    return tt.concatenate([slope.reshape((-1,)) for slope in slopes])


def jacobian_matrix(f: Any, vars: Any = None) -> Tensor:
    """The derivatives of a vector with respect to its continuous inputs, as one matrix (`jacobian` of PyMC's
    `pytensorf`)."""
    points = cont_inputs(f) if vars is None else list(vars)
    f = as_tensor(f).reshape((-1,))
    if not points:
        return tt.zeros((0, 0))
    blocks = tt.jacobian(f, points, disconnected_inputs="ignore")
    return tt.concatenate([block.reshape((f.shape[0], -1)) for block in blocks], axis=1)


def hessian_matrix(f: Any, vars: Any = None, negate_output: bool = True) -> Tensor:
    """The second derivatives of a scalar with respect to its continuous inputs, as one matrix, negated unless asked
    otherwise (`hessian` of PyMC's `pytensorf`)."""
    points = cont_inputs(f) if vars is None else list(vars)
    if not points:
        return tt.zeros((0, 0))
    found = jacobian_matrix(gradient(f, points), points)
    return -found if negate_output else found


def hessian_diag(f: Any, vars: Any = None, negate_output: bool = True) -> Tensor:
    """The diagonal of the matrix of second derivatives, negated unless asked otherwise (as in PyMC).

    >>> import ppl.tensor as tt
    >>> x = tt.dvector("x")
    >>> ppl.function([x], pm.hessian_diag((x**3).sum(), [x]))([1.0, 2.0])
    array([ -6., -12.])
    """
    points = cont_inputs(f) if vars is None else list(vars)
    if not points:
        return tt.zeros((0,))
    blocks = hessian(as_tensor(f), points, disconnected_inputs="ignore")
    parts = [_diagonal(block, x) for block, x in zip(blocks, points, strict=True)]
    diagonal = tt.concatenate(parts)
    return -diagonal if negate_output else diagonal


def _diagonal(block: Tensor, x: Tensor) -> Tensor:
    if x.ndim == 0:
        return block.reshape((1,))
    size = x.size
    return tt.diagonal(block.reshape((size, size)))


def convert_data(data: Any) -> Any:
    """Data of users (lists, arrays, frames) as an array of numbers, masked where values are missing; tensors pass.

    >>> pm.convert_data([1, 2])
    array([1, 2])
    """
    return as_data(data, "data")


def convert_observed_data(data: Any) -> Any:
    """`convert_data`, for what is given as `observed`.

    >>> pm.convert_observed_data([1.0, 2.0])
    array([1., 2.])
    """
    if isgenerator(data):
        raise TypeError("observed data cannot be a generator: make an array of its values")
    return convert_data(data)


def assert_no_rvs(vars: Any) -> None:
    """Raise where expressions hold random variables.

    >>> import ppl.tensor as tt
    >>> pm.assert_no_rvs(tt.dscalar("x") + 1)
    """
    found = [v for v in ancestors(vars if isinstance(vars, list | tuple) else [vars]) if is_draw(v)]
    if found:
        raise AssertionError(f"RandomVariables found in graph: {', '.join(map(str, found))}")


def collect_default_updates(outputs: Any, *, inputs: Any = None, must_be_shared: bool = True) -> dict[Any, Any]:
    """What random generators become after drawing `outputs`: nothing, since draws here hold no generator.

    >>> pm.collect_default_updates([pm.Normal.dist(0, 1)])
    {}
    """
    return {}


def drop_warning_stat(idata: Any) -> Any:
    """The result without the statistic `warning`, whose objects no file can hold: PyMC's results may have it.

    >>> pm.drop_warning_stat("a result")
    'a result'
    """
    groups = [name for name in ("sample_stats", "warmup_sample_stats") if "warning" in getattr(idata, name, ())]
    if not groups:
        return idata
    new = idata.copy()
    for name in groups:
        kept = getattr(idata, name).drop_vars("warning")
        unused = [
            dim for dim in kept.coords if dim in kept.dims and not any(dim in v.dims for v in kept.data_vars.values())
        ]
        kept = kept.drop_vars(unused)
        if hasattr(new, "add_groups"):
            delattr(new, name)
            new.add_groups({name: kept})
        else:
            new[name] = kept
    return new


class CallableTensor:
    """A tensor of one input as a function of it: called with another tensor, it is the same expression of that.

    >>> import ppl as pm
    >>> x = tt.dscalar("x")
    >>> CallableTensor(x**2)(tt.constant(3.0)).eval().item()
    9.0
    """

    def __init__(self, tensor: Tensor) -> None:
        self.tensor = tensor

    def __call__(self, input: Any) -> Tensor:
        (old,) = inputvars(self.tensor)
        return clone_replace(self.tensor, {old: as_tensor(input)}, rebuild_strict=False)


def guess_scaling(point: Any, vars: Any = None, model: Any = None, scaling_bound: float = 1e-8) -> np.ndarray:
    """The curvature of the log-density at a point along each unconstrained variable, between the bound and its inverse:
    precisions that a proposal may start from.

    >>> with pm.Model() as model:
    ...     x = pm.Normal("x", 0, 0.5)
    >>> pm.guess_scaling({"x": 0.0}, model=model)
    array([4.])
    """
    model = modelcontext(model)
    wanted = None if vars is None else [model.rvs_to_values.get(v, v) for v in vars]
    diagonal = hessian_diag(model.logp(), model.continuous_value_vars if wanted is None else wanted)
    curvature = np.abs(model.compile_fn(diagonal)({**model.initial_point(), **point}))
    return np.clip(curvature, scaling_bound**2, scaling_bound**-2)


def trace_cov(trace: Any, vars: Any = None, model: Any = None) -> np.ndarray:
    """The covariance matrix of draws, variable after variable; `trace` holds an array of draws by name.

    >>> pm.trace_cov({"a": np.array([1.0, 2, 3]), "b": np.array([2.0, 4, 6])}, vars=["a", "b"])
    array([[1., 2.],
           [2., 4.]])
    """
    names = [v if isinstance(v, str) else v.name for v in (vars or modelcontext(model).free_RVs)]
    arrays = [np.asarray(trace[name]) for name in names]
    return np.cov(np.concatenate([a.reshape((len(a), -1)) for a in arrays], axis=1).T)
