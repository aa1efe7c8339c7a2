"""What the warm-up tunes, step size and metric, and the kernels that tune themselves in it."""
