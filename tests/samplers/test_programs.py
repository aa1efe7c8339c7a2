"""Compiled programs: made once, by several threads at a time, and kept on disk for other processes."""

import contextlib
import os
import subprocess
import sys
import textwrap
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from some_slow import every

from ppl.samplers import sample
from ppl.samplers.programs import damaged_programs, disk_cache, programs
from ppl.samplers.programs.packing import Packing, on_host
from ppl.samplers.programs.programs import PROGRAMS, Programs, turn
from ppl.samplers.programs.randomness import normals, own_settings
from ppl.xla import blas, stacks

ROOT = Path(__file__).parents[2]


def test_another_process_need_not_compile(tmp_path):
    script = textwrap.dedent(f"""
        import sys; sys.path[:0] = [{str(ROOT)!r}, {str(Path(__file__).parent)!r}]
        from ppl.xla import flags; flags.apply()
        import jax, numpy as np
        from ppl.samplers import sample
        from sampler_targets import eight_schools, SCHOOLS
        before = dict(jax.config.values)
        run = sample(eight_schools, np.zeros((2, 10)), data=SCHOOLS, chains=2, draws=10, tune=10)
        assert dict(jax.config.values) == before
        print(run.positions.sum())
    """)
    command = [sys.executable, "-c", script]
    environment = {**os.environ, disk_cache.VARIABLE: str(tmp_path)}
    run = lambda: subprocess.run(command, capture_output=True, text=True, check=True, env=environment).stdout
    first = run()
    files = {f.name: f.stat().st_mtime_ns for f in tmp_path.iterdir() if f.name.endswith("-cache")}
    assert files
    assert run() == first
    assert {f.name: f.stat().st_mtime_ns for f in tmp_path.iterdir() if f.name.endswith("-cache")} == files


@pytest.mark.parametrize(
    "damage", every(3, [lambda data: data[: len(data) // 2], lambda data: b"", lambda data: b"x" * 999])
)
def test_damaged_programs_on_disk_are_dropped_with_one_line(tmp_path, damage):
    script = textwrap.dedent(f"""
        import sys; sys.path[:0] = [{str(ROOT)!r}]
        from ppl.xla import flags; flags.apply()
        import jax.numpy as jnp, numpy as np
        from ppl.samplers.programs.programs import Programs
        for k in (1.0, 2.0):
            big = lambda x: jnp.linalg.cholesky(jnp.cov(jnp.sin(k * jnp.outer(x, x)) ** 3 + jnp.eye(30)))
            print(Programs().get(k, lambda: big, (np.arange(30.0),))(np.arange(30.0)).shape)
    """)
    environment = {**os.environ, disk_cache.VARIABLE: str(tmp_path)}
    run = lambda: (
        subprocess.run(
            [sys.executable, "-c", script], capture_output=True, text=True, check=True, env=environment
        ).stderr
    )
    kept = lambda: [file for file in tmp_path.iterdir() if file.name.endswith("-cache")]
    assert not run()
    assert len(kept()) == 2
    for file in kept():
        file.write_bytes(damage(file.read_bytes()))
    told = run()
    assert told.count("\n") == 1
    assert f"A compiled program kept in {tmp_path} could not be read" in told
    assert not run()  # they were written anew


def test_a_program_that_cannot_be_written_whole_does_not_stay(tmp_path, monkeypatch, caplog):
    (tmp_path / "key-cache").write_bytes(b"half")
    monkeypatch.setattr(damaged_programs, "_told", set())
    monkeypatch.setattr(damaged_programs, "_ours", {str(tmp_path)})

    def full(key):
        raise OSError(28, "No space left on device")

    before = jax.config.jax_compilation_cache_dir
    try:
        jax.config.update("jax_compilation_cache_dir", str(tmp_path))
        damaged_programs._dropping(full, "written")("key")
        damaged_programs._dropping(full, "written")("key")
        jax.config.update("jax_compilation_cache_dir", str(tmp_path / "theirs"))
        with pytest.raises(OSError, match="No space left"):
            damaged_programs._dropping(full, "written")("key")
    finally:
        jax.config.update("jax_compilation_cache_dir", before)
    assert not list(tmp_path.iterdir())
    assert [r.message.count("could not be written") for r in caplog.records] == [1]


def test_a_place_that_the_user_gave_to_jax_is_used_as_it_is(tmp_path, monkeypatch):
    monkeypatch.setattr(disk_cache, "_usual", lambda: tmp_path / "ours")
    seen = lambda: (jax.config.jax_compilation_cache_dir, jax.config.jax_persistent_cache_min_compile_time_secs)
    before = seen()
    with disk_cache.kept(), disk_cache.kept():
        assert seen() == (str(tmp_path / "ours"), disk_cache.LEAST_SECONDS)
    assert seen() == before
    try:
        jax.config.update("jax_compilation_cache_dir", str(tmp_path / "theirs"))
        with disk_cache.kept():
            assert seen() == (str(tmp_path / "theirs"), before[1])
    finally:
        jax.config.update("jax_compilation_cache_dir", before[0])


def test_the_place_for_programs_is_private_and_bounded(tmp_path):
    place = disk_cache.private(tmp_path / "programs")
    for i in range(10):
        (place / str(i)).write_bytes(b"0" * 100)
        os.utime(place / str(i), (i, i))
    disk_cache.trim(place, 1000)
    assert len(list(place.iterdir())) == 10
    disk_cache.trim(place, 999)
    assert sorted(f.name for f in place.iterdir()) == ["6", "7", "8", "9"]
    place.chmod(0o777)
    with pytest.raises(PermissionError, match="others may write"):
        disk_cache.private(place)


def test_what_is_packed_is_unpacked():
    """Of one chain or of several, by NumPy or inside a program: one vector for each dtype, and the same tree again."""
    tree = (
        np.arange(6.0).reshape(2, 3),
        {"count": np.int64(7), "none": np.zeros((0, 2))},
        np.array([True, False]),
        2.5,
    )
    tree = jax.tree.map(np.asarray, tree)
    packing, several = Packing(tree), jax.tree.map(lambda leaf: np.stack([leaf, leaf + leaf]), tree)
    assert sorted(vector.dtype.name for vector in packing.pack(tree)) == ["bool", "float64", "int64"]
    with own_settings():
        inside = jax.jit(lambda packed: packing.pack(packing.unpack(packed)))(packing.pack(tree))
    for given, back in [(tree, packing.unpack(packing.pack(tree))), (tree, packing.unpack(on_host(inside))),
                        (several, packing.unpack(packing.pack(several)))]:  # fmt: skip
        assert jax.tree.structure(given) == jax.tree.structure(back)
        for a, b in zip(jax.tree.leaves(given), jax.tree.leaves(back), strict=True):
            np.testing.assert_array_equal(a, b, strict=True)


def test_programs_compile_at_the_same_time_and_each_once():
    programs, started = Programs(), threading.Barrier(3)

    def make():
        started.wait(30)  # only once all three programs are being compiled
        return lambda x: x + 1

    with ThreadPoolExecutor(6) as pool:
        found = list(pool.map(lambda i: programs.get(i % 3, make, (1.0,)), range(6)))
    assert programs.compilations == 3 and found[:3] == found[3:]
    with pytest.raises(ZeroDivisionError):
        programs.get("bad", lambda: 1 / 0, ())
    assert programs.get("bad", lambda: lambda: 0, ()) is not None


def test_what_is_given_away_is_filled_again():
    programs = Programs()
    fill = lambda table, x: jax.lax.dynamic_update_slice(table, x, (0, 0))
    table, row = np.zeros((1000, 3)), np.ones((1, 3))
    program = programs.get("fill", lambda: fill, (table, row), donated=(0,))
    first = program(table, row)
    place = first.unsafe_buffer_pointer()
    second = program(first, 2 * row)
    assert second.unsafe_buffer_pointer() == place and first.is_deleted()
    assert np.asarray(second)[:2].tolist() == [[2.0] * 3, [0.0] * 3] and not table.any()


def test_momenta_are_computed_once():
    """XLA had computed the random bits in each loop that uses a momentum, a third of a small model's time."""
    with own_settings():
        use = lambda key: (p := normals(key, 100, jnp.float64), p @ p, jnp.cumsum(p), p[::-1] * p)
        text = jax.jit(use).lower(np.zeros(2, np.uint32)).compile().as_text()
    assert text.count(" shift-left(") < 2 * 20  # there are twenty rounds, and a few shifts beside


def test_programs_that_stack_matrices_take_turns():
    """Several at a time were seen to wait for each other for ever."""
    compiled = lambda f, x: jax.jit(f).lower(x).compile()
    one, stack = jnp.eye(9), jnp.broadcast_to(jnp.eye(9), (5, 9, 9))
    for factorize in (jnp.linalg.cholesky, jnp.linalg.inv, jnp.linalg.eigh, jnp.linalg.svd):
        assert isinstance(turn(compiled(factorize, one)), contextlib.nullcontext)
        assert turn(compiled(factorize, stack)) is turn(compiled(factorize, stack[None]))
        assert not isinstance(turn(compiled(factorize, stack)), contextlib.nullcontext)
    assert isinstance(turn(compiled(lambda x: x @ x, stack)), contextlib.nullcontext)


def test_linear_algebra_has_its_threads_back_when_the_last_chain_is_done_with_it():
    counts = lambda: [get() for get, _ in blas._controls()]
    usual = counts()
    with blas.one_blas_thread():
        with blas.one_blas_thread():
            assert set(counts()) <= {1}
        assert set(counts()) <= {1}
    assert counts() == usual


def test_chains_share_the_cores_with_linear_algebra():
    counts = lambda: [get() for get, _ in blas._controls()]
    usual, seen = counts(), []
    density = lambda x: -0.5 * jnp.sum(x**2)
    sample(density, np.zeros((2, 3)), chains=2, cores=2, draws=20, tune=20, callback=lambda *_: seen.append(counts()))
    assert counts() == usual and seen
    assert all(n <= max(1, os.cpu_count() // 2) for found in seen for n in found)


def seen_by_lapack(side, call):
    """The numbers of threads that OpenBLAS has while a program with a matrix of such a side runs, and after it."""
    counts, seen = lambda: [get() for get, _ in blas._controls()], []
    looking = lambda x: (seen.append(counts()), x)[1]

    def f(x):
        x = jax.pure_callback(looking, jax.ShapeDtypeStruct((side, side), x.dtype), x)
        return jnp.linalg.cholesky(x @ x.T + jnp.eye(side))

    with blas.blas_threads(2):
        usual = counts()
        call(f, np.eye(side, dtype="float32"))
        assert counts() == usual
    return max(seen[-1]), max(usual)


CALLS = {
    "programs": lambda f, x: PROGRAMS.get(object(), lambda: f, (x,))(x),
    "functions": lambda f, x: [run(x) for run in [stacks.Jitted(f)] for _ in range(2)],
}


@pytest.mark.skipif(not blas._controls() or os.cpu_count() == 1, reason="no OpenBLAS, or no threads to be bounded")
@pytest.mark.parametrize("how", CALLS)
def test_one_thread_works_on_the_matrices_of_a_program_that_is_called(how):
    assert seen_by_lapack(60, CALLS[how])[0] == 1
    small, usual = seen_by_lapack(4, CALLS[how])
    assert small == usual  # nothing is asked of the library where it takes one thread by itself


def test_an_option_that_xla_does_not_know_is_left_out(monkeypatch):
    monkeypatch.setattr(programs, "_unknown", set())
    lowered = jax.jit(lambda x: x + 1).lower(1.0)
    compiled = programs._compile(lowered, {"xla_no_such_thing": False, "xla_backend_optimization_level": "2"})
    assert compiled(1.0) == 2.0
    assert programs._unknown == {"xla_no_such_thing"}
    with pytest.raises(jax.errors.JaxRuntimeError):
        programs._compile(lowered, {"xla_backend_optimization_level": "no level"})


def test_how_far_a_loop_is_polished_follows_from_the_work_of_a_gradient_alone(monkeypatch):
    asked = []
    get = PROGRAMS.get
    monkeypatch.setattr(PROGRAMS, "get", lambda key, *rest, **more: (asked.append(rest[2]), get(key, *rest, **more))[1])
    small, large = lambda x: -0.5 * jnp.sum(x**2), lambda x: -0.5 * jnp.sum(jnp.sort(jnp.tile(x, 1000)) ** 2)
    for logp, draws, chains in ((small, 10, 1), (small, 500, 2), (large, 10, 1)):
        sample(logp, np.zeros((chains, 2)), chains=chains, draws=draws, tune=10, cores=1)
    assert [polish.level for polish in asked] == [0, 0, 2]
