"""What the host does for a tuning chain at the end of a window: choose a metric and hand it to the state."""

from collections.abc import Callable

import numpy as np

from ppl.samplers.adaptation import policy
from ppl.samplers.adaptation.low_rank import Whitening
from ppl.samplers.adaptation.step_size import Search
from ppl.samplers.adaptation.warmup import FISHER, FROZEN, STATS, WELFORD, Plan, State
from ppl.samplers.kernels.metrics import Metric
from ppl.samplers.programs.kernel import Window, on_host

ESTIMATORS = {"fisher_diag": FISHER, "welford_diag": WELFORD, "low_rank": FROZEN}
_INDEX, _DIVERGING = (list(STATS).index(name) for name in ("index_in_trajectory", "diverging"))


def metric_chooser(
    wanted: str, columns: int, work_of_gradient: Callable[[], float]
) -> Callable[[Plan, State, Window], State]:
    """The host's part of warm-up: always the ``wanted`` metric, or with "auto" the one that the policy chooses.

    What columns take counts for the draws that are kept. Until then they count for nothing: where correlations are
    strong, draws of the next window are what shows it. Numbers that overflow are no error: a metric that is not finite
    is not taken.
    """

    @np.errstate(all="ignore")
    def attend(plan: Plan, state: State, window: Window) -> State:
        state = state._replace(attention=on_host(False, np.bool_))
        begin = int(state.foreground_from)
        good = good_draws(window.stats[begin:])
        x, g = window.positions[begin:][good].astype(np.float64), window.gradients[begin:][good].astype(np.float64)
        if len(x) < policy.FEWEST or int(state.draw) > int(plan.late_from):
            return state
        current = current_metric(state)
        name = wanted
        if wanted == "auto":
            last = int(state.draw) == int(plan.late_from)
            found = policy.candidates(x, g, columns, work_of_gradient if last else policy.without_price)
            name = policy.choose(found, current)
        metric = padded(policy.fit(name, x, g, columns), columns, state.position.dtype)
        if not all(np.all(np.isfinite(part)) for part in metric):
            return state
        state = state._replace(metric=metric, estimator=on_host(ESTIMATORS[name], np.int32))
        if name == current != "low_rank":
            return state
        # Another metric needs another step size: search it, from the one in use.
        step = np.exp(float(state.average.log_step))
        search = Search(on_host(step, np.float64), on_host(0, np.int32), on_host(0, np.int32))
        return state._replace(
            searching=on_host(True, np.bool_),
            search=search,
            metric_changes=on_host(int(state.metric_changes) + 1, np.int64),
        )

    return attend


def current_metric(state: State) -> str:
    """The name of the metric that a state uses."""
    return next(name for name, estimator in ESTIMATORS.items() if estimator == int(state.estimator))


def padded(w: Whitening, columns: int, dtype: np.dtype) -> Metric:
    """A whitening as a metric with room for ``columns`` columns."""
    rank = w.stretch.size
    basis = np.zeros((columns, w.scale.size))
    basis[:rank] = w.basis.T
    stretch = np.zeros(columns)
    stretch[:rank] = w.stretch
    return Metric(on_host(w.scale, dtype), on_host(basis, dtype), on_host(stretch, dtype), on_host(rank, np.int32))


def good_draws(stats: np.ndarray) -> np.ndarray:
    """Which rows of statistics belong to draws that the metric may learn from."""
    index, diverging = stats[:, _INDEX], stats[:, _DIVERGING] > 0
    return (index != 0) & (~diverging | (np.abs(index) > 4))
