"""About how much work a program is, without running it: what decides must not depend on a clock.

The unit is one number of an operation that runs in vectors, about a tenth of a nanosecond on a CPU: gradients of the
targets of `benchmarks/samplers.py` took between half and twice that.
"""

from collections.abc import Callable, Hashable
from math import prod
from typing import Any

from ppl.samplers.programs.written_programs import number
from ppl.xla.later import jax
from ppl.xla.private import bodies

FREE = frozenset(
    "broadcast_in_dim bitcast_convert_type convert_element_type copy copy_p expand_dims reshape rev slice squeeze"
    " stop_gradient transpose".split()
)
WEIGHTS = {
    name: weight
    for names, weight in [
        ("div sqrt rsqrt", 4),
        ("gather", 10),
        ("exp exp2 log log1p expm1 tanh logistic sin cos tan atan2 cbrt pow erf erfc erf_inv sinh cosh", 15),
        ("scatter scatter-add sort", 20),
        ("lgamma digamma polygamma igamma igammac regularized_incomplete_beta bessel_i0e bessel_i1e", 100),
    ]
    for name in names.split()
}
# Of a matrix: times its columns, and the entries of the largest argument or result.
MATRICES = {"cholesky": 1, "triangular_solve": 1} | dict.fromkeys("eigh eig geqrf lu qr schur svd".split(), 10)
TURNS = 10  # of a loop whose length is not known
MOST_KNOWN = 64

_KNOWN: dict[Hashable, float] = {}


def work(f: Callable[..., Any], *arguments: Any) -> float:
    """The operations of ``f`` at such arguments (arrays, or their shapes and dtypes)."""
    return work_of(jax.make_jaxpr(f)(*arguments).jaxpr)


def of_gradient(
    logp: Callable[..., Any], dim: int, dtype: Any, data: tuple[Any, ...], key: Hashable
) -> Callable[[], float]:
    """A function that counts the operations of a log-density and its gradient when it is first asked.

    ``key`` stands for the log-density in later runs.
    """

    def counted() -> float:
        shapes = jax.eval_shape(lambda *data: data, *data)
        full = (key, dim, str(dtype), str(shapes))
        if full not in _KNOWN:
            if len(_KNOWN) >= MOST_KNOWN:
                _KNOWN.clear()
            counted = lambda: work(jax.value_and_grad(logp), jax.ShapeDtypeStruct((dim,), dtype), *data)
            _KNOWN[full] = number(full, counted)
        return _KNOWN[full]

    return counted


def work_of(jaxpr: Any) -> float:
    """The operations of a traced program."""
    return sum(_one(eqn) for eqn in jaxpr.eqns)


def _one(eqn: Any) -> float:
    name = eqn.primitive.name
    inside = [work_of(body) for body in bodies(eqn)]
    if name == "cond":
        return max(inside)
    if inside and not name.startswith(("reduce", "scatter")):  # their bodies join two numbers
        return sum(inside) * (eqn.params["length"] if name == "scan" else TURNS if name == "while" else 1)
    sizes = [_size(x) for x in (*eqn.invars, *eqn.outvars)]
    if name in FREE:
        return 0
    if name == "dot_general":
        (contracted, _), _ = eqn.params["dimension_numbers"]
        return sizes[-1] * prod(eqn.invars[0].aval.shape[axis] for axis in contracted)
    if name in MATRICES:
        return max(sizes) * eqn.invars[0].aval.shape[-1] * MATRICES[name]
    return max(sizes) * WEIGHTS.get(name, 1)


def _size(variable: Any) -> int:
    return prod(getattr(variable.aval, "shape", ()))
