"""Optimizers by name on a symbolic loss, each one of optax's transformations.

    z = T.Variable(3.0, name="z")
    loss = (z - 1) ** 2
    Adam(loss, 0.1)
    train = ppl.function(outputs=loss, updates=ppl.get_updates())

An optimizer is a set of updates: of the variables it trains, and of the variables that are its state, which live in a
scope of its name ("/Adam/") and go back to their start by `reset_variables("/Adam*")`. Making one leaves the updates to
be collected by `get_updates()`; they also are its `.updates`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import ModuleType
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from ppl.graph import leaves
from ppl.tensor.derivatives import value_and_grad
from ppl.tensor.evaluate import to_jax
from ppl.tensor.names import Scope
from ppl.tensor.tensor import Tensor, as_tensor
from ppl.tensor.variables import Variable, add_updates, make_variable
from ppl.tensor.wrapping import from_jax

Rate = Any  # a number, a tensor, or a function from the number of the step to a number (any schedule of optax)


def _optax() -> ModuleType:
    try:
        import optax
    except ImportError as error:
        raise ImportError("optimizers need optax: pip install 'ppl[nn]'") from error
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
        self.loss = _scalar(self.name, loss)
        self.params = _params(self.name, self.loss, params)
        constraints = dict(constraints or {})
        lost = [v for v in constraints if v not in set(self.params)]
        if lost:
            raise ValueError(f"{self.name}: the constraint on {lost[0]!r} is on no variable that is trained")

        before = _before(self.name, clip_value, clip_norm, weight_decay)
        rate = _rate(self.name, transformation, learning_rate)

        def make(rate_now: Any) -> Any:
            chosen = transformation if learning_rate is None else transformation(rate_now)
            if not (hasattr(chosen, "init") and hasattr(chosen, "update")):
                raise TypeError(f"{self.name}: {chosen!r} is no transformation of optax")
            return _optax().chain(*before, chosen)

        self.state, structure = self._start(make(0.0 if isinstance(rate, Tensor) else rate))
        step = from_jax(_stepper(make, rate, structure, self.loss, self.params), name=f"{self.name}_step")
        value, slopes = value_and_grad(self.loss, self.params)
        others = [leaf for leaf in _open_leaves(self.loss) if leaf not in set(self.params)]
        new_params, new_state = step(
            value, slopes, self.params, self.state, [rate] if isinstance(rate, Tensor) else [], others
        )
        shaped = [
            constraints[v](new) if v in constraints else new for v, new in zip(self.params, new_params, strict=True)
        ]
        self.updates: dict[Variable, Tensor] = {
            **dict(zip(self.params, shaped, strict=True)),
            **dict(zip(self.state, new_state, strict=True)),
        }
        add_updates(self.updates)

    def _start(self, transformation: Any) -> tuple[list[Variable], Any]:
        """The state before the first step as variables, and how optax nests it."""
        with jax.enable_x64(True):
            state = transformation.init([jnp.asarray(v.value) for v in self.params])
        flat, structure = jax.tree_util.tree_flatten_with_path(state)
        with Scope(self.name):
            variables = [
                make_variable(np.asarray(value), self._state_name(path), trainable=False, dtype=np.asarray(value).dtype)
                for path, value in flat
            ]
        return variables, structure

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


def _open_leaves(loss: Tensor) -> list[Any]:
    """What the value of the loss depends on and is not known: inputs and variables."""
    return [leaf for leaf in leaves([loss]) if isinstance(leaf, Tensor) and not leaf.op.computed]


def _params(who: str, loss: Tensor, params: Sequence[Variable] | None) -> list[Variable]:
    reached = [leaf for leaf in leaves([loss]) if isinstance(leaf, Variable)]
    if params is None:
        found = [v for v in reached if v.trainable and v.dtype[0] == "f"]
        if not found:
            raise ValueError(
                f"{who}: no trainable variable on the path to {loss!r}, there is nothing to optimise. Make one by "
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
    optax = _optax()
    return [
        *([optax.clip(clip_value)] if clip_value is not None else []),
        *([optax.clip_by_global_norm(clip_norm)] if clip_norm is not None else []),
        *([optax.add_decayed_weights(weight_decay)] if weight_decay else []),
    ]


def _rate(who: str, transformation: Any, learning_rate: Rate) -> Rate:
    if learning_rate is None or (callable(learning_rate) and not isinstance(learning_rate, Tensor)):
        return learning_rate
    if not callable(transformation):
        raise TypeError(
            f"{who}: learning_rate= goes with a function of the rate, as optax.adam; got {transformation!r}"
        )
    if isinstance(learning_rate, int | float | np.number):
        return float(learning_rate)
    rate = as_tensor(learning_rate)
    if rate.ndim != 0:
        raise ValueError(f"{who}: a learning rate is a scalar, got {rate!r} of shape {rate.type.shape}")
    return rate


def _stepper(
    make: Callable[[Any], Any], rate: Rate, structure: Any, loss: Tensor, params: Sequence[Variable]
) -> Callable[..., Any]:
    """One step of optax as a function of arrays: the new parameters and the new state, each in its old dtype."""
    others = [leaf for leaf in _open_leaves(loss) if leaf not in set(params)]
    loss_of = to_jax([*params, *others], loss)

    def step(value: Any, slopes: Any, points: Any, state: Any, rates: Any, rest: Any) -> Any:
        optax = _optax()
        transformation = optax.with_extra_args_support(make(rates[0] if rates else rate))
        points = [jnp.asarray(x) for x in points]
        changes, after = transformation.update(
            list(slopes),
            jax.tree.unflatten(structure, state),
            points,
            value=value,
            grad=list(slopes),
            value_fn=lambda xs: loss_of(*xs, *rest),  # for line searches
        )
        moved = optax.apply_updates(points, changes)
        return list(moved), [
            jnp.asarray(new).astype(jnp.asarray(old).dtype)
            for new, old in zip(jax.tree.leaves(after), state, strict=True)
        ]

    return step


# --- by name ----------------------------------------------------------------------------------------------------------
class SGD(Optimizer):
    """Steps along minus the gradient; with `momentum`, along a decaying sum of gradients."""

    def __init__(self, loss: Any, learning_rate: Rate, momentum: float | None = None, **options: Any) -> None:
        optax = _optax()
        super().__init__(loss, lambda rate: optax.sgd(rate, momentum=momentum), learning_rate=learning_rate, **options)


class NesterovMomentum(Optimizer):
    """Momentum that looks ahead (Nesterov 1983)."""

    def __init__(self, loss: Any, learning_rate: Rate, momentum: float = 0.9, **options: Any) -> None:
        optax = _optax()
        super().__init__(
            loss,
            lambda rate: optax.sgd(rate, momentum=momentum, nesterov=True),
            learning_rate=learning_rate,
            **options,
        )


class RMSProp(Optimizer):
    """Steps divided by the root of a moving average of squared gradients."""

    def __init__(
        self,
        loss: Any,
        learning_rate: Rate = 0.001,
        decay: float = 0.9,
        epsilon: float = 1e-8,
        centered: bool = False,
        momentum: float | None = None,
        **options: Any,
    ) -> None:
        optax = _optax()
        super().__init__(
            loss,
            lambda rate: optax.rmsprop(rate, decay=decay, eps=epsilon, centered=centered, momentum=momentum),
            learning_rate=learning_rate,
            **options,
        )


class Adam(Optimizer):
    """Moving averages of the gradient and of its square, unbiased (Kingma & Ba 2015); `amsgrad` takes the largest."""

    def __init__(
        self,
        loss: Any,
        learning_rate: Rate = 0.001,
        beta_1: float = 0.9,
        beta_2: float = 0.999,
        epsilon: float = 1e-8,
        amsgrad: bool = False,
        **options: Any,
    ) -> None:
        optax = _optax()
        kind = optax.amsgrad if amsgrad else optax.adam
        super().__init__(
            loss,
            lambda rate: kind(rate, b1=beta_1, b2=beta_2, eps=epsilon),
            learning_rate=learning_rate,
            **options,
        )


class AdamW(Optimizer):
    """Adam with weight decay that is not divided by the moving average (Loshchilov & Hutter 2019)."""

    def __init__(
        self,
        loss: Any,
        learning_rate: Rate = 0.001,
        beta_1: float = 0.9,
        beta_2: float = 0.999,
        epsilon: float = 1e-8,
        weight_decay: float = 1e-4,
        **options: Any,
    ) -> None:
        optax = _optax()
        super().__init__(
            loss,
            lambda rate: optax.adamw(rate, b1=beta_1, b2=beta_2, eps=epsilon, weight_decay=weight_decay),
            learning_rate=learning_rate,
            **options,
        )


class LBFGS(Optimizer):
    """A quasi-Newton method with line search, for losses without noise (Nocedal & Wright 2006, chapter 7)."""

    def __init__(self, loss: Any, memory: int = 10, max_linesearch_steps: int = 20, **options: Any) -> None:
        optax = _optax()
        search = optax.scale_by_zoom_linesearch(max_linesearch_steps=max_linesearch_steps, initial_guess_strategy="one")
        super().__init__(loss, optax.lbfgs(memory_size=memory, linesearch=search), **options)
