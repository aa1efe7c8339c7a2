"""What a draw is made by, as programs written for PyTensor read it: `x.owner.op`, and `x.owner.inputs`.

In PyTensor each family has an operation of a class of its own, `NormalRV`, which is applied to a generator, a size and
parameters, sometimes other ones than the user's: a gamma law has a scale there, not a rate. A draw of ppl holds the
family and the family's parameters. This is how these look from there; nothing in ppl computes by it.
"""

from __future__ import annotations

import re
import weakref
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ppl.graph import Application, Attrs, Node
from ppl.graph.node import Op
from ppl.tensor.sampling.generators import after, generator_input
from ppl.tensor.tensor import FUNCTIONS, Tensor, as_tensor, constant


class RandomOperation:
    """The operation of a family: its name, the axes of one value and of the parameters, its dtype."""

    family: Any = None
    name: str | None = None
    symbolic = False  # whether PyTensor has a graph of other draws there (`SymbolicRandomVariable`)
    _print_name: tuple[str, str] = ("", "")

    def __init__(self, ndim_supp: int, ndims_params: Sequence[int], dtype: str, signature: str | None = None) -> None:
        self.ndim_supp, self.ndims_params, self.dtype = ndim_supp, list(ndims_params), dtype
        self.signature = signature or _scalars(ndim_supp, ndims_params)

    @property
    def default_output(self) -> int:
        """The place of the draw among the outputs, where the generator's next state comes before it."""
        return self.family.in_pytensor.outputs.index("*")

    def rng_param(self, node: Any) -> Any:
        """The generator among the inputs; None where there is none."""
        return next((x for x in node.inputs if x.op is GENERATOR), None)

    def size_param(self, node: Any) -> Any:
        """The shape of independent draws."""
        return node.size

    def dist_params(self, node: Any) -> list[Any]:
        """The parameters."""
        return list(node.parameters)

    def __call__(self, *parameters: Any, size: Any = None, name: str | None = None, rng: Any = None) -> Any:
        """A draw with these parameters, where they are the family's own."""
        names = list(self.family.params)
        if self.family.in_pytensor.parameters is not None or len(names) != len(parameters):
            raise NotImplementedError(
                f"{type(self).__name__} cannot be called with {len(parameters)} parameters of PyTensor's: use "
                f"{self.family.__name__}.dist({', '.join(names)})"
            )
        return self.family.dist(**dict(zip(names, parameters, strict=True)), size=size, name=name, rng=rng)

    def _props(self) -> tuple[Any, ...]:
        return self.ndim_supp, *self.ndims_params, self.dtype, self._print_name

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and other._props() == self._props()  # type: ignore[attr-defined]

    def __hash__(self) -> int:
        return hash((type(self), self._props()))

    def __str__(self) -> str:
        return type(self).__name__ if self.name is None or self.symbolic else f'{self.name}_rv{{"{self.signature}"}}'

    __repr__ = __str__


def _scalars(ndim_supp: int, ndims_params: Sequence[int]) -> str | None:
    """The signature of a family of numbers, whose letters nobody has to choose."""
    return f"{','.join('()' for _ in ndims_params)}->()" if not ndim_supp and not any(ndims_params) else None


class InPyTensor:
    """How PyTensor has a family, as far as the family's name and parameters do not tell.

    `kind` is the operation's class, `name` and `shown` are its names, `signature` tells the axes of the parameters and
    of one value; `shown` and `signature` may be functions of the parameters. `parameters` gives PyTensor's parameters
    from the family's, `given` the family's from PyTensor's. `inputs` says in which order a generator, a size and the
    parameters stand, `outputs` where the draw stands beside the generator's next state. `same_as` gives a draw of the
    law that PyTensor makes instead, or None.
    """

    assumed = False  # whether it is what the family's name tells, which holds for no family derived from it

    def __init__(
        self,
        name: str | None = "",
        *,
        kind: str | type[RandomOperation] = "",
        shown: Any = "",
        signature: Any = None,
        parameters: Callable[..., Sequence[Any]] | None = None,
        given: Callable[..., Sequence[Any]] | None = None,
        inputs: str = "rng size *",
        outputs: str = "",
        symbolic: bool = False,
        same_as: Callable[..., Any] | None = None,
        base: type[RandomOperation] = RandomOperation,
    ) -> None:
        self.name, self.kind, self.shown, self.signature, self.base = name, kind, shown, signature, base
        self.parameters, self.given = parameters, given
        self.inputs, self.symbolic, self.same_as = inputs.split(), symbolic, same_as
        self.outputs = (outputs or ("rng *" if "rng" in self.inputs else "*")).split()
        self._known: dict[Any, RandomOperation] = {}

    def __set_name__(self, family: Any, attribute: str) -> None:
        self.family = family
        if self.name == "":
            self.name = family.__name__.lower()
        if not isinstance(self.kind, type):
            facts = {"family": family, "name": self.name, "symbolic": self.symbolic, "__module__": family.__module__}
            self.kind = type(self.kind or f"{family.__name__}RV", (self.base,), facts)

    def words(self, parameters: Sequence[Any]) -> str:
        """What the operation is called in print."""
        return self.shown(*parameters) if callable(self.shown) else self.shown or self.family.__name__

    def of_pytensor(self, parameters: Sequence[Any]) -> list[Tensor]:
        """The parameters as PyTensor has them."""
        return [as_tensor(p) for p in (self.parameters(*parameters) if self.parameters else parameters)]

    def operation(self, ndim: int, axes: Sequence[int], dtype: str, parameters: Sequence[Any]) -> RandomOperation:
        """The operation of a draw; `ndim` and `axes` are those of its value and of the family's parameters."""
        signature = self.signature(*parameters) if callable(self.signature) else self.signature
        if signature is not None:
            axes = list(map(_axes, re.findall(r"\(([^()]*)\)", signature.partition("->")[0])))
        elif self.parameters is not None:
            axes = [0] * len(self.of_pytensor(parameters))
        content = ndim, tuple(axes), dtype, signature, self.words(parameters)
        if content not in self._known:
            made = self.kind(ndim, axes, dtype, signature)  # type: ignore[operator]
            made.family = self.family
            made._print_name = (content[-1], rf"\operatorname{{{content[-1]}}}")
            self._known[content] = made
        return self._known[content]


def _axes(group: str) -> int:
    return len(group.split(",")) if group else 0


def _declared(family: Any) -> InPyTensor:
    """What a family, or one that it is a special case of, says; a family that says nothing is as its name tells."""
    fact: InPyTensor | None = family.in_pytensor
    if fact is None or (fact.assumed and fact.family is not family):
        fact = family.in_pytensor = InPyTensor()
        fact.assumed = True
        fact.__set_name__(family, "in_pytensor")
    return fact


class OperationClass:
    """`rv_type` of a family: the class of its operation, for `isinstance(x.owner.op, pm.Normal.rv_type)`."""

    def __get__(self, instance: Any, family: Any) -> Any:
        fact = _declared(family)
        if fact.same_as is not None and fact.family is family and not fact.symbolic:
            raise AttributeError(f"{family.__name__} has no operation of its own")
        return fact.kind


class OperationOfFamily:
    """`rv_op` of a family: its operation, where it is the same whatever the parameters are."""

    def __get__(self, instance: Any, family: Any) -> Any:
        fact = _declared(family)
        if fact.symbolic or fact.same_as is not None or callable(fact.signature):
            raise AttributeError(f"{family.__name__} has no operation without parameters")
        axes = [p.domain.ndim for p in family.params.values()]
        parameters = [constant(np.ones((1,) * ndim)) for ndim in axes]
        support = family.support_for(parameters)
        return fact.operation(support.ndim, axes, "int64" if support.discrete else "float64", parameters)


class Drawing(Application):
    """What a draw is made by: the operation of its family, applied to a generator, a size and parameters."""

    __slots__ = ("_fact", "_law")

    def __init__(self, node: Any) -> None:
        super().__init__(node)
        self._law, self._fact = node, _declared(node.family)
        # Where PyTensor makes another family of the same law, it tells operation and parameters.
        while self._fact.same_as is not None and (law := self._fact.same_as(*self._law.parameters)) is not None:
            self._law, self._fact = law, _declared(law.family)

    @property
    def op(self) -> RandomOperation:
        """The operation."""
        law = self._law
        return self._fact.operation(law.event_ndim, law.family.event_axes(law.parameters), law.dtype, law.parameters)

    @property
    def size(self) -> Node:
        """The shape of independent draws that was asked for."""
        size = self._node.attrs["size"]
        if size is None:
            return NO_SIZE
        symbolic = iter(self._node.inputs[len(self._node.inputs) - self._node.attrs["sizes"] :])
        entries = [next(symbolic) if n is None else n for n in size]
        if not self._node.attrs["sizes"]:
            return constant(np.array(entries, "int64"))
        return FUNCTIONS["stack"]([FUNCTIONS["cast"](as_tensor(n), "int64") for n in entries])

    @property
    def parameters(self) -> list[Tensor]:
        """The parameters as PyTensor has them."""
        return self._fact.of_pytensor(self._law.parameters)

    @property
    def inputs(self) -> list[Any]:
        """Generator, size and parameters, in PyTensor's order."""
        generator = self._node.attrs.get("generator")
        if generator is None:
            generator = Node(GENERATOR, (), Attrs(identity=self._node.attrs["identity"], step=0))
        _DRAWS[generator] = weakref.ref(self._node)
        parts = {"rng": [generator], "size": [self.size], "*": self.parameters}
        return [each for word in self._fact.inputs for each in parts[word]]

    @property
    def outputs(self) -> list[Node]:
        """The draw, and the generator's next state, in PyTensor's order."""
        generator = self._node.attrs.get("generator")
        if generator is None:
            moved = Node(GENERATOR, (), Attrs(identity=self._node.attrs["identity"], step=1))
        else:
            moved = after(generator)
        return [self._node if word == "*" else moved for word in self._fact.outputs]

    @property
    def out(self) -> Node:
        """The draw."""
        return self._node

    def default_output(self) -> Node:
        """The draw."""
        return self._node


class Beside(Node):
    """What is no tensor among the inputs and outputs of a draw, such as its generator: keys take its place here."""

    __slots__ = ()
    name = owner = None

    def get_parents(self) -> list[Any]:
        return []

    def __eq__(self, other: object) -> bool:
        return self is other  # of a tensor, too, which else would be asked what `x == y` is

    def __hash__(self) -> int:
        return object.__hash__(self)


class NoSize(Beside):
    """Stands for the size of a draw where none was asked for, PyTensor's `NoneConst`."""

    __slots__ = ()
    data = None

    def eval(self, *_: Any, **__: Any) -> None:
        """None."""


class BesideType:
    """The type of what is no tensor, which its class alone tells."""

    node_class: type[Node] = Beside

    def __hash__(self) -> int:
        return hash(type(self))

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other)

    def __repr__(self) -> str:
        return type(self).__name__


class RandomGeneratorType(BesideType):
    """The type of a generator of random numbers, PyTensor's `RandomType`."""

    def __call__(self, name: str | None = None) -> Tensor:
        """An input of functions that takes a generator."""
        return generator_input(name)

    make_variable = __call__


class NoneTypeT(BesideType):
    """The type of what stands where no size was asked for."""

    node_class = NoSize


class _Leaf(Op):
    """A leaf that is no tensor."""

    def __init__(self, name: str, type: BesideType) -> None:
        self.name, self.type = name, type

    def infer(self, inputs: tuple[Node, ...], attrs: Attrs) -> Any:
        return self.type


GENERATOR = _Leaf("generator", RandomGeneratorType())
NO_SIZE: Any = Node(_Leaf("no size", NoneTypeT()))
_DRAWS: weakref.WeakKeyDictionary[Node, Any] = weakref.WeakKeyDictionary()  # what each of these generators draws


def own_parameters(inputs: tuple[Any, ...]) -> tuple[Any, ...]:
    """The parameters of a draw by its family, where a program gives `*x.owner.inputs` as they are in PyTensor."""
    reference = _DRAWS.get(inputs[0]) if inputs and isinstance(inputs[0], Beside) else None
    drawn = None if reference is None else reference()
    return inputs if drawn is None else drawn.parameters
