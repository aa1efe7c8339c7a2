"""The normal form of sums and products, and the way back to additions and multiplications."""
