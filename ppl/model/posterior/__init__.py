"""The posterior as a function: log-densities, points, and the model at its present sizes."""
