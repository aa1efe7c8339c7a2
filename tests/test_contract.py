"""What programs do beside sampling, as PyMC does it: each row is written once, run with both, and told in the same
words. Where this package differs on purpose, the row says what it does, and why stands beside it."""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest
import xarray as xr

import ppl
import ppl.tensor

pytestmark = pytest.mark.usefixtures("module_compiled_quickly")

ROWS: dict[str, Callable[[Any, Any], Any]] = {}


def row(program: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    ROWS[program.__name__] = program
    return program


def books(model: Any) -> dict[str, Any]:
    """The names in the books of a model; PyMC's order changes with interventions."""
    kinds = ("named_vars", "free_RVs", "observed_RVs", "data_vars", "deterministics", "potentials")
    names = {kind: {getattr(v, "name", v) for v in getattr(model, kind)} for kind in kinds}
    return names | {"dims": {k: list(v) for k, v in model.named_vars_to_dims.items()}}


def groups(result: Any) -> dict[str, Any]:
    """Groups with their variables, kinds, dims, shapes and labels."""
    return {
        name: {str(k): (v.dtype.kind, v.dims, v.shape) for k, v in result[name].data_vars.items()}
        | {f"{k}'s labels": v.values.tolist() for k, v in result[name].coords.items()}
        for name in (result.groups() if callable(result.groups) else [g.strip("/") for g in result.groups if g != "/"])
    }


def warned(what: Callable[[], Any]) -> bool:
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        what()
    return any(w.category is UserWarning and "otentials" in str(w.message) for w in found)


def regression(pm: Any) -> Any:
    with pm.Model(coords={"side": ["left", "right"], "row": [10, 11, 12]}) as model:
        x = pm.Data("x", np.arange(3.0), dims="row")
        slope = pm.Normal("slope", 0, 1, dims="side")
        count = pm.Poisson("count", 3)
        mu = pm.Deterministic("mu", slope[0] * x + count, dims="row")
        noise = pm.HalfNormal("noise")
        y = pm.Normal("y", mu, noise, observed=np.ones(3), dims="row")
        pm.Deterministic("twice", 2 * y, dims="row")
    return model


def result_of_regression(pm: Any, **more: Any) -> Any:
    """Draws for it, made by hand."""
    import arviz

    draws = {"slope": np.ones((2, 4, 2)), "count": np.ones((2, 4), int), "noise": np.ones((2, 4))}
    groups = {"posterior": draws, "constant_data": {"x": np.arange(3.0)}}
    if hasattr(arviz, "InferenceData"):
        return arviz.from_dict(**groups, dims={"slope": ["side"]}, coords={"side": ["left", "right"]})
    return arviz.from_dict(groups, dims={"slope": ["side"]}, coords={"side": ["left", "right"]})


# --- predictive draws


@row
def prior_draws(pm, pt):
    with regression(pm):
        return groups(pm.sample_prior_predictive(5, random_seed=1))


@row
def prior_draws_of_some(pm, pt):
    with regression(pm):
        return groups(pm.sample_prior_predictive(5, var_names=["twice", "y", "slope"], random_seed=1))


@row
def prior_draws_with_other_labels(pm, pt):
    with regression(pm):
        return groups(pm.sample_prior_predictive(5, random_seed=1, idata_kwargs={"coords": {"row": ["p", "q", "r"]}}))


@row
def posterior_draws(pm, pt):
    with regression(pm):
        return groups(pm.sample_posterior_predictive(result_of_regression(pm), random_seed=1, progressbar=False))


@row
def predictions(pm, pt):
    with regression(pm):
        pm.set_data({"x": np.zeros(2)}, coords={"row": [1, 2]})
        options = {"var_names": ["y", "mu"], "predictions": True, "random_seed": 1, "progressbar": False}
        return groups(pm.sample_posterior_predictive(result_of_regression(pm), **options))


@row
def predictions_added(pm, pt):
    result = result_of_regression(pm)
    with regression(pm):
        options = {"extend_inferencedata": True, "random_seed": 1, "progressbar": False}
        same = pm.sample_posterior_predictive(result, idata_kwargs={"coords": {"row": ["p", "q", "r"]}}, **options)
        return same is result, groups(result)


@row
def effects_of_other_labels_are_drawn_anew(pm, pt):
    with pm.Model(coords={"row": [0, 1, 2], "side": ["left", "right"]}) as model:
        x = pm.Data("x", np.arange(3.0), dims="row")
        effects = pm.Normal("effects", dims="row") + pm.Normal("shift", dims="side").sum()
        pm.Normal("y", pm.Deterministic("mu", effects + x, dims="row"), 1e-9, observed=np.zeros(3), dims="row")
    held = {"effects": (("chain", "draw", "row"), np.full((1, 2, 3), 5.0))}
    held["shift"] = ("chain", "draw", "side"), np.full((1, 2, 2), 1.0)
    held["mu"] = ("chain", "draw", "row"), np.arange(3.0) + np.full((1, 2, 3), 7.0)
    draws = xr.Dataset(held, {"row": [0, 1, 2], "side": ["left", "right"], "chain": [0], "draw": [0, 1]})
    found = []
    for labels in ([0, 1, 2], [7, 8, 9], [0.0, 1.0, 2.0]):
        model.set_data("x", np.arange(3.0) * len(found), coords={"row": labels})
        drawn = pm.sample_posterior_predictive(draws, model, random_seed=1, progressbar=False, predictions=True)
        found.append(np.allclose(drawn.predictions["y"], 7 + x.get_value(), atol=1e-6))
    return found


@row
def potentials_are_told_of(pm, pt):
    with regression(pm) as model:
        quiet = warned(lambda: pm.sample_prior_predictive(2))
        pm.Potential("pull", -(model["slope"].sum() ** 2))
        told = warned(lambda: pm.sample_prior_predictive(2))
        options = {"random_seed": 1, "progressbar": False}
        return quiet, told, warned(lambda: pm.sample_posterior_predictive(result_of_regression(pm), **options))


@row
def draws_are_arrays(pm, pt):
    one, two = pm.Normal.dist(), pm.Poisson.dist(3, shape=2)
    found = [pm.draw(one), pm.draw(two), pm.draw(one, draws=3), *pm.draw([one, two]), *pm.draw([one, two], draws=3)]
    return [(type(x), x.dtype.kind, x.shape) for x in found]


# --- data and dimensions


@row
def data_of_narrow_floats(pm, pt):
    with pm.Model() as model:
        x = pm.Data("x", np.array([0.1, 0.2], dtype="float32"))
        grown = pm.Deterministic("grown", pt.exp(x))
        first = grown.eval()
        model.set_data("x", [0.1, 0.3])
        return x.dtype, grown.dtype, first.tolist(), x.get_value().tolist(), grown.eval().tolist()


@row
def labels_of_a_frame(pm, pt):
    frame = pd.DataFrame({"a": [1.0, 2.0], "b": [3.0, 4.0]}, index=["u", "v"])
    with pm.Model() as model:
        pm.Data("x", frame, dims=("row", "column"), infer_dims_and_coords=True)
        return {dim: list(labels) for dim, labels in model.coords.items()}, books(model)["dims"]


@row
def lengths_of_dimensions(pm, pt):
    with pm.Model(coords={"side": ["left", "right"]}) as model:
        model.add_coord("bare", length=4)
        pm.Data("x", np.zeros(3), dims="row")
        return {dim: int(length.eval()) for dim, length in model.dim_lengths.items()}


@row
def a_dimension_with_labels_keeps_its_length_without_others(pm, pt):
    with regression(pm) as model, pytest.raises(ValueError, match=r"row.*coord"):
        model.set_dim("row", 5)


@row
def missing_values_of_minibatches(pm, pt):
    with pm.Model(), warnings.catch_warnings(), pytest.raises(ValueError, match="total_size"):
        warnings.simplefilter("ignore")
        pm.Normal("y", 0, 1, observed=np.array([1.0, np.nan]), total_size=10)


# --- interventions and observations


@row
def interventions(pm, pt):
    model = regression(pm)
    chosen = ({"count": 2}, {"count": 2.0}, {"slope": [1, 2]}, {"mu": np.zeros(3)}, {model["y"]: np.zeros(3)})
    return [books(pm.do(model, each)) for each in chosen]


@row
def interventions_keep_whole_numbers_whole(pm, pt):
    with pytest.raises(TypeError):
        pm.do(regression(pm), {"count": 2.5})


@row
def interventions_without_what_nobody_needs(pm, pt):
    with pm.Model() as model:
        lost, cause = pm.Normal("lost", pm.Data("x", 1.0)), pm.Normal("cause")
        seen = pm.Deterministic("seen", pm.Normal("effect", cause + lost, 1) + 1)
        pm.Deterministic("aside", cause * 2)
        pm.Normal("y", seen, 1, observed=0.5)
    chosen = ({"effect": 1.0}, {"cause": 1.0}, {"seen": 1.0}, {"aside": 1.0}, {"y": 1.0})
    return [books(pm.do(model, each, prune_vars=True)) for each in chosen]


@row
def observations(pm, pt):
    return [books(pm.observe(regression(pm), each)) for each in ({"count": 2}, {"slope": [1.0, 2.0]})]


# --- names and points


@row
def starts_inside_the_bounds(pm, pt):
    """A bound is no start: its transform sends it to infinity."""
    with pm.Model() as model:
        pm.Truncated("low", pm.Normal.dist(0, 1), lower=0)
        pm.Truncated("high", pm.Normal.dist(0, 1), upper=0)
        pm.Truncated("both", pm.Normal.dist(2, 1), lower=0, upper=2)
        pm.Truncated("inside", pm.Normal.dist(1, 1), lower=0)
        pm.Bernoulli("coin", 0.5)
    return {name: np.round(value, 12) for name, value in model.initial_point().items()}


@row
def names_of_variables(pm, pt):
    return [str(v) for v in regression(pm).basic_RVs]


@row
def points(pm, pt):
    model = regression(pm)
    told = ({"slope": [1.0, 2.0]}, {model["slope"]: np.ones(2), "other": 1})
    found = [pm.Point(each, model=model, filter_model_vars=some) for each in told for some in (False, True)]
    return [{name: (type(v), np.shape(v)) for name, v in point.items()} for point in found]


@row
def density_and_slope_of_a_flat_array(pm, pt):
    model = regression(pm)
    f = model.logp_dlogp_function(model.continuous_value_vars, ravel_inputs=True)
    f.set_extra_values({"count": 3})
    value, slope = f(np.array([0.1, 0.2, 0.3]))
    return round(float(value), 6), np.round(slope, 6).tolist()


@row
def inverses(pm, pt):
    m = np.array([[2.0, 0.5], [0.5, 1.0]])
    found = [f(m).eval() for f in (pm.math.matrix_inverse, pt.nlinalg.matrix_inverse, pt.linalg.inv)]
    return np.round(found, 12).tolist()


@pytest.mark.parametrize("name", ROWS)
def test_the_same_as_in_pymc(pymc5, name):
    import pytensor
    import pytensor.tensor

    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".*otentials")
        ours = ROWS[name](ppl, ppl.tensor)
        with pytensor.config.change_flags(mode="FAST_COMPILE"), contextlib.suppress(ImportError):
            theirs = ROWS[name](pymc5, pytensor.tensor)
    assert ours == theirs


# --- where PyMC has no answer


def test_a_late_observation_with_missing_values_is_imputed():
    """In PyMC its density is nan."""
    with ppl.Model(coords={"side": ["left", "right"]}) as model:
        x = ppl.Normal("x", 1.0, 2.0, dims="side")
        ppl.Normal("y", ppl.Deterministic("sum", x.sum()), 1.0)
    with pytest.warns(ppl.ImputationWarning, match='Normal "x"'):
        seen = ppl.observe(model, {"x": [3.0, np.nan]})
    assert {"x_observed", "x_unobserved", "x"} <= set(seen.named_vars) and seen.named_vars_to_dims["x"] == ("side",)
    assert seen.named_vars["sum"].inputs[0] is not model.named_vars["sum"].inputs[0]
    normal = lambda x, mu, sigma: -0.5 * ((x - mu) / sigma) ** 2 - np.log(sigma * np.sqrt(2 * np.pi))
    found = seen.compile_logp()({"x_unobserved": [0.5], "y": 4.0})
    np.testing.assert_allclose(found, normal(3, 1, 2) + normal(0.5, 1, 2) + normal(4, 3.5, 1), rtol=1e-12)


def test_an_intervention_of_another_shape_is_refused_by_name():
    with pytest.raises(ppl.ShapeError, match=r'do: "slope" has shape \(2,\), and shall be set to .* shape \(3,\)'):
        ppl.do(regression(ppl), {"slope": [1.0, 2.0, 3.0]})


def test_an_intervention_of_another_length_than_the_data_is_refused_by_name():
    with ppl.Model() as model:
        x = ppl.Data("x", [1.0, 2.0, 3.0], dims="row")
        ppl.Normal("y", ppl.Normal("effect", x, dims="row") + x)
    with pytest.raises(ppl.ShapeError, match=r'"effect" has shape \(3,\).* of shape \(4,\).*set_data'):
        ppl.do(model, {"effect": np.zeros(4)})
    with model:
        ppl.set_data({"x": np.zeros(4)})
    assert ppl.draw(ppl.do(model, {"effect": np.ones(4)})["effect"]).tolist() == [1.0] * 4


def test_a_length_that_cannot_change_names_what_holds_it():
    with ppl.Model(coords={"side": ["left", "right"]}) as model:
        x = ppl.Data("x", [1.0, 2.0, 3.0], dims="row")
        ppl.Normal("y", ppl.Normal("slope", dims="side").sum() * x, dims="row")
    with pytest.raises(ValueError, match=r"'row' has length 3, that of the data x, .* set_data"):
        model.set_dim("row", 4)
    model.set_dim("row", 3, coord_values=["a", "b", "c"])
    assert model.coords["row"] == ("a", "b", "c")
    with pytest.warns(ppl.ShapeWarning, match="that of the data x, and labels for length 4: set these data too"):
        model.set_dim("row", 4, coord_values=["a", "b", "c", "d"])
    model.set_data("x", [1.0, 2.0, 3.0, 4.0])
    with pytest.raises(ppl.ShapeError, match="2 labels for length 3"):
        model.set_dim("row", 3, coord_values=["a", "b"])
    with pytest.raises(
        ValueError, match=r"'side' has length 2, fixed when slope was made.* made with its shape.* make Data with dims"
    ):
        model.set_dim("side", 3, coord_values=["left", "right", "up"])


def test_what_is_said_of_a_known_dimension_holds_or_is_refused():
    with ppl.Model() as model:
        ppl.Data("x", [1.0, 2.0], dims="row")
        model.add_coord("row", ["a", "b"])  # labels where there were none
        ppl.Data("y", [1.0, 2.0], dims="row", coords={"row": ["a", "b"]})
        assert model.coords["row"] == ("a", "b")
        for contradiction in (
            lambda: model.add_coord("row", length=3),
            lambda: model.add_coord("row", ["a", "c"]),
            lambda: ppl.Data("z", [1.0, 2.0], dims="row", coords={"row": ["a", "c"]}),
        ):
            with pytest.raises(ValueError, match=r"'row'.* shall "):
                contradiction()
        with pytest.raises(ValueError, match="'q' is a variable, and one of its own dimensions"):
            ppl.Data("q", [1.0, 2.0], dims="q")
    assert model.coords == {"row": ("a", "b")} and list(model.named_vars) == ["x", "y"]


LISTS = """free_RVs observed_RVs basic_RVs unobserved_RVs deterministics potentials data_vars value_vars
    continuous_value_vars discrete_value_vars""".split()
BOOKS = (
    "named_vars named_vars_to_dims rvs_to_values rvs_to_transforms values_to_rvs rvs_to_initial_values coords".split()
)


def _models_within(pm):
    """What each model of a tree has in its books, by name."""
    with pm.Model(coords={"row": range(3)}) as outer:
        pm.Normal("x")
        with pm.Model("a", coords={"column": range(2)}) as a:
            x = pm.Normal("x", dims="column")
            pm.Deterministic("d", x + 1)
            pm.Potential("p", x.sum())
            pm.Normal("o", x, 1, observed=pm.Data("seen", [1.0, 2.0]))
            pm.Normal("o2", 0, 1, observed=[1.0, 2.0])
            pm.Normal("o3", 0, 1, observed=[1.0, 2.0])
        with pm.Model("b") as b:
            pm.Poisson("k", 2)
            with pm.Model("c") as c:
                pm.HalfNormal("x")
    models = (outer, a, b, c)
    name = lambda v: getattr(v, "name", v)
    lists = [[name(v) for v in getattr(m, each)] for m in models for each in LISTS]
    books = [{name(k): name(v) for k, v in getattr(m, each).items()} for m in models for each in BOOKS]
    found = [key in m and m[key].name for m in models for key in ("x", "a::x", "b::c::x", "k", "none")]
    logps = [round(float(m.compile_logp()(m.initial_point())), 6) for m in models]
    return lists, books, found, logps, [sorted(m.initial_point()) for m in models]


def test_a_model_within_another_has_what_was_made_in_it_as_in_pymc(pymc5):
    for ours, theirs in zip(_models_within(ppl), _models_within(pymc5), strict=True):
        assert ours == theirs


def test_a_model_within_another_is_no_density_where_it_depends_on_that_one():
    with ppl.Model() as outer:
        x = ppl.Normal("x", 0, 3)
        with ppl.Model("sub") as inner:
            y = ppl.Normal("y", x, 1)
            ppl.Deterministic("d", x + y)
    assert inner.root is outer and inner["d"].str_repr() == "sub::d ~ Deterministic(f(x, sub::y))"
    assert list(inner.to_networkx()) == ["sub::y", "sub::d"]
    for ask in (inner.compile_logp, lambda: ppl.sample(model=inner, progressbar=False)):
        with pytest.raises(ValueError, match=r'"sub::y" of the model "sub" depends on x of .* `\.root`'):
            ask()
    with pytest.raises(KeyError, match="no variable 'x' itself; the model around it has one"):
        inner["x"]
    outer.set_initval(y, 2.0)
    assert inner.initial_point()["sub::y"] == outer.initial_point()["sub::y"] == 2.0
    with pytest.raises(ppl.ShapeError, match="shall start at"):
        outer.set_initval(y, [1.0, 2.0])


def test_what_depends_on_a_draw_that_is_no_variable_of_the_model_has_no_density():
    with ppl.Model():
        elsewhere = ppl.Normal("elsewhere")
    for draw, says in ((elsewhere, '"elsewhere", which is a variable of another'), (ppl.Gamma.dist(2, 1), "without a")):
        for write in (lambda y: ppl.Normal("y", y, 1, observed=0.3), lambda y: ppl.Potential("y", -(y**2))):
            with ppl.Model() as model:
                ppl.Normal("x", 0, 1)
                write(draw)
            for ask in (model.compile_logp, ppl.sample, ppl.explain, ppl.find_MAP, model.point_logps):
                with pytest.raises(ValueError, match=f'"y" depends on .*{says}'), model:
                    ask()
    with ppl.Model() as model:
        ppl.Normal("x", 0, 1)
        ppl.Deterministic("noise", ppl.Normal.dist(0, 1) ** 2)
        ppl.Mixture("z", [0.5, 0.5], [ppl.Normal.dist(0, 1), ppl.Normal.dist(3, 1)], observed=1.0)
    assert np.isfinite(model.compile_logp()(model.initial_point()))  # neither is a draw in the density


def test_one_argument_of_where_and_the_logsumexp_of_a_number():
    assert ppl.math.logsumexp(0.3).eval().shape == ()
    x = ppl.tensor.vector("x")
    (places,) = ppl.tensor.where(x > 0)
    np.testing.assert_array_equal(ppl.function([x], places)([1.0, -1.0, 2.0]), [0, 2])
    with pytest.raises(ValueError, match="both or neither"):
        ppl.tensor.where(x > 0, x)
    with pytest.raises(ValueError, match="a number has no positions"):
        ppl.tensor.where(ppl.tensor.scalar() > 0)


def test_logaddexp_takes_any_number_of_terms():
    for terms in ([0.3], [1.0, 2.0], [1.0, 2.0, np.array([3.0, -1.0])]):
        np.testing.assert_allclose(ppl.math.logaddexp(*terms).eval(), np.logaddexp.reduce(np.broadcast_arrays(*terms)))


def test_a_variable_is_looked_for_in_the_lists_of_its_model():
    with ppl.Model() as model:
        a, b = ppl.Normal("a"), ppl.Poisson("b", 2)
        x, d = ppl.Data("x", 1.0), ppl.Deterministic("d", a * 2)
        y, p = ppl.Normal("y", d + x, observed=1.0), ppl.Potential("p", -a)
    assert b in model.free_RVs and y not in model.free_RVs and y in model.observed_RVs and d in model.unobserved_RVs
    assert p in model.potentials and p not in model.deterministics and x in model.data_vars and y in model.basic_RVs
    assert model.rvs_to_values[b] in model.discrete_value_vars and a not in model.continuous_value_vars
    assert model.free_RVs.index(b) == 1 and model.basic_RVs.count(y) == 1
    with pytest.raises(ValueError, match="is not in the list"):
        model.free_RVs.index(y)
    rest = model.unobserved_RVs
    rest.remove(b)
    assert [v.name for v in rest] == ["a", "d"] and b in model.free_RVs


def _variables_in_words(pm):
    with pm.Model() as model:
        mu, s = pm.Normal("mu", 0, 5), pm.Exponential("s", 2)
        pm.Normal("y", mu + 1, s, observed=[1.0, 2.0])
        pm.Deterministic("d", mu**2)
        pm.Potential("p", -s)
    chosen = [model[name] for name in ("mu", "y", "d", "p")]
    laws = [v.str_repr() for v in chosen] + [v.str_repr(include_params=False) for v in chosen]
    return laws, [v._repr_latex_() for v in chosen], model["y"].str_repr(formatting="latex")


def test_variables_say_their_laws_as_those_of_pymc(pymc5):
    assert _variables_in_words(ppl) == _variables_in_words(pymc5)
    assert ppl.tensor.as_tensor([1.0])._repr_latex_() is None
    with pytest.raises(ValueError, match="no random variable"):
        ppl.tensor.as_tensor([1.0]).str_repr()


REFUSED = {
    "data that are drawn": (lambda pm: pm.Normal("y", observed=pm.Normal("z")), TypeError, "depends on z.*Potential"),
    "a transform by name": (lambda pm: pm.HalfNormal("y", transform="log"), TypeError, '"y": transform is.*got .log.'),
    "a start by another name": (lambda pm: pm.Normal("y", initval="zero"), ValueError, '"y": initval is a value, or'),
    "a start of another shape": (lambda pm: pm.Normal("y", initval=[1]), ppl.ShapeError, '"y" has shape .*shall start'),
    "a start outside": (lambda pm: pm.HalfNormal("y", initval=-1), ValueError, '"y": the start -1 is outside'),
    "a start that is no number": (lambda pm: pm.Normal("y", initval={}), TypeError, '"y": initval is a number or'),
    "dims that are none": (lambda pm: pm.Normal("y", dims=3), TypeError, 'l "y": dims are .* got 3'),
    "dims of data that are none": (lambda pm: pm.Data("y", 1.0, dims=3), TypeError, 'Data "y": dims are .* got 3'),
    "one matrix for blocks": (lambda pm: pm.math.block_diagonal(np.eye(2)), ValueError, r"matrices.*\(2,\), \(2,\)"),
    "no blocks": (lambda pm: pm.math.block_diagonal([]), ValueError, "sequence of matrices.*got none"),
    "no steps": (lambda pm: pm.Truncated.dist(pm.Normal.dist(), 0, max_n_steps=0), ValueError, "max_n_steps .* got 0"),
    "a total without data": (lambda pm: pm.Normal("y", total_size=9), ValueError, '"y": total_size.*none are observed'),
    "a negative total": (lambda pm: pm.Normal("y", observed=[1.0], total_size=-9), ValueError, 'total_size.*got -9'),
    "totals of two axes": (lambda pm: pm.Normal("y", observed=[1.0], total_size=[9, 9]), ValueError, "at most 1 axes"),
    "the density of a name": (lambda pm: pm.logp("y", 1.0), TypeError, "got 'y' of type str"),
}  # fmt: skip


@pytest.mark.parametrize("fault", REFUSED)
def test_what_would_have_no_effect_or_another_one_is_refused_by_name(fault):
    make, error, text = REFUSED[fault]
    with ppl.Model(), pytest.raises(error, match=text):
        make(ppl)


def test_totals_of_the_last_axes_stand_behind_dots():
    with ppl.Model() as model:
        y = ppl.Normal("y", observed=np.zeros((2, 3, 4)), total_size=[10, ..., 8])
    assert model.rvs_to_total_sizes[y] == 10 / 2 * 8 / 4


def test_data_that_give_a_dimension_its_length_are_drawn_as_no_cause():
    with ppl.Model() as model:
        ppl.Data("x", np.arange(3.0), dims="row")
        ppl.Normal("y", 2 * ppl.Normal("b"), 1.0, observed=np.zeros(3), dims="row")
    assert sorted(ppl.model_to_networkx(model).edges) == [("b", "y")]


def test_the_posterior_by_itself_is_taken_for_draws():
    with ppl.Model(coords={"side": ["left", "right"]}) as model:
        ppl.Normal("y", ppl.Normal("x", dims="side"), 1.0, observed=[0.0, 1.0], dims="side")
    found = ppl.sample(model=model, draws=20, tune=0, chains=1, progressbar=False, quiet=True, random_seed=1)
    draw = lambda trace: ppl.sample_posterior_predictive(trace, model=model, progressbar=False, random_seed=1)
    whole, part = draw(found), draw(found.posterior)
    assert np.array_equal(whole.posterior_predictive.y, part.posterior_predictive.y)
    density = ppl.compute_log_prior(found.posterior, model=model, extend_inferencedata=False, progressbar=False)
    assert density.x.dims == ("chain", "draw", "side")


def test_names_of_models_and_variables_are_closed():
    for write in (lambda: ppl.Normal("x::"), lambda: ppl.Model("part::")):
        with ppl.Model(), pytest.raises(KeyError, match="does not end in ':'"):
            write()
    with ppl.Model() as model, pytest.raises(ValueError, match="has no name"):
        model.add_named_variable(ppl.Normal.dist())


def test_no_transform_is_written_by_default_transform():
    with ppl.Model() as model, pytest.warns(UserWarning, match='"x": for no transform write default_transform=None'):
        x = ppl.HalfNormal("x", transform=None)
    assert model.rvs_to_transforms[x] is None


def test_times_of_calls_by_pytensors_names():
    with ppl.Model() as model:
        ppl.Normal("x")
    found = model.profile(model.logp(), n=3)
    assert found.fct_callcount == found["calls"] == 3 and found.fct_call_time > 0


@pytest.mark.parametrize("fn", ["logp", "random"])
def test_what_cannot_be_worked_out_is_told_by_debug(fn, capsys):
    with ppl.Model() as model:
        x = ppl.Normal("x")
        ppl.HalfNormal("y", ppl.tensor.Assert("x > 0")(abs(x), x > 0))
    model.debug({"x": -1.0, "y_log__": 0.0}, fn=fn)
    assert "The parameters of the variable y cannot be evaluated: x > 0" in capsys.readouterr().out
    model.debug({"x": 1.0, "y_log__": np.inf}, fn=fn)
    told = capsys.readouterr().out
    assert ("logp is not finite" in told) == (fn == "logp") and ("No problems found" in told) == (fn == "random")


def test_log1mexp_of_negative_numbers_alone():
    with pytest.warns(FutureWarning, match="leave negative_input= out"):
        np.testing.assert_allclose(ppl.math.log1mexp(-2.0, negative_input=True).eval(), np.log1p(-np.exp(-2.0)))
    with pytest.raises(ValueError, match=r"log1mexp\(-x\)"):
        ppl.math.log1mexp(2.0, negative_input=False)
