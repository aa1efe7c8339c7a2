"""What a careful colleague would say of a model before sampling, and of its results after."""
