"""Modes: what happens to a graph before it is compiled, and what is checked when it has run.

The one place where rewriting enters compilation: `STAGES` are functions from outputs to equal outputs; `optimize`
applies them in modes that ask for it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ppl.graph import GET, Node, topological
from ppl.graph.records import record
from ppl.rewrites import optimize as simplified
from ppl.tensor.core.evaluate import apply_node
from ppl.tensor.tensor import CONSTANT, value_of
from ppl.xla.later import wide

STAGES: list[Callable[[list[Node]], list[Node]]] = [simplified]


@record
class Mode:
    """Whether graphs are rewritten before they are compiled, and which values of the results are errors.

    `linker` and `optimizer` are PyTensor's: whatever the linker, it is JAX that compiles, and without an optimizer, or
    with "fast_compile", graphs are compiled as they are written.

    >>> import ppl.tensor as tt
    >>> x = tt.dscalar("x")
    >>> ppl.function([x], tt.log(x), mode=ppl.Mode("as written", rewrites=False))(1.0).item()
    0.0
    """

    name: str = "FAST_RUN"
    rewrites: bool = True
    nan_is_error: bool = False
    inf_is_error: bool = False
    own_rewriters: tuple[Any, ...] = ()
    linker: Any = None
    optimizer: Any = "default"

    def __post_init__(self) -> None:
        if self.optimizer in (None, "None", "fast_compile", "FAST_COMPILE"):
            object.__setattr__(self, "rewrites", False)

    def excluding(self, *tags: str) -> Mode:
        """The same mode: the tags are those of PyTensor's rewrites, of which none is here."""
        return self

    including = excluding

    def register(self, *rewriters: tuple[Any, float]) -> Mode:
        """The same mode with rewriters of the user's, each with its place among them; they are applied before ppl's."""
        ordered = [rewriter for rewriter, _ in sorted(rewriters, key=lambda pair: pair[1])]
        return replace(self, own_rewriters=(*self.own_rewriters, *ordered))

    def guards(self) -> bool:
        return self.nan_is_error or self.inf_is_error


def NanGuardMode(nan_is_error: bool = True, inf_is_error: bool = True, big_is_error: bool = False) -> Mode:
    """Results that are not finite raise, naming the first node in the graph whose value is not.

    >>> import ppl.tensor as tt
    >>> x = tt.dscalar("x")
    >>> ppl.function([x], tt.log(x), mode=ppl.NanGuardMode())(1.0).item()
    0.0
    """
    if big_is_error:
        raise NotImplementedError("NanGuardMode: big_is_error is not supported; nan_is_error and inf_is_error are")
    return Mode("NanGuardMode", nan_is_error=bool(nan_is_error), inf_is_error=bool(inf_is_error))


MODES: dict[str, Mode] = {
    "FAST_RUN": Mode("FAST_RUN"),
    "JAX": Mode("JAX"),
    "FAST_COMPILE": Mode("FAST_COMPILE", rewrites=False),
    **{name: Mode(name) for name in ("CVM", "C", "NUMBA", "PYTORCH")},  # PyTensor's compilers: here it is JAX as well
    "NanGuardMode": NanGuardMode(),
}


def get_mode(mode: Any = None) -> Mode:
    """The mode of a name; None is "FAST_RUN".

    >>> ppl.get_mode(None).name
    'FAST_RUN'
    """
    if isinstance(mode, Mode):
        return mode
    found = MODES.get("FAST_RUN" if mode is None else mode) if isinstance(mode, str | None) else None
    if found is None:
        raise ValueError(
            f"there is no mode {mode!r}. Modes are {', '.join(MODES)}: all compile by JAX; FAST_COMPILE leaves "
            "rewriting out, NanGuardMode raises where a result is not finite."
        )
    return found


def optimize(outputs: Sequence[Node], mode: Any = None) -> list[Node]:
    """Outputs equal to the given ones, rewritten as the mode says."""
    result, mode = list(outputs), get_mode(mode)
    for rewriter in mode.own_rewriters:
        result = rewriter.rewritten(result)
    if mode.rewrites:
        for stage in STAGES:
            result = stage(result)
    return result


def is_bad(value: Any, mode: Mode) -> bool:
    """Whether the mode takes the value for an error."""
    array = np.asarray(value)
    if array.dtype.kind not in "fc":
        return False
    return bool((mode.nan_is_error and np.isnan(array).any()) or (mode.inf_is_error and np.isinf(array).any()))


def first_bad(outputs: Sequence[Node], values: dict[Node, Any], mode: Mode) -> tuple[Node, list[Any]] | None:
    """The first node, inputs before users, whose value is bad though its inputs are good; and the inputs' values."""
    results: dict[Node, Any] = dict(values)
    if any(is_bad(value, mode) for value in values.values()):
        return None
    with wide():
        for node in topological(outputs, blockers=values):
            if node in results:
                continue
            if node.op is CONSTANT:
                results[node] = value_of(node)
                continue
            arguments = [results[parent] for parent in node.inputs]
            results[node] = arguments[0][node.attrs["position"]] if node.op is GET else apply_node(node, arguments)
            parts = results[node] if isinstance(results[node], tuple | list) else [results[node]]
            if any(is_bad(part, mode) for part in parts):
                return node, arguments
    return None
