"""Branches and loops without a fixed length: `cond`, `ifelse`, `while_loop`, `fori_loop`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ppl.graph import Attrs, Node, TupleType
from ppl.tensor.arrays.creation import arange
from ppl.tensor.core.bodies import agree, check_state, hoisted, is_number, lazily_closed, like, listed, start_of
from ppl.tensor.core.ops import TensorOp, cast_to
from ppl.tensor.loops.loop import carry_scan
from ppl.tensor.tensor import Tensor, TensorType, as_tensor, function, told
from ppl.xla.later import jax, jnp
from ppl.xla.private import is_traced


# --- one of two branches
class _Cond(TensorOp):
    """One of two bodies. Inputs: the condition, what the first captures (`split` of them), what the second captures."""

    def infer(self, inputs: tuple[Node, ...], attrs: Attrs) -> Any:
        pairs = zip(attrs["then"].outputs, attrs["otherwise"].outputs, strict=True)
        types = tuple(TensorType(a.type.dtype, _common(a.type.shape, b.type.shape)) for a, b in pairs)
        return TupleType(types)


def _common(a: Sequence[int | None], b: Sequence[int | None]) -> tuple[int | None, ...]:
    return tuple(m if m == n else None for m, n in zip(a, b, strict=True))


def _run_cond(condition: Any, *rest: Any, then: Any, otherwise: Any, split: int) -> Any:
    first, second = rest[:split], rest[split:]
    arrays = lambda results: tuple(jnp.asarray(r) for r in results)
    if not is_traced(condition):  # a constant: the other branch is not looked at
        return arrays(then(*first) if condition else otherwise(*second))
    return jax.lax.cond(jnp.asarray(condition), lambda: arrays(then(*first)), lambda: arrays(otherwise(*second)))


COND = _Cond("cond_op", _run_cond)


def _choice(condition: Any, then: Sequence[Tensor], otherwise: Sequence[Tensor], where: str) -> list[Any]:
    condition = as_tensor(condition)
    if condition.ndim:
        raise ValueError(
            f"{where}: the condition is one truth value, got {condition!r}; switch() chooses entry by entry"
        )
    if len(then) != len(otherwise):
        raise ValueError(f"{where}: one branch has {len(then)} results, the other {len(otherwise)}")
    for a, b in zip(then, otherwise, strict=True):
        if a.dtype != b.dtype or not agree(a, b):
            raise TypeError(
                f"{where}: the branches differ: {told(a)} is {a.type!r}, {told(b)} is {b.type!r}; make them alike"
            )
    (first, first_needs), (second, second_needs) = lazily_closed(then, otherwise)
    attrs = Attrs(then=first, otherwise=second, split=len(first_needs))
    node: Any = Node(COND, (cast_to(condition, "bool"), *first_needs, *second_needs), attrs)
    return list(node)


@function()
def ifelse(condition: Any, then_branch: Any, else_branch: Any, name: str | None = None) -> Any:
    """One of two tensors (or lists of them); only the one that is chosen is computed.

    >>> import ppl.tensor as tt
    >>> x = tt.dscalar("x")
    >>> ppl.function([x], ppl.ifelse(x > 0, x, -x))(-2.0).item()
    2.0
    """
    several = isinstance(then_branch, list | tuple)
    results = _choice(condition, *_alike(listed(then_branch), listed(else_branch)), "ifelse")
    if name is not None:
        for i, result in enumerate(results):
            result.name = name if len(results) == 1 else f"{name}{i}"
    return type(then_branch)(results) if several else results[0]


def _alike(then: list[Any], otherwise: list[Any]) -> tuple[list[Tensor], list[Tensor]]:
    """Both branches as tensors; Python numbers take the dtype of the other side."""
    if len(then) != len(otherwise):
        return [as_tensor(a) for a in then], [as_tensor(b) for b in otherwise]
    left = [start_of(a, as_tensor(b) if not is_number(b) else None) for a, b in zip(then, otherwise, strict=True)]
    right = [start_of(b, a) for a, b in zip(left, otherwise, strict=True)]
    return left, right


@function()
def cond(
    predicate: Any,
    true_fun: Callable[..., Any],
    false_fun: Callable[..., Any],
    *operands: Any,
    true_inputs: Any = None,
    false_inputs: Any = None,
    shared_inputs: Any = None,
) -> Any:
    """The result of one of two functions; only that one is run.

    Both are called with the operands (JAX's form), or each with its own inputs and then the shared ones (SymJAX's form,
    also by position, as tuples).

    >>> import ppl.tensor as tt
    >>> x = tt.dscalar("x")
    >>> ppl.function([x], ppl.cond(x > 0, lambda a: a, lambda a: -a, x))(-2.0).item()
    2.0
    """
    if operands and all(isinstance(x, list | tuple) or x is None for x in operands):
        if len(operands) > 3 or not (true_inputs is None and false_inputs is None and shared_inputs is None):
            raise TypeError("cond: by position come the inputs of the first function, of the second, and shared ones")
        true_inputs, false_inputs, shared_inputs = (*operands, None, None)[:3]
        operands = ()
    shared = [as_tensor(x) for x in [*operands, *listed(shared_inputs)]]
    first = true_fun(*[as_tensor(x) for x in listed(true_inputs)], *shared)
    second = false_fun(*[as_tensor(x) for x in listed(false_inputs)], *shared)
    several = isinstance(first, list | tuple)
    results = _choice(predicate, *_alike(listed(first), listed(second)), "cond")
    return tuple(results) if several else results[0]


# --- as long as a condition holds
class _While(TensorOp):
    """A body run as long as another says so. Inputs: the states, the captures of the test (`split`), of the step."""

    def infer(self, inputs: tuple[Node, ...], attrs: Attrs) -> TupleType:
        return TupleType(tuple(x.type for x in inputs[: attrs["states"]]))


def _run_while(*inputs: Any, test: Any, step: Any, states: int, split: int) -> Any:
    starts = tuple(jnp.asarray(x) for x in inputs[:states])
    of_test, of_step = inputs[states : states + split], inputs[states + split :]
    arrays = lambda results: tuple(jnp.asarray(r) for r in results)
    return jax.lax.while_loop(
        lambda state: jnp.asarray(test(*state, *of_test)[0]), lambda state: arrays(step(*state, *of_step)), starts
    )


WHILE = _While("while_op", _run_while)


@function()
def while_loop(
    cond_fun: Callable[..., Any],
    body_fun: Callable[..., Any],
    sequences: Any,
    non_sequences_cond: Any = None,
    non_sequences_body: Any = None,
) -> Any:
    """Run `body_fun` on the state as long as `cond_fun` of it is true. The state is a tensor or a tuple of them.

    Forward derivatives (`Rop`) go through; gradients do not, because the number of steps is not known: use `scan` with
    `until` for those.

    >>> import ppl.tensor as tt
    >>> x = tt.dscalar("x")
    >>> ppl.function([x], ppl.while_loop(lambda s: s < 100, lambda s: 2 * s, x))(3.0).item()
    192.0
    """
    several = isinstance(sequences, list | tuple)
    given = list(sequences) if several else [sequences]
    starts = [as_tensor(x) for x in given]
    extra_cond = [as_tensor(x) for x in listed(non_sequences_cond)]
    extra_body = [as_tensor(x) for x in listed(non_sequences_body)]

    def trace(starts: list[Tensor]) -> tuple[list[Tensor], list[Tensor]]:
        states = [like(x) for x in starts]
        return states, [as_tensor(x) for x in listed(body_fun(tuple(states) if several else states[0], *extra_body))]

    states, after = trace(starts)
    if any(is_number(g) and s.dtype != a.dtype for g, s, a in zip(given, starts, after, strict=False)):
        starts = [start_of(g, a) for g, a in zip(given, after, strict=True)]
        states, after = trace(starts)
    names = [f'state "{x.name}"' if x.name else f"state {i} ({x!r})" for i, x in enumerate(starts)]
    check_state("while_loop", names, starts, after)
    stop = as_tensor(cond_fun(tuple(states) if several else states[0], *extra_cond))
    if stop.ndim:
        raise ValueError(f"while_loop: the condition is one truth value, got {stop!r}")
    test, of_test = hoisted(states, [cast_to(stop, "bool")])
    step, of_step = hoisted(states, after)
    attrs = Attrs(test=test, step=step, states=len(states), split=len(of_test))
    node: Any = Node(WHILE, (*starts, *of_test, *of_step), attrs)
    return tuple(node) if several else node[0]


@function()
def fori_loop(lower: Any, upper: Any, body_fun: Callable[..., Any], init_val: Any) -> Any:
    """The state after `body_fun(i, state)` for i from `lower` up to, not including, `upper`.

    With limits known when the program is compiled the loop is differentiable.

    >>> import ppl.tensor as tt
    >>> x = tt.dscalar("x")
    >>> ppl.function([x], ppl.fori_loop(0, 3, lambda i, state: state * x, tt.constant(1.0)))(2.0).item()
    8.0
    """
    return carry_scan(lambda state, i: (body_fun(i, state), None), init_val, [arange(lower, upper)])[0]
