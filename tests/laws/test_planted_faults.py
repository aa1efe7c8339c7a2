"""The certificate of a run has teeth: small faults, planted one by one in theorems, recoveries and coordinates.

A fault is an edit of one function of the product, as a slip of the pen makes it: a sign, a Jacobian, an index, a scale,
a count that is forgotten. `pm.sample` of a small model must then raise `CertificateError`, with no help from any other
check; without the fault it certifies the same run. What cannot be found is told, with the reason.
"""

from __future__ import annotations
import __future__

import inspect
import textwrap
from collections.abc import Callable
from types import FunctionType
from typing import Any, NamedTuple

import numpy as np
import pytest
from some_slow import some_slow

import ppl as pm
import ppl.tensor as tt
from ppl.distributions import (
    AR,
    CAR,
    AsymmetricLaplace,
    Binomial,
    Cauchy,
    InverseGamma,
    Laplace,
    Multinomial,
    MvNormal,
    NegativeBinomial,
    Normal,
    Pareto,
    Poisson,
    Uniform,
    Wald,
    Weibull,
)
from ppl.model.errors import CertificateError
from ppl.model.posterior import rewriting
from ppl.rewrites.factorization import factors as parts
from ppl.rewrites.factorization import independence
from ppl.rewrites.marginalization.conjugate import compounds, conjugate, pairs, thinning, wishart
from ppl.rewrites.marginalization.conjugate import pareto as largest
from ppl.rewrites.marginalization.conjugate import single_entry_rows as picked
from ppl.rewrites.marginalization.discrete import branches, sum_product, switches, tables
from ppl.rewrites.marginalization.discrete import enumeration as discrete
from ppl.rewrites.marginalization.discrete import state_sums as runs
from ppl.rewrites.marginalization.expressions import products
from ppl.rewrites.marginalization.gaussian import (
    block,
    common_scale,
    inner_coordinates,
    residuals,
    spd,
    spectral,
    spectrum,
)
from ppl.rewrites.marginalization.gaussian import kronecker_process as grids
from ppl.rewrites.marginalization.gaussian import noisy_process as noisy
from ppl.rewrites.marginalization.gaussian import rows as block_rows
from ppl.rewrites.marginalization.planning import bijections
from ppl.rewrites.plates import loops_as_plates as stacking
from ppl.rewrites.plates import loops_as_processes as processes
from ppl.rewrites.reparameterization import centering as centering
from ppl.rewrites.reparameterization import coordinates, covariances
from ppl.rewrites.reparameterization import random_walks as walks
from ppl.rewrites.sufficient_statistics import bounded, compaction
from ppl.rewrites.sufficient_statistics import distinct_rows as cells
from ppl.rewrites.sufficient_statistics import linear_regression as linear

pytestmark = [
    pytest.mark.usefixtures("compiled_quickly"),
    pytest.mark.filterwarnings("ignore::ppl.model.errors.ImputationWarning"),
]
RUN = {"draws": 12, "tune": 40, "chains": 1, "progressbar": False, "quiet": True, "compute_convergence_checks": False}


class Fault(NamedTuple):
    """A slip in a function, in a model that uses it: `old` text of its source becomes `new`, or another function takes
    the place of one without a name."""

    name: str
    model: Callable[[], Any]
    where: Any
    old: Any
    new: str = ""
    why: str = ""  # it cannot be found


def edited(function: FunctionType, old: Any, new: str) -> Any:
    """The code of a function with a slip."""
    if isinstance(old, FunctionType):
        return old.__code__
    source = textwrap.dedent(inspect.getsource(function))
    source = source[source.index(f"def {function.__name__}") :]
    assert source.count(old) == 1, f"{function.__qualname__} has {source.count(old)} times {old!r}"
    made: dict[str, Any] = {}
    flags = __future__.annotations.compiler_flag
    exec(compile(source.replace(old, new), "<a slip>", "exec", flags), function.__globals__, made)
    return made[function.__name__].__code__


def plant(fault: Fault, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fault.where, "__code__", edited(fault.where, fault.old, fault.new))


def certificate(write: Callable[[], Any]) -> str:
    with pm.Model():
        options = write() or {}
        return pm.sample(**RUN, random_seed=5, **(options if isinstance(options, dict) else {})).posterior.attrs[
            "certificate"
        ]


# --- models ------------------------------------------------------------------------------------------------------
RNG = np.random.default_rng(11)
GROUP, OTHER = np.array([0, 0, 1, 2, 2, 2, 3, 1]), np.array([0, 1, 2, 0, 1, 2, 0, 1])
X, Y = RNG.normal(size=8).round(2), RNG.normal(size=8).round(2)
POSITIVE, COUNTS = RNG.gamma(2.0, 1.0, 8).round(2) + 0.1, np.array([2, 0, 3, 1, 5, 2, 0, 4])
MANY = 48
CELL, WIDE = np.arange(MANY) % 3, RNG.normal(size=(MANY, 2)).round(2)
ROWS, ROW_COUNTS = (WIDE[:, 0] + 0.3 * RNG.normal(size=MANY)).round(1), RNG.poisson(2.0, MANY)
TIMES = np.linspace(0.0, 3.0, 9)
KERNEL = np.exp(-abs(TIMES[:, None] - TIMES))


def scale(name: str = "s") -> Any:
    return pm.HalfNormal(name, 1.0)


def pumps():
    theta = pm.Gamma("theta", pm.Exponential("a", 1.0), pm.Gamma("b", 2, 1), shape=8)
    pm.Poisson("y", theta * scale() * POSITIVE, observed=COUNTS)


def waits():
    theta = pm.Gamma("theta", 2.0, pm.Gamma("b", 2, 1), shape=4)
    pm.Exponential("y", theta[GROUP] * POSITIVE[::-1], observed=POSITIVE)


def gammas():
    theta = pm.Gamma("theta", 2.0, pm.Gamma("b", 2, 1), shape=4)
    pm.Gamma("y", 1.0 + POSITIVE, theta[GROUP], observed=POSITIVE)


def precisions():
    theta = pm.Gamma("theta", pm.Exponential("a", 1.0), 1.5, shape=4)
    pm.Normal("y", pm.StudentT("m", 4), (theta[GROUP] * POSITIVE) ** -0.5, observed=Y)


def variances():
    theta = pm.InverseGamma("theta", pm.Exponential("a", 1.0), 1.5, shape=4)
    pm.Normal("y", pm.StudentT("m", 4), (theta[GROUP] * POSITIVE) ** 0.5, observed=Y)


def chi_squared():
    theta = pm.ChiSquared("theta", pm.Gamma("nu", 4, 1), shape=4)
    pm.Poisson("y", theta[GROUP], observed=COUNTS)


def rats():
    theta = pm.Beta("theta", pm.Gamma("a", 2, 1), pm.Gamma("b", 2, 1), shape=8)
    pm.Binomial("y", 6, theta, observed=COUNTS)


def reflected():
    theta = pm.Beta("theta", 2.0, 3.0, shape=4)
    pm.Bernoulli("y", 1.0 - theta[GROUP], observed=COUNTS > 2)


def trials():
    theta = pm.Beta("theta", 2.0, 3.0, shape=4)
    pm.Geometric("y", theta[GROUP], observed=COUNTS + 1)


def failures():
    theta = pm.Beta("theta", 2.0, 3.0, shape=4)
    pm.NegativeBinomial("y", n=3, p=theta[GROUP], observed=COUNTS)


def votes():
    theta = pm.Dirichlet("theta", pm.Gamma("a", 2, 1) * np.array([1.0, 2.0, 0.5]), shape=(2, 3))
    pm.Multinomial("y", 9, theta, observed=[[1, 5, 3], [4, 5, 0]])


def choices():
    theta = pm.Dirichlet("theta", np.array([1.0, 2.0, 0.5]), shape=(4, 3))
    pm.Categorical("y", theta[GROUP], observed=COUNTS % 3)


def reaction():
    e = pm.Exponential("e", scale("rate"), shape=8)
    pm.Normal("y", pm.StudentT("m", 4) + 0.7 * e, scale(), observed=Y)


def frontier():
    e = pm.HalfNormal("e", scale("slack"), shape=8)
    pm.Normal("y", pm.StudentT("m", 4) - 0.7 * e, scale(), observed=Y)


def heavy():
    v = pm.Exponential("v", scale("rate"), shape=8)
    pm.Normal("y", pm.StudentT("m", 4), pm.math.sqrt(0.7 * v), observed=Y)


def probit():
    u = pm.Normal("u", 0.4, scale(), shape=8)
    pm.Bernoulli("y", pm.math.invprobit(-0.8 * u + 0.3), observed=COUNTS > 2)


def seen_of_poisson():
    pm.Binomial("y", pm.Poisson("n", 3.0 + scale(), shape=8), pm.Beta("p", 2, 2), observed=COUNTS)


def seen_of_binomial():
    pm.Binomial("y", pm.Binomial("n", 9, pm.Beta("q", 2, 2), shape=8), pm.Beta("p", 2, 2), observed=COUNTS)


def seen_of_negative_binomial():
    n = pm.NegativeBinomial("n", n=3, p=pm.Beta("q", 2, 2), shape=8)
    pm.Binomial("y", n, pm.Beta("p", 2, 2), observed=COUNTS)


def kernel(name: str = "length") -> Any:
    gaps = (TIMES[:, None] - TIMES) ** 2
    return pm.math.exp(-0.5 * gaps / pm.InverseGamma(name, 5.0, 5.0) ** 2) + 1e-2 * np.eye(9)


SOME, HERE = np.array([4, 4, 1, 0, 8, 7]), RNG.normal(size=9).round(2)


def process():
    f = pm.MvNormal("f", 0.3 * TIMES, cov=kernel())
    pm.Normal("y", 1.0 + pm.Normal("c", 1.0, 0.3) * f[SOME], scale(), observed=HERE[:6])


def two_processes():
    f, g = (pm.MvNormal(name, 0.3 * TIMES, cov=kernel(f"length {name}")) for name in "fg")
    pm.Normal("y", f + g, scale(), observed=HERE)


def grid():
    f = pm.KroneckerNormal("f", mu=np.arange(12.0) / 9, covs=[KERNEL[:3, :3], KERNEL[3:7, 3:7]], shape=12)
    pm.Normal("y", 0.5 + pm.HalfNormal("c", 1.0) * f, scale(), observed=np.cos(np.arange(12.0)))


def bounds():
    theta = pm.Pareto("theta", 1.0 + scale(), 0.3, shape=5)
    pm.Uniform("y", 0, theta[GROUP], observed=POSITIVE)


def matrix():
    nu = 3.0 + pm.Exponential("nu", 1.0)
    V = pm.Wishart("V", nu=nu, V=np.array([[0.5, 0.1], [0.1, 0.3]]))
    pm.MvNormal("y", pm.StudentT("m", 4, shape=2), tau=V, observed=np.stack([X, Y + 0.5 * X], axis=1))


def schools():
    mu, tau = pm.Normal("mu", 0, 5), pm.HalfCauchy("tau", 5)
    theta = pm.Normal("theta", mu, tau, shape=8)
    pm.Normal("y", theta, POSITIVE, observed=Y)


def slopes():
    mu, tau, beta = pm.Normal("mu", 0, 5, shape=2), pm.HalfNormal("tau", 1, shape=2), pm.Normal("beta", 0, 2, shape=2)
    a, b = pm.Normal("a", mu[0], tau[0], shape=4), pm.Normal("b", mu[1], tau[1], shape=4)
    mean = a[CELL] + b[CELL] * WIDE[:, 0] + pm.math.dot(WIDE, beta)
    pm.Normal("y", mean, scale(), observed=ROWS)


def weighted():
    theta = pm.Normal("theta", 0.5, scale("tau"), shape=4)
    pm.Normal("y", theta[CELL], scale() * (1.0 + CELL + WIDE[:, 0] ** 2), observed=ROWS)


def walk():
    x = pm.GaussianRandomWalk("x", mu=0.3, sigma=scale("tau"), init_dist=pm.Normal.dist(1, 2), shape=12)
    pm.Normal("y", x, scale(), observed=np.sin(np.arange(12.0)))


def slopes_in_a_chain():
    turn, level, slope = scale("turn"), pm.Normal("level0", 0, 5), pm.Normal("slope0", 0, 1)
    for t in range(1, 13):
        level, slope = pm.Normal(f"level{t}", level + slope, 0.5), pm.Normal(f"slope{t}", slope, turn)
        pm.Normal(f"y{t}", level, 1.0, observed=np.sin(t))


def autoregression():
    x = pm.AR("x", [0.5, pm.Uniform("rho", -0.4, 0.4)], sigma=scale("tau"), init_dist=pm.Normal.dist(0, 2), shape=12)
    pm.Normal("y", x, scale(), observed=np.sin(np.arange(12.0)))


def areas():
    borders = (abs(np.arange(9)[:, None] - np.arange(9)) == 1).astype(int)
    f = pm.CAR("f", np.zeros(9), borders, pm.Uniform("alpha", 0, 0.95), scale("tau"))
    pm.Normal("y", f, scale(), observed=HERE)
    return {"eliminate": ["f"]}


def sums_to_zero():
    u = pm.ZeroSumNormal("u", scale("tau"), shape=4)
    pm.Normal("y", pm.StudentT("m", 4) + u[GROUP], scale(), observed=Y)


def sums_to_zero_both_ways():
    u = pm.ZeroSumNormal("u", scale("tau"), n_zerosum_axes=2, shape=(4, 3))
    pm.Normal("y", pm.StudentT("m", 4) + u[GROUP, OTHER], scale(), observed=Y)


def few_vectors():
    chol = tt.diag(pm.HalfNormal("tau", 1, shape=3)) + np.tril(np.ones((3, 3)), -1) * 0.3
    u = pm.MvNormal("u", np.array([0.5, 0.0, -0.5]), chol=chol, shape=(4, 3))
    pm.Normal("y", u[GROUP, 0] + u[GROUP, 1] * X + u[GROUP, 2] * X[::-1], scale(), observed=Y)


def one_variance():
    v = pm.InverseGamma("v", 2.0, scale("b"))
    theta = pm.Normal("theta", 0.3, pm.math.sqrt(v) * scale("tau"), shape=4)
    pm.Normal("y", theta[GROUP], pm.math.sqrt(v), observed=Y)


def trend():
    slope = pm.Normal("slope", 0, scale("tau"), shape=12)
    pm.Normal("y", pm.math.cumsum(pm.math.cumsum(slope)), scale(), observed=np.sin(np.arange(12.0)))


def many_columns():
    beta = pm.Normal("beta", 0.2, scale("tau"), shape=6)
    design = np.cos(np.outer(np.arange(40.0), np.arange(1.0, 7.0)))
    pm.Normal("y", pm.math.dot(design, beta), scale(), observed=np.sin(np.arange(40.0)))


def mixture():
    label = pm.Categorical("label", pm.Dirichlet("w", np.ones(3)), shape=8)
    pm.StudentT("y", 4, pm.Normal("m", [-1, 0, 1.0], 1, shape=3)[label], scale(), observed=Y)


def parents():
    up = pm.Bernoulli("up", pm.Beta("p", 2, 2))
    down = pm.Categorical("down", pm.math.constant([[0.2, 0.5, 0.3], [0.6, 0.3, 0.1]])[up])
    pm.StudentT("y", 4, pm.Normal("m", 0, 1, shape=3)[down] * up, scale(), observed=Y)


def hidden():
    P = pm.Dirichlet("P", np.array([[3.0, 1.0], [1.0, 2.0]]))
    z = pm.DiscreteMarkovChain("z", P=P, init_dist=pm.Categorical.dist([0.3, 0.7]), shape=12)
    pm.StudentT("y", 4, pm.math.constant([-1.0, 1.0])[z], scale(), observed=2.0 * np.sin(np.arange(12.0)))


def pairs_in_a_loop():
    z = [pm.Categorical("z0", np.array([0.3, 0.7]))]
    for t in range(1, 4):
        z.append(pm.Categorical(f"z{t}", pm.math.constant([[0.9, 0.1], [0.3, 0.7]])[z[-1]]))
        pm.StudentT(f"y{t}", 4, 2.0 * z[-1] - z[-2], scale(f"s{t}"), observed=0.3 * t)


def change():
    tau = pm.DiscreteUniform("tau", 2, 9)
    early, late = pm.Normal("early", 0, 1), pm.Normal("late", 1, 2)
    mean = pm.math.switch(np.arange(12) < tau, early, late)
    pm.StudentT("y", 4, mean, scale(), observed=np.arange(12.0) > 4.5)


def coal():
    tau = pm.DiscreteUniform("tau", 0, 11)
    early, late = pm.Exponential("early", scale("a")), pm.Exponential("late", scale("b"))
    pm.Poisson("y", pm.math.switch(tau >= np.arange(12), early, late), observed=[3, 2, 4, 3, 1, 0, 0, 1, 0, 1, 0, 0])


def levels():
    z, p = pm.Bernoulli("z", 0.3, shape=3), pm.Gamma("g", 2, scale("b"), shape=2)
    pm.Poisson("y", pm.math.switch(pm.math.eq(z[OTHER % 3], 1), p[0], p[1]), observed=COUNTS)


def log_normal():
    pm.LogNormal("y", pm.Normal("m", 0, scale("tau"), shape=4)[GROUP], scale(), observed=POSITIVE)


def weibull():
    pm.Weibull("y", 1.5, pm.Gamma("g", 2, scale("b"), shape=4)[GROUP] ** (-1.0 / 1.5), observed=POSITIVE)


def pareto():
    pm.Pareto("y", pm.Gamma("g", 2, scale("b"), shape=4)[GROUP], 0.05, observed=POSITIVE)


def inverse():
    pm.InverseGamma("y", 2.0, pm.Gamma("g", 2, scale("b"), shape=4)[GROUP], observed=POSITIVE)


def distances():
    pm.Laplace("y", 0.3, pm.InverseGamma("g", 2, scale("b"), shape=4)[GROUP], observed=Y)


def cut_off():
    law = pm.Exponential.dist(pm.Gamma("g", 2, scale("b"), shape=4)[GROUP])
    pm.Censored("y", law, lower=None, upper=1.5, observed=np.minimum(POSITIVE, 1.5))


def loop():
    mu, tau = pm.StudentT("mu", 4), scale("tau")
    level = [pm.Laplace(f"level{i}", mu + 0.1 * i, tau) for i in range(5)]
    for i in range(8):
        pm.StudentT(f"y{i}", 4, level[(3 * i) % 5] - X[i], scale() if i == 0 else 1.0, observed=Y[: 1 + i % 3])


def loop_with_designs():
    common = pm.StudentT("common", 4)
    for i in range(4):
        beta = pm.Laplace(f"beta{i}", common, 1.0 + i, shape=2)
        pm.StudentT(f"y{i}", 4, pm.math.dot(WIDE[3 * i : 3 * i + 2 + i], beta), 1.0, observed=ROWS[: 2 + i])


def drifting():
    x, drift, noise = pm.Normal("x0", 1, 2), pm.Normal("drift", 0, 1), scale()
    for t in range(1, 13):
        x = pm.Normal(f"x{t}", drift + x, noise)
        pm.Normal(f"y{t}", x, 1.0, observed=np.sin(t))


def following():
    x, rho, noise = [pm.StudentT("x0", 4)], pm.Uniform("rho", -1, 1), scale()
    for t in range(1, 12):
        x.append(pm.StudentT(f"x{t}", 4, rho * x[-1], noise))
        pm.Poisson(f"y{t}", pm.math.exp(0.3 * x[-1]), observed=t % 3)


def normal_rows():
    pm.Normal("y", pm.StudentT("m", 4, shape=3)[CELL], scale(), observed=ROWS)


def line():
    beta = pm.StudentT("b", 4, shape=2)
    pm.Normal("y", 0.3 + pm.math.dot(WIDE, beta), scale(), observed=ROWS)


def count_rows():
    pm.Poisson("y", pm.math.exp(pm.StudentT("m", 4, shape=3)[CELL]), observed=ROW_COUNTS)


def exposed():
    pm.Poisson("y", np.exp(WIDE[:, 0]) * pm.math.exp(pm.StudentT("m", 4, shape=3)[CELL]), observed=ROW_COUNTS)


def counted():
    pm.NegativeBinomial("y", mu=pm.math.exp(pm.StudentT("m", 4, shape=3)[CELL]), alpha=scale(), observed=ROW_COUNTS)


def sorted_rows():
    pm.Laplace("y", pm.StudentT("m", 4), scale(), observed=ROWS)


def skewed_rows():
    pm.AsymmetricLaplace("y", kappa=scale("k"), mu=pm.StudentT("m", 4), b=scale(), observed=ROWS)


def uniform_rows():
    pm.Uniform("y", -3.0 - scale("a"), 3.0 + pm.HalfNormal("b", 1, shape=3)[CELL], observed=np.clip(ROWS, -3, 3))


def first_passages():
    pm.Wald("y", mu=1.0 + scale("a"), lam=scale(), alpha=0.5, observed=1.0 + abs(ROWS))


def tallies():
    p = pm.math.softmax(pm.StudentT("m", 4, shape=3))
    pm.Multinomial("y", 5, p, observed=RNG.multinomial(5, [0.2, 0.3, 0.5], MANY))


def vector_rows():
    chol = tt.diag(pm.HalfNormal("tau", 1, shape=2)) + np.tril(np.ones((2, 2)), -1) * 0.3
    pm.MvNormal("y", pm.StudentT("m", 4, shape=2), chol=chol, observed=WIDE)


def truncated_rows():
    law = pm.Normal.dist(pm.StudentT("m", 4, shape=3)[CELL], scale())
    pm.Truncated("y", law, lower=-1.5, upper=1.5, observed=np.clip(ROWS, -1.4, 1.4))


def censored_rows():
    law = pm.Normal.dist(pm.StudentT("m", 4, shape=3)[CELL], scale())
    pm.Censored("y", law, lower=-1.0, upper=1.0, observed=np.clip(ROWS, -1.0, 1.0))


def spectral_rows():
    pm.MvNormal("y", pm.StudentT("m", 4) * TIMES, scale("t") ** 2 * KERNEL + scale() ** 2 * np.eye(9), observed=HERE)


def table_of_rows():
    pm.Poisson("y", pm.HalfNormal("m", 2, shape=4)[:, None] * np.ones((1, 12)), observed=ROW_COUNTS.reshape(4, 12))


def balanced():
    u = pm.Normal("u", pm.Normal("m", 0, 1), scale("tau"), shape=4)
    pm.Poisson("y", pm.math.exp(u[GROUP]), observed=COUNTS)


def balanced_logarithm():
    u = pm.LogNormal("u", pm.Normal("m", 0, 1), scale("tau"), shape=4)
    pm.Poisson("y", u[GROUP], observed=COUNTS)


def partly_centered():
    beta = pm.Normal("beta", pm.Normal("m", 0, 1), scale("tau"), shape=2)
    pm.Bernoulli("y", logit_p=pm.math.dot(WIDE, beta), observed=ROW_COUNTS > 2)


def without_scale():
    u = pm.HalfNormal("u", pm.LogNormal("tau", 0, 1), shape=4)
    pm.Normal("y", 0, u[GROUP], observed=Y)


def scores():
    tau, wide = pm.Gamma("tau", 2, 1), pm.Uniform("wide", 0.2, 9.0)
    u, v = pm.StudentT("u", 4, pm.Cauchy("m", 0, 1), tau, shape=4), pm.Laplace("v", 0, wide, shape=3)
    pm.Poisson("y", pm.math.exp(u[GROUP] + 0.2 * v[OTHER]), observed=COUNTS)


def near_scores():
    x = pm.StudentT("x", 3.0, 0.3, 1.5, shape=8)
    pm.StudentT("y", 4, x, 20.0, observed=9.0 * Y)
    scale()


def pulled():
    x = pm.GaussianRandomWalk("x", mu=0.3, sigma=scale("tau"), init_dist=pm.Normal.dist(1, 2), shape=10)
    pm.Normal("y", 0, pm.math.exp(x), observed=np.cos(np.arange(10.0)))


def pulled_steps():
    tau, e = pm.Exponential("tau", 2.0), pm.Normal("e", 0, 1, shape=10)
    pm.Normal("y", 0, pm.math.exp(pm.math.cumsum(tau * e)), observed=np.cos(np.arange(10.0)))


def correlated():
    chol, _, _ = pm.LKJCholeskyCov("chol", n=2, eta=2.0, sd_dist=pm.Exponential.dist(1.0))
    u = pm.MvNormal("u", pm.Normal("m", 0.0, 1.0, shape=2), chol=chol, shape=(4, 2))
    pm.Poisson("y", pm.math.exp(u[GROUP, 0] + X * u[GROUP, 1]), observed=COUNTS)


def process_of_counts():
    pm.Poisson("y", pm.math.exp(pm.MvNormal("f", np.zeros(9), cov=kernel())), observed=np.arange(9) % 4)


def known_process_of_counts():
    f = pm.MvNormal("f", np.zeros(9), cov=scale("eta") ** 2 * KERNEL)
    pm.Poisson("y", pm.math.exp(f), observed=np.arange(9) % 4)


def alike_columns():
    design = np.stack([WIDE[:, 0], WIDE[:, 0] + 0.1 * WIDE[:, 1]], axis=1)
    pm.Bernoulli("y", logit_p=pm.math.dot(design, pm.Normal("b", 0.0, 2.0, shape=2)), observed=ROW_COUNTS > 2)


def two_parts():
    for name, rows in (("a", 9000), ("b", 4)):
        b = pm.Normal(name, 0.5, 2.0, shape=2)
        design = np.cos(np.arange(2.0 * rows)).reshape(rows, 2)
        pm.Bernoulli(f"y{name}", logit_p=pm.math.dot(design, b), observed=np.arange(rows) % 3 == 0)


def numbers():
    theta = pm.Normal("theta", 0, 1.5, shape=3)
    pm.Binomial("y", 9, logit_p=theta[OTHER], observed=COUNTS)


# --- faults ------------------------------------------------------------------------------------------------------
FAULTS = [
    # conjugate pairs
    Fault("an exposure is forgotten", pumps, pairs.gamma_poisson, '"beta": c', '"beta": 1.0'),
    Fault("a count is forgotten", waits, pairs.gamma_exponential, '"alpha": 1.0', '"alpha": 0.5'),
    Fault("a wait is divided", waits, pairs.gamma_exponential, "c * y", "y / c"),
    Fault("a shape is one too small", gammas, pairs.gamma_gamma, '"alpha": alpha', '"alpha": alpha - 0.1'),
    Fault("a half is forgotten", precisions, pairs.gamma_normal, "0.5 * c", "c"),
    Fault("a factor stands above, not below", variances, pairs.inverse_gamma_normal, "/ c", "* c"),
    Fault("successes are failures", rats, pairs.beta_binomial, '"alpha": y, "beta": n - y',
          '"alpha": n - y, "beta": y'),
    Fault("the last trial is counted twice", trials, pairs.beta_geometric, "y - 1", "y"),
    Fault("failures are the number asked for", failures, pairs.beta_negative_binomial, '"beta": y', '"beta": y + n'),
    Fault("categories are turned round", votes, pairs.dirichlet_multinomial, '"a": y', '"a": y[..., ::-1]'),
    Fault("the category before", choices, pairs.dirichlet_categorical, "np.arange(categories)",
          "1 + np.arange(categories)"),
    Fault("a normalizer without its rate", pumps, pairs._growth_of_gamma, " + tt.sum(more * tt.log(b))", ""),
    Fault("a normalizer without the sum", rats, pairs._growth_of_beta, " - log_rising(a + b, yes + no)", ""),
    Fault("the sum of a simplex counted once more", votes, pairs._growth_of_dirichlet, "- log_rising(tt",
          "- 2 * log_rising(tt"),
    Fault("a chi-squared law without its half", chi_squared, pairs.PRIORS["ChiSquared"].parameters,
          lambda nu: {"alpha": nu, "beta": 0.5}),
    Fault("the power of a scale forgotten", pumps, conjugate.Child.remainder, "prior.by_scale *",
          "0.5 * prior.by_scale *"),
    Fault("a reflection is not turned back", reflected, conjugate.Child.increments,
          '{"alpha": counted["beta"], "beta": counted["alpha"]} if', "counted if"),
    Fault("groups are one off", waits, conjugate.gathered, "flat, size)", "(flat + 1) % size, size)"),
    Fault("the prior is drawn, not the posterior", pumps, conjugate.integrated_out, "draw(family, updated, batch)",
          "draw(family, tuple(tt.broadcast_to(as_tensor(p), shape) for p in start.values()), batch)"),
    # latent variables of one row
    Fault("a mean is not shifted", reaction, compounds.exponential_and_noise, " - lam * (sigma / row.c) ** 2", ""),
    Fault("a rate forgets its multiple", reaction, compounds.exponential_and_noise, "lam / size)", "lam)"),
    Fault("a width without its multiple", frontier, compounds.half_normal_and_noise, "sigma, row.c * s)",
          "sigma, s)"),
    Fault("a scale of a draw squared", frontier, compounds.half_normal_and_noise, "s * sigma / wide",
          "(s * sigma / wide) ** 2"),
    Fault("a variance counted half", heavy, compounds.exponential_variance, "1.0, rate)", "1.0, 0.5 * rate)"),
    Fault("a draw without its multiple", heavy, compounds.exponential_variance, "1.0 / (row.c * precision)",
          "1.0 / precision"),
    Fault("the scale of a probit", probit, compounds.probit_of_normal, "s / wide)", "s)"),
    Fault("a probit without its variance", probit, compounds.probit_of_normal, "tt.ndtr(center / wide)",
          "tt.ndtr(center)"),
    # counts that are seen in part
    Fault("the rest is as many as all", seen_of_poisson, Poisson.unseen, lambda y, p, mu: (mu,)),
    Fault("what is seen is what is not", seen_of_poisson, Poisson.thinned, lambda p, mu: ((1.0 - p) * mu,)),
    Fault("the rest is not given what is seen", seen_of_binomial, Binomial.unseen,
          lambda y, p, n, q: (n - y, q * (1.0 - p))),
    Fault("the rest forgets what is seen", seen_of_negative_binomial, NegativeBinomial.unseen,
          lambda y, p, n, q: (n + 0 * y, 1.0 - (1.0 - p) * (1.0 - q))),
    Fault("what is seen is not added", seen_of_poisson, thinning.integrated_out, "y + draw", "0 * y + draw"),
    # processes seen through noise
    Fault("noise is not squared", process, noisy.Independent.added_to, "self.sigma**2", "self.sigma"),
    Fault("a multiple counts once", process, noisy.Rows.law, "c**2)", "c)"),
    Fault("a mean without its offset", process, noisy.Rows.draw, " + p.b", ""),
    Fault("the unit matrix is forgotten", process, noisy.Rows.draw, "tt.eye(known_shape(chol)[-1], dtype=w.dtype)",
          "2.0 * tt.eye(known_shape(chol)[-1], dtype=w.dtype)"),
    Fault("rows in the order they were written", process, picked.Picked.sorted, "flat[self.order]", "flat"),
    Fault("a process counted twice", two_processes, noisy.Correlated.added_to, "covariance_of(self.root)",
          "2.0 * covariance_of(self.root)"),
    Fault("a triangle not turned", two_processes, noisy.Rows.draw, "w.mT @ d", "w @ d"),
    Fault("an amplitude counts once", grid, grids.Rows.law, "self.c**2", "self.c"),
    Fault("a share without its multiple", grid, grids.Rows.draw, "self.c * p / t", "p / t"),
    Fault("noise of a draw without its scale", grid, grids.Rows.draw, "tt.sqrt(p / t) * s", "tt.sqrt(p / t)"),
    # bounds, precisions of vectors
    Fault("a row is not counted", bounds, largest.integrated_out, "np.add.at(rows, positions, 1.0)",
          "np.add.at(rows, positions[1:], 1.0)"),
    Fault("the least in the place of the largest", bounds, largest.integrated_out,
          "np.maximum.at(largest, positions, y)", "largest[positions] = y"),
    Fault("the power of a bound", bounds, largest.integrated_out, "alpha * tt.log(m)", "tt.log(m)"),
    Fault("degrees of freedom of the prior", matrix, wishart.integrated_out, "draw(Wishart, (nu + n",
          "draw(Wishart, (nu"),
    Fault("the power of a determinant", matrix, wishart.integrated_out, "- (nu + n) * _log_det", "- nu * _log_det"),
    Fault("a factor not turned", matrix, wishart.integrated_out, "after.T @ after", "after @ after.T"),
    # Gaussian blocks
    Fault("half a determinant", schools, block.Marginal.volume, "0.5 * self.groups.log_det", "self.groups.log_det"),
    Fault("the sign of a determinant", schools, block.Marginal.volume, "total - 0.5 * self.dense.log_det()",
          "total + 0.5 * self.dense.log_det()"),
    Fault("a scale counted once", weighted, block.Marginal.volume, "r.count * tt.log(r.scale)", "tt.log(r.scale)"),
    Fault("groups of a draw do not follow", schools, block._given, "u - move @ v", "u + move @ v"),
    Fault("noise a tenth too wide", schools, block.Marginal.values, "scale * _noise(count * width)",
          "1.1 * scale * _noise(count * width)"),
    Fault("stale noise", schools, block.Marginal.values, "noise = scale * _noise(count * width)",
          "noise = tt.concatenate([_noise(1)] * (count * width))"),
    Fault("weights forgotten", weighted, block.statistics, "r.summed(r.weight * t.data * r.e)",
          "r.summed(t.data * r.e)"),
    Fault("a cross product counted once", slopes, block.Block._schur, "matrix - cross - cross.T", "matrix - cross"),
    Fault("a sum of squares without its last term", slopes, block.Block.sum_of_squares,
          "+ tt.sum(there * (s.xx @ there))", ""),
    Fault("not moved back", slopes, block.Marginal.values, "[tt.cast(p + d, \"floatX\")", "[tt.cast(p, \"floatX\")"),
    Fault("the square root of weights", weighted, block_rows._scale, "_row(found[0].data, shape, n) ** -2.0",
          "_row(found[0].data, shape, n) ** -1.0"),
    Fault("the group after", walk, block.Block._chain, "(i, 0), ahead(value) if lag", "(i, 0), behind(value) if lag"),
    Fault("links of a chain a tenth too weak", slopes_in_a_chain, block.Block._chain, "b.add(p * number,",
          "b.add(0.9 * p * number,"),
    Fault("steps have no drift", walk, Normal.residuals, "mu - x", "0.0 * mu - x"),
    Fault("the step before last", autoregression, AR.residuals, "x[order - 1 - i : length - 1 - i]",
          "x[i : length - order + i]"),
    Fault("areas without their lengths", areas, CAR.residuals, "tau**-0.5 / lengths",
          "tau**-0.5"),
    Fault("a mean is left in", sums_to_zero, inner_coordinates._free_of_sums, "value = value - mean",
          "value = value - 0.9 * mean"),
    Fault("a mean along the other side", sums_to_zero_both_ways, inner_coordinates._free_of_sums,
          "mean = tt.mean(value, axis=axis", "mean = tt.mean(value, axis=-1"),
    Fault("an entry given others", few_vectors, residuals._entry_by_entry, "chol[i, j] * z[j]", "chol[i, i] * z[j]"),
    Fault("degrees of freedom halved", one_variance, common_scale.CommonScale._updated, "0.5 * marginal.freedom",
          "0.25 * marginal.freedom"),
    Fault("squares counted whole", one_variance, common_scale.CommonScale._updated, "0.5 * marginal.squares()",
          "marginal.squares()"),
    Fault("a binomial coefficient", trend, inner_coordinates.differences, "comb(order, j) *", "",
          why="another triangular map with ones on its diagonal is as good a coordinate inside the block"),
    Fault("a mean is not added back", slopes, inner_coordinates._from_mean, " + by", " + 0.5 * by"),
    Fault("a diagonal not rooted", many_columns, spectral.DiagonalFactor.backward, "tt.sqrt(self.diagonal)",
          "self.diagonal"),
    Fault("columns not turned back", many_columns, block.Marginal.values, "block.rotation.matrix @ value",
          "block.rotation.matrix.T @ value"),
    Fault("a triangle solved from above", few_vectors, spd.Factor.backward, "self.lower[k][i]",
          "0.9 * self.lower[k][i]"),
    # labels
    Fault("values one off", mixture, tables._by_own_value, "as_tensor(values.astype",
          "as_tensor(values[::-1].astype"),
    Fault("a label drawn from what is not normalized", mixture, sum_product._one_by_one,
          "tt.softmax(weights, axis=-1)",
          "tt.softmax(0.5 * weights, axis=-1)"),
    Fault("values of a parent exchanged", parents, sum_product._one_by_one, "*(values[r] for r in others)",
          "*(1 - values[r] for r in others)"),
    Fault("the first of two tables alone", parents, sum_product._one_by_one, "joined + spread", "spread"),
    Fault("a step of a chain the other way", hidden, tables._chain_tables, "tt.log(steps)",
          "tt.log(tt.swapaxes(steps, -1, -2))"),
    Fault("where a chain begins", hidden, tables._chain_tables, "tt.log(start)", "tt.log(start[::-1])"),
    Fault("a chain drawn forwards", hidden, sum_product._chain, "-1, -2)[::-1]", "-1, -2)"),
    Fault("one look at a chain is lost", hidden, sum_product._chain, "tt.expand_dims(single[1:], -2)",
          "tt.expand_dims(single[:-1], -2)"),
    Fault("tables in another order", hidden, sum_product.Pool.at, "return _rows(self.entries, rows)",
          "return _rows(self.entries, rows[::-1])"),
    Fault("the least value forgotten", change, discrete._recovered, " + int(values[0])", ""),
    Fault("runs end one row early", change, runs._runs_of, "] = run",
          "] = Run(run.start, np.maximum(run.start, run.end - 1))"),
    Fault("a state for another", change, switches._by_states, "np.searchsorted(d, s)[:, at",
          "len(d) - 1 - np.searchsorted(d, s)[:, at"),
    Fault("both branches have all rows", coal, branches._halves, "tt.logical_not(condition), False",
          "condition, False"),
    Fault("a branch for the other", levels, branches._halves, "switch[1]), (tt", "switch[2]), (tt"),
    Fault("running totals begin one late", change, runs._sum_over, "totals[np.where(some, run.end, 0)]",
          "totals[np.where(some, run.end - 1, 0)]"),
    # observed values in other coordinates
    Fault("a value in other units", log_normal, bijections.opened, "as_tensor(value)", "1.1 * as_tensor(value)"),
    Fault("a power forgotten", weibull, Weibull.change_of_variables.of, "y**alpha, (beta", "y, (beta"),
    Fault("not from the least value", pareto, Pareto.change_of_variables.of, "log(y / m)", "log(1 + y / m)"),
    Fault("not turned upside down", inverse, InverseGamma.change_of_variables.of, "1.0 / y, (alpha", "y, (alpha"),
    Fault("a rate is a scale", distances, Laplace.change_of_variables.of, "(1.0 / b,)", "(0.5 / b,)"),
    Fault("time counts only where the end was seen", cut_off, bijections.censored, "rate * time",
          "rate * time * seen"),
    # loops
    Fault("entries come back in another order", loop, stacking._Vectors.instead, "many[int(at[0])]))",
          "many[-1 - int(at[0])]))"),
    Fault("another entry", loop, stacking._Vectors._entries, "_taken(vector, positions)",
          "_taken(vector, positions[::-1])"),
    Fault("one row for all, in another order", loop_with_designs, stacking._Vectors._product, "np.arange(len(rows))",
          "np.arange(len(rows))[::-1]"),
    Fault("a drift is lost", drifting, processes._drift, "next((x for x in mean.inputs if x is not before), before)",
          "constant(0.0)"),
    Fault("a law of the wrong step", following, processes._joined, "Law.of(law, now[rv])",
          "Law.of(law, now[process[-1]])"),
    # rows as statistics
    Fault("a cross term forgotten", normal_rows, Normal.logp_of_rows, " + (2.0 * n * mean) * off", ""),
    Fault("a scale counted for each cell", normal_rows, Normal.logp_of_rows, "-n * log(sigma)", "-log(sigma)"),
    Fault("a cell for another", normal_rows, cells.cells, "return first, cell.ravel()",
          "return first[::-1], cell.ravel()"),
    Fault("a normalizer counted for each cell", count_rows, compaction._of_statistics, "rows.counts * family",
          "family"),
    Fault("an exposure lost", exposed, products._multiply, "_times(p.data, q.data)", "q.data"),
    Fault("counted once", counted, compaction._counted, "as_tensor(counts) * densities", "densities"),
    Fault("below is above", skewed_rows, AsymmetricLaplace.logp_of_distances, "kappa * above + below / kappa",
          "kappa * below + above / kappa"),
    Fault("a running total one off", sorted_rows, compaction._distances, "below * at - totals[k]",
          "below * at - totals[k - 1]"),
    Fault("a length counted for each cell", uniform_rows, Uniform.logp_of_rows, "rows.counts * log", "log"),
    Fault("half a square", first_passages, Wald.logp_of_rows, "2.0 * off", "off"),
    Fault("categories in another order", tallies, Multinomial.logp_of_rows, "switch(seen, p, 1.0)",
          "switch(seen, p[::-1], 1.0)"),
    Fault("the mean counts once", vector_rows, MvNormal.logp_of_rows, "n * sum(off**2)", "sum(off**2)"),
    Fault("a mass counted once", truncated_rows, bounded.truncated, "tt.sum(counts * mass)", "tt.sum(mass)"),
    Fault("bounds counted once", censored_rows, bounded.censored, "counts * at_bounds", "at_bounds"),
    Fault("squares of what is left are lost", line, linear.compact_linear, "squares = squares + tt.sum((tt",
          "squares = tt.sum((tt"),
    Fault("a spectrum without its half", spectral_rows, spectrum.compact_spectral, "tt.log(d) + u**2 / d",
          "2.0 * tt.log(d) + u**2 / d"),
    Fault("entries of a table along the other side", table_of_rows, cells._flat,
          "np.arange(prod(lead)).reshape(lead)",
          "np.arange(prod(lead))[::-1].reshape(lead)"),
    # coordinates
    Fault("no Jacobian of balanced numbers", balanced, centering.Balanced.log_density,
          " - 0.5 * tt.log1p(self.information * sigma**2)", ""),
    Fault("a shift the other way", balanced, centering.Balanced._standard, "z - self", "z + self",
          why="any shift keeps the law: the coordinate stays one-to-one, and its density follows"),
    Fault("no Jacobian of a logarithm", without_scale, centering.ScaledLogarithm.log_density, " + logarithm", ""),
    Fault("no logarithm of a scale", partly_centered, centering.PartiallyCentered.log_density,
          " - self.weight * tt.log(sigma)", ""),
    Fault("a power of a scale", partly_centered, centering.PartiallyCentered.backward, "1.0 - self.weight",
          "1.0 + self.weight"),
    Fault("the slope of a short logarithm", scores, coordinates.ShortLog.log_density, " + tt.log(0.5 + _hazard(z))",
          ""),
    Fault("ends exchanged", scores, Uniform.of_normal_score, "lower + (upper - lower) * below",
          "lower + 0.9 * (upper - lower) * below"),
    Fault("the tangent of a half", scores, Cauchy.of_normal_score, "tail = 1.0 /", "tail = 2.0 /"),
    Fault("the slope of a near score", near_scores, coordinates.NearScore.log_density, "0.5 * (nu - 1.0)",
          "0.5 * nu"),
    Fault("no determinant of a walk", pulled, walks.Pulled.log_density, "- tt.sum(tt.log(lower))",
          "- 0.9 * tt.sum(tt.log(lower))"),
    Fault("no scale of steps", pulled_steps, walks.PulledSteps.log_density,
          " - len(self.information) * tt.log(scale)", ""),
    Fault("half a determinant of vectors", correlated, centering.BalancedVectors.log_density, "0.5 * factor.log_det()",
          "factor.log_det()"),
    Fault("powers of partial correlations", correlated, covariances.SpreadAndCorrelation.log_density,
          "2.0 * eta - 3.0",
          "2.0 * eta - 2.0"),
    Fault("no determinant of a process", process_of_counts, centering.BalancedProcess.log_density,
          " - tt.sum(tt.log(tt.diagonal(root)))", ""),
    Fault("an amplitude not squared", known_process_of_counts, centering.KnownProcess._lengths, "number**2", "number",
          why="whatever the lengths are, the coordinate is one-to-one, and its density uses the same"),
    Fault("a matrix not inverted", alike_columns, centering.Whitened.backward, "np.linalg.inv(self.root)", "self.root",
          why="the coordinate is then another one, with a density that follows and a constant volume"),
    # parts, and what the sampler is given
    Fault("a weight of a part is lost", two_parts, parts.parts, "append(term)", "append(0.5 * term)"),
    Fault("entries of numbers exchanged", numbers, independence._sums, "site, count)", "site[::-1], count)",
          why="all densities together are the same: that one is drawn from another's is a fault of the sampler"),
    Fault("a Jacobian left out of the density", heavy, rewriting.Posterior._logp, "self.terms.values()",
          "list(self.terms.values())[1:]"),
]  # fmt: skip


FAST = {waits, gammas, votes, choices, reflected, heavy, probit, schools, bounds, table_of_rows}


def quick_first(faults: Any) -> Any:
    """Some faults in every run, the others in the full one: they compile a sampler each."""
    return some_slow(list(faults), lambda f: f.model in FAST)


@pytest.mark.parametrize("fault", quick_first(f for f in FAULTS if not f.why), ids=lambda f: f.name)
def test_a_planted_fault_is_found(fault, monkeypatch):
    plant(fault, monkeypatch)
    with pytest.raises(CertificateError):
        certificate(fault.model)


@pytest.mark.slow
@pytest.mark.parametrize("fault", [f for f in FAULTS if f.why], ids=lambda f: f.name)
def test_what_is_no_fault_of_the_posterior_is_let_pass(fault, monkeypatch):
    plant(fault, monkeypatch)
    assert certificate(fault.model).startswith("holds")


@pytest.mark.parametrize(
    "write", some_slow(dict.fromkeys(f.model for f in FAULTS), FAST.__contains__), ids=lambda f: f.__name__
)
def test_without_a_fault_all_hold(write):
    assert certificate(write).startswith("holds")


def test_there_are_many_faults():
    assert len([f for f in FAULTS if not f.why]) >= 100
