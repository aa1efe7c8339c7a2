r"""Which metric? The policy that looks at a window of draws between dispatches and decides.

Candidates are fitted on one part of the window and judged on the other. The judge is the *Fisher divergence*
E‖y + ∇log π(y)‖² of the whitened target from a standard normal; the guard is the *predicted cost*

.. math:: \sqrt{λ_{max}(\mathrm{Cov}\, y) \; λ_{max}(\mathrm{Cov}\, ∇\log π(y))},

the length of a trajectory that crosses the widest direction in steps that the narrowest allows: for a normal target
the square root of its condition number, and proportional to the gradients that an independent draw costs. The guard
keeps the Welford diagonal where the Fisher diagonal would make trajectories longer (correlated blocks, funnels). What
the columns of a low rank take beside a gradient is its *price*, by which its cost is multiplied: they must save time,
not steps.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from ppl.samplers.adaptation.low_rank import Whitening, diagonal, low_rank, whiten, whiten_gradient
from ppl.samplers.kernels.metrics import columns_read

WORTH = 0.9  # another metric must save a tenth of the predicted cost, the least we can tell from noise
NOISE = 1.5  # how far above that of white noise a cost must be for a low rank to be worth a look
WHITE = 0.01  # a Fisher divergence below this: all eigenvalues of the whitened precision are within a tenth of 1
FEW_DIMENSIONS = 64
FEWEST = 20  # a window of fewer draws decides nothing

# What a leapfrog takes beside the gradient, what columns take, and what each column does, in the operations of `work`:
# numbers for all, and for each dimension. Fitted to the times of `benchmarks/samplers.py`, rounded.
STEP, COLUMNS, COLUMN = (500, 20), (1000, 0), (200, 1.5)
FEW_COLUMNS = 4


def without_price() -> float:
    """The work of a gradient beside which columns take nothing."""
    return np.inf


class Candidate(NamedTuple):
    """A metric with its two held-out scores, both better when smaller."""

    name: str
    whitening: Whitening
    divergence: float
    cost: float


def fisher(x: np.ndarray, g: np.ndarray) -> Whitening:
    """The diagonal of least Fisher divergence."""
    return diagonal(_usable(np.sqrt(np.sqrt(np.var(x, axis=0) / np.var(g, axis=0)))))


def welford(x: np.ndarray, g: np.ndarray) -> Whitening:
    """The diagonal of standard deviations."""
    return diagonal(_usable(np.std(x, axis=0, ddof=1)))


def candidates(
    x: np.ndarray, g: np.ndarray, columns: int, work_of_gradient: Callable[[], float] = without_price
) -> list[Candidate]:
    """The metrics fitted to half of the blocks of a window and scored on the other half.

    What cannot be better is not tried: after a Fisher diagonal that whitens the target nothing, and no low rank where
    a diagonal already costs no more than draws of white noise would seem to. The work of a gradient is asked for where
    it can change the choice.
    """
    fit, judge = _halves(len(x))

    def candidate(name: str, w: Whitening) -> Candidate:
        return Candidate(name, w, *_scores(w, x[judge], g[judge]))

    found = [candidate("fisher_diag", fisher(x[fit], g[fit]))]
    if found[0].divergence < WHITE:
        return found
    found.append(candidate("welford_diag", welford(x[fit], g[fit])))
    if columns and not min(c.cost for c in found) < NOISE * _noise(int(judge.sum()), x.shape[1]):
        rank = candidate("low_rank", low_rank(x[fit], g[fit], columns))
        read, bar = columns_read(rank.whitening.stretch.size, columns), WORTH * min(c.cost for c in found)
        if rank.cost < bar <= rank.cost * price(read, x.shape[1], 0.0):
            rank = rank._replace(cost=rank.cost * price(read, x.shape[1], work_of_gradient()))
        found.append(rank)
    return found


def price(columns: int, dim: int, work_of_gradient: float) -> float:
    """The time of a leapfrog with so many columns by that of one without; few columns are held for free.

    They stand for a few strong correlations, and a window that shows little of those may not have seen them yet: to go
    without would cost a hundred times what it saves.
    """
    step, some, each = (fixed + per_dimension * dim for fixed, per_dimension in (STEP, COLUMNS, COLUMN))
    return 1 + (some + each * columns) / (step + work_of_gradient) if columns > FEW_COLUMNS else 1.0


def choose(found: list[Candidate], current: str) -> str:
    """The name of the metric to use: the best, unless what is in use is nearly as good."""
    by_name = {c.name: c for c in found}
    if any(not np.isfinite(c.cost) for c in found):
        return current
    best = min((c for c in found if c.name != "low_rank"), key=lambda c: c.cost)
    in_use = by_name.get(current, best)
    if in_use.name != "low_rank" and in_use.cost * WORTH <= best.cost:
        best = in_use
    rank = by_name.get("low_rank")
    if rank and rank.whitening.stretch.size and rank.cost < WORTH * best.cost and rank.divergence <= best.divergence:
        return rank.name
    return best.name


def fit(name: str, x: np.ndarray, g: np.ndarray, columns: int) -> Whitening:
    """The named metric on the whole window."""
    if name == "low_rank":
        return low_rank(x, g, columns)
    return fisher(x, g) if name == "fisher_diag" else welford(x, g)


def _halves(n: int) -> tuple[np.ndarray, np.ndarray]:
    """Alternating blocks, so that both halves see the whole window and neighbors rarely stand on both sides."""
    block = max(1, n // 8)
    first = (np.arange(n) // block) % 2 == 0
    return first, ~first


def _scores(w: Whitening, x: np.ndarray, g: np.ndarray) -> tuple[float, float]:
    y, z = whiten(w, x), whiten_gradient(w, g)
    y = y - y.mean(axis=0)
    z = z - z.mean(axis=0)
    divergence = float(np.mean(np.sum((y + z) ** 2, axis=1)))
    return divergence, float(_spread(y) * _spread(z))


def _spread(rows: np.ndarray) -> float:
    """The largest standard deviation of the rows in any direction; of many dimensions by thirty power iterations."""
    if rows.size == 0:
        return 1.0
    if not np.all(np.isfinite(rows)):
        return np.inf
    if min(rows.shape) <= FEW_DIMENSIONS:
        gram = rows.T @ rows if rows.shape[1] <= len(rows) else rows @ rows.T
        if not np.all(np.isfinite(gram)):
            return np.inf
        return float(np.sqrt(np.linalg.eigvalsh(gram)[-1] / len(rows)))
    direction = rows[np.argmax(np.sum(rows**2, axis=1))]
    for _ in range(30):
        direction = direction / max(np.linalg.norm(direction), 1e-300)
        direction = rows.T @ (rows @ direction)
    return float(np.sqrt(np.linalg.norm(direction) / len(rows)))


def _noise(n: int, dim: int) -> float:
    """The cost that ``n`` independent standard normal draws seem to have: (1 + √(dim / n))² (Marchenko & Pastur)."""
    return (1 + np.sqrt(dim / max(n, 1))) ** 2


def _usable(scale: np.ndarray) -> np.ndarray:
    return np.where(np.isfinite(scale) & (scale > 0), np.clip(scale, 1e-10, 1e10), 1.0)
