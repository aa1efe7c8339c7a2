"""PyTensor's classes for what users write themselves: operations, families, rewriters, graphs as operations."""

import importlib

import numpy as np
import pytest

import ppl as pm
import ppl.tensor as pt
from ppl.alias.facade import Row
from ppl.alias.fgraph import FunctionGraph, OpFromGraph, in2out, node_rewriter
from ppl.alias.jax_functions import get_jaxified_logp, jax_funcify
from ppl.alias.missing import NotHereYet
from ppl.alias.own_families import (
    Continuous,
    Discrete,
    PositiveContinuous,
    RandomVariable,
    SymbolicRandomVariable,
    _logprob,
    normalize_rng_param,
)
from ppl.alias.own_ops import Apply, DisconnectedType, GradientError, Op, as_op, grad_not_implemented
from ppl.alias.paths import PATHS
from ppl.model.inference.steps.assignment import assign
from ppl.model.posterior.rewriting import rewritten

pytestmark = pytest.mark.usefixtures("module_compiled_quickly")

ROWS = np.array([0.5, 1.0, 2.5])


class Cubed(Op):
    """x³ by NumPy, with its gradient by another operation."""

    def make_node(self, x):
        x = pt.as_tensor(x)
        return Apply(self, [x], [x.type()])

    def perform(self, node, inputs, outputs):
        (x,) = inputs
        outputs[0][0] = x**3

    def grad(self, inputs, output_grads):
        return [output_grads[0] * Slope()(inputs[0])]


class Slope(Op):
    itypes, otypes = [pt.dvector], [pt.dvector]

    def perform(self, node, inputs, outputs):
        outputs[0][0] = 3 * inputs[0] ** 2


class Blind(Cubed):
    grad = Op.grad


class Divided(Op):
    """Quotient and remainder, in two outputs; the gradient of the second one is not connected."""

    def make_node(self, x, n):
        x, n = pt.as_tensor(x), pt.as_tensor(n)
        return Apply(self, [x, n], [x.type(), x.type()])

    def perform(self, node, inputs, outputs):
        outputs[0][0], outputs[1][0] = np.divmod(*inputs)

    def L_op(self, inputs, outputs, output_grads):
        return [output_grads[1], DisconnectedType()()]


def test_values_gradients_and_batches():
    x = pt.dvector("x")
    y = Cubed()(x)
    f = pm.function([x], [y, pm.grad(y.sum(), x)])
    value, slope = f(ROWS)
    np.testing.assert_allclose(value, ROWS**3)
    np.testing.assert_allclose(slope, 3 * ROWS**2)
    np.testing.assert_allclose(f(np.ones(5))[1], 3 * np.ones(5))  # another length: the types do not tell it


def test_several_outputs_and_inputs_without_gradient():
    x = pt.dvector("x")
    whole, rest = Divided()(x, 2)
    assert rest.owner and isinstance(whole.owner, Apply) and whole.owner == whole.owner and x.owner is None
    assert rest.owner == whole.owner and rest.owner.inputs[0] is x and rest.owner.outputs == [whole, rest]
    value, slope = pm.function([x], [rest, pm.grad((rest * 5).sum() + whole.sum(), x)])(ROWS)
    np.testing.assert_allclose(value, ROWS % 2)
    np.testing.assert_allclose(slope, 5.0)


def test_a_function_as_an_operation():
    @as_op(itypes=[pt.dvector, pt.lscalar], otypes=[pt.dscalar], infer_shape=lambda node, shapes: [()])
    def moment(x, k):
        return np.mean(x**k)

    assert moment(ROWS, 2).eval() == np.mean(ROWS**2)
    with pytest.raises(TypeError, match=r"moment takes float64\[\?\], got"):
        moment(np.ones((2, 2)), 2)
    with pytest.raises(ValueError, match="moment takes 2 inputs, got 1"):
        moment(ROWS)


def test_what_is_wrong_with_an_operation_is_said():
    class Nothing(Op):
        itypes = otypes = (pt.dvector,)

    with pytest.raises(Exception, match="Nothing does not say what it computes: define perform"):
        Nothing()(ROWS).eval()
    with pytest.raises(NotImplementedError, match="Op: declare itypes and otypes, or define make_node"):
        Op()(1.0)


class InOne(Op):
    """x y, whose gradient in y it does not have."""

    itypes, otypes = [pt.dscalar, pt.dscalar], [pt.dscalar]

    def perform(self, node, inputs, outputs):
        outputs[0][0] = np.asarray(inputs[0] * inputs[1])

    def grad(self, inputs, output_grads):
        return [output_grads[0] * inputs[1], grad_not_implemented(self, 1, inputs[1], "never asked for")]


def test_a_gradient_that_is_left_out_matters_where_its_input_moves():
    x, y = pt.dscalars("x", "y")
    f = InOne()(x, y)
    assert pm.function([x, y], pm.grad(f, x))(3.0, 5.0) == 5.0
    with pytest.raises(GradientError, match=r"InOne has no gradient.* Its grad leaves out input 1 \(never asked for\)"):
        pm.function([x, y], pm.grad(f, y))(3.0, 5.0)


def model_of(operation):
    with pm.Model() as model:
        b = pm.Normal("b", 0, 1, shape=3)
        pm.Normal("free")
        pm.Normal("y", operation(b), 1.0, observed=ROWS)
    return model


class WithItsGradient(Op):
    """a² b, and its gradient as further outputs: those are not what a call gives."""

    default_output = 0

    def make_node(self, *inputs):
        inputs = [pt.as_tensor_variable(x) for x in inputs]
        return Apply(self, inputs, [pt.dscalar(), *[x.type() for x in inputs]])

    def perform(self, node, inputs, outputs):
        a, b = inputs
        for cell, value in zip(outputs, (a**2 * b, 2 * a * b, a**2), strict=True):
            cell[0] = np.asarray(value)

    def grad(self, inputs, output_grads):
        assert all(isinstance(g.type, DisconnectedType) for g in output_grads[1:])
        return [output_grads[0] * slope for slope in self(*inputs).owner.outputs[1:]]


def test_a_call_gives_the_output_that_the_class_names_and_the_others_have_no_slope():
    a, b, operation = pt.dscalar("a"), pt.as_tensor_variable(3.0), WithItsGradient()
    assert [len(operation(a, b, return_list=True)), operation(a, b, name="y").name] == [3, "y"]
    assert [g.eval({a: 2.0}) for g in pt.grad(operation(a, b), [a, b])] == [12.0, 4.0]


def test_without_gradient_slices_move_what_it_uses_and_nuts_refuses_by_name():
    assert assign(rewritten(model_of(Cubed()), rewrite=False), None).only_nuts
    found = assign(rewritten(model_of(Blind()), rewrite=False), None)
    assert [type(m).__name__ for m in found.methods] == ["Slice"] and [v.name for v in found.methods[0].vars] == ["b"]
    assert [v.name for v in found.nuts] == ["free"]
    with model_of(Blind()), pytest.raises(GradientError, match="Blind has no gradient, so neither NUTS nor"):
        pm.sample(5, tune=5, chains=1, step=pm.NUTS(), progressbar=False, random_seed=1)


class Squared(Blind):
    """x², by a JAX function; its class has no gradient."""

    def perform(self, node, inputs, outputs):
        raise AssertionError("the host is not asked")


@jax_funcify.register(Squared)
def _(op, **kwargs):
    return lambda x: x**2


def test_a_registered_jax_function_computes_and_jax_differentiates_it():
    x = pt.dvector("x")
    f = pm.function([x], [Squared()(x), pm.grad(Squared()(x).sum(), x)])
    for found, right in zip(f(ROWS), (ROWS**2, 2 * ROWS), strict=True):
        np.testing.assert_allclose(found, right)
    assert assign(rewritten(model_of(Squared()), rewrite=False), None).only_nuts
    with model_of(Squared()):
        draws = pm.sample(20, tune=20, chains=1, step=pm.NUTS(), progressbar=False, random_seed=1, rewrite=False)
    assert np.isfinite(draws.posterior["b"]).all()


def test_a_jax_function_serves_where_it_is_registered_later_and_has_its_own_gradient():
    """As where PyMC's samplers in JAX use it: what the class says of its gradient is not asked then."""

    class Doubled(Cubed):
        def grad(self, inputs, output_grads):
            return [7.0 * output_grads[0]]

    x = pt.dvector("x")
    y = Doubled()(x)

    @jax_funcify.register(Doubled)
    def _(op, node, **kwargs):
        return lambda x: (2 * x,)

    value, slope = pm.function([x], [y, pm.grad(y.sum(), x)])(ROWS)
    np.testing.assert_allclose(value, 2 * ROWS)
    np.testing.assert_allclose(slope, 2.0)


def test_what_has_no_jax_function_says_so_and_graphs_have_one():
    with pytest.raises(NotImplementedError, match="No JAX conversion for the given `Op`: Blind"):
        jax_funcify(Blind())
    x = pt.dvector("x")
    (found,) = jax_funcify(FunctionGraph([x], [pt.exp(x)]))(ROWS)
    np.testing.assert_allclose(found, np.exp(ROWS), rtol=1e-6)
    with pm.Model() as model:
        pm.Normal("z", 1.0, 2.0)
    np.testing.assert_allclose(get_jaxified_logp(model, negative_logp=False)([0.3]), model.compile_logp()({"z": 0.3}))


class RoundedRV(RandomVariable):
    name, signature, dtype = "rounded", "()->()", "int64"

    @classmethod
    def rng_fn(cls, rng, mean, size):
        return rng.poisson(mean, size)


class Rounded(Discrete):
    rv_op = RoundedRV()

    @classmethod
    def dist(cls, mean, **kwargs):
        return super().dist([mean], **kwargs)

    def logp(value, mean):
        return value * pt.log(mean) - mean - pt.gammaln(value + 1)


class LengthRV(RandomVariable):
    name, signature, dtype = "length", "()->()", "floatX"

    @classmethod
    def rng_fn(cls, rng, scale, size):
        return np.abs(rng.normal(0, scale, size))


class Length(PositiveContinuous):
    rv_op = LengthRV()

    @classmethod
    def dist(cls, scale=1.0, **kwargs):
        return super().dist([scale], **kwargs)

    def support_point(rv, size, scale):
        return pt.full(size, scale)

    def logp(value, scale):
        return -0.5 * (value / scale) ** 2 + 0.5 * np.log(2 / np.pi) - pt.log(scale)


def test_families_of_a_developer_guide():
    with pm.Model(coords={"k": range(3)}) as own:
        scale = Length("scale", 2.0, dims="k")
        Rounded("y", scale, observed=[1, 0, 4], dims="k")
    with pm.Model(coords={"k": range(3)}) as usual:
        scale = pm.HalfNormal("scale", 2.0, dims="k")
        pm.Poisson("y", scale, observed=[1, 0, 4], dims="k")
    point = {"scale_log__": np.array([0.1, -0.3, 0.7])}
    np.testing.assert_allclose(own.compile_logp()(point), usual.compile_logp()(point))
    np.testing.assert_allclose(own.initial_point()["scale_log__"], np.log(2.0))
    draws = pm.draw(Rounded.dist(3.0, size=2), 2000, random_seed=1)
    assert draws.shape == (2000, 2) and draws.dtype == np.int64 and abs(draws.mean() - 3.0) < 0.1


def test_a_random_variable_with_a_registered_density():
    @_logprob.register(LengthRV)
    def density(op, values, rng, size, scale):
        return Length.logp(values[0], scale)

    x = LengthRV()(2.0, size=3)
    np.testing.assert_allclose(pm.logp(x, np.ones(3)).eval(), pm.logp(pm.HalfNormal.dist(2.0), np.ones(3)).eval())
    assert isinstance(x.owner.op, RandomVariable)
    assert not isinstance(pt.exp(x).op, RandomVariable)


class ShiftedRV(SymbolicRandomVariable):
    extended_signature = "[rng],(),()->[rng],()"
    name = "shifted"


class Shifted(Continuous):
    """A law as a graph of another draw; its density follows from the graph."""

    @classmethod
    def dist(cls, mean, shift, times=1.0, **kwargs):
        return super().dist([mean, shift], times=times, **kwargs)

    @classmethod
    def rv_op(cls, mean, shift, times=1.0, size=None, rng=None):
        rng, mean_, shift_ = normalize_rng_param(rng), mean.type(), shift.type()
        next_rng, y = pm.Exponential.dist(scale=mean_, size=size, rng=rng).owner.outputs
        return ShiftedRV([rng, mean_, shift_], [next_rng, times * y + shift_])(rng, mean, shift)


class KnownRV(SymbolicRandomVariable):
    extended_signature = "(),[rng]->[rng],()"


class Known(Continuous):
    """The same with a density that is registered for the operation."""

    @classmethod
    def dist(cls, mean, **kwargs):
        return super().dist([mean], **kwargs)

    @classmethod
    def rv_op(cls, mean, size=None, rng=None):
        rng, mean_ = normalize_rng_param(rng), mean.type()
        next_rng, y = pm.Exponential.dist(scale=mean_, size=size, rng=rng).owner.outputs
        return KnownRV([mean_, rng], [next_rng, y])(mean, rng)


def test_families_that_are_graphs_of_other_draws():
    x = Shifted.dist(2.0, 10.0, times=3.0, size=4)
    draws = pm.draw(x, 4000, random_seed=1)
    assert draws.shape == (4000, 4) and draws.min() > 10 and abs(draws.mean() - 16) < 0.2
    np.testing.assert_allclose(pm.logp(x, np.full(4, 16.0)).eval(), -1.0 - np.log(6.0))
    with pm.Model() as model:
        Shifted("y", pm.HalfNormal("mean"), 0.0, observed=[1.0, 2.0])
    with pm.Model() as usual:
        pm.Exponential("y", scale=pm.HalfNormal("mean"), observed=[1.0, 2.0])
    point = {"mean_log__": np.array(0.3)}
    np.testing.assert_allclose(model.compile_logp()(point), usual.compile_logp()(point))


def test_a_graph_of_other_draws_needs_no_generator_but_a_draw():
    class Plain(Shifted):
        @classmethod
        def rv_op(cls, mean, shift, times=1.0, size=None, rng=None):
            mean_, shift_ = mean.type(), shift.type()
            next_rng, y = pm.Exponential.dist(scale=mean_, size=size, rng=rng).owner.outputs
            return ShiftedRV([rng, mean_, shift_], [next_rng, y + shift_])(rng, mean, shift)

    x = Plain.dist(2.0, 10.0, size=3)
    assert pm.draw(x, random_seed=1).min() > 10
    np.testing.assert_allclose(pm.logp(x, np.full(3, 12.0)).eval(), -1.0 - np.log(2.0))
    with pytest.raises(TypeError, match="ShiftedRV: one of the outputs is the draw"):
        ShiftedRV([], [normalize_rng_param()])


def test_a_graph_of_other_draws_with_a_registered_density():
    @_logprob.register(KnownRV)
    def density(op, values, mean, rng, **kwargs):
        return -2.0 * values[0] / mean

    assert pm.logp(Known.dist(2.0), 3.0).eval() == -3.0
    draws = pm.draw(Known.dist(np.array([1.0, 5.0])), 4000, random_seed=1)
    np.testing.assert_allclose(draws.mean(0), [1.0, 5.0], rtol=0.1)
    with pytest.raises(TypeError, match="KnownRV: 2 inputs, and 1 are given in their place"):
        KnownRV([pt.dscalar(), pt.dscalar()], [pt.dscalar()])(1.0)


def test_the_operation_of_a_users_draw_is_the_users():
    operation = LengthRV()
    x = operation(2.0, size=3)
    assert x.owner.op is operation and operation.ndim_supp == 0 and tuple(operation.ndims_params) == (0,)
    assert [float(p.eval()) for p in operation.dist_params(x.owner)] == [2.0] and x.owner.inputs[1].eval() == [3]


def test_operations_of_families_stand_at_their_paths():
    find = lambda path, name: Row(PATHS[path], path).find(name)
    x, y = pm.Normal.dist(), pm.Weibull.dist(1.0, 2.0)
    assert isinstance(x.owner.op, find("pytensor.tensor.random.basic", "NormalRV"))
    assert isinstance(y.owner.op, find("pymc.distributions.continuous", "WeibullBetaRV"))
    assert isinstance(x.owner.inputs[0].type, find("pytensor.tensor.random.type", "RandomType"))
    assert x.owner.inputs[1] is find("pytensor.tensor.type_other", "NoneConst")
    graph = find("pymc.distributions.distribution", "SymbolicRandomVariable")
    assert isinstance(y.owner.op, graph) and not isinstance(y.owner.op, RandomVariable)
    assert isinstance(x.owner.op, RandomVariable) and not isinstance(x.owner.op, graph)
    with pytest.raises(AttributeError):
        find("pytensor.tensor.random.basic", "NobodysRV")


def test_a_graph_as_an_operation_and_rewriters():
    x, y = pt.dscalars("x", "y")
    assert OpFromGraph([x, y], [x * y + 1.0])(2.0, 3.0).eval() == 7.0
    with pytest.raises(NotImplementedError, match="lop_overrides is not there yet"):
        OpFromGraph([x], [x], lop_overrides=lambda *a: a)
    with pytest.raises(TypeError, match="OpFromGraph has no argument in_line"):
        OpFromGraph([x], [x], in_line=True)

    @node_rewriter([pt.log])
    def no_logarithm(fgraph, node):
        return [node.inputs[0]]

    graph = FunctionGraph([x], [pt.log(pt.exp(pt.log(x))) + y])
    in2out(no_logarithm).rewrite(graph)
    assert graph.outputs == [pt.exp(x) + y] and len(graph.apply_nodes) == 2
    mode = pm.compile.get_mode("FAST_COMPILE").excluding("fusion").register((in2out(no_logarithm), -1))
    assert pm.function([x], pt.log(x), mode=mode)(np.float64(-2.0)) == -2.0


def test_absent_names_can_be_imported_subclassed_and_asked_about_but_not_used(no_real_packages):
    with pm.as_pymc():
        elemwise = importlib.import_module("pytensor.tensor.elemwise").Elemwise
        later = importlib.import_module("pymc.model.fgraph").fgraph_from_model
    assert not isinstance(pt.exp(1.0).op, elemwise)
    mine = type(elemwise)("Mine", (elemwise,), {})
    for use in (lambda: mine(1), lambda: later(None), lambda: elemwise(None).scalar_op):
        with pytest.raises(NotHereYet, match=r"(Elemwise|fgraph_from_model) is not in ppl yet"):
            use()


def test_an_operand_that_is_no_array_is_asked_itself():
    class Covariance:
        def __rmul__(self, other):
            return "scaled"

    assert pt.dscalar("x") * Covariance() == "scaled"
    with pytest.raises(TypeError, match="a tensor holds numbers and booleans"):
        pt.dscalar("x") * object()


def test_an_index_may_be_an_array_of_slices():
    index = np.empty(2, dtype=object)
    index[:] = [slice(0, 2), 1]
    np.testing.assert_array_equal(pt.as_tensor(np.arange(12).reshape(3, 4))[index].eval(), [1, 5])


class Doubled(Op):
    """Twice a vector and its sum, without a gradient of its own."""

    itypes, otypes = [pt.dvector], [pt.dvector, pt.dscalar]

    def perform(self, node, inputs, outputs):
        outputs[0][0], outputs[1][0] = 2 * inputs[0], np.asarray(inputs[0].sum())


def test_an_operation_that_jax_is_told_of_is_computed_and_derived_by_it():
    class Told(Doubled):
        def perform(self, node, inputs, outputs):
            raise AssertionError("Python is not called")

    x = pt.dvector("x")
    both = Told()(x)  # made before it is registered, as programs do
    assert not both[0].owner.op.differentiable
    jax_funcify.register(Told)(lambda op, **options: lambda x: (2 * x, x.sum()))
    f = pm.function([x], [*both, pt.grad((both[0] ** 2).sum() + both[1], x)], mode="JAX")
    doubled, total, slope = f(ROWS)
    np.testing.assert_array_equal(doubled, 2 * ROWS)
    assert total == ROWS.sum()
    np.testing.assert_allclose(slope, 8 * ROWS + 1)


def test_nuts_moves_what_an_operation_uses_that_jax_is_told_of():
    class Squares(Op):
        itypes, otypes = [pt.dvector], [pt.dscalar]

        def perform(self, node, inputs, outputs):
            outputs[0][0] = np.asarray((inputs[0] ** 2).sum())

    with pm.Model() as model:
        x = pm.Normal("x", 0, 10, shape=2)
        pm.Potential("p", -0.5 * Squares()(x))
    with pytest.raises(GradientError, match="Squares has no gradient"):
        pm.sample(10, tune=10, chains=1, model=model, step=pm.NUTS([x], model=model), progressbar=False, quiet=True)
    jax_funcify.register(Squares)(lambda op, **options: lambda x: (x**2).sum())
    few = {"chains": 2, "random_seed": 1, "model": model, "independent": False, "progressbar": False, "quiet": True}
    draws = pm.sample(500, tune=500, **few).posterior
    assert draws.attrs["drawn_by"] == "NUTS"
    assert abs(float(draws["x"].std()) - (1 / (1 + 0.01)) ** 0.5) < 0.1


WRONG = {
    "one result too few": (lambda op, **options: lambda x: x, ValueError, "returned 1 results, and it has 2 outputs"),
    "another rank": (lambda op, **options: lambda x: (x.sum(), x.sum()), ValueError, "returned an array of shape"),
    "no function": (lambda op, **options: 3.0, TypeError, "must return a function"),
}


@pytest.mark.parametrize("case", WRONG)
def test_what_is_wrong_with_a_registered_function_is_said(case):
    class Wrong(Doubled):
        pass

    register, error, words = WRONG[case]
    jax_funcify.register(Wrong)(register)
    with pytest.raises(error, match=words):
        Wrong()(pt.as_tensor(ROWS))[0].eval()


def test_an_operation_that_jax_is_not_told_of_has_no_function():
    with pytest.raises(NotImplementedError, match=r"jax_funcify\.register\(Doubled\)"):
        jax_funcify(Doubled())
    x = pt.dvector("x")
    node = pt.exp(x)
    np.testing.assert_allclose(jax_funcify(node.op, node=node)(ROWS), np.exp(ROWS))


def test_a_path_of_pytensor_leads_to_it(no_real_packages):
    assert importlib.import_module("ppl.link.jax.dispatch").jax_funcify is jax_funcify
