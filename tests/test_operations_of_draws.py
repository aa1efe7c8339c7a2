"""What draws are made by, `x.owner`, is what PyMC's programs find there: operation, names, axes, inputs."""

import functools

import numpy as np
import pytest

import ppl
from ppl.distributions import FAMILIES
from ppl.tensor.tensor import as_tensor

EYE = np.eye(2)
BORDERS = np.array([[0, 1], [1, 0]])
NORMAL = lambda pm: pm.Normal.dist(0.5, 2.0)
# family: the arguments in PyMC's names, as a function of the package where draws are among them
CALLS = {
    "Normal": {"mu": [1.0, 3.0], "tau": 4.0},
    "HalfNormal": {"sigma": 2.0},
    "LogNormal": {"mu": 1.0, "sigma": 2.0, "size": 3},
    "TruncatedNormal": {"mu": 1.0, "sigma": 2.0, "lower": 0.0, "upper": 3.0},
    "SkewNormal": {"mu": 1.0, "sigma": 2.0, "alpha": 3.0},
    "Uniform": {"lower": 1.0, "upper": 2.0},
    "Flat": {},
    "HalfFlat": {},
    "Exponential": {"lam": 3.0},
    "Gamma": {"mu": 2.0, "sigma": 3.0},
    "InverseGamma": {"alpha": 2.0, "beta": 3.0},
    "Beta": {"alpha": 2.0, "beta": 3.0},
    "Cauchy": {"alpha": 2.0, "beta": 3.0},
    "HalfCauchy": {"beta": 3.0},
    "StudentT": {"nu": 3.0, "mu": 1.0, "sigma": 2.0},
    "HalfStudentT": {"nu": 3.0, "sigma": 2.0},
    "SkewStudentT": {"a": 1.0, "b": 2.0, "mu": 1.0, "sigma": 2.0},
    "Laplace": {"mu": 1.0, "b": 2.0},
    "AsymmetricLaplace": {"kappa": 1.5, "mu": 1.0, "b": 2.0},
    "Logistic": {"mu": 1.0, "s": 2.0},
    "LogitNormal": {"mu": 1.0, "sigma": 2.0},
    "Gumbel": {"mu": 1.0, "beta": 2.0},
    "Moyal": {"mu": 1.0, "sigma": 2.0},
    "Pareto": {"alpha": 2.0, "m": 3.0},
    "Rice": {"nu": 2.0, "sigma": 3.0},
    "Triangular": {"lower": 1.0, "c": 2.0, "upper": 3.0},
    "VonMises": {"mu": 1.0, "kappa": 2.0},
    "Wald": {"mu": 1.0, "lam": 2.0},
    "Weibull": {"alpha": 2.0, "beta": 3.0},
    "Kumaraswamy": {"a": 2.0, "b": 3.0},
    "ExGaussian": {"mu": 1.0, "sigma": 2.0, "nu": 3.0},
    "ChiSquared": {"nu": 3.0},
    "Interpolated": {"x_points": np.arange(4.0), "pdf_points": np.array([0.5, 2.0, 1.0, 0.0])},
    "PolyaGamma": {"h": 1.0, "z": 2.0},
    "Bernoulli": {"logit_p": 0.3},
    "Binomial": {"n": 3, "p": 0.3},
    "BetaBinomial": {"n": 3, "alpha": 2.0, "beta": 3.0},
    "Categorical": {"p": [0.2, 0.8]},
    "DiscreteUniform": {"lower": 1, "upper": 3},
    "DiscreteWeibull": {"q": 0.3, "beta": 2.0},
    "Geometric": {"p": 0.3},
    "HyperGeometric": {"N": 10, "k": 4, "n": 3},
    "NegativeBinomial": {"mu": 2.0, "alpha": 3.0},
    "Poisson": {"mu": 3.0},
    "ZeroInflatedPoisson": {"psi": 0.3, "mu": 3.0},
    "ZeroInflatedBinomial": {"psi": 0.3, "n": 3, "p": 0.4},
    "ZeroInflatedNegativeBinomial": {"psi": 0.3, "mu": 2.0, "alpha": 3.0},
    "HurdlePoisson": {"psi": 0.3, "mu": 3.0},
    "HurdleGamma": {"psi": 0.3, "alpha": 2.0, "beta": 3.0},
    "HurdleLogNormal": {"psi": 0.3, "mu": 3.0, "sigma": 2.0},
    "HurdleNegativeBinomial": {"psi": 0.3, "mu": 2.0, "alpha": 3.0},
    "OrderedLogistic": {"eta": 0.2, "cutpoints": [0.0, 1.0]},
    "OrderedProbit": {"eta": 0.2, "cutpoints": [0.0, 1.0], "sigma": 1.5},
    "OrderedMultinomial": {"eta": 0.2, "cutpoints": [0.0, 1.0], "n": 3},
    "Dirichlet": {"a": [1.0, 2.0]},
    "Multinomial": {"n": 3, "p": [0.3, 0.7]},
    "DirichletMultinomial": {"n": 3, "a": [1.0, 2.0]},
    "MvNormal": {"mu": [0.0, 1.0], "cov": EYE + 0.5},
    "MvStudentT": {"nu": 3.0, "mu": [0.0, 1.0], "scale": EYE + 0.5},
    "MatrixNormal": {"mu": np.zeros((2, 3)), "rowchol": EYE, "colchol": np.eye(3)},
    "KroneckerNormal": {"mu": np.zeros(4), "covs": [EYE, 2 * EYE]},
    "LKJCorr": {"n": 3, "eta": 2.0},
    "LKJCholeskyCov": lambda pm: {"n": 3, "eta": 2.0, "sd_dist": pm.HalfNormal.dist(size=3), "compute_corr": False},
    "StickBreakingWeights": {"alpha": 2.0, "K": 3},
    "CAR": {"mu": np.zeros(2), "W": BORDERS, "alpha": 0.5, "tau": 1.0},
    "ICAR": {"W": BORDERS},
    "ZeroSumNormal": {"sigma": 2.0, "shape": 3},
    "RandomWalk": lambda pm: {"innovation_dist": NORMAL(pm), "init_dist": NORMAL(pm), "steps": 3},
    "GaussianRandomWalk": lambda pm: {"mu": 0.3, "sigma": 1.5, "init_dist": NORMAL(pm), "steps": 3},
    "AR": lambda pm: {"rho": [0.4, 0.3], "constant": True, "sigma": 1.5, "init_dist": NORMAL(pm), "steps": 3},
    "GARCH11": {"omega": 1.0, "alpha_1": 0.2, "beta_1": 0.3, "initial_vol": 1.5, "steps": 3},
    "Censored": lambda pm: {"dist": NORMAL(pm), "lower": 0.0, "upper": 1.0},
    "Truncated": lambda pm: {"dist": pm.Gamma.dist(2.0, 3.0), "lower": 0.5, "upper": 1.0},
    "Mixture": lambda pm: {"w": [0.3, 0.7], "comp_dists": [NORMAL(pm), pm.StudentT.dist(3)]},
    "NormalMixture": {"w": [0.3, 0.7], "mu": [0.0, 1.0], "sigma": [1.0, 2.0]},
    "DiracDelta": {"c": 1.5},
}  # fmt: skip
# PyMC warns of the first, refuses such equations, and has the others by other families' operations.
WITHOUT_ROW = {"Wishart", "EulerMaruyama", "MvGaussianRandomWalk", "MvStudentTRandomWalk"}
# Parameters are laws, or PyMC has another class there.
OF_LAWS = (
    "Censored Truncated Mixture NormalMixture RandomWalk GaussianRandomWalk AR GARCH11 LKJCholeskyCov KroneckerNormal "
    "ZeroInflatedPoisson HurdlePoisson OrderedLogistic OrderedProbit OrderedMultinomial ChiSquared CAR ICAR "
    "Flat HalfFlat"
).split()
# PyMC 5.28 takes lam where the dispersion 1/lam belongs, and gives the least value no probability.
WRONG_IN_PYMC = {("Wald", "logcdf"), ("DiscreteUniform", "logcdf")}
OTHER_AXES = {"RandomWalk", "GaussianRandomWalk"}  # PyTensor has their number of steps as a vector of one


@functools.cache
def the_real():
    return pytest.importorskip("pymc")


def test_every_family_of_pymc_stands_in_the_table():
    assert {name for name in FAMILIES if hasattr(the_real(), name)} <= set(CALLS) | WITHOUT_ROW


def made(pm, name):
    call = CALLS[name]
    return getattr(pm, name).dist(**(call(pm) if callable(call) else call))


def value(pm, x):
    if pm is ppl:
        return as_tensor(x).eval()
    (found,) = pm.pytensorf.constant_fold([x], raise_not_constant=False)
    return found


def is_draw(x):
    return getattr(x.owner, "op", None) is not None and hasattr(x.owner.op, "ndim_supp")


def tree(pm, x):
    """Names of operations and values of parameters, down to draws that stand for laws."""
    if not hasattr(x.type, "ndim"):
        return "no size" if type(x.type).__name__ == "NoneTypeT" else "generator"
    if is_draw(x):
        return x.owner.op._print_name[0], x.owner.op.ndim_supp, [tree(pm, each) for each in x.owner.inputs]
    found = np.asarray(value(pm, x), "float64")
    return found if found.size else "no size"


def same(a, b):
    """Sizes that PyMC works out from the parameters are none here."""
    if isinstance(a, str) and a == "no size":
        return
    if isinstance(a, np.ndarray) or isinstance(b, np.ndarray):
        np.testing.assert_allclose(np.squeeze(a), np.squeeze(b), rtol=1e-7)
    elif isinstance(a, list | tuple):
        assert len(a) == len(b), (a, b)
        for x, y in zip(a, b, strict=True):
            same(x, y)
    else:
        assert a == b, (a, b)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", CALLS)
def test_a_draw_is_made_by_what_pytensor_has_there(name):
    pm = the_real()
    ours, theirs = made(ppl, name), made(pm, name)
    op, other = ours.owner.op, theirs.owner.op
    assert type(op).__name__ == type(other).__name__
    assert getattr(other, "name", None) == op.name
    assert op._print_name[0] == other._print_name[0]
    assert op.ndim_supp == other.ndim_supp
    if name not in OTHER_AXES and other.ndims_params is not None:
        assert list(op.ndims_params) == list(other.ndims_params)
    if other.signature is not None and op.signature is not None:
        assert op.signature == other.signature
    assert ours.owner.outputs.index(ours) == theirs.owner.outputs.index(theirs)
    same(tree(ppl, ours), tree(pm, theirs))


def test_programs_find_what_they_read():
    with ppl.Model():
        scale = ppl.HalfNormal("scale", 2.0)
        x = ppl.Normal("x", 0, scale, shape=(2, 3))
    assert scale.owner.op is ppl.HalfNormal.rv_op and isinstance(x.owner.op, ppl.Normal.rv_type)
    assert x.owner.inputs[3] is scale and list(x.owner.inputs[1].eval()) == [2, 3]
    assert x.get_parents()[0].inputs[2:] == x.owner.op.dist_params(x.owner) and x.owner.out is x
    assert scale.owner.op.rng_param(scale.owner) is scale.owner.inputs[0] is not x.owner.inputs[0]
    assert str(x.owner.op) == 'normal_rv{"(),()->()"}' and x.owner.op.dtype == "float64"
    again = ppl.Normal.rv_op(1.0, 2.0, size=3)
    assert again.family is ppl.Normal and again.type.shape == (3,)
    assert ppl.HalfNormal.rv_op.default_output == 1 and ppl.HalfNormal.rv_op.ndims_params == [0, 0]
    with pytest.raises(NotImplementedError, match=r"use Gamma.dist\(alpha, beta\)"):
        ppl.Gamma.rv_op(1.0, 2.0)
    hurdle = ppl.HurdlePoisson.dist(0.3, 2.0).owner
    assert hurdle.outputs[hurdle.op.default_output] is hurdle.out
    assert ppl.Distribution.rv_type is not type("Own", (ppl.Distribution,), {}, abstract=True).rv_type
    assert not hasattr(ppl.ChiSquared, "rv_type") and not hasattr(ppl.HalfCauchy, "rv_op")


def test_transforms_take_the_inputs_of_a_draw():
    with ppl.Model() as model:
        x = ppl.Triangular("x", lower=1.0, upper=5.0, c=2.0)
    transform = model.rvs_to_transforms[x]
    there = transform.forward(3.0, *x.owner.inputs)
    assert there.eval() == transform.forward(3.0, *x.parameters).eval()
    assert np.isclose(transform.backward(there, *x.owner.inputs).eval(), 3.0)


def called(pm, name, fact, x, parameters):
    """A fact of a family, called on its class with PyTensor's parameters."""
    tensors = [pm.math.constant(p) if pm is ppl else pm.pytensorf.pt.as_tensor(p) for p in (x, *parameters)]
    return np.asarray(value(pm, getattr(getattr(pm, name), fact)(*tensors)), "float64")


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("fact", ["logp", "logcdf", "icdf"])
@pytest.mark.parametrize("name", [name for name in CALLS if name not in OF_LAWS])
def test_facts_of_a_family_take_pytensors_parameters(name, fact):
    """`pm.Gamma.logp(value, alpha, scale)` is called by programs."""
    ours, family = made(ppl, name), getattr(ppl, name)
    if not getattr(family, fact) or (name, fact) in WRONG_IN_PYMC:
        pytest.skip("the family does not state it, or PyMC is wrong")
    parameters = [np.asarray(value(ppl, p)) for p in ours.owner.op.dist_params(ours.owner) if hasattr(p.type, "ndim")]
    x = 0.3 if fact == "icdf" else ppl.draw(ours, random_seed=1)
    try:
        expected = called(the_real(), name, fact, x, parameters)
    except (AttributeError, NotImplementedError, TypeError, ValueError):
        pytest.skip("PyMC does not have it")
    np.testing.assert_allclose(called(ppl, name, fact, x, parameters), expected, rtol=1e-6, atol=1e-9)


def test_facts_hold_everywhere_and_refuse_other_parameters():
    assert ppl.Exponential.logp(-1.0, 2.0).eval() == -np.inf and ppl.Uniform.logcdf(3.0, 0.0, 1.0).eval() == 0.0
    assert ppl.Gamma.logp(value=1.5, alpha=2.0, scale=3.0).eval() == ppl.logp(ppl.Gamma.dist(2.0, 1 / 3), 1.5).eval()
    assert ppl.Normal.logccdf and not ppl.SkewNormal.icdf
    with pytest.raises(TypeError, match=r"Normal\.logp\(value, mu, sigma\) got 1 parameters by place"):
        ppl.Normal.logp(1.0, 0.0)
    with pytest.raises(NotImplementedError, match=r"HalfNormal begins at 0, got loc=1\.0: subtract it from the value"):
        ppl.HalfNormal.logp(1.0, 1.0, 2.0)
