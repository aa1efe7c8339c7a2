"""Bad inputs: each is refused where it was given, with a message that says what to do, or works as it should.

A row is a number, the input in words, and either the error with parts of its message, or what must hold.
"""

from __future__ import annotations

import math
import threading
import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pytest
from plain_words import require_plain

import ppl as pm
from ppl.samplers import PROGRAMS

pytestmark = pytest.mark.usefixtures("module_compiled_quickly")

FEW = {"draws": 5, "tune": 5, "chains": 1, "random_seed": 1, "progressbar": False, "quiet": True,
       "compute_convergence_checks": False}  # fmt: skip


class Row(NamedTuple):
    """One bad input: what is done inside a model's block, and the error with parts of its message (none: it works)."""

    number: int
    title: str
    act: Callable[[pm.Model], Any]
    error: type[Exception] | None
    parts: tuple[str, ...]
    late: bool  # found only when something runs


ROWS: list[Any] = []


def refused(number: int, title: str, error: type[Exception], *parts: str, late: bool = False) -> Any:
    """The input raises an error whose message has these parts; nothing is compiled before, unless it is `late`."""

    def keep(act: Callable[[pm.Model], Any]) -> Any:
        ROWS.append(pytest.param(Row(number, title, act, error, parts, late), id=f"{number}: {title}"))
        return act

    return keep


def told(number: int, title: str, *parts: str) -> Any:
    """The input is taken with a warning that has these parts, as PyMC takes it; sampling is then refused with them."""

    def keep(act: Callable[[pm.Model], Any]) -> Any:
        def check(model: pm.Model) -> None:
            with pytest.warns(UserWarning) as caught:
                act(model)
            said = " ".join(str(each.message) for each in caught)
            assert all(part in said for part in parts), said
            require_plain(said)
            if not model.free_RVs:
                pm.Normal("another")
            with pytest.raises(pm.SamplingError) as refused:
                pm.sample(model=model, **FEW)
            assert all(part in str(refused.value) for part in parts), str(refused.value)

        return works(number, title)(check)

    return keep


def works(number: int, title: str) -> Any:
    """The input is taken, and the assertions of the function hold."""

    def keep(act: Callable[[pm.Model], Any]) -> Any:
        ROWS.append(pytest.param(Row(number, title, act, None, (), True), id=f"{number}: {title}"))
        return act

    return keep


# --- parameters


@told(1, "a negative sigma", 'Normal "y"', "sigma must be positive", "got -1")
def _(model):
    pm.Normal("y", 0, -1)


@told(2, "bounds in the wrong order", 'Uniform "y"', "lower", "upper", "1", "0")
def _(model):
    pm.Uniform("y", 1, 0)


@told(3, "a negative concentration", 'Dirichlet "y"', "a must be", "-1", "position 1")
def _(model):
    pm.Dirichlet("y", [1, -1, 2])


@refused(
    4, "a covariance with a negative eigenvalue", ValueError, 'MvNormal "y"', "positive definite", "eigenvalue", "-1"
)
def _(model):
    pm.MvNormal("y", [0, 0], [[1, 2], [2, 1]])


@works(5, "probabilities that do not sum to 1")
def _(model):
    with pytest.warns(UserWarning, match="rescaled"):
        y = pm.Categorical("y", [0.2, 0.5, 0.7])
    assert np.allclose(y.parameters[0].eval(), np.array([0.2, 0.5, 0.7]) / 1.4)


# --- observed values


@works(6, "a Bernoulli variable of 0.6")
def _(model):
    with pytest.warns(UserWarning, match="which is taken for"):
        pm.Bernoulli("y", 0.5, observed=[0.6, 0.2])
    assert model.rvs_to_values[model["y"]].eval().tolist() == [0, 0]


@works(7, "a count of 1.5")
def _(model):
    with pytest.warns(UserWarning, match="which is taken for"):
        pm.Poisson("y", 2, observed=[1, 1.5])
    assert model.rvs_to_values[model["y"]].eval().tolist() == [1, 1]


@told(8, "a negative count", 'Poisson "y"', "-1", "position 2", "support")
def _(model):
    pm.Poisson("y", 2, observed=[1, 2, -1])


@told(9, "a Bernoulli variable of 2", 'Bernoulli "y"', "2", "position 1", "support")
def _(model):
    pm.Bernoulli("y", 0.5, observed=[1, 2])


@told(10, "more successes than trials", 'Binomial "y"', "5", "position 0", "3")
def _(model):
    pm.Binomial("y", 3, 0.5, observed=[5, 1])


@told(11, "a negative value of a Gamma variable", 'Gamma "y"', "-1", "position 1", "not negative")
def _(model):
    pm.Gamma("y", 1, 1, observed=[1.0, -1.0])


@told(12, "an infinite value", 'Normal "y"', "1 observed values are infinite", "position 1")
def _(model):
    pm.Normal("y", 0, 1, observed=[1.0, np.inf])


@works(13, "missing values of floats")
def _(model):
    with pytest.warns(pm.ImputationWarning, match='"y"'):
        pm.Normal("y", 0, 1, observed=[1.0, np.nan])
    assert [rv.name for rv in model.free_RVs] == ["y_unobserved"]


@refused(13, "missing values where none may be", ValueError, '"y"', "1 ", "missing", "impute")
def _(model):
    pm.Normal("y", 0, 1, observed=[1.0, np.nan], impute="raise")


@told(14, "nan in a predictor", '"y"', "mu", "nan", "position 1")
def _(model):
    slope = pm.Normal("slope")
    pm.Normal("y", slope * np.array([1.0, np.nan, 2.0]), 1, observed=np.zeros(3))


@works(14, "nan in a predictor that is replaced")
def _(model):
    slope, x = pm.Normal("slope"), pm.tensor.as_tensor(np.array([1.0, np.nan, 2.0]))
    pm.Normal("y", slope * pm.math.where(pm.tensor.isnan(x), 0.0, x), 1, observed=np.zeros(3))


@works(15, "nan in Data that are observed")
def _(model):
    d = pm.Data("d", [1.0, np.nan])
    with pytest.warns(pm.ImputationWarning, match='"y"'):
        pm.Normal("y", 0, 1, observed=d)
    assert [rv.name for rv in model.free_RVs] == ["y_unobserved"]
    pm.set_data({"d": [3.0, np.nan]})
    assert model.observed_RVs[0].name == "y_observed" and np.isclose(
        model.point_logps(None, 9)["y_observed"], -5.418938533
    )


@refused(15, "nan in Data that move", ValueError, 'Data "d"', "must stay where they were")
def _(model):
    d = pm.Data("d", [1.0, np.nan])
    with pytest.warns(pm.ImputationWarning):
        pm.Normal("y", 0, 1, observed=d)
    pm.set_data({"d": [np.nan, 1.0]})


@told(15, "nan in Data that are a predictor", '"y"', "mu", "nan", "position 1")
def _(model):
    pm.Normal("y", 2 * pm.Data("d", [1.0, np.nan]), 1, observed=[0.0, 1.0])


@told(8, "a negative count in Data", 'Poisson "y"', "-1", "position 2", "support")
def _(model):
    pm.Poisson("y", 2, observed=pm.Data("d", [1, 2, -1]))


@told(8, "a negative count in new Data", 'Poisson "y"', "-1", "position 2", "support")
def _(model):
    pm.Poisson("y", 2, observed=pm.Data("d", [1, 2, 1]))
    pm.set_data({"d": [1, 2, -1]})


@refused(26, "Data of another length than the mean", pm.ShapeError, 'Normal "y"', "(4,)", "(5,)")
def _(model):
    pm.Normal("y", pm.Data("x", np.zeros(4), dims="row"), 1, observed=np.zeros(5), dims="row")


@refused(60, "new Data of different lengths", pm.ShapeError, "'row'", "3 in 'x'", "2 in 'z'")
def _(model):
    pm.Data("x", np.zeros(4), dims="row")
    pm.Data("z", np.zeros(4), dims="row")
    pm.set_data({"x": np.zeros(3), "z": np.zeros(2)})


@works(60, "new Data that others have yet to follow")
def _(model):
    pm.Data("x", np.zeros(4), dims="row")
    pm.Data("z", np.zeros(4), dims="row")
    with pytest.warns(pm.ShapeWarning, match="length 4 in 'x'"):
        pm.set_data({"z": np.zeros(3)})
    pm.set_data({"x": np.zeros(3)})
    assert model.dim_lengths["row"].eval() == 3
    with warnings.catch_warnings(action="error"):  # x decides the length: z is expected to follow, as in PyMC
        pm.set_data({"x": np.zeros(2)})


@works(16, "missing counts")
def _(model):
    with pytest.warns(pm.ImputationWarning, match='"y"'):
        pm.Poisson("y", 2, observed=[1, np.nan, 3])
    assert model["y_unobserved"].dtype == "int64" and model.rvs_to_values[model["y_observed"]].dtype == "int64"


@works(17, "a missing entry of a vector")
def _(model):
    with pytest.warns(pm.ImputationWarning, match='MvNormal "y"'):
        pm.MvNormal("y", [0, 0], np.eye(2), observed=[[1.0, np.nan], [1, 2]])
    assert model["y_unobserved"].type.shape == (1,) and model["y"].type.shape == (2, 2)


@refused(
    17, "a missing entry of a row with a sum", ValueError, 'Multinomial "y"', "1 values are missing", "sum 3", "Drop"
)
def _(model):
    pm.Multinomial("y", 3, [0.5, 0.2, 0.3], observed=[[1.0, np.nan, 1], [1, 2, 0]])


@works(18, "all values missing")
def _(model):
    with pytest.warns(pm.ImputationWarning, match="all observed values are missing: it is drawn from its prior"):
        pm.Normal("y", 0, 1, observed=[np.nan, np.nan])


@works(19, "large integers")
def _(model):
    large = np.array([2**31 + 5, 2**62])
    pm.Poisson("y", 2.0**62, observed=large)
    assert model.rvs_to_values[model["y"]].eval().tolist() == large.tolist()
    assert pm.Data("d", large).get_value().tolist() == large.tolist()


@refused(19, "integers above 64 bits", OverflowError, '"y"', "18446744073709551615", "64")
def _(model):
    pm.Poisson("y", 2, observed=np.array([2**64 - 1], np.uint64))


@works(20, "small unsigned integers times two")
def _(model):
    d = pm.Data("d", np.array([250], np.uint8))
    mu = pm.Normal("mu", 0, 1, initval=1.0)
    assert (d * 2 * mu).dtype == "float64"
    assert np.allclose(model.compile_fn(d * 2 * model.rvs_to_values[mu])({"mu": 1.0}), 500)


@works(21, "booleans observed as floats")
def _(model):
    pm.Normal("y", 0, 1, observed=np.array([True, False]))
    assert model.rvs_to_values[model["y"]].dtype == "float64"


@refused(22, "text observed", TypeError, '"y"', "numbers", "dtype", "Categorical")
def _(model):
    pm.Normal("y", 0, 1, observed=np.array(["a", "b"]))


@refused(22, "objects observed", TypeError, '"y"', "numbers", "'a'", "Categorical")
def _(model):
    pm.Normal("y", 0, 1, observed=np.array(["a", 1.0], object))


@works(23, "no observations")
def _(model):
    pm.Normal("y", pm.Normal("mu"), 1, observed=np.zeros(0))
    assert np.isclose(model.compile_logp()({"mu": 0.0}), -0.5 * np.log(2 * np.pi))


@works(24, "a variable without entries")
def _(model):
    pm.Normal("empty", shape=0)
    assert model.initial_point()["empty"].shape == (0,)
    assert pm.sample(**FEW).posterior["empty"].shape == (1, 5, 0)


# --- shapes and indices


@refused(25, "shapes that do not broadcast", ValueError, "(3,)", "(4,)", "a", "b")
def _(model):
    pm.Normal("a", shape=3) + pm.Normal("b", shape=4)


@refused(26, "a mean of another length than the data", ValueError, 'Normal "y"', "(3,)", "(4,)")
def _(model):
    pm.Normal("y", np.zeros(3), 1, observed=np.zeros(4))


@refused(27, "a column as mean of a row of data", ValueError, 'Normal "y"', "(3, 1)", "(3,)")
def _(model):
    pm.Normal("y", np.zeros((3, 1)), 1, observed=np.zeros(3))


@refused(28, "an index beyond the end", IndexError, "index 5", "position 1", "length 3", "mu")
def _(model):
    pm.Normal("mu", shape=3)[np.array([0, 5])]


@refused(28, "an index in Data beyond the end", IndexError, '"i"', "5", "position 1", "length 3", "mu")
def _(model):
    pm.Normal("y", pm.Normal("mu", shape=3)[pm.Data("i", [0, 5])], 1, observed=[0.0, 1.0])


@refused(28, "an index that set_data puts beyond the end", IndexError, '"i"', "5", "position 1", "length 3", "mu")
def _(model):
    i = pm.Data("i", [0, 2])
    pm.Normal("y", pm.Normal("mu", shape=3)[i], 1, observed=[0.0, 1.0])
    pm.set_data({"i": [0, 5]})


@works(29, "a negative index")
def _(model):
    assert pm.Normal("mu", shape=3)[-1].type.shape == ()


@works(30, "an index that is computed, out of range")
def _(model):
    k = pm.Normal("k", 0, 1)
    pm.Potential("p", pm.tensor.as_tensor(np.arange(3.0))[pm.tensor.cast(pm.tensor.round(k), "int64")])
    assert np.isnan(model.compile_logp()({"k": 7.0}))


# --- names and dimensions


@refused(31, "an unknown dimension", KeyError, "nope", "unknown to the model", "Known: row")
def _(model):
    model.add_coord("row", range(2))
    pm.Normal("y", 0, 1, dims="nope")


@works(32, "a dimension of another length")
def _(model):
    model.add_coord("row", range(2))
    with pytest.warns(UserWarning, match="\"y\": axis 0 has length 3, but dimension 'row' has length 2"):
        pm.Normal("y", 0, 1, shape=3, dims="row")
    pm.Normal("z", 0, 1, dims="row")
    assert dict(pm.sample_prior_predictive(2).prior.sizes) == {"chain": 1, "draw": 2, "y_dim_0": 3, "row": 2}


@works(33, "labels that occur twice")
def _(model):
    with pytest.warns(UserWarning, match="'row'.*'a'"):
        model.add_coord("row", ["a", "b", "a"])
    assert model.coords["row"] == ("a", "b", "a")


@works(34, "a dimension called like a variable")
def _(model):
    pm.Normal("row")
    model.add_coord("row", ["a", "b"])
    pm.Normal("y", dims="row")
    prior = pm.sample_prior_predictive(3, random_seed=1).prior
    assert prior["row"].dims == ("chain", "draw") and prior["y"].dims == ("chain", "draw", "row_dim")
    assert prior["row_dim"].values.tolist() == ["a", "b"]


@refused(34, "a variable along a dimension of its own name", ValueError, "'row'", "dimension", "Rename")
def _(model):
    model.add_coord("row", range(2))
    pm.Normal("row", dims="row")


@refused(35, "a variable called chain", ValueError, "'chain'", "results", "chain_1")
def _(model):
    pm.Normal("chain")


@refused(36, "a name that is taken", ValueError, "Variable name x already exists")
def _(model):
    pm.Normal("x")
    pm.Normal("x")


@refused(37, "a name with a stroke", ValueError, "'a/b'")
def _(model):
    pm.Normal("a/b")


@works(37, "a name with spaces and Greek letters")
def _(model):
    pm.Normal("a b-ü μ")
    assert "a b-ü μ" in pm.sample(**FEW).posterior.data_vars


# --- the language


@refused(38, "a variable outside a model", TypeError, "No model on context stack", "with pm.Model()", ".dist(")
def _(model):
    from ppl.model import context

    stack, context._stack.models = context._stack.models, []
    try:
        pm.Normal("x")
    finally:
        context._stack.models = stack


@refused(39, "a variable as a condition", TypeError, "switch")
def _(model):
    if pm.Normal("x") > 0:
        pass


@refused(40, "a loop over a scalar", TypeError, "scalar", "iterated")
def _(model):
    list(pm.Normal("x"))


@refused(40, "a function of math", TypeError, "math module", "pm.math")
def _(model):
    math.exp(pm.Normal("x"))


@refused(41, "an old keyword", TypeError, 'Normal "x"', "'sd'", "Did you mean sigma?")
def _(model):
    pm.Normal("x", 0, sd=50)


@refused(41, "an unknown keyword", TypeError, 'Gamma "x"', "'alhpa'", "Did you mean alpha?")
def _(model):
    pm.Gamma("x", alhpa=1, beta=2)


@refused(42, "two keywords for one thing", ValueError, 'Normal "x"', "sigma", "tau", "not both")
def _(model):
    pm.Normal("x", 0, sigma=1, tau=1)


@refused(43, "a missing parameter", TypeError, 'Poisson "x"', "needs mu")
def _(model):
    pm.Poisson("x")


# --- sampling


def mean_of_data() -> None:
    pm.Normal("y", pm.Normal("mu", 0, 1), 1, observed=[0.1, 0.7])


@refused(44, "nothing to sample", pm.SamplingError, "no free random variables")
def _(model):
    pm.Normal("y", 0, 1, observed=[1.0])
    pm.sample()


@refused(45, "a misspelt argument of sample", TypeError, "'drawz'", "Did you mean 'draws'?")
def _(model):
    mean_of_data()
    pm.sample(drawz=5)


@refused(46, "a target of 2", ValueError, "target_accept", "between 0 and 1", "got 2", "0.8")
def _(model):
    mean_of_data()
    pm.sample(target_accept=2)


@refused(47, "no tree at all", ValueError, "max_treedepth", "at least 1", "got 0")
def _(model):
    mean_of_data()
    pm.sample(max_treedepth=0)


@refused(48, "a negative number of draws", ValueError, "draws", "got -3")
def _(model):
    mean_of_data()
    pm.sample(draws=-3)


@refused(48, "no chain", ValueError, "chains", "got 0")
def _(model):
    mean_of_data()
    pm.sample(chains=0)


@works(49, "no draws, and a whole number of them as a float")
def _(model):
    mean_of_data()
    found = pm.sample(**{**FEW, "draws": 0})
    assert found.posterior.mu.shape == (1, 0)
    assert pm.sample(**{**FEW, "draws": 5.0}).posterior.mu.shape == (1, 5)


@refused(50, "a negative seed", ValueError, "random_seed", "-1", "None")
def _(model):
    mean_of_data()
    pm.sample(random_seed=-1)


@works(50, "a RandomState")
def _(model):
    mean_of_data()
    first, again = (pm.sample(**{**FEW, "random_seed": np.random.RandomState(1)}).posterior for _ in range(2))
    assert first.equals(again)


@refused(51, "a result that is not there", KeyError, "var_names", "'mew'", "Known are mu")
def _(model):
    mean_of_data()
    pm.sample(var_names=["mew"])


@refused(52, "a start of an unknown variable", KeyError, "initvals", "'zzz'", "mu")
def _(model):
    mean_of_data()
    pm.sample(initvals={"zzz": 1})


@refused(53, "a start outside the support", ValueError, '"s"', "-1", "not negative")
def _(model):
    pm.HalfNormal("s")
    pm.sample(initvals={"s": -1.0})


@refused(53, "an initval outside the support", ValueError, '"s"', "-1", "not negative")
def _(model):
    pm.HalfNormal("s", initval=-1.0)
    model.initial_point()


@works(54, "a potential that is -inf at most starts")
def _(model):
    x = pm.Normal("x", 0, 1)
    pm.Potential("p", pm.math.switch(x > 0.5, 0.0, -np.inf))
    assert (pm.sample(**FEW).posterior.x > 0.5).all()


@refused(54, "a potential that is -inf at all starts", pm.SamplingError, '"p"', "-inf", late=True)
def _(model):
    x = pm.Normal("x", 0, 1)
    pm.Potential("p", pm.math.switch(x > 50, 0.0, -np.inf))
    pm.sample(**FEW, nuts={})  # quadrature, which takes one dimension unless NUTS is asked for, finds the mass


@works(54, "a potential that is -inf at all starts, in one dimension")
def _(model):
    x = pm.Normal("x", 0, 1)
    pm.Potential("p", pm.math.switch(x > 50, 0.0, -np.inf))
    assert (pm.sample(**FEW).posterior.x > 50).all()


@refused(55, "a potential that is nan", pm.SamplingError, '"p" is nan', late=True)
def _(model):
    pm.Potential("p", pm.math.log(-pm.math.exp(pm.Normal("x"))))
    pm.sample(**FEW)


@refused(56, "a gradient that is nan", pm.SamplingError, "gradient", "x", late=True)
def _(model):
    x = pm.Normal("x", 0, 1)
    pm.Potential("p", pm.math.switch(x < 1e9, 0 * x, pm.math.sqrt(-(x**2) - 1)))
    pm.sample(**FEW, nuts={})  # quadrature needs no gradient


@works(57, "a scale that makes every step diverge")
def _(model):
    x = pm.Normal("x", 0, 1)
    pm.Normal("y", x, 1e-12, observed=[-1.0, 1.0])
    assert np.isfinite(pm.sample(**FEW).posterior.x).all()


@refused(58, "scales whose squares overflow", pm.SamplingError, '"marginal of a" is nan', late=True)
def _(model):
    a = pm.Normal("a", 0, 1e300)
    pm.Normal("y", a * 1e-300, 1, observed=0.3)
    pm.sample(**FEW)


@works(58, "a value whose square overflows")
def _(model):
    pm.Normal("a", 0, 1e300)
    assert np.isfinite(model.compile_logp()({"a": 2e300}))


@works(59, "a posterior that is improper")
def _(model):
    pm.Flat("x")
    assert np.isfinite(pm.sample(**FEW).posterior.x).all()


@refused(60, "set_data for an unknown name", KeyError, "'q'", "d")
def _(model):
    pm.Data("d", [1.0])
    pm.set_data({"q": [1.0]})


@refused(60, "set_data with another number of axes", ValueError, '"d"', "1 axes", "2")
def _(model):
    pm.Data("d", [1.0])
    pm.set_data({"d": [[1.0]]})


@refused(60, "set_data of another length than its labels", ValueError, "'row'", "length 2", "length 3", "'d'")
def _(model):
    model.add_coord("row", ["a", "b"])
    pm.Data("d", [1.0, 2.0], dims="row")
    pm.set_data({"d": [1.0, 2.0, 3.0]})


@refused(
    61, "a discrete variable for a sampler with gradients only", ValueError, "NUTS", "discrete", "nutpie", late=True
)
def _(model):
    pm.Bernoulli("z", 0.3)
    pm.sample(nuts_sampler="nutpie", rewrite=False)


@refused(61, "a discrete variable for NUTS by hand", ValueError, "NUTS", "z", "discrete")
def _(model):
    pm.sample(step=pm.NUTS([pm.Bernoulli("z", 0.3)]))


@refused(62, "a result that does not fit", pm.SamplingError, '"huge"', "1,000,000", "GiB", "var_names")
def _(model):
    pm.Deterministic("huge", pm.Normal("mu") + np.zeros(10**6))
    pm.sample(10**7)


@works(63, "many observations in single precision")
def _(model):
    y = np.full(10**7, 0.1, np.float32)
    with pm.tensor.config.change_flags(floatX="float32"):
        pm.Normal("y", pm.Normal("mu"), 1, observed=y)
        found = model.compile_logp()({"mu": np.float32(0.0)})
    exact = -0.5 * np.log(2 * np.pi) * (10**7 + 1) - 0.5 * np.sum(y.astype(float) ** 2)
    assert abs(found - exact) < 0.1


class SeriesOfPandas2:
    """As pandas 2 has it: a stand-in for missing values is refused where the values are integers."""

    name = "x"

    def __init__(self, values):
        self.values = np.asarray(values)

    def isna(self):
        return np.zeros(len(self.values), bool)

    def to_numpy(self, dtype=None, na_value=None):
        if na_value is not None and self.values.dtype.kind in "iu":
            raise ValueError("cannot convert float NaN to integer")
        return self.values


@works(64, "integers of pandas 2")
def _(model):
    pm.Poisson("y", 2, observed=SeriesOfPandas2([1, 2, 3]))
    assert pm.Data("x", SeriesOfPandas2(np.array([0, 1], "int8"))).get_value().tolist() == [0, 1]


@works(64, "integers of pandas with a missing one")
def _(model):
    pandas = pytest.importorskip("pandas")
    with pytest.warns(pm.ImputationWarning):
        pm.Poisson("y", 2, observed=pandas.Series([1, None, 3], dtype="Int64"))
    pm.Poisson("z", 2, observed=pandas.Series([1, 2], dtype="Int64"))
    assert model.rvs_to_values[model["z"]].dtype == "int64"


@works(64, "columns of polars, one with a null")
def _(model):
    polars = pytest.importorskip("polars")
    frame = polars.DataFrame({"count": [1, None, 3], "score": [0.5, 1.5, -1.0]})
    with pytest.warns(pm.ImputationWarning):
        pm.Poisson("y", 2, observed=frame["count"])
    z = pm.Normal("z", 0, 1, observed=frame["score"])
    assert model.rvs_to_values[z].data.tolist() == [0.5, 1.5, -1.0]
    assert pm.Data("d", frame["score"]).get_value().tolist() == [0.5, 1.5, -1.0]


@refused(64, "categories of pandas", TypeError, '"y"', "Categorical(x).codes")
def _(model):
    pandas = pytest.importorskip("pandas")
    pm.Poisson("y", 2, observed=pandas.Series(["a", "b"], dtype="category"))


@works(65, "arrays of another byte order, read only, with steps")
def _(model):
    big = np.arange(6, dtype=">f8")[::2]
    big.flags.writeable = False
    pm.Normal("y", 0, 1, observed=big)
    assert model.rvs_to_values[model["y"]].eval().tolist() == [0, 2, 4]
    assert pm.Data("d", big).get_value().tolist() == [0, 2, 4]


@works(66, "an array that changes after it was given")
def _(model):
    y, d, x = np.zeros(2), np.zeros(2), np.zeros(2)
    pm.Normal("y", x, 1, observed=y)
    data = pm.Data("d", d)
    y[:] = d[:] = x[:] = 7
    assert model.rvs_to_values[model["y"]].eval().tolist() == [0, 0]
    assert data.get_value().tolist() == [0, 0] and model["y"].parameters[0].eval().tolist() == [0, 0]


@works(67, "a variable added after the density was compiled")
def _(model):
    pm.Normal("x")
    before = model.compile_logp()({"x": 0.0})
    pm.Normal("z")
    assert np.isclose(model.compile_logp()({"x": 0.0, "z": 0.0}), 2 * before)


@works(68, "an exception inside the block of a nested model")
def _(model):
    with pytest.raises(ZeroDivisionError), pm.Model("inner"):
        1 / 0  # noqa: B018
    assert pm.modelcontext(None) is model


@pytest.mark.parametrize("row", ROWS)
def test_a_bad_input_is_met_as_it_should_be(row):
    for thread in threading.enumerate():  # programs of results compile beside a sampler, and it may have failed
        if thread.name == "compile-results":
            thread.join()
    before = PROGRAMS.compilations
    with pm.Model() as model:
        if row.error is None:
            row.act(model)
            return
        with pytest.raises(row.error) as caught, warnings.catch_warnings():
            row.act(model)
    message = str(caught.value)
    missing = [part for part in row.parts if part not in message]
    assert not missing, f"the message lacks {missing}: {message}"
    require_plain(message)
    assert len(message) < 1200, f"the message is too long: {message}"
    assert row.late or PROGRAMS.compilations == before, "something was compiled before the error"


def test_every_input_of_the_list_is_here():
    assert {row.values[0].number for row in ROWS} == set(range(1, 69))
