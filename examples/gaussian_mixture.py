"""A Gaussian mixture trained by gradient: the component of each point is a discrete variable, and is summed out.

The model is written with its labels `z`, as one thinks of it. `logp(rewrite=True)` is the density without them: a
symbolic loss like any other, for an optimizer of `ppl.nn`.
"""

from pathlib import Path

import matplotlib
import numpy as np

matplotlib.use("Agg")
import matplotlib.pyplot as plt
from scipy.stats import norm

import ppl as pm
import ppl.tensor as T  # noqa: N812
from ppl.nn.optimizers import Adam

OUTPUT = Path(__file__).parent / "output"
N, WEIGHTS, MEANS, DEVIATIONS = 1000, np.array([0.3, 0.5, 0.2]), np.array([-3.0, 0.0, 4.0]), np.array([0.5, 1.0, 0.8])


def simulated(rng: np.random.Generator) -> np.ndarray:
    label = rng.choice(3, N, p=WEIGHTS)
    return rng.normal(MEANS[label], DEVIATIONS[label])


def density(x: np.ndarray, weights: np.ndarray, means: np.ndarray, deviations: np.ndarray) -> np.ndarray:
    """The density of the mixture, by SciPy."""
    return (weights * norm.pdf(x[:, None], means, deviations)).sum(1)


def main() -> None:
    data = simulated(np.random.default_rng(0))
    with pm.Scope("mixture"):
        score = T.Variable(np.zeros(3), name="score")  # the weights are softmax(score)
        mean = T.Variable(np.array([-1.0, 0.1, 1.0]), name="mean")
        log_deviation = T.Variable(np.zeros(3), name="log_deviation")
    with pm.Model() as model:
        z = pm.Categorical("z", logit_p=score, shape=N)
        pm.Normal("y", mean[z], T.exp(log_deviation)[z], observed=data)
    print(pm.explain(model), "\n")

    loss = -model.logp(rewrite=True) / N
    optimizer = Adam(loss, 0.05)
    train = pm.function(outputs=loss, updates=optimizer.updates)
    losses = np.array([train() for _ in range(500)])

    weights = np.exp(score.value) / np.exp(score.value).sum()
    found = (weights, mean.value, np.exp(log_deviation.value))
    for title, value, truth in zip(
        ("weights", "means", "deviations"), found, (WEIGHTS, MEANS, DEVIATIONS), strict=True
    ):
        print(f"{title:<11}{np.round(value, 2)}   simulated with {truth}")
    true_loss = -np.log(density(data, WEIGHTS, MEANS, DEVIATIONS)).mean()
    print(f"loss {losses[0]:.3f} -> {losses[-1]:.3f}; of the truth {true_loss:.3f}")

    assert np.isclose(loss.eval(), -np.log(density(data, *found)).mean(), rtol=1e-9)  # the labels are gone, exactly
    assert losses[-1] <= true_loss  # the fit is at least as likely as what the data came from
    assert np.allclose(weights, WEIGHTS, atol=0.05) and np.allclose(mean.value, MEANS, atol=0.15)
    draw(data, losses, found, OUTPUT / "gaussian_mixture.png")


def draw(data: np.ndarray, losses: np.ndarray, found: tuple[np.ndarray, ...], path: Path) -> None:
    figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.5), layout="constrained")
    left.plot(losses)
    left.set(xlabel="step", ylabel="minus log-density a point", title="Training")
    grid = np.linspace(-5, 7, 400)
    right.hist(data, bins=60, density=True, color="0.85")
    for w, m, s in zip(*found, strict=True):
        right.plot(grid, w * norm.pdf(grid, m, s), linewidth=1)
    right.plot(grid, density(grid, *found), color="black")
    right.set(xlabel="y", ylabel="density", title="Three components")
    OUTPUT.mkdir(exist_ok=True)
    figure.savefig(path, dpi=150)


if __name__ == "__main__":
    main()
