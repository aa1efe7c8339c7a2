"""Every theorem about a latent variable holds in every spelling of what its rows see of it.

A spelling is an expression equal to the plain one: `x * c` for `c * x`, a product with a one-hot matrix for `x[g]`.
Under each the plan has as many dimensions as under the plain one, and the same log-density.
`PYTHONPATH=. python tests/test_spellings.py -v` prints which of them hold, theorem by theorem.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from exact_elimination import joint

import ppl as pm
import ppl.tensor as tt
from ppl.model.posterior.rewriting import program_of
from ppl.rewrites.marginalization import plan

pytestmark = pytest.mark.usefixtures("module_compiled_quickly")

N, ROWS = 3, np.array([0, 2, 2, 1, 0, 2])
C = np.linspace(0.5, 2.0, N)
HOT, EYE = (ROWS[:, None] == np.arange(N)).astype(float), np.eye(N)
Y, POSITIVE, COUNTS = np.linspace(-1.0, 1.4, N), np.array([0.4, 1.3, 0.7]), np.array([2, 0, 3])
LEVELS = tt.as_tensor([1.0, -0.5, 2.0])
MANY_Y, MANY_POSITIVE, MANY_COUNTS = np.sin(np.arange(6.0)), np.linspace(0.2, 0.9, 6), np.array([1, 0, 3, 2, 2, 0])

Spelling = Callable[[Any], Any]
WHOLE: dict[str, Spelling] = {  # of x itself
    "x": lambda x: x,
    "Deterministic": lambda x: pm.Deterministic("d", x),
    "nested Deterministics": lambda x: pm.Deterministic("d", pm.Deterministic("c", x)),
    "x*1.0": lambda x: x * 1.0,
    "x+0.0": lambda x: x + 0.0,
    "x/1": lambda x: x / 1,
    "--x": lambda x: tt.negative(tt.negative(x)),
    "(-x)*-1": lambda x: (-x) * -1.0,
    "x/2 + x/2": lambda x: x / 2 + x / 2,
    "(x+x)/2": lambda x: (x + x) / 2,
    "2x - x": lambda x: 2 * x - x,
    "x[all]": lambda x: x[np.arange(N)],
    "x[::-1][::-1]": lambda x: x[::-1][::-1],
    "I @ x": lambda x: EYE @ x,
    "x @ I": lambda x: x @ EYE,
    "dot(I, x)": lambda x: pm.math.dot(EYE, x),
    "(I*x).sum(-1)": lambda x: (EYE * x).sum(-1),
    "column": lambda x: x[:, None][:, 0],
    "reshape": lambda x: x.reshape((1, N)).reshape((N,)),
    "transpose": lambda x: x[None, :].T[:, 0],
    "flatten": lambda x: x.flatten(),
    "concatenate": lambda x: pm.math.concatenate([x[:2], x[2:]]),
    "stack": lambda x: pm.math.stack([x[i] for i in range(N)]),
    "broadcast": lambda x: tt.broadcast_to(x, (2, N))[0],
    "x + zeros": lambda x: x + np.zeros(N),
    "switch": lambda x: pm.math.switch(np.ones(N, dtype=bool), x, 0.0),
    "set": lambda x: tt.index_update(tt.zeros((N,)), x, slice(None)),
    "sum of one": lambda x: x[:, None].sum(axis=1),
    "mean of one": lambda x: x[:, None].mean(axis=1),
    "mean of two": lambda x: tt.broadcast_to(x, (2, N)).mean(axis=0),
}
SCALED: dict[str, Spelling] = {  # of c x
    "c*x": lambda x: C * x,
    "x*c": lambda x: x * C,
    "x/(1/c)": lambda x: x / (1 / C),
    "-(x*-c)": lambda x: -(x * -C),
    "c*x/2 + c*x/2": lambda x: C * x / 2 + C * x / 2,
    "diag(c) @ x": lambda x: np.diag(C) @ x,
    "x @ diag(c)": lambda x: x @ np.diag(C),
    "dot(diag(c), x)": lambda x: pm.math.dot(np.diag(C), x),
    "(diag(c)*x).sum(-1)": lambda x: (np.diag(C) * x).sum(-1),
    "c times a Deterministic": lambda x: C * pm.Deterministic("d", x),
    "stack of c_i x_i": lambda x: pm.math.stack([C[i] * x[i] for i in range(N)]),
    "concatenate of c x": lambda x: pm.math.concatenate([C[:1] * x[:1], x[1:] * C[1:]]),
    "(x'c')'": lambda x: (x[:, None].T * C[None, :])[0],
}
PICKED: dict[str, Spelling] = {  # of x[g]
    "x[g]": lambda x: x[ROWS],
    "Deterministic[g]": lambda x: pm.Deterministic("d", x)[ROWS],
    "hot @ x": lambda x: HOT @ x,
    "dot(hot, x)": lambda x: pm.math.dot(HOT, x),
    "x @ hot'": lambda x: x @ HOT.T,
    "(hot*x).sum(-1)": lambda x: (HOT * x).sum(-1),
    "x[g]*1.0": lambda x: x[ROWS] * 1.0,
    "concatenate of picks": lambda x: pm.math.concatenate([x[ROWS[:2]], x[ROWS[2:]]]),
    "stack of entries": lambda x: pm.math.stack([x[i] for i in ROWS]),
    "column[g]": lambda x: x[:, None][ROWS][:, 0],
    "x[g as a table]": lambda x: x[ROWS.reshape(2, 3)].reshape((6,)),
    "switches of data": lambda x: pm.math.switch(ROWS == 0, x[0], pm.math.switch(ROWS == 1, x[1], x[2])),
    "sum of masks": lambda x: sum(x[i] * (i == ROWS) for i in range(N)),
    "x[g]/2 + x[g]/2": lambda x: x[ROWS] / 2 + x[ROWS] / 2,
}


POWERS: dict[str, Spelling] = {  # of x^-1/2
    "x**-0.5": lambda x: x**-0.5,
    "1/sqrt(x)": lambda x: 1 / pm.math.sqrt(x),
    "sqrt(1/x)": lambda x: pm.math.sqrt(1 / x),
    "sqrt(x**-1)": lambda x: pm.math.sqrt(x**-1),
    "1/x**0.5": lambda x: 1 / x**0.5,
    "(1/x)**0.5": lambda x: (1 / x) ** 0.5,
    "(x**0.5)**-1": lambda x: (x**0.5) ** -1,
    "exp(-log(x)/2)": lambda x: pm.math.exp(-0.5 * pm.math.log(x)),
    "exp(-log sqrt x)": lambda x: pm.math.exp(-pm.math.log(pm.math.sqrt(x))),
    "sqrt(x)/x": lambda x: pm.math.sqrt(x) / x,
    "x/x**1.5": lambda x: x / x**1.5,
    "x * x**-1.5": lambda x: x * x**-1.5,
    "stack of powers": lambda x: pm.math.stack([x[i] ** -0.5 for i in range(N)]),
    "concatenate of powers": lambda x: pm.math.concatenate([x[:2] ** -0.5, 1 / pm.math.sqrt(x[2:])]),
    "Deterministic of a power": lambda x: pm.Deterministic("d", x**-0.5),
    "I @ a power": lambda x: EYE @ x**-0.5,
    "half a power twice": lambda x: x**-0.5 / 2 + x**-0.5 / 2,
    "reflected twice": lambda x: tt.negative(tt.negative(x**-0.5)),
    "abs": lambda x: abs(x) ** -0.5,
}
RESTS: dict[str, Spelling] = {  # of 1 - x
    "1 - x": lambda x: 1 - x,
    "-x + 1": lambda x: -x + 1,
    "1 + -x": lambda x: 1 + -x,
    "-(x - 1)": lambda x: -(x - 1),
    "1 - x*1.0": lambda x: 1 - x * 1.0,
    "ones - x": lambda x: np.ones(N) - x,
    "I @ (1 - x)": lambda x: EYE @ (1 - x),
    "stack of 1 - x": lambda x: pm.math.stack([1 - x[i] for i in range(N)]),
    "Deterministic of 1 - x": lambda x: pm.Deterministic("d", 1 - x),
    "1 - (1 - (1 - x))": lambda x: 1 - (1 - (1 - x)),
    "(1 - x)[::-1][::-1]": lambda x: (1 - x)[::-1][::-1],
    "0.5 + (0.5 - x)": lambda x: 0.5 + (0.5 - x),
}
MATRIX: dict[str, Spelling] = {  # of a matrix
    "V": lambda V: V,
    "V*1.0": lambda V: V * 1.0,
    "V.T": lambda V: V.T,
    "Deterministic V": lambda V: pm.Deterministic("d", V),
    "--V": lambda V: tt.negative(tt.negative(V)),
    "V/2 + V/2": lambda V: V / 2 + V / 2,
    "I @ V": lambda V: np.eye(2) @ V,
    "V @ I": lambda V: V @ np.eye(2),
    "V[all]": lambda V: V[:, np.arange(2)],
    "stack of rows": lambda V: pm.math.stack([V[0], V[1]]),
}
LABELS: dict[str, Spelling] = {  # of m[z], for three levels m
    "m[z]": lambda z: LEVELS[z],
    "switches": lambda z: pm.math.switch(tt.eq(z, 0), 1.0, pm.math.switch(tt.eq(z, 1), -0.5, 2.0)),
    "sum of masks of z": lambda z: sum(LEVELS[k] * tt.eq(z, k) for k in range(3)),
    "hot z @ m": lambda z: tt.eq(z[:, None], np.arange(3)) @ LEVELS,
    "(hot z * m).sum": lambda z: (tt.eq(z[:, None], np.arange(3)) * LEVELS).sum(-1),
    "m[z*1]": lambda z: LEVELS[z * 1],
    "m[Deterministic]": lambda z: LEVELS[pm.Deterministic("d", z)],
    "stack of m[z_i]": lambda z: pm.math.stack([LEVELS[z[i]] for i in range(N)]),
    "m[::-1][2 - z]": lambda z: LEVELS[::-1][2 - z],
}
SHARES: dict[str, Spelling] = {  # of shares of categories
    "p": lambda p: p,
    "p*1.0": lambda p: p * 1.0,
    "Deterministic p": lambda p: pm.Deterministic("d", p),
    "I @ p": lambda p: EYE @ p,
    "p @ I": lambda p: p @ EYE,
    "p/2 + p/2": lambda p: p / 2 + p / 2,
    "stack of p_i": lambda p: pm.math.stack([p[i] for i in range(3)]),
    "concatenate of p": lambda p: pm.math.concatenate([p[:1], p[1:]]),
    "p[all]": lambda p: p[np.arange(3)],
    "exp(log(p))": lambda p: pm.math.exp(pm.math.log(p)),
}


def gamma(**given: Any) -> Any:
    return pm.Gamma("x", 1.7, 0.6, **given)


def beta() -> Any:
    return pm.Beta("x", 1.3, 2.1, shape=N)


Rows = Callable[[Spelling, Any], Any]  # of the spelling, and of the data that take many rows or few


def of(prior: Callable[[], Any], rows: Callable[[Any, bool], Any]) -> Callable[[Spelling, bool], Any]:
    """A model of a prior, and of rows that see a spelling of it; many rows where it picks entries."""
    return lambda spelled, many: rows(spelled(prior()), many)


def few_or(many: bool, few: Any, more: Any) -> Any:
    return more if many else few


counts = lambda many: few_or(many, COUNTS, MANY_COUNTS)
positive = lambda many: few_or(many, POSITIVE, MANY_POSITIVE)
real = lambda many: few_or(many, Y, MANY_Y)
inverse = lambda: pm.InverseGamma("x", 2.3, 1.4, shape=N)
SHIFT = np.array([0.3, -0.2, 0.5])
KERNEL = np.exp(-np.abs(np.arange(3.0)[:, None] - np.arange(3.0)))

# each with the tables of spellings that it must know
THEOREMS: dict[str, tuple[Callable[[Spelling, bool], Any], str]] = {
    "Gamma, Poisson": (of(lambda: gamma(shape=N), lambda x, m: pm.Poisson("y", x, observed=counts(m))), "wsp"),
    "Gamma, Exponential": (
        of(lambda: gamma(shape=N), lambda x, m: pm.Exponential("y", x, observed=positive(m))),
        "wsp",
    ),
    "Gamma, Gamma": (of(lambda: gamma(shape=N), lambda x, m: pm.Gamma("y", 1.9, x, observed=positive(m))), "wsp"),
    "Gamma, Normal": (of(lambda: gamma(shape=N), lambda x, m: pm.Normal("y", 0.4, x**-0.5, observed=real(m))), "wsp"),
    "Gamma, Normal by tau": (
        of(lambda: gamma(shape=N), lambda x, m: pm.Normal("y", 0.4, tau=x, observed=real(m))),
        "wsp",
    ),
    "Exponential, Poisson": (
        of(lambda: pm.Exponential("x", 0.8, shape=N), lambda x, m: pm.Poisson("y", x, observed=counts(m))),
        "wsp",
    ),
    "InverseGamma, Normal": (of(inverse, lambda x, m: pm.Normal("y", 0.4, pm.math.sqrt(x), observed=real(m))), "wsp"),
    "InverseGamma, Exponential": (of(inverse, lambda x, m: pm.Exponential("y", 1 / x, observed=positive(m))), "wsp"),
    "InverseGamma, Exponential by scale": (
        of(inverse, lambda x, m: pm.Exponential("y", scale=x, observed=positive(m))),
        "wsp",
    ),
    "InverseGamma, Gamma": (of(inverse, lambda x, m: pm.Gamma("y", 1.9, 1 / x, observed=positive(m))), "wsp"),
    "Beta, Bernoulli": (of(beta, lambda x, m: pm.Bernoulli("y", x, observed=counts(m) > 1)), "wp"),
    "Beta, Bernoulli of 1 - p": (of(beta, lambda x, m: pm.Bernoulli("y", 1 - x, observed=counts(m) > 1)), "wp"),
    "Beta, Binomial": (of(beta, lambda x, m: pm.Binomial("y", 5, x, observed=counts(m))), "wp"),
    "Beta, Geometric": (of(beta, lambda x, m: pm.Geometric("y", x, observed=counts(m) + 1)), "wp"),
    "Beta, NegativeBinomial": (of(beta, lambda x, m: pm.NegativeBinomial("y", n=3, p=x, observed=counts(m))), "wp"),
    "Pareto, Uniform": (
        of(lambda: pm.Pareto("x", 1.5, 0.3, shape=N), lambda x, m: pm.Uniform("y", 0, x, observed=positive(m))),
        "wp",
    ),
    "Exponential and noise": (
        of(lambda: pm.Exponential("x", 0.8, shape=N), lambda x, m: pm.Normal("y", 0.3 + x, 0.5, observed=Y)),
        "ws",
    ),
    "HalfNormal and noise": (
        of(lambda: pm.HalfNormal("x", 0.8, shape=N), lambda x, m: pm.Normal("y", 0.3 - x, 0.5, observed=Y)),
        "ws",
    ),
    "Exponential variance": (
        of(lambda: pm.Exponential("x", 0.8, shape=N), lambda x, m: pm.Normal("y", 0.3, pm.math.sqrt(x), observed=Y)),
        "ws",
    ),
    "probit of Normal": (
        of(
            lambda: pm.Normal("x", 0.4, 1.3, shape=N),
            lambda x, m: pm.Bernoulli("y", pm.math.invprobit(0.3 + x), observed=COUNTS > 1),
        ),
        "ws",
    ),
    "Poisson, thinned": (
        of(lambda: pm.Poisson("x", 3.1, shape=N), lambda x, m: pm.Binomial("y", x, [0.3, 0.5, 0.9], observed=COUNTS)),
        "w",
    ),
    "Normal, Normal": (
        of(lambda: pm.Normal("x", 0.4, 1.3, shape=N), lambda x, m: pm.Normal("y", x, 0.5, observed=real(m))),
        "wsp",
    ),
    "MvNormal, Normal": (
        of(
            lambda: pm.MvNormal("x", SHIFT, cov=pm.Gamma("a", 2, 1) ** 2 * KERNEL + np.eye(3)),
            lambda x, m: pm.Normal("y", x, 0.5, observed=Y),
        ),
        "ws",
    ),
    "KroneckerNormal, Normal": (
        of(
            lambda: pm.KroneckerNormal("x", mu=SHIFT, covs=[[[1.3]], KERNEL], shape=3),
            lambda x, m: pm.Normal("y", x, pm.HalfNormal("s", 1.0), observed=Y),
        ),
        "w",
    ),
    "Gamma, Normal by powers": (of(lambda: gamma(shape=N), lambda x, m: pm.Normal("y", 0.4, x, observed=Y)), "^"),
    "Beta, Bernoulli by 1 - x": (of(beta, lambda x, m: pm.Bernoulli("y", x, observed=COUNTS > 1)), "1"),
    "Wishart, MvNormal by tau": (
        of(
            lambda: pm.Wishart("V", nu=4, V=np.array([[0.5, 0.1], [0.1, 0.3]])),
            lambda V, m: pm.MvNormal("y", np.zeros(2), tau=V, observed=[[1.0, 0.3], [0.4, -0.2]]),
        ),
        "V",
    ),
    "Wishart, MvNormal by cov": (
        of(
            lambda: pm.Wishart("V", nu=4, V=np.array([[0.5, 0.1], [0.1, 0.3]])),
            lambda V, m: pm.MvNormal("y", np.zeros(2), cov=tt.inv(V), observed=[[1.0, 0.3], [0.4, -0.2]]),
        ),
        "V",
    ),
    "Categorical label": (
        of(lambda: pm.Categorical("z", [0.2, 0.5, 0.3], shape=N), lambda x, m: pm.StudentT("y", 4, x, 0.5, observed=Y)),
        "z",
    ),
    "Dirichlet, Categorical": (
        of(lambda: pm.Dirichlet("x", [1.3, 0.6, 2.1]), lambda p, m: pm.Categorical("y", p, observed=[0, 2, 2])),
        "d",
    ),
    "Dirichlet, Multinomial": (
        of(lambda: pm.Dirichlet("x", [1.3, 0.6, 2.1]), lambda p, m: pm.Multinomial("y", 9, p, observed=[1, 5, 3])),
        "d",
    ),
}
TABLES = {"w": WHOLE, "s": SCALED, "p": PICKED, "^": POWERS, "1": RESTS, "V": MATRIX, "z": LABELS, "d": SHARES}
CASES = [(name, kind, spelling) for name, (_, kinds) in THEOREMS.items() for kind in kinds for spelling in TABLES[kind]]


def planned(name: str, kind: str, spelling: str) -> Any:
    """The plan of a theorem's model in a spelling."""
    with pm.Model() as model:
        THEOREMS[name][0](TABLES[kind][spelling], kind == "p")
    return plan(program_of(model))


def density(found: Any) -> float:
    """The log-density of what is left, at one point."""
    at = {rv: tt.as_tensor(np.full(rv.type.shape, 0.7)) for rv in found.program.free}
    return float(tt.as_tensor(joint(found.program, at)).eval())


PLAIN: dict[tuple[str, str], tuple[int, float]] = {}


def plain(name: str, kind: str) -> tuple[int, float]:
    """Dimensions and log-density under the plain spelling, in which the theorem holds."""
    if (name, kind) not in PLAIN:
        found = planned(name, kind, next(iter(TABLES[kind])))
        assert not {"x", "V", "z"} & set(found.free), f"{name} is no theorem: {found}"
        PLAIN[name, kind] = found.ndim, density(found)
        assert np.isfinite(PLAIN[name, kind][1])
    return PLAIN[name, kind]


def verdict(name: str, kind: str, spelling: str) -> str:
    """How the plan of a spelling differs from the plain one; nothing where it does not."""
    ndim, value = plain(name, kind)
    found = planned(name, kind, spelling)
    if found.ndim != ndim:
        return f"{found.ndim} dimensions, not {ndim}: {'; '.join(k.why for k in found.kept)}"
    here = density(found)
    return "" if abs(here - value) < 1e-8 * (1 + abs(value)) else f"log-density {here}, not {value}"


@pytest.mark.parametrize(("name", "kind"), [(name, kind) for name, (_, kinds) in THEOREMS.items() for kind in kinds])
def test_every_spelling_has_the_plan_of_the_plain_one(name: str, kind: str) -> None:
    found = {spelling: verdict(name, kind, spelling) for spelling in TABLES[kind]}
    assert not any(found.values()), {spelling: why for spelling, why in found.items() if why}


UNLIKE: dict[str, tuple[str, Spelling]] = {  # expressions that look like a spelling of the variable and are none
    "another order": ("Exponential and noise", lambda x: x[::-1]),
    "an entry twice": ("Exponential and noise", lambda x: x[np.array([0, 0, 2])]),
    "two entries": ("Gamma, Poisson", lambda x: x + x[::-1]),
    "a mean": ("Gamma, Poisson", lambda x: x + 0.0 * x.mean() + x.mean()),
    "something added": ("Gamma, Poisson", lambda x: x + 0.1),
    "a negative multiple": ("Gamma, Poisson", lambda x: abs(-x) - 2.0 * x),
    "a multiple of a share": ("Beta, Binomial", lambda x: x / 2),
    "another power": ("Gamma, Normal", lambda x: x * x),
    "a product of entries": ("Gamma, Poisson", lambda x: x * x[::-1]),
    "a ratio": ("Gamma, Poisson", lambda x: x**2 / x[::-1]),
    "a matrix of two entries a row": ("Gamma, Poisson", lambda x: np.tril(np.ones((N, N))) @ x),
    "the rest of the rest": ("Beta, Bernoulli", lambda x: 2 - x - 1 + 0.5),
    "half a count": ("Poisson, thinned", lambda x: x / 2 + 1),
    "shares in another order": ("Dirichlet, Categorical", lambda p: p[::-1]),
    "logarithm of a number": ("Gamma, Poisson", lambda x: 9.0 + pm.math.log(x)),
    "a number to its power": ("Gamma, Poisson", lambda x: 2.0**x),
    "an entry of the matrix": ("Wishart, MvNormal by tau", lambda V: V * np.eye(2)),
}  # fmt: skip


@pytest.mark.parametrize("unlike", UNLIKE)
def test_what_is_no_spelling_stays(unlike: str) -> None:
    name, spelling = UNLIKE[unlike]
    with pm.Model() as model:
        THEOREMS[name][0](spelling, False)
    assert {"x", "V"} & set(plan(program_of(model)).free)


if __name__ == "__main__":
    for kind, table in TABLES.items():
        for spelling in table:
            row = ""
            for name, (_, kinds) in THEOREMS.items():
                why = verdict(name, kind, spelling) if kind in kinds else ""
                row += ("X" if why else ".") if kind in kinds else " "
                if why and "-v" in sys.argv:
                    print("   ", name, "|", spelling, "|", why[:200])
            print(f"{spelling:25s} {row}")
