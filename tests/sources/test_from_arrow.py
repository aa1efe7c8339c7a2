"""Rows that are read once: the same density and draws as of rows in memory, from any source, or a reason why not."""

import subprocess
import sys

import numpy as np
import pytest

import ppl as pm
from ppl.compile.density import flattened, layout, values_at
from ppl.model.finishing.whose_run import parts_of_model
from ppl.model.posterior.density import Joint
from ppl.rewrites.limits import limited
from ppl.sources import readers
from ppl.sources.source_rows import recut
from ppl.sources.statistics import Patterns, RefusedError, Triangle

pl = pytest.importorskip("polars")

N = 1500
RNG = np.random.default_rng(4)
G = RNG.integers(0, 3, N)
X, Z = RNG.normal(size=N), 1e6 + RNG.normal(size=N)
COLUMNS = {
    "x": X,
    "z": Z,
    "g": G,
    "w": RNG.choice([0.5, 1.0, 2.0], N),
    "y": 1 + 2 * X - 0.5 * (Z - 1e6) + 0.3 * G + RNG.normal(size=N),
    "counts": RNG.poisson(1.0 + G),
    "hits": RNG.integers(0, 2, N),
    "times": RNG.exponential(1.0 + G),
    "grade": RNG.integers(0, 3, N),
}
TABLE = pl.DataFrame(COLUMNS)


def line(d):
    a, b, c = pm.Normal("a", 0, 10), pm.Normal("b", 0, 10), pm.Normal("c", 0, 10)
    pm.Normal("y", a + b * d["x"] + c * (d["z"] - 1e6), pm.HalfNormal("s", 2), observed=d["y"])


def weighted_groups(d):
    effects = pm.Normal("effects", 0, pm.HalfNormal("t", 1), shape=3)
    pm.Normal("y", effects[d["g"]] + pm.Normal("b") * d["x"] ** 2, pm.HalfNormal("s", 2) * d["w"], observed=d["y"])


def mean_alone(d):
    pm.Normal("y", pm.Normal("m", 0, 10), 1.5, observed=d["y"])


def poisson(d):
    rate = pm.Gamma("rate", 2, 1, shape=3)
    pm.Poisson("counts", rate[d["g"]] * d["w"], observed=d["counts"])


def bernoulli(d):
    pm.Bernoulli("hits", logit_p=pm.Normal("l") + pm.Normal("k") * d["g"], observed=d["hits"])


def exponential(d):
    pm.Exponential("times", pm.HalfNormal("r", 1, shape=3)[d["g"]], observed=d["times"])


def ordered(d):
    cuts = pm.Normal("cuts", [-1.0, 1.0], 1, transform=pm.distributions.transforms.ordered)
    pm.OrderedLogistic("grade", pm.Normal("k") * d["g"], cuts, compute_p=False, observed=d["grade"])


def built(model_of, data):
    with pm.Model() as model:
        model_of(data)
    return model


MODELS = [line, weighted_groups, mean_alone, poisson, bernoulli, exponential, ordered]


@pytest.mark.parametrize("model_of", MODELS, ids=lambda f: f.__name__)
def test_the_density_is_that_of_rows_in_memory(model_of):
    model = built(model_of, pm.from_arrow(TABLE, block=400, progressbar=False))
    memory = built(model_of, COLUMNS)
    assert [rv.name for rv in model.free_RVs] == [rv.name for rv in memory.free_RVs]
    (words,) = model.read_once.values()
    assert words.startswith("1,500 rows") and "digest of the source" in words
    for shift in (0.0, 0.4, -0.3):
        np.testing.assert_allclose(density(model, shift), density(memory, shift), rtol=1e-12)


def density(model, shift):
    """The joint log-density at a point, by NumPy."""
    point = {name: x + shift for name, x in model.initial_point().items()}
    slots = layout([model.rvs_to_values[rv] for rv in model.free_RVs], point)
    return float(values_at([Joint(model).total()], slots, flattened(slots, point))[0])


def test_draws_are_those_of_rows_in_memory():
    few = {"random_seed": 1, "progressbar": False, "quiet": True, "draws": 50, "chains": 2}
    found, memory = (
        pm.sample(model=built(line, data), **few)
        for data in (pm.from_arrow(TABLE, block=400, progressbar=False), COLUMNS)
    )
    for name in "abcs":
        np.testing.assert_allclose(found.posterior[name], memory.posterior[name], rtol=1e-9, atol=1e-9)
    assert found.posterior.attrs["read_once"].startswith("y: 1,500 rows of a linear predictor with 3 columns")


def test_data_may_be_columns_of_a_source():
    rows = rows_of(TABLE)
    with pm.Model() as model:
        x, z = pm.Data("X", rows[["x", "g"]]), pm.Data("Z", pm.from_arrow(TABLE, ["z"]))
        pm.Normal("y", x @ pm.Normal("b", shape=2), 1.0, observed=rows["y"])
        with pytest.raises(ValueError, match='Data "W": rows that are read once have no dims'):
            pm.Data("W", rows["x"], dims="rows")
    assert model.read_once["y"].startswith("1,500 rows of a linear predictor with 2 columns")
    assert x.type.shape == (None, 2) and z.type.shape == (None,) and not model.data_vars


# --- sources --------------------------------------------------------------------------------------------------------
@pytest.fixture(scope="module")
def places(tmp_path_factory):
    folder = tmp_path_factory.mktemp("rows")
    try:
        from pyarrow import feather, parquet
    except ImportError:
        return folder
    (folder / "parts").mkdir()
    pm_rows = TABLE.select(["x", "y"]).to_arrow()
    parquet.write_table(pm_rows.slice(0, 700), folder / "parts" / "a.parquet", row_group_size=300)
    parquet.write_table(pm_rows.slice(700), folder / "parts" / "b.parquet", row_group_size=1000)
    feather.write_feather(pm_rows, folder / "rows.feather", compression="uncompressed")
    return folder


def of_zarr(folder):
    zarr = pytest.importorskip("zarr")
    group = zarr.open_group(folder / "rows.zarr", mode="w")
    for name in ("x", "y"):
        group.create_array(name, data=COLUMNS[name], chunks=(256,))
    return folder / "rows.zarr"


def of_polars(lazy):
    frame = TABLE.select(["x", "y"])
    return frame.lazy() if lazy else frame


def arrow():
    return pytest.importorskip("pyarrow", reason="pyarrow is not installed")


def of_table():
    return arrow().table({name: COLUMNS[name] for name in ("x", "y")})


def of_duckdb(folder):
    return arrow() and pytest.importorskip("duckdb", reason="duckdb is not installed").sql(
        f"select * from '{folder}/parts/*.parquet'"
    )


SOURCES = {
    "folder": lambda folder: arrow() and folder / "parts",
    "files": lambda folder: arrow() and [folder / "parts" / "a.parquet", folder / "parts" / "b.parquet"],
    "feather": lambda folder: arrow() and str(folder / "rows.feather"),
    "dataset": lambda folder: pytest.importorskip("pyarrow.dataset").dataset(folder / "parts"),
    "table": lambda folder: of_table(),
    "reader": lambda folder: of_table().to_reader(max_chunksize=111),
    "zarr": of_zarr,
    "polars": lambda folder: of_polars(False),
    "lazy polars": lambda folder: of_polars(True),
    "duckdb": of_duckdb,
}


def rows_of(source, **options):
    return pm.from_arrow(source, progressbar=False, block=400, **options)


@pytest.fixture(scope="module")
def kept():
    with pm.Model() as model:
        rows = rows_of(TABLE.select(["x", "y"]))
        y = pm.Normal("y", pm.Normal("a") + pm.Normal("b") * rows["x"], 1.0, observed=rows["y"])
    return model.rvs_to_values[y].inputs[0], rows.digest


@pytest.mark.parametrize("source", SOURCES)
def test_every_source_gives_the_same_to_the_last_bit(source, places, kept):
    rows = rows_of(SOURCES[source](places))
    assert sorted(rows.columns) == ["x", "y"]
    with pm.Model() as model:
        y = pm.Normal("y", pm.Normal("a") + pm.Normal("b") * rows["x"], 1.0, observed=rows["y"])
    assert model.rvs_to_values[y].inputs[0] is kept[0] and rows.digest == kept[1]
    memory = rows_of(SOURCES[source](places), memory=True)
    np.testing.assert_array_equal(memory["x"], X)


def test_blocks_end_at_fixed_rows_whatever_batches_come():
    batches = [{"x": np.arange(a, b)} for a, b in ((0, 3), (3, 3), (3, 11), (11, 12), (12, 17))]
    assert [block["x"].tolist() for block in recut(iter(batches), 5)] == [
        [*range(5)], [*range(5, 10)], [*range(10, 15)], [15, 16]
    ]  # fmt: skip


def test_triangles_of_blocks_are_that_of_all_rows():
    rows = np.concatenate([np.ones((999, 1)), 1e6 + RNG.normal(size=(999, 2))], axis=1)
    made = Triangle()
    for begin in range(0, 999, 100):
        made.add(rows[begin : begin + 100])
    whole, found = np.linalg.qr(rows, mode="r"), made.factor()
    np.testing.assert_allclose(np.abs(found), np.abs(whole), rtol=1e-9)


# --- what is refused ------------------------------------------------------------------------------------------------
def logistic(d):
    pm.Bernoulli("hits", logit_p=pm.Normal("k") * d["x"], observed=d["hits"])


def student(d):
    pm.StudentT("y", 4, pm.Normal("m"), 1.0, observed=d["y"])


def not_linear(d):
    pm.Normal("y", pm.math.exp(pm.Normal("k") * d["x"]), 1.0, observed=d["y"])


def own_scales(d):
    pm.Normal("y", 0.0, pm.math.exp(pm.Normal("k") * d["x"]), observed=d["y"])


def of_rows(d):
    pm.Deterministic("mu", pm.Normal("k") * d["x"])


def half(d):
    pm.Normal("y", pm.Normal("k") * d["x"], 1.0, observed=COLUMNS["y"])


def not_whole(d):
    pm.Poisson("y", pm.HalfNormal("k"), observed=d["y"])


def negative(d):
    pm.Exponential("y", pm.HalfNormal("k"), observed=d["y"])


def two_sources(d):
    pm.Normal("y", pm.Normal("k") * d["x"], 1.0, observed=rows_of(TABLE)["y"])


REFUSED = {
    logistic: (pm.SamplingError, r'Bernoulli "hits": \d+ of the first 400 rows differ. Rows of a source are read once'),
    student: (pm.SamplingError, "rows differ.*memory=True"),
    not_linear: (pm.SamplingError, 'Normal "y": .*no triangular factor'),
    own_scales: (pm.SamplingError, "scales of their own that are not data"),
    of_rows: (ValueError, '"mu" is made of columns of .*use them in the parameters'),
    half: (TypeError, "so has its observed value to be"),
    not_whole: (TypeError, "the column holds float64"),
    negative: (pm.SamplingError, "values, as -.* are outside the support"),
    two_sources: (ValueError, "columns of several sources meet"),
}


@pytest.mark.parametrize("model_of", REFUSED, ids=lambda f: f.__name__)
def test_rows_without_statistics_are_refused_with_the_reason(model_of):
    error, words = REFUSED[model_of]
    with limited(rows_looked_at_first=100), pytest.raises(error, match=words):
        built(model_of, rows_of(TABLE))


def test_what_is_asked_of_each_row_is_refused():
    model = built(mean_alone, rows_of(TABLE))
    result = pm.sample(20, model=model, chains=1, random_seed=1, progressbar=False, quiet=True)
    for ask in (
        lambda: pm.compute_log_likelihood(result, model=model, progressbar=False),
        lambda: pm.sample_posterior_predictive(result, model=model, progressbar=False),
        lambda: pm.sample_prior_predictive(5, model=model, var_names=["y"]),
    ):
        with pytest.raises(NotImplementedError, match='the rows of "y" were read once and are not kept'):
            ask()
    copy = pm.do(model, {"m": 0.0})
    assert copy.read_once.keys() == {"y"}


def test_wrong_sources_and_columns_are_named():
    with pytest.raises(TypeError, match="a source is a path of Parquet"):
        pm.from_arrow(3.0)
    with pytest.raises(KeyError, match="has no columns"):
        pm.from_arrow(TABLE, ["x", "height"])
    with pytest.raises(TypeError, match=r"columns is a list of names, got 'x'. Write columns=\['x'\]"):
        pm.from_arrow(TABLE, "x")
    with pytest.raises(KeyError, match='no column "height"'):
        rows_of(TABLE)["height"]
    with pytest.raises(TypeError, match="by its name, and several by a list"):
        rows_of(TABLE)[3]
    with pytest.raises(ValueError, match="block is a number of rows"):
        pm.from_arrow(TABLE, block=1)
    for column, words in (([1.0, None], 'column "x" has missing values'), (["a", "b"], "codes")):
        with pytest.raises((ValueError, TypeError), match=words):
            pm.from_arrow(pl.DataFrame({"x": column}), memory=True)
    gap = pl.DataFrame({"x": [1.0, np.nan, 2.0], "y": [1.0, 2.0, 3.0]})
    with pytest.raises(pm.SamplingError, match='"x" is not finite in rows 0 to 3'):
        built(lambda d: pm.Normal("y", pm.Normal("b") * d["x"], 1.0, observed=d["y"]), rows_of(gap))


def test_a_reader_is_read_once():
    once = rows_of(of_table().to_reader())
    built(mean_alone, once)
    with pytest.raises(ValueError, match="can be read once, and was"):
        built(mean_alone, once)


def test_a_pass_that_is_stopped_leaves_the_model_as_it_was(monkeypatch):
    rows = rows_of(TABLE)
    monkeypatch.setattr(Triangle, "add", lambda self, table: (_ for _ in ()).throw(KeyboardInterrupt))
    with pm.Model() as model:
        with pytest.raises(KeyboardInterrupt):
            pm.Normal("y", pm.Normal("b") * rows["x"], 1.0, observed=rows["y"])
        assert [*model.named_vars] == ["b"] and not model.read_once


@pytest.mark.parametrize("model_of", [mean_alone, bernoulli], ids=lambda f: f.__name__)
def test_other_rows_are_another_model_to_a_saved_run(model_of):
    models = [built(model_of, rows_of(TABLE[:n])) for n in (1500, 1500, 1499)]
    parts = [parts_of_model(model) for model in models]
    assert parts[0] == parts[1] != parts[2]


def test_too_many_patterns_are_refused():
    patterns = Patterns(["x"])
    with limited(patterns_of_a_source=5), pytest.raises(RefusedError, match="6 of the first 60 rows differ"):
        patterns.add({"x": np.arange(60) % 6}, [np.ones(60)])


def test_a_missing_package_is_named_with_its_extra(monkeypatch):
    for name, extra in (("pyarrow.dataset", "arrow"), ("zarr", "zarr")):
        monkeypatch.setitem(sys.modules, name, None)
        with pytest.raises(ImportError, match=rf"install ppl-jax\[{extra}\]"):
            readers._package(name, extra)


def test_no_engine_is_imported_by_the_package():
    program = "import sys, ppl; ppl.from_arrow; print(sorted({'pyarrow', 'polars', 'duckdb', 'zarr'} & {*sys.modules}))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_arrays_of_a_group_that_are_no_columns_are_refused(tmp_path):
    zarr = pytest.importorskip("zarr")
    group = zarr.open_group(tmp_path / "rows.zarr", mode="w")
    for name, length in (("x", 4), ("y", 3)):
        group.create_array(name, data=np.zeros(length))
    with pytest.raises(ValueError, match=r"have the lengths \[3, 4\]: put the columns into a group of their own"):
        pm.from_arrow(tmp_path / "rows.zarr")
