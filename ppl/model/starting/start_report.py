"""Why sampling cannot start: which variable, which entry, and what is wrong with it."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence

import numpy as np

from ppl.compile.density import Slot, flattened, layout, values_at
from ppl.distributions import RandomVariable, is_draw
from ppl.distributions.declaration.domains import Domain
from ppl.graph import ancestors
from ppl.model.inputs.observing import impossibilities
from ppl.model.posterior.density import Joint
from ppl.model.posterior.rewriting import Posterior, rewritten
from ppl.model.starting.origins import origin
from ppl.tensor.tensor import Tensor, as_tensor

SHOWN = 5


def start_report(posterior: Posterior, slots: list[Slot], position: np.ndarray) -> str:
    """The starting values, the log-density of each term, and for those that are not finite the reason."""
    names = list(posterior.terms)
    terms = dict(zip(names, values_at([posterior.terms[n] for n in names], slots, position), strict=True))
    start = {slot.variable.name: np.array2string(np.asarray(slot.read(position)), threshold=6) for slot in slots}
    shown = ", ".join(f"{name} = {value}" for name, value in start.items())
    sums = ", ".join(f"{name}: {np.sum(value):.6g}" for name, value in terms.items())
    lines = [f"Starting values: {shown}."] if shown else []
    lines += impossibilities(posterior.model)
    lines += _at_bounds(posterior, slots, position)
    lines += [f"Log-density of each term: {sums}."]
    bad = [name for name, value in terms.items() if not np.all(np.isfinite(value))]
    lines += [reason for name in bad for reason in _reasons(posterior, name, terms[name], slots, position)]
    if any(name not in posterior.model.named_vars for name in bad):
        lines += _as_written(posterior)
    return "\n".join(dict.fromkeys(lines))


def _at_bounds(posterior: Posterior, slots: list[Slot], position: np.ndarray) -> Iterator[str]:
    """Variables that start at an end of their support, where no transform has a finite value."""
    values = {value.name: rv.name for rv, value in posterior.model.rvs_to_values.items()}
    for slot in slots:
        rv, value = values.get(slot.variable.name), slot.variable.name
        if rv is not None and rv != value and np.isinf(slot.read(position)).any():
            yield (
                f'"{rv}" starts at a bound of its support, where "{value}" is infinite: give it a start inside, by '
                f"initval= or initvals={{{rv!r}: ...}}."
            )


def _as_written(posterior: Posterior) -> list[str]:
    """The reasons in the model as the user wrote it, where the term to blame came from rewriting."""
    plain = rewritten(posterior.model, rewrite=False)
    point = plain.start()
    slots = layout(plain.values, point)
    position = flattened(slots, point)
    terms = dict(zip(plain.terms, values_at(list(plain.terms.values()), slots, position), strict=True))
    bad = [name for name, value in terms.items() if not np.all(np.isfinite(value))]
    return [reason for name in bad for reason in _reasons(plain, name, terms[name], slots, position)]


def _reasons(
    posterior: Posterior, name: str, term: np.ndarray, slots: list[Slot], position: np.ndarray
) -> Iterator[str]:
    at = _first(~np.isfinite(term))
    rv = posterior.model.named_vars.get(name)
    if not isinstance(rv, RandomVariable):
        why = origin(posterior.terms[name], slots, position)
        yield (
            f'The term "{name}" is {term[at]}{_where(at)}: it must be finite where sampling starts.'
            + f" {why}" * bool(why)
        )
        return
    joint = Joint(posterior.model)
    labels, domains, parameters = zip(*joint.parameters(rv), strict=True) if rv.parameters else ((), (), ())
    value = as_tensor(joint.values[rv])
    try:
        found = values_at([value, *parameters], slots, position)
    except ValueError:  # the posterior moves other values than the model as written
        yield from _as_written(posterior) or [f'The density of "{name}" is {term[at]}{_where(at)}.']
        return
    reasons = list(_outside(rv, name, found[0], labels, domains, found[1:]))
    if any(np.isnan(array).any() for array in found[1:] if array.dtype.kind == "f"):
        why = origin(posterior.terms[name], slots, position)
        reasons += [why] if why else []
    if not reasons:
        shown = ", ".join(
            f"{label} = {_entry(array, at, term.shape)}" for label, array in zip(labels, found[1:], strict=True)
        )
        reasons = [
            f'The log-density of "{name}" is {term[at]:g}{_where(at)}, for the value'
            f" {_entry(found[0], at, term.shape)} of {rv.family.__name__}({shown})."
        ]
    yield from reasons[:SHOWN]


def _outside(
    rv: RandomVariable,
    name: str,
    value: np.ndarray,
    labels: Sequence[str],
    domains: Sequence[Domain | None],
    parameters: list[np.ndarray],
) -> Iterator[str]:
    """What lies outside its domain: a parameter, or the value."""
    who = f'{rv.family.__name__} "{name}"'
    for label, domain, array in zip(labels, domains, parameters, strict=True):
        if domain is not None:
            yield from _bad(array, domain, f"{who}: {label}", domain.remedy)
    if all(domain is not None for domain in domains) and len(parameters) == len(rv.family.params):
        support = rv.family.support_for([as_tensor(p) for p in parameters])
        of_starts = any(is_draw(node) for node in ancestors(rv.parameters))
        where = " where its parameters start" if of_starts else ""
        yield from _bad(value, support, f"{who}: the value", "", where)


def _bad(array: np.ndarray, domain: Domain, who: str, remedy: str, when: str = "") -> Iterator[str]:
    nan = np.isnan(array) if array.dtype.kind == "f" else np.zeros(array.shape, bool)
    if nan.any():
        at = _first(nan)
        yield f"{who} is nan{_where(at)} ({int(nan.sum())} of {array.size}): look at the data it is computed from."
        return
    inside = domain.contains(array)
    if isinstance(inside, Tensor):
        inside = inside.eval()
    inside = np.asarray(inside)
    if not inside.all():
        at = _first(~inside)
        hint = f" To mend it: {remedy}." if remedy else ""
        shown = np.array2string(array[at] if array.ndim else array, threshold=6, precision=6)
        many = f"({int((~inside).sum())} of {inside.size})"
        yield f"{who} must be {domain.at(at)}{when}, it is {shown}{_where(at)} {many}.{hint}"


def _first(bad: np.ndarray) -> tuple[int, ...]:
    return tuple(int(i) for i in np.argwhere(bad)[0])


def _where(at: tuple[int, ...]) -> str:
    return f" at index {at[0] if len(at) == 1 else at}" if at else ""


def _entry(array: np.ndarray, at: tuple[int, ...], shape: tuple[int, ...]) -> str:
    """The entry of a parameter that belongs to an entry of the density."""
    with contextlib.suppress(ValueError, IndexError):
        array = np.broadcast_to(array, shape)[at]
    return np.array2string(np.asarray(array), threshold=6, precision=6)
