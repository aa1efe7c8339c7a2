"""Functions of NumPy's arrays as operations: values, gradients that the user gives, and what happens without one."""

import subprocess
import sys
from types import SimpleNamespace

import numpy as np
import pytest

import ppl as pm
import ppl.tensor as pt
from ppl.compile.density import layout
from ppl.model.certificate.certificate import Notary
from ppl.model.inference.steps.assignment import assign
from ppl.model.posterior.rewriting import rewritten

ROWS = np.array([0.5, 1.0, 2.5])
FEW = {"draws": 300, "tune": 300, "chains": 2, "random_seed": 1, "progressbar": False, "quiet": True,
       "compute_convergence_checks": False}  # fmt: skip


def log_likelihood(mu, sigma):
    return -0.5 * np.sum(((ROWS - mu) / sigma) ** 2) - len(ROWS) * np.log(sigma)


def slopes(mu, sigma):
    z = (ROWS - mu) / sigma
    return np.sum(z) / sigma, (np.sum(z**2) - len(ROWS)) / sigma


with_gradient = pm.from_numpy(log_likelihood, gradient=slopes)
without = pm.from_numpy(log_likelihood, name="blind")


def model_of(operation):
    with pm.Model() as model:
        mu, sigma = pm.Normal("mu", 0, 2), pm.LogNormal("sigma", 0, 0.5)
        pm.Potential("rows", operation(mu, sigma))
    return model


def test_values_and_gradients_of_a_scalar():
    mu, sigma = pt.dscalars("mu", "sigma")
    value = with_gradient(mu, sigma, name="rows")
    assert value.name == "rows" and value.type.shape == ()
    found = pm.function([mu, sigma], [value, *pm.grad(value * 2, [mu, sigma])])(0.3, 1.5)
    np.testing.assert_allclose(found, [log_likelihood(0.3, 1.5), *(2 * x for x in slopes(0.3, 1.5))])
    pm.verify_grad(lambda mu: with_gradient(mu, 1.5), [np.array(0.3)])


def test_results_of_several_shapes_and_their_pull_back():
    f = pm.from_numpy(
        lambda x, n: (np.outer(x, x), x.sum() * n),
        outputs=[("float64", (None, None)), "float64"],
        vjp=lambda x, n, outer, total: ((outer + outer.T) @ x + total * n, None),
    )
    x = pt.dvector("x")
    outer, total = f(x, 3)
    cost = (outer * np.arange(9.0).reshape(3, 3)).sum() + total**2
    value, slope = pm.function([x], [outer, pm.grad(cost, x)])(ROWS)
    np.testing.assert_allclose(value, np.outer(ROWS, ROWS))
    weights = np.arange(9.0).reshape(3, 3)
    np.testing.assert_allclose(slope, (weights + weights.T) @ ROWS + 2 * 9 * ROWS.sum())


def test_nuts_samples_what_has_a_gradient_as_if_it_were_written_in_tensors():
    with pm.Model() as written:
        pm.Normal("y", pm.Normal("mu", 0, 2), pm.LogNormal("sigma", 0, 0.5), observed=ROWS)
    point = {"mu": np.array(0.3), "sigma_log__": np.array(0.1)}
    np.testing.assert_allclose(model_of(with_gradient).compile_dlogp()(point), written.compile_dlogp()(point))
    with model_of(with_gradient) as model:
        assert assign(rewritten(model, rewrite=False), None).only_nuts
        results = pm.sample(**FEW)
        assert pm.find_MAP(progressbar=False)["sigma"] > 0
    with written:
        theirs = pm.sample(**FEW)
    for name in ("mu", "sigma"):
        assert abs(float(results.posterior[name].mean() - theirs.posterior[name].mean())) < 0.15


def test_without_a_gradient_slices_move_what_it_uses_and_nuts_refuses_by_name():
    found = assign(rewritten(model_of(without), rewrite=False), None)
    assert not found.nuts and [type(m).__name__ for m in found.methods] == ["Slice"]
    with model_of(without):
        results = pm.sample(**FEW)
        with pytest.raises(pm.GradientError, match=r"blind has no gradient, so neither NUTS .* Give gradient= or vjp="):
            pm.sample(**FEW, step=pm.NUTS())
        by_populations = pm.sample(**(FEW | {"chains": 8}), step=pm.DEMetropolisZ())
    assert abs(float(results.posterior["mu"].mean() - by_populations.posterior["mu"].mean())) < 0.4


def test_without_a_gradient_nuts_still_moves_what_it_does_not_use():
    """What slices move stands in one vector with what NUTS moves, and no slope in it is asked for."""
    with pm.Model():
        mu, sigma = pm.Normal("mu", 0, 2), pm.LogNormal("sigma", 0, 0.5)
        scale = pm.LogNormal("scale", 0, 0.3)
        pm.Potential("rows", without(mu, sigma))
        pm.StudentT("y", 4, mu * scale, scale, observed=[0.3, 1.2])
        results = pm.sample(**FEW)
        alone = pm.sample(**(FEW | {"chains": 8}), step=pm.DEMetropolisZ())
    assert ">NUTS: [scale]" in results.posterior.attrs["drawn_by"] and ">Slice: [mu, sigma]" in str(
        results.posterior.attrs
    )
    for name in ("mu", "scale"):
        assert abs(float(results.posterior[name].mean() - alone.posterior[name].mean())) < 0.3


def test_the_certificate_counts_the_digits_of_a_function_on_the_host():
    # a function that computes in single precision tells numbers 1e-7 apart, and rounding decides which of them
    rough = pm.from_numpy(lambda mu: np.float64(np.float32(mu) * np.float32(1e4) / 3), gradient=lambda mu: (1e4 / 3,))

    def run(rough, off):
        with pm.Model() as model:
            mu = pm.Normal("mu", 0, 2)
            pm.Potential("rows", rough(mu))
        posterior = rewritten(model, rewrite=False)
        positions = np.random.default_rng(0).normal(size=(1, 8, 1))
        lp = np.array([[float(model.compile_logp()({"mu": x})) for x in positions[0, :, 0]]])
        notary = Notary(posterior, layout(posterior.values, {"mu": np.array(0.0)}), {"mu": posterior.outputs["mu"]})
        moved = lp + off * np.sin(np.arange(8.0))
        return notary.certify(SimpleNamespace(positions=positions), moved, {"mu": positions[..., 0]}, 1).verdict

    exact = pm.from_numpy(lambda mu: mu * 1e4 / 3, gradient=lambda mu: (1e4 / 3,))
    assert run(rough, 1e-3) == run(exact, 0.0) == "holds" and run(rough, 100.0) == run(exact, 1e-3) == "fails"


WRONG = [
    (lambda: pm.from_numpy(3), TypeError, "from_numpy wraps a function, got 3"),
    (lambda: pm.from_numpy(np.sum, gradient=np.sum, vjp=np.sum), TypeError, "gradient= or vjp=, not both"),
    (lambda: pm.from_numpy(np.sum, outputs=("float64", 3), gradient=np.sum), ValueError, "for one scalar result"),
]


@pytest.mark.parametrize(("call", "kind", "text"), WRONG)
def test_what_is_wrong_with_a_declaration_is_said(call, kind, text):
    with pytest.raises(kind, match=text):
        call()


def test_what_is_wrong_with_a_result_is_said():
    plain = pm.from_numpy(lambda x: x, outputs=("float64", (2,)), name="plain")
    with pytest.raises(Exception, match=r"plain returned an array of shape \(3,\), and float64\[2\] was declared"):
        plain(ROWS).eval()
    two = pm.from_numpy(lambda x: x[0], outputs=["float64", "float64"], name="two")
    with pytest.raises(TypeError, match="two has 2 results: name them one by one"):
        two(ROWS, name="both")
    with pytest.raises(Exception, match="two returned 1 results, and 2 were declared"):
        two(ROWS)[0].eval()
    short = pm.from_numpy(lambda x, y: 1.0, gradient=lambda x, y: 1.0, name="short")
    x = pt.dscalar("x")
    with pytest.raises(Exception, match="short: its gradient has 1 parts, and there are 2 inputs"):
        pm.grad(short(x, 2.0), x).eval({x: 1.0})


def test_a_gradient_of_none_is_an_error_where_its_input_moves():
    half = pm.from_numpy(lambda x, y: x * y, gradient=lambda x, y: (y, None), name="half")
    x, y = pt.dscalars("x", "y")
    assert pm.function([x, y], pm.grad(half(x, y), x))(3.0, 5.0) == 5.0
    with pytest.raises(Exception, match="half: its gradient in input 1 is None, and that input is not held still"):
        pm.function([x, y], pm.grad(half(x, y), y))(3.0, 5.0)


def test_pytensors_names_are_names_of_ppl():
    doubled = pm.as_op(itypes=[pt.dvector], otypes=[pt.dvector], infer_shape=lambda node, shapes: shapes)(
        lambda x: 2 * x
    )
    np.testing.assert_array_equal(doubled(ROWS).eval(), 2 * ROWS)
    assert pm.wrap_py is pm.as_op and issubclass(type(doubled), pm.Op) and isinstance(doubled(ROWS).owner, pm.Apply)
    np.testing.assert_array_equal(pm.wrap_jax(lambda x: 3 * x)(ROWS).eval(), 3 * ROWS)
    program = """if True:
        import ppl
        with ppl.as_pymc():
            import pytensor
            from pytensor.compile.ops import as_op
            assert as_op is ppl.as_op and pytensor.wrap_jax is ppl.wrap_jax
    """  # in a process of its own: here another test may have imported the real package
    subprocess.run([sys.executable, "-c", program], check=True, timeout=120)
