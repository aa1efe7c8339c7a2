"""How facts flow through operations: each module declares those of its own."""

from ppl.rewrites.inference import arithmetic, arrays, functions

__all__ = ["arithmetic", "arrays", "functions"]
