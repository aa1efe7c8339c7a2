"""Many fits: the same results on every engine, errors in their place, and nothing done twice."""

from __future__ import annotations

import multiprocessing
import os
import subprocess
import sys
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor

import numpy as np
import pytest

import ppl as pm
from ppl.many import engines, kept_fits, row_buckets
from ppl.many.gathering import packed
from ppl.many.one_fit import Summary, seed_of_fit
from ppl.model.errors import TraceDirectoryError

ITEMS = [np.random.default_rng(i).normal(i, 1, 12) for i in range(5)]
FEW = {"draws": 50, "tune": 50, "chains": 2, "random_seed": 3, "progressbar": False}


def build(item):
    if item is None:
        raise ValueError("this item has no data")
    if isinstance(item, str):
        os._exit(9)  # as a killed process does
    with pm.Model() as model:
        pm.StudentT("y", 4, pm.Normal("mu", 0, 10), pm.HalfNormal("s", 1), observed=item)
    return model


def same(some, others):
    assert len(some) == len(others)
    for one, other in zip(some, others, strict=True):
        np.testing.assert_array_equal(one.values, other.values)


@pytest.fixture(scope="module")
def alone():
    return pm.map_fits(build, ITEMS, **FEW)


@pytest.fixture(scope="module")
def pool():
    with engines.Workers(2) as workers:
        yield workers


def test_each_fit_is_that_of_its_item(alone):
    assert not alone.failed and not alone.interrupted and [*alone.done] == [*range(5)]
    for i, table in enumerate(alone):
        one = pm.sample(model=build(ITEMS[i]), quiet=True, **{**FEW, "random_seed": seed_of_fit(3, i)})
        np.testing.assert_array_equal(table.values, pm.summary(one, round_to="none").values)
    assert repr(alone).startswith("<Fits: 5 of 5 done, ")


def test_another_engine_gives_the_same_and_errors_stand_in_their_place(alone, pool):
    items = [ITEMS[0], None, ITEMS[2], "dies", ITEMS[4]]
    fits = pm.map_fits(build, items, executor=pool, **FEW)
    same([fits[i] for i in (0, 2, 4)], [alone[i] for i in (0, 2, 4)])
    assert [*fits.failed] == [1, 3]
    assert "ValueError: this item has no data" in str(fits[1]) and "in build" in fits[1].traceback
    assert "its process died" in str(fits[3]) and fits[3].item == "dies"
    again = pm.map_fits(build, ITEMS[:2], executor=pool, **FEW)
    same(again, alone[:2])  # another process has taken the place of the one that died


@pytest.mark.parametrize("of", ["threads", "processes"])
def test_any_executor_of_python_will_do(of, alone):
    context = multiprocessing.get_context("spawn")
    made = ThreadPoolExecutor(2) if of == "threads" else ProcessPoolExecutor(1, mp_context=context)
    with made as executor:
        same(pm.map_fits(build, ITEMS[:2], executor=executor, **FEW), alone[:2])


def test_an_executor_may_come_from_a_client(alone):
    class Client:
        def get_executor(self):
            return ThreadPoolExecutor(1)

    same(pm.map_fits(build, ITEMS[:1], executor=Client(), **FEW), alone[:1])


def test_jobs_that_are_asked_whether_they_are_done(alone):
    class Job:
        def __init__(self, future):
            self.done, self.result = future.done, future.result

    class Jobs:
        def __init__(self):
            self.pool = ThreadPoolExecutor(1)

        def submit(self, f, *args):
            return Job(self.pool.submit(f, *args))

    Jobs.__module__ = "submitit.core"
    same(pm.map_fits(build, ITEMS[:2], executor=Jobs(), **FEW), alone[:2])
    failed = pm.map_fits(build, [None], executor=Jobs(), **FEW)
    assert "no data" in str(failed[0])


@pytest.mark.parametrize("wrong", [0, -1, True, "four", object()])
def test_what_is_no_executor_is_refused(wrong):
    with pytest.raises((TypeError, ValueError), match="executor= is a number of processes"):
        pm.map_fits(build, ITEMS, executor=wrong, **FEW)


def test_an_error_may_end_the_call(pool):
    with pytest.raises(pm.FitError, match="fit 1 failed: ValueError: this item has no data") as found:
        pm.map_fits(build, [ITEMS[0], None, ITEMS[1]], on_error="raise", executor=pool, **FEW)
    assert found.value.index == 1


WRONG = {
    "no function": (lambda: pm.map_fits(3, ITEMS), TypeError, "build is a function of an item"),
    "no model": (lambda: pm.map_fits(len, ["a"], on_error="raise", **FEW), pm.FitError, "build.item. returns a Model"),
    "on_error": (lambda: pm.map_fits(build, ITEMS, on_error="ignore"), ValueError, 'on_error is "return" or "raise"'),
    "of one fit": (lambda: pm.map_fits(build, ITEMS, callback=print), TypeError, "callback= belongs to a single fit"),
    "keep": (lambda: pm.map_fits(build, ITEMS, keep="posterior"), ValueError, 'names of groups as ."posterior".'),
    "no group": (
        lambda: pm.map_fits(build, ITEMS[:1], keep=["prior"], on_error="raise", **FEW), pm.FitError, "no group prior",
    ),
    "no seed": (lambda: pm.map_fits(build, ITEMS, checkpoint="x"), ValueError, "takes random_seed="),
    "unknown argument": (
        lambda: pm.map_fits(build, ITEMS[:1], on_error="raise", colour=1, **FEW), pm.FitError, "colour",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", WRONG)
def test_what_is_wrong_is_said(case):
    call, error, words = WRONG[case]
    with pytest.raises(error, match=words):
        call()


def test_what_is_kept():
    (groups,) = pm.map_fits(build, ITEMS[:1], keep=["posterior", "observed_data"], **FEW)
    assert [*groups] == ["posterior", "observed_data"] and groups["posterior"]["mu"].shape == (2, 50)
    (whole,) = pm.map_fits(build, ITEMS[:1], keep="all", **FEW)
    assert whole.posterior["mu"].shape == (2, 50)
    mean = lambda result, model: (float(result.posterior["mu"].mean()), len(model.free_RVs))
    ((value, count),) = pm.map_fits(build, ITEMS[:1], keep=mean, **FEW)
    assert count == 2 and value == float(whole.posterior["mu"].mean())


def test_seeds_are_those_of_the_number_of_the_item():
    seeds = [seed_of_fit(7, i) for i in range(100)]
    assert len({*seeds}) == 100 and seeds[5] == seed_of_fit(7, 5) and all(0 <= s < 2**63 for s in seeds)


def test_functions_of_a_script_travel_by_cloudpickle(monkeypatch):
    def inner(item):
        return item

    pytest.importorskip("cloudpickle")
    assert packed(inner, "build") and packed(Summary(), "keep")
    monkeypatch.setitem(sys.modules, "cloudpickle", None)
    with pytest.raises(TypeError, match="define it at the top of a module"):
        packed(inner, "build")


# --- done fits are kept ---------------------------------------------------------------------------------------------
@pytest.fixture
def built(monkeypatch):
    """The numbers of the items that models were built of."""
    found = []

    def counted(item):
        found.append(None if item is None else round(float(np.mean(item))))
        return build(item)

    return counted, found


def test_a_second_call_does_what_is_left(tmp_path, built, alone):
    counted, found = built
    place = tmp_path / "fits"
    fits = pm.map_fits(counted, [ITEMS[0], None, ITEMS[2]], checkpoint=place, **FEW)
    assert [*fits.failed] == [1] and len(found) == 3
    found.clear()
    again = pm.map_fits(counted, [ITEMS[0], ITEMS[1], ITEMS[2], ITEMS[3]], checkpoint=place, **FEW)
    assert found == [1, 3], "what failed, and what is new"
    same(again, alone[:4])
    found.clear()
    changed = pm.map_fits(counted, [ITEMS[0] + 1e-9, *ITEMS[1:4]], checkpoint=place, **FEW)
    assert found == [0] and not changed.failed, "an item that has changed since"


def test_a_folder_of_other_fits_is_refused(tmp_path):
    pm.map_fits(build, ITEMS[:1], checkpoint=tmp_path / "fits", **FEW)
    with pytest.raises(TraceDirectoryError, match="random_seed was 3, and is 4"):
        pm.map_fits(build, ITEMS[:1], checkpoint=tmp_path / "fits", **{**FEW, "random_seed": 4})
    with pytest.raises(TraceDirectoryError, match="keep was summary, and is all"):
        pm.map_fits(build, ITEMS[:1], checkpoint=tmp_path / "fits", keep="all", **FEW)


def test_another_model_of_the_same_name_is_refused(tmp_path, monkeypatch):
    pm.map_fits(build, ITEMS[:1], checkpoint=tmp_path / "fits", **FEW)
    monkeypatch.setattr(kept_fits.inspect, "getsource", lambda f: "def build(item): ...")
    with pytest.raises(TraceDirectoryError, match=r"code of build was \w+, and is \w+"):
        pm.map_fits(build, ITEMS[:1], checkpoint=tmp_path / "fits", **FEW)


def test_half_a_file_is_no_fit(tmp_path, built):
    counted, found = built
    pm.map_fits(counted, ITEMS[:2], checkpoint=tmp_path / "fits", **FEW)
    file = tmp_path / "fits" / "fit-00000001.pickle"
    file.write_bytes(file.read_bytes()[:50])
    found.clear()
    pm.map_fits(counted, ITEMS[:2], checkpoint=tmp_path / "fits", **FEW)
    assert found == [1]


@pytest.mark.skipif(os.name != "posix", reason="modes of folders")
def test_a_folder_that_others_write_to_is_refused(tmp_path):
    (tmp_path / "fits").mkdir()
    (tmp_path / "fits").chmod(0o777)
    with pytest.raises(PermissionError, match="others may write to"):
        kept_fits.KeptFits(tmp_path / "fits", {})


def test_ctrl_c_gives_what_is_done(built, monkeypatch):
    counted, found = built

    def interrupted(item):
        if len(found) == 2:
            raise KeyboardInterrupt
        return counted(item)

    fits = pm.map_fits(interrupted, ITEMS, **FEW)
    assert fits.interrupted and [*fits.done] == [0, 1] and "interrupted" in str(fits[2])


# --- one model, many data sets --------------------------------------------------------------------------------------
@pytest.fixture(scope="module")
def line():
    with pm.Model() as model:
        x = pm.Data("x", np.arange(12.0))
        mean = pm.Normal("a", 0, 10) + pm.Normal("b", 0, 10) * x
        pm.StudentT("y", 4, mean, pm.HalfNormal("s", 1), observed=pm.Data("seen", np.zeros(12)))
    return model


def test_data_sets_of_one_shape_share_their_programs(line):
    from ppl.samplers import PROGRAMS

    rng = np.random.default_rng(4)
    data = {"x": rng.normal(size=(4, 12)), "seen": rng.normal(size=(4, 12))}
    pm.sample_many({name: values[:1] for name, values in data.items()}, model=line, **FEW)
    before = PROGRAMS.compilations
    fits = pm.sample_many(data, model=line, **FEW)
    assert PROGRAMS.compilations == before and not fits.failed
    np.testing.assert_array_equal(line["x"].get_value(), np.arange(12.0))
    for i, table in enumerate(fits):
        with pm.Model() as model:
            mean = pm.Normal("a", 0, 10) + pm.Normal("b", 0, 10) * pm.Data("x", data["x"][i])
            pm.StudentT("y", 4, mean, pm.HalfNormal("s", 1), observed=pm.Data("seen", data["seen"][i]))
        one = pm.sample(model=model, quiet=True, **{**FEW, "random_seed": seed_of_fit(3, i)})
        np.testing.assert_array_equal(table.values, pm.summary(one, round_to="none").values)


def test_data_sets_may_have_other_sizes_and_one_may_fail(line):
    sets = [
        {"x": np.arange(5.0), "seen": np.ones(5)},
        {"x": np.arange(4.0)},
        {"x": np.arange(12.0), "seen": np.ones(12)},
    ]
    fits = pm.sample_many(sets, model=line, **FEW)
    assert [*fits.failed] == [1] and fits[1].item["x"].shape == (4,)
    assert [*fits[0].index] == ["a", "b", "s"]


def test_what_a_data_set_leaves_out_is_as_in_the_model(line):
    rows = np.random.default_rng(5).normal(size=12)
    both = pm.sample_many([{"x": np.ones(12) * 3, "seen": rows}, {"seen": rows}], model=line, **FEW)
    with pm.Model() as model:
        mean = pm.Normal("a", 0, 10) + pm.Normal("b", 0, 10) * pm.Data("x", np.arange(12.0))
        pm.StudentT("y", 4, mean, pm.HalfNormal("s", 1), observed=pm.Data("seen", rows))
    one = pm.sample(model=model, quiet=True, **{**FEW, "random_seed": seed_of_fit(3, 1)})
    np.testing.assert_array_equal(both[1].values, pm.summary(one, round_to="none").values)


def test_data_sets_on_another_engine_give_the_same_and_are_kept(line, pool, tmp_path):
    rng = np.random.default_rng(6)
    sets = [{"x": rng.normal(size=12), "seen": rng.normal(size=12)} for _ in range(3)] + [{"x": np.arange(4.0)}]
    here = pm.sample_many(sets, model=line, **FEW)
    there = pm.sample_many(sets[:2], model=line, executor=pool, checkpoint=tmp_path / "fits", **FEW)
    same(there, here[:2])
    with ThreadPoolExecutor(2) as threads:  # each has a model of its own
        again = pm.sample_many(sets, model=line, executor=threads, checkpoint=tmp_path / "fits", **FEW)
    same(again[:3], here[:3])
    assert [*again.failed] == [3] and again[3].item["x"].shape == (4,)
    with pm.Model() as other:
        x = pm.Data("x", np.arange(12.0))
        pm.StudentT("y", 5, pm.Normal("a", 0, 10) * x, 1.0, observed=pm.Data("seen", np.zeros(12)))
    with pytest.raises(TraceDirectoryError, match="model was"):
        pm.sample_many(sets, model=other, checkpoint=tmp_path / "fits", **FEW)
    with pytest.raises(ValueError, match="sample_many: checkpoint= goes on with the same fits later"):
        pm.sample_many(sets, model=line, checkpoint=tmp_path / "fits", draws=10)


# --- data sets of many sizes ----------------------------------------------------------------------------------------
def of_sizes(*sizes):
    rng = np.random.default_rng(8)
    return [{"x": rng.normal(size=n), "seen": rng.normal(size=n)} for n in sizes]


def first_of(model):
    return {variable.name: variable.get_value() for variable in model.data_vars}


def test_two_hundred_sizes_are_few():
    for low, high in ((50, 249), (100, 10_000), (1, 200)):
        sizes = np.unique(np.linspace(low, high, 200).astype(int))
        buckets = row_buckets.buckets_of(sizes)
        assert len(buckets) <= 10, "and two programs for each"
        assert buckets[-1] == high and all(any(n <= b for b in buckets) for n in sizes)
        growth = max(1.25, (high / low) ** (1 / 9))
        assert all(min(b for b in buckets if b >= n) <= np.ceil(n * growth) for n in sizes)
    assert row_buckets.buckets_of([7]) == [7]


def test_padded_rows_do_not_count(line):
    sets = of_sizes(5, 6, 8, 9, 10, 11, 12)
    found = row_buckets.buckets_for(line, sets, first_of(line), None)
    assert found is not None and found.names == ["x", "seen"] and found.sizes == [5, 7, 8, 10, 12]
    for values in sets:
        pm.set_data(values, line)
        assert found.holds(values, first_of(line))
        assert len(found.model["x with padding"].get_value()) in found.sizes
        density = row_buckets._at_a_point(line)
        assert np.isclose(row_buckets._at_a_point(found.model), density, rtol=1e-12)
    assert not found.holds({"x": np.zeros(3), "seen": np.zeros(4)}, first_of(line)), "left to the error of the model"
    assert not found.holds(of_sizes(13)[0], first_of(line))


def centered():
    with pm.Model() as model:
        x = pm.Data("x", np.arange(12.0))
        slope = pm.Normal("b", 0, 10)
        pm.StudentT("y", 4, slope * (x - x.mean()), 1.0, observed=pm.Data("seen", np.zeros(12)))
    return model


def of_each_row():
    with pm.Model() as model:
        x = pm.Data("x", np.arange(12.0))
        z = pm.Normal("z", x, 1, shape=x.shape)
        pm.StudentT("y", 4, z, 1.0, observed=pm.Data("seen", np.zeros(12)))
    return model


def by_statistics():
    with pm.Model() as model:
        x = pm.Data("x", np.arange(12.0))
        pm.Normal("y", pm.Normal("a") + pm.Normal("b") * x, 1.0, observed=pm.Data("seen", np.zeros(12)))
    return model


REFUSED = {
    centered: "does not go over its rows one by one",
    of_each_row: "z depend on rows",
    by_statistics: "integrated out with its rows as they are",
}


@pytest.mark.parametrize("build", REFUSED)
def test_rows_that_are_not_padded(build, caplog):
    model, sets = build(), of_sizes(5, 6, 8, 9, 10, 11)
    with caplog.at_level("DEBUG", logger="ppl"):
        assert row_buckets.buckets_for(model, sets, first_of(model), None) is None
    assert REFUSED[build] in caplog.text


def test_data_sets_in_a_bucket_share_their_programs(line):
    from ppl.samplers import PROGRAMS

    sets = of_sizes(12, 11, 10)
    whole = {**FEW, "draws": 400, "tune": 200, "buckets": True, "keep": "all"}
    pm.sample_many([sets[0], of_sizes(10)[0]], model=line, **{**whole, "keep": "summary"})
    before = PROGRAMS.compilations
    _, one, _ = pm.sample_many(sets, model=line, **whole)
    assert PROGRAMS.compilations == before
    assert one.observed_data["y"].shape == (11,) and set(one.constant_data) == {"x", "seen"}
    alone = pm.sample(model=line, draws=400, tune=200, chains=2, random_seed=1, quiet=True)
    assert one.posterior["a"].shape == alone.posterior["a"].shape


def test_data_of_different_counts_are_refused(line):
    with pytest.raises(ValueError, match="must have one length; got x: 2, seen: 3"):
        pm.sample_many({"x": np.zeros((2, 4)), "seen": np.zeros((3, 4))}, model=line, **FEW)
    with pytest.raises(TypeError, match="pass model="):
        pm.sample_many({"x": np.zeros((2, 4))})


# --- engines that may be installed ----------------------------------------------------------------------------------
def test_joblib(alone):
    joblib = pytest.importorskip("joblib")
    for options in ({}, {"return_as": "generator_unordered"}, {"backend": "threading"}):
        parallel = joblib.Parallel(n_jobs=2, **options)
        same(pm.map_fits(build, ITEMS[:2], executor=parallel, **FEW), alone[:2])


def test_dask(alone):
    distributed = pytest.importorskip("distributed")
    one = distributed.LocalCluster(n_workers=1, threads_per_worker=1, dashboard_address=None)
    with one as cluster, distributed.Client(cluster) as client:
        fits = pm.map_fits(build, [ITEMS[0], None, ITEMS[2]], executor=client, **FEW)
    same([fits[0], fits[2]], [alone[0], alone[2]])
    assert "no data" in str(fits[1])


def test_no_engine_is_imported_by_the_package():
    engines = "{'dask', 'distributed', 'ray', 'joblib', 'submitit', 'cloudpickle'}"
    program = f"import sys, ppl; ppl.map_fits; print(sorted({engines} & {{*sys.modules}}))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
