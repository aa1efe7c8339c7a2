"""Rules. One is an equation, `return left, right` over its parameters, the holes:

    @equal(a=positive)
    def log_of_product(a, b):
        "The logarithm of a product is the sum of the logarithms."
        return log(a * b), log(a) + log(b)

The keywords of `equal` are the conditions: what must be proved of what a hole stands for. Where an equation needs more
than holes (axes, indices, any number of operands) the rule is a function from a node to its replacement, or None:

    @rewrites(log, example=lambda x: log(x**3))
    def log_of_power(node, engine): ...
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

from ppl.graph.node import Op
from ppl.graph.parameters import parameter_names
from ppl.rewrites.engine.pattern import BOOL, FLOAT, MATRIX, hole
from ppl.rewrites.engine.preparation import variant_of
from ppl.rewrites.engine.rule import Equation, Example, Procedure, Rewrite, RuleError, Safety
from ppl.rewrites.facts.facts import Condition
from ppl.tensor.tensor import Tensor, TensorType, as_tensor

KINDS: dict[str, TensorType] = {"scalar": FLOAT, "bool": BOOL, "matrix": MATRIX}


def _example(expression: Callable[..., Any], kinds: dict[str, TensorType], conditions: dict[str, Condition]) -> Example:
    holes = {name: hole(name, kinds[name]) for name in parameter_names(expression)}
    return Example(as_tensor(expression(**holes)), holes, {k: v for k, v in conditions.items() if k in holes})


def _conditions(name: str, holes: Mapping[str, Any], given: dict[str, Any]) -> dict[str, Condition]:
    for key, condition in given.items():
        if key not in holes:
            raise RuleError(f"rule {name!r}: a condition on {key!r}, but its parameters are {', '.join(holes)}")
        if not isinstance(condition, Condition):
            raise RuleError(
                f"rule {name!r}: {condition!r} on {key!r} is no known fact; those of ppl.rewrites.facts.facts are, "
                "such as positive"
            )
    return given


def _holes(f: Callable[..., Any], kinds: dict[str, str]) -> dict[str, Tensor]:
    return {name: hole(name, KINDS[kinds.get(name, "scalar")]) for name in parameter_names(f)}


def equal(
    function: Callable[..., Any] | None = None,
    *,
    safety: Safety | None = None,
    bools: Sequence[str] = (),
    matrices: Sequence[str] = (),
    **conditions: Any,
) -> Any:
    """Make a rule of a function that returns the two sides of an equation over its parameters.

    >>> from ppl.tensor import exp, log
    >>> @equal
    ... def log_of_exp(x):
    ...     "The logarithm undoes the exponential."
    ...     return log(exp(x)), x
    >>> log_of_exp.name
    'log_of_exp'
    """

    def make(f: Callable[..., Any]) -> Equation:
        name = f.__name__
        holes = _holes(f, {**dict.fromkeys(bools, "bool"), **dict.fromkeys(matrices, "matrix")})
        found = _conditions(name, holes, conditions)
        left, right = f(**holes)
        kind = safety or (Safety.domain if found else Safety.rounding)
        equation = Equation(name, f.__doc__ or "", kind, holes, (as_tensor(left), as_tensor(right)), found)
        variant_of(equation)  # raises where the engine could not look for it, or rewriting might not end
        return equation

    return make if function is None else make(function)


def rewrites(
    *ops: Op,
    example: Callable[..., Any],
    safety: Safety = Safety.rounding,
    more: Sequence[Callable[..., Any]] = (),
    bools: Sequence[str] = (),
    types: dict[str, TensorType] | None = None,
    saves_work: bool = False,
    one_of: Collection[Op] = (),
    beside: Collection[Op] = (),
    **conditions: Any,
) -> Callable[[Rewrite], Procedure]:
    """Make a rule of a function from a node (and the engine) to its replacement, or None where it does not apply.

    `example` and `more` are expressions that the rule rewrites, given facts of their parameters; `types` says which of
    these are no scalars. With `saves_work` the rule answers for less work, not for a smaller expression. `one_of` are
    operations: where none is among the inputs of a node, the function is not called. `beside` are operations whose
    results the function finds in `engine.beside`, where the graph has them anyway.
    """

    def make(f: Rewrite) -> Procedure:
        name = f.__name__
        shown = (example, *more)
        parameters = {n: FLOAT for each in shown for n in parameter_names(each)}
        kinds = {**parameters, **dict.fromkeys(bools, BOOL), **(types or {})}
        found = _conditions(name, kinds, conditions)
        examples = lambda: [_example(e, kinds, found) for e in shown]
        rule = Procedure(name, f.__doc__ or "", safety, ops, f, examples, one_of, beside)
        rule.saves_work = saves_work
        return rule

    return make
