"""What an expression is in a variable: linear, a product, a power, a pick of entries."""
