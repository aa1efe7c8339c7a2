"""`scan`, which tells the two forms apart, and what follows from it: `map`, `reduce`, `foldl`, `foldr`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ppl.tensor.loops.loop import carry_scan
from ppl.tensor.loops.theano_loops import theano_scan
from ppl.tensor.tensor import function


@function()
def scan(fn: Callable[..., Any] | None = None, *positional: Any, f: Any = None, **options: Any) -> Any:
    """A loop over sequences that hands states from step to step.

    In Theano's form, `scan(fn, sequences, outputs_info, non_sequences, n_steps, ...)`, the function is called with
    the taps of the sequences, the earlier outputs, and the non-sequences; it returns outputs, updates and `until(...)`;
    the result is `(outputs, updates)`. See `theano_scan`.

    In JAX's form, `scan(f, init, sequences, non_sequences, length, reverse)`, the function is called with the state,
    the entries of the sequences, and the non-sequences; it returns the new state and an output; the result is the last
    state and the stacked outputs. See `carry_scan`.

    A keyword that only one form has decides (`init`, `length`, `reverse`, `xs` are JAX's). By position alone, a tensor
    followed by a list is JAX's form: one state, several sequences.

    >>> import ppl.tensor as tt
    >>> x = tt.dvector("x")
    >>> totals, _ = scan(lambda entry, before: before + entry, sequences=x, outputs_info=0.0)
    >>> totals.eval({x: [1.0, 2.0, 3.0]})
    array([1., 3., 6.])
    """
    jax_form = bool(_OF_CARRY_FORM & options.keys()) or (positional and "sequences" in options)
    if not options and len(positional) > 1:
        jax_form = isinstance(positional[1], list | tuple) and not isinstance(positional[0], list | tuple)
    step = fn if f is None else f
    if not callable(step) or (fn is not None and f is not None):
        raise TypeError(f"scan takes one function, got fn={fn!r}" + ("" if f is None else f" and f={f!r}"))
    return carry_scan(step, *positional, **options) if jax_form else theano_scan(step, *positional, **options)


_OF_CARRY_FORM = {"init", "length", "reverse", "xs"}


@function()
def map(
    fn: Callable[..., Any],
    sequences: Any,
    non_sequences: Any = None,
    go_backwards: bool = False,
    *,
    return_updates: bool = False,
) -> Any:
    """`fn` of each entry of the sequences, one after the other, stacked. See also `theano_map`."""
    return theano_scan(fn, sequences, None, non_sequences, go_backwards=go_backwards, return_updates=return_updates)


def theano_map(
    fn: Callable[..., Any], sequences: Any, non_sequences: Any = None, *, go_backwards: bool = False,
    name: str | None = None, return_updates: bool = True,
) -> Any:  # fmt: skip
    """`map` in Theano's form, as `import ppl as theano` has it: the result is `(outputs, updates)`.

    >>> import ppl.tensor as tt
    >>> x = tt.dvector("x")
    >>> y, updates = ppl.map(lambda a: a**2, x)
    >>> ppl.function([x], y)([1.0, 2.0])
    array([1., 4.])
    """
    return theano_scan(
        fn, sequences, None, non_sequences, go_backwards=go_backwards, name=name, return_updates=return_updates
    )


@function()
def reduce(
    fn: Callable[..., Any],
    sequences: Any,
    outputs_info: Any,
    non_sequences: Any = None,
    go_backwards: bool = False,
    *,
    return_updates: bool = True,
) -> Any:
    """The last value of a scan.

    >>> import ppl.tensor as tt
    >>> x = tt.dvector("x")
    >>> total, updates = ppl.reduce(lambda a, sofar: sofar + a, x, tt.constant(0.0))
    >>> ppl.function([x], total)([1.0, 2.0]).item()
    3.0
    """
    outputs, updates = theano_scan(fn, sequences, outputs_info, non_sequences, go_backwards=go_backwards)
    last = [out[-1] for out in outputs] if isinstance(outputs, list) else outputs[-1]
    return (last, updates) if return_updates else last


@function()
def foldl(fn: Callable[..., Any], sequences: Any, outputs_info: Any, non_sequences: Any = None) -> Any:
    """`reduce` from the first entry to the last.

    >>> import ppl.tensor as tt
    >>> x = tt.dvector("x")
    >>> total, updates = ppl.foldl(lambda a, sofar: sofar / 2 + a, x, tt.constant(0.0))
    >>> ppl.function([x], total)([1.0, 2.0]).item()
    2.5
    """
    return reduce(fn, sequences, outputs_info, non_sequences)


@function()
def foldr(fn: Callable[..., Any], sequences: Any, outputs_info: Any, non_sequences: Any = None) -> Any:
    """`reduce` from the last entry to the first.

    >>> import ppl.tensor as tt
    >>> x = tt.dvector("x")
    >>> total, updates = ppl.foldr(lambda a, sofar: sofar / 2 + a, x, tt.constant(0.0))
    >>> ppl.function([x], total)([1.0, 2.0]).item()
    2.0
    """
    return reduce(fn, sequences, outputs_info, non_sequences, go_backwards=True)
