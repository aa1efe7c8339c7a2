"""Draws in place of random variables: a graph with draws as a graph of a key.

The subkey of a named draw depends on the key and on its name, that of an unnamed one on its place among the unnamed
draws of the graph. So the same key gives the same draws, and other variables in the graph do not change a named one.
The result is a pure function of the key, to be mapped over many keys at once."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, NoReturn

import numpy as np

from ppl.distributions.declaration.inner import laws_of
from ppl.distributions.draws.draw import RandomVariable, is_draw
from ppl.distributions.log_probability.evaluation import default_point
from ppl.graph import Node, bodies, rebuilt, topological
from ppl.tensor.core.evaluate import to_jax
from ppl.tensor.sampling.draws import KEY_TYPE
from ppl.tensor.sampling.generators import key_from
from ppl.tensor.sampling.keys import Key, numbers_of
from ppl.tensor.tensor import FUNCTIONS, Tensor, as_tensor, placeholder

NAMED_DRAWS, OTHER_DRAWS, STREAMS = 1, 2, 3  # what the key is changed by first: a place is never taken for a name


def expand_draws(outputs: Sequence[Node], key: Any, values: Mapping[Node, Node] | None = None) -> list[Tensor]:
    """`outputs` with each draw replaced by a sample from its family; those with `values` are replaced by these.

    >>> import ppl.tensor as tt
    >>> key = tt.as_tensor(np.array([0, 1], dtype="uint32"))
    >>> (drawn,) = ppl.distributions.expand_draws([pm.Normal.dist(0, 1)], key)
    >>> ppl.distributions.is_draw(drawn)
    False
    """
    return expanded(outputs, key, values).outputs


class Expanded(NamedTuple):
    """Outputs without draws, and what must hold of the laws that the draws followed."""

    outputs: list[Tensor]
    conditions: list[tuple[RandomVariable, Tensor]]  # laws over parameters without draws, and whether they are laws

    @property
    def sound(self) -> list[Tensor]:
        """Which conditions hold, as one vector; nothing where all surely do."""
        return [FUNCTIONS["stack"]([condition for _, condition in self.conditions])] if self.conditions else []

    def values(self, run: Callable[[list[Tensor]], Sequence[Any]]) -> list[Any]:
        """The values of the outputs; `run` works out any tensors of the same key."""
        found = list(run([*self.outputs, *self.sound]))
        if self.conditions and not np.all(sound := found.pop()):
            self.refuse(int(np.argmin(sound)), run)
        return found

    def refuse(self, place: int, values_of: Callable[[list[Tensor]], Sequence[Any]]) -> NoReturn:
        """Say why there are no draws by the law at a place of `sound`; `values_of` works out its parameters."""
        law = self.conditions[place][0]
        open_ = [p for p in law.parameters if not is_draw(p)]
        known = dict(zip(open_, map(as_tensor, values_of(open_)), strict=True))
        law.family.check_constants(tuple([known.get(p, p) for p in law.parameters]), law.name)
        raise ValueError(f"{law.family.who(law.name)}: its parameters are outside their domains, so there are no draws")


def expanded(
    outputs: Sequence[Node],
    key: Any,
    values: Mapping[Node, Node] | None = None,
    one: Callable[[RandomVariable, Key], Tensor] | None = None,
    generators: bool = False,
) -> Expanded:
    """`expand_draws`, with the laws of the draws that were made; `one` gives the value of one, if that is no sample.
    With `generators`, draws that the user gave a generator are made from its state, and not from the key."""
    value_of_draw = one or sampled
    given = dict(values or {})
    order = topological(outputs, blockers=given)
    keys = subkeys([node for node in order if is_draw(node)], key if isinstance(key, Key) else Key(key))
    if generators:
        own = {node: node.attrs.get("generator") for node in keys}
        keys |= {node: key_from(generator) for node, generator in own.items() if generator is not None}
    laws: dict[Node, Node] = {}  # the draws over expanded parameters, which stand for their laws
    results: dict[Node, Node] = dict(given)

    def value(node: Node) -> Node:
        if node not in results:
            results[node] = value_of_draw(laws[node], keys[node])  # type: ignore[arg-type]
        return results[node]

    for node in order:
        if node in results:
            continue
        refuse_inner_draws(node)
        as_laws = set(laws_of(node))
        new = rebuilt(node, tuple([laws[p] if p in as_laws and p in laws else value(p) for p in node.inputs]))
        (laws if is_draw(node) else results)[node] = new
    drawn = [value(node) for node in outputs]
    conditions = [(law, law.family.drawable(*law.parameters)) for law in laws.values()]  # type: ignore[attr-defined]
    certain = FUNCTIONS["all"]
    return Expanded(drawn, [(law, certain(c)) for law, c in conditions if c is not None])  # type: ignore[misc,arg-type]


def centered(output: Node, given: Sequence[Node] = ()) -> Tensor:
    """An expression with each draw replaced by the support point of its law, given its parents' points. Draws that are
    `given` stay."""
    key = placeholder(KEY_TYPE, "key")
    return expanded([output], key, {node: node for node in given}, lambda rv, _: _center(rv)).outputs[0]


def _center(rv: RandomVariable) -> Tensor:
    point = default_point(rv.family, rv.parameters, rv.family.support_for(rv.parameters))
    return FUNCTIONS["broadcast_to"](FUNCTIONS["cast"](as_tensor(point), rv.dtype), shape_of_draw(rv))


def subkeys(draws: Sequence[Node], key: Key) -> dict[Node, Key]:
    """The key of each draw: by its name, or by its place among the draws without one."""
    names = {node.attrs["identity"]: node.attrs["name"] for node in draws if node.attrs.get("name")}
    unnamed = {node.attrs["identity"] for node in draws} - set(names)
    places = {each: i for i, each in enumerate(sorted(unnamed, key=lambda identity: identity.number))}

    def of(identity: Any) -> Key:
        if identity not in names:
            return key.fold_in(OTHER_DRAWS).fold_in(places[identity])
        first, second = (int(n) % 2**31 for n in numbers_of(names[identity]))
        return key.fold_in(NAMED_DRAWS).fold_in(first).fold_in(second)

    return {node: of(node.attrs["identity"]) for node in draws}


def sampled(rv: RandomVariable, key: Key) -> Tensor:
    """One sample of a draw, from its family."""
    value = rv.family.sample(key, shape_of_draw(rv), *rv.parameters)
    return FUNCTIONS["cast"](value, rv.dtype)


def shape_of_draw(rv: RandomVariable) -> tuple[Any, ...]:
    """The shape of a draw, from its parameters where it is not known: numbers and symbolic scalars."""
    shape = rv.type.shape
    if None not in shape:
        return shape
    event = rv.event_ndim
    static, symbolic = rv.attrs["size"], iter(rv.inputs[len(rv.parameters) :])
    sizes = None if static is None else [next(symbolic) if n is None else n for n in static]
    drops = rv.family.event_axes(rv.parameters)
    result: list[Any] = []
    for axis, dim in enumerate(shape):
        if dim is not None:
            result.append(dim)
        elif sizes is not None and axis < len(shape) - event:
            result.append(sizes[axis])
        else:
            result.append(_found(rv, axis - len(shape), drops, event))
    return tuple(result)


def _found(rv: RandomVariable, axis: int, drops: Sequence[int], event: int) -> Tensor:
    """A length that is not known, from a parameter that has it: `axis` is counted from the end of the draw."""
    for parameter, drop in zip(rv.parameters, drops, strict=False):
        place = axis if axis >= -event else axis + event - drop
        fits = place >= -parameter.ndim and (place < -drop) == (axis < -event)
        if fits and parameter.type.shape[place] is None:
            inner = isinstance(parameter, RandomVariable)  # a law, which has no value
            return (shape_of_draw(parameter) if inner else FUNCTIONS["shape"](parameter))[place]
    known = rv.family.event_shape(*rv.parameters)[axis] if axis >= -event and rv.family.event_shape else None
    if known is not None:
        return as_tensor(known)
    raise ValueError(f"{rv.family.__name__}: no parameter tells the length of axis {axis} of {rv!r}; give a size")


def refuse_inner_draws(node: Node) -> None:
    """Draws inside the body of a loop or a derivative are not reached."""
    for body in bodies(node):
        inner = [each for each in topological(body.outputs) if is_draw(each)]
        if inner:
            raise NotImplementedError(
                f"{node!r} holds the draw {inner[0]!r} inside: make the draws before, and pass them in. A step of a "
                "loop may itself draw from a law that is the same in all steps but for its location and scale."
            )


def sampler(outputs: Sequence[Node], inputs: Sequence[Node] = ()) -> Callable[..., list[Any]]:
    """A pure JAX function of a key (two uint32 numbers) and of `inputs`, which gives one draw of `outputs`: to be
    compiled, and mapped over keys.

    >>> import jax
    >>> draw = ppl.sampler([ppl.Normal.dist(0, 1, shape=3)])
    >>> with jax.enable_x64(True):
    ...     (values,) = jax.jit(draw)(np.array([0, 1], "uint32"))
    >>> values.shape
    (3,)
    """
    key = placeholder(KEY_TYPE, "key")
    return to_jax([key, *inputs], expand_draws(outputs, key))
