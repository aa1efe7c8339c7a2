"""A Bayesian neural network: the layers of `ppl.nn` with random variables for weights, sampled with NUTS.

The network is the same code as one that is trained; only the weights are given, as a function that makes a random
variable of a shape and a name. Hidden units can change places and signs, so the weights of one chain are not those of
another, and the sampler says so; the curves they make are what counts.
"""

from pathlib import Path

import matplotlib
import numpy as np

matplotlib.use("Agg")
import matplotlib.pyplot as plt

import ppl as pm
import ppl.tensor as T  # noqa: N812
from ppl.nn.layers import Dense

OUTPUT = Path(__file__).parent / "output"
NOISE = 0.2
GRID = np.linspace(-2.0, 2.0, 81)


def curve(x: np.ndarray) -> np.ndarray:
    return np.sin(2.5 * x)


def network(x, **weights):
    """Five hidden units; x has shape (points, 1), the result (points,)."""
    return Dense(Dense(x, 5, T.tanh, **weights), 1, **weights)[:, 0]


def normal(shape, name):
    return pm.Normal(name, 0, 1.5, shape=shape)


def main() -> None:
    rng = np.random.default_rng(0)
    x = np.concatenate([rng.uniform(-1.2, -0.3, 25), rng.uniform(0.3, 1.2, 25)])  # nothing is known in between
    y = curve(x) + rng.normal(0, NOISE, len(x))

    with pm.Model() as model:
        inputs = pm.Data("inputs", x)
        f = network(inputs[:, None], W=normal, b=normal)
        pm.Normal("y", f, NOISE, observed=y, shape=f.shape)
        results = pm.sample(500, tune=500, chains=2, target_accept=0.95, random_seed=1, progressbar=False)
        pm.set_data({"inputs": GRID})
        curves = pm.sample_posterior_predictive(results, random_seed=2, progressbar=False)
    print(model, "\n")

    seen = np.asarray(curves.posterior_predictive["y"]).reshape(-1, len(GRID))
    low, middle, high = np.quantile(seen, [0.05, 0.5, 0.95], axis=0)
    near = (np.abs(GRID) > 0.3) & (np.abs(GRID) < 1.2)
    error = np.sqrt(np.mean((middle - curve(GRID))[near] ** 2))
    width, width_far = (high - low)[near].mean(), (high - low)[np.abs(GRID) > 1.7].mean()
    print(f"error of the middle curve near data {error:.3f}; 90% band {width:.2f} wide there, {width_far:.2f} far away")
    assert error < 0.1
    assert width_far > 2 * width > 2 * 3.2 * NOISE  # it knows what it does not know
    draw(x, y, low, middle, high, OUTPUT / "bayesian_network.png")


def draw(x, y, low, middle, high, path: Path) -> None:
    figure, axes = plt.subplots(figsize=(7, 4), layout="constrained")
    axes.fill_between(GRID, low, high, alpha=0.25, label="90% of new observations")
    axes.plot(GRID, middle, label="median")
    axes.plot(GRID, curve(GRID), "--", color="0.5", label="what the data come from")
    axes.plot(x, y, "k.", label="data")
    axes.set(xlabel="x", ylabel="y", ylim=(-4, 4), title="A network with random weights, given data")
    axes.legend(frameon=False, fontsize=8, ncols=2)
    OUTPUT.mkdir(exist_ok=True)
    figure.savefig(path, dpi=150)


if __name__ == "__main__":
    main()
