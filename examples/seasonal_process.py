"""A slow trend and a yearly wave, told apart: twenty years of monthly numbers, by two Gaussian processes on bases.

The coefficients of both bases are integrated out, as `eliminate` asks, so that NUTS moves five numbers only.
Run it: python examples/seasonal_process.py
"""

from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import numpy as np

import ppl as pm

rng = np.random.default_rng(4)
years = np.arange(240)[:, None] / 12
trend = 0.4 * years[:, 0] + 2.0 * np.sin(years[:, 0] / 4)
season = np.sin(2 * np.pi * years[:, 0]) + 0.5 * np.cos(4 * np.pi * years[:, 0])
seen = trend + season + rng.normal(0, 0.4, len(years))


def build() -> pm.Model:
    """A trend of length 2 to 15 years, and a wave of period one year."""
    m, c = pm.gp.hsgp_size([0, 20], [2.0, 15.0], pm.gp.cov.Matern52)
    with pm.Model() as model:
        slow = pm.HalfNormal("trend_sd", 5) ** 2 * pm.gp.cov.Matern52(1, ls=pm.InverseGamma("trend_length", 4, 20))
        wave = pm.gp.cov.Periodic(1, period=1.0, ls=pm.InverseGamma("wave_length", 4, 2))
        f = pm.gp.HSGP(m=[m], c=c, cov_func=slow).prior("trend", X=years)
        g = pm.gp.HSGPPeriodic(m=8, scale=pm.HalfNormal("wave_sd", 2), cov_func=wave).prior("season", X=years)
        pm.Normal("y", f + g, pm.HalfNormal("noise", 1), observed=seen)
    return model


def draw_picture(results: Any, path: Path) -> None:
    """The data with the trend, and one year of the wave; the level, which both share, is given to the trend."""
    figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4), width_ratios=[2, 1])
    flat = results.posterior.stack(sample=("chain", "draw")).transpose("sample", ...)
    level = flat["season"].values.mean(axis=1, keepdims=True)
    pm.gp.util.plot_gp_dist(left, flat["trend"].values + level, years)
    left.plot(years[:, 0], seen, ".", color="0.3", ms=3)
    left.plot(years[:, 0], trend, "k--", lw=1)
    left.set(title="trend", xlabel="year")
    pm.gp.util.plot_gp_dist(right, (flat["season"].values - level)[:, :12], 12 * years[:12], palette="Blues")
    right.plot(12 * years[:12, 0], season[:12], "k--", lw=1)
    right.set(title="season", xlabel="month")
    figure.tight_layout()
    figure.savefig(path)


if __name__ == "__main__":
    model = build()
    bases = ["trend_hsgp_coeffs", "season_hsgp_coeffs_"]
    plan = pm.explain(model, eliminate=bases)
    print(plan)
    assert plan.ndim == 5
    with model:
        results = pm.sample(200, tune=200, chains=2, random_seed=1, progressbar=False, eliminate=bases)
    found = results.posterior["season"].mean(("chain", "draw")).values
    found = found - found.mean()  # the level is shared between the two
    assert np.abs(found - season).max() < 0.3
    path = Path(__file__).parent / "output" / "seasonal_process.png"
    path.parent.mkdir(exist_ok=True)
    draw_picture(results, path)
    print(f"wrote {path.name}")
