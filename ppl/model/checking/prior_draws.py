"""Some draws from the prior, and of data from them, by NumPy: within milliseconds, and without compiling a program."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

import ppl.tensor as tt
from ppl.distributions import RandomVariable
from ppl.distributions.declaration.domains import Domain
from ppl.distributions.declaration.inner import laws_of
from ppl.distributions.draws.drawing import expanded
from ppl.graph import GET, Node, ancestors
from ppl.model.checking.effort import effort
from ppl.model.prediction.draw_rows import RowProgram, draw_keys
from ppl.rewrites.values.by_numpy import is_known
from ppl.rewrites.values.folding import step_by_step
from ppl.tensor.core.names import NAMED
from ppl.tensor.sampling.draws import KEY_TYPE
from ppl.tensor.sampling.subkeys import Subkeys
from ppl.tensor.tensor import Tensor, as_tensor, is_constant, placeholder
from ppl.tensor.variables import Variable

DRAWS, FEWER, SEED = 64, 8, 20
MOST_WORK = 2e7  # numbers that NumPy goes over, a twentieth of a second
LITTLE = 8e6  # numbers for all draws at once, some hundredths of a second
SOME, MOST_NODES = 16, 300  # draws and operations, some ten microseconds each, where draws are made one by one


class PriorDraws(NamedTuple):
    """Values of free variables, data drawn from them, and whether their laws have these parameters and these data."""

    count: int
    free: Mapping[RandomVariable, np.ndarray]  # (draws, ...)
    data: Mapping[RandomVariable, np.ndarray]
    lawful: Mapping[tuple[RandomVariable, str, Domain, int], np.ndarray]  # by variable and parameter
    inside: Mapping[RandomVariable, np.ndarray]  # whether the observed values are in the support, entry by entry


def prior_draws(
    free: Sequence[RandomVariable], observed: Sequence[RandomVariable], values: Mapping[RandomVariable, np.ndarray]
) -> PriorDraws | str:
    """The draws, or the reason why there are none. Variables with an improper prior are given numbers near 0 or 1."""
    undrawable = [rv for rv in (*free, *observed) if not rv.family.sample and not rv.family.improper]
    if undrawable:
        return f'"{undrawable[0].name}" is a {undrawable[0].family.__name__}, which declares no draws'
    wanted: dict[Any, Node] = {("free", rv): rv for rv in free}
    of_data: dict[Any, Node] = {("data", rv): rv for rv in observed}
    lawful = {
        ("lawful", rv, name, domain, place): holds
        for rv in (*free, *observed)
        for place, (name, domain, holds) in enumerate(_conditions(rv))
    }
    inside = {("inside", rv): check for rv in observed if (check := _support(rv, values.get(rv))) is not None}
    attempts = [(DRAWS, wanted | of_data | lawful | inside), (FEWER, wanted | of_data | lawful | inside),
                (DRAWS, wanted | lawful | inside), (FEWER, wanted | lawful | inside)]  # fmt: skip
    for count, outputs in attempts:
        found = _drawn(list(outputs.values()), free, count)
        if not isinstance(found, str):
            return _sorted(dict(zip(outputs, found, strict=True)))
    return found


def _drawn(outputs: list[Node], free: Sequence[RandomVariable], count: int) -> list[np.ndarray] | str:
    """Draws of expressions, or the reason why there are none."""
    improper = [rv for rv in free if rv.family.improper]
    given: dict[Node, Tensor] = {rv: placeholder(rv.type, rv.name or "") for rv in improper}
    key = placeholder(KEY_TYPE, "key")
    try:
        found = expanded(outputs, key, given).outputs
    except NotImplementedError as error:
        return str(error)
    nodes = ancestors(found)
    unknown = [n for n in nodes if n.inputs and not (n.op in (NAMED, GET) or is_known(n))]
    if unknown:
        return f"NumPy does not know {unknown[0].op.name}"
    rng = np.random.default_rng(SEED)
    stand_ins = [_stand_in(rv, rng.normal(size=(count, *rv.type.shape))) for rv in improper]
    columns = [draw_keys(SEED, "check", 1, count)[0], *stand_ins]
    if not count * effort(found) < MOST_WORK:
        return "they are too much work for NumPy"
    inputs, some = [key, *given.values()], [column[:SOME] for column in columns]
    drawn = _together(found, inputs, columns) or _together(found, inputs, some)
    if drawn is None and len(nodes) < MOST_NODES:
        drawn = _one_by_one(found, inputs, some)
    return "they take too many steps" if drawn is None else drawn


def _stand_in(rv: RandomVariable, z: np.ndarray) -> np.ndarray:
    """Numbers in the support of a flat law."""
    return z if rv.family.support_for(rv.parameters).lower is None else np.exp(z)


def _together(outputs: list[Tensor], inputs: list[Tensor], columns: list[np.ndarray]) -> list[np.ndarray] | None:
    """All draws as rows of arrays, where every operation has a form for rows."""
    keys = Subkeys(outputs, inputs[0])
    program = RowProgram([keys.input, *inputs[1:]], keys.outputs, little=LITTLE)
    at_once = program.at_once(len(columns[0]))
    if at_once is None:
        return None
    rows = program.columns.given([keys.of(columns[0][None])[0], *columns[1:]], axis=1)
    found = at_once(rows, program.inner.data)
    return None if found is None else program.columns.taken(found, axis=1)


def _one_by_one(outputs: list[Tensor], inputs: list[Tensor], columns: list[np.ndarray]) -> list[np.ndarray] | None:
    """Each draw by itself."""
    data: dict[Node, np.ndarray] = {n: np.asarray(n.value) for n in ancestors(outputs) if isinstance(n, Variable)}
    each = []
    for row in zip(*columns, strict=True):
        found = step_by_step(outputs, data | dict(zip(inputs, row, strict=True)))
        if found is None:
            return None
        each.append(found)
    return [np.stack(values) for values in zip(*each, strict=True)]


def _sorted(found: Mapping[Any, np.ndarray]) -> PriorDraws:
    of = lambda kind: {
        key[1] if len(key) == 2 else key[1:]: np.asarray(v) for key, v in found.items() if key[0] == kind
    }
    return PriorDraws(len(next(iter(found.values()))), of("free"), of("data"), of("lawful"), of("inside"))


def _conditions(rv: RandomVariable) -> Iterator[tuple[str, Domain, Tensor]]:
    """Of each parameter that is not surely in its domain, whether it is; those of laws among the parameters too."""
    for law in laws_of(rv):
        yield from _conditions(law)
    laws = set(laws_of(rv))
    for (name, p), value in zip(rv.family.params.items(), rv.parameters, strict=False):
        if value not in laws and p.domain.ndim == 0 and not is_constant(value):
            holds = p.domain.closure_contains(value)
            if isinstance(holds, Tensor):
                yield name, p.domain, holds | tt.isnan(value) if value.dtype[0] == "f" else holds


def _support(rv: RandomVariable, value: np.ndarray | None) -> Tensor | None:
    """Whether observed values are in a support that depends on parameters."""
    if value is None:
        return None
    domain = rv.family.support_for(rv.parameters)
    bounds = [b for b in (domain.lower, domain.upper) if isinstance(b, Tensor)]
    if not bounds:
        return None
    inside: Any = domain.contains(value)
    return tt.broadcast_to(as_tensor(inside), value.shape[: value.ndim - domain.ndim])
