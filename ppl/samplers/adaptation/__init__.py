"""What the warm-up tunes: step size and metric."""
