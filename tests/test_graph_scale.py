"""A hundred thousand nodes: built, walked, printed, saved, loaded, differentiated, lowered, freed; nothing recurses."""

import gc
import io
import time
import weakref

import jax
import numpy as np
import pytest

import ppl
import ppl.tensor as tt
from ppl.graph import substitute, topological

N = 100_000


def chain(x, length):
    y = x
    for _ in range(length // 2):
        y = tt.sin(y) * 1.001
    return y


def wide(x, width):
    """Sums in pairs of many terms."""
    terms = [x * (1.0 + i) for i in range(width // 3)]
    while len(terms) > 1:
        terms = [a + b for a, b in zip(terms[::2], terms[1::2], strict=False)] + terms[len(terms) // 2 * 2 :]
    return terms[0]


@pytest.fixture(scope="module", params=[chain, wide], ids=["chain", "wide"])
def big(request):
    x = tt.dscalar("x")
    start = time.process_time()
    y = request.param(x, N)
    return x, y, time.process_time() - start


def test_built_within_five_seconds_of_work(big):
    assert big[2] < 5


def test_walked_and_substituted(big):
    x, y, _ = big
    assert len(topological(y)) > 0.99 * N
    z = tt.dscalar("z")
    assert len(topological(substitute(y, {x: z}))) == len(topological(y))


def test_printed(big):
    _, y, _ = big
    assert ppl.dprint(y, file="str").count("\n") > 0.6 * N
    assert len(ppl.pprint(y)) < 10_000


def test_saved_and_loaded(big):
    _, y, _ = big
    file = io.BytesIO()
    ppl.save(file, y)
    assert ppl.same_content(ppl.load(io.BytesIO(file.getvalue())), y)


def test_lowered_to_jax(big):
    x, y, _ = big
    with jax.enable_x64(True):
        assert len(jax.make_jaxpr(ppl.to_jax([x], y))(1.0).eqns) > 0.3 * N


def test_differentiated_and_lowered():
    """A tenth of the size: JAX's own derivative takes 0.3 ms a node. `benchmarks/core.py` shows that it is linear."""
    x = tt.dscalar("x")
    g = ppl.grad(chain(x, N // 10), x)
    with jax.enable_x64(True):
        assert "cosine" in jax.jit(ppl.to_jax([x], g)).lower(1.0).as_text()


def test_viewed_and_evaluated_node_by_node():
    x = tt.dscalar("x")
    y = chain(x, N // 10)
    assert ppl.to_networkx(y).number_of_nodes() > 0.99 * N / 10
    assert np.isfinite(y.get({x: 0.5}))


def test_freed():
    x = tt.dscalar("x")
    y = chain(x, N)
    g = ppl.grad(y, x)
    middle = weakref.ref(y.inputs[0].inputs[0])
    del y, g
    gc.collect()
    assert middle() is None
