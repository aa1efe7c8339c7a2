"""Models, plans, functions and draws go through a pickle and come back the same, with random draws told apart."""

import pickle
import subprocess
import sys

import numpy as np
import pytest
from models_of_pymc import MODELS, built
from proof_models import PROOFS

import ppl as pm
import ppl.tensor as tt
from ppl.graph import digest

FEW = {"draws": 20, "tune": 20, "chains": 2, "random_seed": 1, "progressbar": False, "quiet": True}
FEW["compute_convergence_checks"] = False


def through_pickle(value, dumps=pickle.dumps):
    return pickle.loads(dumps(value))


def through_cloudpickle(value):
    return through_pickle(value, pytest.importorskip("cloudpickle").dumps)


def through_pure_python(value):
    """The pickler that dill builds on takes the entries of a list before it writes the first."""
    return through_pickle(value, pickle._dumps)


WAYS = [through_pickle, through_cloudpickle, through_pure_python]
each_way = pytest.mark.parametrize("way", WAYS)


def groups():
    rng = np.random.default_rng(3)
    with pm.Model(coords={"group": ["a", "b", "c"]}) as model:
        group = pm.Data("group_of", np.repeat([0, 1, 2], 4))
        mu, tau = pm.Normal("mu", 0, 2), pm.HalfNormal("tau", 1)
        share = pm.Uniform("share", 0.1, 0.9)
        effect = pm.Normal("effect", mu, tau, dims="group")
        pm.Deterministic("double", 2 * effect)
        pm.Potential("rather small", -(mu**2))
        pm.StudentT("y", 4, effect[group] * share, 1, observed=rng.normal(size=12), total_size=24)
    return model


@each_way
def test_what_was_one_is_one_again_and_what_was_two_stays_two(way):
    x = tt.dvector("x")
    a, b = pm.Normal.dist(0, 1), pm.Normal.dist(0, 1)
    y = tt.exp(x)
    y.name = "a label"
    x2, y2, a2, b2, total = way([x, y, a, b, a + b + y])
    assert y2 is tt.exp(x2) and y2.name == "a label" and total is a2 + b2 + y2
    assert a2 is not b2 and a2 is not a and x2 is not x
    assert digest(total) == digest(a + b + y)


@each_way
def test_a_long_chain_needs_no_deep_recursion(way):
    x = node = tt.dscalar("x")
    for _ in range(3_000):
        node = tt.sin(node) + x
    assert digest(way(node)) == digest(node)


def walk_of(steps):
    with pm.Model() as model:
        x = pm.Normal("x0", 0, 1)
        for i in range(1, steps):
            x = pm.Normal(f"x{i}", x, 1)
    return model


def test_the_nodes_of_a_model_are_written_once():
    short, long = (len(pickle.dumps(walk_of(steps))) for steps in (50, 200))
    assert long < 4.5 * short


@each_way
def test_variables_keep_their_updates(way):
    total = pm.shared(2.0, "total")
    total.default_update = 3.0 * total
    copy, twice = way([total, 2.0 * total])
    copy.set_value(5.0)
    step = pm.function([], twice)
    assert (float(step()), float(step()), float(total.get_value())) == (10.0, 30.0, 2.0)


@each_way
def test_bodies_of_loops(way):
    x = tt.dscalar("x")
    powers, _ = pm.scan(lambda y, x: y * tt.sin(x), outputs_info=tt.constant(1.0), non_sequences=x, n_steps=3)
    copy, looped = way([x, powers[-1]])
    assert digest(looped) == digest(powers[-1])
    assert np.isclose(float(looped.eval({copy: 0.5})), np.sin(0.5) ** 3)


# Their families are classes made at the call, which hold functions of the user or hang on the factors they are given.
MADE_AT_THE_CALL = "EulerMaruyama KroneckerNormal CustomDist".split()


def is_made_at_the_call(name):
    model = built(pm, tt, MODELS[name])
    return any(getattr(rv, "family", type).__name__ in MADE_AT_THE_CALL for rv in model.basic_RVs)


@pytest.mark.parametrize("name", [name for name in MODELS if is_made_at_the_call(name)])
def test_families_made_at_the_call_are_refused(name):
    with pytest.raises(pickle.PicklingError, match="|".join(MADE_AT_THE_CALL)):
        pickle.dumps(built(pm, tt, MODELS[name]))


@each_way
@pytest.mark.parametrize("name", [name for name in MODELS if not is_made_at_the_call(name)])
def test_models_of_all_kinds(name, way):
    model = built(pm, tt, MODELS[name])
    assert digest(way(model).logp()) == digest(model.logp())


@each_way
@pytest.mark.parametrize("proof", PROOFS, ids=lambda proof: proof.name)
def test_models_and_plans(proof, way):
    model = proof.model()
    plan = pm.explain(model)
    copy, copied = way((model, plan))
    assert list(copy.named_vars) == list(model.named_vars) and copy.coords == model.coords
    assert str(copied) == str(plan) and copied.free == plan.free == pm.explain(copy).free
    assert all(any(rv is each for each in copied.program.free) for rv in copied.coordinates)


@each_way
def test_a_model_that_was_loaded_is_a_model_like_any_other(way):
    model = groups()
    copy = way(model)
    again = groups()
    assert copy["mu"] is not model["mu"] and copy.effect is copy["effect"]
    point = model.initial_point()
    assert copy.compile_logp()(point) == model.compile_logp()(point)
    found, expected = (pm.sample(model=each, **FEW) for each in (copy, again))
    assert np.array_equal(found.posterior["effect"], expected.posterior["effect"])
    with copy:
        pm.set_data({"group_of": np.zeros(12, int)})
        extra = pm.Normal("extra", copy["mu"], 1)
    assert any(extra is rv for rv in copy.free_RVs) and "extra" not in model.named_vars
    assert model["group_of"].get_value().max() == 2


@each_way
def test_models_within_models_keep_their_common_books(way):
    with pm.Model() as outer:
        pm.Normal("mu", 0, 1)
        with pm.Model("inner") as inner:
            pm.Normal("x", outer["mu"], 1)
    around, within = way([outer, inner])
    assert within.parent is around and around["inner::x"] is within["x"]
    with within:
        late = pm.Normal("late", 0, 1)
    assert around["inner::late"] is late and any(rv is late for rv in around.free_RVs)


@each_way
def test_functions_results_and_traces(way):
    model = groups()
    compiled, point = model.compile_logp(), model.initial_point()
    value = compiled(point)
    assert way(compiled)(point) == value
    several = pm.function([], {"a": [tt.constant(1.0), (tt.constant(2.0),)]})
    assert way(several)() == several()
    result = pm.sample(model=model, **FEW)
    assert way(result).posterior.equals(result.posterior)
    trace = pm.sample(model=model, return_inferencedata=False, **FEW)
    assert np.array_equal(way(trace)["mu"], trace["mu"])


@each_way
def test_step_methods_stay_with_their_model(way):
    with groups() as model:
        step = pm.Metropolis([model["mu"]])
    copy, copied = way((model, step))
    assert copied.vars[0] is copy.rvs_to_values[copy["mu"]]


def test_a_pickle_is_read_in_another_process(tmp_path):
    """Hashes of texts differ from process to process; nothing that is loaded may hold an old one."""
    file = tmp_path / "model.pickle"
    model = groups()
    file.write_bytes(pickle.dumps((model, pm.explain(model))))
    code = f"""
import pickle
model, plan = pickle.load(open({str(file)!r}, "rb"))
import ppl as pm
assert model["mu"] in model.rvs_to_values and plan.free == pm.explain(model).free
print(repr(float(model.compile_logp()(model.initial_point()))))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert float(done.stdout) == model.compile_logp()(model.initial_point())


def test_functions_of_a_user_are_left_to_the_pickler():
    op = tt.from_jax(lambda x: 2 * x, name="twice")
    x = tt.dscalar("x")
    with pytest.raises(Exception, match="lambda"):
        pickle.dumps(op(x))
    y = through_cloudpickle([x, op(x)])
    assert float(y[1].eval({y[0]: 3.0})) == 6.0


def test_an_operation_that_is_not_known_is_named():
    data = pickle.dumps(tt.dscalar("x") + 1.0).replace(b"\x03add", b"\x03adx")
    with pytest.raises(LookupError, match="'adx', which this ppl does not know"):
        pickle.loads(data)
