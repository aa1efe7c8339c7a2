"""Optimizing inputs, not weights: at which times should a decay be measured?

A quantity falls as a·exp(-b t). Each measurement has the same error, and there are six of them to spend. What they tell
about (a, b) is the matrix JᵀJ, J being the derivatives of the measured values by a and b. Its determinant is made as
large as it can be: a D-optimal design (Box & Lucas 1959), half of the measurements at 0 and half at 1/b.
"""

from pathlib import Path

import matplotlib
import numpy as np

matplotlib.use("Agg")
import matplotlib.pyplot as plt

import ppl as pm
import ppl.tensor as T  # noqa: N812
from ppl.nn.constraints import between
from ppl.nn.optimizers import Adam

OUTPUT = Path(__file__).parent / "output"
A, B, LAST = 2.0, 0.5, 10.0
START = np.linspace(0.2, 1.5, 6)


def main() -> None:
    with pm.Scope("design"):
        times = T.Variable(START, name="times")
        truth = T.Variable(np.array([A, B]), name="truth", trainable=False)
    measured = truth[0] * T.exp(-truth[1] * times)
    jacobian = T.jacobian(measured, truth)
    information = jacobian.T @ jacobian
    loss = -T.slogdet(information)[1]

    design = Adam(loss, 0.05, constraints={times: between(0.0, LAST)})
    assert all(v is times for v in design.params)  # the constants of the decay are no unknowns here
    step = pm.function(outputs=[loss, information, times], updates=design.updates)
    losses, informations, path = map(np.array, zip(*[step() for _ in range(400)], strict=True))

    first, last = (np.sqrt(np.diag(np.linalg.inv(informations[i]))) for i in (0, -1))
    print("times of measurement", np.round(START, 2), "->", np.round(times.value, 2))
    print("standard errors of (a, b), in units of the error of one measurement:", first.round(3), "->", last.round(3))
    best = np.repeat([0.0, 1 / B], 3)
    assert np.allclose(np.sort(times.value), best, atol=0.01)
    assert losses[-1] < losses[0] and last[1] < first[1]
    draw(path, OUTPUT / "input_design.png")


def draw(path: np.ndarray, file: Path) -> None:
    figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.5), layout="constrained")
    left.plot(path)
    left.axhline(1 / B, color="0.7", zorder=0)
    left.set(xlabel="step", ylabel="times of the six measurements", title="The design moves")
    grid = np.linspace(0, LAST, 200)
    right.plot(grid, A * np.exp(-B * grid), color="0.5")
    right.plot(START, A * np.exp(-B * START), "o", fillstyle="none", label="at first")
    right.plot(path[-1], A * np.exp(-B * path[-1]), "o", label="best: three times each")
    right.set(xlabel="time", ylabel="quantity", title="Where to measure")
    right.legend(frameon=False, fontsize=8)
    OUTPUT.mkdir(exist_ok=True)
    figure.savefig(file, dpi=150)


if __name__ == "__main__":
    main()
