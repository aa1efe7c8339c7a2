"""What models have besides families and ops: data, dims, minibatches, nested models; and what is refused, by name."""

from __future__ import annotations

import time
import warnings

import numpy as np
import pytest
from against_pymc import agree, nothing_compiled

import ppl
from ppl.bridge.reading import NotConvertedError

pytestmark = [pytest.mark.usefixtures("module_compiled_quickly", "pymc5"), pytest.mark.filterwarnings("ignore")]
X, Y = np.linspace(-1, 1, 6), np.array([0.3, -0.2, 1.1, 0.8, -0.4, 0.6])


@pytest.fixture
def pm(pymc5):
    import pytensor

    with pytensor.config.change_flags(cxx=""):
        yield pymc5


@pytest.fixture
def pt(pymc5):
    import pytensor.tensor

    return pytensor.tensor


def with_data(pm):
    with pm.Model(coords={"row": np.arange(6), "group": ["a", "b"]}) as model:
        x = pm.Data("x", X, dims="row")
        y = pm.Data("y_seen", Y, dims="row")
        at = pm.Data("at", [0, 1, 0, 1, 0, 1], dims="row")
        slope = pm.Normal("slope", dims="group")
        mu = pm.Deterministic("mu", slope[at] * x, dims="row")
        pm.Normal("y", mu, pm.HalfNormal("s"), observed=y, dims="row")
    return model


# --- data and dims ----------------------------------------------------------------------------------------------------
def test_data_stay_data(pm):
    made = agree(with_data(pm))
    assert [d.name for d in made.data_vars] == ["x", "y_seen", "at"]
    with made:
        ppl.set_data({"x": X[:3], "y_seen": Y[:3], "at": [0, 1, 1]}, coords={"row": [10, 11, 12]})
        prior = ppl.sample_prior_predictive(3, random_seed=1)
    assert prior.prior_predictive["y"].shape == (1, 3, 3)
    assert prior.prior.coords["row"].values.tolist() == [10, 11, 12]


def test_new_data_change_a_converted_model_as_they_change_pymcs(pm):
    source = with_data(pm)
    made = ppl.from_pymc(source)
    point = made.initial_point()
    for model in (source, made):
        with model:
            (pm if model is source else ppl).set_data({"x": X * 2, "y_seen": Y + 1})
    theirs = float(source.compile_logp(mode="FAST_COMPILE")(point))
    assert float(made.compile_logp()(point)) == pytest.approx(theirs, rel=1e-10)


def test_frozen_data_are_constants(pm):
    made = agree(with_data(pm), data="frozen")
    assert made.data_vars == []


def test_dimensions_that_variables_bring(pm):
    with pm.Model() as model:
        pm.Data("x", X, dims="row")
        a = pm.Normal("a", shape=3, dims="new")
        pm.Normal("y", a.sum() + model["x"], 1, observed=Y, dims="row")
    made = agree(model)
    assert set(made.dim_lengths) == {"row", "new"}


def test_data_as_a_size(pm):
    with pm.Model() as model:
        x = pm.Data("x", np.ones((6, 3)))
        b = pm.Normal("b", shape=x.shape[1])
        pm.Normal("y", x @ b, 1, observed=Y)
    agree(model)


def test_counts_as_data_of_another_type(pm):
    with pm.Model() as model:
        y = pm.Data("counts", np.array([1.0, 2.0, 4.0]))
        pm.Poisson("y", pm.HalfNormal("m"), observed=y)
        pm.Normal("z", 0, 1, observed=pm.Data("whole", np.array([1, 2, 3])))
    agree(model)


def test_shared_variables_become_constants_and_are_told_of(pm, caplog):
    import pytensor

    with pm.Model() as model:
        pm.Normal("y", pytensor.shared(X, name="hidden") * pm.Normal("b"), 1, observed=Y)
    with caplog.at_level("INFO", logger="ppl"):
        ppl.from_pymc(model)
    assert "hidden is shared but no Data of the model" in caplog.text


def test_a_model_inside_a_model(pm):
    with pm.Model() as outer:
        a = pm.Normal("a")
        with pm.Model("inner"):
            b = pm.Normal("b", a)
        pm.Normal("y", b, 1, observed=Y)
    made = agree(outer)
    assert [v.name for v in made.free_RVs] == ["a", "inner::b"]


def test_a_model_converted_inside_the_block_of_another(pm):
    with pm.Model() as source:
        pm.Normal("a")
    with ppl.Model() as around:
        made = ppl.from_pymc(source)
    assert made.parent is None and not around.named_vars


def test_a_minibatch_counts_for_all_rows(pm):
    x, y = np.arange(40.0), np.arange(40.0) * 2
    with pm.Model() as source:
        xs, ys = pm.Minibatch(x, y, batch_size=10)
        pm.Normal("y", pm.Normal("b") * xs, 1.0, observed=ys, total_size=40)
    made = ppl.from_pymc(source)
    logp = made.compile_logp()
    values = [float(logp({"b": 2.0})) for _ in range(3)]
    whole = 40 * -0.5 * np.log(2 * np.pi) + float(-0.5 * 4 - 0.5 * np.log(2 * np.pi))
    assert values == pytest.approx([whole] * 3)


def test_a_part_that_counts_for_the_whole(pm):
    with pm.Model() as model:
        pm.Normal("y", pm.Normal("b"), 1.0, observed=Y, total_size=60)
        pm.Normal("z", pm.Normal("c"), 1.0, observed=Y.reshape(2, 3), total_size=[10, None])
    agree(model)


def test_initial_values(pm, pt):
    with pm.Model() as model:
        pm.Normal("a", initval=0.7)
        pm.HalfNormal("s", initval=pt.as_tensor(2.0) * 2)
    point = ppl.from_pymc(model).initial_point()
    assert float(point["a"]) == 0.7 and float(point["s_log__"]) == pytest.approx(np.log(4.0))


def test_a_model_after_an_intervention(pm):
    with pm.Model() as model:
        a = pm.Normal("a")
        b = pm.Normal("b", a, 1)
        pm.Normal("y", b, 1)
    agree(pm.observe(pm.do(model, {"a": 0.4}), {"y": 1.2}))


# --- refusals ---------------------------------------------------------------------------------------------------------
def refused(model, *words):
    """The error in under a second of this thread, as others may still compile, with what it has to name."""
    start = time.thread_time()
    with pytest.raises(NotConvertedError) as caught, nothing_compiled():
        ppl.from_pymc(model)
    assert time.thread_time() - start < 1.0
    for word in words:
        assert word in str(caught.value)


def test_a_function_of_the_host_is_named(pm, pt):
    from pytensor.compile.ops import as_op

    @as_op(itypes=[pt.dscalar], otypes=[pt.dscalar])
    def black_box(x):
        return np.asarray(x**2)

    with pm.Model() as model:
        pm.Deterministic("squared", black_box(pm.Normal("x")))
    refused(model, '"squared"', "black_box", "runs Python on the host")


def test_an_op_of_the_user_is_named(pm, pt):
    from pytensor.graph.basic import Apply
    from pytensor.graph.op import Op

    class Mystery(Op):
        def make_node(self, x):
            return Apply(self, [x], [x.type()])

        def perform(self, node, inputs, outputs):
            outputs[0][0] = inputs[0] * 2

    with pm.Model() as model:
        pm.Potential("term", Mystery()(pm.Normal("x")))
    refused(model, '"term"', "Mystery")


def test_an_op_of_the_user_on_constants_is_computed(pm, pt):
    from pytensor.compile.ops import as_op

    @as_op(itypes=[pt.dvector], otypes=[pt.dvector])
    def prepared(x):
        return x * 3

    with pm.Model() as model:
        pm.Normal("y", pm.Normal("b") * prepared(pt.as_tensor(X)), 1, observed=Y)
    agree(model)


def test_an_op_in_a_users_density_is_named(pm, pt):
    from pytensor.compile.ops import as_op

    @as_op(itypes=[pt.dvector, pt.dvector], otypes=[pt.dvector])
    def likelihood(value, mu):
        return -((value - mu) ** 2)

    with pm.Model() as model:
        pm.CustomDist("y", pm.Normal("m"), logp=likelihood, observed=Y)
    refused(model, '"y"', "likelihood")


def test_a_simulator_is_named(pm):
    with pm.Model() as model:
        pm.Simulator("y", lambda rng, a, size: rng.normal(a, size=size), pm.Normal("a"), observed=Y)
    refused(model, '"y"', "simulated")


def test_an_input_without_a_value_is_named(pm, pt):
    with pm.Model() as model:
        pm.Normal("y", pt.dscalar("loose") + pm.Normal("b"), 1, observed=Y)
    refused(model, '"y"', "loose")


def test_what_is_no_model_is_refused(pm):
    with pytest.raises(TypeError, match=r"from_pymc takes a pymc\.Model"):
        ppl.from_pymc(3)
    with pm.Model() as model:
        pm.Normal("x")
    with pytest.raises(ValueError, match="mutable"):
        ppl.from_pymc(model, data="soft")
    with pytest.raises(TypeError, match=r"ppl\.from_pymc"):
        ppl.set_data({"x": 1.0}, model=model)


# --- size -------------------------------------------------------------------------------------------------------------
def test_a_loop_written_in_python_of_two_thousand_steps(pm):
    with pm.Model() as model:
        x = pm.Normal("x")
        for _ in range(2_000):
            x = x * 0.5 + 1.0
        pm.Potential("p", x)
    assert len(ppl.from_pymc(model).potentials) == 1


def test_conversion_takes_milliseconds(pm):
    with pm.Model() as model:
        effects = [pm.Normal(f"a{i}", shape=4) for i in range(40)]
        mu = sum(a[np.arange(6) % 4] for a in effects)
        pm.Normal("y", mu, pm.HalfNormal("s"), observed=Y)
    ppl.from_pymc(model)
    start = time.process_time()
    ppl.from_pymc(model)
    assert time.process_time() - start < 0.5


def test_a_check_compares_with_pymc(pm):
    with pm.Model() as model:
        pm.Normal("y", pm.Normal("b"), 1, observed=Y)
    assert ppl.from_pymc(model, check=True).free_RVs


# --- rewriting works on the conversion --------------------------------------------------------------------------------
def schools(pm):
    effects, errors = np.array([28, 8, -3, 7, -1, 1, 18, 12.0]), np.array([15, 10, 16, 11, 9, 11, 10, 18.0])
    with pm.Model(coords={"school": np.arange(8)}) as model:
        mu, tau = pm.Normal("mu", 0, 5), pm.HalfCauchy("tau", 5)
        theta = pm.Normal("theta", mu, tau, dims="school")
        pm.Normal("y", theta, errors, observed=effects, dims="school")
    return model


def test_eight_schools_become_one_dimension(pm):
    plan = ppl.explain(schools(pm))
    assert (plan.ndim_before, plan.ndim, plan.free) == (10, 1, ("tau",))


def test_the_gradient_of_a_kronecker_process_is_right_where_pymc_is_wrong(pm):
    """PyMC's derivative of an eigendecomposition takes only part of it; the density itself is the same."""
    rng = np.random.default_rng(0)
    with pm.Model() as model:
        lengths = [pm.Gamma("l1", 2, 2), pm.Gamma("l2", 2, 2)]
        kernels = [pm.gp.cov.ExpQuad(1, ls=lengths[0]), pm.gp.cov.Cosine(1, ls=lengths[1])]
        gp = pm.gp.MarginalKron(cov_funcs=kernels)
        grids = [np.linspace(0, 2, 4)[:, None], np.linspace(0, 3, 5)[:, None]]
        gp.marginal_likelihood("y", Xs=grids, y=rng.normal(size=20), sigma=pm.HalfNormal("sigma"))
    made, at = ppl.from_pymc(model), model.initial_point()
    density, step = made.compile_logp(), 1e-5
    assert float(density(at)) == pytest.approx(float(model.compile_logp(mode="FAST_COMPILE")(at)), rel=1e-9)
    slopes = [
        (density({**at, name: at[name] + step}) - density({**at, name: at[name] - step})) / (2 * step) for name in at
    ]
    np.testing.assert_allclose(made.compile_dlogp()(at), slopes, rtol=1e-6)
    drawn = ppl.sample_prior_predictive(20, model=made, random_seed=1).prior_predictive["y"]
    assert np.isfinite(drawn).all()  # the second kernel has rank two


def test_probabilities_by_logits_stay_exact_far_out(pm):
    with pm.Model() as model:
        x = pm.Flat("x")
        pm.Bernoulli("y", logit_p=x, observed=[0, 1])
        pm.Categorical("z", logit_p=pm.math.stack([x, 0.0]), observed=[1])
    made = ppl.from_pymc(model)
    for x in (-700.0, 700.0):
        far = abs(x) + max(x, 0.0)
        assert float(made.compile_logp()({"x": x})) == pytest.approx(-far, rel=1e-9)
        assert np.isfinite(made.compile_dlogp()({"x": x})).all()


def test_warnings_are_those_of_the_model(pm):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ppl.from_pymc(schools(pm))


def test_a_family_of_pairs_whose_parameters_are_numbers(pymc5):
    """As the laws of purchases of pymc-marketing: no parameter tells the length of a value."""
    pm, pt = pymc5, __import__("pytensor.tensor", fromlist=["tensor"])
    from pymc.distributions.distribution import Continuous
    from pytensor.tensor.random.op import RandomVariable

    class PairsRV(RandomVariable):
        name, signature, dtype = "pairs", "(),()->(2)", "floatX"

        def _supp_shape_from_params(self, *args, **kwargs):
            return (2,)

    class Pairs(Continuous):
        rv_op = PairsRV()

        @classmethod
        def dist(cls, a, b, **kwargs):
            return super().dist([a, b], **kwargs)

        def logp(value, a, b):  # noqa: N805
            return -((value[..., 0] - a) ** 2) - pt.abs(value[..., 1] * b)

    with pm.Model() as model:
        a = pm.Normal("a", shape=3)
        Pairs("y", a, pm.HalfNormal("b"), observed=np.arange(6.0).reshape(3, 2))
    point = {"a": np.array([0.1, -0.4, 1.2]), "b_log__": np.array(0.3)}
    right = model.compile_logp(mode="FAST_COMPILE")(point)
    np.testing.assert_allclose(ppl.from_pymc(model).compile_logp()(point), right)


# --- differential equations -------------------------------------------------------------------------------------------
def solved(pm, right_hand_side, starts, return_sens=False):
    """A model of the states at three times, with two parameters."""
    from pymc.ode import DifferentialEquation

    with pm.Model() as model:
        rates = pm.HalfNormal("rates", shape=2)
        equation = DifferentialEquation(right_hand_side, [0.5, 1.0, 2.0], n_states=2, n_theta=2, t0=0)
        found = equation(y0=starts(pm), theta=rates, return_sens=return_sens)
        states, slopes = found if return_sens else (found, None)
        if return_sens:
            pm.Deterministic("slopes", slopes)
        pm.Normal("y", states, 0.3, observed=np.ones((3, 2)))
    return model


def test_a_differential_equation_is_solved_by_ppl_from_the_same_function(pm, pt):
    """To the tolerance of PyMC's solver, which runs on the host."""
    predators = lambda y, t, p: [p[0] * y[0] - y[0] * y[1], p[1] * y[0] * y[1] - pt.sin(t) * y[1]]
    agree(solved(pm, predators, lambda pm: [pm.LogNormal("prey", 0, 0.1), 0.5]), rtol=1e-6)


def test_slopes_of_a_differential_equation_are_taken_over_too(pm, pt):
    source = solved(pm, lambda y, t, p: pt.stack([-p[0] * y[0], -p[1] * y[1]]), lambda pm: [2.0, 1.0], return_sens=True)
    made = ppl.from_pymc(source)
    point = {"rates_log__": np.log([0.5, 0.25])}
    states = np.exp(np.outer([0.5, 1.0, 2.0], [-0.5, -0.25])) * [2.0, 1.0]
    own = made.compile_fn(made.replace_rvs_by_values([made["slopes"]])[0])(point)[:, [0, 1, 0, 1], [0, 1, 2, 3]]
    expected = np.hstack([states / [2.0, 1.0], -np.array([[0.5], [1.0], [2.0]]) * states])
    np.testing.assert_allclose(own, expected, rtol=1e-6)


# --- expressions of draws ---------------------------------------------------------------------------------------------
def test_an_expression_may_be_longer_than_its_parameters(pm, pt):
    """The steps of a loop from two first values, which are random themselves: PyMC does not look how lengths fit."""
    import pytensor

    def step(before, last, rho):
        x = rho[0] * before + rho[1] * last + pm.Normal.dist()
        return x, pm.pytensorf.collect_default_updates([x])

    def walk(first, rho, size):
        begin = {"initial": first, "taps": [-2, -1]}
        return pytensor.scan(step, outputs_info=[begin], non_sequences=[rho], n_steps=5, strict=True)[0]

    with pm.Model(coords={"step": range(5)}) as model:
        first, rho = pm.Normal("first", shape=2), pm.Normal("rho", 0, 0.2, shape=2)
        pm.CustomDist("x", first, rho, dist=walk, dims="step")
        density = lambda value, rho: -((value - rho.sum()) ** 2)
        pm.CustomDist("z", rho, dist=lambda rho, size: pm.Normal.dist(rho.sum(), size=size), logp=density, shape=5)
    assert agree(model)["x"].type.shape == (5,)


def test_what_is_printed_in_pymc_is_printed_here(pm, capfd):
    from pytensor.printing import Print

    with pm.Model() as model:
        pm.Deterministic("shown", Print("told")(pm.Normal("x")) + 1)
    made = ppl.from_pymc(model)
    made.compile_fn(made["shown"])({"x": 0.0})
    assert "told" in capfd.readouterr().out


def test_a_variable_of_pytensor_in_a_model_of_ppl_is_told_with_the_ways_on(pymc5):
    """As PreliZ makes it, which imports the real PyMC."""
    with pytest.raises(TypeError, match=r"is a variable of PyTensor.*python -m ppl.*ppl\.from_pymc"):
        ppl.tensor.exp(pymc5.Normal.dist())
