"""Eight schools, as a statistician writes it: `python3 dev.py demo`.

Eight schools coached pupils for a test; each reports an effect and its standard error (Rubin 1981). How much do schools
differ, and what should we believe about each? The plots go to `examples/output/`.
"""

from pathlib import Path

import matplotlib
import numpy as np

matplotlib.use("Agg")
import matplotlib.pyplot as plt

import ppl as pm

OUTPUT = Path(__file__).parent / "output"
SCHOOLS = list("ABCDEFGH")
EFFECT = np.array([28.0, 8.0, -3.0, 7.0, -1.0, 1.0, 18.0, 12.0])
ERROR = np.array([15.0, 10.0, 16.0, 11.0, 9.0, 11.0, 10.0, 18.0])
INK, GREY, LIGHT = "#1b4965", "#8d99a6", "#dfe5ea"


def eight_schools() -> pm.Model:
    """Effects of schools come from one population, whose mean and spread are unknown."""
    with pm.Model(coords={"school": SCHOOLS}) as model:
        mu = pm.Normal("mu", 0, 5)
        tau = pm.HalfCauchy("tau", 5)
        theta = pm.Normal("theta", mu, tau, dims="school")
        pm.Normal("y", theta, ERROR, observed=EFFECT, dims="school")
    return model


def bare(axes) -> None:
    """Leave what carries numbers."""
    axes.spines[["top", "right", "left"]].set_visible(False)
    axes.spines["bottom"].set_color(GREY)
    axes.tick_params(colors="0.3", length=0)


def draw_effects(theta, path: Path) -> None:
    """What each school reported, and what the model makes of it."""
    order = np.argsort(EFFECT)
    low, from_, middle, to, high = np.quantile(theta, [0.05, 0.25, 0.5, 0.75, 0.95], axis=0)[:, order]
    effect, error, at = EFFECT[order], ERROR[order], np.arange(len(order))
    figure, axes = plt.subplots(figsize=(7.5, 4.6), layout="constrained")
    axes.axvline(theta.mean(), color=LIGHT, lw=6, zorder=0)
    axes.hlines(at + 0.16, effect - 1.645 * error, effect + 1.645 * error, color=GREY, lw=1)
    axes.plot(effect, at + 0.16, "o", color="white", mec=GREY, ms=6, label="reported effect, 90 % interval")
    axes.hlines(at - 0.16, low, high, color=INK, lw=1)
    axes.hlines(at - 0.16, from_, to, color=INK, lw=4)
    axes.plot(middle, at - 0.16, "o", color=INK, mec="white", ms=7, label="posterior, 50 % and 90 % interval")
    axes.set(yticks=at, yticklabels=[f"school {SCHOOLS[i]}" for i in order], xlabel="effect of coaching, in points")
    axes.set_title("Eight schools borrow strength from each other", loc="left", color=INK, weight="bold", pad=22)
    axes.text(theta.mean(), len(at) - 0.45, "mean of all", ha="center", color=GREY, fontsize=8)
    axes.legend(frameon=False, fontsize=8, loc="lower right")
    bare(axes)
    figure.savefig(path, dpi=150)
    plt.close(figure)


def draw_spread(theta, tau, path: Path) -> None:
    """How much schools differ, and what each would be worth if we knew: means of the draws near each tau."""
    grid = np.linspace(0, 15, 61)
    weight = np.exp(-0.5 * ((grid[:, None] - tau) / (0.4 + 0.08 * grid[:, None])) ** 2)
    given = weight @ theta / weight.sum(axis=1, keepdims=True)
    figure, (top, below) = plt.subplots(
        2, sharex=True, figsize=(7.5, 5), height_ratios=(3, 1.3), layout="constrained"
    )  # fmt: skip
    label = -np.inf
    for i in np.argsort(given[-1]):
        label = max(label + 0.9, given[-1, i])  # labels stand apart where lines meet
        top.plot(grid, given[:, i], color=plt.get_cmap("viridis")((EFFECT[i] + 3) / 36), lw=1.8)
        top.text(15.15, label, SCHOOLS[i], va="center", fontsize=8, color="0.3")
    top.set(ylabel="expected effect")
    top.set_title("The more schools differ, the less they are pooled", loc="left", color=INK, weight="bold")
    below.hist(tau, bins=np.linspace(0, 15, 31), density=True, color=INK, alpha=0.85, rwidth=0.9)
    below.set(
        xlabel="tau: standard deviation between schools, in points", ylabel="posterior", yticks=[], xlim=(0, 15.6)
    )
    bare(top)
    bare(below)
    figure.savefig(path, dpi=150)
    plt.close(figure)


def main() -> None:
    model = eight_schools()
    print(model, "\n")
    print(pm.explain(model), "\n")
    with model:
        trace = pm.sample(draws=2000, chains=4, random_seed=1)
    print(pm.summary(trace, var_names=["mu", "tau", "theta"], round_to=1).to_string(), "\n")
    OUTPUT.mkdir(exist_ok=True)
    theta, tau = np.asarray(trace.posterior["theta"]).reshape(-1, 8), np.asarray(trace.posterior["tau"]).ravel()
    draw_effects(theta, OUTPUT / "eight_schools_effects.png")
    draw_spread(theta, tau, OUTPUT / "eight_schools_spread.png")
    print(f"plots: {', '.join(sorted(p.name for p in OUTPUT.glob('eight_schools*.png')))} in {OUTPUT.name}/")


if __name__ == "__main__":
    main()
