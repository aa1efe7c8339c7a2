"""Where chains start, and why sampling cannot start where it cannot."""
