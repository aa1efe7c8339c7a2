r"""The identity between the joint density of a model, the marginal that is sampled, and the recovery.

Rewriting integrates variables out of a model and draws them back after sampling. Let u be what the sampler moves, with
log-density log m(u), and ε the random numbers of the recovery, with density q(ε | u). Every variable x of the model is
a function of both. If marginal and recovery are right, then

.. math:: \log p(y, x(u, ε)) - \log q(ε \mid u) + \log\left|\frac{∂x}{∂(u, ε)}\right| - \log m(u)

is the same for all u and ε. The density p is that of the model as the user wrote it, which no rule has touched, and the
derivative is taken numerically. A sign, an index, a Jacobian or a scale that is wrong in any rule makes it vary.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

import ppl.tensor as tt
from ppl.distributions import RandomVariable, is_draw
from ppl.distributions.declaration.inner import laws_of
from ppl.distributions.draws.drawing import sampled, subkeys
from ppl.distributions.transforms import Transform, ZeroSumTransform, default_transform
from ppl.graph import Node, rebuilt, substitute, topological
from ppl.model.certificate.volumes import RARE, Volume
from ppl.model.posterior.density import add_all
from ppl.model.posterior.snapshot import Present, at_present
from ppl.model.prediction.draw_rows import RowProgram, over_draws, prepared
from ppl.model.prediction.forwards import keys_of_streams
from ppl.rewrites import optimize
from ppl.rewrites.marginalization.expressions.markov import along_inputs
from ppl.rewrites.values.by_numpy import work
from ppl.tensor.core.black_box import HostOp, results_of
from ppl.tensor.sampling.draws import KEY_TYPE
from ppl.tensor.sampling.keys import Key
from ppl.tensor.sampling.subkeys import Subkeys
from ppl.tensor.tensor import Tensor, placeholder

WHOLE = 2000  # numbers of a normal vector, up to which its density is judged by its whole covariance

if TYPE_CHECKING:
    from ppl.compile.density import Slot
    from ppl.model.posterior.rewriting import Posterior


def noise_of(outputs: Sequence[Node]) -> list[RandomVariable]:
    """The draws whose values some expressions use, parents first; a draw that only stands for its law is none."""
    found: set[Node] = set()
    seen: set[tuple[Node, bool]] = set()
    left = [(node, False) for node in outputs]
    while left:
        node, as_law = left.pop()
        if (node, as_law) in seen:
            continue
        seen.add((node, as_law))
        if is_draw(node) and not as_law:
            found.add(node)
        laws = set(laws_of(node))
        left += [(x, x in laws) for x in node.inputs]
    return [node for node in topological(list(outputs)) if node in found]  # type: ignore[misc]


def joint_as_written(now: Present, values: Mapping[Node, Node]) -> list[Tensor]:
    """The log-densities of a model at values of its variables, term by term, as the user wrote it."""
    terms: list[Tensor] = []
    for rv in now.basic_RVs:
        assert isinstance(rv, RandomVariable)
        value = values[rv] if rv in values else substitute(now.rvs_to_values[rv], values)
        density = rv.family.log_density(value, *substitute(list(rv.parameters), values))
        density = along_inputs(density, WHOLE)
        scale = now.rvs_to_total_sizes.get(rv)
        terms.append(density if scale is None else density * scale)
    return [*terms, *(substitute(p, values) for p in now.potentials)]  # type: ignore[list-item]


def _random(x: Tensor) -> bool:
    """Whether an expression uses a stream of random numbers, which goes on with every evaluation."""
    return bool(keys_of_streams([x], placeholder(KEY_TYPE, "key"), {}))


class NoIdentity(Exception):  # noqa: N818  an answer, not an error
    """The identity cannot be worked out for a posterior; the message says why."""


class Sides(NamedTuple):
    """What is known of some draws, one entry a draw."""

    left: np.ndarray  # the left side without the marginal
    size: np.ndarray  # the sum of its terms without their signs
    drawn: np.ndarray  # the log-density of the random numbers of the recovery
    again: dict[str, np.ndarray]  # variables and Deterministics as they follow from the model as written


class Identity:
    """The left side of the identity, and every name of the model, as programs over draws of a run.

    Their inputs are what the sampler moved, the recovered variables that are draws as they stand, and a key, from which
    the random numbers behind all other recovered variables are made once more. `outputs` are the names of a result.
    """

    def __init__(self, posterior: Posterior, slots: Sequence[Slot], outputs: Mapping[str, Tensor]) -> None:
        now = at_present(posterior.model)
        made = {rv.name or "": posterior.outputs[rv.name or ""] for rv in now.free_RVs}
        written: dict[Node, Node] = dict(zip(now.free_RVs, made.values(), strict=True))
        noise, self._beside = noise_of(list(made.values())), posterior.beside
        drawn = frozenset(noise)
        self.slots, self._now = list(slots), now
        self.plain = {name: x for name, x in made.items() if x in drawn and name in outputs}
        self._place: dict[Node, Node] = {x: placeholder(x.type, name) for name, x in self.plain.items()}
        self._noise = [d for d in noise if d not in self._place]
        stretched = self._stretched(made)
        self._on_plane = _coordinates_on_planes(now, made)
        terms = joint_as_written(now, written)
        terms += [law.family.log_density(x, *law.parameters) for x, law in posterior.beside]
        density = [d.family.log_density(d, *d.parameters) for d in noise]
        jacobians = [*posterior.jacobians.values(), *(self._slope(d, t) for d, t in stretched.items() if t)]
        recovered = _sum(density)
        left = _sum(terms) - recovered + _sum(jacobians)
        size = _sum(map(abs, [*terms, *density, *jacobians]))
        shown = [t.forward(d, *d.parameters) if (t := stretched.get(d)) else d for d in self._noise]
        again = {rv.name or "": substitute(rv, written) for rv in now.unobserved_RVs}
        whole = made.keys() <= outputs.keys()  # else a key gives other random numbers than in the result
        told = [name for name in again if whole and name in outputs and name not in self.plain]
        self.names = [name for name in told if not _random(again[name])]
        if _random(left):
            raise NoIdentity("the density uses random numbers of a stream, which are others at every evaluation")
        self.volume = self._volume(posterior, list(made.values()), stretched)
        behind = list(outputs.values()) if whole else list(made.values())
        self._program([left, size, recovered, *(again[name] for name in self.names), *shown], behind, posterior)

    def _stretched(self, made: Mapping[str, Tensor]) -> dict[Node, Transform | None]:
        """The draws that are values of no variable as they stand, and coordinates in which they move freely."""
        values = frozenset([*made.values(), *(x for x, _ in self._beside)])
        bent = [d for d in self._noise if d.dtype[0] == "f" and d not in values]
        return {d: default_transform(d.family, d.parameters) for d in bent}

    def _slope(self, d: Any, transform: Transform) -> Tensor:
        return -transform.log_jac_det(transform.forward(d, *d.parameters), *d.parameters)

    def _volume(
        self, posterior: Posterior, made: Sequence[Tensor], stretched: Mapping[Node, Transform | None]
    ) -> Volume | None:
        """The map from what moves to what it makes, where that is more than draws as they stand."""
        values = dict(self._place)
        self._symbols: list[Tensor] = []
        sources = list(posterior.moved)
        others = [slot.variable for slot in self.slots if slot.variable not in posterior.moved]
        others += self._place.values()  # type: ignore[arg-type]
        for d in self._noise:
            transform, inputs = stretched.get(d), substitute(list(d.parameters), values)
            symbol = placeholder(d.type if transform is None else transform.forward(d, *d.parameters).type)
            values[d] = symbol if transform is None else transform.backward(symbol, *inputs)
            self._symbols.append(symbol)
            (sources if d in stretched else others).append(symbol)
        made_of_noise = lambda x: (
            x.dtype[0] == "f" and not is_draw(x) and not stretched.keys().isdisjoint(noise_of([x]))
        )
        targets = [*posterior.moved.values(), *filter(made_of_noise, [*made, *(x for x, _ in self._beside)])]
        targets = [self._on_plane.get(x, x) for x in targets]
        bent = bool(posterior.moved) or any(stretched.values())
        return Volume(sources, substitute(targets, values), others, bent, posterior.of_data) if sources else None  # type: ignore[arg-type]

    def _program(self, wanted: list[Tensor], behind: Sequence[Tensor], posterior: Posterior) -> None:
        """The program of the inputs, and of keys: the random numbers are those of a program of what lies `behind`."""
        self._given: list[Any] = [*[slot.variable for slot in self.slots], *self._place.values()]
        key = placeholder(KEY_TYPE, "key")
        streams = keys_of_streams(behind, key, {})
        keys = subkeys([node for node in topological(behind, blockers=streams) if is_draw(node)], Key(key))
        values = dict(self._place)
        for d in self._noise:
            law = rebuilt(d, tuple(substitute(list(d.inputs), values)))
            values[d] = sampled(law, keys[d])  # type: ignore[arg-type]
        self._keys = Subkeys(substitute(wanted, values), key) if self._noise else None  # type: ignore[arg-type]
        outputs = substitute(wanted, values) if self._keys is None else self._keys.outputs
        inputs = self._given if self._keys is None else [*self._given, self._keys.input]
        self.program = RowProgram(inputs, optimize(outputs), once=posterior.of_data, little=RARE)  # type: ignore[arg-type]

    def as_written(self, values: Mapping[str, np.ndarray]) -> np.ndarray | None:
        """The joint log-density of the model as written at values of all its variables; None where some are missing."""
        found = self._of_variables(lambda places: [_sum(joint_as_written(self._now, places))], values)
        return found[0] if found else None

    def single(self, values: Mapping[str, np.ndarray]) -> bool:
        """Whether functions on the host, whose insides nobody knows, give numbers of single precision at values of all
        variables: then they have the digits of these, whatever the type that they are declared to have."""

        def called(places: Mapping[Node, Node]) -> list[Tensor]:
            terms = [*joint_as_written(self._now, places), *substitute(list(self._now.unobserved_RVs), places)]
            return [x for node in topological(terms) if isinstance(node.op, HostOp) for x in results_of(node)]

        found = [x[np.isfinite(x)] for x in self._of_variables(called, values) if x.dtype == np.float64]
        return any(np.any(x % 1) and np.all(x == x.astype(np.float32)) for x in found)

    def _of_variables(
        self, wanted: Callable[[Mapping[Node, Node]], list[Tensor]], values: Mapping[str, np.ndarray]
    ) -> list[np.ndarray]:
        """Expressions of all variables of the model at their values; none where some are missing."""
        if any((rv.name or "") not in values for rv in self._now.free_RVs):
            return []
        places: dict[Node, Node] = {rv: placeholder(rv.type, rv.name) for rv in self._now.free_RVs}
        columns = [values[rv.name or ""][None].astype(rv.dtype) for rv in self._now.free_RVs]
        outputs = wanted(places)
        if not outputs:
            return []
        program = RowProgram(list(places.values()), outputs)  # type: ignore[arg-type]
        return [x[0] for x in over_draws(program, columns)]

    @property
    def work(self) -> float:
        """About how many numbers one draw takes NumPy."""
        each = sum(map(work, topological(self.program.inner.left)))
        return each if self.volume is None else each + self.volume.work

    @property
    def is_fixed(self) -> bool:
        """Whether there is nothing that differs from draw to draw."""
        return not self._given and self._keys is None

    def prepare(self, draws: int) -> None:
        """Make what so many draws need, before they are there."""
        prepared(self.program, draws)
        if self.volume is not None:
            self.volume.prepare(draws)

    def at(self, positions: np.ndarray, recovered: Mapping[str, np.ndarray], keys: np.ndarray) -> Sides:
        """The sides at draws: their positions, the values of recovered variables by name, and their keys."""
        given = [slot.read(positions) for slot in self.slots]
        given += [recovered[name].astype(x.dtype) for name, x in self.plain.items()]
        drawn = [] if self._keys is None else [self._keys.of(keys)]
        left, size, density, *rest = [x[0] for x in over_draws(self.program, [x[None] for x in (*given, *drawn)])]
        again = dict(zip(self.names, rest, strict=False))
        if self.volume is None:
            return Sides(left, size, density, again)
        noise = rest[len(self.names) :]
        volume = self.volume.at(dict(zip([*self._given, *self._symbols], [*given, *noise], strict=True)))
        return Sides(left + volume, size + abs(volume), density, again)


def _coordinates_on_planes(now: Present, made: Mapping[str, Tensor]) -> dict[Tensor, Tensor]:
    """For variables that lie on a plane, such as those that add up to zero, coordinates there that keep volumes."""
    found: dict[Tensor, Tensor] = {}
    for rv in now.free_RVs:
        transform = now.rvs_to_transforms[rv]
        if isinstance(transform, ZeroSumTransform):
            x = made[rv.name or ""]
            found[x] = transform.forward(x)
    return found


def _sum(terms: Any) -> Tensor:
    return add_all([tt.sum(term) for term in terms])
