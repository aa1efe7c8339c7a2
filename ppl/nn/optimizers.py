"""Optimizers by name on a symbolic loss: each is one of optax's transformations, under the name that programs know.

    Adam(loss, 0.1)
    train = ppl.function(outputs=loss, updates=ppl.get_updates())

`Adam(loss, learning_rate, ...)` takes the settings of its `rule`, and the options of every `Optimizer`: `params`,
`clip_value`, `clip_norm`, `weight_decay`, `constraints`, `name`.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, ClassVar

from ppl.nn.optimizer import Optimizer as Optimizer
from ppl.nn.optimizer import Rate, Transformation, optax


class Named(Optimizer):
    """An optimizer that has a name: `rule` gives its transformation from its settings, the learning rate being one."""

    rule: ClassVar[Callable[..., Transformation]]

    def __init_subclass__(cls) -> None:
        settings = inspect.signature(cls.rule).parameters
        common = [p for p in _OPTIONS if p.name not in settings]
        cls.__signature__ = inspect.Signature([_LOSS, *settings.values(), *common])

    def __init__(self, loss: Any, *settings: Any, **options: Any) -> None:
        rule = type(self).rule
        own = inspect.signature(rule)
        mine = {key: options.pop(key) for key in own.parameters if key in options}
        try:
            given = own.bind(*settings, **mine)
        except TypeError as error:
            raise TypeError(f"{type(self).__name__}: {error}; its settings are {own}") from None
        given.apply_defaults()
        if "learning_rate" not in given.arguments:
            super().__init__(loss, rule(**given.arguments), **options)
            return
        rate = given.arguments.pop("learning_rate")
        super().__init__(loss, lambda now: rule(now, **given.arguments), learning_rate=rate, **options)


_, _LOSS, _, *_REST = inspect.signature(Optimizer.__init__).parameters.values()
_OPTIONS = [p.replace(kind=p.KEYWORD_ONLY) for p in _REST if p.name != "learning_rate"]


class SGD(Named):
    """Steps along minus the gradient; with `momentum`, along a decaying sum of gradients.

    >>> z = ppl.tensor.Variable(3.0, name="z")
    >>> step = ppl.function(outputs=z, updates=SGD((z - 1) ** 2, 0.25).updates)
    >>> [float(step()) for _ in range(3)]
    [3.0, 2.0, 1.5]
    """

    @staticmethod
    def rule(learning_rate: Rate, momentum: float | None = None) -> Transformation:
        return optax().sgd(learning_rate, momentum=momentum)


class NesterovMomentum(Named):
    """Momentum that looks ahead (Nesterov 1983)."""

    @staticmethod
    def rule(learning_rate: Rate, momentum: float = 0.9) -> Transformation:
        return optax().sgd(learning_rate, momentum=momentum, nesterov=True)


class RMSProp(Named):
    """Steps divided by the root of a moving average of squared gradients; `centered`: of their variance."""

    @staticmethod
    def rule(
        learning_rate: Rate = 0.001,
        decay: float = 0.9,
        epsilon: float = 1e-8,
        centered: bool = False,
        momentum: float | None = None,
    ) -> Transformation:
        return optax().rmsprop(learning_rate, decay=decay, eps=epsilon, centered=centered, momentum=momentum)


class Adam(Named):
    """Moving averages of the gradient and of its square, unbiased (Kingma & Ba 2015); `amsgrad` takes the largest."""

    @staticmethod
    def rule(
        learning_rate: Rate = 0.001,
        beta_1: float = 0.9,
        beta_2: float = 0.999,
        epsilon: float = 1e-8,
        amsgrad: bool = False,
    ) -> Transformation:
        kind = optax().amsgrad if amsgrad else optax().adam
        return kind(learning_rate, b1=beta_1, b2=beta_2, eps=epsilon)


class AdamW(Named):
    """Adam with weight decay that is not divided by the moving average (Loshchilov & Hutter 2019)."""

    @staticmethod
    def rule(
        learning_rate: Rate = 0.001,
        beta_1: float = 0.9,
        beta_2: float = 0.999,
        epsilon: float = 1e-8,
        weight_decay: float = 1e-4,
    ) -> Transformation:
        return optax().adamw(learning_rate, b1=beta_1, b2=beta_2, eps=epsilon, weight_decay=weight_decay)


class LBFGS(Named):
    """A quasi-Newton method with line search, for losses without noise (Nocedal & Wright 2006, chapter 7)."""

    @staticmethod
    def rule(memory: int = 10, max_linesearch_steps: int = 20) -> Transformation:
        search = optax().scale_by_zoom_linesearch(
            max_linesearch_steps=max_linesearch_steps, initial_guess_strategy="one"
        )
        return optax().lbfgs(memory_size=memory, linesearch=search)


OPTIMIZERS = [SGD, NesterovMomentum, RMSProp, Adam, AdamW, LBFGS]
