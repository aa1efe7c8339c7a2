"""What rewriting infers of matrices through operations is so of their values."""

import warnings

import numpy as np
import pytest

import ppl
import ppl.tensor as tt
from ppl.rewrites.facts.facts import Knowledge, assume

pytestmark = pytest.mark.usefixtures("module_compiled_quickly")

RNG = np.random.default_rng(5)
MASK = np.array([[True, False, True], [False, False, True], [True, True, False]])


def rotation():
    return np.linalg.qr(RNG.normal(size=(3, 3)))[0]


def positive_definite():
    x = RNG.normal(size=(3, 3))
    return x @ x.T + 0.1 * np.eye(3)


def correlation():
    x = positive_definite()
    return x / np.sqrt(np.outer(np.diag(x), np.diag(x)))


def factor():
    return np.linalg.cholesky(positive_definite())


def turned(x):
    return x.swapaxes(-1, -2)


def diagonal_of(x):
    return np.diagonal(x, 0, -2, -1)


# Of each fact a member, and whether a matrix is one.
FACTS = {
    "simplex": (lambda: RNG.dirichlet(np.ones(3), 3), lambda x: np.allclose(x.sum(-1), 1) and (x >= 0).all()),
    "symmetric": (lambda: positive_definite() - 2 * np.eye(3), lambda x: np.allclose(x, turned(x))),
    "positive_definite": (positive_definite, lambda x: (np.linalg.eigvals(x) > 0).all()),
    "lower_triangular": (lambda: np.tril(RNG.normal(size=(3, 3))), lambda x: np.allclose(x, np.tril(x))),
    "upper_triangular": (lambda: np.triu(RNG.normal(size=(3, 3))), lambda x: np.allclose(x, np.triu(x))),
    "diagonal": (lambda: np.diag(RNG.normal(size=3)), lambda x: np.allclose(x, np.tril(np.triu(x)))),
    "orthogonal": (rotation, lambda x: np.allclose(x @ turned(x), np.eye(3))),
    "unit_diagonal": (correlation, lambda x: np.allclose(diagonal_of(x), 1)),
    "nonzero": (lambda: RNG.choice([-2.0, 0.5], (3, 3)), lambda x: (x != 0).all()),
    "positive_diagonal": (factor, lambda x: (diagonal_of(x) > 0).all()),
}

EXPRESSIONS = [
    lambda a, b: a.T, lambda a, b: a[::-1], lambda a, b: a[0], lambda a, b: a[:, 0], lambda a, b: a[[2, 0]],
    lambda a, b: tt.switch(MASK, a, b), lambda a, b: tt.switch(MASK[:1], a, b), lambda a, b: tt.switch(True, a, b),
    lambda a, b: tt.switch(MASK[:1, :1], a, b), lambda a, b: tt.switch(True, a, b[:1, :1]),
    lambda a, b: a.reshape((9,)), lambda a, b: a.reshape((1, 3, 3)), lambda a, b: a[None], lambda a, b: a[:, None],
    lambda a, b: tt.broadcast_to(a, (2, 3, 3)), lambda a, b: tt.broadcast_to(a[:1, :1], (3, 3)),
    lambda a, b: tt.concatenate([a, b]), lambda a, b: tt.concatenate([a, b], 1), lambda a, b: tt.stack([a, b]),
    lambda a, b: tt.linalg.inv(a), lambda a, b: tt.cholesky(a), lambda a, b: tt.tril(a), lambda a, b: tt.tril(a, -1),
    lambda a, b: tt.triu(a), lambda a, b: tt.triu(a, -1), lambda a, b: a + b, lambda a, b: a * b,
    lambda a, b: 2 * a, lambda a, b: -a,
    lambda a, b: a @ b, lambda a, b: tt.maximum(a, b), lambda a, b: tt.minimum(a, b), lambda a, b: tt.abs(a),
    lambda a, b: a**2, lambda a, b: a**1, lambda a, b: a**3, lambda a, b: tt.exp(a), lambda a, b: tt.floor(a),
    lambda a, b: tt.sum(a, 0), lambda a, b: tt.max(a, 0), lambda a, b: tt.mean(a, 0), lambda a, b: tt.prod(a, 0),
    lambda a, b: tt.softmax(a, -1), lambda a, b: tt.softmax(a, -1).T, lambda a, b: tt.softmax(a, 0),
    lambda a, b: tt.clip(a, -1, 1), lambda a, b: tt.stop_gradient(a), lambda a, b: tt.specify_shape(a, (3, 3)),
    lambda a, b: a.copy("name"), lambda a, b: a.astype("float32").astype("float64"),
]  # fmt: skip


@pytest.mark.parametrize("name", FACTS)
def test_what_is_inferred_of_matrices_is_so(name):
    member, _ = FACTS[name]
    inputs = [tt.dmatrix(letter) for letter in "ab"]
    a, b = (promised(tt.specify_shape(x, (3, 3)), name) for x in inputs)
    nodes, know = [each(a, b) for each in EXPRESSIONS], Knowledge()
    run = ppl.function(inputs, nodes, mode="FAST_COMPILE", on_unused_input="ignore")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        values = run(member(), member())
    claims = [(node, value, mark) for node, value in zip(nodes, values, strict=True) for mark in know(node).marks]
    assert know(a).marks <= {mark for _, _, mark in claims}
    claims = [claim for claim in claims if not np.isnan(claim[1]).any()]
    false = [f"{node!r} is {mark}" for node, value, mark in claims if not FACTS[mark][1](value)]
    assert not false, false


def promised(x, name):
    """A factor's own fact has no name that a user could give."""
    return tt.cholesky(x @ x.T) if name == "positive_diagonal" else assume(x, **{name: True})
