"""Formulas of Bambi, by PyMC and by ppl: the same densities by both doors, and predictions.

    python benchmarks/bambi_models.py                 every formula
    python benchmarks/bambi_models.py splines censored   some

It needs Bambi and PyMC in one environment. A formula makes a model of the real PyMC in one process; its log-density at
some points is compared there with that of `ppl.from_pymc(model)`. Another process, under the alias, where Bambi builds
its model of ppl, compares its own density with these, draws 20 times from the posterior and predicts new rows. The last
line counts the formulas that agree to 1e-8, relative to the larger of 1 and the density.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import traceback
import warnings
from typing import Any

import numpy as np

POINTS, AGREE, NEW = 3, 1e-8, 5
# name: formulas (the first is that of the response, the others those of its parameters), options of the model
MODELS: dict[str, tuple[list[str], dict[str, Any]]] = {
    "gaussian": (["y ~ x + z"], {}),
    "interactions": (["y ~ x * z + x:g"], {}),
    "categorical predictor": (["y ~ 0 + g + x"], {}),
    "transformed": (["y ~ log(pos) + scale(x) + I(x ** 2)"], {}),
    "polynomial": (["y ~ poly(x, 3)"], {}),
    "splines": (["y ~ bs(x, df=5)"], {}),
    "hsgp": (["y ~ hsgp(x, m=8, c=1.5)"], {}),
    "hsgp by groups": (["y ~ 0 + hsgp(x, by=g, m=6, c=1.5)"], {}),
    "group intercepts": (["y ~ x + (1|g)"], {}),
    "group slopes": (["y ~ x + (x|g)"], {}),
    "centered groups": (["y ~ x + (1|g)"], {"noncentered": False}),
    "crossed groups": (["y ~ x + (1|g) + (1|h)"], {}),
    "nested groups": (["y ~ x + (1|g/h)"], {}),
    "distributional": (["y ~ x", "sigma ~ z"], {}),
    "distributional groups": (["y ~ x + (1|g)", "sigma ~ (1|g)"], {}),
    "t": (["y ~ x"], {"family": "t"}),
    "laplace": (["y ~ x"], {"family": "laplace"}),
    "asymmetric laplace": (["y ~ x"], {"family": "asymmetriclaplace"}),
    "bernoulli": (["yes ~ x + z"], {"family": "bernoulli"}),
    "bernoulli probit": (["yes ~ x"], {"family": "bernoulli", "link": "probit"}),
    "bernoulli cloglog": (["yes ~ x"], {"family": "bernoulli", "link": "cloglog"}),
    "binomial": (["p(successes, trials) ~ x"], {"family": "binomial"}),
    "beta binomial": (["p(successes, trials) ~ x"], {"family": "beta_binomial"}),
    "poisson": (["count ~ x + (1|g)"], {"family": "poisson"}),
    "offset": (["count ~ x + offset(log(pos))"], {"family": "poisson"}),
    "negative binomial": (["count ~ x"], {"family": "negativebinomial"}),
    "gamma": (["pos ~ x"], {"family": "gamma", "link": "log"}),
    "wald": (["pos ~ x"], {"family": "wald", "link": "log"}),
    "weibull": (["pos ~ x"], {"family": "weibull", "link": "log"}),
    "exponential": (["pos ~ x"], {"family": "exponential", "link": "log"}),
    "beta": (["share ~ x"], {"family": "beta"}),
    "vonmises": (["angle ~ x"], {"family": "vonmises"}),
    "categorical": (["choice ~ x"], {"family": "categorical"}),
    "ordinal": (["grade ~ x"], {"family": "cumulative"}),
    "ordinal probit": (["grade ~ x"], {"family": "cumulative", "link": "probit"}),
    "stopping ratio": (["grade ~ x"], {"family": "sratio"}),
    "multinomial": (["c(n1, n2, n3) ~ x"], {"family": "multinomial"}),
    "dirichlet multinomial": (["c(n1, n2, n3) ~ x"], {"family": "dirichlet_multinomial"}),
    "zero inflated poisson": (["zeros ~ x", "psi ~ z"], {"family": "zero_inflated_poisson"}),
    "zero inflated binomial": (["p(fewer, trials) ~ x"], {"family": "zero_inflated_binomial"}),
    "zero inflated counts": (["zeros ~ x"], {"family": "zero_inflated_negativebinomial"}),
    "hurdle poisson": (["zeros ~ x"], {"family": "hurdle_poisson"}),
    "hurdle counts": (["zeros ~ x"], {"family": "hurdle_negativebinomial"}),
    "hurdle gamma": (["rain ~ x"], {"family": "hurdle_gamma"}),
    "hurdle lognormal": (["rain ~ x"], {"family": "hurdle_lognormal"}),
    "censored": (["censored(pos, status) ~ x"], {"family": "weibull", "link": "log"}),
    "truncated": (["truncated(pos, 0, 20) ~ x"], {}),
    "constrained": (["constrained(pos, 0, 20) ~ x"], {}),
    "weighted": (["weighted(y, pos) ~ x"], {}),
    "custom prior": (["y ~ x"], {"priors": {"sigma": ("Gamma", {"mu": 2, "sigma": 1})}}),
}  # fmt: skip


def table() -> Any:
    """Sixty rows of every kind of column."""
    import pandas as pd

    rng, n = np.random.default_rng(1), 60
    x, z = rng.normal(size=n), rng.uniform(-1, 1, n)
    counts = rng.poisson(np.exp(0.5 + 0.3 * x))
    parts = rng.multinomial(6, [0.2, 0.3, 0.5], n)
    trials = rng.integers(3, 9, n)
    successes = rng.binomial(trials, 0.4)
    fewer = np.where(rng.uniform(size=n) < 0.3, 0, successes)
    pos = rng.gamma(3.0, 0.7, n)
    return pd.DataFrame({
        "x": x, "z": z, "g": np.array(list("abcde"))[np.arange(n) % 5],
        "h": np.array(list("uvw"))[np.arange(n) // 5 % 3],
        "y": 1 + 2 * x + rng.normal(0, 0.7, n), "yes": rng.integers(0, 2, n), "pos": pos, "count": counts,
        "successes": successes, "fewer": fewer, "trials": trials,
        "share": rng.beta(2, 3, n), "angle": rng.vonmises(0, 2, n),
        "choice": np.array(["one", "two", "three"])[rng.integers(0, 3, n)],
        "grade": pd.Categorical(rng.integers(0, 4, n), ordered=True),
        "n1": parts[:, 0], "n2": parts[:, 1], "n3": parts[:, 2],
        "zeros": np.where(rng.uniform(size=n) < 0.3, 0, counts), "rain": np.where(rng.uniform(size=n) < 0.3, 0.0, pos),
        "status": np.where(rng.uniform(size=n) < 0.3, "right", "none"),
    })  # fmt: skip


def built(name: str) -> Any:
    """Bambi's model of a formula, of whichever PyMC is imported."""
    import bambi as bmb

    formulas, options = MODELS[name]
    options = dict(options)
    if "priors" in options:
        options["priors"] = {key: bmb.Prior(kind, **given) for key, (kind, given) in options["priors"].items()}
    model = bmb.Model(bmb.Formula(*formulas), table(), **options)
    model.build()
    return model


def points(model: Any) -> list[dict[str, np.ndarray]]:
    """Places near the start, the same for every package."""
    rng, start = np.random.default_rng(2), model.initial_point()
    return [{key: start[key] + 0.3 * rng.normal(size=start[key].shape) for key in sorted(start)} for _ in range(POINTS)]


def difference(found: Any, right: Any) -> float:
    found, right = np.asarray(found, float), np.asarray(right, float)
    return float(np.max(np.abs(found - right) / np.maximum(1.0, np.abs(right))))


def by_pymc(name: str) -> dict[str, Any]:
    """The densities of the real PyMC, and how far those of the converted model are from them."""
    import ppl

    model = built(name).backend.model
    at = points(model)
    density = model.compile_logp(mode="FAST_COMPILE")
    right = [float(density(point)) for point in at]
    converted = ppl.from_pymc(model)
    ours = converted.compile_logp()
    return {
        "points": [{key: value.tolist() for key, value in point.items()} for point in at],
        "densities": right,
        "from_pymc": difference([float(ours(point)) for point in at], right),
    }


def by_alias(name: str, given: dict[str, Any]) -> dict[str, Any]:
    """How far the densities of Bambi's model of ppl are from PyMC's, and whether it predicts new rows."""
    model = built(name)
    density = model.backend.model.compile_logp()
    found = [float(density({key: np.asarray(value) for key, value in point.items()})) for point in given["points"]]
    drawn = model.fit(draws=20, tune=20, chains=1, random_seed=1, progressbar=False)
    predicted = model.predict(drawn, kind="response", data=table()[:NEW], inplace=False, random_seed=1)
    response = next(iter(predicted.posterior_predictive.data_vars.values()))
    assert response.sizes["__obs__"] == NEW and np.isfinite(response.values).all()
    return {"alias": difference(found, given["densities"])}


def child(door: str, names: list[str]) -> None:
    """Print what each formula gives, a line of JSON each."""
    warnings.simplefilter("ignore")
    known = json.load(sys.stdin) if door == "alias" else {}
    for name in names:
        try:
            found = by_pymc(name) if door == "pymc" else by_alias(name, known[name])
        except Exception as error:
            found = {"error": f"{type(error).__name__}: {error}".splitlines()[0][:200]}
            if len(names) == 1:
                traceback.print_exc()
        print("==", json.dumps([name, found]), flush=True)


def run(door: str, names: list[str], given: str = "") -> dict[str, Any]:
    start = [sys.executable, *(["-m", "ppl"] if door == "alias" else []), __file__, f"--{door}", *names]
    flags = {"PYTENSOR_FLAGS": "cxx="} if door == "pymc" else {}  # nothing is compiled for one evaluation
    done = subprocess.run(
        start, input=given, stdout=subprocess.PIPE, text=True, env={**os.environ, **flags}, check=False
    )
    lines = [json.loads(line[3:]) for line in done.stdout.splitlines() if line.startswith("== ")]
    return dict(lines)


def main(names: list[str]) -> None:
    theirs = run("pymc", names)
    ready = [name for name in names if "points" in theirs.get(name, {})]
    ours = run("alias", ready, json.dumps(theirs))
    good = 0
    for name in names:
        told = {
            **{k: v for k, v in theirs.get(name, {}).items() if k not in ("points", "densities")},
            **ours.get(name, {}),
        }
        agrees = all(told.get(door, np.inf) < AGREE for door in ("from_pymc", "alias"))
        good += agrees
        print(f"{name:24}", "agrees" if agrees else told)
    print(f"{good} of {len(names)} formulas agree by both doors, and predict")


if __name__ == "__main__":
    if sys.argv[1:2] in (["--pymc"], ["--alias"]):
        child(sys.argv[1][2:], sys.argv[2:])
    else:
        main(sys.argv[1:] or list(MODELS))
