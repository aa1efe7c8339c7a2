"""How long calls of a compiled function take."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np


class CallTimes(dict[str, float]):
    """Seconds a call: `median`, `least` and `mean` of a number of `calls`; PyTensor's names are there too.

    >>> found = call_times(lambda point: None, {}, 5)
    >>> found.fct_callcount, found["calls"], found.fct_call_time > 0
    (5, 5, True)
    """

    @property
    def fct_callcount(self) -> int:
        """How many calls were timed."""
        return int(self["calls"])

    @property
    def fct_call_time(self) -> float:
        """Seconds of all calls together."""
        return self["mean"] * self["calls"]

    def summary(self) -> None:
        """Print them."""
        print(f"{self.fct_callcount} calls: {self['median']:.3g} s a call (median), {self['least']:.3g} s at the least")


def call_times(function: Callable[[Any], Any], point: Any, calls: int) -> CallTimes:
    """Call a function `calls` times, after once for what the first call does alone."""
    function(point)
    seconds = []
    for _ in range(calls):
        start = time.perf_counter()
        function(point)
        seconds.append(time.perf_counter() - start)
    found = {"median": float(np.median(seconds)), "least": min(seconds), "mean": float(np.mean(seconds))}
    return CallTimes(found, calls=calls)
