"""The coefficients of one-step methods: a method is its table.

An explicit method of s stages takes slopes kᵢ = f(t + cᵢh, y + h Σⱼ aᵢⱼkⱼ) and goes to y + h Σⱼ bⱼkⱼ. The last row of
`a` is `b`, so that its last slope is the first one of the next step.

A Rosenbrock method solves a linear system with the Jacobian J in each stage,

.. math:: (I/(hγ) - J) k_i = f(t + c_i h, y + Σ_j a_{ij} k_j) + Σ_j C_{ij} k_j / h + h d_i ∂f/∂t

and goes to y + Σⱼ mⱼkⱼ. All that it asks of f is one Jacobian a step: there is no iteration that may fail to converge.
"""

from __future__ import annotations

from typing import NamedTuple


class Explicit(NamedTuple):
    """An explicit Runge–Kutta method; `error` are the weights of its error estimate."""

    order: int
    a: tuple[tuple[float, ...], ...]
    c: tuple[float, ...]
    error: tuple[float, ...]


class Rosenbrock(NamedTuple):
    """A Rosenbrock method whose stages from the last row of `a` on start where the one before them ended: the last
    stage is the error estimate."""

    order: int
    gamma: float
    a: tuple[tuple[float, ...], ...]
    C: tuple[tuple[float, ...], ...]
    c: tuple[float, ...]
    d: tuple[float, ...]


# C. Tsitouras, Runge–Kutta pairs of order 5(4) satisfying only the first column simplifying assumption, Computers &
# Mathematics with Applications 62 (2011), table 1.
TSIT5 = Explicit(
    order=5,
    a=(
        (0.161,),
        (-0.008480655492356989, 0.335480655492357),
        (2.8971530571054935, -6.359448489975075, 4.3622954328695815),
        (5.325864828439257, -11.748883564062828, 7.4955393428898365, -0.09249506636175525),
        (5.86145544294642, -12.92096931784711, 8.159367898576159, -0.071584973281401, -0.028269050394068383),
        (
            0.09646076681806523, 0.01, 0.4798896504144996, 1.379008574103742, -3.290069515436081,
            2.324710524099774,
        ),
    ),
    c=(0.161, 0.327, 0.9, 0.9800255409045097, 1.0, 1.0),
    error=(
        -0.00178001105222577714, -0.0008164344596567469, 0.007880878010261995, -0.1447110071732629,
        0.5823571654525552, -0.45808210592918697, 0.015151515151515152,
    ),
)  # fmt: skip

# J. R. Dormand, P. J. Prince, A family of embedded Runge–Kutta formulae, Journal of Computational and Applied
# Mathematics 6 (1980), table 2.
DOPRI5 = Explicit(
    order=5,
    a=(
        (1 / 5,),
        (3 / 40, 9 / 40),
        (44 / 45, -56 / 15, 32 / 9),
        (19372 / 6561, -25360 / 2187, 64448 / 6561, -212 / 729),
        (9017 / 3168, -355 / 33, 46732 / 5247, 49 / 176, -5103 / 18656),
        (35 / 384, 0.0, 500 / 1113, 125 / 192, -2187 / 6784, 11 / 84),
    ),
    c=(1 / 5, 3 / 10, 4 / 5, 8 / 9, 1.0, 1.0),
    error=(71 / 57600, 0.0, -71 / 16695, 71 / 1920, -17253 / 339200, 22 / 525, -1 / 40),
)

# G. Steinebach, Construction of Rosenbrock–Wanner method Rodas5P and numerical benchmarks within the Julia Differential
# Equations package, BIT 63 (2023), 27. L-stable and stiffly accurate.
RODAS5P = Rosenbrock(
    order=5,
    gamma=0.21193756319429014,
    a=(
        (3.0,),
        (2.849394379747939, 0.45842242204463923),
        (-6.954028509809101, 2.489845061869568, -10.358996098473584),
        (2.8029986275628964, 0.5072464736228206, -0.3988312541770524, -0.04721187230404641),
        (-7.502846399306121, 2.561846144803919, -11.627539656261098, -0.18268767659942256, 0.030198172008377946),
    ),
    C=(
        (-14.155112264123755,),
        (-17.97296035885952, -2.859693295451294),
        (147.12150275711716, -1.41221402718213, 71.68940251302358),
        (165.43517024871676, -0.4592823456491126, 42.90938336958603, -5.961986721573306),
        (24.854864614690072, -3.0009227002832186, 47.4931110020768, 5.5814197821558125, -0.6610691825249471),
        (
            30.91273214028599, -3.1208243349937974, 77.79954646070892, 34.28646028294783, -19.097331116725623,
            -28.087943162872662,
        ),
        (
            37.80277123390563, -3.2571969029072276, 112.26918849496327, 66.9347231244047, -40.06618937091002,
            -54.66780262877968, -9.48861652309627,
        ),
    ),
    c=(0.0, 0.6358126895828704, 0.4095798393397535, 0.9769306725060716, 0.4288403609558664, 1.0, 1.0, 1.0),
    d=(0.21193756319429014, -0.42387512638858027, -0.3384627126235924, 1.8046452872882734, 2.325825639765069),
)  # fmt: skip

METHODS: dict[str, Explicit | Rosenbrock] = {"tsit5": TSIT5, "dopri5": DOPRI5, "rodas5p": RODAS5P}
