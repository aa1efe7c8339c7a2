"""The normal form of sums and products, in which the order of operands does not depend on how they were written."""
