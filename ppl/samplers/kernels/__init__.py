"""Markov kernels: pairs of pure functions `init` and `step`, one file each."""
