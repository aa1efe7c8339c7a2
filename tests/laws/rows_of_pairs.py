"""Rows of the children of conjugate pairs: seven of each family, and its parameters besides the one that holds the
prior's variable. A pair with a child that no pair had before has a line in both tables."""

OTHERS = {
    "Gamma": {"alpha": 1.9},
    "Normal": {"mu": 0.4, "sigma": 0.8},
    "Binomial": {"n": 5},
    "NegativeBinomial": {"n": 3},
    "Multinomial": {"n": 4},
}
SEVEN_ROWS = {
    "Poisson": [1, 0, 4, 2, 7, 1, 0],
    "Exponential": [0.3, 1.2, 0.05, 2.0, 0.7, 0.4, 0.9],
    "Gamma": [0.3, 1.2, 0.05, 2.0, 0.7, 0.4, 0.9],
    "Normal": [0.3, -1.2, 0.05, 2.0, 0.7, 0.4, -0.9],
    "Bernoulli": [1, 0, 0, 1, 1, 0, 1],
    "Binomial": [1, 0, 4, 2, 5, 1, 0],
    "Geometric": [1, 3, 4, 2, 7, 1, 2],
    "NegativeBinomial": [1, 3, 4, 2, 7, 1, 0],
    "Categorical": [1, 0, 2, 2, 1, 1, 0],
    "Multinomial": [[4, 0, 0], [1, 2, 1], [0, 4, 0], [2, 2, 0], [1, 1, 2], [0, 0, 4], [3, 1, 0]],
}
