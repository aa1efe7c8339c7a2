"""Findings on a model before sampling, one file for each kind."""
