"""Results and their table without importing ArviZ; the same as ArviZ's as soon as anybody looks."""

import copy
import pickle
import shutil
import subprocess
import sys
from pathlib import Path

import arviz
import numpy as np
import pandas
import pytest
import xarray

import ppl as pm
from ppl.model.output import inference_data, summary, table
from ppl.model.output.group import Group, Labeled
from ppl.model.output.inference_data import InferenceData
from ppl.model.output.results import collect, extend, group_names, has_inference_data

ROOT = Path(__file__).resolve().parent.parent
ARVIZ_0 = pytest.mark.skipif(not has_inference_data(), reason="results are data trees")


def chains(rng, shape, memory=0.5):
    """Draws that remember: (chains, draws, ...)."""
    draws = rng.normal(size=shape)
    for at in range(1, shape[1]):
        draws[:, at] += memory * draws[:, at - 1]
    return draws


def posterior(draws=200, chain=4, seed=0):
    rng = np.random.default_rng(seed)
    values = {
        "a": (("chain", "draw"), chains(rng, (chain, draws), 0.9)),
        "b": (("chain", "draw", "school", "k"), chains(rng, (chain, draws, 2, 3), -0.4)),
        "slow": (("chain", "draw", "k"), chains(rng, (chain, draws, 3), 0.99)),
        "count": (("chain", "draw"), rng.poisson(3, (chain, draws))),
        "fixed": (("chain", "draw"), np.full((chain, draws), 0.1)),
    }
    coords = {"chain": range(chain), "draw": range(draws), "school": ["Choate", "Deerfield"], "k": range(3)}
    return xarray.Dataset(values, coords)


def groups():
    rng, by_draw = np.random.default_rng(1), ("chain", "draw")
    coords = {"chain": range(4), "draw": range(200), "n": range(5)}
    stats = {"energy": (by_draw, rng.normal(size=(4, 200))), "diverging": (by_draw, np.zeros((4, 200), bool))}
    rows = xarray.Dataset({"y": ((*by_draw, "n"), rng.normal(-1, 0.1, size=(4, 200, 5)))}, coords)
    return {
        "observed_data": xarray.Dataset({"y": ("n", rng.normal(size=5))}),
        "posterior": posterior(),
        "empty": xarray.Dataset(),
        "sample_stats": xarray.Dataset(stats, coords),
        "log_likelihood": rows,
        "warmup_posterior": posterior(50),
        "posterior_predictive": rows + 1,
    }


def more():
    return arviz.InferenceData(prior=posterior(seed=2))


def written(result, path):
    result.to_netcdf(path)
    return arviz.from_netcdf(path)


def changed(change, result):
    change(result)
    return result


ASKED = {
    "isinstance": lambda r, tmp: isinstance(r, arviz.InferenceData),
    "class": lambda r, tmp: r.__class__,
    "repr": lambda r, tmp: repr(r),
    "html": lambda r, tmp: r._repr_html_()[:30],
    "copy": lambda r, tmp: copy.copy(r),
    "deepcopy": lambda r, tmp: copy.deepcopy(r),
    "its copy": lambda r, tmp: r.copy(),
    "pickle": lambda r, tmp: pickle.loads(pickle.dumps(r)),
    "netcdf": lambda r, tmp: written(r, tmp / f"{id(r)}.nc"),
    "dir": lambda r, tmp: dir(r),
    "attrs": lambda r, tmp: r.attrs,
    "keys": lambda r, tmp: list(r.keys()),
    "values": lambda r, tmp: [sorted(group.data_vars) for group in r.values()],
    "items": lambda r, tmp: dict(r.items()),
    "get": lambda r, tmp: r.get("no such group"),
    "equal": lambda r, tmp: r == 1,
    "sum": lambda r, tmp: r + more(),
    "extend": lambda r, tmp: changed(lambda r: r.extend(more()), r),
    "add_groups": lambda r, tmp: changed(lambda r: r.add_groups(prior=posterior()), r),
    "item": lambda r, tmp: changed(lambda r: r.__setitem__("prior", posterior()), r),
    "attribute": lambda r, tmp: changed(lambda r: setattr(r, "posterior", posterior(20)), r).posterior,
    "del": lambda r, tmp: changed(lambda r: r.__delitem__("posterior"), r),
    "delattr": lambda r, tmp: changed(lambda r: delattr(r, "posterior"), r),
    "sel": lambda r, tmp: r.sel(chain=[0, 1]),
    "isel": lambda r, tmp: r.isel(draw=slice(10)),
    "map": lambda r, tmp: r.map(lambda group: group + 1, groups="posterior"),
    "rename": lambda r, tmp: r.rename({"a": "alpha"}),
    "stack": lambda r, tmp: r.stack(sample=("chain", "draw"), groups="posterior"),
    "to_dataframe": lambda r, tmp: r.to_dataframe(groups="posterior").iloc[:3],
    "to_dict": lambda r, tmp: r.to_dict(groups="posterior"),
    "az.concat": lambda r, tmp: arviz.concat(r, more()),
    "az.concat chains": lambda r, tmp: arviz.concat(r, copy.deepcopy(r), dim="chain"),
    "az.extract": lambda r, tmp: arviz.extract(r, num_samples=3, rng=1),
    "az.convert_to_dataset": lambda r, tmp: arviz.convert_to_dataset(r),
    "az.convert_to_inference_data": lambda r, tmp: arviz.convert_to_inference_data(r),
    "az.summary": lambda r, tmp: arviz.summary(r),
    "az.ess": lambda r, tmp: arviz.ess(r),
    "az.rhat": lambda r, tmp: arviz.rhat(r),
    "az.mcse": lambda r, tmp: arviz.mcse(r),
    "az.hdi": lambda r, tmp: arviz.hdi(r),
    "az.bfmi": lambda r, tmp: arviz.bfmi(r),
    "az.loo": lambda r, tmp: arviz.loo(r).elpd_loo,
    "az.compare": lambda r, tmp: arviz.compare({"one": r, "other": copy.deepcopy(r)}),
    "az.plot_trace": lambda r, tmp: arviz.plot_trace(r, var_names="a").shape,
    "az.plot_posterior": lambda r, tmp: type(arviz.plot_posterior(r, var_names="a")),
    "az.plot_forest": lambda r, tmp: len(arviz.plot_forest(r, var_names="b")),
    "az.plot_energy": lambda r, tmp: type(arviz.plot_energy(r)),
}  # fmt: skip


@ARVIZ_0
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("asked", ASKED)
def test_what_is_asked_of_a_result_is_answered_as_by_arviz(asked, tmp_path):
    pytest.importorskip("matplotlib").use("Agg")
    mine, theirs = InferenceData(groups()), arviz.InferenceData(**groups())
    first, second = ASKED[asked](mine, tmp_path), ASKED[asked](theirs, tmp_path)
    assert type(mine) is arviz.InferenceData and mine.groups() == theirs.groups()
    assert vars(mine).keys() == vars(theirs).keys()
    assert type(first) is type(second) and repr(first) == repr(second)
    __import__("matplotlib.pyplot").pyplot.close("all")


@ARVIZ_0
def test_what_needs_no_arviz_does_not_ask_for_it(monkeypatch):
    monkeypatch.setattr(inference_data, "arviz", lambda: pytest.fail("ArviZ is asked for"))
    result, theirs = collect(groups()), arviz.InferenceData(**groups())
    assert result.groups() == list(result) == group_names(result) == theirs.groups()
    assert len(result) == len(theirs) and "posterior" in result and "empty" not in result
    assert result.posterior is result["posterior"]
    extend(result, {"prior": posterior()})
    assert "prior" in result.groups()
    with pytest.raises(KeyError):
        result["none"]


@ARVIZ_0
@pytest.mark.parametrize("join", ["left", "right"])
def test_one_result_takes_the_groups_of_another(join):
    left, right = collect(groups()), collect({"posterior": posterior(20), "prior": posterior()})
    left.extend(right, join=join)
    theirs = arviz.InferenceData(**groups())
    theirs.extend(arviz.InferenceData(posterior=posterior(20), prior=posterior()), join=join)
    assert type(left) is InferenceData and left.groups() == theirs.groups()
    assert all(left[name].identical(theirs[name]) for name in theirs.groups())


@ARVIZ_0
@pytest.mark.parametrize("asked", [{"join": "both"}, {"other": "no result"}])
def test_what_a_result_cannot_be_extended_by_is_refused_as_by_arviz(asked):
    for result in (collect(groups()), arviz.InferenceData(**groups())):
        with pytest.raises(ValueError, match=r"two InferenceData objects only|either 'left' or 'right'"):
            result.extend(**{"other": collect({"prior": posterior()}), **asked})


@ARVIZ_0
def test_where_arviz_cannot_be_imported_the_groups_are_there(monkeypatch):
    def failing(name):
        raise PermissionError(13, "Permission denied", "cache")

    result = collect(groups())
    monkeypatch.setattr(inference_data.importlib, "import_module", failing)
    with pytest.raises(ImportError, match=r"importing it failed.*Permission denied.*HOME.*\[\"posterior\"\]"):
        result.to_netcdf("file.nc")
    assert result.posterior["a"].shape == (4, 200)


TABLES = [
    {}, {"round_to": "none"}, {"round_to": 1}, {"kind": "stats"}, {"kind": "diagnostics", "round_to": 4},
    {"var_names": ["b", "a"]}, {"var_names": "slow"}, {"group": "posterior", "var_names": ["count", "fixed"]},
]  # fmt: skip


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("options", TABLES, ids=str)
@pytest.mark.parametrize(("draws", "chain"), [(1000, 4), (501, 2), (100, 1)])
def test_the_table_is_arviz_s(options, draws, chain, monkeypatch):
    result = collect({"posterior": posterior(draws, chain), "prior": posterior(100, 1)})
    theirs = arviz.summary(copy.deepcopy(result), **options)
    if has_inference_data():
        monkeypatch.setattr(summary, "arviz", lambda: pytest.fail("ArviZ is asked for"))
        monkeypatch.setattr(summary, "_probability", lambda: 0.94)
    pandas.testing.assert_frame_equal(pm.summary(result, **options), theirs, rtol=1e-9)


def as_made(dataset):
    """A Dataset as a result has it before anybody looks."""
    arrays = {name: Labeled(array.dims, array.values) for name, array in dataset.data_vars.items()}
    return Group(arrays, {name: array.values for name, array in dataset.coords.items()}, dataset.attrs)


@ARVIZ_0
def test_groups_are_made_when_they_are_looked_at(monkeypatch):
    expected = groups()
    result = InferenceData({name: as_made(group) for name, group in expected.items()})
    assert result.groups() == arviz.InferenceData(**expected).groups() and len(result) == 6
    with monkeypatch.context() as patch:
        patch.setitem(sys.modules, "xarray", None)
        with pytest.raises(ImportError, match=r"Groups of a result need xarray.*the draws are there"):
            result.posterior  # noqa: B018
        text = repr(pm.summary(result))
    assert text == repr(pm.summary(expected["posterior"]))
    assert result.posterior is result["posterior"] is result.posterior and result.posterior.equals(
        expected["posterior"]
    )
    result.posterior["a"] = result.posterior["a"] + 1
    assert isinstance(result, arviz.InferenceData) and set(result._groups_all) == {*expected} - {"empty"}
    assert result.posterior["a"].equals(expected["posterior"]["a"] + 1)
    assert result.log_likelihood.equals(expected["log_likelihood"])


def numbers(seed, rows=7):
    """A table such as a posterior has."""
    rng = np.random.default_rng(seed)
    scales = 10.0 ** rng.integers(-2, 5, 4)
    values = np.column_stack([rng.normal(size=(rows, 4)) * scales, rng.integers(1, 4000, rows), np.ones(rows)])
    return values.round(seed % 5), [f"{'x' * (i % 9)}[{i}]" for i in range(rows)], "mean sd hdi_3% b ess r_hat".split()


@pytest.mark.parametrize("width", [30, 55, 62, 80, 200])
def test_a_table_is_printed_as_pandas_prints_it(width, monkeypatch):
    monkeypatch.setenv("COLUMNS", str(width))
    with monkeypatch.context() as patch:
        for name in ("pandas", "IPython"):
            patch.delitem(sys.modules, name, raising=False)
        tables = [numbers(seed, rows) for seed in range(10) for rows in (7, 60, 61, 130)]
        texts = [table._text(*each) for each in tables]
    assert shutil.get_terminal_size().columns == width
    assert texts == [repr(pandas.DataFrame(*each)) for each in tables]


@pytest.mark.parametrize("unusual", [np.nan, 1e-9, 3e7, np.inf])
def test_what_pandas_decides_how_to_print_it_prints(unusual):
    values, index, columns = numbers(0)
    values[2, 1] = unusual
    assert table._text(values, index, columns) is None
    assert repr(table.Table(values, index, columns)) == repr(pandas.DataFrame(values, index, columns))


ASKED_OF_TABLES = {
    "isinstance": lambda t: isinstance(t, pandas.DataFrame),
    "column": lambda t: t["mean"].tolist(),
    "loc": lambda t: t.loc["[0]", "sd"],
    "length": len,
    "iter": list,
    "in": lambda t: "sd" in t,
    "sum": lambda t: t + t,
    "rsub": lambda t: 1 - t,
    "compare": lambda t: (t == t).all().all(),
    "negative": lambda t: -t,
    "round": lambda t: round(t, 1),
    "array": lambda t: np.asarray(t).sum(),
    "ufunc": lambda t: np.sin(t),
    "priority": lambda t: t.__array_priority__,
    "copy": lambda t: copy.deepcopy(t),
    "pickle": lambda t: pickle.loads(pickle.dumps(t)),
    "html": lambda t: t._repr_html_(),
    "concat": lambda t: pandas.concat([t, t]),
    "text": lambda t: t.to_string(),
    "set": lambda t: t.__setitem__("new", 1),
    "delete": lambda t: t.__delitem__("sd"),
    "attribute": lambda t: setattr(t, "index", range(len(t))),
    "columns": lambda t: t.columns,
    "format": lambda t: f"{t}",
    "dir": lambda t: "groupby" in dir(t),
}


@pytest.mark.parametrize("asked", ASKED_OF_TABLES)
def test_what_is_asked_of_a_table_is_answered_as_by_pandas(asked):
    mine, theirs = table.Table(*numbers(3)), pandas.DataFrame(*numbers(3))
    first, second = ASKED_OF_TABLES[asked](mine), ASKED_OF_TABLES[asked](theirs)
    assert type(first) is type(second) and repr(first) == repr(second)
    assert mine.equals(theirs) and type(mine) is pandas.DataFrame


@ARVIZ_0
@pytest.mark.filterwarnings("ignore")
def test_intervals_of_another_probability_and_as_arviz_is_set():
    data = posterior()
    pandas.testing.assert_frame_equal(pm.summary(data, hdi_prob=0.5), arviz.summary(data, hdi_prob=0.5))
    with arviz.rc_context({"stats.ci_prob": 0.8}):
        pandas.testing.assert_frame_equal(pm.summary(data), arviz.summary(data))


LEFT_TO_ARVIZ = [
    {"filter_vars": "like", "var_names": ["o"]}, {"var_names": ["~a"]}, {"stat_focus": "median"}, {"fmt": "long"},
    {"fmt": "xarray"}, {"coords": {"k": [0]}}, {"stat_funcs": {"least": np.min}, "extend": False}, {"skipna": True},
    {"circ_var_names": ["a"]},
]  # fmt: skip


@ARVIZ_0
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("options", LEFT_TO_ARVIZ, ids=lambda options: " ".join(options))
def test_what_the_table_lacks_is_left_to_arviz(options):
    result = collect({"posterior": posterior()})
    assert repr(pm.summary(result, **options)) == repr(arviz.summary(result, **options))


@ARVIZ_0
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", ["nan", "true", "few", "array", "pair"])
def test_unusual_draws_are_left_to_arviz(name):
    few = posterior(20)
    with_nan = few.assign(a=few.a.where(few.a > 0))
    unusual = {
        "nan": with_nan, "true": few.assign(a=few.a > 0), "few": few,
        "array": {"a": few.a.values}, "pair": few.assign_coords(k=("k", [1.0, 2.0, 3.0])),
    }[name]  # fmt: skip
    assert repr(pm.summary(unusual)) == repr(arviz.summary(unusual))


@ARVIZ_0
def test_a_group_that_is_not_there_is_refused_as_by_arviz():
    with pytest.raises(TypeError, match="does not contain group"):
        pm.summary(collect({"posterior": posterior()}), group="prior")


@ARVIZ_0
def test_a_first_run_and_its_table_need_no_arviz():
    program = """
import sys
import ppl as pm
with pm.Model(coords={"k": range(3)}):
    mu = pm.Normal("mu")
    pm.Normal("y", mu, 1.0, observed=[0.1, 0.2, 0.3], dims="k")
    result = pm.sample(progressbar=False, random_seed=1)
    result.extend(pm.sample_posterior_predictive(result, progressbar=False))
    pm.sample_posterior_predictive(result, progressbar=False, predictions=True, extend_inferencedata=True)
    pm.compute_log_likelihood(result, progressbar=False)
assert {"posterior", "sample_stats", "posterior_predictive", "predictions", "log_likelihood"} <= set(result)
table = pm.summary(result)
print(*[m for m in ("pandas", "xarray") if m in sys.modules])
assert list(table.columns) == "mean sd hdi_3% hdi_97% mcse_mean mcse_sd ess_bulk ess_tail r_hat".split()
print(*[m for m in ("arviz", "matplotlib", "numba", "scipy.stats") if m in sys.modules])
"""
    done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.split() == []
