"""The joint log-density of a model, as a graph over the unconstrained values."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import ppl.tensor as tt
from ppl.distributions import MvNormal, RandomVariable
from ppl.distributions.declaration.domains import Domain
from ppl.distributions.transforms.images import stays_inside
from ppl.graph import Node, substitute
from ppl.model.posterior.snapshot import Present
from ppl.model.registry.variable_registry import Books
from ppl.rewrites.marginalization.expressions.markov import along_inputs
from ppl.rewrites.reparameterization.coordinates import Coordinate
from ppl.tensor.tensor import Tensor


class Joint:
    """What the density of a model is made of.

    `values` maps each random variable to its value in the support, as an expression of the unconstrained values;
    `terms` has one log-density a variable, `jacobians` one log-determinant a transformed variable, and `potentials`
    what the user added. `variables` are those whose terms are wanted, all where None; `moved` holds those that stand
    for another value by a coordinate of rewriting, `given` symbols for variables whose values in the support are known.
    """

    def __init__(
        self,
        model: Books | Present,
        variables: Sequence[Tensor] | None = None,
        moved: Mapping[Tensor, tuple[Tensor, Coordinate]] | None = None,
        given: Mapping[Tensor, Tensor] | None = None,
    ) -> None:
        if isinstance(model, Books):
            model.check_whole()
        self.moved, self.given = moved or {}, given or {}
        self.values: dict[Node, Node] = {}
        self.terms: dict[Tensor, Tensor] = {}
        self.jacobians: dict[Tensor, Tensor] = {}
        for rv in sorted(model.basic_RVs if variables is None else variables, key=lambda rv: rv.serial):
            self._add(model, rv)
        self.potentials = [self.at_values(p) for p in model.potentials]

    def _add(self, model: Books | Present, rv: Tensor) -> None:
        assert isinstance(rv, RandomVariable)
        inputs = [self.at_values(p) for p in rv.parameters]
        value, transform = model.rvs_to_values[rv], model.rvs_to_transforms.get(rv)
        checked = transform is None or not stays_inside(rv, transform)
        if rv in self.moved:
            value, coordinate = self.moved[rv]
            inputs += [self.at_values(p) for p in coordinate.further]
            self.values[rv] = tt.cast(coordinate.backward(value, *inputs), rv.dtype)
            term = coordinate.log_density(value, *inputs)
        elif rv in self.given:
            self.values[rv] = self.given[rv]
            term = rv.family.log_density(self.given[rv], *inputs, checked=checked)
        elif transform is None:
            self.values[rv] = self.at_values(value)
            term = rv.family.log_density(self.values[rv], *inputs)
        else:
            self.values[rv] = tt.cast(transform.backward(value, *inputs), rv.dtype)
            term = rv.family.log_density(self.values[rv], *inputs, checked=checked)
            self.jacobians[rv] = transform.log_jac_det(value, *inputs)
        if rv.family is MvNormal:
            term = along_inputs(term)
        scale = model.rvs_to_total_sizes.get(rv)
        self.terms[rv] = term if scale is None else term * scale

    def at_values(self, x: Tensor) -> Any:
        """An expression with values in place of random variables."""
        return substitute(x, self.values)

    def parameters(self, rv: RandomVariable) -> Iterator[tuple[str, Domain | None, Tensor]]:
        """Label, domain and value of each parameter; of a law inside, such as a component of a mixture, all of its
        own."""
        declared = list(rv.family.params.items())
        for i, given in enumerate(rv.parameters):
            if isinstance(given, RandomVariable) and given not in self.values:
                for label, domain, value in self.parameters(given):
                    yield f"{label} of {given.family.__name__}", domain, value
            else:
                label, param = declared[i] if i < len(declared) else (f"parameter {i}", None)
                yield label, param and param.domain, tt.as_tensor(self.at_values(given))

    def logp(self, rv: Tensor, jacobian: bool = True) -> Tensor:
        """The term of one variable, entry by entry."""
        term = self.terms[rv]
        if not jacobian or rv not in self.jacobians:
            return term
        extra = self.jacobians[rv]
        if term.ndim > extra.ndim:
            return tt.sum(term, axis=tuple(range(extra.ndim, term.ndim))) + extra
        if extra.ndim > term.ndim:
            extra = tt.sum(extra, axis=tuple(range(term.ndim, extra.ndim)))
        return term + extra

    def total(self, jacobian: bool = True) -> Tensor:
        """The joint log-density."""
        parts = [tt.sum(self.logp(rv, jacobian)) for rv in self.terms]
        parts += [tt.sum(p) for p in self.potentials]
        return add_all(parts)


def add_all(parts: Sequence[Tensor]) -> Tensor:
    """The sum of scalars; zero for none."""
    total = tt.as_tensor(0.0)
    for i, part in enumerate(parts):
        total = part if i == 0 else total + part
    return total
