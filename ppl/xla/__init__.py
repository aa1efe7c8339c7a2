"""What XLA compiles badly, or not at all, as JAX writes it: the lowest part, below tensors and samplers.

Random bits as a pure function of a key (`threefry`), programs with several stacks of matrices (`stacks`), and what is
dear enough to be computed once (`apart`).
"""
