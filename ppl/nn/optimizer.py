"""The optimizer: updates of variables that make a symbolic loss small, by any transformation of optax.

    z = T.Variable(3.0, name="z")
    loss = (z - 1) ** 2
    Optimizer(loss, optax.lion(0.1))
    train = ppl.function(outputs=loss, updates=ppl.get_updates())

An optimizer is a set of updates: of the variables it trains, and of the variables that are its state, which live in a
scope of its name ("/Adam/") and go back to their start by `reset_variables("/Adam*")`. Making one leaves the updates to
be collected by `get_updates()`; they also are its `.updates`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import ModuleType
from typing import Any

import numpy as np

from ppl.graph import Body, close, leaves
from ppl.tensor.core.derivatives import value_and_grad
from ppl.tensor.core.evaluate import lowered
from ppl.tensor.core.later import jax, jnp
from ppl.tensor.core.names import Scope
from ppl.tensor.core.wrapping import from_jax
from ppl.tensor.tensor import Tensor, as_tensor
from ppl.tensor.variables import Variable, add_updates, free_scope, make_variable

Rate = Any  # a number, a tensor, or a function from the number of the step to a number (any schedule of optax)
Transformation = Any  # optax's GradientTransformation


def optax() -> ModuleType:
    """The package, imported where the first optimizer is made."""
    try:
        import optax
    except ImportError as error:
        raise ImportError("optimizers need optax: pip install 'ppl-jax[nn]'") from error
    return optax


class Optimizer:
    """Updates that make a loss small, by any transformation of optax: `Optimizer(loss, optax.lion(1e-3))`.

    `params` are the trainable variables that the loss depends on, unless given. Where `transformation` is a function
    of the learning rate, `learning_rate` is a number, a schedule (step → number) or a symbolic tensor.

    `clip_value` limits every entry of the gradient, `clip_norm` the length of all of it; `weight_decay` adds that
    multiple of the variables to the gradient. `constraints` maps variables to functions of their new value, such as
    `T.abs` or those of `ppl.nn.constraints`.
    """

    def __init__(
        self,
        loss: Any,
        transformation: Any,
        params: Sequence[Variable] | None = None,
        *,
        learning_rate: Rate = None,
        clip_value: float | None = None,
        clip_norm: float | None = None,
        weight_decay: float = 0.0,
        constraints: Mapping[Variable, Callable[[Tensor], Any]] | None = None,
        name: str | None = None,
    ) -> None:
        self.name = name or type(self).__name__
        self.scope = name or free_scope(self.name)
        self.loss = _scalar(self.name, loss)
        self.params = _params(self.name, self.loss, params)
        shapers = dict(constraints or {})
        lost = [v for v in shapers if v not in set(self.params)]
        if lost:
            raise ValueError(f"{self.name}: the constraint on {lost[0]!r} is on no variable that is trained")

        rate = _rate(self.name, transformation, learning_rate)
        before = _before(self.name, clip_value, clip_norm, weight_decay)
        make = _maker(self.name, transformation, rate, before)
        self.state, structure = self._start(make(0.0))
        self.updates = self._updates(make, structure, rate, shapers)
        add_updates(self.updates)

    def _start(self, transformation: Transformation) -> tuple[list[Variable], Any]:
        """The state before the first step as variables, and how optax nests it."""
        with jax.enable_x64(True):
            state = jax.jit(transformation.init)([jnp.asarray(v.value) for v in self.params])  # one program, not many
        flat, structure = jax.tree_util.tree_flatten_with_path(state)
        with Scope(self.scope):
            variables = [
                make_variable(np.asarray(value), self._state_name(path), trainable=False, dtype=np.asarray(value).dtype)
                for path, value in flat
            ]
        return variables, structure

    def _updates(
        self,
        make: Callable[[Any], Transformation],
        structure: Any,
        rate: Rate,
        shapers: Mapping[Variable, Callable[[Tensor], Any]],
    ) -> dict[Variable, Tensor]:
        """What one step makes of the trained variables and of the state."""
        value, slopes = value_and_grad(self.loss, self.params)
        body, others = close(self.params, [self.loss])  # caches keep the operation: closed, it holds no variable
        step = from_jax(_stepper(make, structure, body), name=f"{self.name}_step")
        rates = [rate] if isinstance(rate, Tensor) else []
        moved, state = step(value, slopes, self.params, self.state, rates, others)
        shaped = [shapers[v](new) if v in shapers else new for v, new in zip(self.params, moved, strict=True)]
        return dict(zip([*self.params, *self.state], [*shaped, *state], strict=True))

    def _state_name(self, path: Sequence[Any]) -> str:
        """ "mu_w" for the entry of `mu` that belongs to the variable w."""
        parts = [part.name for part in path if hasattr(part, "name")]
        last = path[-1] if path else None
        if parts and isinstance(last, jax.tree_util.SequenceKey) and last.idx < len(self.params):
            parts.append(self.params[last.idx].name or str(last.idx))
        return "_".join(parts) or "state"

    def reset(self) -> None:
        """The state back to its start; the trained variables stay as they are."""
        for variable in self.state:
            variable.reset()

    def __repr__(self) -> str:
        return f"{self.name}({self.loss!r}, params={self.params!r})"


def _scalar(who: str, loss: Any) -> Tensor:
    loss = as_tensor(loss)
    if loss.ndim != 0:
        raise ValueError(f"{who}: a loss is a scalar, got {loss!r} of shape {loss.type.shape}. Take its sum or mean.")
    if loss.dtype[0] != "f":
        raise TypeError(f"{who}: a loss is a real float, got {loss!r} of dtype {loss.dtype}")
    return loss


def _params(who: str, loss: Tensor, params: Sequence[Variable] | None) -> list[Variable]:
    reached = [leaf for leaf in leaves([loss]) if isinstance(leaf, Variable)]
    if params is None:
        found = [v for v in reached if v.trainable and v.dtype[0] == "f"]
        if not found:
            raise ValueError(
                f"{who}: no trainable variable on the path to {loss!r}, there is nothing to optimize. Make one by "
                "T.Variable(value, trainable=True), or give params=."
            )
        return found
    for v in params:
        if not isinstance(v, Variable):
            raise TypeError(f"{who}: params are variables, got {v!r}")
        if v.dtype[0] != "f":
            raise TypeError(f"{who}: {v!r} cannot be trained, its dtype is {v.dtype} and not a float")
        if v not in set(reached):
            raise ValueError(f"{who}: the loss {loss!r} does not depend on {v!r}")
    if not params or len(set(params)) < len(params):
        raise ValueError(f"{who}: params must be distinct variables, at least one; got {list(params)!r}")
    return list(params)


def _before(who: str, clip_value: float | None, clip_norm: float | None, weight_decay: float) -> list[Any]:
    """What is done to the gradient before the optimizer's own transformation."""
    for key, limit in (("clip_value", clip_value), ("clip_norm", clip_norm)):
        if limit is not None and not limit > 0:
            raise ValueError(f"{who}: {key} is a positive limit, got {limit!r}")
    if not weight_decay >= 0:
        raise ValueError(f"{who}: weight_decay is not negative, got {weight_decay!r}")
    return [
        *([optax().clip(clip_value)] if clip_value is not None else []),
        *([optax().clip_by_global_norm(clip_norm)] if clip_norm is not None else []),
        *([optax().add_decayed_weights(weight_decay)] if weight_decay else []),
    ]


def _rate(who: str, transformation: Any, rate: Rate) -> Rate:
    if rate is None or (callable(rate) and not isinstance(rate, Tensor)):
        return rate
    if not callable(transformation):
        raise TypeError(
            f"{who}: learning_rate= goes with a function of the rate, as optax.adam; got {transformation!r}"
        )
    if isinstance(rate, int | float | np.number):
        return float(rate)
    rate = as_tensor(rate)
    if rate.ndim != 0:
        raise ValueError(f"{who}: a learning rate is a scalar, got {rate!r} of shape {rate.type.shape}")
    return rate


def _maker(who: str, transformation: Any, rate: Rate, before: list[Transformation]) -> Callable[[Any], Transformation]:
    """The whole transformation as a function of the rate's value, which counts only where the rate is symbolic."""

    def checked(chosen: Any) -> Transformation:
        if not (hasattr(chosen, "init") and hasattr(chosen, "update")):
            raise TypeError(f"{who}: {chosen!r} is no transformation of optax")
        return optax().with_extra_args_support(optax().chain(*before, chosen))

    if isinstance(rate, Tensor):
        return lambda now: checked(transformation(now))
    fixed = checked(transformation if rate is None else transformation(rate))
    return lambda now: fixed


def _stepper(make: Callable[[Any], Transformation], structure: Any, loss: Body) -> Callable[..., Any]:
    """One step of optax as a function of arrays: the new parameters and the new state, each in its old dtype."""
    loss_of = lowered(loss)

    def step(value: Any, slopes: Any, points: Any, state: Any, rates: Any, others: Any) -> Any:
        points = [jnp.asarray(x) for x in points]
        changes, after = make(*rates or [0.0]).update(
            list(slopes),
            jax.tree.unflatten(structure, state),
            points,
            value=value,
            grad=list(slopes),
            value_fn=lambda xs: loss_of(*xs, *others)[0],  # for line searches
        )
        moved = optax().apply_updates(points, changes)
        return list(moved), [
            jnp.asarray(new).astype(jnp.asarray(old).dtype)
            for new, old in zip(jax.tree.leaves(after), state, strict=True)
        ]

    return step
