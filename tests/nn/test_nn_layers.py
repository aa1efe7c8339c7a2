"""Every layer against the same layer in plain JAX: values, gradients, 100 steps of training, batches of any length."""

import gc
import io
import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import ppl
import ppl.tensor as T  # noqa: N812
from ppl.nn import activations, initializers, layers, schedules
from ppl.nn.optimizers import LBFGS, OPTIMIZERS, SGD, Adam

pytestmark = pytest.mark.usefixtures("module_compiled_quickly")

pytest.importorskip("optax", reason="optimizers are optax's: pip install 'ppl-jax[nn]'")
RNG = np.random.default_rng(1)


def conv(x, w, strides, padding, dilation=None):
    names = ("NCHW", "OIHW", "NCHW") if x.ndim == 4 else ("NCH", "OIH", "NCH")
    return jax.lax.conv_general_dilated(x, w, strides, padding, rhs_dilation=dilation, dimension_numbers=names)


def spread(x, by):
    """Zeros between the entries of the last axes: what a transposed convolution correlates with."""
    for axis in range(2, x.ndim):
        shape = [*x.shape[: axis + 1], by - 1, *x.shape[axis + 1 :]]
        x = jnp.concatenate([jnp.expand_dims(x, axis + 1), jnp.zeros(shape, x.dtype)], axis + 1)
        x = x.reshape(*x.shape[:axis], -1, *x.shape[axis + 2 :])
        x = jax.lax.slice_in_dim(x, 0, x.shape[axis] - by + 1, axis=axis)
    return x


def recurrent(step, states):
    def run(p, x):
        h, rows = [jnp.zeros((len(x), 4))] * states, []
        for t in range(x.shape[1]):
            h = step(p, h, x[:, t] @ p["W"] + p["b"])
            rows.append(h[0])
        return jnp.stack(rows, 1)

    return run


def gru(p, h, z):
    u = p["U"]
    update, reset = (jax.nn.sigmoid(z[:, a] + h[0] @ u[:, a]) for a in (slice(0, 4), slice(4, 8)))
    return [update * h[0] + (1 - update) * jnp.tanh(z[:, 8:] + (reset * h[0]) @ u[:, 8:])]


def lstm(p, h, z):
    i, f, o, g = jnp.split(z + h[0] @ p["U"], 4, axis=1)
    cell = jax.nn.sigmoid(f) * h[1] + jax.nn.sigmoid(i) * jnp.tanh(g)
    return [jax.nn.sigmoid(o) * jnp.tanh(cell), cell]


def attention(p, x):
    q, k, v = ((x @ p[w]).reshape(len(x), x.shape[1], 2, 2).swapaxes(1, 2) for w in ("W_query", "W_key", "W_value"))
    fit = q @ k.swapaxes(2, 3) / jnp.sqrt(2)
    fit = jnp.where(jnp.tril(jnp.ones(fit.shape[2:], bool)), fit, -jnp.inf)
    return (jax.nn.softmax(fit) @ v).swapaxes(1, 2).reshape(x.shape) @ p["W_out"]


def batch_normalized(p, x):
    return p["gamma"] * (x - x.mean(0)) / jnp.sqrt(x.var(0) + 1e-5) + p["beta"]


def layer_normalized(p, x):
    m, v = x.mean(-1, keepdims=True), x.var(-1, keepdims=True)
    return p["gamma"] * (x - m) / jnp.sqrt(v + 1e-5) + p["beta"]


# Ours, the shape of one example, the twin as a function of parameters and input.
TWINS = {
    "Dense": (
        lambda x: layers.Dense(x, 3, activations.relu), (4,), lambda p, x: jax.nn.relu(x @ p["W"] + p["b"])
    ),
    "Dense, more axes": (lambda x: layers.Dense(x, 3, b=None), (2, 4), lambda p, x: x @ p["W"]),
    "Flatten": (layers.Flatten, (2, 3), lambda p, x: x.reshape(len(x), -1)),
    "Embedding": (lambda x: layers.Embedding(x, 5, 3), "indices", lambda p, x: p["W"][x]),
    "Conv1D": (
        lambda x: layers.Conv1D(x, 3, 2, dilations=2), (2, 6),
        lambda p, x: conv(x, p["W"], (1,), "VALID", (2,)) + p["b"][:, None],
    ),
    "Conv2D": (
        lambda x: layers.Conv2D(x, 3, (3, 2), strides=2, padding="SAME", activation=T.tanh), (2, 5, 5),
        lambda p, x: jnp.tanh(conv(x, p["W"], (2, 2), "SAME") + p["b"][:, None, None]),
    ),
    "Conv1DTranspose": (
        lambda x: layers.Conv1DTranspose(x, 3, 3, strides=2), (2, 4),
        lambda p, x: conv(spread(x, 2), p["W"], (1,), [(2, 2)]) + p["b"][:, None],
    ),
    "Conv2DTranspose": (
        lambda x: layers.Conv2DTranspose(x, 3, 3, strides=2), (2, 3, 4),
        lambda p, x: conv(spread(x, 2), p["W"], (1, 1), [(2, 2)] * 2) + p["b"][:, None, None],
    ),
    "Pool1D": (lambda x: layers.Pool1D(x, 2), (2, 6), lambda p, x: x.reshape(-1, 2, 3, 2).max(-1)),
    "Pool2D": (
        lambda x: layers.Pool2D(x, 2, pool="AVG"), (2, 4, 6), lambda p, x: x.reshape(-1, 2, 2, 2, 3, 2).mean((3, 5))
    ),
    "BatchNormalization": (layers.BatchNormalization, (4,), batch_normalized),
    "LayerNormalization": (layers.LayerNormalization, (3, 4), layer_normalized),
    "Dropout": (lambda x: layers.Dropout(x, 0.3, deterministic=True), (4,), lambda p, x: x),
    "RNN": (
        lambda x: layers.RNN(x, 4), (5, 3), recurrent(lambda p, h, z: [jnp.tanh(z + h[0] @ p["U"])], 1)
    ),
    "GRU": (lambda x: layers.GRU(x, 4), (5, 3), recurrent(gru, 1)),
    "LSTM": (lambda x: layers.LSTM(x, 4, last=True), (5, 3), lambda p, x: recurrent(lstm, 2)(p, x)[:, -1]),
    "MultiHeadAttention": (
        lambda x: layers.MultiHeadAttention(x, heads=2, causal=True), (3, 4), attention
    ),
}  # fmt: skip
numbers = itertools.count()


def test_every_layer_has_a_twin():
    assert {f.__name__ for f in layers.LAYERS} == {name.split(",")[0] for name in TWINS}


@pytest.mark.parametrize("name", TWINS)
def test_values_and_100_steps_are_those_of_the_twin(name):
    build, shape, twin = TWINS[name]
    scope = f"twin{next(numbers)}"
    whole = shape == "indices"
    data = RNG.integers(0, 5, 6) if whole else RNG.normal(size=(6, *shape))
    with ppl.Scope(scope):
        x = T.Placeholder((None, *([] if whole else shape)), data.dtype.name, name="x")
        scale = T.Variable(1.5, name="scale")
        out = build(x) * scale if whole else build(x * scale)
    loss = ((out - 1.0) ** 2).mean()
    trained = ppl.get_variables(f"/{scope}/*", trainable=True)
    start = {v.name: jnp.asarray(v.value) for v in trained}
    optimizer = SGD(loss, 0.05, params=[v for v in trained if v in set(ppl.graph.leaves([loss]))])
    run = ppl.function(x, outputs=out, no_default_updates=True)
    train = ppl.function(x, outputs=loss, updates=optimizer.updates)

    def apply(p, x):
        return twin(p, x) * p["scale"] if whole else twin(p, x * p["scale"])

    @jax.jit
    def step(p):
        value, slope = jax.value_and_grad(lambda p: jnp.mean((apply(p, data) - 1.0) ** 2))(p)
        return jax.tree.map(lambda a, g: a - 0.05 * g, p, slope), value

    with jax.enable_x64(True):
        start = {key: jnp.asarray(v.value) for key, v in zip(start, trained, strict=True)}
        for batch in (data, data[:4]):
            expected = np.asarray(apply(start, jnp.asarray(batch)))
            np.testing.assert_allclose(run(batch), expected, rtol=1e-9, atol=1e-12)
            fits = [n in (None, m) for n, m in zip(out.type.shape, expected.shape, strict=True)]
            assert all(fits) and out.type.shape[1:] == expected.shape[1:]
        p, losses = start, []
        for _ in range(100):
            p, value = step(p)
            losses.append(float(value))
    np.testing.assert_allclose([train(data) for _ in range(100)], losses, rtol=1e-6)
    for v in trained:
        np.testing.assert_allclose(v.value, p[v.name], rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("name", TWINS)
def test_slopes_are_differences(name):
    """The derivative along any direction, of the input and of all parameters, is that of a straight line through it."""
    build, shape, _ = TWINS[name]
    whole, rng = shape == "indices", np.random.default_rng(4)
    data = rng.integers(0, 5, 6) if whole else rng.normal(size=(6, *shape))
    with ppl.Scope("slopes"):
        x = T.Placeholder((None, *data.shape[1:]), data.dtype.name, name="x")
        out = build(x)
    moved = [v for v in ppl.graph.leaves([out]) if v in {x, *ppl.get_variables("/slopes/*", trainable=True)}]
    moved = [v for v in moved if v.dtype == "float64"]
    assert moved
    start = [data if v is x else v.value for v in moved]
    along = [rng.normal(size=a.shape) for a in start]
    away = T.Placeholder((), "float64", name="away")
    line = {v: T.constant(a) + away * d for v, a, d in zip(moved, start, along, strict=True)}
    there = ppl.graph.substitute([(T.sin(out) * 2).sum()], line)[0]
    value, slope = ppl.function(x, away, outputs=[there, T.grad(there, away)], on_unused_input="ignore"), 1e-5
    ahead, behind = value(data, slope)[0], value(data, -slope)[0]
    np.testing.assert_allclose(value(data, 0.0)[1], (ahead - behind) / (2 * slope), rtol=1e-6, atol=1e-8)


def test_dropout_leaves_the_mean_and_draws_anew():
    x = T.Placeholder((None, 100), "float32", name="x")
    testing = T.Placeholder((), "bool", name="testing")
    f = ppl.function(x, testing, outputs=layers.Dropout(x, 0.25, deterministic=testing, seed=3))
    ones = np.ones((200, 100), np.float32)
    first, second = f(ones, False), f(ones, False)
    assert first.dtype == np.float32 and set(np.unique(first)) == {0, np.float32(1 / 0.75)}
    assert abs((first == 0).mean() - 0.25) < 4 * np.sqrt(0.25 * 0.75 / ones.size)  # 1 in 16,000
    assert not np.array_equal(first, second)
    np.testing.assert_array_equal(f(ones, True), ones)


def test_training_goes_on_from_a_file_as_if_it_had_not_stopped():
    def program():
        x = T.Placeholder((None, 3), "float64", name="x")
        with ppl.Scope("resumed"):
            hidden = layers.BatchNormalization(layers.Dense(x, 4, T.tanh))
            loss = (layers.Dense(hidden, 1) ** 2).mean()
            Adam(loss, 0.1)
        return ppl.function(x, outputs=loss, updates=ppl.get_updates(scope="/resumed"))

    data, file = np.random.default_rng(0).normal(size=(5, 3)), io.BytesIO()
    train = program()
    before = [float(train(data)) for _ in range(5)]
    ppl.save_variables(file, "/resumed/*")
    expected = [float(train(data)) for _ in range(5)]
    del train
    train = program()
    assert [float(train(data)) for _ in range(5)] == before
    ppl.reset_variables("/resumed/*")
    ppl.load_variables(io.BytesIO(file.getvalue()), "/resumed/*")
    assert [float(train(data)) for _ in range(5)] == expected


@pytest.fixture
def nothing_else_is_looked_through():
    """What other tests left is millions of objects, and names ask for several collections of garbage."""
    gc.freeze()
    yield
    gc.unfreeze()


@pytest.mark.usefixtures("nothing_else_is_looked_through")
def test_names_do_not_depend_on_programs_that_are_gone():
    def program():
        x = T.Placeholder((None, 3), "float64", name="x")
        with ppl.Scope("gone"):
            hidden = layers.BatchNormalization(layers.BatchNormalization(layers.Dense(x, 4)))
            loss = ((layers.Dense(hidden, 2) - layers.Dense(x, 2)) ** 2).mean()
            average, _ = schedules.ExponentialMovingAverage(loss, 0.9)
            for make in OPTIMIZERS:
                make(loss, **({} if make is LBFGS else {"learning_rate": 0.1}))
            several = [T.Variable(0.0, name="v") for _ in range(2)]
        updates = ppl.get_updates(scope="/gone")
        ppl.function(x, outputs=[loss, average], updates=updates)(np.ones((5, 3)))
        assert len(several) == 2
        return sorted(f"{v.scope}{v.name}" for v in ppl.get_variables("/gone/*"))

    first = program()
    assert {"/gone/BatchNormalization_1/mean", "/gone/Dense_2/W", "/gone/LBFGS/params_W_1", "/gone/v_1"} <= set(first)
    assert len(set(first)) == len(first) and program() == first == program()
    gc.collect()
    assert not ppl.get_variables("/gone/*")


def test_batch_normalization_in_training_and_after():
    x = T.Placeholder((None, 2), "float64", name="x")
    testing = T.Placeholder((), "bool", name="testing")
    with ppl.Scope("bn"):
        out = layers.BatchNormalization(x, deterministic=testing, decay=0.5)
    updates = ppl.get_updates("*", "/bn")
    assert sorted(v.name for v in updates) == ["mean", "variance"] and not any(v.trainable for v in updates)
    f = ppl.function(x, testing, outputs=out, updates=updates)
    data = RNG.normal(3, 2, size=(50, 2))
    np.testing.assert_allclose(f(data, np.array(False)).std(0), 1, rtol=1e-4)
    mean = ppl.get_variables("/bn/*mean")[0]
    np.testing.assert_allclose(mean.value[0], data.mean(0) / 2)
    expected = (data - data.mean(0) / 2) / np.sqrt((1 + data.var(0)) / 2 + 1e-5)
    np.testing.assert_allclose(f(data, np.array(True)), expected)
    np.testing.assert_allclose(mean.value[0], data.mean(0) / 2)


def test_dropout_draws_anew_and_keeps_the_mean():
    testing = T.Placeholder((), "bool", name="testing")
    with ppl.Scope("drop"):
        first, second = (layers.Dropout(T.ones((100, 100)), 0.25, testing) for _ in range(2))
    f = ppl.function(testing, outputs=[first, second])
    a, b = f(np.array(False))
    assert set(np.unique(a)) == {0.0, 1 / 0.75} and abs(a.mean() - 1) < 0.03
    assert not np.array_equal(a, b) and not np.array_equal(a, f(np.array(False))[0])
    assert (f(np.array(True))[0] == 1).all()


def test_parameters_are_found_saved_loaded_and_reset_by_scope():
    x = T.Placeholder((None, 3), "float32", name="x")
    with ppl.Scope("net"):
        out = layers.Dense(layers.Dense(x, 4), 2, name="head")
    found = {f"{v.scope}{v.name}": v for v in ppl.get_variables("/net/*")}
    assert list(found) == ["/net/Dense/W", "/net/Dense/b", "/net/head/W", "/net/head/b"]
    assert out.dtype == "float32" and {v.dtype for v in found.values()} == {"float32"}
    first, file = found["/net/Dense/W"].value.copy(), io.BytesIO()
    ppl.save_variables(file, "/net/*")
    for v in found.values():
        v.update(v.value + 1)
    ppl.load_variables(io.BytesIO(file.getvalue()), "/net/*")
    np.testing.assert_array_equal(found["/net/Dense/W"].value, first)
    found["/net/Dense/W"].update(first + 1)
    ppl.reset_variables("/net/Dense/*")
    np.testing.assert_array_equal(found["/net/Dense/W"].value, first)


def test_weights_of_another_shape_or_name_are_not_half_loaded():
    x = T.Placeholder((None, 3), "float64", name="x")
    file = io.BytesIO()
    with ppl.Scope("small"):
        small = layers.Dense(layers.Dense(x, 4, name="a"), 2, name="b")
    ppl.save_variables(file, "/small/*")
    del small
    saved = dict(np.load(io.BytesIO(file.getvalue())))
    with ppl.Scope("other"):
        kept = layers.Dense(layers.Dense(x, 4, name="a"), 3, name="b")
    variables = ppl.get_variables("/other/*")
    before = [v.value.copy() for v in variables]
    renamed = io.BytesIO()
    np.savez(renamed, **{key.replace("small", "other"): value + 1 for key, value in saved.items()})
    with pytest.raises(ValueError, match=r"name=W.*scope=/other/b/.*holds arrays of shape \(4, 3\), got \(4, 2\)"):
        ppl.load_variables(io.BytesIO(renamed.getvalue()), "/other/*")
    with pytest.raises(KeyError, match="the file has no value for /other/a/W"):
        ppl.load_variables(io.BytesIO(file.getvalue()), "/other/*")
    for v, value in zip(variables, before, strict=True):
        np.testing.assert_array_equal(v.value, value)
    assert kept.type.shape == (None, 3)


def test_weights_may_be_shared_drawn_or_arrays():
    x = T.Placeholder((None, 3), "float64", name="x")
    w = T.Variable(np.ones((3, 2)), name="w")
    assert layers.Dense(x, 2, W=w, b=None) is layers.Dense(x, 2, W=w, b=None)
    assert layers.Dense(x, 2, W=np.eye(3, 2), b=None).eval({x: np.eye(3)}).tolist() == np.eye(3, 2).tolist()
    with ppl.Model() as model, ppl.Scope("bayes"):
        layers.Dense(x, 2, W=lambda shape, name: ppl.Normal(name, 0, 1, shape=shape), b=ppl.Normal("b", shape=2))
    assert [v.name for v in model.free_RVs] in (["bayes_Dense_W", "b"], ["b", "bayes_Dense_W"])
    assert not ppl.get_variables("/bayes/*")


def test_a_bayesian_network_is_the_same_code():
    def network(x, **weights):
        return layers.Dense(layers.Dense(x, 4, T.tanh, **weights), 1, **weights)

    def normal(shape, name):
        return ppl.Normal(name, 0, 1, shape=shape)

    x = T.Placeholder((None, 3), "float64", name="x")
    models = [ppl.Model(), ppl.Model(), ppl.Model(name="m")]
    for model in models:
        with model, ppl.Scope("net"):
            out = network(x, W=normal, b=normal)
    for model, prefix in zip(models, ["", "", "m::"], strict=True):  # each counts its own layers
        names = [f"{prefix}net_{n}" for n in ("Dense_W", "Dense_b", "Dense_1_W", "Dense_1_b")]
        assert sorted(v.name for v in model.free_RVs) == sorted(names)
    assert out.type.shape == (None, 1)
    with ppl.Scope("net"):
        trained = network(x)
    point = {f"m::net_{v.scope.split('/')[-2]}_{v.name}": v.value for v in ppl.get_variables("/net/*")}
    data = np.ones((2, 3))
    drawn = {rv: point[rv.name] for rv in models[2].free_RVs}
    np.testing.assert_allclose(out.eval({x: data, **drawn}), trained.eval({x: data}))


def test_initial_values_have_the_variance_they_promise():
    shape = (200, 100)
    for make, variance in [
        (initializers.glorot_uniform, 2 / 300), (initializers.glorot_normal, 2 / 300), (initializers.he_normal, 0.01),
        (initializers.he_uniform, 0.01), (initializers.lecun_uniform, 0.005),
    ]:  # fmt: skip
        value = make().at("/w")(shape)
        assert value.var() == pytest.approx(variance, rel=0.05)
        np.testing.assert_array_equal(value, make().at("/w")(shape))
        assert not np.array_equal(value, make().at("/v")(shape)) and not np.array_equal(value, make(1).at("/w")(shape))
    drawn = initializers.uniform(1.0, 3.0)(shape), initializers.normal(2.0, 0.5)(shape)
    assert np.abs([a.mean() - 2 for a in drawn]).max() < 0.02 and drawn[0].min() >= 1 and drawn[0].max() <= 3
    assert drawn[1].std() == pytest.approx(0.5, rel=0.02)
    assert (initializers.constant(3.0)(shape) == 3).all()
    wide = initializers.variance_scaling(3.0, "fan_out", "normal")(shape)
    assert wide.var() == pytest.approx(0.03, rel=0.05)
    q = initializers.orthogonal(2.0)((5, 3))
    np.testing.assert_allclose(q.T @ q, 4 * np.eye(3), atol=1e-12)
    assert initializers.get_fans((8, 4, 3, 3)) == (36, 72)


x2, x4 = T.Placeholder((None, 3), "float64", name="x2"), T.Placeholder((None, 2, 4, 4), "float64", name="x4")
SAID = {
    r'Dense "/Dense.*W has shape \(3, 4\), it needs \(3, 5\)': lambda: layers.Dense(x2, 5, W=np.zeros((3, 4))),
    r'Conv2D "/Conv2D.*the input has axes \(batch, channels, height, width\)': lambda: layers.Conv2D(x2, 5, 2),
    r'Conv2D "/c/".*windows of \(5, 5\) are larger': lambda: layers.Conv2D(x4, 5, 5, name="c"),
    "strides is a positive number": lambda: layers.Conv2D(x4, 5, 2, strides=0),
    "padding is 'VALID', 'SAME'": lambda: layers.Pool2D(x4, 2, padding="half"),
    "pool is 'MAX' or 'AVG'": lambda: layers.Pool2D(x4, 2, pool="MIN"),
    'Dropout "/Dropout.*p is a probability': lambda: layers.Dropout(x2, 1.0),
    "indices are whole numbers": lambda: layers.Embedding(x2, 5, 2),
    r'RNN "/RNN.*axes \(batch, time, features\)': lambda: layers.RNN(x2, 5),
    "cannot be shared among 2 heads": lambda: layers.MultiHeadAttention(x4[:, 0, :, :3], heads=2),
    "mode is 'fan_in', 'fan_out' or 'fan_avg', got 'fan'": lambda: initializers.variance_scaling(1.0, "fan"),
    "distribution is 'normal' or 'uniform', got 'beta'": lambda: initializers.variance_scaling(
        1.0, distribution="beta"
    ),
    "has no rows and columns": lambda: layers.Dense(x2, 5, b=initializers.orthogonal()),
    "must have an even, known length, got 3": lambda: activations.glu(x2),
    "the length of axis -1.*must be known": lambda: layers.Dense(T.dmatrix("m"), 5),
}


@pytest.mark.parametrize("words", SAID)
def test_what_does_not_fit_names_the_layer(words):
    with pytest.raises((ValueError, TypeError), match=words):
        SAID[words]()


ACTIVATIONS = {
    "relu": jax.nn.relu, "relu6": jax.nn.relu6, "leaky_relu": jax.nn.leaky_relu, "elu": jax.nn.elu,
    "celu": jax.nn.celu, "selu": jax.nn.selu, "silu": jax.nn.silu, "soft_sign": jax.nn.soft_sign,
    "hard_tanh": jax.nn.hard_tanh, "hard_sigmoid": jax.nn.hard_sigmoid, "hard_silu": jax.nn.hard_silu,
    "softplus": jax.nn.softplus, "log_sigmoid": jax.nn.log_sigmoid, "glu": jax.nn.glu, "softmax": jax.nn.softmax,
    "log_softmax": jax.nn.log_softmax, "identity": lambda x: x, "gelu": lambda x: jax.nn.gelu(x, approximate=False),
    "swish": jax.nn.silu, "leaky_swish": lambda x: x * jax.nn.sigmoid(2.0 * x), "normalize": jax.nn.standardize,
}  # fmt: skip
SETTINGS = {"leaky_swish": {"beta": 2.0}, "normalize": {"epsilon": 1e-5}}


def test_every_activation_has_a_twin():
    made = {name for name, f in vars(activations).items() if getattr(f, "__module__", "") == activations.__name__}
    assert made <= set(ACTIVATIONS)


def test_the_faster_gelu_is_that_of_jax():
    x = np.linspace(-4, 4, 9)
    with jax.enable_x64(True):
        np.testing.assert_allclose(activations.gelu(x, approximate=True).eval(), jax.nn.gelu(x, approximate=True))


def test_activations_and_their_slopes_are_those_of_jax():
    data = np.array([[-4.0, -2.8, -0.9, -0.1], [0.1, 1.1, 2.9, 7.0]])  # away from all corners
    x = T.Placeholder(data.shape, "float64", name="x")
    weights = RNG.normal(size=data.shape)
    ours = {name: getattr(activations, name)(x, **SETTINGS.get(name, {})) for name in ACTIVATIONS}
    slopes = {name: T.grad((y * weights[:, : y.type.shape[1]]).sum(), x) for name, y in ours.items()}
    values, derivatives = ppl.function(x, outputs=[ours, slopes])(data)
    with jax.enable_x64(True):
        for name, f in ACTIVATIONS.items():
            w = weights[:, : values[name].shape[1]]
            np.testing.assert_allclose(values[name], f(jnp.asarray(data)), rtol=1e-7, atol=1e-12, err_msg=name)
            slope = jax.grad(lambda x, f=f, w=w: jnp.sum(f(x) * w))(jnp.asarray(data))
            np.testing.assert_allclose(derivatives[name], slope, rtol=1e-6, atol=1e-12, err_msg=name)
