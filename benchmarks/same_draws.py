"""Draws of models, some for each way in which `sample` draws: a digest of each, to compare two trees by `diff`.

On one machine two trees that sample alike print the same.
"""

import hashlib
import logging
import sys
import warnings

import numpy as np

import ppl as pm

X = np.linspace(-1, 1, 20)
Y = 1.0 + 0.5 * X + 0.1 * np.sin(9 * X)


def coin():
    p = pm.Beta("p", 1, 1)
    pm.Binomial("y", 10, p, observed=7)


def line():
    a, b, s = pm.Normal("a", 0, 5), pm.Normal("b", 0, 5), pm.HalfNormal("s", 1)
    pm.Normal("y", a + b * X, s, observed=Y)


def schools():
    mu, tau = pm.Normal("mu", 0, 5), pm.HalfCauchy("tau", 5)
    theta = pm.Normal("theta", mu, tau, shape=8)
    pm.Normal("y", theta, np.arange(9.0, 17.0), observed=np.array([28.0, 8, -3, 7, -1, 1, 18, 12]))


def robust():
    a, b, s = pm.Normal("a", 0, 5), pm.Normal("b", 0, 5), pm.HalfNormal("s", 1)
    pm.StudentT("y", 4, a + b * X, s, observed=Y)


def logistic():
    a, b = pm.Normal("a", 0, 2), pm.Normal("b", 0, 2)
    pm.Deterministic("odds", pm.math.exp(b))
    pm.Bernoulli("y", logit_p=a + b * X, observed=(X > 0.1).astype(int))


def mixture():
    w, mu = pm.Dirichlet("w", np.ones(2)), pm.Normal("mu", np.array([-1.0, 1.0]), 1, shape=2)
    z = pm.Categorical("z", w, shape=20)
    pm.Normal("y", mu[z], 0.5, observed=Y)


def counts():
    n = pm.DiscreteUniform("n", 5, 40)
    p = pm.Beta("p", 2, 2)
    pm.Poisson("y", n * p, observed=np.array([7, 9, 11]))


def ising():
    z = pm.Bernoulli("z", 0.4, shape=6)
    s = pm.Normal("s", 0, 1)
    pm.Potential("pairs", pm.math.sum(z[:-1] * z[1:]) * s)
    pm.Normal("y", pm.math.sum(z) + s, 1.0, observed=2.5)


def two_parts():
    a = pm.Normal("a", 0, 1, shape=2)
    pm.StudentT("y", 3, a[0] + a[1] * X, 0.5, observed=Y)
    b = pm.Normal("b", 0, 1)
    pm.StudentT("v", 3, b, 0.5, observed=np.cos(X))
    c, d = pm.Normal("c", 0, 1), pm.HalfNormal("d", 1)
    pm.StudentT("u", 5, c, d, observed=np.sin(7 * X))


def numbers():
    a = pm.Normal("a", 0, 1)
    pm.StudentT("y", 3, a, 0.5, observed=Y)
    b = pm.HalfNormal("b", 1)
    pm.StudentT("v", 3, 0, b, observed=Y)


def gaps():
    mu = pm.Normal("mu", 0, 1)
    pm.StudentT("y", 4, mu, 1, observed=np.ma.masked_invalid([1.0, np.nan, 0.5, np.nan, 2.0]))


def walk():
    s = pm.HalfNormal("s", 1)
    x = pm.GaussianRandomWalk("x", sigma=s, init_dist=pm.Normal.dist(0, 1), steps=19)
    pm.StudentT("y", 4, x, 0.3, observed=Y)


def changing():
    x = pm.Data("x", X)
    a, b = pm.Normal("a", 0, 5), pm.Normal("b", 0, 5)
    pm.StudentT("y", 4, a + b * x, 0.3, observed=Y)


RUNS = {
    "coin": (coin, {}),
    "coin as written": (coin, {"rewrite": False}),
    "line": (line, {}),
    "line protected": (line, {"protect": ["a"]}),
    "schools": (schools, {}),
    "schools as written": (schools, {"rewrite": False, "idata_kwargs": {"include_transformed": True}}),
    "robust": (robust, {"discard_tuned_samples": False}),
    "robust by hand": (robust, {"target_accept": 0.9, "max_treedepth": 6}),
    "robust at the mode": (robust, {"init": "map"}),
    "robust, Metropolis": (robust, {"step": lambda m: [pm.Metropolis([m["s"]], model=m)]}),
    "robust, Slice": (robust, {"step": lambda m: pm.Slice(model=m), "chains": 3}),
    "robust, DEMetropolisZ": (robust, {"step": lambda m: pm.DEMetropolisZ(model=m)}),
    "robust, hmc": (robust, {"nuts": {"kernel": "hmc"}}),
    "robust, background": (robust, {"blocking": False}),
    "robust, trace": (robust, {"return_inferencedata": False}),
    "robust, nutpie": (robust, {"nuts_sampler": "nutpie", "cores": 1}),
    "robust, numpyro": (robust, {"nuts_sampler": "numpyro"}),
    "robust, blackjax": (robust, {"nuts_sampler": "blackjax"}),
    "robust, callback": (robust, {"callback": lambda trace, draw: None}),
    "logistic": (logistic, {"var_names": ["odds"]}),
    "mixture": (mixture, {}),
    "counts": (counts, {}),
    "counts as written": (counts, {"rewrite": False}),
    "ising": (ising, {"rewrite": False}),
    "two parts": (two_parts, {}),
    "numbers": (numbers, {"discard_tuned_samples": False}),
    "gaps": (gaps, {}),
    "walk": (walk, {}),
    "changing": (changing, {"initvals": {"a": 0.3}}),
}


def run(make, options):
    with pm.Model() as model:
        make()
    options = {name: value(model) if name == "step" else value for name, value in options.items()}
    given = {"draws": 60, "tune": 60, "chains": 2, "cores": 2, "random_seed": 7, "progressbar": False, **options}
    found = pm.sample(**given, model=model, compute_convergence_checks=False)
    if options.get("blocking") is False:
        found = found.wait()
    if options.get("return_inferencedata") is False:
        return {name: found.get_values(name) for name in sorted(found.varnames)}, "trace"
    arrays = {}
    for group in ("posterior", "warmup_posterior", "sample_stats"):
        data = getattr(found, group, None)
        for name in sorted(data.data_vars) if data is not None else ():
            if not any(word in name for word in ("perf_counter", "process_time", "time", "start")):
                arrays[f"{group}.{name}"] = data[name].values
    return arrays, str(found.posterior.attrs["drawn_by"]).replace("\n", " ")


def digest(arrays):
    found = hashlib.sha256()
    for name, values in arrays.items():
        found.update(name.encode() + str(values.dtype).encode() + np.ascontiguousarray(values).tobytes())
    return found.hexdigest()[:16]


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    logging.disable()
    for name, (make, options) in RUNS.items():
        if sys.argv[1:] and name not in sys.argv[1:]:
            continue
        try:
            arrays, how = run(make, options)
            print(f"{name:24} {digest(arrays)} {len(arrays):3} arrays  {how[:80]}", flush=True)
        except Exception as error:
            print(f"{name:24} {type(error).__name__}: {str(error)[:150]!r}", flush=True)
