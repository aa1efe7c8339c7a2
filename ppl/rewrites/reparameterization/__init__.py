"""Coordinates of the variables that the sampler moves: centered, non-centered, and in between."""
