"""Kernels of Gaussian processes: distances between inputs, and correlations at a distance."""
