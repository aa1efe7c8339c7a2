"""Parts of a posterior that nothing joins: which they are, and that draws of each are those of the whole."""

from __future__ import annotations

import logging

import numpy as np
import pytest
import scipy.stats
from random_models import Models, built

import ppl as pm
import ppl.tensor as tt
from ppl.compile import function
from ppl.graph import ancestors
from ppl.model.errors import SamplingError
from ppl.model.finishing import checks
from ppl.model.finishing.runs import InParts
from ppl.model.inference import sampling
from ppl.model.inference.strategies.factors import MERGED, Piece, joined
from ppl.model.posterior.rewriting import rewritten
from ppl.rewrites.factorization.factors import divided, parts
from ppl.rewrites.limits import LIMITS, limited
from ppl.samplers import ChainError
from ppl.samplers.adaptation.warmup import STATS
from ppl.samplers.runs.chain import TIMES, Chain
from ppl.samplers.runs.run import ChainRecord, assemble
from ppl.tensor.tensor import TensorType, placeholder

pytestmark = pytest.mark.usefixtures("module_compiled_quickly", "chains_for_few")


@pytest.fixture(scope="module")
def chains_for_few():
    """Parts are small here, and are moved by chains as larger ones would be."""
    with limited(few_numbers=1):
        yield


GROUP = np.array([0, 2, 1, 1, 0, 2, 2])


def check(terms, values, at):
    """The names of the parts, whose densities and slopes are those of the whole."""
    found = parts(terms, values)
    assert sorted(v.name for part in found for v in part.values) == sorted(v.name for v in values)
    if len(found) == 1:
        assert found[0].terms == tuple(terms)
        return [set(found[0].names)]
    sums = [sum([tt.sum(term) for term in part.terms], start=tt.as_tensor(0.0)) for part in found]
    total = sum([tt.sum(term) for term in terms], start=tt.as_tensor(0.0))
    smooth = [[v for v in part.values if v.dtype[0] == "f"] for part in found]
    slopes = [tt.grad(s, vs, disconnected_inputs="ignore") if vs else [] for s, vs in zip(sums, smooth, strict=True)]
    whole = tt.grad(total, [v for vs in smooth for v in vs], disconnected_inputs="ignore")
    at_point = lambda outputs: function(list(values), outputs, on_unused_input="ignore")(*at)
    *of_parts, expected = at_point([*sums, total])
    np.testing.assert_allclose(np.sum(of_parts), expected, rtol=1e-10, atol=1e-10)
    for one, other in zip(at_point([g for each in slopes for g in each]), at_point(whole), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-8, atol=1e-10)
    for part, each in zip(found, sums, strict=True):  # no part knows of the values of others
        assert ancestors([each]).intersection(values) <= set(part.values)
    return [set(part.names) for part in found]


x, y = placeholder(TensorType("float64", (3,)), "x"), placeholder(TensorType("float64", ()), "y")
z, w = placeholder(TensorType("float64", (2, 3)), "z"), placeholder(TensorType("float64", ()), "w")
shared = tt.exp(x)
JOINED = {  # terms of x, y, z and w, and what is joined
    "nothing": ([-(x**2), -(y**2), -(z**2), -tt.exp(w)], ["x", "y", "z", "w"]),
    "one term for all": ([-tt.sum(x**2) - y**2 - tt.sum(z**2) * 0.5 - 2.0 * tt.exp(w)], ["x", "y", "z", "w"]),
    "a product": ([-(x**2) * y, -(y**2), -(z**2), -(w**2)], ["xy", "z", "w"]),
    "a chain of products": ([-x * y, y * w, -(z**2), -(w**2)], ["xyw", "z"]),
    "rows of one and of another": ([-tt.exp(x[GROUP]) - tt.sum(z) + 0.1 * w, -(y**2) - w**2], ["x", "y", "z", "w"]),
    "rows of both": ([-tt.exp(x[GROUP] + y), -(z**2), -(w**2)], ["xy", "z", "w"]),
    "an expression that two terms use": ([-shared * y, shared - w**2, -(z**2)], ["xy", "z", "w"]),
    "a condition on each": ([tt.switch(tt.all(x > -9) & (y > -9), -tt.sum(x**2) - y**2, -np.inf), -(z**2), -(w**2)],
                            ["xy", "z", "w"]),
    "a condition on all rows": ([tt.switch(tt.all(tt.concatenate([x, y[None]]) > -9), -tt.sum(x**2), -np.inf), -(y**2),
                                 -(z**2), -(w**2)], ["xy", "z", "w"]),
    "a condition beside": ([tt.switch(tt.all(x > -9), -tt.sum(x**2), -np.inf) - y**2, -(z**2), -(w**2)],
                           ["x", "y", "z", "w"]),
    "end to end": ([-tt.concatenate([x**2, tt.exp(y)[None]]), -(z**2), -(w**2)], ["x", "y", "z", "w"]),
    "a function of both, end to end": ([-tt.exp(tt.concatenate([x, y[None]])), -(z**2), -(w**2)], ["xy", "z", "w"]),
    "a matrix of one, and a row of another": ([-(z**2) + x, -(y**2), -(w**2)], ["x", "y", "z", "w"]),
    "data alone": ([tt.as_tensor(np.arange(3.0)), -(x**2) - y**2, -(z**2), -(w**2)], ["x", "y", "z", "w"]),
    "half a condition twice": ([0.5 * tt.switch(tt.all(x > y), -tt.sum(x**2), -np.inf),
                                0.5 * tt.switch(tt.all(x > y), -tt.sum(x**2), -np.inf), -(z**2), -(w**2)],
                               ["xy", "z", "w"]),
}  # fmt: skip


@pytest.mark.parametrize("name", JOINED)
def test_values_are_joined_where_they_meet_in_a_summand(name):
    terms, expected = JOINED[name]
    rng = np.random.default_rng(3)
    at = [3.0 + 0.4 * rng.normal(size=v.type.shape) for v in (x, y, z, w)]
    at[1] -= 5.0
    assert check(terms, [x, y, z, w], at) == [set(each) for each in expected]


@pytest.mark.slow
def test_parts_of_random_models():
    several = 0
    for seed in range(40):
        model = built(Models(np.random.default_rng(seed)).draw())
        for rewrite in (False, True):
            posterior = rewritten(model, rewrite)
            if posterior.values:
                point, rng = posterior.start(), np.random.default_rng(seed)
                noise = [0.2 * rng.normal(size=np.shape(point[v.name])) * (v.dtype[0] == "f") for v in posterior.values]
                at = [(point[v.name] + e).astype(v.dtype) for v, e in zip(posterior.values, noise, strict=True)]
                several += len(check(list(posterior.terms.values()), list(posterior.values), at)) > 1
    assert several >= 15, "too few models have parts to mean anything"


def test_a_planted_split_is_found(monkeypatch):
    monkeypatch.setattr("ppl.rewrites.factorization.factors.Partition.join", lambda self, things: None)
    with pytest.raises(AssertionError, match="taken for independent"):
        parts([-tt.exp(x[GROUP] + y)], [x, y])


ROWS = np.random.default_rng(1).normal(size=(60, 2))
WINS = (ROWS @ [0.8, -0.5] + np.random.default_rng(2).logistic(size=60) > 0).astype(int)
COUNTS = np.array([3, 0, 7, 2, 4, 1])


def regression(wins=WINS):
    """The dear part: sixty logistic rows."""
    b = pm.Normal("b", 0, 1, shape=2)
    pm.Bernoulli("wins", logit_p=pm.math.dot(ROWS, b), observed=wins)
    return b


def hierarchy(counts=COUNTS):
    """The cheap part: six counts."""
    mu, tau = pm.Normal("mu", 0, 2), pm.HalfNormal("tau", 1)
    theta = pm.Normal("theta", mu, tau, shape=6)
    pm.Poisson("counts", pm.math.exp(theta), observed=counts)
    return theta


def number():
    nu = pm.Gamma("nu", 2, 0.1)
    pm.StudentT("tails", nu, 0, 1, observed=np.array([0.3, -4.0, 1.1, 0.2, -0.7]))
    return nu


def model_of(*pieces):
    with pm.Model() as model:
        for piece in pieces:
            piece()
    return model


FEW = {"chains": 2, "random_seed": 5, "progressbar": False, "quiet": True, "draws": 100, "tune": 200}


@pytest.fixture
def little_is_much(monkeypatch):
    """Small models are divided as if they were large."""
    monkeypatch.setattr(LIMITS, "much_arithmetic", 0.0)
    monkeypatch.setattr(LIMITS, "most_of_the_arithmetic", 0.5)


def test_what_divides_is_arithmetic():
    of = lambda n: placeholder(TensorType("float64", (n,)), f"v{n}")
    apart = lambda *each: [part.names for part in divided([-(tt.sum(v) ** 2) for v in each], each).chains]
    few, some, many, more, most = (of(n) for n in (5, 900, 29_000, 30_000, 600_000))
    assert apart(few, some) == [("v5", "v900")]  # there is little to gain
    assert apart(many, more) == [("v29000", "v30000")]
    assert apart(more, few, some) == [("v5", "v900"), ("v30000",)]
    assert apart(few, most, some, more) == [("v5", "v900"), ("v30000",), ("v600000",)]


def joined_by_a_potential(theta, b):
    pm.Potential("near", -((theta[0] - b[0]) ** 2))


def joined_by_a_deterministic(theta, b):
    pm.Normal("seen", pm.Deterministic("both", theta[0] * b[0]), 1, observed=0.5)


def joined_by_a_scale(theta, b):
    pm.Normal("spread", 0, pm.math.exp(b[0] + theta[1]), observed=np.ones(3))


def joined_by_cells(theta, b):
    pm.Poisson("cells", pm.math.exp((theta[:2] * b)[np.arange(40) % 2]), observed=np.arange(40) % 5)


@pytest.mark.usefixtures("little_is_much")
@pytest.mark.parametrize("join", [joined_by_a_potential, joined_by_a_deterministic, joined_by_a_scale, joined_by_cells])
def test_parts_that_meet_share_a_chain(join):
    with pm.Model() as model:
        join(hierarchy(), regression())
    assert len(rewritten(model).division.parts) == 1 and not pm.explain(model).parts
    assert rewritten(model).division.whole


@pytest.mark.usefixtures("little_is_much")
def test_coordinates_of_a_hierarchy_and_vectors_of_loops_join():
    with pm.Model() as model:
        regression()
        hierarchy()
        for k in range(12):  # alike, so one vector holds all of them
            m, s = pm.Normal(f"m{k}", 0, 2), pm.HalfNormal(f"s{k}", 1)
            pm.StudentT(f"t{k}", 4, m, s, observed=COUNTS[k % 6])
    found = [part.names for part in rewritten(model).division.parts]
    assert sorted(map(len, found)) == [1, 2, 3] and ("b",) in found


@pytest.mark.usefixtures("little_is_much")
def test_a_plan_tells_the_parts():
    told = str(pm.explain(model_of(regression, hierarchy, number)))
    assert (
        "the posterior factorizes into these parts, each sampled by itself unless NUTS is steered or watched:" in told
    )
    assert "    mu, tau, theta: by a chain, with " in told and "    nu: by quadrature" in told
    assert "the posterior factorizes" in pm.explain(model_of(regression, hierarchy))._repr_html_()


def test_a_plan_tells_why_parts_share_a_chain():
    told = str(pm.explain(model_of(regression, hierarchy)))
    assert "these parts, but one chain moves them all, since there is little arithmetic to save:" in told
    assert "factorizes" not in str(pm.explain(model_of(regression)))


@pytest.fixture(scope="module")
def divided_run(chains_for_few):
    patch = pytest.MonkeyPatch()
    patch.setattr(LIMITS, "much_arithmetic", 0.0)
    patch.setattr(LIMITS, "most_of_the_arithmetic", 0.5)
    yield pm.sample(model=model_of(regression, hierarchy, number), **FEW, discard_tuned_samples=False)
    patch.undo()


def test_the_result_says_how_parts_were_drawn(divided_run):
    attrs = divided_run.posterior.attrs
    assert attrs["drawn_by"] == "NUTS of mu, tau, theta; NUTS of b; quadrature of nu"
    first, second = attrs["parts"].splitlines()
    assert first.startswith("mu, tau, theta: step size 0.") and second.startswith("b: step size")
    assert 0 < attrs["quadrature_error"] < 1e-10
    assert dict(divided_run.warmup_posterior.sizes)["draw"] == 200
    assert np.isfinite(divided_run.warmup_sample_stats.lp).all()


def test_the_dearest_part_is_drawn_as_in_a_model_of_its_own(divided_run):
    alone = pm.sample(model=model_of(regression), **FEW, discard_tuned_samples=False)
    np.testing.assert_array_equal(alone.posterior.b, divided_run.posterior.b)
    np.testing.assert_array_equal(alone.warmup_posterior.b, divided_run.warmup_posterior.b)
    assert np.all(divided_run.sample_stats.n_steps > alone.sample_stats.n_steps)
    assert np.all(divided_run.sample_stats.tree_depth >= alone.sample_stats.tree_depth)
    assert np.all(divided_run.sample_stats.step_size <= alone.sample_stats.step_size)


@pytest.mark.usefixtures("little_is_much")
def test_draws_of_a_part_do_not_depend_on_the_others(divided_run):
    other = pm.sample(model=model_of(hierarchy, lambda: regression(1 - WINS)), **FEW)
    for name in ("mu", "tau", "theta"):
        np.testing.assert_array_equal(other.posterior[name], divided_run.posterior[name])
    beside = pm.sample(model=model_of(regression, number), **FEW)
    np.testing.assert_array_equal(beside.posterior.b, divided_run.posterior.b)
    np.testing.assert_allclose(beside.posterior.nu, divided_run.posterior.nu, rtol=1e-9)
    assert beside.posterior.attrs["drawn_by"] == "NUTS of b; quadrature of nu"


def noise():
    m, sigma = pm.Normal("m", 0, 5), pm.HalfNormal("sigma", 2)
    pm.Normal("seen", m, sigma, observed=np.array([1.2, -0.3, 2.4, 0.8, 1.9]))


def test_what_was_integrated_out_comes_back_with_its_own_number():
    alone, beside = (pm.sample(model=model_of(*pieces), **FEW).posterior for pieces in ((noise,), (regression, noise)))
    assert beside.attrs["drawn_by"] == "NUTS of b; quadrature of sigma"
    np.testing.assert_allclose(alone.sigma, beside.sigma, rtol=1e-9)
    np.testing.assert_allclose(alone.m, beside.m, rtol=1e-6)


def test_log_densities_of_draws_are_those_of_the_whole(divided_run):
    posterior = rewritten(model_of(regression, number))  # values without a further coordinate
    logp = function(list(posterior.values), [posterior.logp()])
    patched = pm.sample(model=model_of(regression, number), **FEW)
    draws = patched.posterior
    for k in range(5):
        at = {"b": draws.b.values[0, k], "nu_log__": np.log(draws.nu.values[0, k])}
        expected = logp(*(at[v.name] for v in posterior.values))[0]
        np.testing.assert_allclose(patched.sample_stats.lp.values[0, k], expected, rtol=1e-9)
    gap = patched.sample_stats.energy + patched.sample_stats.lp
    assert gap.std() > 0  # the momenta of the chain are in the energy


@pytest.mark.usefixtures("little_is_much")
def test_the_posterior_is_that_of_one_chain():
    model = model_of(regression, hierarchy, number)
    settings = FEW | {"draws": 2000, "tune": 500}
    apart = pm.sample(model=model, **settings).posterior
    together = pm.sample(model=model, **settings, nuts={}).posterior
    assert together.attrs["drawn_by"] == "NUTS"
    for name in ("b", "mu", "tau", "theta", "nu"):
        one, other = (found[name].values.reshape(4000, -1)[::4] for found in (apart, together))
        for column in range(one.shape[1]):
            assert scipy.stats.ks_2samp(one[:, column], other[:, column]).pvalue > 1e-4
    all_draws = np.concatenate([apart[n].values.reshape(4000, -1) for n in ("b", "nu", "mu")], axis=1)
    across = np.corrcoef(all_draws.T)[[0, 0, 1, 1, 2], [2, 3, 2, 3, 3]]
    assert np.abs(across).max() < 0.1  # parts do not share random numbers


def test_each_statistic_has_a_meaning():
    assert set(MERGED) == {*STATS, *TIMES}
    made = {
        "lp": ([1.0, 2.0], 3.0), "energy": ([1.0, 2.0], 3.0), "energy_error": ([1.0, -2.0], -1.0),
        "max_energy_error": ([1.0, -2.0], -2.0), "acceptance_rate": ([0.5, 1.0], 0.75), "step_size": ([0.5, 0.1], 0.1),
        "step_size_bar": ([0.5, 0.1], 0.1), "n_steps": ([3, 7], 10), "tree_depth": ([2, 3], 3),
        "index_in_trajectory": ([2, -3], -3), "diverging": ([False, True], True),
        "reached_max_treedepth": ([False, False], False), "perf_counter_start": ([5.0, 6.0], 5.0),
        "perf_counter_diff": ([0.5, 0.25], 0.75), "process_time_diff": ([0.5, 0.25], 0.75),
    }  # fmt: skip
    assert set(made) == set(MERGED)
    for name, (each, expected) in made.items():
        assert MERGED[name]([np.full((2, 3), v) for v in each]).tolist() == [[expected] * 3] * 2


def test_draws_are_put_together_by_chain_and_number():
    at = lambda chains, draws: np.array([[[100.0 * c + d] for d in range(draws)] for c in chains])
    lp = lambda chains, draws: {"lp": at(chains, draws)[..., 0]}
    pieces = [
        Piece(np.array([1]), [0, 2, 3], at([0, 2, 3], 4), lp([0, 2, 3], 4)),
        Piece(np.array([0]), [3, 0], at([3, 0], 5), lp([3, 0], 5)),
    ]
    positions, stats = joined(pieces, [0, 3])
    assert positions.shape == (2, 4, 2)
    np.testing.assert_array_equal(positions[..., 0], positions[..., 1])
    np.testing.assert_array_equal(stats["lp"], 2.0 * positions[..., 0])


def made_up(diverging: int, draws: int = 200):
    rng = np.random.default_rng(diverging)
    flags = np.arange(draws) < diverging
    stats = {"diverging": flags, "energy": rng.normal(size=draws), "reached_max_treedepth": np.zeros(draws, bool)}
    records = [ChainRecord(c, rng.normal(size=(draws, 1)), stats, None, None, {}, [], None) for c in range(2)]
    return assemble(records, compile_seconds=0.0, sampling_seconds=1.0, interrupted=False)


def test_warnings_name_the_part():
    each = [("mu, tau", ["mu"], made_up(0)), ("b", ["b"], made_up(3))]
    run = InParts(np.zeros((2, 200, 2)), {}, 1.0, kept=[0, 1], parts=each)
    told = [w.message for w in checks.convergence(run, ["mu", "b"])]
    assert told[0].startswith("b: There were 6 divergences")
    assert told[1].startswith("We recommend running at least 4 chains") and len(told) == 2


STEERING = {"nuts": {}, "max_treedepth": 8, "init": "adapt_diag", "callback": lambda trace, draw: None}


@pytest.mark.usefixtures("little_is_much")
@pytest.mark.parametrize("name", STEERING)
def test_whoever_steers_or_watches_nuts_gets_one_chain(name):
    few = FEW | {"draws": 5, "tune": 5}
    found = pm.sample(model=model_of(regression, hierarchy), **few, **{name: STEERING[name]})
    assert found.posterior.attrs["drawn_by"] == "NUTS"


@pytest.mark.usefixtures("little_is_much")
def test_runs_in_the_background_or_from_a_directory_have_one_chain(tmp_path):
    few = FEW | {"draws": 5, "tune": 5}
    model = model_of(regression, hierarchy)
    assert pm.sample(model=model, **few, blocking=False).wait().posterior.attrs["drawn_by"] == "NUTS"
    assert pm.sample(model=model, **few, resume=tmp_path / "run").posterior.attrs["drawn_by"] == "NUTS"
    assert pm.sample(model=model, **few, rewrite=False).posterior.attrs["drawn_by"] == "NUTS"


@pytest.mark.usefixtures("little_is_much")
def test_a_number_without_a_law_sends_all_to_one_chain_and_is_named():
    model = model_of(regression, number, lambda: pm.Flat("free"))
    attrs = pm.sample(model=model, **FEW | {"draws": 5, "tune": 5}, protect=["free"]).posterior.attrs
    assert attrs["drawn_by"].startswith("NUTS, since") and "free: the left tail has no finite mass" in attrs["drawn_by"]


@pytest.mark.usefixtures("little_is_much")
def test_a_part_that_cannot_start_is_named():
    def impossible():
        pm.Potential("never", pm.math.log(-pm.math.sum(pm.HalfNormal("scale", 1, shape=2))))

    with pytest.raises(SamplingError, match='"never"'):
        pm.sample(model=model_of(regression, impossible), **FEW)


@pytest.mark.usefixtures("little_is_much")
def test_chains_of_parts_start_where_they_are_told():
    model = model_of(regression, hierarchy, number)
    far = [{"mu": m, "theta": np.full(6, m), "b": np.full(2, 10 * m)} for m in (3.0, -3.0)]
    run = {"draws": 1, "tune": 1, "discard_tuned_samples": False, "init": "auto"}
    found = pm.sample(model=model, **FEW | run, initvals=far).warmup_posterior
    assert found.b.values[0].min() > 20 and found.b.values[1].max() < -20
    assert found.mu.values[0, 0] > 1 and found.mu.values[1, 0] < -1


class Pressed:
    """A display during which Ctrl-C is pressed, once a part of a number has some draws."""

    def __init__(self, part, draws):
        self.part, self.draws, self.begun = part, draws, 0

    def __enter__(self):
        self.begun += 1
        return self

    def __exit__(self, *_):
        return None

    def show(self, report):
        if self.begun == self.part and all(c.done > self.draws for c in report.chains):
            raise KeyboardInterrupt


@pytest.mark.usefixtures("little_is_much")
def test_a_run_that_is_stopped_keeps_the_draws_that_all_parts_have(monkeypatch):
    model = model_of(regression, hierarchy, number)
    long = FEW | {"draws": 300_000, "tune": 200}
    monkeypatch.setattr(sampling, "display", lambda mode: Pressed(2, 300))
    found = pm.sample(model=model, **long)
    count = found.posterior.sizes["draw"]
    assert found.posterior.attrs["interrupted"] == 1 and 0 < count <= 300_000
    assert np.isfinite(found.sample_stats.lp).all()
    monkeypatch.undo()


@pytest.mark.usefixtures("little_is_much")
def test_a_run_that_is_stopped_before_the_last_part_has_no_draw(monkeypatch):
    monkeypatch.setattr(sampling, "display", lambda mode: Pressed(1, 300))
    with pytest.raises(KeyboardInterrupt):
        pm.sample(model=model_of(regression, hierarchy), **FEW | {"draws": 10_000_000, "tune": 200})


@pytest.mark.usefixtures("little_is_much")
def test_a_chain_that_fails_leaves_the_draws_that_all_parts_have(monkeypatch):
    def failing(chain, *given):
        if chain.layout.shapes["positions"].row == (2,) and chain.number == 1 and chain.done > 250:
            raise RuntimeError("no more")
        return taken(chain, *given)

    taken = Chain.take
    monkeypatch.setattr(Chain, "take", failing)
    with pytest.raises(ChainError, match="no more") as caught:
        pm.sample(model=model_of(regression, hierarchy, number), **FEW | {"draws": 3000})
    found = caught.value.partial.posterior
    assert {"b", "mu", "tau", "theta", "nu"} <= set(found.data_vars) and found.sizes["draw"] > 50


@pytest.mark.usefixtures("little_is_much")
def test_no_draws_may_be_asked_for():
    found = pm.sample(model=model_of(regression, hierarchy, number), **FEW | {"draws": 0, "tune": 20})
    assert found.posterior.sizes["draw"] == 0 and set(found.posterior.data_vars) == {"b", "mu", "tau", "theta", "nu"}


@pytest.mark.usefixtures("little_is_much")
def test_the_log_says_which_part_is_sampled(caplog):
    with caplog.at_level(logging.INFO):
        pm.sample(model=model_of(regression, hierarchy), **FEW | {"quiet": False, "draws": 5, "tune": 5})
    assert [m for m in caplog.messages if m.startswith("Part")] == ["Part 1 of 2: mu, tau, theta", "Part 2 of 2: b"]
