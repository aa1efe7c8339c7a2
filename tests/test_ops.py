"""Every operation and every function of `ppl.tensor` against NumPy and SciPy: one table, one test for all.

Values, shapes and dtypes on drawn inputs (broadcast, empty, of one entry; floats, integers, booleans; nan and
infinities), the inferred shape against the real one, gradients against finite differences. What no row covers stands in
`WITHOUT_A_ROW`, with the reason and the place where it is tested instead.
"""

from __future__ import annotations

import functools
import itertools
import operator
import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, reject, settings
from hypothesis import strategies as st
from op_drawn import drawn_calls
from op_elementwise import ELEMENTWISE
from op_rows import Call, Row, arrays_of, call, mapped, positive_definite, reals
from op_structured import SYMMETRIC
from op_table import TABLE, Inputs, built, parts_of
from op_without_rows import WITHOUT_A_ROW

import ppl
import ppl.tensor as tt
from ppl.graph import Attrs, ancestors
from ppl.graph.registry import OPS
from ppl.rewrites.values.folding import step_by_step
from ppl.tensor.core.ops import shape_by_jax
from ppl.tensor.tensor import FUNCTIONS, Tensor, TensorType, placeholder

pytestmark = pytest.mark.usefixtures("module_compiled_quickly")


def values_of(results: list[Any], inputs: Inputs) -> list[np.ndarray]:
    """Compiled as they stand, in one program."""
    nodes = [each for each in results if isinstance(each, Tensor)]
    run = ppl.function(list(inputs), nodes, mode="FAST_COMPILE", on_unused_input="ignore")
    found = iter(run(*inputs.values()))
    return [next(found) if isinstance(each, Tensor) else np.asarray(each) for each in results]


def expected(row: Row, each: Call) -> list[np.ndarray]:
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return [np.asarray(part) for part in parts_of(row.oracle(*each.args, **each.options))]


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[pytest.mark.slow] * row.slow) for name, row in sorted(TABLE.items())]
)
def test_values_types_and_gradients(name):
    """By XLA, and by NumPy where `step_by_step` has a way."""
    row, random = TABLE[name], np.random.default_rng(7)
    each_built = [built(name, each, known=True) for each in row.calls]
    costs = [
        cost_of(each, *made, random) if each.slopes else None for each, made in zip(row.calls, each_built, strict=True)
    ]
    inputs = {x: value for _, given in each_built for x, value in given.items()}
    slopes = [slope for cost in costs if cost for slope in cost.slopes]
    values = iter(values_of([*slopes, *[r for results, _ in each_built for r in results]], inputs))
    found = [[next(values) for _ in cost.slopes] if cost else [] for cost in costs]
    for each, (results, held), cost, derivatives in zip(row.calls, each_built, costs, found, strict=True):
        answers = expected(row, each)
        assert len(results) == len(answers), each
        for result, wanted in zip(results, answers, strict=True):
            value = next(values)
            check_type(result, value, row.loose)
            check_value(row, each, value, wanted)
            by_numpy = step_by_step([result], held, maps=True) if isinstance(result, Tensor) else None
            if by_numpy is not None:  # it may decline, and XLA does it
                check_type(result, by_numpy[0], row.loose)
                check_value(row, each, by_numpy[0], wanted)
        if cost:
            check_slopes(row, each, cost, derivatives, random)


@dataclass
class Cost:
    """A combination of the results of a call, and its gradient in the arrays of real numbers among the arguments."""

    weights: list[Any]
    slopes: list[Tensor]


def cost_of(each: Call, results: list[Any], inputs: Inputs, random: Any) -> Cost:
    moved = [x for x, value in inputs.items() if value.dtype == np.float64]
    weights = [
        random.normal(size=r.type.shape) if isinstance(r, Tensor) and r.dtype == "float64" else None for r in results
    ]
    terms = [(w * r).sum() for w, r in zip(weights, results, strict=True) if w is not None]
    assert moved and terms, f"nothing to differentiate in {each}: say slopes=False"
    return Cost(weights, ppl.grad(functools.reduce(operator.add, terms), moved))


def check_slopes(row: Row, each: Call, cost: Cost, slopes: list[np.ndarray], random: Any) -> None:
    """Along a random direction, against differences of the oracle's values."""
    arrays = [x for x in arrays_of(each.args) if x.dtype == np.float64]
    for x, slope in zip(arrays, slopes, strict=True):
        way = random.uniform(0.5, 1, slope.shape) * random.choice([-1, 1], slope.shape)
        way = way + np.swapaxes(way, -1, -2) if row.symmetric else way
        up, down = (expected(row, Call(with_step(each.args, x, step * way), each.options)) for step in (1e-5, -1e-5))
        wanted = (
            sum(np.sum(w * (a - b)) for w, a, b in zip(cost.weights, up, down, strict=True) if w is not None) / 2e-5
        )
        scale = max(1.0, np.sum(np.abs(slope * way)))
        assert abs(np.sum(slope * way) - wanted) <= row.slope_tol * scale, (
            f"{each}, gradient in {x}: {np.sum(slope * way)} along {way}, differences give {wanted}"
        )


def with_step(args: Any, x: np.ndarray, step: np.ndarray) -> Any:
    return mapped(args, lambda each: each + step if each is x else each)


@pytest.mark.parametrize(
    "name", sorted(name for name, row in TABLE.items() if not (row.known or row.constants or row.slow))
)
def test_sizes_may_be_unknown(name):
    row = TABLE[name]
    for each in row.calls[:1]:
        results, inputs = built(name, each, known=False)
        answers = expected(row, each)
        for result, wanted in zip(results, answers, strict=True):
            if isinstance(result, Tensor):
                check_type(result, wanted, loose=True, dtype=False)
        if name not in ELEMENTWISE:  # those run the same program
            for value, wanted in zip(values_of(results, inputs), answers, strict=True):
                check_value(row, each, value, wanted)


@pytest.mark.parametrize(
    "name",  # a squeeze is of the axes whose length is known to be one, as in Theano
    sorted(name for name, row in TABLE.items() if not (row.known or row.constants or name == "squeeze")),
)
@pytest.mark.filterwarnings("ignore")  # of short lengths
def test_what_is_known_of_sizes_holds_at_every_length(name):
    """One axis is left open, and then has one length after the other."""
    arguments = TABLE[name].calls[0]
    arrays = [each for each in arrays_of(arguments.args) if each.ndim]
    for at, array in enumerate(arrays):
        for axis in range(array.ndim):
            open_, *closed = [typed(name, arguments, at, axis, length) for length in (None, 1, 2, 3, 5, 8)]
            for shapes in closed:
                fits = [
                    len(some) == len(all_) and all(n in (m, None) for n, m in zip(some, all_, strict=True))
                    for some, all_ in zip(open_, shapes, strict=bool(shapes and open_))
                ]
                assert all(fits), f"axis {axis} of argument {at}: {open_} may be {shapes}"


def typed(name, arguments, at, axis, length):
    """The shapes of a call in which one axis of one array has another length; none where it does not fit."""
    places = itertools.count()

    def symbol(x):
        shape = list(x.shape)
        if x.ndim and next(places) == at:
            shape[axis] = length
        return tt.tensor(dtype=x.dtype.name, shape=tuple(shape))

    try:
        found = parts_of(FUNCTIONS[name](*[mapped(a, symbol) for a in arguments.args], **arguments.options))
    except (ArithmeticError, LookupError, RuntimeError, TypeError, ValueError):
        return []
    return [each.type.shape for each in found if isinstance(each, Tensor)]


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=[pytest.mark.slow] * row.slow)
        for name, row in sorted(TABLE.items())
        if not row.constants
    ],
)
@settings(max_examples=1)
@given(data=st.data())
def test_drawn_inputs(name, data):
    few_drawn_inputs(name, data)


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(name for name, row in TABLE.items() if not row.constants))
@settings(max_examples=25, suppress_health_check=[HealthCheck.filter_too_much])
@given(data=st.data())
def test_many_drawn_inputs(name, data):
    few_drawn_inputs(name, data)


def few_drawn_inputs(name, data):
    """As NumPy has it; where NumPy refuses, nothing is asked."""
    row = TABLE[name]
    each = data.draw(drawn_calls(name, row))
    try:
        answers = expected(row, each)
    except (ArithmeticError, LookupError, RuntimeError, TypeError, ValueError):  # LinAlgError is a ValueError
        reject()
    results, inputs = built(name, each, known=True)
    for result, value, wanted in zip(results, values_of(results, inputs), answers, strict=True):
        check_type(result, value, row.loose)
        check_value(row, each, value, wanted)


def check_type(result: Any, value: np.ndarray, loose: bool, dtype: bool = True) -> None:
    """The inferred type against the real one; only a `loose` one may leave lengths open."""
    if not isinstance(result, Tensor):
        return
    fits = [m == n or (loose and m is None) for m, n in zip(result.type.shape, value.shape, strict=True)]
    assert all(fits), f"{result!r} is really of shape {value.shape}"
    assert not dtype or result.dtype == value.dtype.name, f"{result!r} is really {value.dtype}"


def check_value(row: Row, each: Call, value: np.ndarray, wanted: np.ndarray) -> None:
    assert value.shape == wanted.shape, each
    kind, floats = np.dtype(row.dtype(wanted.dtype)), [x for x in arrays_of(each.args) if x.dtype.kind == "f"]
    single = value.dtype in (np.float32, np.complex64) or any(x.dtype == np.float32 for x in floats)
    assert value.dtype in allowed(kind, floats), f"{each}: {value.dtype} where {kind} is right"
    rtol, atol = (max(row.rtol, 2e-4), max(row.atol, 2e-5)) if single else (row.rtol, row.atol)
    rtol, atol = (2e-3, 2e-3) if kind == np.float16 else (rtol, atol)
    np.testing.assert_allclose(value, wanted.astype(value.dtype), rtol=rtol, atol=atol, err_msg=f"{each}")


def allowed(kind: np.dtype, floats: list[np.ndarray]) -> list[Any]:
    """Half precision is never ours; what is given in single precision stays so, where SciPy would compute in double."""
    if kind == np.float16:
        return [np.dtype(np.float32), np.dtype(np.float64)]
    if floats and all(x.dtype == np.float32 for x in floats):
        return [kind, {"float64": np.dtype(np.float32), "complex128": np.dtype(np.complex64)}.get(kind.name, kind)]
    return [kind]


def test_every_function_and_operation_has_a_row_or_a_reason():
    """What rows build counts as covered: the operations under their functions."""
    nodes = [r for name, row in TABLE.items() for each in row.calls for r in built(name, each, known=True)[0]]
    nodes = [node for node in nodes if isinstance(node, Tensor)]
    nodes.append(tt.arange(tt.dvector("v").shape[0]))  # a node only where its end is a size that is not known
    operations = {node.op for node in ancestors(nodes)}
    covered = {id(FUNCTIONS[name]) for name in TABLE} | {id(op) for op in operations}
    everything = {**OPS, **FUNCTIONS}
    lost = sorted(name for name, f in everything.items() if id(f) not in covered and name not in WITHOUT_A_ROW)
    assert not lost, f"no row in the table of ops: {', '.join(lost)}"
    idle = sorted(name for name in WITHOUT_A_ROW if name in TABLE or name not in everything)
    assert not idle, f"these need no reason: {', '.join(idle)}"


@pytest.mark.parametrize("each", [call(SYMMETRIC), call(positive_definite(3, 2))], ids=["one", "a stack"])
def test_decompositions_multiply_back(each):
    x = tt.tensor("x", dtype="float64", shape=(None,) * each.args[0].ndim)
    value, vectors = tt.eigh(x)
    q, r = tt.qr(x)
    roots, sides = tt.eig(x)
    again = [vectors * value[..., None, :] @ vectors.mT, q @ r, (sides * roots[..., None, :] @ tt.inv(sides)).real]
    for found in tt.get(again, {x: each.args[0]}):
        np.testing.assert_allclose(found, each.args[0], rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(
        np.sort(tt.eigvals(x).real.eval({x: each.args[0]})), value.eval({x: each.args[0]}), rtol=1e-9
    )


def test_schur_multiplies_back():
    a = reals(3, 3)
    t, z = tt.schur(a)
    np.testing.assert_allclose(tt.get(z @ t @ z.T), a, rtol=1e-9, atol=1e-9)


TOLD = {  # operations that tell their type without JAX: shapes and constants
    "qr": [((5, 2), {}), ((2, 5), {}), ((3, 4, 4), {}), ((5, 2), {"mode": "r"}), ((None, 2), {})],
    "pinv": [((5, 2), {}), ((3, 2, 4), {}), ((None, 2), {})],
    "eigh": [((4, 4), {}), ((3, 4, 4), {"UPLO": "U"}), ((None, 4, 4), {})],
    "tril": [((4, 3), {}), ((2, 4, 3), {"k": -1}), ((4, None), {})],
    "triu": [((4, 3), {"k": 2})],
    "diagonal": [((4, 3), {}), ((2, 4, 3), {"offset": -1, "axis1": 1, "axis2": 2})],
    "matrix_of_diagonal": [((3,), {"k": 0}), ((2, 3), {"k": -2})],
    "solve_general": [((4, 4), {}), ((2, 4, 4), {})],
}


@pytest.mark.parametrize("dtype", ["float64", "float32", "complex128"])
@pytest.mark.parametrize("name", TOLD)
def test_a_type_that_an_operation_tells_is_the_one_of_jax(name, dtype):
    op = OPS[name]
    assert {key for key, other in OPS.items() if getattr(other, "type_of", None) is not None} == TOLD.keys()
    for shape, chosen in TOLD[name]:
        inputs = tuple(placeholder(TensorType(dtype, shape), "x") for _ in range(op.count or 2))
        attrs = Attrs(**{**op.constants, **chosen})
        assert op.infer(inputs, attrs) == shape_by_jax(op.lower, tuple(x.type for x in inputs), attrs)
