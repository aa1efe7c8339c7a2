"""Alike nodes as rows of one array: the same values by fewer kernels, whatever the nodes are."""

from __future__ import annotations

import jax
import numpy as np
import pytest
from op_table import TABLE, built
from some_slow import every

import ppl as pm
import ppl.tensor as tt
from ppl.compile.hoisting import hoisted
from ppl.compile.pure import Program
from ppl.distributions.draws.drawing import expand_draws
from ppl.graph import ancestors
from ppl.model.prediction.draw_rows import RowProgram, draw_keys, over_draws
from ppl.rewrites.limits import LIMITS
from ppl.rewrites.sharing.columns import Columns
from ppl.tensor.arrays.indexing import GETITEM
from ppl.tensor.sampling.draws import KEY_TYPE, Draw
from ppl.tensor.tensor import Tensor, TensorType, placeholder

pytestmark = pytest.mark.usefixtures("module_compiled_quickly")


def values_of(inputs, outputs, values):
    program = Program(inputs, outputs)
    with jax.enable_x64(True):
        return [np.asarray(x) for x in jax.jit(program)(values, *program.data)]


def agree(inputs, outputs, values, rtol=1e-12):
    """The columns of a graph, once its values are seen to be those of the graph itself."""
    columns = Columns(inputs, outputs)
    found = columns.taken(values_of(columns.inputs, columns.outputs, columns.given(values)))
    for one, other, node in zip(found, values_of(inputs, outputs, values), outputs, strict=True):
        assert one.dtype == other.dtype, node
        np.testing.assert_allclose(one, other, rtol=rtol, atol=1e-13, err_msg=repr(node))
    return columns


def scalars(count=10):
    return [tt.dscalar(f"x{i}") for i in range(count)], list(np.linspace(0.1, 2.0, count))


@pytest.mark.parametrize("name", every(9, [name for name, row in sorted(TABLE.items()) if not row.slow]))
def test_any_operation_on_rows_gives_rows(name):
    """Each copy of a call has inputs of its own, which are others in every copy."""
    inputs, outputs, values = [], [], []
    for i in range(LIMITS.fewest_columns):
        results, given = built(name, TABLE[name].calls[0], known=True)
        outputs += [x for x in results if isinstance(x, Tensor)]
        inputs += given
        values += [x if x.dtype.kind not in "fc" else x * x.dtype.type(1 - i / 64) for x in given.values()]
    agree(inputs, outputs, values, max(1e-10, TABLE[name].rtol))


def test_a_loop_of_scalars_is_one_vector():
    xs, values = scalars()
    shared = tt.dscalar("shared")
    outputs = [tt.exp(x) * shared + i for i, x in enumerate(xs)]
    columns = agree([*xs, shared], outputs, [*values, 3.0])
    assert [x.type.shape for x in (*columns.inputs, *columns.outputs)] == [(11,), (10,)]
    assert len(ancestors(columns.outputs)) < 12


def test_rows_meet_in_any_order_with_numbers_and_with_what_stands_alone():
    xs, values = scalars(12)
    ys, turned = [tt.exp(x) for x in xs], [tt.tanh(x) for x in xs[::-1]]
    alone = tt.sqrt(xs[0])
    mixed = [tt.sin(y) for y in (*ys[2:8], alone, *turned[:4])]
    scaled = [y * c for y, c in zip(ys, (*range(1, 7), *turned[6:]), strict=True)]
    columns = agree(xs, [*turned, *mixed, *scaled, alone, ys[3], ys[3], xs[5]], values)
    ops = [node.op.name for node in ancestors(columns.outputs)]
    assert all(ops.count(name) == 1 for name in ("exp", "tanh", "sin", "sqrt", "multiply"))


def test_entries_of_a_vector_are_its_rows():
    theta = placeholder(TensorType("float64", (9,)), "theta")
    outputs = [tt.exp(theta[i]) * 2 for i in range(9)]
    columns = agree([theta], outputs, [np.linspace(0, 1, 9)])
    assert not any(node.op is GETITEM for node in ancestors(columns.outputs))


def test_entries_of_a_vector_of_unknown_length_stay_apart():
    x = placeholder(TensorType("float64", (None,)), "x")
    agree([x], [tt.exp(x[i]) for i in range(9)] + [tt.exp(x[-1])], [np.linspace(0, 1, 9)])


def test_vectors_of_each_length_are_rows_of_a_matrix():
    xs = [placeholder(TensorType("float64", (2 + i % 2,)), f"x{i}") for i in range(20)]
    levels, values = scalars(20)
    columns = agree(
        [*xs, *levels],
        [tt.exp(a + x).sum() for a, x in zip(levels, xs, strict=True)],
        [*(np.arange(2.0 + i % 2) / 7 + i / 20 for i in range(20)), *values],
    )
    assert sorted(str(x.type) for x in columns.inputs) == ["float64[10, 2]", "float64[10, 3]", "float64[20]"]
    ops = [node.op.name for node in ancestors(columns.outputs)]
    assert ops.count("sum") == 2 and "vectorized" not in ops


def test_what_is_stacked_again_is_the_array_itself():
    xs, values = scalars()
    columns = agree(xs, [tt.stack([tt.exp(x) for x in xs]).sum()], values)
    assert {node.op.name for node in ancestors(columns.outputs)} == {"input", "exp", "sum"}


def test_few_or_unlike_or_large_nodes_stay_apart():
    xs, values = scalars(LIMITS.fewest_columns - 1)
    assert agree(xs, [tt.exp(x) for x in xs], values).inputs == xs
    large = [
        placeholder(TensorType("float64", (LIMITS.largest_column + 1,)), f"x{i}") for i in range(LIMITS.fewest_columns)
    ]
    assert Columns(large, [tt.exp(x) for x in large]).inputs == large


def test_what_decides_sizes_stays_apart():
    ns = [tt.lscalar(f"n{i}") for i in range(10)]
    columns = Columns(ns, [tt.zeros(2 * n + 1) for n in ns])
    assert columns.inputs == ns and [x.type.shape for x in columns.outputs] == [(None,)] * 10


def test_work_on_data_is_not_mixed_with_what_moves():
    data = [tt.shared(float(i + 1)) for i in range(10)]
    xs, values = scalars()
    of_data, moving = [tt.exp(d) for d in data], [tt.exp(x) for x in xs]
    outputs = [a * b for a, b in zip(of_data, moving, strict=True)]
    columns = agree(xs, outputs, values)
    _, before = hoisted(columns.outputs, columns.inputs)
    assert any("exp" in {n.op.name for n in ancestors([each])} for each in before.values())


LAWS = {
    "Gamma": lambda a: pm.Gamma.dist(tt.exp(a), 1.0),
    "Poisson": lambda a: pm.Poisson.dist(tt.exp(a)),
    "StudentT": lambda a: pm.StudentT.dist(4.0, a, 1.0),
    "Categorical": lambda a: pm.Categorical.dist(logit_p=tt.stack([a, 0.0, 1.0])),
    "MvNormal": lambda a: pm.MvNormal.dist(tt.stack([a, 0.0]), np.array([[1.0, 0.2], [0.2, 1.0]])),
    "Dirichlet": lambda a: pm.Dirichlet.dist(tt.exp(a) * np.ones(3)),
    "Normal, many": lambda a: pm.Normal.dist(a, 1.0, shape=40),
    "VonMises": lambda a: pm.VonMises.dist(a, tt.exp(a)),
}


@pytest.mark.parametrize("law", LAWS)
def test_draws_one_by_one_are_the_same_side_by_side(law):
    """Each draw has a key of its own, so that it is what it would be alone, and no two are equal."""
    given, key = draw_keys(1, "test", 2, 30), placeholder(KEY_TYPE, "key")
    start = pm.Normal.dist(0, 1, name="start")
    each = [LAWS[law](start + i / 10) for i in range(9)]
    drawn = expand_draws(each, key)
    together = over_draws(RowProgram([key], drawn), [given])
    for i in (0, 4, 8):
        [alone] = over_draws(RowProgram([key], [drawn[i]]), [given])
        np.testing.assert_allclose(together[i], alone, rtol=1e-12)
    assert not np.array_equal(together[0], together[1])


def test_hundreds_of_draws_by_rejection_are_one():
    key = placeholder(KEY_TYPE, "key")
    drawn = expand_draws([pm.Poisson.dist(2.0 + i) for i in range(200)], key)
    columns = Columns([key], drawn)
    assert sum(isinstance(node.op, Draw) for node in ancestors(columns.outputs)) == 1
    assert len(ancestors(columns.outputs)) < 1000 and len(columns.outputs) == 1


def test_draws_that_follow_each_other_stay_in_their_order():
    """Rates of rates: a draw is never made before that which it depends on."""
    key = placeholder(KEY_TYPE, "key")
    rates = [pm.Gamma.dist(2.0, 1.0 + i) for i in range(5)]
    later = [pm.Gamma.dist(3.0, rate) for rate in rates]
    drawn = expand_draws([*rates, *later, *[pm.Poisson.dist(rate) for rate in (*rates[:2], *later)]], key)
    columns = Columns([key], drawn)
    drawn_at = [node for node in ancestors(columns.outputs) if isinstance(node.op, Draw)]
    assert sorted(node.op.name for node in drawn_at) == ["random_loggamma", "random_poisson"]
    found = over_draws(RowProgram([key], drawn), [draw_keys(1, "test", 1, 500)])
    assert np.all(np.isfinite(found[0])) and abs(np.corrcoef(found[0][0], found[5][0])[0, 1]) > 0.2
