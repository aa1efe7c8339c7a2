"""Finite discrete latent variables, summed out by variable elimination."""
