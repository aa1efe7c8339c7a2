"""A covariance matrix in unconstrained space: any vector of numbers is one, so any optimizer can look for it.

A positive definite matrix is L Lᵀ, with L lower triangular and positive on its diagonal; the logarithms of the diagonal
and the entries below it are free. Here a normal law is fitted by L-BFGS, and its best covariance is known.
"""

from pathlib import Path

import matplotlib
import numpy as np

matplotlib.use("Agg")
import matplotlib.pyplot as plt

import ppl as pm
import ppl.tensor as T  # noqa: N812
from ppl.nn.optimizers import LBFGS

OUTPUT = Path(__file__).parent / "output"
MEAN, COVARIANCE = np.array([1.0, -2.0, 0.5]), np.array([[2.0, 1.2, -0.6], [1.2, 1.0, -0.2], [-0.6, -0.2, 0.5]])


def cholesky_factor(free, size: int):
    """The lower triangular matrix of `size (size + 1) / 2` free numbers: first the log-diagonal, then the rest."""
    below = T.zeros((size, size))[np.tril_indices(size, -1)].set(free[size:])
    return below + T.diag(T.exp(free[:size]))


def main() -> None:
    data = np.random.default_rng(0).multivariate_normal(MEAN, COVARIANCE, 300)
    size = data.shape[1]
    with pm.Scope("normal_law"):
        mean = T.Variable(np.zeros(size), name="mean")
        free = T.Variable(np.zeros(size * (size + 1) // 2), name="free")
    factor = cholesky_factor(free, size)
    covariance = factor @ factor.T
    loss = -pm.logp(pm.MvNormal.dist(mean, chol=factor), data).mean()

    train = pm.function(outputs=[loss, covariance], updates=LBFGS(loss).updates)
    losses, path = zip(*[train() for _ in range(40)], strict=True)

    best = np.cov(data.T, bias=True)
    print("found\n", np.round(path[-1], 3), "\nof the data\n", np.round(best, 3))
    print(f"loss {losses[0]:.3f} -> {losses[-1]:.3f}")
    assert all(np.linalg.eigvalsh(matrix)[0] > 0 for matrix in path)  # on all the way, not only at its end
    assert np.allclose(path[-1], best, atol=1e-5) and np.allclose(mean.value, data.mean(0), atol=1e-5)
    draw(data, path, OUTPUT / "covariance_matrices.png")


def ellipse(center: np.ndarray, covariance: np.ndarray) -> np.ndarray:
    """Where the first two coordinates lie two deviations away."""
    angle = np.linspace(0, 2 * np.pi, 200)
    return center[:2, None] + 2 * np.linalg.cholesky(covariance[:2, :2]) @ [np.cos(angle), np.sin(angle)]


def draw(data: np.ndarray, path: tuple[np.ndarray, ...], file: Path) -> None:
    figure, axes = plt.subplots(figsize=(5, 4), layout="constrained")
    axes.plot(*data[:, :2].T, ".", color="0.7")
    for step in (0, 2, 4, len(path) - 1):
        axes.plot(*ellipse(data.mean(0), path[step]), label=f"step {step}")
    axes.set(xlabel="first coordinate", ylabel="second coordinate", title="Two deviations around the mean")
    axes.legend(frameon=False, fontsize=8)
    OUTPUT.mkdir(exist_ok=True)
    figure.savefig(file, dpi=150)


if __name__ == "__main__":
    main()
