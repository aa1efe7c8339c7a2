"""The names of PyMC 5: each is here, or stands in the table of what comes later, with its reason."""

from __future__ import annotations

import copy
import importlib
import re
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

import ppl as pm
from ppl.model import former
from ppl.model.names import elsewhere, longer_paths

PAGE = Path(__file__).parents[1] / "docs/not_yet.md"


def public(thing):
    return [name for name in dir(thing) if not name.startswith("_")]


def missing(names, thing):
    return [name for name in names if not hasattr(thing, name)]


def test_every_public_name_of_pymc_is_here_or_has_a_reason(pymc5):
    lacking = missing(public(pymc5), pm)
    assert [name for name in lacking if name not in elsewhere.WHERE] == []


def test_nothing_that_is_here_is_said_to_be_missing():
    assert [name for name in elsewhere.WHERE if hasattr(pm, name)] == []


def test_every_method_of_a_model_is_here(pymc5):
    assert missing(public(pymc5.Model), pm.Model(name="m")) == []


def test_names_of_pymc_math_are_here(pymc5):
    assert missing(pymc5.math.__all__, pm.math) == []


def test_transforms_are_here(pymc5):
    assert missing(pymc5.distributions.transforms.__all__, pm.distributions.transforms) == []


@pytest.mark.parametrize("path", longer_paths.MODULES)
def test_modules_hold_names_that_pymc_has_there(pymc5, path):
    mine, theirs = importlib.import_module(f"ppl.{path}"), importlib.import_module(f"{pymc5.__name__}.{path}")
    apart = {"ConstantData", "MutableData"} | {
        name for name in public(mine) if f"{path}.{name}" in longer_paths.MODULES
    }
    assert missing([name for name in public(mine) if name not in apart], theirs) == []
    assert all(getattr(mine, name) is not None for name in public(mine))
    by_attributes = pm
    for part in path.split("."):
        by_attributes = getattr(by_attributes, part)
    assert by_attributes is mine


def test_names_are_imported_from_longer_paths():
    from ppl.distributions.timeseries import GaussianRandomWalk
    from ppl.math import exp
    from ppl.model.transform.conditioning import do
    from ppl.sampling.jax import sample_numpyro_nuts

    assert (GaussianRandomWalk, do, exp) == (pm.GaussianRandomWalk, pm.do, pm.math.exp)
    assert sample_numpyro_nuts.keywords == {"nuts_sampler": "numpyro"}
    with pytest.raises(ImportError, match="cannot import name 'Normale'"):
        from ppl.distributions.continuous import Normale  # noqa: F401
    with pytest.raises(AssertionError, match="found in graph: x"):
        pm.testing.assert_no_rvs(pm.Normal.dist(name="x") + 1)


def test_a_name_that_comes_later_says_why():
    with pytest.raises(AttributeError, match="a family of one's own is written with CustomDist"):
        pm.SymbolicRandomVariable  # noqa: B018
    with pytest.raises(AttributeError, match="no attribute 'Normale'"):
        pm.Normale  # noqa: B018


def test_the_page_of_later_names_is_the_table():
    assert PAGE.read_text(encoding="utf-8") == elsewhere.page(), "run python3 docs/generate_not_yet.py"


def test_draws_and_data_entered_by_hand():
    with pm.Model() as model:
        rv = model.register_rv(pm.HalfNormal.dist(1.0), "s")
        y = model.register_rv(pm.Normal.dist(0.0, rv, shape=2), "y", observed=[0.1, 0.2])
        model.register_data_var(pm.shared(np.zeros(2), "d"))
        pm.Deterministic("twice", 2 * rv)
    assert [v.name for v in model.free_RVs] == ["s"] and [v.name for v in model.observed_RVs] == ["y"]
    assert [v.name for v in model.value_vars] == ["s_log__"] and "d" in model
    assert [v.name for v in model.unobserved_value_vars][:2] == ["s_log__", "s"]
    doubled = model.compile_fn(model.replace_rvs_by_values([2 * rv])[0])
    assert np.isclose(doubled({"s_log__": 0.0}), 2.0) and y.name == "y"
    with pytest.raises(TypeError, match=r"\.dist"):
        model.register_rv(1.0, "z")


def test_copies_stand_alone():
    with pm.Model() as model:
        pm.Normal("x")
    for other in (model.copy(), copy.copy(model), copy.deepcopy(model)):
        with other:
            pm.Normal("y")
        assert "y" in other and "y" not in model


def test_a_class_of_models_makes_its_variables_in_its_own_block():
    class Part(pm.Model):
        def __init__(self, name="", sigma=1.0):
            super().__init__(name)
            self.register_rv(pm.Normal.dist(0, sigma), "a")
            pm.Normal("b", sigma=sigma)

    with pm.Model() as model:
        Part("part", 2.0)
        pm.Normal("c")
    assert [v.name for v in model.free_RVs] == ["part::a", "part::b", "c"]
    assert [v.name for v in Part().free_RVs] == ["a", "b"]

    class Broken(pm.Model):
        def __init__(self):
            raise RuntimeError("no model")

    with pytest.raises(RuntimeError, match="no model"):
        Broken()
    assert pm.Model.get_context(error_if_none=False) is None


def test_the_text_of_a_variable_is_its_name():
    with pm.Model() as model:
        x = pm.Normal("x")
        pm.Censored("y", pm.Normal.dist(x, 1), lower=0, upper=None, observed=[0.0, 1.0])
    assert f"{x}" == "x" and [str(v) for v in model.free_RVs] == ["x"]
    assert str(model).splitlines() == ["x ~ Normal(0, 1)", "y ~ Censored(Normal(x, 1), 0, inf)"]


def test_value_and_gradient_of_a_flat_array():
    with pm.Model() as model:
        pm.Normal("x", shape=2)
        pm.Normal("z")
    f = model.logp_dlogp_function([model["x"]])
    f.set_extra_values({"z": 1.0})
    value, gradient = f(np.array([1.0, 2.0]))
    assert np.isclose(value, -0.5 * 6 - 1.5 * np.log(2 * np.pi)) and np.allclose(gradient, [-1, -2])
    assert np.isclose(model.logp_dlogp_function(compute_grads=False)(model.initial_point()), 3 * stats.norm.logpdf(0))
    with pytest.raises(ValueError, match="tempered=True"):
        f.set_weights(0.5)


def test_data_count_by_a_weight():
    with pm.Model() as model:
        pm.Normal("y", pm.Normal("x"), observed=3.0)
    f = model.logp_dlogp_function(tempered=True)
    f.set_weights(np.array([0.5]))
    value, gradient = f(np.array([1.0]))
    assert np.isclose(value, stats.norm.logpdf(1) + 0.5 * stats.norm.logpdf(2)) and np.allclose(gradient, -1 + 0.5 * 2)


def test_inputs_joined_to_one_vector():
    with pm.Model() as model:
        pm.Normal("x", shape=2)
        pm.Normal("z")
    point = {"x": np.array([1.0, 2.0]), "z": np.array(3.0)}
    (logp,), joined = pm.join_nonshared_inputs(point, [model.logp()], model.value_vars)
    flat = pm.DictToArrayBijection.map(point)
    assert np.isclose(pm.function([joined], logp)(flat.data), model.compile_logp()(point))
    (held,), variable = pm.join_nonshared_inputs(point, [model.logp()], model.value_vars, make_inputs_shared=True)
    assert np.isclose(held.eval(), model.compile_logp()(point)) and variable.get_value().shape == (3,)
    assert list(pm.make_shared_replacements(point, [model["x"], model.value_vars[0]], model)) == [model.value_vars[1]]


def test_the_covariance_of_draws():
    draws = np.random.default_rng(1).normal(size=(50, 2))
    with pm.Model():
        pm.Normal("x", shape=2)
        assert np.allclose(pm.trace_cov({"x": draws}), np.cov(draws.T))


def test_starts_and_scales_by_hand():
    with pm.Model() as model:
        pm.HalfNormal("s", 1.0)
        pm.Normal("x", 0, 0.1, shape=2)
        points, step = pm.init_nuts(init="adapt_diag", chains=2, target_accept=0.9, random_seed=1)
        assert isinstance(step, pm.NUTS) and step.target_accept == 0.9
        assert len(points) == 2 and points[0].keys() == {"s_log__", "x"} and points[0]["x"].shape == (2,)
        with pytest.raises(TypeError, match="'drawz'"):
            pm.init_nuts(drawz=3)
        with pytest.raises(TypeError, match=r"give step_scale to sample\(\)"):
            pm.init_nuts(step_scale=0.5)
        with pytest.warns(UserWarning, match="n_init"):
            pm.init_nuts(n_init=100)
        assert np.allclose(pm.guess_scaling(model.initial_point(), [model["x"]]), [100, 100])
    assert pm.compound is pm.step_methods.compound and pm.hmc.NUTS is pm.NUTS
    assert issubclass(pm.TraceDirectoryError, ValueError)


def test_names_of_pymc_3_say_what_to_write_now():
    for name, now in former.FUNCTIONS.items():
        with pytest.raises(AttributeError, match=f"'{name}'; write {re.escape(now)} instead"):
            getattr(pm, name)
    model = pm.Model(name="m")
    for name, now in former.OF_MODELS.items():
        with pytest.raises(AttributeError, match=f"'{name}'; write {re.escape(now)} instead"):
            getattr(model, name)
    ways = [now for now in former.FUNCTIONS.values() if now.isidentifier() and now not in elsewhere.ARVIZ]
    assert missing(ways, pm) == []
    assert missing([now.partition("(")[0].partition(",")[0] for now in former.OF_MODELS.values()], model) == []


FORMER = {
    "arguments of sample": (lambda x: pm.sample(njobs=2), TypeError, "'njobs'; write cores instead"),
    "arguments of variables": (lambda x: pm.Normal("y", testval=1.0), TypeError, "'testval'. Did you mean initval"),
    "misspelt arguments of variables": (lambda x: pm.Normal("y", observd=1.0), TypeError, "Did you mean observed"),
    "a density by its place": (lambda x: pm.DensityDist("y", lambda v: -v), TypeError, "Is it logp= or dist="),
    "draws by a method": (lambda x: x.random(), AttributeError, r"draw\(x, draws\)"),
    "a density by a method": (lambda x: x.logp(0.0), AttributeError, r"logp\(x, value\)"),
    "the density at a point": (lambda x: pm.modelcontext(None).logp({"x": 0.0}), TypeError, r"compile_logp\(\)\(point"),
}  # fmt: skip


@pytest.mark.parametrize("fault", FORMER)
def test_ways_of_pymc_3_say_what_to_write_now(fault):
    act, error, text = FORMER[fault]
    with pm.Model(), pytest.raises(error, match=text):
        act(pm.Normal("x"))


class Centered(pm.Model):
    """A model of one's own, whose parts are attributes of it, as in PyMC's documentation."""

    def __init__(self, mean=0.0, name=""):
        super().__init__(name)
        self.register_rv(pm.Normal.dist(mean, 1.0), "start")
        pm.Normal("logp", self.start, 1.0)
        pm.Deterministic("square", self["logp"] ** 2)


def test_variables_are_attributes_of_the_model_where_nothing_else_is_called_so():
    with pm.Model() as model:
        x = pm.Normal("x")
        part = Centered(1.0, name="part")
    assert model.x is x and part.start is model["part::start"] and part.square is model["part::square"]
    assert callable(part.logp) and copy.copy(model).x is x
    with pytest.raises(AttributeError, match="a Model has no attribute 'start'"):
        model.start  # noqa: B018
