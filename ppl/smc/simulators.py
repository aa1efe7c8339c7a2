"""Models with simulators: their posterior with distances in the place of densities.

The density of what a simulator might give is not known. In its place stands exp(distance(ε, s(observed), s(simulated)))
for a simulation with the parameters of the particle, made anew whenever a particle is looked at and kept with it. Since
it is an unbiased estimate of its mean, particles follow the law that this mean gives (Andrieu & Roberts 2009).
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np

import ppl.tensor as tt
from ppl.distributions import RandomVariable
from ppl.distributions.draws.drawing import expand_draws
from ppl.graph import Node, ancestors, substitute
from ppl.model.errors import SamplingError
from ppl.model.posterior.density import Joint
from ppl.model.posterior.rewriting import Posterior
from ppl.model.posterior.snapshot import at_present
from ppl.model.prediction.predictive import forward
from ppl.model.registry.variable_registry import Books
from ppl.tensor.sampling.draws import KEY_TYPE
from ppl.tensor.tensor import Tensor, placeholder
from ppl.xla.later import jax

KEY = placeholder(KEY_TYPE, "key")  # of the simulations of a particle


def simulates(rv: Tensor) -> bool:
    """Whether a variable is given by a function that simulates it, and has no density."""
    return isinstance(rv, RandomVariable) and hasattr(rv.family, "closeness")


def simulators_of(model: Books) -> list[Tensor]:
    """The observed simulators of a model; an error for one that is not observed."""
    free = [f'"{rv.name}"' for rv in model.free_RVs if simulates(rv)]
    if free:
        raise SamplingError(
            f"Simulator {', '.join(free)} is not observed: there is nothing that simulations could be compared with."
            " Give observed=, or draw it by sample_posterior_predictive."
        )
    return [rv for rv in model.observed_RVs if simulates(rv)]


def try_out(model: Books) -> None:
    """Simulate once with parameters from the prior, so that what is wrong with a simulator is told by its own error."""
    for rv in simulators_of(model):
        assert isinstance(rv, RandomVariable)
        found = [x[0, 0] for x in forward(list(rv.parameters), 0, 1)] if rv.parameters else []
        shape = np.shape(model.rvs_to_values[rv].eval()) if None in rv.type.shape else rv.type.shape
        rv.family.simulation(np.random.default_rng(0), *found, size=shape)  # type: ignore[attr-defined]


@contextmanager
def naming_simulators(model: Books) -> Iterator[None]:
    """Where a simulator fails inside a compiled program, say that it did, and with what."""
    try:
        yield
    except jax.errors.JaxRuntimeError as error:
        names = ", ".join(f'"{rv.name}"' for rv in simulators_of(model))
        if not names:
            raise
        told = [line for line in str(error).splitlines() if line and not line.startswith(" ")]
        raise SamplingError(f"Simulator {names}: it failed for parameters that a particle has: {told[-1]}") from None


def as_simulated(model: Books) -> Posterior:
    """The posterior of a model as written, in which simulations are compared with what was observed; its terms depend
    on the key `KEY`."""
    now = at_present(model)
    mine = [rv for rv in now.observed_RVs if simulates(rv)]
    compared = frozenset(mine)
    joint = Joint(now, [rv for rv in now.basic_RVs if rv not in compared])
    terms = {rv.name or "": joint.logp(rv) for rv in joint.terms}
    closeness = {rv.name or "": rv.family.closeness(now.rvs_to_values[rv], joint.at_values(rv)) for rv in mine}  # type: ignore[attr-defined]
    terms |= closeness
    terms |= {p.name or "": x for p, x in zip(now.potentials, joint.potentials, strict=True)}
    names = [name for name, x in terms.items() if any(simulates(node) for node in ancestors([tt.as_tensor(x)]))]  # type: ignore[arg-type]
    drawn = expand_draws([tt.as_tensor(terms[name]) for name in names], KEY)
    terms |= dict(zip(names, drawn, strict=True))
    values: dict[Node, Node] = dict(joint.values)
    return Posterior(
        model=model,
        values=[now.inputs[rv] for rv in now.free_RVs],
        terms=terms,
        outputs={rv.name or "": substitute(rv, values) for rv in now.unobserved_RVs},  # type: ignore[misc]
        names={now.inputs[rv]: rv.name or "" for rv in now.free_RVs},
        jacobians={now.inputs[rv]: joint.jacobians[rv] for rv in now.free_RVs if rv in joint.jacobians},
    )
