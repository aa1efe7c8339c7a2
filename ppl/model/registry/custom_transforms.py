"""Transforms that the user chose: what they ask of rewriting, and which laws they restrict.

A variable with a transform of its own is sampled as the user wrote it. If its image is smaller than the support of the
law, the posterior is restricted to it, so that no theorem may integrate the variable out over the whole support; and if
its bounds follow from other variables, neither may these be integrated out of its law, which does not show the bounds.
"""

from __future__ import annotations

from ppl.distributions import RandomVariable
from ppl.distributions.transforms import Transform
from ppl.distributions.transforms.images import depends_on, is_own, restricts
from ppl.model.registry.variable_registry import Books


def own_transforms(model: Books) -> dict[RandomVariable, Transform | None]:
    """The free variables whose transform is not that of their family."""
    chosen = {rv: model.rvs_to_transforms[rv] for rv in model.free_RVs if isinstance(rv, RandomVariable)}
    return {rv: transform for rv, transform in chosen.items() if is_own(rv, transform)}


def kept_for_transforms(model: Books) -> dict[str, str]:
    """The names of variables that have to stay for the sake of a transform, and why."""
    found: dict[str, str] = {}
    own = own_transforms(model)
    for rv, transform in own.items():
        behind = set() if transform is None else depends_on(rv, transform)
        found |= {
            x.name or "": f'the bounds of the transform of "{rv.name}" follow from it' for x in _free(model, behind)
        }
    words = {rv.name or "": "none" if transform is None else f'"{transform.name}"' for rv, transform in own.items()}
    return found | {name: f"its transform was chosen by the user: {word}" for name, word in words.items()}


def _free(model: Books, nodes: set[object]) -> list[RandomVariable]:
    return [rv for rv in model.free_RVs if rv in nodes]  # type: ignore[misc]


def restricted(model: Books) -> list[RandomVariable]:
    """The free variables whose law a transform restricts to a smaller set."""
    return [rv for rv, transform in own_transforms(model).items() if restricts(rv, transform)]
