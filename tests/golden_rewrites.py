"""The cases a reader should see: expression in, expression out. `python tests/golden_rewrites.py` writes them anew."""

from __future__ import annotations

from pathlib import Path

import numpy as np

import ppl.tensor as tt
from ppl.rewrites import assume, simplify, text
from ppl.tensor import (  # type: ignore[attr-defined]
    abs,
    cos,
    erf,
    erfc,
    exp,
    expm1,
    gammaln,
    i0,
    log,
    log1p,
    logit,
    maximum,
    mean,
    ndtr,
    power,
    sigmoid,
    sin,
    softmax,
    sqrt,
    switch,
)  # fmt: skip

FILE = Path(__file__).parent / "golden" / "rewrites.txt"
x, y, s, a, b, c, d = tt.dscalars("x", "y", "s", "a", "b", "c", "d")
v, w = tt.dvector("v"), tt.dvector("w")
X = tt.dmatrix("X")
mask = tt.bvector("m") > 0
pos, fin = assume(tt.dscalar("pos"), positive=True), assume(tt.dscalar("fin"), finite=True)
col = tt.tensor("col", dtype="float64", shape=(3, 1))
prob = assume(tt.dscalar("prob"), probability=True)
posv = assume(tt.dvector("posv"), positive=True)
data = tt.as_tensor(np.array([1.0, 2.0, 4.0, 5.0]))

SECTIONS = {
    "what SymJAX announced": [log(exp(x) * exp(4 + x))],
    "holes of PyTensor 2.38": [
        x + x + x, 2 * x + 3 * x, x * s + x * s, log(2 * exp(x)), log(pos * exp(x)), log(x**2), log(x**3), log(pos**2),
        exp(2 * log(pos)), gammaln(pos + 1) - gammaln(pos), sin(fin) ** 2 + cos(fin) ** 2, sin(x) ** 2 + cos(x) ** 2,
        tt.sum(s + exp(v)), tt.sum(-0.5 * ((data - x) / pos) ** 2 - log(pos) - 0.5 * np.log(2 * np.pi)),
    ],
    "structure": [
        x.reshape((1,)).reshape((1, 1)), X.T.T, exp(v) + tt.zeros_like(v), exp(x + y).shape[0] if x.ndim else exp(v).shape[0],
        tt.cast(tt.cast(tt.fvector("f"), "float64"), "float32"), switch(True, x, y), switch(x > 0, y, y),
        switch(mask, v, -np.inf) + switch(mask, w, -np.inf), fin * switch(x > 0, 0.0, y),
    ],
    "algebra": [
        x + 0, x * 1, x**1, x**0, 0 * fin, 0 / pos, (a * pos) / (pos * c), (x + fin) - fin, -(-x), -a / -b, x - (-y), x * x,
        x**-0.5, x**16, a / b * (c + b * d), abs(x * exp(y)), pos * x / abs(pos * x), x < x, maximum(x, x), x - x, x / x,
    ],
    "exponentials and logarithms": [
        log(exp(x)), exp(log(pos)), exp(log(x)), sqrt(x**2), exp(x) * exp(y), power(pos, a) * power(pos, b), log(sqrt(x)),
        log(tt.prod(posv)),
    ],
    "stability": [
        log(1 + x), exp(x) - 1, log(1 + exp(x)), log(1 - exp(x)), log(tt.sum(exp(v))), log(exp(x) + exp(y)),
        log(exp(x) - exp(y)), exp(x) / (1 + exp(x)), 1 / (1 + exp(x)), 1 - sigmoid(x), log(sigmoid(x)), log(1 - sigmoid(x)),
        logit(sigmoid(x)), sigmoid(logit(prob)), log(softmax(v)), 1 - erf(x), log(erfc(x)),
        log(0.5 * (1 + erf(x / np.sqrt(2)))), log(1 - ndtr(x)), log(ndtr(x) - ndtr(y)), log(i0(x)), log1p(expm1(x)),
        sqrt(x**2 + y**2),
    ],
    "reductions": [
        tt.sum(s * exp(v)), tt.sum(-v), tt.sum(tt.sum(X, axis=0)), tt.sum(tt.zeros_like(v) + x), mean(v + x),
        tt.sum(X[:1], axis=0), tt.logsumexp(v + x), tt.sum((data - x) ** 2),
    ],
    "one way of writing": [
        abs(x) ** 3, abs(x) * x**2, abs(x**3), x**3 / x**3, x**3 / x**2, pos**3 / pos**2, sqrt(x) * sqrt(x), x * tt.sign(x),
        tt.tanh(0 * x), tt.expand_dims(col[:, 0], 0), col.reshape((1, 3)), tt.sum(X, axis=1, keepdims=True),
        softmax(col, axis=1), tt.logsumexp(col, axis=1),
        switch(x > 0, y, tt.broadcast_to(s, (3,))), switch(x > 0, 0.0, 1.0) / pos, tt.broadcast_to(data, (3, 4))[1:, 2], tt.broadcast_to(col, (3, 4))[1:, 2],
    ],
}  # fmt: skip


def written() -> str:
    """All sections as text."""
    lines = []
    for title, cases in SECTIONS.items():
        lines.append(f"# {title}")
        for case in cases:
            given = tt.as_tensor(case)
            lines.append(f"{text(given)}\n    {text(simplify(given))}")
        lines.append("")
    return "\n".join(lines)


if __name__ == "__main__":
    FILE.write_text(written())
