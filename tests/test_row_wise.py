"""Operations for rows by the operation itself: the rows of the result are the results of the rows."""

from __future__ import annotations

import numpy as np
import pytest
from op_table import TABLE, built

import ppl.tensor as tt
from ppl.graph import Node, ancestors
from ppl.rewrites.sharing.row_wise import for_rows
from ppl.rewrites.values.by_numpy import nan_without_factor
from ppl.rewrites.values.folding import step_by_step
from ppl.rewrites.values.steps import steps_of
from ppl.tensor.linear_algebra.definite import normal_log_density
from ppl.tensor.sampling.draws import OF_ONE_WORD, of_words
from ppl.tensor.tensor import Tensor, TensorType, placeholder

pytestmark = pytest.mark.usefixtures("module_compiled_quickly")

ROWS = 3


def moved_ones(inputs):
    """All inputs, and each by itself where there are several."""
    return [inputs, *([x] for x in inputs if len(inputs) > 1)]


def rows_of(value):
    """Values as rows, no two alike where they are not whole numbers, which may be places."""
    if value.dtype.kind not in "fc":
        return np.stack([value] * ROWS)
    return np.stack([value * value.dtype.type(1 - i / 64) for i in range(ROWS)])


@pytest.mark.parametrize("name", sorted(TABLE))
def test_rows_of_results_are_results_of_rows(name):
    for each in TABLE[name].calls:
        results, held = built(name, each, known=True)
        outputs = [x for x in results if isinstance(x, Tensor)]
        for moved in moved_ones(list(held)):
            found = for_rows(outputs, moved, ROWS)
            if not outputs or found is None:
                continue
            rows = {x: rows_of(held[x]) for x in moved}
            values = step_by_step(found[1], held | dict(zip(found[0], rows.values(), strict=True)))
            alone = [step_by_step(outputs, held | {x: rows[x][i] for x in moved}) for i in range(ROWS)]
            listed = steps_of(found[1], [*held, *found[0]])
            if values is not None and listed is not None:
                np.testing.assert_equal(listed([*held.values(), *rows.values()]), values)
            if values is None or None in alone:  # NumPy declines; programs are compared in test_columns.py
                continue
            for node, together, *parts in zip(outputs, values, *alone, strict=True):
                assert together.dtype == parts[0].dtype, node
                np.testing.assert_allclose(together, np.stack(parts), rtol=1e-12, atol=1e-14, err_msg=f"{each} {moved}")


def test_most_of_the_table_has_rows():
    """The law above holds for what there is a form for, which is most."""
    covered = 0
    for name, row in TABLE.items():
        results, held = built(name, row.calls[0], known=True)
        outputs = [x for x in results if isinstance(x, Tensor)]
        covered += bool(outputs) and for_rows(outputs, list(held), ROWS) is not None
    assert covered > 0.6 * len(TABLE), covered


def vector(n, dtype="float64"):
    return placeholder(TensorType(dtype, (n,)), "x")


X = placeholder(TensorType("float64", (2, 3, 4)), "x")
ONE, SOME, MANY = (placeholder(TensorType("int64", shape), "i") for shape in ((), (3,), (5, 2)))


@pytest.mark.parametrize(
    ("made", "place"),
    [
        (X[ONE], ONE), (X[0, ONE], ONE), (X[:, ONE], ONE), (X[0][0][ONE], ONE), (X[:, :, SOME], SOME),
        (X[:, None, SOME], SOME), (X[SOME % 2, SOME], SOME), (X[:, SOME, SOME[:, None]], SOME), (X[:, MANY], MANY),
        (X[1, MANY], MANY), (X[:, 1, MANY], MANY), (X[:, MANY, 1:], MANY), (X[-1, SOME, np.array([0, 3, 1])], SOME),
        (tt.take_along_axis(X[0], tt.stack([SOME, SOME + 1]).T % 4, axis=1), SOME),
    ],
    ids=lambda x: None,
)  # fmt: skip
@pytest.mark.parametrize("array_too", [True, False])
def test_rows_have_places_of_their_own(made, place, array_too):
    rng = np.random.default_rng(0)
    moved = [place, *([X] if array_too else [])]
    inputs, [rows] = for_rows([made], moved, 6)
    places, arrays = rng.integers(0, 2, (6, *place.type.shape)), rng.normal(size=(6, *X.type.shape))
    held = {inputs[0]: places} | ({inputs[1]: arrays} if array_too else {X: arrays[0]})
    together = step_by_step([rows], held)[0]
    alone = [step_by_step([made], {place: places[r], X: arrays[r if array_too else 0]})[0] for r in range(6)]
    np.testing.assert_array_equal(together, np.stack(alone))


V, W = placeholder(TensorType("float64", (4,)), "v"), placeholder(TensorType("float64", (5, 4)), "w")
L = placeholder(TensorType("float64", (4, 4)), "l")


@pytest.mark.parametrize(
    "made",
    [
        tt.vectorize(lambda v: tt.cumsum(v) * tt.sum(V), "(n)->(n)")(W),
        tt.vectorize(lambda v, c: tt.dot(v, V) + c, "(n),()->()")(W, np.arange(5.0)),
        tt.vectorize(lambda x: x * V[0], "()->()")(W),
        tt.solve_triangular(tt.tril(L) + 3 * np.eye(4), W, lower=True, b_ndim=1),
        tt.solve_triangular(tt.tril(L) + 3 * np.eye(4), tt.stack([W, W + 1]), lower=True, b_ndim=1),
        normal_log_density(V, L @ L.T + np.eye(4)),
        normal_log_density(W, L @ L.T + np.eye(4)),
        normal_log_density(tt.stack([W, 2 * W]), L @ L.T + np.eye(4)),
        tt.set_subtensor(W[1:3, np.array([0, 2])], V[:2]),
        tt.inc_subtensor(W[:, np.array([0, 0, 1])], V[0]),
    ],
)  # fmt: skip
@pytest.mark.parametrize("which", ["v", "w", "vw", "wl", "vwl"])
def test_maps_equations_and_updates_have_rows(made, which):
    rng = np.random.default_rng(0)
    moved = dict.fromkeys(x for x in (V, W, L) if x.name in which)
    held = {x: rng.normal(size=(6, *x.type.shape)) for x in (V, W, L)}
    still = {x: value if x in moved else value[0] for x, value in held.items()}
    inputs, [rows] = for_rows([made], list(moved), 6)
    together = step_by_step([rows], {**still, **{i: held[x] for i, x in zip(inputs, moved, strict=True)}})[0]
    each = [{x: value[r] if x in moved else value for x, value in still.items()} for r in range(6)]
    alone = [np.asarray(made.eval({x: v for x, v in at.items() if x in ancestors(made)})) for at in each]
    np.testing.assert_allclose(together, np.stack(alone), rtol=1e-10)


def test_rows_without_a_factor_are_nan_where_that_is_asked_for():
    made = normal_log_density(V, L)
    [rows], [found] = for_rows([made], [L], 3)
    held = {V: np.ones(4), rows: np.stack([np.eye(4), -np.eye(4), np.ones((4, 4)) + 1e-17 * np.eye(4)])}
    assert step_by_step([found], held) is None
    with nan_without_factor():
        np.testing.assert_allclose(step_by_step([found], held)[0], [-2, np.nan, np.nan])


@pytest.mark.parametrize(
    "refused",
    [
        lambda x, i: x[np.array([0, 1]), :, np.array([1, 0])],  # NumPy would put these before the rows
        lambda x, i: x[0, :, np.array([1, 0])],
    ],
)
def test_what_needs_a_map_is_refused(refused):
    x, i = placeholder(TensorType("float64", (2, 3, 4)), "x"), placeholder(TensorType("int64", ()), "i")
    assert for_rows([refused(x, i)], [x, i], ROWS) is None


LOOPS = {
    "states and sums": lambda x, c: tt.scan(lambda e, s: s * 0.5 + e * c, sequences=x, outputs_info=tt.zeros(()))[0],
    "no state": lambda x, c: tt.scan(lambda e: tt.exp(e) * c, sequences=x, outputs_info=None)[0],
    "backwards": lambda x, c: tt.scan(lambda e, s: s - e * c, sequences=x, outputs_info=c, go_backwards=True)[0],
    "by count": lambda x, c: tt.scan(lambda s: s * c + x, outputs_info=x, n_steps=4)[0],
    "last state": lambda x, c: tt.scan(lambda e, s: tt.maximum(s, e * c), sequences=x, outputs_info=c)[0][-1],
    "two": lambda x, c: sum(tt.scan(lambda e, s, t: (s + e, t * c + s), sequences=x, outputs_info=[c, c * 2])[0]),
}


@pytest.mark.parametrize("moved", ["x", "c", "xc"])
@pytest.mark.parametrize("name", LOOPS)
def test_a_loop_for_rows_takes_each_step_for_all(name, moved):
    rng, x, c = np.random.default_rng(2), vector(5), tt.dscalar("c")
    output = tt.as_tensor(LOOPS[name](x, c))
    held = {x: rng.normal(size=5), c: np.array(0.7)}
    several = {each: rng.normal(size=(ROWS, *held[each].shape)) for each in (x, c) if each.name in moved}
    inputs, [together] = for_rows([output], list(several), ROWS)
    [found] = steps_of([together], [*held, *inputs])([*held.values(), *several.values()])
    alone = [output.eval(held | {each: rows[i] for each, rows in several.items()}) for i in range(ROWS)]
    np.testing.assert_allclose(found, np.stack(alone), rtol=1e-12)


def test_values_that_nothing_needs_any_more_are_let_go_of():
    x = vector(4)
    steps = steps_of([tt.sum(tt.exp(tt.sin(x) + 1) * x)], [x])
    assert sorted(node.op.name for step in steps._steps for node in step.done) == ["add", "exp", "multiply", "sin"]


def test_what_numpy_refuses_is_left_to_programs():
    sure = placeholder(TensorType("bool", ()), "sure")
    assert step_by_step([tt.positive(sure)], {sure: np.array(True)}) is None


def test_an_output_that_no_row_reaches_is_repeated():
    x, c = vector(2), tt.dscalar("c")
    [rows], outputs = for_rows([c * 2, x], [x], ROWS)
    values = step_by_step(outputs, {rows: np.arange(6.0).reshape(3, 2), c: np.array(4.0)})
    assert values[0].tolist() == [8, 8, 8] and values[1].shape == (3, 2)


@pytest.mark.parametrize("law", sorted(draw.name for draw in OF_ONE_WORD))
def test_laws_of_words_by_numpy_are_those_of_programs(law):
    words = np.random.default_rng(1).integers(0, 2**32, (4000, 2), np.uint32)
    words[:4] = [[0, 0], [2**32 - 1, 2**32 - 1], [2**31, 0], [2**31 - 1, 2**32 - 1]]
    drawn: Node = of_words(placeholder(TensorType("uint32", words.shape), "words"), law=law)
    [by_numpy] = step_by_step([drawn], {drawn.inputs[0]: words})
    np.testing.assert_allclose(by_numpy, drawn.eval({drawn.inputs[0]: words}), rtol=1e-12, atol=1e-15)
