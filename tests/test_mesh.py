"""One model on a mesh of devices: rows by blocks, the same draws on any mesh and in any number of processes."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import ppl as pm
import ppl.tensor as tt
from ppl.compile.density import FlatProgram, in_a_row
from ppl.compile.row_blocks import blocked
from ppl.model.posterior.rewriting import rewritten
from ppl.rewrites.limits import limited
from ppl.samplers.programs.programs import PROGRAMS, QUICK
from ppl.tensor.tensor import TensorType, placeholder
from ppl.xla.blocks import BLOCKS, real_rows, rows_of_blocks
from ppl.xla.later import jax, wide
from ppl.xla.meshes import mesh_of

HERE = Path(__file__).resolve().parent
N = 150  # of rows: neither a multiple of the blocks, nor fewer


def test_blocks_have_every_row_once():
    rows, real = rows_of_blocks(N, BLOCKS), real_rows(N, BLOCKS)
    assert sorted(rows[real]) == [*range(N)]


rng = np.random.default_rng(1)
X, NUMBERS = rng.normal(size=(N, 3)), rng.normal(size=N)
GROUPS, LABELS = rng.integers(0, 4, N), rng.integers(0, 3, N)
STACK = rng.normal(size=(N, 2, 2))

# Of a vector of three: sums over rows by each kind of operation.
EXPRESSIONS = {
    "matrix_product": lambda v: tt.sum(tt.softplus(X @ v)),
    "columns": lambda v: tt.sum(tt.exp(0.1 * (v @ X.T))),
    "a_product_that_sums_rows": lambda v: tt.dot(tt.tanh(NUMBERS * v[0]), tt.exp(0.1 * X @ v)),
    "groups": lambda v: tt.sum(tt.sin(tt.concatenate([v, v[:1]])[GROUPS] * NUMBERS)),
    "groups_from_the_end": lambda v: tt.sum(tt.sin(tt.concatenate([v, v[:1]])[GROUPS - 4] * NUMBERS)),
    "categories": lambda v: tt.sum(
        tt.take_along_axis(tt.log_softmax(X * v, axis=1), tt.constant(LABELS[:, None]), axis=1)
    ),
    "other_axes": lambda v: tt.sum(tt.logsumexp(X * v, axis=1) + tt.max(tt.transpose(X * v), axis=0)),
    "stacks": lambda v: tt.sum(tt.tanh(STACK @ v[:2])),
    "joined": lambda v: tt.sum(tt.exp(0.1 * tt.concatenate([X * v, NUMBERS[:, None] * v[0]], axis=1))),
    "shapes": lambda v: tt.sum(tt.tanh(tt.reshape(STACK * v[0], (N, 4))[:, 1:, None] + NUMBERS[:, None, None])),
    "sums_by_group": lambda v: tt.sum(tt.log1p(tt.segment_sum(tt.exp(NUMBERS * v[0]), GROUPS, 4))),
    "a_function_of_two_sums": lambda v: tt.log(tt.sum(tt.exp(X @ v))) * tt.sum(tt.exp(NUMBERS * v[1])),
    "weights": lambda v: -2.5 * tt.sum(tt.cosh(X @ v)) / tt.exp(v[0]) - v[1] * tt.sum(tt.exp(NUMBERS * v[1])) + v[2],
    "a_mean_within": lambda v: tt.sum(tt.tanh(X @ v - tt.mean(tt.exp(NUMBERS * v[0])))),
    "values_of_rows": lambda v: tt.sum(tt.tanh(NUMBERS * tt.concatenate([v * k for k in range(N // 3)]))),
}


def both(output, slots, shares=3):
    """Value and slopes by the plain program and by blocks, at some place."""
    plain, blocks = FlatProgram([output], slots), blocked(output, slots, shares=shares)
    assert blocks is not None
    position = np.random.default_rng(2).normal(size=slots[-1].stop) * 0.3
    with wide():
        return [slopes_of(f, position) for f in (plain, blocks)]


def slopes_of(program, position):
    make = lambda: jax.value_and_grad(lambda x, *data: program(x, *data)[0])
    arguments = (position, *program.data)
    return tuple(map(np.asarray, PROGRAMS.get(("slopes", program.key), make, arguments, QUICK)(*arguments)))


@pytest.mark.parametrize("name", EXPRESSIONS)
def test_sums_by_blocks_are_the_plain_sums(name):
    v = placeholder(TensorType("float64", (3,)), "v")
    (value, slopes), (by_blocks, their_slopes) = both(EXPRESSIONS[name](v), in_a_row([(v, (3,))]))
    np.testing.assert_allclose(by_blocks, value, rtol=1e-12)
    np.testing.assert_allclose(their_slopes, slopes, rtol=1e-11, atol=1e-11)


def test_a_model_by_blocks_has_its_log_density():
    with pm.Model() as model:
        spread, freedom = pm.HalfNormal("spread", 1), pm.Gamma("freedom", 2, 0.1)
        level = pm.Normal("level", 0, pm.HalfNormal("between", 1), shape=4)
        pm.StudentT("y", freedom, level[GROUPS] + X @ pm.Normal("slopes", 0, 1, shape=3), spread, observed=NUMBERS)
    posterior = rewritten(model)
    slots = in_a_row([(value, value.type.shape) for value in posterior.values])
    (value, slopes), (by_blocks, their_slopes) = both(posterior.logp(), slots)
    np.testing.assert_allclose(by_blocks, value, rtol=1e-13)
    np.testing.assert_allclose(their_slopes, slopes, rtol=1e-12, atol=1e-12)


def test_second_slopes_go_through_blocks():
    v = placeholder(TensorType("float64", (3,)), "v")
    output, slots = EXPRESSIONS["matrix_product"](v), in_a_row([(v, (3,))])
    plain, blocks = FlatProgram([output], slots), blocked(output, slots)
    with wide():
        hessians = [jax.hessian(lambda x, *d, f=f: f(x, *d)[0])(np.full(3, 0.2), *f.data) for f in (plain, blocks)]
    np.testing.assert_allclose(*hessians, rtol=1e-11)


def test_rows_that_depend_on_each_other_stay_whole():
    v = placeholder(TensorType("float64", ()), "v")
    assert blocked(tt.sum(tt.cumsum(tt.exp(v * NUMBERS))), in_a_row([(v, ())])) is None
    with limited(fewest_rows_by_block=1000):
        assert blocked(tt.sum(tt.exp(v * NUMBERS)), in_a_row([(v, ())])) is None


def regression():
    with pm.Model() as model:
        pm.Bernoulli("y", logit_p=X @ pm.Normal("b", 0, 1, shape=3), observed=NUMBERS > 0)
    return model


def test_what_cannot_be_is_refused_by_name():
    devices = len(jax.devices())
    with pytest.raises(ValueError, match=f"asks for {8 * devices} devices, and JAX has {devices}"):
        mesh_of({"rows": 8 * devices})
    with pytest.raises(ValueError, match="lengths of the axes"):
        mesh_of({"columns": 2})
    with pytest.raises(ValueError, match="mesh is a Mesh of JAX"):
        mesh_of(3)
    with regression(), pytest.raises(ValueError, match=r"4 chains cannot be shared out .* in groups of 8"):
        pm.sample(mesh={"chains": 1}, chains=4, nuts={"chain_method": "interleaved"}, quiet=True)
    with regression(), pytest.raises(ValueError, match="learns from all chains"):
        pm.sample(mesh={"rows": 1}, nuts={"kernel": "chees"}, quiet=True)
    with pm.Model(), pytest.raises(ValueError, match="NUTS of this package moves alone"):
        pm.Poisson("n", 3)
        pm.sample(mesh={"rows": 1}, quiet=True, rewrite=False)


def test_a_plan_tells_what_pays():
    found = pm.plan(regression(), {"rows": 4})
    assert (found.rows, found.pays) == (N, False) and "does not pay" in str(found)
    large = rng.normal(size=(300_000, 3))
    with pm.Model() as model:
        pm.Bernoulli("y", logit_p=large @ pm.Normal("b", 0, 1, shape=3), observed=large[:, 0] > 0)
    found = pm.plan(model, {"rows": 4, "chains": 2})
    assert found.pays and found.efficiency > 0.8 and found.alone > 1
    assert found.bytes_by_rows > large.nbytes / 4 > 1000 * found.bytes_everywhere


# --- whole runs, in processes of their own


def start(*arguments, devices=1, processes=1, **more):
    flags = f"{os.environ.get('XLA_FLAGS', '')} --xla_force_host_platform_device_count={devices}"
    launcher = ["-m", "ppl.distributed", "-n", str(processes)] if processes > 1 else []
    command = [sys.executable, *launcher, str(HERE / "mesh_run.py"), *map(str, arguments)]
    surroundings = {**os.environ, "XLA_FLAGS": flags, "PYTHONPATH": str(HERE.parent), **more}
    return subprocess.Popen(command, env=surroundings, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def draws_of(*arguments, **layout):
    """The digests of draws that a run prints, all of them."""
    process = start(*arguments, **layout)
    out, errors = process.communicate(timeout=600)
    assert process.returncode == 0, errors
    return re.findall(r"draws (\w{16})\n", out)  # anywhere: Gloo writes its lines to the same pipe, piece by piece


ALONE, BOTH = '{"rows": 1}', '{"rows": 2}'


def test_devices_and_processes_do_not_reach_the_draws():
    forced = draws_of("logistic", 25, ALONE, '{"chains": 2, "rows": 3}', devices=6)
    apart = draws_of("logistic", 25, BOTH, processes=2)
    assert len(forced) == len(apart) == 2 and len({*forced, *apart}) == 1


@pytest.mark.slow
@pytest.mark.parametrize("model", ["logistic", "hierarchical", "process"])
def test_all_layouts_have_the_same_draws(model):
    found = draws_of(model, 100, *(json.dumps({"rows": n}) for n in (1, 2, 4, 8)), devices=8)
    found += draws_of(model, 100, ALONE) + draws_of(model, 100, BOTH, processes=2)
    assert len(found) == 7 and len({*found}) == 1


@pytest.mark.slow
def test_processes_find_each_other_by_the_variables_of_slurm():
    job = {"SLURM_JOB_ID": str(os.getpid()), "SLURM_STEP_NODELIST": "localhost", "SLURM_NTASKS": "2"}
    each = [{"SLURM_PROCID": str(i), "SLURM_LOCALID": str(i), "SLURM_STEP_NUM_NODES": "1"} for i in range(2)]
    processes = [start("logistic", 25, BOTH, "initialize=", **job, **own) for own in each]
    [(first, errors), (second, _)] = [process.communicate(timeout=600) for process in processes]
    assert "draws" in first and first == second, errors


@pytest.mark.slow
def test_groups_of_chains_have_the_same_draws_on_any_devices():
    meshes = (json.dumps({"chains": n}) for n in (1, 2, 4))
    found = draws_of("logistic", 30, *meshes, "chains=64", "chain_method=interleaved", devices=4)
    assert len(found) == 3 and len({*found}) == 1


@pytest.mark.slow
@pytest.mark.parametrize("end", ["KILL:1", "KILL:0", "STOP:1", "TERM:1", "TERM:0"])
def test_who_is_left_saves_and_leaves_and_any_layout_goes_on(end, tmp_path):
    place = tmp_path / "run"
    process = start("logistic", 3000, BOTH, f"checkpoint={place}", f"end={end}", processes=2)
    out, errors = process.communicate(timeout=600)
    assert process.returncode == 75, errors
    assert "draws" not in out and "@ " not in errors  # no result, and no trace of C++
    told = [line for line in errors.splitlines() if "is gone after" in line]  # of SIGTERM the log tells, quiet here
    assert len(told) == ("TERM" not in end) and all(str(place) in line for line in told), errors
    whole = draws_of("logistic", 3000, ALONE)
    assert draws_of("logistic", 3000, ALONE, f"checkpoint={place}") == whole


@pytest.mark.slow
def test_a_run_of_one_process_goes_on_in_two(tmp_path):
    place = tmp_path / "run"
    process = start("hierarchical", 3000, ALONE, f"checkpoint={place}", "end=TERM:0")
    assert process.wait(timeout=300) == 75
    [first, second] = draws_of("hierarchical", 3000, BOTH, f"checkpoint={place}", processes=2)
    assert first == second == draws_of("hierarchical", 3000, ALONE)[0]
