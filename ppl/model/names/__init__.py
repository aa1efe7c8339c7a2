"""Further names of PyMC's surface, and where they stand."""
