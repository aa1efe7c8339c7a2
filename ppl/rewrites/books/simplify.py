"""What users and the compiler call: `simplify`, `stabilize`, `optimize`."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import Any

from ppl.distributions import RandomVariable
from ppl.graph import Node, ancestors, substitute
from ppl.rewrites import facts as _facts  # noqa: F401  (fills the table of facts)
from ppl.rewrites.arithmetic import facts_of_arithmetic as _of_sums  # noqa: F401  (fills the table of facts)
from ppl.rewrites.books.algebra import algebra
from ppl.rewrites.books.blocks import blocks
from ppl.rewrites.books.choices import choices
from ppl.rewrites.books.exponentials import exponentials
from ppl.rewrites.books.indexing import indexing
from ppl.rewrites.books.log_sums import log_sums
from ppl.rewrites.books.loops import loops
from ppl.rewrites.books.matrices import matrices
from ppl.rewrites.books.reductions import reductions
from ppl.rewrites.books.shapes import shapes
from ppl.rewrites.books.stable import stable
from ppl.rewrites.books.structure import structure
from ppl.rewrites.engine import draws as _draws  # noqa: F401  (fills the table of facts)
from ppl.rewrites.engine.book import Book
from ppl.rewrites.engine.engine import Engine, never
from ppl.rewrites.engine.pause import collector_paused
from ppl.rewrites.engine.preparation import entries
from ppl.rewrites.engine.trace import Trace
from ppl.rewrites.sharing.gathers import gathers_last
from ppl.rewrites.sharing.lower import lowered
from ppl.tensor.core.names import NAMED
from ppl.tensor.tensor import Tensor, as_tensor

everything = algebra + exponentials + stable + reductions + log_sums + choices + shapes + indexing
everything += matrices + blocks + structure + loops
_ROUNDS = 4


def normal_forms(
    outputs: Sequence[Node],
    book: Book,
    trace: Trace | None = None,
    keep: Collection[Node] = (),
    once: Callable[[Node], bool] = never,
) -> list[Node]:
    """The normal forms of several nodes together; a second round only where the first was cut short."""
    nodes = list(outputs)
    for _ in range(_ROUNDS):
        engine = Engine(entries(book), trace, once)
        nodes = engine.run(nodes, keep)
        if not engine.was_cut:
            return nodes
        if engine.circles:
            break
    engine.did_not_end()
    return nodes


def rewritten(
    outputs: Sequence[Node],
    book: Book = everything,
    trace: Trace | None = None,
    keep: Collection[Node] = (),
    once: Callable[[Node], bool] = never,
    vectors: bool = False,
) -> list[Node]:
    """The outputs in simplest form, as operations that can be run; a name an output carries stays on it. With `vectors`
    alike terms of a sum are computed as one vector."""
    bare = [_under_name(node) for node in outputs]
    with collector_paused():
        results, again = lowered(normal_forms(bare, book, trace, keep, once), vectors)
        if again:
            results, _ = lowered(normal_forms(results, book, trace, keep, once), vectors)
    return [_named_like(old, new) for old, new in zip(outputs, results, strict=True)]


def _under_name(node: Node) -> Node:
    while node.op is NAMED:
        node = node.inputs[0]
    return node


def _named_like(old: Node, new: Node) -> Node:
    names = []
    while old.op is NAMED:
        names.append(old.attrs)
        old = old.inputs[0]
    for attrs in reversed(names):
        new = Node(NAMED, (new,), attrs)
    return new


def simplify(
    expression: Any, trace: bool = False, book: Book = everything, without: Sequence[str] = (), unsafe: bool = False
) -> Any:
    """The simplest form of an expression; with `trace=True` also the steps that led there.

    `without` names rules to leave out; `unsafe=True` takes in those that may turn a nan into a number.

    >>> import ppl.tensor as tt
    >>> x = tt.dscalar("x")
    >>> from ppl.rewrites import text
    >>> print(text(simplify(tt.log(tt.exp(x) * tt.exp(4 + x)))))
    2 * x + 4
    """
    chosen = (book if unsafe else book.safe()).without(*without)
    steps = Trace() if trace else None
    given = as_tensor(expression)
    result = rewritten([given], chosen, steps)[0]
    if steps is None:
        return result
    steps.before, steps.after = given, result
    return result, steps


def simplify_given_draws(expression: Tensor) -> Tensor:
    """The simplest form of an expression whose draws stand for values: they stay the nodes that they are, whatever
    simpler form their own parameters have."""
    result = as_tensor(rewritten([expression], everything.safe())[0])
    known = {node.attrs["identity"]: node for node in ancestors(expression) if isinstance(node, RandomVariable)}
    drawn = [node for node in ancestors(result) if isinstance(node, RandomVariable)]
    return as_tensor(substitute(result, {node: known[node.attrs["identity"]] for node in drawn}))


def stabilize(outputs: Sequence[Tensor]) -> list[Tensor]:
    """Outputs in a form that neither overflows nor loses digits where that can be helped.

    For log-densities, before they are differentiated.
    """
    return rewritten(outputs, everything.safe())  # type: ignore[return-value]


def optimize(outputs: Sequence[Node], once: Callable[[Node], bool] = never) -> list[Node]:
    """What the compiler runs in place of `outputs`: the same values, fewer and stabler operations. What is computed
    `once` for many runs costs nothing."""
    return gathers_last(rewritten(outputs, everything.safe(), once=once, vectors=True))
