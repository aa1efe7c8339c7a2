"""Both sides of every law have the same law, every law fires on its own left side, and its side conditions hold."""

import jax
import numpy as np
import pytest
from scipy import stats

import ppl.tensor as tt
from ppl.distributions import Gamma, Normal, Poisson, Uniform, is_draw
from ppl.distributions.draw import draw
from ppl.distributions.drawing import expand_draws
from ppl.graph import ancestors
from ppl.rewrites.laws import BOOKS, equal_in_law, in_law
from ppl.tensor.evaluate import evaluate
from ppl.tensor.keys import Key

USUAL = [0.7, 1.3, 0.9, 1.6]
DRAWS = 4000


def sides(law):
    """The two sides at example values, `DRAWS` independent times."""
    values = [
        tt.as_tensor(np.full(DRAWS, float((law.examples or {}).get(name, USUAL[i % 4]))))
        for i, name in enumerate(law.names)
    ]
    return [_wide(side) for side in law.state(*values)]


def _wide(side):
    """The same expression with draws of full length, where no hole gave them one."""
    done = {}
    for node in sorted(ancestors(side), key=lambda n: n.serial):
        inputs = tuple(done[i] for i in node.inputs)
        if is_draw(node):
            done[node] = draw(node.attrs["family"], inputs, (DRAWS,))
        else:
            done[node] = type(node)(node.op, inputs, node.attrs) if inputs else node
    return done[side]


def drawn(side, seed):
    with jax.enable_x64(True):
        return np.asarray(evaluate(expand_draws([side], Key.from_seed(seed).node), {})[0])


@pytest.mark.parametrize("law", BOOKS, ids=lambda law: law.name)
def test_both_sides_have_the_same_law(law):
    """A two-sample test at p > 1e-4 with fixed seeds; counts are compared cell by cell."""
    a, b = (drawn(side, seed) for seed, side in enumerate(sides(law)))
    if a.dtype.kind in "iu":
        edges = np.quantile(np.concatenate([a, b]), np.linspace(0, 1, 9))
        edges = np.unique(np.r_[-np.inf, edges[1:-1] + 0.5, np.inf])
        table = np.array([np.histogram(x, edges)[0] for x in (a, b)])
        table = table[:, table.sum(0) > 0]
        assert stats.chi2_contingency(table).pvalue > 1e-4
    else:
        assert stats.ks_2samp(a, b).pvalue > 1e-4


@pytest.mark.parametrize("law", BOOKS, ids=lambda law: law.name)
def test_every_law_fires(law):
    args = [tt.as_tensor((law.examples or {}).get(name, USUAL[i % 4])) for i, name in enumerate(law.names)]
    steps = in_law(law.state(*args)[0])[1]
    assert steps and steps[0][0] is law


def test_laws_compose():
    x, y = Normal.dist(0.0, 1.0), Normal.dist(1.0, 2.0)
    result, _ = in_law(2.0 * x - y + 3.0)
    assert result.family is Normal
    assert [float(p.eval()) for p in result.parameters] == pytest.approx([2.0, np.sqrt(8.0)])


def test_a_draw_used_twice_is_not_two_draws():
    x = Normal.dist(0.0, 1.0)
    assert in_law(x + x)[1] == []
    assert in_law(x + 2.0 * x)[1] == []


def test_a_draw_that_is_used_elsewhere_stays():
    x, y = Normal.dist(0.0, 1.0), Normal.dist(0.0, 1.0)
    assert in_law(x + y, keep=[x])[1] == []


def test_a_named_draw_stays():
    x = Normal.dist(0.0, 1.0, name="x")
    result, _ = in_law(x + Normal.dist(0.0, 1.0))
    assert x in ancestors(result)


def test_draws_that_depend_on_each_other_stay():
    x = Normal.dist(0.0, 1.0)
    assert in_law(x + Normal.dist(x, 1.0))[1] == []


def test_a_broadcast_draw_is_one_draw():
    assert in_law(Normal.dist(0.0, 1.0, shape=(3,)) + Normal.dist(0.0, 1.0))[1] == []


def test_different_rates_do_not_add_up():

    assert in_law(Gamma.dist(1.0, 1.0) + Gamma.dist(1.0, 2.0))[1] == []


def test_shapes_are_kept():
    result, _ = in_law(Poisson.dist(1.0, shape=(3,)) + Poisson.dist([1.0, 2.0, 3.0]))
    assert result.type.shape == (3,)


def test_a_law_with_a_hole_on_the_right_alone_is_refused():
    with pytest.raises(ValueError, match="right side alone"):

        @equal_in_law
        def wrong(a, b):
            """It is not true."""
            return -Uniform.dist(0.0, a), Uniform.dist(a, b)


def test_a_law_without_a_theorem_is_refused():
    with pytest.raises(ValueError, match="docstring"):

        @equal_in_law
        def silent(a):
            return -Uniform.dist(0.0, a), Uniform.dist(-a, 0.0)
