"""What goes wrong while a model is sampled: a named error, and what was finished is kept."""

import json
import random

import jax
import numpy as np
import pytest

import ppl as pm
from ppl.model.finishing import whose_run
from ppl.model.prediction import draw_rows
from ppl.samplers import ChainError, StorageError
from ppl.samplers.runs.rows import FileRows

QUIET = {"tune": 50, "chains": 2, "random_seed": 1, "progressbar": False, "quiet": True, "rewrite": False}
QUIET["compute_convergence_checks"] = False


@pytest.fixture(scope="module")
def model():
    with pm.Model() as model:
        mu = pm.Normal("mu", 0, 1)
        sigma = pm.HalfNormal("sigma", 1)
        pm.Normal("y", mu, sigma, observed=[0.5, 1.5])
    return model


def test_an_operation_that_fails_names_its_chain_and_keeps_the_draws_of_the_others():
    with pm.Model() as model:
        x = pm.Normal("x", 0, 1)
        pm.Potential("guard", pm.tensor.Assert("x went too far")(0 * x, x < 900))
    starts = [{"x": 0.0}, {"x": 1e3}, {"x": 0.5}]
    with pytest.raises(ChainError, match=r"(?s)Chain 1 failed after 0 of .* draws.*x went too far") as caught:
        pm.sample(30, model=model, initvals=starts, init="adapt_diag", **{**QUIET, "chains": 3, "cores": 1})
    assert caught.value.chain == 1
    assert caught.value.partial.posterior.x.shape == (2, 30)
    assert caught.value.partial.posterior.chain.values.tolist() == [0, 2]


def test_a_chain_that_is_stuck_leaves_the_draws_of_the_others_as_they_are(model):
    alone = pm.sample(40, model=model, initvals=[{"mu": 0.1}, {"mu": 0.2}], init="adapt_diag", **QUIET)
    beside = pm.sample(40, model=model, initvals=[{"mu": 0.1}, {"mu": 1e9}], init="adapt_diag", **QUIET)
    assert np.array_equal(alone.posterior.mu[0], beside.posterior.mu[0])
    assert np.isfinite(beside.posterior.mu).all()


def test_a_full_disk_keeps_the_draws_in_memory(model, tmp_path, monkeypatch):
    plain = FileRows.write

    def full(self, begin, values):
        if begin + len(values) > 60:
            raise OSError(28, "No space left on device")
        return plain(self, begin, values)

    monkeypatch.setattr(FileRows, "write", full)
    with pytest.raises(StorageError, match="No space left on device") as caught:
        pm.sample(400, model=model, resume=tmp_path / "run", **QUIET)
    assert "mu" in caught.value.partial.posterior
    monkeypatch.undo()
    whole = pm.sample(400, model=model, resume=tmp_path / "run", **QUIET)
    assert np.array_equal(whole.posterior.mu, pm.sample(400, model=model, **QUIET).posterior.mu)


@pytest.mark.parametrize(("first", "then"), [(30, 70), (70, 30)])
def test_a_run_goes_on_to_another_number_of_draws(model, tmp_path, first, then):
    begun = pm.sample(first, model=model, resume=tmp_path / "run", **QUIET)
    went_on = pm.sample(then, model=model, resume=tmp_path / "run", **QUIET)
    afresh = pm.sample(then, model=model, **QUIET)
    assert begun.posterior.mu.shape == (2, first)
    for name in ("mu", "sigma"):
        assert np.array_equal(went_on.posterior[name], afresh.posterior[name])
    assert np.array_equal(went_on.sample_stats.energy, afresh.sample_stats.energy)


@pytest.mark.parametrize(("key", "value"), [("jax", "0.0.1"), ("version", 0), ("target_accept", 0.5)])
def test_a_checkpoint_of_another_version_is_refused_with_both(model, tmp_path, key, value):
    pm.sample(20, model=model, resume=tmp_path / "run", **QUIET)
    file = tmp_path / "run/run.json"
    settings = json.loads(file.read_text())
    file.write_text(json.dumps({**settings, key: value}))
    with pytest.raises(StorageError, match=f"{key}={value!r}, now it is {settings[key]!r}"):
        pm.sample(20, model=model, resume=tmp_path / "run", **QUIET)


def test_a_device_without_memory_gets_smaller_chunks_then_a_clear_error(model, monkeypatch):
    rows = []

    def little_memory(most):
        def get(key, build, example, **how):
            program = plain(key, build, example, **how)

            def run(chunk, data):
                rows.append(len(chunk[0]))
                if len(chunk[0]) > most:
                    raise jax.errors.JaxRuntimeError("RESOURCE_EXHAUSTED: out of memory")
                return program(chunk, data)

            return run if key[0] == "rows" else program

        return get

    plain = draw_rows.PROGRAMS.get
    monkeypatch.setattr(draw_rows, "at_once", lambda *_, **__: None)  # so little is else done by NumPy
    trace = pm.sample(200, model=model, **QUIET)
    expected = pm.compute_log_likelihood(trace, model=model, extend_inferencedata=False)
    monkeypatch.setitem(draw_rows.CHUNK_BYTES, jax.default_backend(), 1 << 12)
    monkeypatch.setattr(draw_rows.PROGRAMS, "get", little_memory(8))
    found = pm.compute_log_likelihood(trace, model=model, extend_inferencedata=False)
    assert np.array_equal(found.y, expected.y) and min(rows) <= 8 < max(rows)
    monkeypatch.setattr(draw_rows.PROGRAMS, "get", little_memory(0))
    with pytest.raises(MemoryError, match="single draw"):
        pm.compute_log_likelihood(trace, model=model, extend_inferencedata=False)


# --- names of strangers

NASTY = '<script>alert("1")<script> $\\input{x}$ %_^~{}#&'


def test_names_are_escaped_wherever_they_are_shown():
    with pm.Model(coords={NASTY + "dim": [1, 2]}) as model:
        x = pm.Normal(NASTY, 0, 1, dims=NASTY + "dim")
        pm.Deterministic("y<b>", 2 * x)
    mermaid = model.to_mermaid()
    assert "<script>" not in mermaid and "<b>" not in mermaid and "&lt;script&gt;" in mermaid
    latex = model._repr_latex_()
    assert "\\input" not in latex and "<script>" not in latex and "\\textbackslash" in latex
    assert "<script>" not in pm.explain(model)._repr_html_()
    handle = pm.sample(20, model=model, blocking=False, **{**QUIET, "rewrite": True})
    handle.wait()
    assert "<script>" not in handle._repr_html_()


def damaged(data: bytes, source: random.Random) -> bytes:
    """A few bytes changed, cut out or repeated."""
    changed = bytearray(data)
    for _ in range(source.randint(1, 4)):
        at, kind = source.randrange(max(1, len(changed))), source.randrange(4)
        if kind == 0:
            changed[at : at + 1] = bytes([source.randrange(256)])
        elif kind == 1:
            del changed[at : at + source.randint(1, 200)]
        elif kind == 2:
            changed[at:at] = changed[at : at + source.randint(1, 60)]
        else:
            changed = changed[: at + 1]
    return bytes(changed)


@pytest.mark.parametrize("files", [60, pytest.param(1000, marks=pytest.mark.slow)])
def test_damaged_checkpoints_give_documented_errors_or_the_same_draws(model, tmp_path, files):
    settings = {**QUIET, "tune": 10}
    expected = pm.sample(30, model=model, resume=tmp_path / "run", **settings).posterior.mu.values
    whole = {path: path.read_bytes() for path in sorted((tmp_path / "run").rglob("*")) if path.is_file()}
    source, refused = random.Random(3), 0
    for _ in range(files):
        path = source.choice(list(whole))
        path.write_bytes(damaged(whole[path], source))
        try:
            found = pm.sample(30, model=model, resume=tmp_path / "run", **settings).posterior.mu.values
            assert np.array_equal(found, expected), path
        except StorageError as error:
            assert str(tmp_path) in str(error)
            refused += 1
        for other, data in whole.items():
            other.write_bytes(data)
    assert refused > files / 3


# --- whose run it is


def grouped(y=(0.5, 1.5, 2.5), x=(1.0, 2.0, 3.0), scale=1.0, extra=False, labels="abc", factor=2.0):
    with pm.Model(coords={"row": list(labels)}) as model:
        data = pm.Data("x", np.array(x))
        b, sigma = pm.Normal("b", 0, scale), pm.HalfNormal("sigma", 1)
        if extra:
            pm.Normal("tau", 0, 1)
        f = pm.from_jax(lambda v: factor * v, name="user_function")
        pm.Normal("y", f(b) * data, sigma, observed=np.array(y), dims="row")
    return model


DIFFERENT = {
    "the data of observed variable 'y' differs": {"y": (0.5, 1.5, 3.5)},
    "the data 'x' differs": {"x": (1.0, 2.0, 4.0)},
    "variable 'b' differs": {"scale": 2.0},
    "variable 'tau' is new": {"extra": True},
    "the coordinates of dimension 'row' differs": {"labels": "abd"},
    "variable 'y' differs": {"factor": 3.0},
}


@pytest.mark.parametrize("storage", ["npy", "zarr"])
@pytest.mark.parametrize(("text", "change"), DIFFERENT.items(), ids=DIFFERENT)
def test_a_run_of_another_model_or_other_data_is_refused(tmp_path, text, change, storage):
    if storage == "zarr":
        pytest.importorskip("zarr")
    how = {**QUIET, "checkpoint": tmp_path / "run", "resume": "auto", "storage": storage}
    first = pm.sample(10, model=grouped(), **how)
    with pytest.raises(StorageError, match=text):
        pm.sample(10, model=grouped(**change), **how)
    again = pm.sample(10, model=grouped(), **how)
    assert np.array_equal(first.posterior.b, again.posterior.b)


def test_a_run_without_a_seed_keeps_the_one_it_began_with(tmp_path):
    how = {**QUIET, "checkpoint": tmp_path / "run", "resume": "auto", "random_seed": None}
    first = pm.sample(10, model=grouped(), **how)
    longer = pm.sample(25, model=grouped(), **how)
    assert np.array_equal(first.posterior.b, longer.posterior.b[:, :10])


def test_a_run_of_another_version_is_refused(tmp_path, monkeypatch):
    """Another version may draw other numbers, and both would stand in one run."""
    how = {**QUIET, "resume": tmp_path / "run"}
    pm.sample(10, model=grouped(), **how)
    monkeypatch.setattr(whose_run, "__version__", "99.0")
    with pytest.raises(StorageError, match=r"the version of ppl was .*, now 99\.0"):
        pm.sample(10, model=grouped(), **how)


def test_a_run_that_is_asked_for_otherwise_is_refused(tmp_path):
    model, how = grouped(), {**QUIET, "resume": tmp_path / "run"}
    pm.sample(10, model=model, **how)
    with pytest.raises(StorageError, match=r"the argument protect was .*, now "):
        pm.sample(10, model=model, protect=["b"], **how)
    with pytest.raises(StorageError, match="the start of 'b' differs"):
        pm.sample(10, model=model, initvals={"b": 1.0}, **how)
    with pytest.raises(StorageError, match="step method 1"):
        pm.sample(10, model=model, step=pm.Metropolis(model=model), **how)
    with pytest.raises(StorageError, match="already holds a run"):
        pm.sample(10, model=model, **QUIET, checkpoint=tmp_path / "run")
    with pytest.raises(ValueError, match="checkpoint="):
        pm.sample(10, model=model, **QUIET, resume="auto")
