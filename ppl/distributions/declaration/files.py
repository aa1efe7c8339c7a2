"""Families in saved graphs: by their names, from the table of families."""

from __future__ import annotations

from typing import Any

from ppl.distributions.declaration.distribution import FAMILIES
from ppl.distributions.draws.draw import DRAW
from ppl.graph.registry import OPS, Codec, enter_codec


def _name(family: type) -> str:
    if FAMILIES.get(family.__name__) is not family:
        raise TypeError(f"a graph with the class {family.__name__} in it cannot be saved: it is no family of ppl")
    return family.__name__


def _family(name: Any) -> type:
    return FAMILIES[name]


enter_codec(Codec("family", type, _name, _family))
OPS.maps.append({DRAW.name: DRAW})
