"""A Theano program, unchanged but for its imports: logistic regression by gradient descent on shared variables."""

import numpy as np

import ppl as theano
import ppl.tensor as tt

rng = np.random.default_rng(0)
N, features = 400, 20
weights = rng.normal(size=features)
data = rng.normal(size=(N, features))
labels = (data @ weights + 0.5 * rng.normal(size=N) > 0).astype(float)

x, y = tt.dmatrix("x"), tt.dvector("y")
w = theano.shared(np.zeros(features), name="w")
b = theano.shared(0.0, name="b")

p = 1 / (1 + tt.exp(-tt.dot(x, w) - b))
cost = (-y * tt.log(p) - (1 - y) * tt.log(1 - p)).mean() + 0.01 * (w**2).sum()
gw, gb = theano.grad(cost, [w, b])

train = theano.function([x, y], cost, updates=[(w, w - 0.5 * gw), (b, b - 0.5 * gb)], name="train")
predict = theano.function([x], p > 0.5, name="predict")

first = float(train(data, labels))
for _ in range(300):
    last = float(train(data, labels))
right = (predict(data) == labels).mean()

print(f"cost {first:.3f} -> {last:.3f}, {right:.1%} right")
print("the cost is", theano.pprint(cost)[:70], "...")
assert last < 0.5 * first and right > 0.9
