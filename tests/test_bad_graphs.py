"""Bad input to graphs and functions: each is refused at the line that made it, by a message that names what was found.

Files that are truncated, of a newer version, or hold an unknown operation: tests/test_storage.py.
"""

import io
import traceback

import numpy as np
import pytest
from plain_words import require_plain

import ppl
import ppl.tensor as tt

a = tt.tensor("a", dtype="float64", shape=(2, 3))
b = tt.tensor("b", dtype="float64", shape=(4, 3))
x, y, n = tt.dvector("x"), tt.dscalar("y"), tt.lscalar("n")
state = ppl.shared(np.zeros(3), "state", shape=(3,))
counter = ppl.shared(0, "counter")


def function_of(*arguments, **options):
    return ppl.function(*arguments, **options)


def save_twins():
    """The variables live until they are saved."""
    twins = [ppl.shared(0.0, "twin") for _ in range(2)]
    ppl.save_variables(io.BytesIO(), "twin")
    return twins


BAD = {
    # shapes: both, and whose they are
    "shapes that do not broadcast": (lambda: a + b, ValueError, "(2, 3)", "(4, 3)", "name=a", "name=b", "lengths 2 and 4"),
    "a product that does not fit": (lambda: a @ b, ValueError, "(2, 3)", "(4, 3)", "name=a", "name=b", "3 columns meet 4"),
    "a product with a vector that does not fit": (lambda: tt.dot(b, np.ones(2)), ValueError, "(4, 3)", "(2,)", "name=b", "3 columns meet 2"),
    "an entry that is assigned": (lambda: a.__setitem__(0, 1.0), TypeError, "name=a", "does not change", "set_subtensor(x[...], value)"),
    "concatenated along the wrong axis": (lambda: tt.concatenate([a, b], 1), ValueError, "name=a", "name=b", "2 and 4"),
    "nothing to concatenate": (lambda: tt.concatenate([]), ValueError, "concatenate needs at least one array"),
    "nothing to stack": (lambda: tt.stack([]), ValueError, "stack needs at least one array"),
    "a reshape that does not fit": (lambda: a.reshape((4, 2)), ValueError, "name=a", "6 entries", "(4, 2)"),
    "a broadcast that does not fit": (lambda: tt.broadcast_to(a, (2, 4)), ValueError, "name=a", "(2, 3)", "(2, 4)"),
    "an axis that is not there": (lambda: a.sum(axis=2), ValueError, "axis 2 does not exist", "2 axes"),
    "a squeeze of a long axis": (lambda: tt.squeeze(a, 0), ValueError, "axis 0", "length 2, not 1"),
    "a solve that does not fit": (lambda: tt.solve(tt.eye(3), np.ones(4)), ValueError, "3 rows", "has 4"),
    "half of an odd length": (lambda: tt.glu(a), ValueError, "even length", "3 entries along axis -1", "name=a"),
    "weights of another length": (lambda: tt.average(a, 0, weights=np.ones(3)), ValueError, "not as many as axis 0", "name=a"),
    "a loop that changes shape": (
        lambda: ppl.scan(lambda s: tt.concatenate([s, s]), outputs_info=tt.ones(2), n_steps=3), (TypeError, ValueError), "(2", "(4"),
    # dtypes
    "bits of floats": (lambda: x & x, TypeError, "bitwise_and takes integers or truth values", "float64", "name=x"),
    "the wrong dtype for an input": (
        lambda: function_of([n], n + 1)(1.5), TypeError, "input 0 is Input(name=n", "got 1.5 of dtype float64", "int64"),
    "an index of floats": (lambda: x[y], IndexError, "made of integers", "name=y"),
    "an update of another dtype": (
        lambda: function_of([], updates={counter: counter * 0.5}), TypeError, "counter", "float64", "int64", "astype"),
    "a replacement of another dtype": (lambda: function_of([n], y * 2, givens={y: n}), TypeError, "name=y", "name=n", "float64"),
    "an array of words": (lambda: tt.constant(["a"]), TypeError, "numbers and booleans"),
    "branches of two dtypes": (lambda: ppl.ifelse(y > 0, n, tt.zeros(2)), TypeError, "branches differ", "int64", "float64"),
    # inputs
    "an input that is missing": (lambda: function_of([x], x * y), ValueError, "the outputs need Input(name=y", "among the inputs"),
    "an input that is not used": (lambda: function_of([x, y], x), ValueError, "nothing depends on", "name=y", "on_unused_input"),
    "an input that is unknown": (lambda: function_of([x], x)(z=1.0), TypeError, "no input 'z'", "its inputs are x"),
    "a value that is missing": (lambda: function_of([x, y], x * y)([1.0]), TypeError, "needs a value for", "name=y"),
    "too many values": (lambda: function_of([x], x)([1.0], 2.0), TypeError, "takes 1 inputs, got 2"),
    "a value for no input": (lambda: (x * 2).eval({"z": 1.0}), KeyError, "0 inputs of", "called 'z'"),
    "a value of another shape": (lambda: function_of([a], a)(np.ones((3, 2))), ValueError, "name=a", "(2, 3)", "(3, 2)"),
    "a symbol as a value": (lambda: function_of([x], x)(x), TypeError, "got the symbol", "give its value"),
    "an input listed twice": (lambda: function_of([x, x], x), ValueError, "an input is listed twice"),
    "two inputs of one name": (lambda: function_of([x, tt.dvector("x")], x), ValueError, "two inputs are called 'x'", "rename"),
    "an argument that is unknown": (lambda: function_of([x], x, fast=True), TypeError, "no argument 'fast'"),
    "a mode that is unknown": (lambda: function_of([x], x, mode="FASTEST"), ValueError, "no mode 'FASTEST'", "FAST_RUN"),
    # derivatives
    "a cost that is no scalar": (lambda: ppl.grad(x * 2, x), ValueError, "gradient is taken of a scalar", "shape (None,)", "jacobian()"),
    "a cost of whole numbers": (lambda: ppl.grad(n * 2, n), TypeError, "float", "int64"),
    "a gradient in whole numbers": (lambda: ppl.grad(y * n, n), TypeError, "no derivative with respect to", "int64"),
    "a gradient that is disconnected": (
        lambda: ppl.grad(x.sum(), y), ValueError, "does not depend on Input(name=y", "disconnected_inputs='ignore'"),
    # inputs
    "a shape given twice": (lambda: tt.tensor(shape=(2,), broadcastable=(False,)), TypeError, "shape= or broadcastable=", "not both"),
    "as many axes as another shape": (lambda: tt.tensor(shape=(2, 3), ndim=3), TypeError, "ndim=3", "shape of 2 entries"),
    # names
    "two draws of one name": (
        lambda: [stream.normal(name="u") for stream in [tt.random.RandomStream(1)] for _ in "ab"], ValueError, 'called "u"'),
    "two variables of one name in a file": (
        lambda: save_twins(), ValueError, "scope and name", "distinct", "twin"),
    # indices
    "an index out of range": (lambda: a[2], IndexError, "index 2 is out of range for axis 0", "name=a", "length 2"),
    "an array index out of range": (lambda: a[:, np.array([0, 5])], IndexError, "index 5 (at position 1", "axis 1", "length 3"),
    "too many indices": (lambda: a[0, 0, 0], IndexError, "3 indices", "name=a", "2 axes"),
    "a mask of another length": (lambda: a[tt.tensor("m", dtype="bool", shape=(3,))], IndexError, "mask", "name=m", "(3,)", "lengths (2,)"),
    # updates
    "an update of another shape": (lambda: function_of([], updates={state: tt.ones(4)}), ValueError, "state", "(4,)", "(3,)"),
    "an update of what is no variable": (lambda: function_of([x], updates={x: x}), TypeError, "only shared variables are updated"),
    "two updates of a variable": (
        lambda: function_of([], updates=[(state, state + 1), (state, state)]), ValueError, "two updates for", "state"),
    "a value of another shape for a variable": (lambda: state.set_value(np.ones(4)), ValueError, "state", "(3)", "(4,)"),
    # symbols where values are needed
    "the truth of a symbol": (lambda: bool(y > 0), TypeError, "not known before the program runs", "switch"),
    "a symbol as a number": (lambda: float(y), TypeError, "has no value yet", "name=y"),
}  # fmt: skip


@pytest.mark.parametrize("case", BAD, ids=str)
def test_bad_input_is_refused(case):
    act, error, *parts = BAD[case]
    with pytest.raises(error) as caught:
        act()
    message = str(caught.value)
    lacking = [part for part in parts if part not in message]
    assert not lacking, f"the message lacks {lacking}: {message}"
    require_plain(message)


def test_the_error_comes_from_the_line_that_made_it():
    with pytest.raises(ValueError, match="do not broadcast") as caught:
        a + b  # the line
    lines = [frame.line for frame in traceback.extract_tb(caught.value.__traceback__)]
    assert any("# the line" in line for line in lines)
