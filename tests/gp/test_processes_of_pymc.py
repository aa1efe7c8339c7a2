"""Every class of processes has PyMC's variables, log-densities, slopes and predictions."""

import numpy as np
import pytest
from processes_of_gp import PROCESSES
from some_slow import every

import ppl

pytestmark = [
    pytest.mark.usefixtures("module_compiled_quickly"),
    pytest.mark.filterwarnings("ignore:Only . column"),
    pytest.mark.filterwarnings("ignore:The drop_first argument"),
    pytest.mark.filterwarnings("ignore:batched_dot is deprecated"),
]


@pytest.fixture(autouse=True)
def all_digits(pymc5):
    """By default PyTensor keeps 5.0 in single precision, so that log(5) has seven digits."""
    import pytensor

    with pytensor.config.change_flags(cast_policy="numpy+floatX", mode="FAST_COMPILE"):
        yield


def built(pm, name):
    with pm.Model() as model:
        gp, new = PROCESSES[name](pm)
    return model, gp, new


@pytest.mark.parametrize("name", every(3, PROCESSES))
def test_variables_densities_slopes_and_predictions(name, pymc5):
    ours, gp, new = built(ppl, name)
    theirs, reference, _ = built(pymc5, name)
    for book in ("free_RVs", "observed_RVs", "deterministics", "potentials"):
        assert [v.name for v in getattr(ours, book)] == [v.name for v in getattr(theirs, book)], book
    start = theirs.initial_point()
    assert {k: np.shape(v) for k, v in ours.initial_point().items()} == {k: np.shape(v) for k, v in start.items()}
    expected = theirs.compile_fn([theirs.logp(), theirs.dlogp()], mode="FAST_COMPILE")
    density, slope = ours.compile_logp(), ours.compile_dlogp()
    random = np.random.default_rng(2)
    for _ in range(5):
        point = {k: v + random.uniform(-0.5, 0.5, np.shape(v)) for k, v in start.items()}
        value, slopes = expected(point)
        np.testing.assert_allclose(density(point), value, rtol=1e-9 if name == "Latent as MvNormal" else 1e-10)
        np.testing.assert_allclose(slope(point), slopes, rtol=1e-7, atol=1e-8 * np.abs(slopes).max())
    if (
        hasattr(reference, "predict")
        and ours.observed_RVs + ours.potentials
        and not name.startswith(("Latent", "HSGP"))
    ):
        values = {"ls": 0.8, "eta": 1.2, "sigma": 0.3}
        for diag in (False, True):
            pairs = zip(
                gp.predict(new, values, diag=diag, model=ours), reference.predict(new, values, diag=diag, model=theirs),
                strict=True,
            )  # fmt: skip
            for found, wanted in pairs:
                np.testing.assert_allclose(found, wanted, rtol=1e-7, atol=1e-10)


@pytest.mark.parametrize("name", ["Latent", "LatentKron", "Latent of two outputs", "HSGP"])
def test_conditionals_have_pymc_s_mean_and_covariance(name, pymc5):
    """Evaluated at one point of all variables, by replacing them in the graphs."""
    ours, gp, new = built(ppl, name)
    theirs, reference, _ = built(pymc5, name)
    for model, process in ((ours, gp), (theirs, reference)):
        with model:
            process.conditional("new", new)
    random = np.random.default_rng(4)
    point = {v.name: random.uniform(0.3, 1.0, v.type.shape)
             for v in ours.free_RVs if v.name != "new"}  # fmt: skip
    if name.startswith("HSGP"):
        wanted = theirs.compile_fn(
            [theirs["new"]],
            inputs=[theirs[n] for n in point],
            point_fn=True,
            mode="FAST_COMPILE",
            on_unused_input="ignore",
        )
        (found,) = ppl.gp.util.replace_with_values([ours["new"]], point, model=ours)
        np.testing.assert_allclose(found, wanted(point)[0], rtol=1e-9, atol=1e-12)
        return
    mu, cov = theirs["new"].owner.op.dist_params(theirs["new"].owner)
    wanted = theirs.compile_fn(
        [mu, cov], inputs=[theirs[n] for n in point], point_fn=True, mode="FAST_COMPILE", on_unused_input="ignore"
    )(point)
    mean, chol = ours["new"].parameters
    mean, root = ppl.gp.util.replace_with_values([mean, chol], point, model=ours)
    np.testing.assert_allclose(mean, wanted[0], rtol=1e-6, atol=1e-8)
    np.testing.assert_allclose(root @ root.T, np.squeeze(wanted[1]), rtol=1e-4, atol=1e-8)
