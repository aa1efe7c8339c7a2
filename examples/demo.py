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
EFFECT = np.array([28.0, 8.0, -3.0, 7.0, -1.0, 1.0, 18.0, 12.0])
ERROR = np.array([15.0, 10.0, 16.0, 11.0, 9.0, 11.0, 10.0, 18.0])


def eight_schools() -> pm.Model:
    """Effects of schools come from one population, whose mean and spread are unknown."""
    with pm.Model(coords={"school": list("ABCDEFGH")}) as model:
        mu = pm.Normal("mu", 0, 5)
        tau = pm.HalfCauchy("tau", 5)
        theta = pm.Normal("theta", mu, tau, dims="school")
        pm.Normal("y", theta, ERROR, observed=EFFECT, dims="school")
    return model


def draw_effects(posterior, path: Path) -> None:
    """Reported effects beside what the model makes of them."""
    theta = np.asarray(posterior["theta"]).reshape(-1, 8)
    low, middle, high = np.quantile(theta, [0.05, 0.5, 0.95], axis=0)
    at = np.arange(8)
    figure, axes = plt.subplots(figsize=(7, 4), layout="constrained")
    axes.errorbar(at - 0.12, EFFECT, 1.645 * ERROR, fmt="o", color="0.6", label="reported, 90% interval")
    axes.errorbar(at + 0.12, middle, [middle - low, high - middle], fmt="o", label="posterior, 90% interval")
    axes.axhline(float(np.mean(posterior["mu"])), color="0.8", zorder=0, label="mean of the population")
    axes.set(xticks=at, xticklabels=list("ABCDEFGH"), xlabel="school", ylabel="effect (points)")
    axes.set_title("Schools borrow strength from each other")
    axes.legend(frameon=False, fontsize=8)
    figure.savefig(path, dpi=150)


def draw_spread(posterior, path: Path) -> None:
    """How much schools differ."""
    tau = np.asarray(posterior["tau"]).ravel()
    figure, axes = plt.subplots(figsize=(7, 3), layout="constrained")
    axes.hist(tau, bins=np.linspace(0, 20, 61), density=True, color="C0", alpha=0.7)
    axes.set(xlabel="tau: standard deviation between schools (points)", ylabel="posterior density")
    figure.savefig(path, dpi=150)


def main() -> None:
    model = eight_schools()
    print(model, "\n")
    print("What is rewritten before sampling:")
    print(pm.explain(model), "\n")
    with model:
        trace = pm.sample(random_seed=1)
    print(pm.summary(trace, var_names=["mu", "tau", "theta"]).to_string(), "\n")
    OUTPUT.mkdir(exist_ok=True)
    draw_effects(trace.posterior, OUTPUT / "eight_schools_effects.png")
    draw_spread(trace.posterior, OUTPUT / "eight_schools_spread.png")
    print(f"plots: {', '.join(sorted(p.name for p in OUTPUT.glob('eight_schools*.png')))} in {OUTPUT.name}/")


if __name__ == "__main__":
    main()
