"""What stands for a tensor together with names for its axes.

`ppl.xtensor` has the class; here is what the parts below it must know: that such a thing is no tensor by itself, since
an operation that goes by position would ignore the names, and which tensor it stands for.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, NoReturn, TypeVar

F = TypeVar("F", bound=Callable[..., Any])


class Labelled:
    """A tensor whose axes have names."""

    __slots__ = ()
    node: Any
    dims: tuple[str, ...]

    def renewed(self, node: Any) -> Any:
        """Another tensor with the same names."""
        raise NotImplementedError

    def refuse(self) -> NoReturn:
        """Raise, since an operation by position was asked for."""
        raise TypeError(
            f"{self!r} has named dims {self.dims}, which an operation by position would ignore: write x.values for the "
            "plain tensor, or use the functions of ppl.xtensor.math (PyTensor: pytensor.xtensor.math)."
        )


def bare(thing: Any) -> Any:
    """The tensors that labelled ones stand for, also in lists, tuples and dicts."""
    if isinstance(thing, Labelled):
        return thing.node
    kind = type(thing)
    if kind is list or kind is tuple:
        return kind(map(bare, thing)) if any(isinstance(x, Labelled | list | tuple) for x in thing) else thing
    if kind is dict:
        return {bare(key): bare(value) for key, value in thing.items()}
    return thing


def takes_labelled(f: F) -> F:
    """Let a function of tensors take labelled ones, of which it sees the tensors."""

    @functools.wraps(f)
    def taking(*args: Any, **kwargs: Any) -> Any:
        return f(*map(bare, args), **{key: bare(value) for key, value in kwargs.items()})

    return taking  # type: ignore[return-value]


def like_argument(position: int) -> Callable[[F], F]:
    """Let a function of tensors take labelled ones; what it gives has the names of its argument at that position, one
    tensor for each of a list."""

    def decorate(f: F) -> F:
        @functools.wraps(f)
        def taking(*args: Any, **kwargs: Any) -> Any:
            found = f(*map(bare, args), **{key: bare(value) for key, value in kwargs.items()})
            named = args[position] if len(args) > position else [*args, *kwargs.values()][position]
            if isinstance(named, list | tuple) and isinstance(found, list | tuple):
                return type(found)(_named(x, like) for x, like in zip(found, named, strict=True))
            return _named(found, named)

        return taking  # type: ignore[return-value]

    return decorate


def _named(result: Any, like: Any) -> Any:
    return like.renewed(result) if isinstance(like, Labelled) else result


class LabelledDims(tuple[str, ...]):
    """The dims of a variable of a model that is labelled, where its book of dims says so."""

    __slots__ = ()
