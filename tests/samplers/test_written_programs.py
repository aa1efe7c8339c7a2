"""Compiled programs that another process finds by what they compute, without tracing them."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import ppl as pm
from ppl.samplers.programs import disk_cache, written_programs
from ppl.samplers.programs.programs import PROGRAMS, Chunk, Programs
from ppl.samplers.programs.randomness import own_settings
from ppl.samplers.programs.written_programs import ENDING, PROGRAM, place_of

GIVEN = (np.arange(6.0), {"b": np.float64(2.0), "unused": np.zeros(3)})


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder of programs, where even those that compile at once are kept."""
    monkeypatch.setattr(disk_cache, "_usual", lambda: tmp_path)
    monkeypatch.setattr(disk_cache, "LEAST_SECONDS", 0.0)
    with own_settings():
        yield tmp_path


def sums(a, more):
    nothing = jnp.zeros(())
    return (Chunk(a + more["b"], a, jnp.cumsum(a), nothing, jnp.arange(3)), [{"c": a[0]}, None])


def got(make=lambda: lambda *given: sums(*given), key=("sums", 1.5), given=GIVEN, **options):
    return Programs().get(key, make, given, **options)


def never():
    raise AssertionError("it is traced again")


def test_a_program_is_found_by_its_key_without_tracing(folder):
    first = got()(*GIVEN)
    programs = Programs()
    again = programs.get(("sums", 1.5), never, GIVEN)(*GIVEN)
    assert jax.tree.structure(again) == jax.tree.structure(first) and isinstance(again[0], Chunk)
    for a, b in zip(jax.tree.leaves(again), jax.tree.leaves(first), strict=True):
        assert a.dtype == b.dtype and np.array_equal(a, b)
    assert programs.made[0].from_disk and programs.made[0].writing == 0 and programs.compilations == 1


@pytest.mark.parametrize(
    "other",
    [
        {"key": ("sums", 1.25)},
        {"given": (np.arange(7.0), GIVEN[1])},
        {"given": (np.arange(6.0, dtype=np.float32), GIVEN[1])},
        {"runs": 3.0},
    ],
)
def test_another_program_is_traced(folder, other):
    got()
    with pytest.raises(AssertionError, match="traced again"):
        got(never, **other)


def test_other_code_of_the_package_or_another_setting_is_another_program(folder, monkeypatch):
    here = place_of("a")
    assert here == place_of("a") != place_of("b")
    with jax.default_matmul_precision("bfloat16"):
        assert place_of("a") != here
    monkeypatch.setattr(written_programs, "_version", lambda: "other")
    assert place_of("a") != here


def test_what_no_other_process_knows_is_not_kept(folder):
    got(key=("sums", never))
    got(key=("sums", (1, object())))
    assert place_of(pm.Normal) is not None and place_of(type("Normal", (), {})) is None
    assert not list(folder.glob(f"*{PROGRAM}"))


def test_what_calls_a_library_is_not_kept(folder):
    got(lambda: lambda a: jnp.linalg.cholesky(a), "lapack", (np.eye(3),))
    got(lambda: lambda a: jax.pure_callback(np.sin, a, a), "python", (np.ones(3),))
    assert not list(folder.glob(f"*{PROGRAM}"))


@pytest.mark.parametrize("damage", [PROGRAM, ENDING, "gone"])
def test_what_is_damaged_is_made_anew(folder, damage):
    expected = got()(*GIVEN)
    for file in folder.glob(f"*{damage if damage != 'gone' else ENDING}"):
        file.unlink() if damage == "gone" else file.write_bytes(b"{}" + file.read_bytes()[:40])
    found = got()(*GIVEN)
    assert np.array_equal(found[0].stats, expected[0].stats)
    assert got(never)(*GIVEN)[0].facts.tolist() == [0, 1, 2]


def test_arguments_of_another_kind_are_refused(folder):
    got()
    with pytest.raises(TypeError, match=r"compiled for float64\[6\], got float64\(7,\)"):
        got(never)(np.arange(7.0), GIVEN[1])


def test_what_is_given_away_is_filled_again(folder):
    make = lambda: lambda a, b: (a * 2, b + 1)
    for _ in range(2):
        program = got(make, "given away", (np.zeros(4), np.zeros(4)), donated=(1,))
        kept, given = jax.device_put(np.ones(4)), jax.device_put(np.ones(4))
        program(kept, given)
        assert given.is_deleted() and not kept.is_deleted()
        make = never


def test_a_number_is_worked_out_once(folder):
    numbers = iter([0.1, 0.2])
    assert [written_programs.number(("work", 3), lambda: next(numbers)) for _ in range(2)] == [0.1, 0.1]
    assert written_programs.number(("work", never), lambda: next(numbers)) == 0.2


def test_a_model_is_sampled_without_tracing_and_its_draws_are_the_same(folder):
    def drawn(seen):
        with pm.Model():
            mu = pm.Normal("mu", 0, 1, shape=2)
            pm.StudentT("y", 4, mu, 1, observed=seen)
            return pm.sample(
                20, tune=20, chains=1, random_seed=1, quiet=True, rewrite=False, compute_convergence_checks=False
            )

    runs = []
    for seen in ([1.0, 2.0], [1.0, 2.0], [3.0, 5.0]):
        with PROGRAMS.set_aside():
            before = PROGRAMS.compilations
            runs.append(drawn(np.array(seen)).posterior.mu.values)
            made = list(PROGRAMS.made)[before - PROGRAMS.compilations :]
        assert [each.what for each in made] == ["chunk"] and (made[0].writing == 0) == (len(runs) > 1)
    assert np.array_equal(runs[0], runs[1]) and not np.array_equal(runs[0], runs[2])


def test_a_model_with_a_loop_is_found_too(folder):
    import ppl.tensor as pt

    def drawn():
        with pm.Model():
            mu = pm.StudentT("mu", 4, 0, 1, shape=2)
            path = pm.scan(lambda e, s: pt.tanh(s) + e, sequences=mu, outputs_info=pt.zeros(()))[0]
            pm.StudentT("y", 4, path, 1, observed=[1.0, 2.0])
            return pm.sample(20, tune=20, chains=1, random_seed=1, quiet=True, rewrite=False)

    for first in (True, False):
        with PROGRAMS.set_aside():
            before = PROGRAMS.compilations
            drawn()
            made = list(PROGRAMS.made)[before - PROGRAMS.compilations :]
        assert [each.what for each in made] == ["chunk"] and (made[0].writing > 0) == first
