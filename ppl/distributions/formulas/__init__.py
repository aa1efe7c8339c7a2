"""Formulas that several families share."""
