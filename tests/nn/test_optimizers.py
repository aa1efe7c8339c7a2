"""Optimizers take the steps of their optax twins, on the same loss from the same start."""

import subprocess
import sys

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import ppl
import ppl.tensor as T  # noqa: N812
from ppl.nn import constraints, optimizers, schedules

optax = pytest.importorskip("optax", reason="optimizers are optax's: pip install 'ppl-jax[nn]'")

STEPS = 100
RNG = np.random.default_rng(0)
A, Y = RNG.normal(size=(8, 3)), RNG.normal(size=8)
START = {"w": np.array([2.0, -1.0, 0.5]), "b": np.array(0.3)}
DECAYING = optax.cosine_decay_schedule(0.05, STEPS)

# Ours, and optax's transformation.
TWINS = {
    "SGD": (lambda loss: optimizers.SGD(loss, 0.05), optax.sgd(0.05)),
    "SGD with momentum": (lambda loss: optimizers.SGD(loss, 0.02, 0.5), optax.sgd(0.02, momentum=0.5)),
    "Nesterov": (lambda loss: optimizers.NesterovMomentum(loss, 0.02), optax.sgd(0.02, 0.9, nesterov=True)),
    "RMSProp": (lambda loss: optimizers.RMSProp(loss, 0.01), optax.rmsprop(0.01)),
    "RMSProp, centered": (
        lambda loss: optimizers.RMSProp(loss, 0.01, centered=True, momentum=0.2),
        optax.rmsprop(0.01, centered=True, momentum=0.2),
    ),
    "Adam": (lambda loss: optimizers.Adam(loss, 0.1), optax.adam(0.1)),
    "AMSGrad": (lambda loss: optimizers.Adam(loss, 0.1, amsgrad=True), optax.amsgrad(0.1)),
    "AdamW": (lambda loss: optimizers.AdamW(loss, 0.1, weight_decay=0.1), optax.adamw(0.1, weight_decay=0.1)),
    "LBFGS": (lambda loss: optimizers.LBFGS(loss), optax.lbfgs()),
    "any": (lambda loss: optimizers.Optimizer(loss, optax.lion(0.01)), optax.lion(0.01)),
    "a schedule": (lambda loss: optimizers.Adam(loss, DECAYING), optax.adam(DECAYING)),
    "a symbolic rate": (lambda loss: optimizers.Adam(loss, T.exp(T.log(0.05))), optax.adam(0.05)),
    "clipped by value": (
        lambda loss: optimizers.SGD(loss, 0.1, clip_value=0.5),
        optax.chain(optax.clip(0.5), optax.sgd(0.1)),
    ),
    "clipped by norm, decayed": (
        lambda loss: optimizers.SGD(loss, 0.1, clip_norm=1.0, weight_decay=0.01),
        optax.chain(optax.clip_by_global_norm(1.0), optax.add_decayed_weights(0.01), optax.sgd(0.1)),
    ),
}


def problem(dtype="float64"):
    w, b = (T.Variable(START[name], name=name, dtype=dtype) for name in "wb")
    error = T.dot(A.astype(dtype), w) + b - Y.astype(dtype)
    return w, b, (error**2).mean() + 0.01 * T.cosh(w).sum()


def twin(transformation):
    def loss(p):
        return jnp.mean((A @ p[0] + p[1] - Y) ** 2) + 0.01 * jnp.sum(jnp.cosh(p[0]))

    transformation = optax.with_extra_args_support(transformation)

    @jax.jit
    def step(p, state):
        value, slope = jax.value_and_grad(loss)(p)
        change, state = transformation.update(slope, state, p, value=value, grad=slope, value_fn=loss)
        return optax.apply_updates(p, change), state, value

    with jax.enable_x64(True):
        p = [jnp.asarray(START["w"]), jnp.asarray(START["b"])]
        state, losses = transformation.init(p), []
        for _ in range(STEPS):
            p, state, value = step(p, state)
            losses.append(float(value))
    return np.array(losses)


@pytest.mark.usefixtures("compiled_quickly")
@pytest.mark.parametrize("name", TWINS)
def test_the_losses_are_those_of_the_twin_and_again_after_a_reset(name):
    ours, theirs = TWINS[name]
    *_, loss = problem()
    optimizer = ours(loss)
    train = ppl.function(outputs=loss, updates=optimizer.updates)
    losses = np.array([train() for _ in range(STEPS)])
    np.testing.assert_allclose(losses, twin(theirs), rtol=1e-6, atol=1e-9)
    assert losses[-1] < losses[0]
    for v in optimizer.updates:
        v.reset()
    np.testing.assert_array_equal([train() for _ in range(10)], losses[:10])


def test_every_optimizer_has_a_twin():
    called = {name for ours, _ in TWINS.values() for name in ours.__code__.co_names}
    made = {f for f in vars(optimizers).values() if isinstance(f, type) and issubclass(f, optimizers.Named)}
    assert made == {*optimizers.OPTIMIZERS, optimizers.Named}
    assert {f.__name__ for f in optimizers.OPTIMIZERS} <= called


INTERVIEW = """
import ppl as symjax
import ppl.tensor as T
from ppl.nn.optimizers import Adam

z = T.Variable(3.0, dtype="float32", trainable=True)
loss = T.power(z - 1, 2, name="loss")
print(loss)
Adam(loss, 0.1)
f = symjax.function(outputs=[loss, z], updates=symjax.get_updates())
losses = []
for step in range(200):
    if step == 100:
        symjax.reset_variables()
    losses.append(float(f()[0]))
assert losses[:100] == losses[100:] and losses[99] < 1e-3 < losses[0] == 4
"""


def test_the_program_of_the_interview():
    done = subprocess.run([sys.executable, "-c", INTERVIEW], capture_output=True, text=True, check=True)
    assert done.stdout == "Op(name=loss, fn=power, shape=(), dtype=float32, scope=/)\n"


def test_the_state_lives_in_a_scope_and_is_reset_by_a_glob():
    with ppl.Scope("state_test"):
        w, _, loss = problem("float32")
    optimizer = optimizers.Adam(loss, 0.1, name="AdamOfThisTest")
    train = ppl.function(outputs=loss, updates=ppl.get_updates(variables=optimizer.updates))
    train()
    state = ppl.get_variables("/AdamOfThisTest*")
    assert [v.name for v in state] == ["count", "mu_w", "mu_b", "nu_w", "nu_b"]
    assert set(state) == set(optimizer.state) and w.value.dtype == np.float32
    assert state[0].value == 1 and not np.array_equal(w.value, START["w"])
    ppl.reset_variables("/AdamOfThisTest*")
    assert state[0].value == 0 and not state[1].value.any() and not np.array_equal(w.value, START["w"])


def test_a_rate_that_a_schedule_of_ours_changes():
    v = T.Variable(1.0, name="v")
    rate, step = schedules.PiecewiseConstant(0.5, {2: 0.25, 3: 0.0})
    optimizer = optimizers.SGD(v * 1.0, rate)
    train = ppl.function(outputs=[v, rate], updates=ppl.get_updates(variables=[*optimizer.updates, step]))
    np.testing.assert_allclose([train() for _ in range(5)], [[1, 0.5], [0.5, 0.5], [0, 0.25], [-0.25, 0], [-0.25, 0]])


def test_moving_averages():
    x = T.Placeholder((), "float64", name="x")
    biased, v = schedules.ExponentialMovingAverage(x, 0.9, debias=False)
    unbiased, w = schedules.ExponentialMovingAverage(x, 0.9)
    simple, last = schedules.SimpleMovingAverage(x, 2)
    updates = ppl.get_updates("*", "/*MovingAverage*")
    assert {v, w, last} <= set(updates)
    f = ppl.function(x, outputs=[biased, unbiased, simple], updates=updates)
    xs, seen = [1.0, 3.0, 2.0], [f(x) for x in (1.0, 3.0, 2.0)]
    weights = [0.1 * 0.9 ** np.arange(k)[::-1] for k in (1, 2, 3)]
    expected = [[h @ xs[:k], h @ xs[:k] / h.sum(), np.mean(xs[max(0, k - 2) : k])] for k, h in enumerate(weights, 1)]
    np.testing.assert_allclose(seen, expected)


def test_constraints_hold_after_every_step():
    w = T.Variable(np.array([[0.5, -1.0], [1.0, 2.0]]), name="w")
    v = T.Variable(np.array([0.1, 0.2]), name="v")
    u = T.Variable(np.array([3.0, 4.0]), name="u")
    loss = (w**2).sum() + (v * 3).sum() - u.sum()
    rules = {w: constraints.unit_norm, v: constraints.nonnegative, u: constraints.max_norm(5.0)}
    train = ppl.function(outputs=loss, updates=optimizers.SGD(loss, 0.1, constraints=rules).updates)
    train()
    np.testing.assert_allclose((w.value**2).sum(0), 1)
    assert not v.value.any() and np.linalg.norm(u.value) == pytest.approx(5)
    assert constraints.between(0, 1)(T.constant([-1.0, 0.5, 2.0])).eval().tolist() == [0, 0.5, 1]


x, w = T.Placeholder((3,), "float64", name="x"), T.Variable(np.ones(3), name="w")
n = T.Variable(1, name="n")
SAID = {
    "a loss is a scalar.*Take its sum or mean": lambda: optimizers.Adam(w * 2, 0.1),
    "no trainable variable on the path": lambda: optimizers.Adam(x.sum(), 0.1),
    "does not depend on Variable.*name=w": lambda: optimizers.SGD((x**2).sum(), 0.1, params=[w]),
    "params are variables, got Input": lambda: optimizers.SGD((x * w).sum(), 0.1, params=[x]),
    "cannot be trained, its dtype is int64": lambda: optimizers.SGD((n * w).sum(), 0.1, params=[n]),
    "clip_norm is a positive limit": lambda: optimizers.SGD(w.sum(), 0.1, clip_norm=-1.0),
    "a learning rate is a scalar": lambda: optimizers.SGD(w.sum(), w),
    "is no transformation of optax": lambda: optimizers.Optimizer(w.sum(), 0.1),
    "is on no variable that is trained": lambda: optimizers.SGD(w.sum(), 0.1, constraints={n: T.abs}),
    "distinct variables": lambda: optimizers.SGD(w.sum(), 0.1, params=[w, w]),
    "a loss is a real float": lambda: optimizers.SGD(n * 2, 0.1),
}


@pytest.mark.parametrize("words", SAID)
def test_bad_input_is_refused_where_it_is_given(words):
    with pytest.raises((ValueError, TypeError), match=words):
        SAID[words]()
    assert not ppl.get_updates(variables=[w, n])
