"""Independent draws of numbers by quadrature, without a Markov chain."""
