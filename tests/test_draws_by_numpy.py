"""Draws by NumPy are those of programs: the same key, the same draw, to the rounding of a logarithm."""

from __future__ import annotations

import jax
import numpy as np
import pytest
from some_slow import every

import ppl as pm
from ppl.rewrites.values.folding import step_by_step
from ppl.samplers import PROGRAMS
from ppl.tensor.core.ops import OPS
from ppl.tensor.sampling.draws import KEY_TYPE, Draw, key_fold_in, key_split
from ppl.tensor.tensor import placeholder
from ppl.xla import threefry

DRAWS = {name: op for name, op in OPS.items() if isinstance(op, Draw)}
AT_ONCE = sorted(name for name, op in DRAWS.items() if op.at_once)
NAN, INF = np.nan, np.inf
PARAMETERS = {
    "random_two_sided": [[0.3], [[0.1, 0.5, 0.9]]],
    "random_von_mises": [[2.0], [[0.0, 1e-8, 3.0, 1e8, NAN, -1.0]]],
    "random_randint": [[-3, 9], [[0, 5, 7], [1, 2**40, 7]]],
    "random_loggamma": [[0.3], [[1e-9, 0.5, 1.0, 30.0, 1e9, 0.0, -1.0, NAN, INF]]],
    "random_truncated_normal": [
        [-1.0, 2.0],
        [[-INF, 3.0, -50.0, 0.1, 45.0, -2.0, 1.0], [0.0, INF, -49.0, 0.1 + 1e-9, INF, 5.0, 1e11]],
    ],
    "random_poisson": [[3.0], [[0.0, 0.1, 9.0, 11.0, 1e6, 1e9, -1.0, NAN]]],
    "random_binomial": [[10, 0.3], [[0, 5, 100, 10**9, 7, 9, -1], [0.2, 1.0, 0.7, 0.4, 0.0, NAN, 0.5]]],
    "random_negative_binomial": [[3.0, 0.5], [[1e-3, 2.0, 50.0, -1.0], [2.0, 1e5, 1.0, 1.0]]],
    "random_hypergeometric": [[30, 20, 12], [[30, 0, 4000], [20, 5, 10**6], [50, 3, 5000]]],
    "random_multinomial": [[[12], [0.2, 0.3, 0.5]], [[[5], [1000]], [[0.2, 0.8, 0.0], [1.0, 1.0, 2.0]]]],
}


def calls(name):
    """Parameters of one law, and of a vector of laws; the shape of a draw."""
    for parameters in PARAMETERS.get(name, [[], []]):
        arrays = [np.asarray(p) if name in WHOLE else np.asarray(p, float) for p in parameters]
        common = np.broadcast_shapes(*[x.shape for x in arrays])
        yield arrays, (common if DRAWS[name].vectors else (2, *common) if common else (3, 4))


WHOLE = {"random_randint", "random_multinomial", "random_binomial", "random_hypergeometric"}


def agree(found, wanted):
    assert found.dtype == wanted.dtype and found.shape == wanted.shape
    if wanted.dtype.kind in "iu":
        np.testing.assert_array_equal(found, wanted)
    else:
        np.testing.assert_allclose(found, wanted, rtol=1e-11, atol=1e-14)


@pytest.mark.parametrize("name", AT_ONCE)
def test_many_rows_are_drawn_a_few_at_a_time(name, monkeypatch):
    draw = DRAWS[name]
    keys = np.random.default_rng(5).integers(0, 2**32, (23, 2), np.uint32)
    dtype = {"float": "float64", "bits": "uint64"}.get(draw.kind, "int64")
    for parameters, shape in calls(name):
        many = (len(keys), *shape)
        rows = [np.broadcast_to(p, many) if i % 2 and not draw.vectors else p for i, p in enumerate(parameters)]
        with np.errstate(all="ignore"):
            whole = draw.by_numpy(keys, *rows, shape=many, dtype=dtype)
            monkeypatch.setattr("ppl.tensor.sampling.draws.IN_CACHE", 50)
            np.testing.assert_array_equal(draw.by_numpy(keys, *rows, shape=many, dtype=dtype), whole)
            monkeypatch.undo()


@pytest.mark.parametrize("name", every(3, AT_ONCE))
def test_one_key_and_rows_of_keys(name):
    draw = DRAWS[name]
    keys = np.random.default_rng(1).integers(0, 2**32, (40, 2), np.uint32)
    dtype = {"float": "float64", "bits": "uint64"}.get(draw.kind, "int64")
    for parameters, shape in calls(name):
        one = jax.jit(lambda key, *p, shape=shape: draw.lower(key, *p, shape=shape, dtype=dtype))
        with jax.enable_x64(True), np.errstate(all="ignore"):
            wanted = np.stack([np.asarray(one(key, *parameters)) for key in keys])
            agree(draw.by_numpy(keys, *parameters, shape=(len(keys), *shape), dtype=dtype), wanted)
            agree(draw.by_numpy(keys[0], *parameters, shape=shape, dtype=dtype), wanted[0])
            rows = jax.jit(lambda keys, *p, shape=shape: draw.lower(keys, *p, shape=(len(keys), *shape), dtype=dtype))
            agree(np.asarray(rows(keys, *parameters)), wanted)


def test_whole_numbers_are_those_of_jax():
    keys = np.random.default_rng(2).integers(0, 2**32, (5, 2), np.uint32)
    for low, high in ((0, 10), (-(2**62), 2**62), (3, 3), (0, 3**30)):
        found = DRAWS["random_randint"].by_numpy(keys, np.int64(low), np.int64(high), shape=(5, 7), dtype="int64")
        with jax.enable_x64(True):
            for key, row in zip(keys, found, strict=True):
                typed = jax.random.wrap_key_data(key, impl="threefry2x32")
                np.testing.assert_array_equal(row, jax.random.randint(typed, (7,), low, high, "int64"))


MANY_DRAWS = {  # a size at which the program draws in another way: many of one law, by a table, in blocks
    **dict.fromkeys(AT_ONCE, 5000), "random_poisson": 70_001, "random_binomial": 70_001, "random_von_mises": 300_001,
    "random_loggamma": 300_001, "random_multinomial": 210_000,
}  # fmt: skip


QUICK = ("random_loggamma", "random_poisson", "random_randint", "random_normal", "random_uniform", "random_two_sided")
MANY_NAMES = [name if name in QUICK else pytest.param(name, marks=pytest.mark.slow) for name in AT_ONCE]


@pytest.mark.parametrize("name", MANY_NAMES)
def test_many_draws_of_one_key(name):
    """Of one law and, in the slow suite, of a vector of laws in an array of two axes."""
    draw, key = DRAWS[name], np.array([7, 11], np.uint32)
    dtype = {"float": "float64", "bits": "uint64"}.get(draw.kind, "int64")
    for parameters, shape in [*calls(name)][: 1 if name in QUICK else 2]:
        own = shape if draw.vectors else shape[1:] if len(shape) == 2 and np.ndim(parameters[:1]) > 1 else ()
        shape = (MANY_DRAWS[name] // int(np.prod(own)), *own)
        one = jax.jit(lambda key, *p, shape=shape: draw.lower(key, *p, shape=shape, dtype=dtype))
        with jax.enable_x64(True), np.errstate(all="ignore"):
            agree(draw.by_numpy(key, *parameters, shape=shape, dtype=dtype), np.asarray(one(key, *parameters)))


def test_rows_of_many_draws_are_those_of_their_keys():
    gamma, keys = DRAWS["random_loggamma"], np.random.default_rng(3).integers(0, 2**32, (3, 2), np.uint32)
    alpha = np.linspace(0.5, 3, 5000)
    rows = gamma.by_numpy(keys, alpha, shape=(3, 5000), dtype="float64")
    for key, row in zip(keys, rows, strict=True):
        np.testing.assert_array_equal(gamma.by_numpy(key, alpha, shape=(5000,), dtype="float64"), row)
    moved = gamma.by_numpy(keys, np.stack([alpha, alpha, 2 * alpha]), shape=(3, 5000), dtype="float64")
    np.testing.assert_array_equal(moved[:2], rows[:2])
    assert np.all(moved[2] != rows[2])


def test_single_precision_is_left_to_programs():
    normal, key = DRAWS["random_normal"], placeholder(KEY_TYPE, "key")
    assert normal.known_to_numpy(normal(key, shape=(5,), dtype="float64"))
    assert normal.known_to_numpy(normal(key, shape=(5000,), dtype="float64"))
    assert not normal.known_to_numpy(normal(key, shape=(5,), dtype="float32"))


@pytest.mark.parametrize("law", [lambda n: pm.Gamma.dist(2.5, 1, shape=n), lambda n: pm.Poisson.dist(3.0, shape=n)])
def test_first_draws_compile_nothing(law):
    before = PROGRAMS.compilations
    for size in (1000, 1_000_000, 999_999):
        assert pm.draw(law(size), random_seed=1).shape == (size,)
    assert pm.draw(law(None), draws=1_000_000, random_seed=1).shape == (1_000_000,)
    assert PROGRAMS.compilations == before


def test_entries_drawn_alone_are_what_they_are_among_others():
    keys = np.random.default_rng(3).integers(0, 2**32, (4, 2), np.uint32)
    entries = threefry.Entries.of(keys, (5,)).changed(7)
    some = np.array([0, 3, 11, 19])
    for lead in ((), (2,)):
        whole = entries.bits((*lead, 4, 5), np.uint64).reshape((*lead, 20))
        np.testing.assert_array_equal(entries.at(some).bits((*lead, 4), np.uint64), whole[..., some])


def test_prior_draws_by_numpy_and_by_a_program(monkeypatch):
    """A model whose draws are all made by NumPy, against the same by XLA."""
    with pm.Model() as model:
        shape = pm.Gamma("shape", 2, 1)
        rate = pm.Beta("rate", shape, 3, size=4)
        pm.Poisson("counts", 20 * rate)
        pm.NegativeBinomial("more", mu=shape, alpha=3)
        pm.Multinomial("cells", 9, rate / rate.sum())
        pm.StudentT("t", 4, rate, 1.0)
        pm.DiscreteUniform("when", 3, 8)
    with model:
        fast = pm.sample_prior_predictive(50, random_seed=3).prior
        monkeypatch.setattr("ppl.model.prediction.draw_rows.at_once", lambda *_, **__: None)
        slow = pm.sample_prior_predictive(50, random_seed=3).prior
    for name in slow.data_vars:
        np.testing.assert_allclose(fast[name].values, slow[name].values, rtol=1e-11, err_msg=name)


def test_keys_of_keys():
    key = placeholder(KEY_TYPE, "key")
    wanted = [key_fold_in(key, 2**31 + 5), key_split(key_fold_in(key, 3), 4)]
    value = np.array([2**32 - 1, 12], np.uint32)
    for node, found in zip(wanted, step_by_step(wanted, {key: value}), strict=True):
        np.testing.assert_array_equal(found, node.get({key: value}))
