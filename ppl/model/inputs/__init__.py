"""Data and observed values, on their way into a model."""
