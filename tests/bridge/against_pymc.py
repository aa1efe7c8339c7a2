"""A model of PyMC and its conversion side by side: books, densities and gradients at several points."""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np

from ppl.bridge import from_pymc

BOOKS = ("free_RVs", "observed_RVs", "deterministics", "potentials", "data_vars", "value_vars")


def names(model: Any, book: str) -> list[str]:
    return sorted(str(v.name) for v in getattr(model, book))


def books(model: Any) -> dict[str, Any]:
    """The names of a model's variables, their dims, and its coords."""
    return {
        **{book: names(model, book) for book in BOOKS},
        "dims": {k: list(v) for k, v in sorted(model.named_vars_to_dims.items())},
        "coords": {k: None if v is None else [str(x) for x in v] for k, v in model.coords.items()},
    }


def counts_in_64_bits(model: Any) -> None:
    """Observed counts of 8 and 16 bits as 64: PyTensor takes gamma functions of small ones in single precision."""
    import pytensor.tensor as pt

    for rv in model.observed_RVs:
        value = model.rvs_to_values[rv]
        data = getattr(value, "data", None)
        if data is not None and np.asarray(data).dtype.kind in "iu" and data.dtype != np.int64:
            wide = pt.constant(np.asarray(data, np.int64), name=value.name)
            model.rvs_to_values[rv] = wide
            model.values_to_rvs[wide] = rv


@contextlib.contextmanager
def in_double_precision() -> Iterator[None]:
    """PyTensor keeps 5 as an 8-bit integer and 5.0 in single precision, so that log(5) has seven digits; not here."""
    import pytensor

    with pytensor.config.change_flags(cast_policy="numpy+floatX"):
        yield


@contextlib.contextmanager
def nothing_compiled() -> Iterator[None]:
    """No function of PyTensor is compiled inside the block."""
    import pytensor
    from pytensor.compile.function import types

    calls: list[str] = []
    before = types.FunctionMaker.__init__

    def counted(self: Any, *args: Any, **kwargs: Any) -> None:
        calls.append("compiled")
        before(self, *args, **kwargs)

    types.FunctionMaker.__init__ = counted
    try:
        yield
    finally:
        types.FunctionMaker.__init__ = before
    assert not calls, f"{len(calls)} functions of PyTensor were compiled ({pytensor.__version__})"


def theirs_compiled(model: Any) -> Any:
    """PyMC's log-density and its gradient, by PyTensor's Python mode: nothing is compiled by C."""
    from pytensor.compile.mode import Mode

    mode = Mode(linker="py", optimizer="fast_compile")
    with in_double_precision():
        value = model.logp()
    try:
        with in_double_precision():
            slope = model.dlogp() if model.continuous_value_vars else value
    except Exception:  # the slope of the incomplete gamma function can only be built in single precision
        slope = model.dlogp()
    return model.compile_fn([value, slope], mode=mode, on_unused_input="ignore", random_seed=1)


def points_of(model: Any, made: Any, count: int = 4) -> list[dict[str, Any]]:
    """The starting point and jittered ones; counts stay where they are."""
    rng = np.random.default_rng(3)
    start = made.initial_point(random_seed=0)
    kinds = {v.name: v.dtype for v in model.value_vars}
    points = [{k: np.asarray(v, kinds[k]) for k, v in start.items()}]
    for _ in range(count - 1):
        moved = {k: v + (rng.uniform(-0.4, 0.4, v.shape) if v.dtype.kind == "f" else 0) for k, v in points[0].items()}
        points.append({k: np.asarray(v, kinds[k]) for k, v in moved.items()})
    return points


def agree(source: Any, rtol: float = 1e-8, offset: bool = False, **options: Any) -> Any:
    """The conversion of a model, once it has been compared with it; with `offset` densities differ by a constant."""
    counts_in_64_bits(source)
    with warnings.catch_warnings(), nothing_compiled():
        warnings.simplefilter("ignore")
        made = from_pymc(source, **options)
    told, here = books(source), books(made)
    if options.get("data") == "frozen":
        told["dims"] = {k: v for k, v in told["dims"].items() if k not in told["data_vars"]}
        told["data_vars"] = []
    assert told == here
    compare(source, made, rtol, offset)
    return made


def density_and_slope(source: Any, made: Any) -> Any:
    """Our log-density and gradient, in the order of PyMC's variables."""
    order = [made[v.name] for v in source.free_RVs]
    values = [made.rvs_to_values[rv] for rv in order if made.rvs_to_values[rv].dtype[0] == "f"]
    return made.compile_fn([made.logp(), made.dlogp(vars=values) if values else made.logp()])


def compare(source: Any, made: Any, rtol: float, offset: bool) -> None:
    """The densities and gradients of a model and its conversion at the starting point and jittered ones."""
    theirs, ours = theirs_compiled(source), density_and_slope(source, made)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        rows = [(point, ours(point), theirs(point)) for point in points_of(source, made)]
    near_at_all(rows, rtol, offset)


def near_at_all(rows: Any, rtol: float, offset: bool) -> None:
    """Whether densities and gradients are equal at all points, up to one constant with `offset`."""
    shift = rows[0][1][0] - rows[0][2][0] if offset else 0.0
    for point, (a, slope_a), (b, slope_b) in rows:
        np.testing.assert_allclose(a - shift, b, rtol, rtol * max(1, abs(b)), err_msg=f"log-density at {point}")
        slope_b = np.asarray(slope_b)
        near = rtol * max(1.0, np.abs(slope_b).max(initial=0.0))
        np.testing.assert_allclose(slope_a, slope_b, rtol, near, err_msg=f"gradient at {point}")
