"""Sequential Monte Carlo on a path of tempered densities: kernels and estimates that know no model."""
