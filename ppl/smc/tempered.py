r"""The path from a prior to a posterior: two log-densities, draws of the one, and the constant between them and the
model as written.

Sequential Monte Carlo needs a law that can be drawn from, its log-density, and what it is multiplied by, by and by,

.. math:: p_β(z) ∝ p_0(z) \, L(z)^β .

In a model as written :math:`p_0` is the prior, and L the density of observations, times potentials. In a rewritten
model :math:`p_0` is the product of the laws that the variables that are left still have; all else (marginals of what
was integrated out, rows, potentials) is L. Both lead to the same posterior, and :math:`\int p_0 L` is the evidence of
the model up to a constant, which the certificate's identity between the two densities gives.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

import ppl.tensor as tt
from ppl.compile.density import FlatProgram, Slot, layout, values_at
from ppl.distributions import RandomVariable
from ppl.distributions.transforms import default_transform
from ppl.graph import Node
from ppl.model.certificate.certificate import TOLERANCE
from ppl.model.certificate.identity import Identity
from ppl.model.errors import SamplingError
from ppl.model.finishing.finishing import Finisher, Request
from ppl.model.inputs.minibatches import refuse_minibatches
from ppl.model.log import log
from ppl.model.posterior.density import add_all
from ppl.model.posterior.rewriting import Posterior, rewritten
from ppl.model.posterior.snapshot import Present, at_present
from ppl.model.prediction.draw_rows import draw_keys
from ppl.model.prediction.forwards import Drawing
from ppl.model.prediction.restricted_priors import restricted_draws
from ppl.model.registry.custom_transforms import restricted
from ppl.model.registry.variable_registry import Books
from ppl.rewrites import optimize
from ppl.rewrites.marginalization.expressions.data import is_data
from ppl.samplers import DRAWS, PROGRAMS, turn
from ppl.smc.simulators import KEY, as_simulated, naming_simulators, simulators_of, try_out
from ppl.tensor.tensor import Tensor, TensorType, placeholder
from ppl.xla.later import jax, wide

CHECKED = 24  # draws at which the constant is worked out


class Start(NamedTuple):
    """Expressions of the variables at the start of the path, one for each value that moves."""

    values: list[Tensor]
    variables: list[RandomVariable]


@dataclass(eq=False)
class Tempered:
    """A path to a posterior. `constant` is what is to be added to log ∫ p₀ L for the evidence of the model as written;
    `words` say on which model the path runs, and why."""

    posterior: Posterior
    slots: list[Slot]
    program: FlatProgram
    start: Start
    simulates: bool
    constant: float = 0.0
    words: str = "the model as written"
    drawing: Drawing | None = None  # of the start, kept from one call of `prior_draws` to the next

    @property
    def dim(self) -> int:
        return self.slots[-1].stop if self.slots else 0

    @property
    def continuous(self) -> np.ndarray:
        """Which entries of a position are real numbers; the others are whole ones, plus up to a half."""
        kinds = [np.full(slot.stop - slot.start, slot.variable.dtype[0] == "f") for slot in self.slots]
        return np.concatenate(kinds) if kinds else np.zeros(0, bool)

    def density(self, keys: Any, position: Any, data: Any) -> tuple[Any, Any]:
        """Log-density of the start and log-likelihood of each particle."""
        extra = (keys,) if self.simulates else ()
        one = lambda key, x: self.program(x, *((key,) if extra else ()), *data)
        prior, likelihood = jax.vmap(one)(keys, position)
        return prior, likelihood

    def at(self, position: np.ndarray, keys: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Log-density of the start and log-likelihood at positions, (particles, dim)."""
        position = np.asarray(position, float)
        data = self.program.data
        with wide():
            run = PROGRAMS.get(("tempered", self.program.key), lambda: self.density, (keys, position, data), DRAWS)
            with naming_simulators(self.posterior.model), turn(run):
                prior, likelihood = jax.block_until_ready(run(keys, position, data))
            return np.asarray(prior), np.asarray(likelihood)

    def prior_draws(self, seed: int, draws: int) -> np.ndarray:
        """Positions drawn from the start of the path, (draws, dim); a whole number is spread over the interval of the
        reals that are rounded to it, so that moves are those of real numbers."""
        given, columns = restricted_draws(self.posterior.model, self.start.variables, seed, draws)
        places: dict[Node, Tensor] = {
            rv: placeholder(TensorType(rv.dtype, column.shape[2:]), rv.name)
            for rv, column in zip(given, columns, strict=True)
        }
        if self.drawing is None or columns:
            self.drawing = Drawing(self.start.values, places)
        found = self.drawing([draw_keys(seed, "smc", 1, draws), *columns])
        position = np.concatenate([np.reshape(x[0], (draws, -1)).astype(float) for x in found], axis=1)
        whole = ~self.continuous
        if whole.any():
            position[:, whole] += np.random.default_rng([seed, 1]).uniform(-0.5, 0.5, (draws, int(whole.sum())))
        return position

    def finisher(self, seed: int, quiet: bool = True) -> Finisher:
        """What brings back every name of the model."""
        names = list(self.posterior.outputs)
        return Finisher(self.posterior, self.slots, Request(names, seed, 0, False, False, quiet, True, {}, {}, 0))


def tempered(model: Books, rewrite: bool = True, protect: Collection[Any] = ()) -> Tempered:
    """The path to the posterior of a model: on the rewritten model where its evidence is known to be that of the model
    as written, else on the model as written, which `words` of the result explain."""
    if not model.free_RVs:
        raise SamplingError("sample_smc: the model has no free random variables.")
    if simulators_of(model):
        try_out(model)
        found = path_of(as_simulated(model), simulates=True)
        found.words = "the model as written, since it has simulators"
        return found
    if rewrite and not restricted(model):
        posterior = rewritten(model, True, protect)
        made: Tempered | str = posterior.once("tempered", lambda: _rewritten(posterior))
        if isinstance(made, Tempered):
            made.drawing = None  # data may be others now
            return made
        log.info("Sampling the model as written: %s", made)
        as_written = path_of(_as_written(model))
        as_written.words = f"the model as written: {made}"
        return as_written
    return path_of(_as_written(model))


def _as_written(model: Books) -> Posterior:
    return rewritten(model, False)


def _rewritten(posterior: Posterior) -> Tempered | str:
    """The path on a rewritten model; or why it is none whose evidence is known."""
    try:
        found = path_of(posterior)
        found.constant = constant_of(found, found.prior_draws(20, CHECKED) if found.dim else np.zeros((CHECKED, 0)))
    except (UnknownConstant, SamplingError, NotImplementedError) as why:
        return str(why)
    dims = posterior.plan.ndim_before if posterior.plan else found.dim
    found.words = f"the rewritten model, {found.dim} of {dims} dimensions"
    return found


class UnknownConstant(Exception):  # noqa: N818  an answer, not an error
    """The constant between the rewritten model and the model as written is not known; the message says why."""


def path_of(posterior: Posterior, simulates: bool = False, proper: bool = True) -> Tempered:
    """The path to a posterior; with `proper`, an error where the prior cannot be drawn from."""
    refuse_minibatches(posterior.terms.values())
    start = _start(posterior, proper)
    own = {rv.name or "" for rv in start.variables}
    both = [[tt.sum(x) for name, x in posterior.terms.items() if (name in own) is mine] for mine in (True, False)]
    terms = optimize([add_all(part) for part in both], once=is_data)
    slots = layout(posterior.values, posterior.start(None, 0))
    program = FlatProgram(terms, slots, extra=[KEY] if simulates else [], once=posterior.of_data)  # type: ignore[arg-type]
    return Tempered(posterior, slots, program, start, simulates)


def _start(posterior: Posterior, proper: bool) -> Start:
    """What moves, as expressions of variables that can be drawn."""
    now = at_present(posterior.model)
    made = posterior.plan
    variables = list(made.program.free) if made is not None else list(now.free_RVs)
    improper = [rv.name for rv in variables if rv.family.improper]  # type: ignore[attr-defined]
    if improper and proper:
        names = ", ".join(f'"{name}"' for name in improper)
        raise SamplingError(f"sample_smc: {names} has no proper prior, so there is none to start from. Give it one.")
    pairs = zip(variables, posterior.values, strict=True)
    return Start([_forward(posterior, now, rv, value) for rv, value in pairs], variables)  # type: ignore[arg-type]


def _forward(posterior: Posterior, now: Present, rv: Any, value: Tensor) -> Tensor:
    """The value that stands for a variable, as an expression of it and its parents."""
    made = posterior.plan
    if made is not None and rv in made.coordinates:
        coordinate = made.coordinates[rv]
        found: Tensor = coordinate.forward(rv, *rv.parameters, *coordinate.further)
        return tt.broadcast_to(found, rv.type.shape) if None not in rv.type.shape else found
    several = made is not None and rv in made.members
    transform = default_transform(rv.family, rv.parameters) if several else now.rvs_to_transforms.get(rv)
    return rv if transform is None else transform.forward(rv, *rv.parameters)


def total_of(path: Tempered) -> float:
    """The log-density of a model in which nothing is left to move."""
    posterior = path.posterior
    return float(values_at([posterior.logp()], path.slots, np.zeros(0), posterior.of_data)[0])


def constant_of(path: Tempered, positions: np.ndarray) -> float:
    r"""What log-densities as written are above those that move and are drawn back, found at some positions: the same
    number everywhere."""
    seed, posterior, count = 20, path.posterior, len(positions)
    if posterior.plan is None or not (posterior.plan.steps or posterior.plan.coordinates):
        return 0.0
    try:
        values = path.finisher(seed).values(positions[None])
        identity = Identity(posterior, path.slots, posterior.outputs)
        keys = draw_keys(seed, "recover", 1, count)[0]
        with np.errstate(all="ignore"):
            sides = identity.at(positions, {name: x[0] for name, x in values.items()}, keys)
    except Exception as error:
        raise UnknownConstant(
            f"the constant that rewriting dropped is not known ({type(error).__name__}: {error})"
        ) from None
    if path.dim:
        sampled = sum(path.at(positions, np.zeros((count, 2), np.uint32)))
    else:
        sampled = np.full(count, total_of(path))
    apart, size = sides.left - sampled, 1.0 + sides.size + np.abs(sampled)
    known = np.isfinite(apart) & np.isfinite(size)
    if known.sum() < 2:
        raise UnknownConstant("the constant that rewriting dropped is not known: no draw has a finite density")
    apart, size = apart[known], size[known]
    best = int(np.argmin(size))
    if np.max(np.abs(apart - apart[best]) / size) > TOLERANCE[tt.config.floatX]:
        raise UnknownConstant("the density that rewriting leaves and that of the model differ by more than a constant")
    return float(apart[best])
