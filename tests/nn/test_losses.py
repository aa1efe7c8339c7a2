"""Losses against their twins in optax, JAX or NumPy: values and slopes; and what they refuse."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import ppl
import ppl.tensor as T  # noqa: N812
from ppl.nn import losses

pytestmark = pytest.mark.usefixtures("module_compiled_quickly")

optax = pytest.importorskip("optax", reason="the twins are optax's: pip install 'ppl-jax[nn]'")
RNG = np.random.default_rng(2)
LABELS, SCORES = RNG.integers(0, 4, 6), RNG.normal(size=(6, 4))
SHARES = RNG.dirichlet(np.ones(4), 6)
SIGNS, X, Y = RNG.choice([-1.0, 1.0], (6, 3)), RNG.normal(size=(6, 3)), RNG.normal(size=(6, 3)) * 2
MU, LOG_VARIANCE = RNG.normal(size=(6, 2)), RNG.normal(size=(6, 2))


def multiclass_hinge(labels, scores, delta=1.0):
    mine = scores[jnp.arange(6), labels]
    others = jnp.where(jax.nn.one_hot(labels, 4) == 1, -jnp.inf, scores)
    return jnp.maximum(0, delta + others.max(1) - mine)


def divergence(mu, log_variance):
    """KL(N(μ, σ²) ‖ N(0, 1)) of independent normals, written with σ."""
    sigma = jnp.exp(log_variance / 2)
    return jnp.sum(-jnp.log(sigma) + (sigma**2 + mu**2) / 2 - 0.5, axis=-1)


def vae(x, again, mu, log_variance):
    """Minus the expected log-density under N(again, 1), without its constant, plus twice the divergence."""
    return jnp.sum((x - again) ** 2, -1) / 2 + 2 * divergence(mu, log_variance)


# Ours, its twin, the arrays that both take; slopes are taken by those of floats.
TWINS = {
    "sparse_softmax_crossentropy_logits": (
        lambda y, s: optax.softmax_cross_entropy_with_integer_labels(s, y), [LABELS, SCORES]
    ),
    "softmax_crossentropy_logits": (lambda p, s: optax.softmax_cross_entropy(s, p), [SHARES, SCORES]),
    "sigmoid_crossentropy_logits": (lambda p, s: optax.sigmoid_binary_cross_entropy(s, p), [SHARES, 9 * SCORES]),
    "hinge": (lambda y, s: optax.hinge_loss(s, y), [SIGNS, X]),
    "multiclass_hinge": (multiclass_hinge, [LABELS, SCORES]),
    "accuracy": (lambda y, s: jnp.mean(s.argmax(-1) == y), [LABELS, SCORES]),
    "squared_differences": (lambda x, y: (x - y) ** 2, [X, Y]),
    "huber": (lambda x, y: optax.huber_loss(x, y), [X, Y]),
    "explained_variance": (lambda y, p: 1 - jnp.var(y - p) / jnp.var(y), [Y, X]),
    "normal_divergence": (divergence, [MU, LOG_VARIANCE]),
    "vae": (vae, [X, Y, MU, LOG_VARIANCE]),
}  # fmt: skip
OPTIONS = {"vae": {"beta": 2.0}}


def test_every_loss_has_a_twin():
    made = {f for f, value in vars(losses).items() if getattr(value, "__module__", "") == losses.__name__}
    assert {name for name in made if not name.startswith("_")} == set(TWINS)


@pytest.mark.parametrize("name", TWINS)
def test_values_and_slopes_are_those_of_the_twin(name):
    twin, arrays = TWINS[name]
    inputs = [T.Placeholder((None, *a.shape[1:]), a.dtype.name, name=f"x{i}") for i, a in enumerate(arrays)]
    value = getattr(losses, name)(*inputs, **OPTIONS.get(name, {}))
    floats = [i for i, a in enumerate(arrays) if a.dtype.kind == "f"]
    slopes = T.grad(value.sum(), [inputs[i] for i in floats], disconnected_inputs="ignore")
    ours = ppl.function(*inputs, outputs=[value, *slopes])(*arrays)
    with jax.enable_x64(True):
        given = [jnp.asarray(a) for a in arrays]
        theirs = [twin(*given), *jax.grad(lambda *a: jnp.sum(twin(*a)), tuple(floats))(*given)]
    for mine, other in zip(ours, theirs, strict=True):
        np.testing.assert_allclose(mine, other, rtol=1e-9, atol=1e-12)


def test_far_scores_give_finite_losses_and_slopes():
    score = T.Placeholder((None,), "float64", name="score")
    far = np.array([-800.0, 800.0])
    loss = losses.sigmoid_crossentropy_logits(np.array([1.0, 0.0]), score)
    np.testing.assert_array_equal(ppl.function(score, outputs=loss)(far), [800, 800])
    both = T.stack([score, -score], axis=-1)
    loss = losses.sparse_softmax_crossentropy_logits(np.array([0, 1]), both)
    values, slopes = ppl.function(score, outputs=[loss, T.grad(loss.sum(), score)])(far)
    np.testing.assert_array_equal(values, [1600, 1600])
    np.testing.assert_array_equal(slopes, [-2, 2])


m, v = T.Placeholder((None, 3), "float64", name="m"), T.Placeholder((None,), "float64", name="v")
SAID = {
    r"huber: shapes \(None, 3\) and \(None,\) differ, of .*name=m.*name=v": lambda: losses.huber(m, v),
    "labels are whole numbers, got .*name=v": lambda: losses.accuracy(v, m),
    "labels have one axis less than scores": lambda: losses.sparse_softmax_crossentropy_logits(
        np.zeros((2, 3), int), m
    ),
    "delta is positive": lambda: losses.huber(m, m, delta=-1.0),
}


@pytest.mark.parametrize("words", SAID)
def test_what_does_not_fit_is_refused(words):
    with pytest.raises((ValueError, TypeError), match=words):
        SAID[words]()
