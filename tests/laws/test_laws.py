"""Both sides of every law have the same law, every law fires on its own left side, and its side conditions hold."""

import jax
import numpy as np
import pytest
from scipy import stats

import ppl.tensor as tt
from ppl.distributions import (
    FAMILIES,
    Binomial,
    Censored,
    Dirichlet,
    Gamma,
    Mixture,
    Multinomial,
    MvNormal,
    Normal,
    Poisson,
    Uniform,
    is_draw,
)
from ppl.distributions.draws.draw import draw
from ppl.distributions.draws.drawing import expand_draws
from ppl.graph import ancestors
from ppl.rewrites.laws import BOOKS, equal_in_law, in_law
from ppl.tensor.core.evaluate import evaluate
from ppl.tensor.sampling.keys import Key

pytestmark = pytest.mark.usefixtures("module_compiled_quickly")

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


def alike(a, b):
    """Whether two samples may have one law."""
    if a.dtype.kind in "biu":
        edges = np.quantile(np.concatenate([a, b]).astype(float), np.linspace(0, 1, 9))
        edges = np.unique(np.r_[-np.inf, edges[1:-1] + 0.5, np.inf])
        table = np.array([np.histogram(x.astype(float), edges)[0] for x in (a, b)])
        table = table[:, table.sum(0) > 0]
        return stats.chi2_contingency(table).pvalue > 1e-4
    return stats.ks_2samp(a, b).pvalue > 1e-4


@pytest.mark.parametrize("law", BOOKS, ids=lambda law: law.name)
def test_both_sides_have_the_same_law(law):
    """A two-sample test at p > 1e-4 with fixed seeds; counts are compared cell by cell."""
    assert alike(*(drawn(side, seed) for seed, side in enumerate(sides(law))))


@pytest.mark.parametrize("law", BOOKS, ids=lambda law: law.name)
def test_every_law_fires(law):
    args = [tt.as_tensor((law.examples or {}).get(name, USUAL[i % 4])) for i, name in enumerate(law.names)]
    steps = in_law(law.state(*args)[0])[1]
    assert steps and steps[0][0] is law


ALONG = {  # two values where parameters add up, one where they must be the same
    "Normal": {"mu": [0.4, 0.7], "sigma": [1.1, 0.6]},
    "Poisson": {"mu": [0.4, 0.7]},
    "Bernoulli": {"p": [0.3]},
    "Binomial": {"n": [3, 5], "p": [0.3]},
    "NegativeBinomial": {"n": [1.5, 0.7], "p": [0.3]},
    "Geometric": {"p": [0.3]},
    "Exponential": {"lam": [1.3]},
    "Gamma": {"alpha": [0.4, 0.7], "beta": [1.3]},
    "ChiSquared": {"nu": [1.5, 0.7]},
    "Cauchy": {"alpha": [0.4, 0.7], "beta": [1.3, 0.2]},
    "Wald": {"mu": [0.4], "lam": [1.3]},
}


@pytest.mark.parametrize("reduce", [tt.sum, tt.mean], ids=["sum", "mean"])
def test_a_sum_along_an_axis_is_that_of_its_entries(reduce):
    """Along an axis of two entries, by the law of two draws."""
    declared = {name for name, f in FAMILIES.items() if f.law_of_sum}
    assert declared - {"Multinomial"} == set(ALONG)  # vectors: test_array_laws.py
    for name, given in ALONG.items():
        family = FAMILIES[name]
        if reduce is tt.mean and family.dist(**given).dtype[0] != "f":
            continue
        whole = in_law(reduce(family.dist(**given, shape=(3, 2)), axis=1))[0]
        one, other = ({key: v[i % len(v)] for key, v in given.items()} for i in range(2))
        total = family.dist(**one) + family.dist(**other)
        pair = in_law(total if reduce is tt.sum else 0.5 * total)[0]
        (law,), (expected,) = ([n for n in ancestors(side) if is_draw(n)] for side in (whole, pair))
        assert law.family is expected.family and whole.type.shape == (3,)
        for p, q in zip(law.parameters, expected.parameters, strict=True):
            np.testing.assert_allclose(np.broadcast_to(p.eval(), 3), q.eval(), rtol=1e-12, err_msg=name)


GRID = np.linspace(-12.0, 12.0, 2001)
SHARE = np.linspace(0.0, 0.75, 2001)
COUNT = np.arange(5)
ENTRY = {  # a law, an entry and its value, points with that value, and how far they are from each other
    "MvNormal": (
        MvNormal.dist([0.3, 1.0], [[1.0, 0.5], [0.5, 2.0]]),
        1,
        0.25,
        np.stack([GRID, 0.25 + 0 * GRID], 1),
        GRID,
    ),
    "Dirichlet": (
        Dirichlet.dist([2.5, 1.5, 3.0]),
        1,
        0.25,
        np.stack([SHARE, 0.25 + 0 * SHARE, 0.75 - SHARE], 1),
        SHARE,
    ),
    "Multinomial": (Multinomial.dist(7, [0.2, 0.5, 0.3]), -1, 3, np.stack([COUNT, 4 - COUNT, 3 + 0 * COUNT], 1), COUNT),
}


@pytest.mark.parametrize("name", ENTRY)
def test_an_entry_of_a_vector_has_the_law_that_is_left_when_the_others_are_integrated_out(name):
    assert {name for name, f in FAMILIES.items() if f.law_of_entry} == set(ENTRY)
    vector, place, value, points, grid = ENTRY[name]
    law, steps = in_law(vector[place])
    whole = np.exp(vector.family.log_density(tt.as_tensor(points), *vector.parameters).eval())
    one = np.exp(law.family.log_density(tt.as_tensor(value), *law.parameters).eval())
    total = whole.sum() if name == "Multinomial" else np.trapezoid(whole, grid)
    assert steps and total == pytest.approx(float(one), rel=1e-5)


def test_parameters_that_differ_along_an_axis_add_up_only_where_they_may():
    assert in_law(tt.sum(Gamma.dist(1.0, [1.0, 2.0])))[1] == []
    assert in_law(tt.sum(Binomial.dist(3, [0.1, 0.2])))[1] == []
    assert in_law(tt.sum(Poisson.dist(1.0, shape=3)) + tt.sum(Poisson.dist(2.0, shape=2)))[0].family is Poisson


def test_an_array_that_is_used_twice_stays():
    x = Poisson.dist(1.0, shape=3)
    assert in_law(tt.sum(x) + x[0])[1] == []
    y = MvNormal.dist(np.zeros(2), np.eye(2))
    assert in_law(y[0] * y[1])[1] == []


@pytest.mark.parametrize("law", [law for law in BOOKS if law.when], ids=lambda law: law.name)
def test_without_its_condition_a_law_is_false_or_proves_nothing(law):
    """At values that break the condition the law stays out; equal in law or not, nothing is claimed there."""
    args = [tt.as_tensor(-0.3 - 0.4 * i if name == "c" else 0.5 + 0.6 * i**2) for i, name in enumerate(law.names)]
    if law.when(*args):
        args = [tt.dscalar(name) for name in law.names]
    assert not law.when(*args)


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


def test_a_draw_that_many_share_and_a_law_of_many_are_no_compounds():
    """One latent for five counts, and one for the rows of a mixture: the counts are dependent."""
    shared = Binomial.dist(Poisson.dist(3.0), 0.4, shape=5)
    parts = [Poisson.dist(Gamma.dist(2.0, 1.0)), Poisson.dist(3.0)]
    for node in (shared, Mixture.dist([0.4, 0.6], parts, shape=5), Censored.dist(parts[0], 0, 3, shape=5)):
        assert in_law(node) == (node, [])
    thinned = Binomial.dist(Poisson.dist(3.0, shape=5), 0.4)
    assert in_law(thinned)[0].family is Poisson and in_law(thinned, keep=[thinned])[0] is thinned


def test_compounds_inside_an_expression_are_found():
    """Binomial(Poisson(3), 0.4) + Poisson(2) is Poisson(3.2); what two terms use is replaced once."""
    found = in_law(Binomial.dist(Poisson.dist(3.0), 0.4) + Poisson.dist(2.0))[0]
    assert found.family is Poisson and found.parameters[0].eval() == pytest.approx(3.2)
    normal = Normal.dist(Normal.dist(0.0, 3.0), 4.0)
    (drawn,) = (n for n in ancestors(in_law(tt.exp(normal) + normal)[0]) if is_draw(n))
    assert drawn.parameters[1].eval() == pytest.approx(5.0)
