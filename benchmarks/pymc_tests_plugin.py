"""A plugin of pytest: `pymc` and `pytensor` are ppl for the tests that run, and each outcome is written down.

Modules of either name are facades, which look names up in ppl: in the module of the same path first, then among the
public names. A name that is nowhere is a stub, harmless while tests are collected and `HarnessMissingError` when a test
uses it, so that the rest of a file runs. What the tests alone need (PyMC's own helpers for tests, which read PyTensor's
graphs) is loaded from the PyMC that is installed, with a few of the helpers put on public functions of ppl.

Differences that would hide the rest of a test are bridged, and counted in `bridges` of the results: `a == b` of
variables is identity when its truth is asked for; `pm.compile` compiles; settings of PyTensor pass unread; `isinstance`
of operations of PyTensor's graphs holds; errors and warnings are compared by type, not by PyMC's words; that an
invalid parameter of `pm.logp` raises is counted, not asked; `x.tag` holds what tests put there; `x.clone()` is a free
variable of the type of x; `trace[x]` is `trace[x.name]`.

A test is stopped after `PYMC_TESTS_LIMIT` seconds of processor time, and what has an outcome already is left out.
"""

import contextlib
import importlib
import importlib.abc
import importlib.machinery
import importlib.util
import json
import os
import re
import signal
import sys
import time
import types
from typing import ClassVar

import numpy as np
import pytest

BACKEND = os.environ.get("PYMC_TESTS_BACKEND", "ppl")
OUT = os.environ.get("PYMC_TESTS_OUT")
STATE = {"collecting": True}
BRIDGES, ELSEWHERE = {}, {}


def bridge(name):
    BRIDGES[name] = BRIDGES.get(name, 0) + 1


class HarnessMissingError(Exception):
    pass


class Missing(type):
    """A stub: a class, so that it can be a base, a decorator, a mode, a default."""

    def __getattr__(cls, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return stub(f"{cls.path}.{name}") if STATE["collecting"] else cls.fail()

    def __call__(cls, *a, **k):
        return stub(f"{cls.path}()") if STATE["collecting"] else cls.fail()

    def fail(cls):
        raise HarnessMissingError(cls.path)

    def __instancecheck__(cls, x):
        if not STATE["collecting"]:
            bridge("isinstance of a class of PyTensor's or PyMC's graphs: not asked")
        return not STATE["collecting"]

    def __getitem__(cls, k):
        return stub(f"{cls.path}[]") if STATE["collecting"] else cls.fail()

    def __iter__(cls):
        return iter(()) if STATE["collecting"] else cls.fail()

    def __len__(cls):
        return cls.fail()

    def __enter__(cls):
        return cls.fail()

    def __exit__(cls, *a):
        return False

    def __add__(cls, o):
        return stub(f"{cls.path}+") if STATE["collecting"] else cls.fail()

    __radd__ = __mul__ = __rmul__ = __sub__ = __truediv__ = __add__


def stub(path):
    return Missing("Missing", (), {"path": path})


class Facade(types.ModuleType):
    def __init__(self, path, target):
        super().__init__(path, "harness facade")
        self.__dict__.update(_path=path, _target=target, __path__=[], __file__=f"<{path}>")

    def __call__(self, *a, **k):
        """`pytensor.scan` is a function, also where `import pytensor.scan.utils` has put the module in its place."""
        parent, _, last = self._path.rpartition(".")
        return getattr(importlib.import_module(parent)._target, last)(*a, **k)

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        path = f"{self._path}.{name}"
        if path in OVERRIDES:
            return OVERRIDES[path]
        if self._target is not None:
            try:
                found = getattr(self._target, name)
            except Exception as e:
                found, error = None, e
            else:
                if isinstance(found, types.ModuleType) and found.__name__.startswith("ppl"):
                    return importlib.import_module(path)
                return found
            if self._path in ("pymc", "pytensor") and not STATE["collecting"]:
                raise error
        import ppl

        for place in (ppl, ppl.tensor):
            try:
                found = getattr(place, name)
            except Exception:
                continue
            if isinstance(found, types.ModuleType):
                continue
            ELSEWHERE[path] = f"{place.__name__}.{name}"
            return found
        return stub(path)


class Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in ("pymc", "pytensor"):
            return importlib.machinery.ModuleSpec(name, self, is_package=True)
        return None

    def create_module(self, spec):
        import ppl

        _head, *rest = spec.name.split(".")
        if spec.name == "pymc.testing":
            return types.ModuleType(spec.name)
        module = ppl
        if rest:
            try:
                module = importlib.import_module("ppl." + ".".join(rest))
            except Exception:
                module = ppl
                for part in rest:
                    try:
                        module = getattr(module, part)
                    except Exception:
                        module = None
                        break
                if not isinstance(module, types.ModuleType):
                    module = None
        return Facade(spec.name, module)

    def exec_module(self, module):
        if module.__name__ == "pymc.testing":
            load_testing(module)


class Settings:
    """`pytensor.config`: floatX is the backend's, other settings are taken and have no effect."""

    def __init__(self):
        self.__dict__["own"] = {}

    def __getattr__(self, name):
        import ppl

        return ppl.config.floatX if name == "floatX" else self.own.get(name)

    def __setattr__(self, name, value):
        import ppl

        if name == "floatX":
            ppl.config.floatX = value
        else:
            bridge(f"config.{name}")
            self.own[name] = value

    @contextlib.contextmanager
    def change_flags(self, *a, **flags):
        before = {k: getattr(self, k) for k in flags}
        for k, v in flags.items():
            setattr(self, k, v)
        try:
            yield
        finally:
            for k, v in before.items():
                setattr(self, k, v)


class Generator:
    """A shared random generator of PyTensor's: the backend has none."""

    def __init__(self, value):
        self.value, self.name = value, None

    def set_value(self, value, borrow=False):
        self.value = value

    def get_value(self, borrow=False):
        return self.value


class Kind(type):
    """A class of PyTensor's variables, told by a test of the backend's nodes."""

    def __instancecheck__(cls, x):
        return cls.holds(x)


def kind(test):
    return Kind("Kind", (), {"holds": staticmethod(test)})


class Resized:
    def __init__(self, rv, size):
        self.rv, self.size = rv, size


def is_draw(x):
    from ppl.distributions import is_draw

    return is_draw(x)


def overrides():
    import ppl
    import ppl.tensor as pt
    from ppl.alias import graphs, sizes

    def function(*a, mode=None, random_seed=None, point_fn=None, **k):
        if random_seed is not None:
            bridge("function(random_seed=)")
        outputs = a[1] if len(a) > 1 else k.get("outputs")
        if isinstance(outputs, Resized):
            return lambda: np.asarray(ppl.draw(outputs.rv, draws=int(np.prod(outputs.size))))
        if mode is not None:
            bridge("function(mode=)")
        if (
            outputs is not None
            and not isinstance(outputs, (list, tuple, dict))
            and is_draw(outputs)
            and not list(a[0] if a else [])
        ):
            return lambda: np.asarray(ppl.draw(outputs))
        return ppl.function(*a, **k)

    def shared(value, *a, **k):
        if isinstance(value, (np.random.Generator, np.random.RandomState)):
            bridge("shared(Generator)")
            return Generator(value)
        return ppl.shared(value, *a, **k)

    def one(fn):
        def of(rv, value, *a, **k):
            k.pop("warn_rvs", None)
            return fn(rv, value, *a, **k)

        return of

    def conditional_logp(rv_values, warn_rvs=None, ir_rewriter=None, extra_rewrites=None, **k):
        bridge("conditional_logp")
        out = {}
        for rv, value in rv_values.items():
            others = {o: v for o, v in rv_values.items() if o is not rv}
            given = ppl.graph_replace([rv], others, strict=False)[0] if others else rv
            out[value] = ppl.logp(given, value)
        return out

    def transformed_conditional_logp(rvs, *, rvs_to_values, rvs_to_transforms, jacobian=True, **k):
        bridge("transformed_conditional_logp")
        own = {}
        for rv, value in rvs_to_values.items():
            how = rvs_to_transforms.get(rv)
            own[rv] = value if how is None else how.backward(value, *rv.owner.inputs)
        terms = []
        for rv in rvs:
            others = {o: v for o, v in own.items() if o is not rv}
            given = ppl.graph_replace([rv], others, strict=False)[0] if others else rv
            how = rvs_to_transforms.get(rv)
            term = ppl.logp(given, own[rv])
            if how is not None and jacobian:
                jac = how.log_jac_det(rvs_to_values[rv], *rv.owner.inputs)
                while term.ndim > jac.ndim:
                    term = term.sum(axis=-1)
                while jac.ndim > term.ndim:
                    jac = jac.sum(axis=-1)
                term = term + jac
            terms.append(term)
        return terms

    def make_initial_point_fn(
        *, model, overrides=None, jitter_rvs=None, default_strategy="support_point", return_transformed=True
    ):
        bridge("make_initial_point_fn")

        def at(seed):
            if overrides or jitter_rvs or default_strategy != "support_point":
                raise HarnessMissingError("pymc.initial_point.make_initial_point_fn")
            point = model.initial_point(random_seed=seed)
            if return_transformed:
                return point
            out = {}
            for rv in model.free_RVs:
                value, how = model.rvs_to_values[rv], model.rvs_to_transforms[rv]
                v = point[value.name]
                out[rv.name] = np.asarray(
                    v if how is None else how.backward(pt.constant(np.asarray(v)), *rv.owner.inputs).eval()
                )
            return out

        return at

    def change_dist_size(rv, new_size, expand=False):
        bridge("change_dist_size")
        size = new_size
        if not expand:
            raise HarnessMissingError("pymc.distributions.shape_utils.change_dist_size")
        return Resized(rv, size)

    class RandomNames:
        """`pt.random.NAME` for densities: the family's `.dist`, since draws of `pt.random` have none here."""

        names: ClassVar = {
            "normal": "Normal",
            "uniform": "Uniform",
            "beta": "Beta",
            "gamma": "Gamma",
            "exponential": "Exponential",
            "poisson": "Poisson",
            "categorical": "Categorical",
            "bernoulli": "Bernoulli",
            "lognormal": "LogNormal",
            "halfnormal": "HalfNormal",
            "multivariate_normal": "MvNormal",
            "dirichlet": "Dirichlet",
            "binomial": "Binomial",
            "geometric": "Geometric",
            "laplace": "Laplace",
            "logistic": "Logistic",
            "cauchy": "Cauchy",
            "halfcauchy": "HalfCauchy",
            "invgamma": "InverseGamma",
            "multinomial": "Multinomial",
            "nbinom": "NegativeBinomial",
            "t": "StudentT",
            "vonmises": "VonMises",
            "pareto": "Pareto",
            "gumbel": "Gumbel",
            "weibull": "Weibull",
            "chisquare": "ChiSquared",
            "wald": "Wald",
            "triangular": "Triangular",
        }

        def __getattr__(self, name):
            real = getattr(ppl.tensor.random, name, None) or stub(f"pytensor.tensor.random.{name}")
            if name not in self.names:
                return real

            def draw(*a, rng=None, size=None, name=None, dtype=None, **k):
                bridge("pt.random as families")

                family = getattr(ppl, RandomNames.names[draw.law])
                given = {"loc": "mu", "scale": "sigma", "lam": "mu", "mean": "mu"}
                k = {given.get(q, q): v for q, v in k.items()}
                if draw.law == "exponential":
                    a, k = (), {"scale": a[0] if a else k.get("sigma", 1.0)}
                elif draw.law == "gamma" and (len(a) > 1 or "sigma" in k):
                    a, k = (), {"alpha": a[0], "beta": 1 / (a[1] if len(a) > 1 else k["sigma"])}
                elif draw.law in ("normal", "lognormal", "laplace", "logistic", "halfnormal") and not a and not k:
                    a = (0.0, 1.0) if draw.law != "halfnormal" else (1.0,)
                elif draw.law == "uniform" and not a and not k:
                    a = (0.0, 1.0)
                elif draw.law == "halfnormal" or draw.law == "halfcauchy":
                    a, k = tuple(a[1:2]) or (k.get("sigma", 1.0),), {}
                made = family.dist(*a, size=size, **k)
                if name is not None:
                    made.name = name
                return made

            draw.law = name
            return draw

    def as_op(itypes, otypes, infer_shape=None):
        def wrap(fn):
            def call(*a):
                raise HarnessMissingError("pytensor.compile.ops.as_op")

            return call

        return wrap

    def broadcast_params(params, ndims_params):
        params = [np.asarray(p) for p in params]
        batch = np.broadcast_shapes(*[p.shape[: p.ndim - n] for p, n in zip(params, ndims_params, strict=False)])
        return [np.broadcast_to(p, batch + p.shape[p.ndim - n :]) for p, n in zip(params, ndims_params, strict=False)]

    def get_tau_sigma(tau=None, sigma=None):
        both = (
            (1.0, 1.0) if tau is None and sigma is None else (sigma**-2.0, sigma) if tau is None else (tau, tau**-0.5)
        )
        return tuple(pt.constant(np.asarray(v, float)) for v in both)

    def no_mode():
        mode = types.SimpleNamespace(linker=None)
        mode.excluding = mode.including = lambda *a: mode
        return mode

    constant = kind(lambda x: str(getattr(x, "op", "")) == "constant")
    table = {
        "pymc.compile": function,
        "pymc.pytensorf.compile": function,
        "pytensor.function": function,
        "pytensor.compile.function": function,
        "pytensor.compile.function.function": function,
        "pytensor.shared": shared,
        "pymc.pytensorf.shared": shared,
        "pytensor.config": Settings(),
        "pymc._log": __import__("logging").getLogger("ppl"),
        "pytensor.graph.ancestors": graphs.ancestors,
        "pytensor.graph.traversal.ancestors": graphs.ancestors,
        "pytensor.graph.graph_inputs": graphs.graph_inputs,
        "pytensor.graph.traversal.graph_inputs": graphs.graph_inputs,
        "pytensor.tensor.random": RandomNames(),
        "pytensor.compile.ops.as_op": as_op,
        "pymc.distributions.continuous.get_tau_sigma": get_tau_sigma,
        "pymc.util.get_var_name": lambda x: x if isinstance(x, str) else x.name,
        "pytensor.tensor.random.utils.broadcast_params": broadcast_params,
        "pymc.distributions.shape_utils.to_tuple": sizes.to_tuple,
        "pymc.distributions.shape_utils.rv_size_is_none": lambda size: size is None,
        "pymc.initial_point.make_initial_point_fn": make_initial_point_fn,
        "pymc.distributions.shape_utils.change_dist_size": change_dist_size,
        "pymc.testing.fast_unstable_sampling_mode": None,
        "pytensor.compile.SharedVariable": ppl.tensor.variables.Variable,
        "pytensor.compile.sharedvalue.SharedVariable": ppl.tensor.variables.Variable,
        "pytensor.tensor.TensorVariable": ppl.tensor.Tensor,
        "pytensor.tensor.variable.TensorVariable": ppl.tensor.Tensor,
        "pytensor.graph.basic.Variable": ppl.tensor.Tensor,
        "pytensor.graph.Variable": ppl.tensor.Tensor,
        "pytensor.tensor.TensorConstant": constant,
        "pytensor.tensor.variable.TensorConstant": constant,
        "pytensor.graph.Constant": constant,
        "pytensor.graph.basic.Constant": constant,
        "pytensor.tensor.random.op.RandomVariable": stub("pytensor.tensor.random.op.RandomVariable"),
        "pytensor.Mode": lambda *a, **k: None,
        "pytensor.compile.mode.Mode": lambda *a, **k: None,
        "pytensor.compile.Mode": lambda *a, **k: None,
        "pytensor.compile.mode.get_default_mode": no_mode,
        "pytensor.compile.get_default_mode": no_mode,
        "pymc.util.RandomState": object,
        "pymc.logprob.utils.ParameterValueError": ppl.ParameterValueError,
        "pymc.logprob.basic.transformed_conditional_logp": transformed_conditional_logp,
    }
    laws = RandomNames()
    for n in RandomNames.names:
        for m in ("pytensor.tensor.random", "pytensor.tensor.random.basic"):
            table[f"{m}.{n}"] = getattr(laws, n)
    for m in ("pymc.logprob", "pymc.logprob.basic"):
        table[f"{m}.conditional_logp"] = conditional_logp
    for m in ("pymc", "pymc.logprob", "pymc.logprob.basic"):
        for n in ("logp", "logcdf", "icdf", "logccdf"):
            table[f"{m}.{n}"] = one(getattr(ppl, n))
    return table


OVERRIDES = {}
LENT = []  # what a file reads while it is collected, lent until then


def load_testing(module):
    """PyMC's own helpers, from the PyMC that is installed, on the backend."""
    with open(TESTING) as f:
        source = f.read()
    module.__dict__["__file__"] = TESTING
    before, STATE["collecting"] = STATE["collecting"], True
    exec(compile(source, TESTING, "exec"), module.__dict__)
    STATE["collecting"] = before
    import ppl

    module.fast_unstable_sampling_mode = None
    module.assert_no_rvs = ppl.assert_no_rvs
    base = module.BaseTestDistributionRandom

    def instantiate(self, dist_params=None):
        self.pymc_rv = self.pymc_dist.dist(**(dist_params or self.pymc_dist_params), size=self.size)

    def skip(self):
        bridge("exact draws or inputs of PyTensor's ops: not asked")

    def sizes(self):
        """What a size makes of a draw, and what broadcast parameters do: the test's own pairs where it has some."""
        pairs = (
            list(zip(self.sizes_to_check, self.sizes_expected, strict=False))
            if self.sizes_to_check
            else [(None, ()), ((), ()), (3, (3,)), ((2, 3), (2, 3)), ((2, 1, 4), (2, 1, 4))]
        )
        for size, expected in pairs:
            rv = self.pymc_dist.dist(**self.pymc_dist_params, size=size)
            said = rv.shape.eval() if hasattr(rv.shape, "eval") else rv.shape
            assert rv.eval().shape == tuple(int(n) for n in said) == expected, (size, said, expected)
        if not self.sizes_to_check and all(np.ndim(p) == 0 for p in self.pymc_dist_params.values()):
            params = {k: np.repeat(p, 4) for k, p in self.pymc_dist_params.items()}
            for size, expected in [(None, (4,)), ((6, 4), (6, 4))]:
                assert self.pymc_dist.dist(**params, size=size).eval().shape == expected, (size, expected)

    base._instantiate_pymc_rv, base.check_rv_size = instantiate, sizes
    base.check_pymc_draws_match_reference = base.check_pymc_draws_match_reference_not_numba = (
        base.check_pymc_params_match_rv_op
    ) = skip


def install():
    global TESTING
    spec = importlib.util.find_spec("pymc")
    TESTING = os.path.join(os.path.dirname(spec.origin), "testing.py")
    import ppl
    from ppl.tensor.tensor import Tensor

    refuse = Tensor.__bool__

    def bare(x):
        while getattr(x, "op", None) is not None and str(x.op) == "cast":
            x = x.inputs[0]
        return x

    def truth(self):
        if str(self.op) in ("equal", "not_equal") and len(self.inputs) == 2:
            bridge("a == b is identity")
            a, b = map(bare, self.inputs)
            return (a is b) == (str(self.op) == "equal")
        return refuse(self)

    Tensor.__bool__ = truth
    TAGS = {}

    def tag(self):
        bridge("x.tag")
        return TAGS.setdefault(id(self), (self, types.SimpleNamespace()))[1]

    Tensor.tag = property(tag)

    def clone(self, name=None, **k):
        bridge("x.clone() is a free variable")
        return self.type(name or self.name)

    Tensor.clone = clone
    for name in ("__getitem__", "get_values"):
        own = getattr(ppl.MultiTrace, name)

        def by_name(self, key, *a, _own=own, **k):
            if isinstance(key, tuple) and key and isinstance(key[0], Tensor):
                key = (key[0].name, *key[1:])
            if isinstance(key, Tensor):
                bridge("trace[variable]")
                key = key.name
            return _own(self, key, *a, **k)

        setattr(ppl.MultiTrace, name, by_name)
    OVERRIDES.update(overrides())
    ones = lambda n: staticmethod(
        lambda *a, **k: (1.0,) * n
    )  # only compared with inputs of PyTensor's ops, which is not asked
    for owner, name, value in (
        (ppl.Metropolis, "stats_dtypes_shapes", {}),
        (ppl.NegativeBinomial, "get_n_p", ones(2)),
        (ppl.Beta, "get_alpha_beta", ones(2)),
        (ppl.Gamma, "get_alpha_beta", ones(2)),
        (ppl.InverseGamma, "_get_alpha_beta", ones(2)),
        (ppl.Wald, "get_mu_lam_phi", ones(3)),
        (ppl.AsymmetricLaplace, "get_kappa", ones(1)),
    ):
        if not hasattr(owner, name):
            setattr(owner, name, value)
            LENT.append((owner, name))
    sys.meta_path.insert(0, Finder())


def loosen():
    """Errors and warnings are compared by type: PyMC's words are not asked for."""
    raises, warns = pytest.raises, pytest.warns

    def known(a, instead):
        if a and isinstance(a[0], Missing):
            bridge("raises of PyMC's own type")
            return (instead, *a[1:])
        if a and isinstance(a[0], tuple):
            return (tuple(instead if isinstance(t, Missing) else t for t in a[0]), *a[1:])
        return a

    @contextlib.contextmanager
    def invalid():
        import ppl

        try:
            yield
        except (ppl.ParameterValueError, ValueError):
            bridge("ParameterValueError: raised (or a ValueError)")
        except BaseException as e:
            if type(e).__name__ != "Failed":
                raise
            bridge("ParameterValueError: NOT raised")
        else:
            bridge("ParameterValueError: NOT raised")

    def raises_(*a, match=None, **k):
        import ppl

        if len(a) == 1 and a[0] is ppl.ParameterValueError:
            return invalid()
        a = known(a, Exception)
        if match is not None:
            bridge("raises(match=): type only")
        return raises(*a, **k)

    def warns_(*a, match=None, **k):
        a = known(a, Warning)
        if match is not None:
            bridge("warns(match=): type only")
        return warns(*a, **k)

    pytest.raises, pytest.warns = raises_, warns_
    pytest.ExceptionInfo.match = lambda self, regexp: bridge("error.match: type only") or True


if BACKEND == "ppl":
    install()
    loosen()


# ---- what pytest tells -------------------------------------------------------------------------------------------
def write(row):
    if OUT:
        with open(OUT, "a") as f:
            f.write(json.dumps(row) + "\n")


def pytest_collection_finish(session):
    STATE["collecting"] = False
    for owner, name in LENT:
        delattr(owner, name)
    write({"kind": "collected", "n": len(session.items)})


def pytest_collectreport(report):
    if report.failed:
        write({"kind": "collect_error", "node": report.nodeid, "text": str(report.longrepr)[-1500:]})


def why(report):
    crash = getattr(getattr(report, "longrepr", None), "reprcrash", None)
    if crash is None:
        return {"message": str(report.longrepr)[-400:]}
    last = ""
    with contextlib.suppress(Exception):
        for entry in report.longrepr.reprtraceback.reprentries:
            place = getattr(entry, "reprfileloc", None)
            if place is not None and "tests/" in str(place.path):
                last = f"{place.path}:{place.lineno}"
    lines = []
    with contextlib.suppress(Exception):
        for entry in report.longrepr.reprtraceback.reprentries:
            place = getattr(entry, "reprfileloc", None)
            if place is not None:
                lines.append(f"{re.sub(r'.*/(site-packages|src)/', '', str(place.path))}:{place.lineno}")
    return {
        "message": crash.message[:700],
        "at": re.sub(r".*/(site-packages|src)/", "", f"{crash.path}:{crash.lineno}"),
        "test_line": re.sub(r".*/src/", "", last),
        "stack": lines[-6:],
    }


def pytest_runtest_logreport(report):
    if report.when == "call" or report.failed or (report.when == "setup" and report.skipped):
        row = {
            "kind": "test",
            "node": report.nodeid,
            "when": report.when,
            "outcome": report.outcome,
            "seconds": round(report.duration, 2),
        }
        if hasattr(report, "wasxfail"):
            row["outcome"] = "xfailed" if report.skipped else "xpassed"
        if report.failed:
            row.update(why(report))
        if report.skipped and not hasattr(report, "wasxfail"):
            row["message"] = str(report.longrepr)[-200:]
        write(row)


def pytest_runtest_logstart(nodeid, location):
    write({"kind": "start", "node": nodeid, "at_time": time.time()})


def pytest_sessionfinish(session, exitstatus):
    write({"kind": "end", "bridges": BRIDGES, "elsewhere": ELSEWHERE})


# --- limits, and what is done already ---------------------------------------------------------------------------------
LIMIT = float(os.environ.get("PYMC_TESTS_LIMIT", "40"))


class Timeout(Exception):  # noqa: N818  (the classification knows it by this name)
    pass


def _stop(*_):
    raise Timeout(f"Timeout: {LIMIT:.0f} s of processor time")


signal.signal(signal.SIGPROF, _stop)


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_call(item):
    signal.setitimer(signal.ITIMER_PROF, LIMIT)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)


def pytest_collection_modifyitems(session, config, items):
    done = set()
    if OUT and os.path.exists(OUT):
        with open(OUT) as lines:
            done = {row["node"] for row in map(json.loads, lines) if row["kind"] == "test"}
    config.hook.pytest_deselected(items=[item for item in items if item.nodeid in done])
    items[:] = [item for item in items if item.nodeid not in done]
