"""Expressions as sums of numbers times data, in every spelling; and the plans that such spellings open."""

import numpy as np
import pytest

import ppl as pm
import ppl.tensor as tt
from ppl.rewrites.marginalization.expressions.affine import affine_in_atoms
from ppl.rewrites.marginalization.expressions.data import is_data
from ppl.rewrites.marginalization.expressions.maps import Select
from ppl.rewrites.marginalization.expressions.products import number_and_data, terms
from ppl.rewrites.marginalization.expressions.summands import summands
from ppl.tensor.tensor import TensorType, placeholder

pytestmark = pytest.mark.usefixtures("module_compiled_quickly")

W, K = np.array([0.5, 2.0, 1.5]), np.array([[2.0, 0.3], [0.3, 1.0]])
G = np.array([0, 1, 1])


def number(name="tau"):
    return placeholder(TensorType("float64", ()), name)


def numbers(name="v", n=2):
    return placeholder(TensorType("float64", (n,)), name)


ONE_NUMBER = {  # spellings of one number times data
    "t*w": lambda t: t * W,
    "w*t": lambda t: W * t,
    "w/t": lambda t: W / t,
    "t/w": lambda t: t / W,
    "-(t*w)": lambda t: -(t * W),
    "+(t*w)": lambda t: tt.positive(t * W),
    "sqrt(t*w)": lambda t: tt.sqrt(t * W),
    "(t*w)**-0.5": lambda t: (t * W) ** -0.5,
    "square": lambda t: tt.square(t * W),
    "1/sqrt": lambda t: 1.0 / tt.sqrt(t * W),
    "exp(log t + log w)": lambda t: tt.exp(tt.log(t) + np.log(W)),
    "exp(w + t)": lambda t: tt.exp(W + t),
    "(t*w)[g]": lambda t: (t * W)[G],
    "column": lambda t: (t * W)[:, None],
    "transpose": lambda t: (t * K).T,
    "reshape": lambda t: (t * K).reshape((4,)),
    "broadcast": lambda t: tt.broadcast_to(t * W, (2, 3)),
    "float32": lambda t: tt.cast(tt.cast(t, "float32") * W, "float64"),
}


@pytest.mark.parametrize("spelling", ONE_NUMBER)
def test_spellings_of_a_number_times_data(spelling):
    t = number()
    e = tt.as_tensor(ONE_NUMBER[spelling](t))
    found = terms(e)
    assert len(found) == 1 and found[0].number.ndim == 0 and is_data(found[0].data), found
    known = number_and_data(e)
    assert known is not None
    whole = tt.broadcast_to(known[0] * known[1], e.type.shape)
    np.testing.assert_allclose(whole.eval({t: 1.7}), e.eval({t: 1.7}), rtol=1e-6)


SEVERAL = {  # of several numbers, one for each entry
    "v[g]": (lambda v: v[G], 2),
    "w*v[g]": (lambda v: W * v[G], 2),
    "sqrt(v[g])": (lambda v: tt.sqrt(v[G]), None),
    "v[g][::-1]": (lambda v: v[G][::-1], 2),
}


@pytest.mark.parametrize("spelling", SEVERAL)
def test_spellings_of_several_numbers(spelling):
    v = numbers()
    make, count = SEVERAL[spelling]
    e = make(v)
    found = terms(e)
    assert count is None or len(found) == count
    total = sum((p.number * p.data for p in found), start=tt.as_tensor(0.0))
    np.testing.assert_allclose(total.eval({v: [0.4, 1.9]}), e.eval({v: [0.4, 1.9]}), rtol=1e-12)


def test_sums_are_taken_apart_where_that_is_asked_for():
    a, b = number("a"), number("b")
    for e in (a * K + b * np.eye(2), a * K - b * np.eye(2)):
        assert len(terms(e)) == 1 and terms(e)[0].data is e, "each entry would be a sum of terms"
    for e in (a * K + b * np.eye(2), (b * np.eye(2) - a * K).T, -(a * K / b + b * np.eye(2))):
        found = terms(e, sums=True)
        assert len(found) == 2 and all(is_data(p.data) for p in found)
        total = sum((p.number * p.data for p in found), start=tt.as_tensor(0.0))
        np.testing.assert_allclose(total.eval({a: 0.3, b: 1.2}), e.eval({a: 0.3, b: 1.2}), rtol=1e-12)


@pytest.mark.parametrize(
    "e", [lambda t: tt.sqrt(t * (W - 1.0)), lambda t: tt.sin(t * W), lambda t: W**t, lambda t: t + W]
)
def test_what_is_no_product_stays_itself(e):
    here = tt.as_tensor(e(number()))
    assert [p.data for p in terms(here)] == [here] and number_and_data(here) is None


def test_summands_add_up_with_their_weights():
    x, s = numbers("x", 3), number("s")
    density = tt.sum(-0.5 * (x - s) ** 2 + s) / 2.0 - tt.sum(x[:2] * 3.0)
    found = summands([density], ())
    assert len(found) > 2
    at = {x: [0.3, -1.0, 2.0], s: 0.7}
    total = sum((w * tt.sum(e) for e, w in found), start=tt.as_tensor(0.0))
    np.testing.assert_allclose(total.eval(at), density.eval(at), rtol=1e-12)


ATOMS = {  # predictors, and of how many expressions they are affine with data for coefficients
    "a + b*x": (lambda a, v: a + v[0] * W, 2),
    "product of parameters": (lambda a, v: a * v[0] * W, 1),
    "ratio": (lambda a, v: W / a + v[0], 2),
    "exp": (lambda a, v: tt.exp(a) * W + v[G], 2),
    "choice": (lambda a, v: tt.switch(W > 1, a, v[1]), 2),
}


@pytest.mark.parametrize("spelling", ATOMS)
def test_predictors_in_atoms(spelling):
    a, v = number("a"), numbers()
    make, count = ATOMS[spelling]
    e = make(a, v)
    form = affine_in_atoms(e)
    assert len({p.variable for p in form.parts}) == count
    assert all(is_data(p.coefficient if isinstance(p, Select) else p.design) for p in form.parts)
    total = form.offset + 0.0 * e
    for p in form.parts:
        flat = p.variable.reshape((-1,))
        total = total + (p.coefficient * flat[p.positions] if isinstance(p, Select) else p.design @ flat)
    np.testing.assert_allclose(total.eval({a: 0.4, v: [1.1, -0.3]}), e.eval({a: 0.4, v: [1.1, -0.3]}), rtol=1e-12)


SCALES = {
    "tau*w": lambda t: t * W,
    "sqrt(tau**2 * w**2)": lambda t: tt.sqrt(t**2 * W**2),
    "Deterministic": lambda t: pm.Deterministic("scale", t * W),
    "1/sqrt(precision)": lambda t: 1.0 / tt.sqrt(t**-2.0 / W**2),
    "exp(log + log)": lambda t: tt.exp(tt.log(t) + np.log(W)),
}


@pytest.mark.parametrize("spelling", SCALES)
def test_scales_of_rows_are_weights_in_every_spelling(spelling):
    """Rows whose scales are multiples of one number have as short a program however they are written."""

    def nodes(scale):
        with pm.Model() as model:
            tau, b = pm.HalfNormal("tau", 1.0), pm.Normal("b", 0, 1)
            pm.Normal("y", b, scale(tau), observed=[0.3, 1.0, -0.4])
        plan = pm.explain(model)
        assert plan.free == ("tau",) or list(plan.free) == ["tau"]
        return plan.nodes

    assert nodes(SCALES[spelling]) <= nodes(SCALES["tau*w"]) * 1.25


G9 = np.arange(9) % 3
RATES = {
    "exp(b)[g]": lambda b: tt.exp(b)[G9],
    "w exp(b[g])": lambda b: np.linspace(0.5, 2.0, 9) * tt.exp(b[G9]),
    "1/exp(-b[g])": lambda b: 1 / tt.exp(-b[G9]),
    "(c exp(b))[g]": lambda b: (np.array([1.0, 2.0, 3.0]) * tt.exp(b))[G9],
    "one-hot @ exp(b)": lambda b: (G9[:, None] == np.arange(3)).astype(float) @ tt.exp(b),
    "a row @ one-hot": lambda b: (tt.exp(b)[None, :] @ (G9[None, :] == np.arange(3)[:, None]).astype(float))[0],
    "Deterministic": lambda b: pm.Deterministic("rate", tt.exp(b))[G9],
}


def moved(rate):
    with pm.Model() as model:
        b = pm.Normal("b", 0, pm.HalfNormal("t", 1), shape=3)
        pm.Poisson("y", rate(b), observed=np.arange(9) % 5)
    return [step.why for step in pm.explain(model).steps if step.rule == "reparameterization"]


@pytest.mark.parametrize("spelling", RATES)
def test_effects_in_a_rate_are_moved_alike_in_every_spelling(spelling):
    plain, here = moved(lambda b: tt.exp(b[G9])), moved(RATES[spelling])
    assert len(plain) == len(here) == 2
    assert all("partially centered" in why[1] for why in (plain, here))


COVARIANCES = {
    "turned": lambda a, b, K: (a * K + b * np.eye(12)).T,
    "a factor outside": lambda a, b, K: a * (K + b * np.eye(12)),
    "negatives": lambda a, b, K: -(-a * K - b * np.eye(12)),
    "Deterministic": lambda a, b, K: pm.Deterministic("C", a * K) + b * np.eye(12),
    "halves": lambda a, b, K: (a * K + b * np.eye(12)) / 2,
}


@pytest.mark.parametrize("spelling", COVARIANCES)
def test_sums_of_known_matrices_have_one_eigenbasis_in_every_spelling(spelling):
    at = np.arange(12.0)
    with pm.Model() as model:
        cov = COVARIANCES[spelling](pm.HalfNormal("a", 1), pm.HalfNormal("b", 1), np.exp(-abs(at[:, None] - at)))
        pm.MvNormal("y", np.zeros(12), cov=cov, observed=np.cos(1.3 * at))
    plan = pm.explain(model)
    assert [step.rule for step in plan.steps] == ["sufficient statistics"]
    point = {"a_log__": np.asarray(0.3), "b_log__": np.asarray(-0.4)}
    here = model.compile_logp(rewrite=True)(point)
    np.testing.assert_allclose(here, model.compile_logp()(point), rtol=1e-10)
