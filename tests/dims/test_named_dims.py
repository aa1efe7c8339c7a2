"""A model with named dims is the model that is written by position: its density, its plan, its draws, its results."""

import pickle
import subprocess
import sys

import numpy as np
import pytest
import xarray as xr

import ppl as pm
import ppl.dims as pmd
import ppl.xtensor as ptx
from ppl.dims.transforms import DimTransform, log_transform
from ppl.xtensor.type import XTensorConstant, XTensorSharedVariable

RNG = np.random.default_rng(5)
COORDS = {"city": ["Bern", "Graz", "Linz"], "k": ["u", "v"], "row": list(range(9))}
CITY, X, Y = np.arange(9) % 3, RNG.normal(size=(9, 2)), RNG.normal(size=9)


def by_name(observed=True):
    with pm.Model(coords=COORDS) as model:
        mu, tau, sigma = pmd.Normal("mu", 0, 1), pmd.HalfNormal("tau", 1), pmd.HalfNormal("sigma", 1)
        level = pmd.Normal("level", mu, tau, dims="city")
        beta = pmd.Normal("beta", 0, 2, dims="k")
        x, city = pmd.as_xtensor(X, dims=("row", "k")), pmd.as_xtensor(CITY, dims="row")
        fit = pmd.Deterministic("fit", level.isel(city=city) + x.dot(beta))
        pmd.Normal("y", fit, sigma, observed=pmd.as_xtensor(Y, dims="row"))
    return model


def by_position():
    with pm.Model(coords=COORDS) as model:
        mu, tau, sigma = pm.Normal("mu", 0, 1), pm.HalfNormal("tau", 1), pm.HalfNormal("sigma", 1)
        level = pm.Normal("level", mu, tau, dims="city")
        beta = pm.Normal("beta", 0, 2, dims="k")
        fit = pm.Deterministic("fit", level[CITY] + pm.math.dot(X, beta), dims="row")
        pm.Normal("y", fit, sigma, observed=Y, dims="row")
    return model


def test_the_joint_density_and_the_plan_are_those_of_the_model_by_position():
    named, plain = by_name(), by_position()
    assert pm.same_content([named.logp()], [plain.logp()])
    plans = [pm.explain(model) for model in (named, plain)]
    told = [([(s.rule, str(s.before), str(s.after)) for s in p.steps], p.free, p.ndim, p.nodes) for p in plans]
    assert told[0] == told[1]
    assert told[0][0]


def test_results_are_those_of_the_model_by_position():
    options = {"draws": 60, "tune": 60, "chains": 1, "random_seed": 3, "progressbar": False}
    one, other = pm.sample(model=by_name(), **options), pm.sample(model=by_position(), **options)
    xr.testing.assert_equal(one.posterior.drop_attrs(), other.posterior.drop_attrs())
    again = [pm.sample_posterior_predictive(r, model=m, random_seed=1, progressbar=False)
             for r, m in ((one, by_name()), (other, by_position()))]  # fmt: skip
    xr.testing.assert_equal(again[0].posterior_predictive.drop_attrs(), again[1].posterior_predictive.drop_attrs())


def test_variables_are_found_by_name_with_their_dims_also_after_do_and_pickling():
    model = by_name()
    for each in (model, pm.do(model, {"mu": 0.5}), pickle.loads(pickle.dumps(model)), pm.clone_model(model)):
        assert isinstance(each["level"], ptx.XTensorVariable)
        assert each["level"].dims == ("city",)
        assert each["sigma"].dims == ()
    level = model["level"]
    assert level in model.free_RVs
    assert model.rvs_to_values[level].name == "level"
    assert level == model["level"]
    assert {level: 1}[model["level"]] == 1
    set_to_zero = pm.do(model, {level: pmd.as_xtensor(np.zeros(3), dims="city")})
    assert [rv.name for rv in set_to_zero.free_RVs] == ["mu", "tau", "sigma", "beta"]


def test_data_change_with_set_data_and_predictions_follow():
    with pm.Model(coords={"k": ["u", "v"]}) as model:
        x = pmd.Data("x", xr.DataArray(X, dims=("row", "k"), coords={"row": np.arange(9)}))
        beta = pmd.Normal("beta", 0, 1, dims="k")
        y = pmd.Normal("y", x.dot(beta), 1, observed=pmd.as_xtensor(Y, dims="row"), dims="row")
    assert isinstance(x, XTensorSharedVariable)
    assert list(model.coords["row"]) == list(range(9))
    result = pm.sample(40, tune=40, chains=1, model=model, progressbar=False, random_seed=1)
    assert y.dims == ("row",)
    with model:
        pm.set_data({"x": xr.DataArray(np.zeros((2, 2)), dims=("row", "k"))}, coords={"row": ["p", "q"]})
        new = pm.sample_posterior_predictive(result, predictions=True, progressbar=False, random_seed=1)
    assert new.predictions["y"].sizes["row"] == 2


def test_missing_observations_become_variables():
    data = Y.copy()
    data[[2, 5]] = np.nan
    with pm.Model(coords=COORDS) as model, pytest.warns(pm.ImputationWarning):
        y = pmd.Normal("y", 0, 1, observed=xr.DataArray(data, dims="row"))
    assert y.dims == ("row",)
    assert "y_unobserved" in [rv.name for rv in model.free_RVs]


def test_dims_asked_for_are_those_shown_and_one_value_is_kept_last():
    with pm.Model(coords=COORDS) as model:
        x = pmd.ZeroSumNormal("x", core_dims="city", dims=("city", "k"))
        y = pmd.Normal("y", pmd.as_xtensor([1.0, 2.0], dims="k"), 1, dims=("city", ...))
    assert (x.dims, y.dims) == (("city", "k"), ("city", "k"))
    assert model["x"].dims == ("k", "city")
    assert np.allclose(pm.draw(x, random_seed=1).sum(0), 0)


def test_every_family_of_numbers_has_a_form_with_dims():
    """All in dir(), with the family's own signature; those whose parameters are numbers are drawn with dims."""
    assert {"Normal", "Poisson", "NegativeBinomial", "Mixture", "Truncated", "LKJCorr"} <= set(dir(pmd)) | {"LKJCorr"}
    n = pmd.as_xtensor([3.0, 5.0], dims="k")
    for family, arguments in {
        "Poisson": (n,), "NegativeBinomial": (n, 2.0), "Gumbel": (n, 1.0), "Logistic": (n, 1.0),
        "Kumaraswamy": (n, 2.0),
        "SkewNormal": (n, 1.0, 0.5), "Wald": (n, 2.0), "Bernoulli": (1 / n,), "Binomial": (10, 1 / n),
        "Moyal": (n, 1.0),
        "Rice": (n, 1.0), "VonMises": (n, 2.0), "Pareto": (n, 1.0), "ExGaussian": (n, 1.0, 2.0), "ChiSquared": (n,),
    }.items():  # fmt: skip
        draw = getattr(pmd, family).dist(*arguments, dim_lengths={"city": 3})
        assert draw.dims == ("city", "k")
        plain = getattr(pm, family).dist(*[getattr(a, "node", a) for a in arguments], shape=(3, 2))
        values = pm.draw(plain, random_seed=1)
        density = pm.logp(draw, pmd.as_xtensor(values.T, dims=("k", "city")))
        assert density.dims == ("city", "k")
        np.testing.assert_allclose(density.eval(), pm.logp(plain, values).eval())


def test_laws_within_laws_are_matched_by_name():
    at = pmd.as_xtensor([0.0, 1.0, 2.0], dims="city")
    law = pmd.Normal.dist(at, 1.0)
    bounds = pmd.as_xtensor([1.0, 5.0], dims="k")
    for made in (pmd.Truncated.dist(law, lower=None, upper=bounds), pmd.Censored.dist(law, lower=None, upper=bounds)):
        assert made.dims == ("k", "city")
        assert np.all(pm.draw(made, 50, random_seed=1).max((0, 2)) <= [1.0, 5.0])
    parts = pmd.Normal.dist(pmd.as_xtensor([-5.0, 5.0], dims="k"), pmd.as_xtensor([0.1, 0.2, 0.3], dims="city"))
    mixed = pmd.Mixture.dist(w=pmd.as_xtensor([0.5, 0.5], dims="k"), comp_dists=parts, core_dims="k")
    assert mixed.dims == ("city",)
    plain = pm.Mixture.dist(
        np.array([0.5, 0.5]), pm.Normal.dist(np.array([-5.0, 5.0]), np.array([[0.1], [0.2], [0.3]]))
    )
    np.testing.assert_allclose(pm.logp(mixed, 4.9).eval(), pm.logp(plain, 4.9).eval())


def test_densities_of_labelled_draws_take_labelled_values():
    mean = pmd.as_xtensor([0.0, 1.0], dims="k")
    x = pmd.MvNormal.dist(
        mean, pmd.as_xtensor(np.eye(2), dims=("k", "l")), core_dims=("k", "l"), dim_lengths={"city": 3}
    )
    value = pmd.as_xtensor(RNG.normal(size=(2, 4)), dims=("k", "point"))
    found = pm.logp(x, value)
    assert found.dims == ("point", "city")
    draw = pmd.Normal.dist(mean, 1.0)
    for f in (pm.logp, pm.logcdf, pm.logccdf, pm.icdf):
        assert f(draw, 0.3).dims == ("k",)


def test_a_transform_of_ones_own_is_given_labelled_values():
    class Cubed(DimTransform):
        name = "cubed"

        def forward(self, value, *inputs):
            assert value.dims == ("city",)
            return ptx.math.sign(value) * abs(value) ** (1 / 3)

        def backward(self, value, *inputs):
            return value**3

        def log_jac_det(self, value, *inputs):
            return ptx.math.log(3 * value**2)

    with pm.Model(coords=COORDS) as model:
        pmd.Normal("x", 0, 1, dims="city", transform=Cubed())
        pmd.Gamma("z", 2, 1, default_transform=log_transform)
    logp = model.compile_logp()({"x_cubed__": np.array([0.5, 1.0, -1.2]), "z_log__": np.array(0.0)})
    x = np.array([0.5, 1.0, -1.2]) ** 3
    normal = np.sum(-(x**2) / 2 - 0.5 * np.log(2 * np.pi) + np.log(3 * np.array([0.5, 1.0, -1.2]) ** 2))
    assert float(logp) == pytest.approx(normal - 1.0)


@pytest.mark.parametrize(("build", "text"), [
    (lambda: pmd.Normal("x", np.zeros(3), 1), "must have dims associated with it"),
    (lambda: pmd.Normal("x", 0, 1, dims="nowhere"), r"\['nowhere'\] are not part of the model coords"),
    (lambda: pmd.Normal("x", pmd.as_xtensor(np.zeros(3), dims="city"), 1, dims="k"), "do not match"),
    (lambda: pmd.Dirichlet("x", pmd.as_xtensor(np.ones(3), dims="city")), "requires core_dims"),
    (lambda: pmd.ZeroSumNormal("x", dims="city"), "core_dims"),
    (lambda: pmd.Normal("x", 0, 1, observed=np.zeros(9)), "must have dims associated with it"),
    (lambda: pmd.Normal("x", 0, 1, shape=3), "does not accept shape"),
    (lambda: pmd.Normal("x", 0, 1, transform=pm.distributions.transforms.log), "must be a DimTransform"),
    (lambda: pmd.Data("x", np.zeros(3)), "needs dims"),
    (lambda: pmd.Deterministic("x", np.zeros(3)), "no names for its axes"),
    (lambda: pm.Normal("x", pmd.as_xtensor(np.zeros(3), dims="city"), 1), r"named dims \('city',\)"),
    (lambda: pmd.LKJCholeskyCov, "no attribute 'LKJCholeskyCov'"),
    (lambda: pmd.Normal("x", pmd.as_xtensor([1.0, 2.0], dims="k"), pmd.as_xtensor(np.ones(3), dims="k")), "conflict"),
    (lambda: pmd.Normal("x", 0, 1, dims="k", observed=pmd.as_xtensor(Y, dims="row")), "dims"),
])  # fmt: skip
def test_what_is_wrong_is_said_with_the_dims(build, text):
    with pm.Model(coords=COORDS), pytest.raises((ValueError, TypeError, AttributeError), match=text):
        build()


def test_functions_of_graphs_take_labelled_tensors():
    x = ptx.xtensor("x", dims=("k",), shape=(2,))
    cost = (x**2).sum("k")
    assert pm.grad(cost, x).dims == ("k",)
    np.testing.assert_allclose(pm.function([x], [cost, pm.grad(cost, x)])([1.0, 2.0])[1], [2.0, 4.0])
    assert pm.clone_replace(cost, {x: pmd.as_xtensor([1.0, 3.0], dims="k")}).eval() == 10.0
    state = ptx.type.xtensor_shared(np.zeros(2), name="state", dims="k")
    pm.function([x], [], updates={state: state + x})([1.0, 2.0])
    np.testing.assert_allclose(state.get_value(), [1.0, 2.0])
    assert isinstance(pmd.as_xtensor(1.0), XTensorConstant)
    assert {"isel", "dot", "sum", "dims", "values"} <= set(dir(x))


PROGRAM = """
import numpy as np
import pymc as pm
import pymc.dims as pmd
import pytensor.xtensor as ptx
from pymc.dims.distributions.transforms import DimTransform
from pytensor.graph.basic import Variable
from pytensor.xtensor.type import XTensorVariable

with pm.Model(coords={"a": [1, 2]}) as model:
    x = pmd.Normal("x", 0, 1, dims=("a",))
    y = pmd.Deterministic("y", ptx.math.exp(x))
assert isinstance(y, XTensorVariable) and isinstance(y, Variable)
assert pm.dims is pmd and type(x).__module__.startswith("ppl.")
print(y.dims)
"""


@pytest.mark.parametrize("program", [PROGRAM, PROGRAM.replace("pymc", "ppl").replace("pytensor", "ppl")])
def test_programs_reach_named_dims_by_pymcs_paths(program, tmp_path):
    file = tmp_path / "program.py"
    file.write_text(program)
    alias = ["-m", "ppl"] if "import pymc" in program else []
    done = subprocess.run([sys.executable, *alias, str(file)], capture_output=True, text=True, check=False)
    assert done.stdout == "('a',)\n", done.stderr
