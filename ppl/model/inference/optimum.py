"""The highest point of a posterior, and its curvature there."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from ppl.compile.density import FlatProgram, Slot, flattened, layout, scalar
from ppl.graph import ancestors
from ppl.model.context import model_to_read
from ppl.model.errors import SamplingError
from ppl.model.log import log
from ppl.model.posterior.density import Joint
from ppl.model.posterior.point import initial_point
from ppl.model.posterior.snapshot import naming_data
from ppl.model.posterior.values import values_of
from ppl.model.prediction.draw_rows import RowProgram, over_draws
from ppl.model.seeds import seed_of
from ppl.samplers import PROGRAMS
from ppl.samplers.approximate.target import Target, hessians
from ppl.tensor.tensor import Tensor
from ppl.xla.later import jax, wide

if TYPE_CHECKING:
    from ppl.model.model import Model

GRADIENT_FREE = ("nelder-mead", "powell", "cobyla", "cobyqa")
STEPS = tuple(sign * 2**k for k in range(8) for sign in (1, -1))  # by which an entry of a discrete variable is moved


def _value_and_grad(density: FlatProgram, flat: np.ndarray) -> Any:
    data = density.data
    with wide():
        program = PROGRAMS.get(
            ("value and gradient", density.key),
            lambda: lambda x, arrays: jax.value_and_grad(scalar(density))(x, *arrays),
            (flat, data),
        )

    def run(x: np.ndarray) -> tuple[float, np.ndarray]:
        with wide():
            value, gradient = program(np.asarray(x, np.float64), data)
        return float(value), np.asarray(gradient)

    return run


def maximum_of(
    density: FlatProgram,
    start: np.ndarray,
    method: str = "L-BFGS-B",
    free: Any = None,
    maxeval: int = 5000,
    **options: Any,
) -> Any:
    """The highest point near a start, moving the entries that `free` marks; with `raw=True` all that SciPy says too."""
    from scipy.optimize import minimize

    raw = options.pop("raw", False)
    moved = np.ones(start.size, bool) if free is None else np.asarray(free)
    evaluate = _value_and_grad(density, start)

    def objective(part: np.ndarray) -> tuple[float, np.ndarray]:
        whole = start.copy()
        whole[moved] = part
        value, gradient = evaluate(whole)
        if not np.isfinite(value):
            return 1e100, np.zeros(int(moved.sum()))
        return -value, -np.nan_to_num(gradient[moved])

    if not np.isfinite(evaluate(start)[0]):
        raise SamplingError("find_MAP: the log-density is not finite at the start. Give another start.")
    needs_gradient = method.lower() not in GRADIENT_FREE
    settings = {"maxfun" if method.upper() in ("L-BFGS-B", "TNC") else "maxiter": maxeval, **options.pop("options", {})}
    found = minimize(
        objective if needs_gradient else lambda part: objective(part)[0],
        start[moved],
        method=method,
        jac=needs_gradient,
        options=settings,
        **options,
    )
    best = start.copy()
    best[moved] = found.x
    return (best, found) if raw else best


def find_MAP(
    start: Mapping[Any, Any] | None = None,
    vars: Any = None,
    method: str = "L-BFGS-B",
    return_raw: bool = False,
    include_transformed: bool = True,
    progressbar: bool = True,
    progressbar_theme: Any = None,
    maxeval: int = 5000,
    model: Model | None = None,
    *args: Any,
    compute_hessian: bool = False,
    seed: int | None = None,
    **kwargs: Any,
) -> Any:
    """The mode of the posterior, as a point; discrete variables stay where they start, unless `vars` names them.

    The density is that of the variables themselves, without the Jacobians of their transforms. A mode says nothing of
    how sure it is, and may lie far from all draws: of a hierarchy it often is where a scale is 0.

    Parameters
    ----------
    start : dict, optional
        Values to start from, by name; support points by default.
    vars : list, optional
        The variables that move; by default all continuous ones. Discrete ones go by steps, in turn with these, to a
        point from where no step of one of their entries leads higher.
    method : str, default "L-BFGS-B"
        A method of `scipy.optimize.minimize`.
    return_raw : bool, default False
        Whether SciPy's own result is returned too.
    include_transformed : bool, default True
        Whether the point holds the unconstrained values too (`sigma_log__`).
    progressbar : bool, default True
        Whether progress is shown.
    progressbar_theme : optional
        PyMC's argument, without effect.
    maxeval : int, default 5000
        The most evaluations of the density.
    model : Model, optional
        The model; by default that of the `with` block.
    compute_hessian : bool, default False
        Whether the matrix of second derivatives of minus the log-density is returned too, by the unconstrained values:
        the result is (point, hessian), after what else is returned.
    *args
        Further arguments by position, refused as in PyMC.
    seed : int, optional
        PyMC's argument; starts are not random, so that it does not matter.
    **kwargs
        Further arguments of `scipy.optimize.minimize`.

    Returns
    -------
    dict of arrays

    Examples
    --------
    >>> with pm.Model():
    ...     mu = pm.Normal("mu", 0, 10)
    ...     y = pm.Normal("y", mu, 1, observed=[1.0, 3.0])
    ...     point = pm.find_MAP(progressbar=False)
    >>> round(float(point["mu"]), 2)
    1.99
    """
    if args:
        raise TypeError("find_MAP takes options of scipy.optimize.minimize by keyword only")
    if progressbar_theme is not None:
        raise TypeError("progressbar_theme= is not supported: a search is not displayed")
    if seed is not None:
        seed_of(seed)
    model = model_to_read(model)
    if not model.free_RVs:
        raise SamplingError("find_MAP: the model has no free random variables.")
    joint = Joint(model)
    point = initial_point(model, start)
    slots = layout(model.value_vars, point)
    wanted = _moved(model, vars)
    held = [slot.variable.name for slot in slots if slot.variable not in wanted]
    if vars is None and held:
        log.warning("find_MAP: %s cannot follow a gradient and stay where they start.", ", ".join(map(str, held)))
    asked = [slot for slot in slots for _ in range(slot.stop - slot.start)]
    free = np.array([slot.variable in wanted and slot.variable.dtype[0] == "f" for slot in asked])
    counted = np.flatnonzero([slot.variable in wanted and slot.variable.dtype[0] != "f" for slot in asked])
    with naming_data(model):
        density = FlatProgram([joint.total(jacobian=False)], slots, once=values_of)
        search = partial(maximum_of, density, method=method, free=free, maxeval=maxeval, raw=True, **kwargs)
        best, found = _climbed(density, flattened(slots, point), counted, search if free.any() else None)
    result = _as_point(model, joint, slots, best, include_transformed)
    curvature = (_curvature(density, best, free),) if compute_hessian else ()
    more = ((found,) if return_raw else ()) + curvature
    return (result, *more) if more else result


def _climbed(density: FlatProgram, start: np.ndarray, counted: np.ndarray, search: Any) -> tuple[np.ndarray, Any]:
    """The highest point near a start: a search by gradients and steps of the entries `counted`, in turn until nothing
    rises."""
    best, found = search(start) if search else (start, None)
    evaluate = _value_and_grad(density, best) if counted.size else None
    while evaluate is not None:
        here, stepped = evaluate(best)[0], best.copy()
        for entry in counted:
            for step in STEPS:
                further = stepped.copy()
                further[entry] += step
                if (there := evaluate(further)[0]) > here:
                    stepped, here = further, there
        if np.array_equal(stepped, best):
            break
        best, found = search(stepped) if search else (stepped, None)
    return best, found


def _curvature(density: FlatProgram, flat: np.ndarray, moved: np.ndarray) -> np.ndarray:
    """Minus the second derivatives of a log-density by the entries that move, by differences of its gradient."""
    target = Target(scalar(density), flat.size, density.data, density.key)
    scale = np.maximum(1e-3, np.abs(flat))
    return -hessians(target, flat[None], scale)[0][np.ix_(moved, moved)]


def _moved(model: Model, chosen: Any) -> set[Tensor]:
    """The values that may move."""
    if chosen is None:
        return set(model.continuous_value_vars)
    picked = [chosen] if isinstance(chosen, Tensor) else list(chosen)
    between = [v for v in picked if v not in model.rvs_to_values and v not in set(model.value_vars)]
    if between:
        names = ", ".join(str(v.name) for v in between)
        behind = [rv for rv in model.free_RVs if rv in ancestors(between)]
        warnings.warn(
            f"find_MAP: {names} follows from other variables, and these are moved: "
            f"{', '.join(str(rv.name) for rv in behind) or 'none'}",
            UserWarning,
            stacklevel=3,
        )
        picked = [v for v in picked if v not in between] + behind
    return {model.rvs_to_values.get(v, v) for v in picked}


def _as_point(
    model: Model, joint: Joint, slots: list[Slot], flat: np.ndarray, transformed: bool
) -> dict[str, np.ndarray]:
    outputs = {s.variable.name or "": s.variable for s in slots} if transformed else {}
    outputs |= {rv.name or "": joint.at_values(rv) for rv in model.unobserved_RVs}
    program = RowProgram([slot.variable for slot in slots], list(outputs.values()))
    values = over_draws(program, [slot.read(flat[None, None]) for slot in slots])
    return {name: value[0, 0] for name, value in zip(outputs, values, strict=True)}


def find_hessian(
    point: Mapping[str, Any], vars: Any = None, model: Model | None = None, negate_output: bool = True
) -> np.ndarray:
    """The matrix of second derivatives of the log-density at a point of unconstrained values, negated by default.

    >>> with pm.Model() as model:
    ...     x = pm.Normal("x", 0, 0.5)
    >>> pm.find_hessian({"x": 0.0}, model=model)
    array([[4.]])
    """
    model = model_to_read(model)
    given = {k: v for k, v in point.items() if k in {value.name for value in model.value_vars}}
    whole = {**initial_point(model), **{k: np.asarray(v) for k, v in given.items()}}
    wanted = [model.rvs_to_values.get(v, v) for v in vars] if vars is not None else model.continuous_value_vars
    slots = layout(model.value_vars, whole)
    density = FlatProgram([Joint(model).total()], slots, once=values_of)
    data = density.data
    flat = flattened(slots, whole)
    with wide():
        program = PROGRAMS.get(
            ("hessian", density.key), lambda: lambda x, arrays: jax.hessian(scalar(density))(x, *arrays), (flat, data)
        )
        matrix = np.asarray(program(flat, data))
    chosen = set(wanted)
    rows = [i for slot in slots if slot.variable in chosen for i in range(slot.start, slot.stop)]
    return (-1 if negate_output else 1) * matrix[np.ix_(rows, rows)]
