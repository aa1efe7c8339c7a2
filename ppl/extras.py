"""Names of pymc-extras, for programs that say `import pymc_extras as pmx`: `import ppl.extras as pmx`.

>>> import ppl as pm
>>> import ppl.extras as pmx
>>> with pm.Model():
...     x = pm.Normal("x", 0, 1)
...     y = pm.Normal("y", x, 1, observed=2.0)
...     result = pmx.fit(method="pathfinder", num_draws=100, random_seed=1, progressbar=False)
>>> result.posterior["x"].shape
(1, 100)
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ppl.model.inference.optimum import find_MAP as find_MAP
from ppl.variational.inference import fit_dadvi as fit_dadvi
from ppl.variational.laplace import fit_laplace as fit_laplace
from ppl.variational.pathfinder import fit_pathfinder as fit_pathfinder

METHODS: dict[str, Callable[..., Any]] = {
    "pathfinder": fit_pathfinder,
    "laplace": fit_laplace,
    "dadvi": fit_dadvi,
}


def fit(method: str, **kwargs: Any) -> Any:
    """Draws of an approximation by one of pymc-extras' methods: "pathfinder", "laplace" or "dadvi"."""
    if method.lower() not in METHODS:
        raise ValueError(f"method is one of {', '.join(METHODS)}, got {method!r}; pm.fit has others")
    return METHODS[method.lower()](**kwargs)
