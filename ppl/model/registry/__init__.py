"""The variable registry of a model: names, values, dimensions, transforms."""
