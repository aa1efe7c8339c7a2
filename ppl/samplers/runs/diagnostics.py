r"""Did the chains agree, and how much do the draws know? And what to tell the user.

R-hat and effective sample sizes are those of Vehtari, Gelman, Simpson, Carpenter & Bürkner (2021): chains are split in
half, draws replaced by normal scores of their ranks, and R̂ is the greater of the one for the draws and the one for
their distance from the median. Draws are (chains, draws) or (chains, draws, quantities).
"""

import functools
from collections.abc import Sequence
from statistics import NormalDist
from typing import NamedTuple

import numpy as np

from ppl.samplers.runs.run import Run

ENOUGH_DRAWS = 100
MOST_RHAT, LEAST_ESS_PER_CHAIN, MOST_AT_DEPTH, LEAST_BFMI = 1.01, 100, 0.05, 0.3


def rhat(draws: np.ndarray) -> np.ndarray:
    """Rank-normalized split R̂: near 1 when the chains agree in location and in spread."""
    split = _split(_columns(draws))
    return _shaped(_rhat(split, _scores(split)), draws)


def _rhat(split: np.ndarray, scores: np.ndarray) -> np.ndarray:
    """R̂ of half chains, whose normal scores are known."""
    folded = np.abs(split - np.median(split, axis=(0, 1)))
    return np.maximum(_basic_rhat(scores), _basic_rhat(_scores(folded)))


def ess_bulk(draws: np.ndarray) -> np.ndarray:
    """How many independent draws would tell the mean of the normal scores as well."""
    return _shaped(_ess(_scores(_split(_columns(draws)))), draws)


def ess_tail(draws: np.ndarray) -> np.ndarray:
    """The smaller of the effective sample sizes for the 5 % and the 95 % quantile."""
    columns = _columns(draws)
    sizes = []
    for probability in (0.05, 0.95):
        quantile = np.quantile(columns, probability, axis=(0, 1))
        sizes.append(_ess(_split((columns <= quantile).astype(float))))
    return _shaped(np.minimum(*sizes), draws)


def ess_mean(draws: np.ndarray) -> np.ndarray:
    """How many independent draws would tell the mean as well."""
    return _shaped(_ess(_split(_columns(draws))), draws)


class Precision(NamedTuple):
    """How well draws know the mean and the standard deviation of each quantity, and how far their chains agree."""

    mcse_mean: np.ndarray
    mcse_sd: np.ndarray
    ess_bulk: np.ndarray
    ess_tail: np.ndarray
    r_hat: np.ndarray  # nan for a single chain


def precision(draws: np.ndarray) -> Precision:
    """Monte Carlo standard errors, effective sample sizes and R̂ at once; the draws are finite."""
    columns = _columns(draws)
    squares = (columns - columns.mean(axis=(0, 1))) ** 2
    variance, count = squares.mean(axis=(0, 1)), squares.shape[0] * squares.shape[1]
    scores = _scores(_split(columns))
    if len(columns) > 1:
        folded = _scores(_split(np.abs(columns - np.median(columns, axis=(0, 1)))))
        r_hat = np.maximum(_basic_rhat(scores), _basic_rhat(folded))
    else:
        r_hat = np.full(columns.shape[2], np.nan)
    with np.errstate(divide="ignore", invalid="ignore"):
        of_variance = ((squares**2).mean(axis=(0, 1)) - variance**2) / _ess(_split(squares))
        return Precision(
            np.sqrt(variance * count / (count - 1) / _ess(_split(columns))),
            np.sqrt(of_variance / variance / 4),
            _ess(scores),
            ess_tail(columns),
            r_hat,
        )


def bfmi(energy: np.ndarray) -> np.ndarray:
    """For each chain, how well momenta drawn afresh explore the energy (Betancourt 2016); low is below 0.3."""
    with np.errstate(all="ignore"):  # of a chain that never moved the energy has no variance
        return np.mean(np.diff(energy, axis=1) ** 2, axis=1) / np.var(energy, axis=1, ddof=1)


class Notice(NamedTuple):
    """One finding on a run: how grave it is, and what to do."""

    level: str  # "error", "warning" or "info"
    text: str


def notices(run: Run, names: Sequence[str] | None = None) -> list[Notice]:
    """What a user should know about a run, gravest first; ``names`` are those of the positions' entries."""
    found: list[Notice] = []
    stats = run.stats
    if run.interrupted:
        found.append(
            Notice("warning", f"Sampling was stopped: {run.draws} draws of {len(run.chains)} chains are kept.")
        )
    diverging = int(stats["diverging"].sum()) if "diverging" in stats else 0
    if diverging:
        text = f"There were {diverging} divergences after tuning. Increase `target_accept` or reparameterize."
        found.append(Notice("error", text))
    if "reached_max_treedepth" in stats and run.draws:
        for chain, share in zip(run.chains, stats["reached_max_treedepth"].mean(axis=1), strict=True):
            if share > MOST_AT_DEPTH:
                text = (
                    f"Chain {chain} reached the maximum tree depth in {share:.0%} of its draws."
                    " Increase `max_treedepth`, increase `target_accept` or reparameterize."
                )
                found.append(Notice("warning", text))
    if run.draws < ENOUGH_DRAWS:
        found.append(Notice("info", f"Fewer than {ENOUGH_DRAWS} draws a chain: convergence was not checked."))
    else:
        found += _convergence(run, names)
    gravity = ["error", "warning", "info"]
    return sorted(found, key=lambda n: gravity.index(n.level))


def _convergence(run: Run, names: Sequence[str] | None) -> list[Notice]:
    positions, found = run.positions, []
    label = lambda i: names[i] if names is not None else f"position[{i}]"
    if positions.shape[2] == 0:
        return []
    if "energy" in run.stats:
        low = [c for c, value in zip(run.chains, bfmi(run.stats["energy"]), strict=True) if value < LEAST_BFMI]
        if low:
            text = f"The energy was explored slowly in chains {low} (E-BFMI below {LEAST_BFMI}). Reparameterize."
            found.append(Notice("warning", text))
    if len(run.chains) < 2:
        text = "Only one chain was sampled, so convergence cannot be checked. Sample at least four."
        return [*found, Notice("info", text)]
    split = _split(_columns(positions))
    scores = _scores(split)
    r = np.nan_to_num(_rhat(split, scores), nan=-np.inf, posinf=np.inf)  # none where no chain has moved
    size = np.nan_to_num(_ess(scores), nan=np.inf)
    if np.max(r) > MOST_RHAT:
        worst = int(np.argmax(r))
        text = (
            f"The rhat statistic is larger than {MOST_RHAT} for some parameters (largest: {r[worst]:.3f} for"
            f" {label(worst)}), so the chains do not agree yet. Run longer or reparameterize; see"
            " https://arxiv.org/abs/1903.08008 for details."
        )
        found.append(Notice("info" if r[worst] < 1.1 else "error", text))
    if np.min(size) < LEAST_ESS_PER_CHAIN * len(run.chains):
        worst = int(np.argmin(size))
        text = (
            f"The effective sample size per chain is smaller than {LEAST_ESS_PER_CHAIN} for some parameters (smallest:"
            f" {size[worst]:.0f} in all for {label(worst)}). Run longer for reliable rhat and ess; see"
            " https://arxiv.org/abs/1903.08008 for details."
        )
        found.append(Notice("error", text))
    return found


def _columns(draws: np.ndarray) -> np.ndarray:
    draws = np.asarray(draws, float)
    return draws.reshape(draws.shape[0], draws.shape[1], -1)


def _shaped(values: np.ndarray, draws: np.ndarray) -> np.ndarray:
    return values.reshape(np.shape(draws)[2:])


def _split(draws: np.ndarray) -> np.ndarray:
    """Each chain as two half chains; the middle draw of an odd number is left out."""
    half = draws.shape[1] // 2
    return np.concatenate([draws[:, :half], draws[:, draws.shape[1] - half :]])


def _scores(draws: np.ndarray) -> np.ndarray:
    """Normal scores of the ranks over all chains; ties share their mean rank."""
    flat = draws.reshape(-1, draws.shape[2])
    scores, of_ranks = np.empty_like(flat), _normal_scores(len(flat))
    for column, values in enumerate(flat.T):
        _, inverse, counts = np.unique(values, return_inverse=True, return_counts=True)
        last = np.cumsum(counts)
        scores[:, column] = of_ranks[(2 * last - counts - 1)[inverse]]  # twice the mean rank of ties is whole
    return scores.reshape(draws.shape)


@functools.lru_cache(maxsize=8)
def _normal_scores(n: int) -> np.ndarray:
    """Normal scores of the ranks 1, 1½, 2, ... n. SciPy's quantiles would be quicker, but for importing SciPy."""
    lower = [NormalDist().inv_cdf((1 + k / 2 - 0.375) / (n + 0.25)) for k in range(n - 1)]
    return np.array([*lower, 0.0, *(-score for score in reversed(lower))])


def _basic_rhat(draws: np.ndarray) -> np.ndarray:
    n = draws.shape[1]
    between = n * np.var(draws.mean(axis=1), axis=0, ddof=1)
    within = np.mean(np.var(draws, axis=1, ddof=1), axis=0)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.sqrt((between / within + n - 1) / n)


def _ess(draws: np.ndarray) -> np.ndarray:
    """Effective sample size by Geyer's initial monotone sequence of autocorrelations, pooled over chains."""
    chains, n, _ = draws.shape
    if n < 6 or not np.all(np.isfinite(draws)):
        return np.full(draws.shape[2], np.nan)
    covariance = _autocovariance(draws)
    means = draws.mean(axis=1)
    within = np.mean(covariance[:, 0], axis=0) * n / (n - 1)
    total = within * (n - 1) / n
    if chains > 1:
        total = total + np.var(means, axis=0, ddof=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        rho = 1 - (within - np.mean(covariance, axis=0)) / total
    rho[0] = 1.0
    moves = np.ptp(draws, axis=(0, 1)) > np.finfo(float).resolution
    return np.array([chains * n / _autocorrelation_time(rho[:, k], chains * n) if moves[k] else chains * n
                     for k in range(draws.shape[2])])  # fmt: skip


def _autocorrelation_time(rho: np.ndarray, size: int) -> float:
    """-1 + 2 Σ ρ_t over Geyer's initial monotone sequence.

    For a reversible chain the sums of pairs ρ_2k + ρ_2k+1 are positive and decreasing; where their estimates stop
    being so there is only noise. Of the first pair left out, an even term that is positive still counts once.
    """
    most = max(1, (len(rho) - 3) // 2)
    even, odd = rho[0 : 2 * most + 1 : 2], rho[1 : 2 * most + 2 : 2]
    pairs = even + odd
    negative = np.flatnonzero(pairs <= 0)
    end = max(1, negative[0]) if negative.size else most
    monotone = np.minimum.accumulate(pairs[:end])
    return max(-1 + 2 * monotone.sum() + max(even[end], 0.0), 1 / np.log10(size))


def _autocovariance(draws: np.ndarray) -> np.ndarray:
    """Autocovariances along axis 1 by fast Fourier transform, divided by n at every lag."""
    n = draws.shape[1]
    centered = draws - draws.mean(axis=1, keepdims=True)
    spectrum = np.fft.rfft(centered, 2 * n, axis=1)
    return np.fft.irfft(spectrum * spectrum.conj(), 2 * n, axis=1)[:, :n] / n
