"""Random tensors for programs without a model: `RandomStream(seed)`, and the same laws as functions of this module.

    stream = RandomStream(seed=7)
    noise = stream.normal(0, 1, size=(3,))
    f = function([], noise)          # each call of f draws anew
    g = function([], noise, no_default_updates=True)   # each call draws the same

Each draw of a stream has a state of its own, a variable with a key that follows from the seed and from the name of the
draw, and that is stepped by every call of a function that uses it. So a program's draws are the same in each run, and
those of one draw do not change when another is added. Names may be given (`name=`); by default they count the draws of
one law: "normal_0", "normal_1".

Laws take the arguments of PyTensor's `pt.random`: parameters, then `size`, the shape of independent copies. A tuple in
place of the first parameter is a shape (as in Theano and SymJAX: `uniform((2, 3))`).
"""

from __future__ import annotations

import functools
import os
from collections.abc import Callable
from typing import Any

from ppl.tensor.core.ops import cast_to
from ppl.tensor.sampling.draws import key_fold_in as key_fold_in
from ppl.tensor.sampling.draws import key_split as key_split
from ppl.tensor.sampling.generators import after, is_generator, key_from, moves_on
from ppl.tensor.sampling.keys import Key as Key
from ppl.tensor.sampling.keys import numbers_of
from ppl.tensor.sampling.random_laws import LAWS as LAWS
from ppl.tensor.sampling.random_laws import drawn_with_density
from ppl.tensor.tensor import Tensor, dtype_name
from ppl.tensor.variables import Variable, shared


class RandomStream:
    """Laws whose draws change with every call of a compiled function, and repeat with every run of the program."""

    def __init__(self, seed: int | None = None) -> None:
        self.default_instance_seed = int.from_bytes(os.urandom(8), "little") if seed is None else int(seed)
        self.state_updates: list[tuple[Variable, Tensor]] = []
        self._names: dict[str, int] = {}

    def updates(self) -> list[tuple[Variable, Tensor]]:
        """The states of all draws with what they become; a function makes these updates unless told otherwise."""
        return list(self.state_updates)

    def seed(self, seed: int | None = None) -> None:
        """Start every draw of the stream again, from another seed, or from the one it had."""
        if seed is not None:
            self.default_instance_seed = int(seed)
        for state, _ in self.state_updates:
            state.set_value(numbers_of(self.default_instance_seed, state.name or ""))

    def gen(self, law: str | Callable[..., Tensor], *params: Any, **options: Any) -> Tensor:
        """A draw of a law given by name, or by a function whose first argument is a key."""
        f = LAWS.get(law) if isinstance(law, str) else law
        if f is None:
            raise AttributeError(f"no law {law!r}; there are {', '.join(sorted(LAWS))}")
        return self._draw(f, law if isinstance(law, str) else f.__name__, params, options)

    def _draw(self, law: Callable[..., Tensor], title: str, params: tuple[Any, ...], options: dict[str, Any]) -> Tensor:
        name, dtype = options.pop("name", None), options.pop("dtype", None)
        draw = law(Key(self._step(name or self._next_name(title))), *params, **options)
        if dtype is not None:
            draw = cast_to(draw, dtype_name(dtype))
        return draw if name is None else draw.copy(name)

    def _next_name(self, title: str) -> str:
        number = self._names.get(title, 0)
        self._names[title] = number + 1
        return f"{title}_{number}"

    def _step(self, name: str) -> Tensor:
        """The key of the present call, from a state that every call replaces."""
        if any(state.name == name for state, _ in self.state_updates):
            raise ValueError(f'the stream has a draw called "{name}" already: names tell draws apart')
        state = shared(numbers_of(self.default_instance_seed, name), name, shape=(2,))
        state.default_update = next_state = after(state)
        self.state_updates.append((state, next_state))
        return key_from(state).node

    def __getattr__(self, law: str) -> Callable[..., Tensor]:
        if law.startswith("_") or law not in LAWS:
            raise AttributeError(f"no law {law!r}; there are {', '.join(sorted(LAWS))}")
        return functools.partial(_called, self, law)


RandomStreams = MRG_RandomStream = MRG_RandomStreams = RandomStream  # Theano's names
_NOT_BY_SIZE = frozenset(["permutation", "shuffle", "choice"])
_WITH_A_PARAMETER_SHAPE = frozenset(["gamma", "weibull", "invgamma"])


def _called(stream: RandomStream, law: str, *params: Any, **options: Any) -> Tensor:
    return stream.gen(law, *_by_size(law, params, options), **options)


def _by_size(law: str, params: tuple[Any, ...], options: dict[str, Any]) -> tuple[Any, ...]:
    """The parameters, with older forms of the arguments translated: a tuple in front, or `shape=`, is the size."""
    if "shape" in options and law not in _WITH_A_PARAMETER_SHAPE:
        options["size"] = options.pop("shape")
    if params and isinstance(params[0], tuple) and "size" not in options and law not in _NOT_BY_SIZE:
        options["size"], params = params[0], params[1:]
    return params


class _Seeds:
    """Where the draws of this module's functions get their seeds from when none is given; None until `seed` is called:
    then what makes the draws has the seed."""

    def __init__(self) -> None:
        self.seed: int | None = None
        self.count = 0

    def stream(self) -> RandomStream:
        if self.seed is None:
            return RandomStream()
        self.count += 1
        return RandomStream(int.from_bytes(numbers_of(self.seed, self.count).tobytes(), "little"))


_seeds = _Seeds()


def seed(number: int) -> None:
    """Make the draws that this module's functions build from now on repeatable."""
    _seeds.seed, _seeds.count = int(number), 0


def _of_module(law: str) -> Callable[..., Tensor]:
    def draw(*params: Any, seed: int | None = None, rng: Any = None, **options: Any) -> Tensor:
        if is_generator(rng):
            raise TypeError(
                f"ppl.tensor.random.{law}: rng= is a tensor, got {rng!r}. Give ppl.shared(generator), or seed=."
            )
        if rng is None and (seed is not None or _seeds.seed is not None):
            return _called(_seeds.stream() if seed is None else RandomStream(seed), law, *params, **options)
        if isinstance(rng, RandomStream):
            return _called(rng, law, *params, **options)
        if rng is None or moves_on(rng):
            found = drawn_with_density(law, _by_size(law, params, options), options, rng)
            if found is not None:
                return found
            if rng is None:
                return _called(_seeds.stream(), law, *params, **options)
        return LAWS[law](rng if isinstance(rng, Key) else Key(rng), *params, **options)

    draw.__name__, draw.__doc__ = law, LAWS[law].__doc__
    return draw


def __getattr__(law: str) -> Callable[..., Tensor]:
    if law not in LAWS:
        raise AttributeError(f"ppl.tensor.random has no law {law!r}; there are {', '.join(sorted(LAWS))}")
    return _of_module(law)


def __dir__() -> list[str]:
    return sorted({*globals(), *LAWS})
