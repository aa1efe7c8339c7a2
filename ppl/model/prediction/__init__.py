"""Draws from a model run forwards, and log-densities of draws."""
