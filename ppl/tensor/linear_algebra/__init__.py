"""Products, decompositions and solutions, also of structured matrices."""
