"""Families that PyMC has as graphs of other draws: mixtures, processes, truncation, and simpler ones; each by its name.

A graph without a name of its own, as that of a `CustomDist` with `dist=`, is read as an expression of draws, from which
ppl derives the density itself.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import ppl.distributions as d
from ppl.bridge.custom import log_density, registered
from ppl.bridge.elementwise import without_padding
from ppl.bridge.factors import factor_arguments
from ppl.bridge.families import Law, Parameters, made
from ppl.bridge.reading import (
    RANDOM,
    Application,
    Value,
    as_tensor,
    converts,
    entry_for,
    is_a,
    sizes_of,
    sizes_or_array,
)
from ppl.distributions import CustomDist, RandomVariable
from ppl.distributions.declaration.inner import unsized
from ppl.distributions.draws.draw import draw, renamed
from ppl.distributions.draws.drawing import expand_draws
from ppl.distributions.log_probability.logprob import the_law
from ppl.distributions.log_probability.measure import NoDensityError
from ppl.model.inputs.imputing import divided
from ppl.model.inputs.minibatches import Minibatch
from ppl.tensor.tensor import Tensor, is_constant, placeholder, value_of


def outputs(at: Application, drawn: Value) -> list[Value]:
    """The outputs of a node: the draw, and the next states of generators."""
    return [drawn if hasattr(out.type, "ndim") else RANDOM for out in at.node.outputs]


# --- families with a signature: generator, size, parameters -----------------------------------------------------------
def _named(family: Any, *names: str) -> Callable[[Parameters], Law]:
    return lambda p: Law(family, dict(zip(names, p.all(), strict=True)))


def _mv_student_t(p: Parameters) -> Law:
    return Law(d.MvStudentT, {"nu": p[0], "mu": p[1], **_scale(factor_arguments(p.reader, p.variables[2]))})


def _scale(given: dict[str, Any]) -> dict[str, Any]:
    return {"scale" if key == "cov" else key: value for key, value in given.items()}


def _kronecker(p: Parameters) -> Law:
    return Law(d.KroneckerNormal, {"mu": p[0], "sigma": p[1], "covs": p.all()[2:]})


def _zero_sum(p: Parameters) -> Law:
    shape = sizes_of(p.reader.read(p.variables[1])) or ()
    return Law(d.ZeroSumNormal, {"sigma": p[0], "n_zerosum_axes": len(shape), "support_shape": shape})


SYMBOLIC: dict[str, Callable[[Parameters], Law]] = {
    "AsymmetricLaplaceRV": _named(d.AsymmetricLaplace, "b", "kappa", "mu"),
    "DirichletMultinomialRV": _named(d.DirichletMultinomial, "n", "a"),
    "DiscreteWeibullRV": _named(d.DiscreteWeibull, "q", "beta"),
    "ExGaussianRV": _named(d.ExGaussian, "mu", "sigma", "nu"),
    "HalfCauchyRV": lambda p: Law(d.HalfCauchy, {"beta": p[len(p) - 1]}),
    "HalfStudentTRV": _named(d.HalfStudentT, "nu", "sigma"),
    "KumaraswamyRV": _named(d.Kumaraswamy, "a", "b"),
    "LKJCorrRV": _named(d.LKJCorr, "n", "eta"),
    "MvStudentTRV": _mv_student_t,
    "WeibullBetaRV": _named(d.Weibull, "alpha", "beta"),
    "DiracDeltaRV": _named(d.DiracDelta, "c"),
    "KroneckerNormalRV": _kronecker,
    "ZeroSumNormalRV": _zero_sum,
}


@converts("SymbolicRandomVariable")
def symbolic(at: Application) -> list[Value]:
    """A family by its name, or else the expression of draws that it stands for."""
    entry = entry_for(at.op, SYMBOLIC)
    if entry is None:
        return expression(at)
    size = at.op.size_param(at.node)
    sizes = None if size is None else sizes_of(at.reader.read(size))
    return outputs(at, made(entry(Parameters(at.reader, at.op.dist_params(at.node))), sizes))


# --- one of several laws ----------------------------------------------------------------------------------------------
@converts("MixtureRV")
def mixture(at: Application) -> list[Value]:
    """One of several laws, by weights; counts with further zeros by their own name."""
    _, weights, *laws = at.values
    inflated = _with_zeros(at, laws, ZERO_INFLATED)
    if inflated is not None:
        return outputs(at, inflated)
    return outputs(at, d.Mixture.dist(w=as_tensor(weights), comp_dists=laws if len(laws) > 1 else laws[0]))


@converts("_HurdleRV")
def hurdle(at: Application) -> list[Value]:
    """Zeros by a law of their own."""
    zero, law = at.values[2:]
    inside = law.parameters[0] if issubclass(law.family, d.Truncated) else law
    found = _with_zeros(at, [zero, _sized_as(inside, law)], HURDLES)
    if found is None:
        raise at.refuse(f"a hurdle of {inside.family.__name__}, which ppl does not have. Please report it.")
    return outputs(at, found)


ZERO_INFLATED = {
    "Poisson": d.ZeroInflatedPoisson,
    "Binomial": d.ZeroInflatedBinomial,
    "NegativeBinomial": d.ZeroInflatedNegativeBinomial,
}
HURDLES = {
    "Poisson": d.HurdlePoisson,
    "NegativeBinomial": d.HurdleNegativeBinomial,
    "Gamma": d.HurdleGamma,
    "LogNormal": d.HurdleLogNormal,
}


def _with_zeros(at: Application, laws: list[Value], families: dict[str, Any]) -> RandomVariable | None:
    """The family of zeros together with another law, where the first law is that of a zero."""
    if len(laws) != 2 or not all(isinstance(law, RandomVariable) for law in laws):
        return None
    zero, law = laws
    family = families.get(law.family.__name__)
    if family is None or zero.family is not d.DiracDelta or not _is_zero(zero.parameters[0]):
        return None
    names = list(law.family.params)
    given = dict(zip(names, law.parameters, strict=True))
    return family.dist(psi=_second(at), size=law.attrs["size"], **given)


def _is_zero(x: Tensor) -> bool:
    return is_constant(x) and not np.any(value_of(x))


def _second(at: Application) -> Tensor:
    """The second of two weights: what was stacked, where it was."""
    node = at.variables[1].owner
    if node is not None and is_a(node.op, "Join"):
        last = node.inputs[-1].owner
        if last is not None and is_a(last.op, "DimShuffle") and last.op.new_order[-1:] == ("x",):
            return at.reader.tensor(without_padding(last.inputs[0]))
    return at.tensor(1)[..., 1]


def _sized_as(law: RandomVariable, whole: RandomVariable) -> RandomVariable:
    """A law with the size that a draw of it in another one has."""
    size = law.attrs["size"] if law.attrs["size"] is not None else whole.attrs["size"]
    return draw(law.family, law.parameters, size)


# --- bounds -----------------------------------------------------------------------------------------------------------
@converts("CensoredRV")
def censored(at: Application) -> list[Value]:
    """A law whose values beyond bounds are moved to them."""
    law, lower, upper = at.values
    return outputs(at, d.Censored.dist(law, lower=_bound(lower), upper=_bound(upper)))


@converts("TruncatedRV")
def truncated(at: Application) -> list[Value]:
    """A law on the condition that its value lies between bounds; the inputs are those of the law, then the bounds."""
    *inputs, lower, upper = at.variables
    node = at.op.base_rv_op.make_node(*inputs)
    law = at.reader.read(node.outputs[at.op.base_rv_op.default_output or 0])
    given = {"lower": _bound(at.reader.read(lower)), "upper": _bound(at.reader.read(upper))}
    return outputs(at, d.Truncated.dist(law, **given))


def _bound(value: Value) -> Tensor | None:
    """A bound; None for one that is infinite everywhere."""
    return None if isinstance(value, np.ndarray) and np.all(np.isinf(value)) else as_tensor(value)


# --- processes --------------------------------------------------------------------------------------------------------
@converts("RandomWalkRV")
def random_walk(at: Application) -> list[Value]:
    """A walk from a first value by steps. PyMC draws time first, so that the first value has an axis of length 1."""
    first, step, steps = at.values
    size = first.attrs["size"]
    batch = tuple(size)[1:] if size is not None else ()
    law = d.RandomWalk
    given: dict[str, Any] = {"innovation_dist": unsized(step)}
    if step.family is d.Normal:
        law, (mu, sigma) = d.GaussianRandomWalk, step.parameters
        given = {"mu": mu, "sigma": sigma}
    made = law.dist(init_dist=unsized(first), steps=_length(steps), size=batch or None, **given)
    return outputs(at, made)


def _length(value: Value) -> Any:
    found = sizes_of(value)
    assert found is not None
    return found[0]


@converts("AutoRegressiveRV")
def autoregression(at: Application) -> list[Value]:
    """An autoregression; its order and constant term are properties of the op."""
    rho, sigma, first, steps = at.values[:4]
    ar = d.AR.dist(
        as_tensor(rho), sigma=as_tensor(sigma), init_dist=first, steps=_length(steps), constant=at.op.constant_term,
        ar_order=at.op.ar_order,
    )  # fmt: skip
    return outputs(at, ar)


@converts("GARCH11RV")
def garch(at: Application) -> list[Value]:
    omega, alpha, beta, volatility, first, steps = at.values[:6]
    size = first.attrs["size"]
    given = [as_tensor(x) for x in (omega, alpha, beta, volatility)]
    return outputs(at, d.GARCH11.dist(*given, steps=_length(steps), size=size or None))


@converts("EulerMaruyamaRV")
def euler_maruyama(at: Application) -> list[Value]:
    """A stochastic differential equation by small steps; drift and diffusion are a function of PyTensor's variables."""
    first, steps, *parameters = at.values[:-1]
    kinds = [v.type for v in at.variables[2:-1]]

    def drift_and_diffusion(x: Tensor, *given: Tensor) -> list[Tensor]:
        stand_ins = [_stand_in(at.node.outputs[-1].type, x.ndim)]
        stand_ins += [_stand_in(kind, as_tensor(g).ndim) for kind, g in zip(kinds, given, strict=True)]
        inner = at.reader.inner(dict(zip(stand_ins, map(as_tensor, (x, *given)), strict=True)))
        return [inner.tensor(y) if hasattr(y, "owner") else as_tensor(y) for y in at.op.sde_fn(*stand_ins)]

    dt = at.reader.read(at.op.dt) if hasattr(at.op.dt, "owner") else at.op.dt
    size = first.attrs["size"]
    drawn = d.EulerMaruyama.dist(
        dt, drift_and_diffusion, [as_tensor(p) for p in parameters], init_dist=unsized(first), steps=_length(steps),
        size=size or None,
    )  # fmt: skip
    return outputs(at, drawn)


def _stand_in(kind: Any, ndim: int) -> Any:
    return kind.clone(shape=(None,) * ndim)()


@converts("_LKJCholeskyCovRV")
def lkj_factor(at: Application) -> list[Value]:
    """The packed factor of a covariance."""
    _, n, eta, law = at.values
    return outputs(at, d.LKJCholeskyCov.make(n=_length(n), eta=as_tensor(eta), sd_dist=law))


# --- parts of a variable ----------------------------------------------------------------------------------------------
@converts("MinibatchRandomVariable")
def weighted(at: Application) -> Value:
    """A draw whose density counts for more rows; how many is told when it is observed."""
    return at.values[0]


@converts("PartialObservedRV")
def partly_observed(at: Application) -> list[Value]:
    """The seen and the missing entries of a variable."""
    rv, mask = at.values
    if not isinstance(mask, np.ndarray):
        raise at.refuse("whose missing entries are known by a mask that is not constant. Drop the missing rows first.")
    name = at.reader.about.removesuffix("_observed").removesuffix("_unobserved")
    parts = divided(renamed(rv, name), mask)
    return [parts.observed, parts.unobserved]


@converts("MinibatchOp")
def minibatch(at: Application) -> list[Value]:
    """Random rows of arrays, the same of each."""
    index = next(node for node in at.op.fgraph.toposort() if is_a(node.op, "MinibatchIndexRV"))
    size = int(np.asarray(index.inputs[1].data).ravel()[0])
    rows = [v for v in at.values if v is not RANDOM]
    found = Minibatch(*[as_tensor(x) for x in rows], batch_size=size)
    batches = iter(found if isinstance(found, list | tuple) and not isinstance(found, Tensor) else [found])
    return [next(batches) if hasattr(out.type, "ndim") else RANDOM for out in at.node.outputs]


# --- expressions of draws ---------------------------------------------------------------------------------------------
def expression(at: Application) -> list[Value]:
    """A random expression with parameters: its law is derived from it, unless the user gave a density."""
    op, reader = at.op, at.reader
    (_, size_at, params_at), _ = op.get_input_output_type_idxs(op.extended_signature)
    position = next(i for i, out in enumerate(at.node.outputs) if hasattr(out.type, "ndim"))
    own = None if size_at is None else at.values[size_at]

    def dist(*given: Any) -> Tensor:
        *parameters, size = given
        values = list(at.values)
        for i, p in zip(params_at, parameters, strict=True):
            values[i] = p
        if size_at is not None:
            values[size_at] = sizes_or_array(size) if size is not None and own is not None else own
        return as_tensor(reader.body(op.inner_inputs, op.inner_outputs, values)[position])

    parameters = [at.tensor(i) for i in params_at]
    shown = {"class_name": _class_name(op), "ndim_supp": op.ndim_supp}
    sizes = sizes_of(own)
    own_density = not op.inline_logprob and registered("_logprob", op) is not None
    if not own_density and _has_law(lambda: dist(*[placeholder(p.type) for p in parameters], sizes)):
        axes = {"ndims_params": tuple(op.ndims_params)} if any(op.ndims_params) else {}
        return outputs(at, CustomDist.dist(*parameters, dist=dist, size=sizes, **shown, **axes))
    return outputs(at, _with_density(at, parameters, params_at, dist, sizes, shown))


def _has_law(expression: Callable[[], Tensor]) -> bool:
    """Whether ppl derives the density of a random expression."""
    try:
        the_law(expression())
    except NoDensityError:
        return False
    return True


def _axes(op: Any, parameters: list[Tensor], batch: tuple[Any, ...]) -> tuple[int, ...]:
    """How many axes of each parameter belong to one value: PyMC says none by default, and does not look whether the
    others are those of independent values. Where they are not, a value has them all."""
    outer = [p.type.shape[: p.ndim - n] for p, n in zip(parameters, op.ndims_params, strict=True)]
    known = [tuple(1 if n is None else n for n in shape) for shape in (*outer, [_known(n) for n in batch])]
    try:
        fits = len(np.broadcast_shapes(*known)) == len(batch)
    except ValueError:
        fits = False
    return tuple(op.ndims_params) if fits else tuple(p.ndim for p in parameters)


def _known(size: Any) -> int | None:
    return None if isinstance(size, Tensor) else int(size)


def _class_name(op: Any) -> str:
    return str(getattr(op, "_print_name", (type(op).__name__,))[0])


def _with_density(
    at: Application, parameters: list[Tensor], params_at: Any, dist: Any, size: Any, shown: dict[str, Any]
) -> Tensor:
    """A random expression whose density the user gave, or PyMC derives."""
    op, reader = at.op, at.reader

    def logp(value: Any, *given: Any) -> Tensor:
        stand_in = _stand_in(at.out, as_tensor(value).ndim)
        known: dict[Any, Value] = {stand_in: as_tensor(value)}
        inputs = list(at.variables)
        for i, g in zip(params_at, given, strict=True):
            inputs[i] = _stand_in(at.variables[i].type, as_tensor(g).ndim)
            known[inputs[i]] = as_tensor(g)
        return as_tensor(reader.inner(known).read(log_density(op, inputs, stand_in)))

    shape = tuple(dist(*parameters, size).shape)
    axes = _axes(op, parameters, shape[: len(shape) - op.ndim_supp])
    drawn = CustomDist.dist(*parameters, logp=logp, dtype=at.out.dtype, shape=shape, ndims_params=axes, **shown)
    logp(placeholder(drawn.type), *parameters)  # what cannot be read is told now
    batch = drawn.ndim - op.ndim_supp
    drawn.family.sample = staticmethod(  # its draws are those of the expression
        lambda key, shape, *given: expand_draws([dist(*given, tuple(shape)[:batch])], key.fold_in(0))[0]
    )
    return drawn
