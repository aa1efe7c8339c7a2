"""A SymJAX program, unchanged but for its imports: variables in scopes, collected updates, batches of any length."""

import numpy as np

import ppl as symjax
import ppl.tensor as T  # noqa: N812

rng = np.random.default_rng(0)
true = np.array([1.0, -2.0, 0.5])

x = T.Placeholder((0, 3), "float64", name="x")
y = T.Placeholder((0,), "float64", name="y")
with symjax.Scope("model"):
    w = T.Variable(np.zeros, name="w", shape=(3,))
    steps = T.Variable(0, name="steps", trainable=False)

loss = ((T.dot(x, w) - y) ** 2).mean()
trainable = symjax.get_variables("*", "/model", trainable=True)
slopes = symjax.gradients(loss, trainable)
symjax.add_updates({v: v - 0.1 * slope for v, slope in zip(trainable, slopes, strict=True)})
symjax.add_updates({steps: steps + 1})

train = symjax.function(x, y, outputs=loss, updates=symjax.get_updates(scope="/model"))
for batch in (16, 32) * 100:
    inputs = rng.normal(size=(batch, 3))
    train(inputs, inputs @ true)

print(f"after {steps.value} steps w = {np.round(w.value, 3)}; compiled for {train.compilations} batch sizes")
assert np.allclose(w.value, true, atol=1e-3)
assert train.compilations == 2
symjax.reset_variables("*", "/model")
assert not w.value.any()
