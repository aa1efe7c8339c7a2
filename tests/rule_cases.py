"""Instances of rules: their examples over real inputs, with values that meet (or break) their conditions."""

from __future__ import annotations

from typing import NamedTuple

import node_by_node
import numpy as np

from ppl.graph import Attrs, Node, ancestors, bodies, topological
from ppl.rewrites.facts.facts import ASSUME, promised
from ppl.tensor.tensor import TensorType, placeholder


class Case(NamedTuple):
    """An expression, its inputs by name, and the conditions on them."""

    expression: Node
    inputs: dict
    conditions: dict


def case(example, shapes=None, dtype="float64", assumed=True, without=(), known=None):
    """The example over inputs; scalar holes take the given shapes in turn. Of a hole without its condition that is
    assumed which stands in `known`, if it does.
    """
    if any(node.type.shape for node in topological(example.expression) if isinstance(node.type, TensorType)):
        shapes = None  # the example says its shapes itself
    if any(bodies(node) for node in topological(example.expression)):
        dtype = "float64"  # that of the body is what it was written in
    replaced, inputs = {}, {}
    for i, (name, hole) in enumerate(example.holes.items()):
        shape = hole.type.shape or (shapes[i % len(shapes)] if shapes else ())
        kind = (
            hole.type.dtype if hole.type.dtype == "bool" else dtype if hole.type.dtype == "float64" else hole.type.dtype
        )
        x = placeholder(TensorType(kind, shape), name)
        inputs[name] = x
        condition = example.conditions.get(name)
        promise = condition is not None and assumed and name not in without
        fact = promised(condition) if promise else (known or {}).get(name)
        replaced[hole] = x if fact is None else Node(ASSUME, (x,), Attrs(fact=fact))
    return Case(rebuilt_for(example.expression, replaced, dtype), inputs, example.conditions)


def rebuilt_for(expression, replaced, dtype):
    """Substitution through the operations' own constructors, so that constants follow the dtype of the inputs."""
    from ppl.tensor.core.ops import Elementwise, unify
    from ppl.tensor.tensor import CONSTANT, constant, value_of

    done = dict(replaced)
    for node in topological(expression, blockers=done):
        if node in done:
            continue
        if node.op is CONSTANT and node.type.shape and node.type.dtype == "float64":
            done[node] = constant(value_of(node).astype(dtype))
            continue
        inputs = [done[x] for x in node.inputs]
        if isinstance(node.op, Elementwise) and node.op.name not in ("cast", "switch"):
            weak = [
                value_of(x).item()
                if x.op is CONSTANT and not x.type.shape and not isinstance(value_of(x).item(), bool)
                else x
                for x in inputs
            ]
            if any(isinstance(x, Node) for x in weak):
                inputs = list(unify(weak))
        elif node.op.name == "switch":
            weak = [value_of(x).item() if x.op is CONSTANT and not x.type.shape else x for x in inputs[1:]]
            if any(isinstance(x, Node) for x in weak):
                inputs = [inputs[0], *unify(weak)]
        attrs = node.attrs
        done[node] = Node(node.op, tuple(inputs), attrs) if node.inputs else node
    return done[expression]


MATRICES = {
    "positive_definite": lambda a: a @ a.T + np.eye(len(a)),
    "lower_triangular": lambda a: np.tril(a) + 2 * np.eye(len(a)),
    "upper_triangular": lambda a: np.triu(a) + 2 * np.eye(len(a)),
}


def values_for(case, rng, edge=None):
    """Random values of the inputs that meet the conditions."""
    values = {}
    for name, x in case.inputs.items():
        shape = tuple(4 if dim is None else dim for dim in x.type.shape)
        if x.dtype == "bool":
            values[name] = rng.random(shape) < 0.5
            continue
        if x.dtype == "int64":
            values[name] = rng.integers(0, 3, shape)
            continue
        condition = case.conditions.get(name)
        members = np.array(condition.members) if condition is not None and condition.members else None
        drawn = rng.normal(0, 1.5, shape)
        if members is not None:
            ends = [0.0, condition.fact.low, condition.fact.high]  # they are for the edges: slopes jump there
            members = members[np.isfinite(members) & ~np.isin(members, ends)]
            drawn = rng.choice(members, shape)
        if condition is not None and not condition.members:
            drawn = MATRICES[condition.name](drawn)
        values[name] = np.asarray(drawn, x.dtype)
    return values


def run(nodes, case, values):
    """The values of nodes over the inputs of a case."""
    done = node_by_node.values(nodes, {x: values[name] for name, x in case.inputs.items()})
    return [done[node] for node in nodes]


def gradients(node, case, values):
    """The gradients of the sum of a node's entries with respect to the float inputs."""
    names = [n for n, x in case.inputs.items() if x.dtype[0] == "f"]
    done = node_by_node.values([node], {x: values[name] for name, x in case.inputs.items()})
    slopes = node_by_node.slopes(node, done, [case.inputs[n] for n in names], np.ones_like(done[node]))
    return [along(case.conditions.get(n), g) for n, g in zip(names, slopes, strict=True)]


def along(condition, slope):
    """Of a matrix with structure only the slopes along that structure mean something."""
    return slope if condition is None else ALONG.get(condition.name, np.asarray)(slope)


ALONG = {"positive_definite": lambda g: g + g.T, "lower_triangular": np.tril, "upper_triangular": np.triu}


def everywhere(node):
    """All nodes of a graph, those in bodies too."""
    for each in ancestors(node):
        yield each
        for body in bodies(each):
            for out in body.outputs:
                yield from everywhere(out)


__all__ = ["Case", "case", "everywhere", "gradients", "run", "values_for"]
