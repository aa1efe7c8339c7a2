"""What is known when a program is traced, where JAX carries only what is computed."""

from __future__ import annotations

from typing import Any

from ppl.xla.later import jax, when_loaded


class Known:
    """A value that can be hashed, among the arrays that a rule for derivatives keeps."""

    def __init__(self, value: Any) -> None:
        self.value = value

    def __hash__(self) -> int:
        return hash(self.value)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Known) and self.value == other.value


when_loaded(lambda: jax.tree_util.register_static(Known))
