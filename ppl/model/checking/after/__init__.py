"""Findings on results, one file for each kind."""
