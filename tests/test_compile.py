"""Compiled functions: inputs, outputs, updates, modes, caches; and what bad input is told."""

import os
import subprocess
import sys
import threading
import warnings
from collections import OrderedDict, namedtuple

import jax
import numpy as np
import pytest

import ppl
import ppl.tensor as tt
from ppl.compile import modes
from ppl.compile.closed import closed_program


# --- inputs and outputs
def test_dict_nested_and_named_outputs():
    x, y = tt.dscalars("x", "y")
    Pair = namedtuple("Pair", "a b")
    f = ppl.function([x, y], {"sum": x + y, "more": [x * y, (x - y,)], "pair": Pair(x, y)})
    out = f(5.0, y=2.0)
    assert (out["sum"], out["more"], out["pair"]) == (7.0, [10.0, (3.0,)], Pair(5.0, 2.0))
    assert ppl.function([x], [x])(1.0) == [1.0]
    assert ppl.function([], [])() == []


def test_defaults_names_and_keywords():
    x, y = tt.dscalars("x", "y")
    f = ppl.function([x, ppl.In(y, value=10.0, name="step")], x + y)
    assert (f(1.0), f(1.0, 2.0), f(step=3.0, x=1.0)) == (11.0, 3.0, 4.0)
    assert f["step"] == 10.0
    f["step"] = 20.0
    assert f(1.0) == 21.0


def test_an_input_with_an_update_remembers():
    x, step = tt.dscalars("x", "step")
    count = ppl.function([step, ppl.In(x, value=0.0, update=x + step)], x)
    assert [float(count(1.0)), float(count(2.0)), float(count(1.0)), float(count(0.0, 100.0)), float(count(0.0))] == [
        0.0, 1.0, 3.0, 100.0, 100.0,
    ]  # fmt: skip


def test_both_forms_of_the_call():
    x = tt.dscalar("x")
    s = tt.shared(0.0, "s")
    for f in (
        ppl.function([x], x + s, None, {s: s + 1}),
        ppl.function(x, outputs=x + s, updates=[(s, s + 1)]),
        ppl.function(inputs=[x], outputs=x + s, updates=OrderedDict([(s, s + 1)])),
    ):
        s.set_value(0.0)
        assert (f(1.0), f(1.0)) == (1.0, 2.0)
    with pytest.raises(TypeError, match="got two values for outputs"):
        ppl.function([x], x, outputs=x)


def test_any_tensor_may_be_an_input():
    x = tt.dscalar("x")
    y = tt.exp(x)
    w = tt.Variable(3.0, "w")
    assert ppl.function(y, outputs=y + 1)(2.0) == 3.0
    assert ppl.function([w], w * 2)(5.0) == 10.0 and w.value == 3.0


def test_results_as_jax_arrays():
    x = tt.dvector("x")
    f = ppl.function([x], x * 2)
    assert isinstance(f(np.ones(2)), np.ndarray)
    device = f(np.ones(2), device_get=False)
    assert isinstance(device, jax.Array) and device.dtype == np.float64
    assert isinstance(f(device), np.ndarray)


# --- updates
def test_all_updates_see_the_old_values():
    a, b = tt.shared(1.0, "a"), tt.shared(2.0, "b")
    swap = ppl.function([], [], updates={a: b, b: a})
    swap()
    assert (a.get_value(), b.get_value()) == (2.0, 1.0)


def test_default_updates_are_collected_and_can_be_left_out():
    s = tt.shared(0, "s")
    s.default_update = s + 1
    assert (ppl.function([], s)(), s.get_value()) == (0, 1)
    ppl.function([], s, no_default_updates=True)()
    ppl.function([], s, no_default_updates=[s])()
    assert s.get_value() == 1
    ppl.function([], s, updates={s: s + 10})()
    assert s.get_value() == 11


def test_threads_lose_no_update():
    s = tt.shared(0, "s")
    add = ppl.function([], [], updates={s: s + 1})
    add()
    threads = [threading.Thread(target=lambda: [add() for _ in range(200)]) for _ in range(4)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert s.get_value() == 801


def test_a_variable_takes_numbers_that_its_dtype_has():
    seen = ppl.shared(np.array([True, False]), shape=(None,))
    seen.set_value([0, 1, 1])
    assert seen.get_value().dtype == bool and seen.get_value().tolist() == [False, True, True]
    count = ppl.shared(3)
    count.set_value(4.0)
    assert count.get_value() == 4 and count.get_value().dtype == np.int64
    for variable, value in ((seen, [2, 0]), (count, 4.5), (count, np.nan)):
        with pytest.raises(TypeError, match=r"convert it with \.astype"):
            variable.set_value(value)


def test_a_variable_keeps_its_own_array_and_shares_a_borrowed_one():
    x = tt.dvector("x")
    own, lent = np.ones(2), np.ones(2)
    a, b = tt.shared(own, "a"), tt.shared(lent, "b", borrow=True)
    f = ppl.function([x], x + a + 10 * b)
    own[:], lent[:] = 5.0, 2.0
    assert f(np.zeros(2)).tolist() == [21.0, 21.0]
    lent[:] = 3.0
    assert f(np.zeros(2)).tolist() == [31.0, 31.0]
    with pytest.raises(ValueError, match="read-only"):  # a change that no function would see
        a.get_value(borrow=True)[:] = 7.0
    a.set_value([1.0, 2.0])
    assert f(np.zeros(2)).tolist() == [31.0, 32.0] and a.get_value().tolist() == [1.0, 2.0]


def test_calls_within_transformations_of_jax():
    x = tt.dvector("x")
    s = tt.shared(np.ones(2), "s")
    read, step = ppl.function([x], x + s), ppl.function([x], x + s, updates={s: s + x}, name="step")
    with jax.enable_x64(True):
        twice = jax.vmap(lambda v: 2 * read(v, device_get=False))(np.ones((3, 2)))
        assert twice.tolist() == [[4.0, 4.0]] * 3
        for transformed in (jax.jit, jax.vmap):
            with pytest.raises(
                TypeError, match=r'"step" changes Variable.* inside a transformation of JAX .* ppl\.to_jax'
            ):
                transformed(lambda v: step(v, device_get=False))(
                    np.ones((2, 2)) if transformed is jax.vmap else np.ones(2)
                )
    assert s.get_value().tolist() == [1.0, 1.0]


def test_calls_leave_the_precision_of_jax_as_it_was(single_precision):
    """Also where one call runs within another, in many threads, and where a call fails."""
    x = tt.dscalar("x")
    inner = ppl.function([x], x * (1 + 2.0**-40))
    seen: list[str] = []

    def outside(value):
        seen.append(str(inner(np.float64(value)).dtype))
        return np.float64(value)

    wrapped = ppl.from_jax(lambda v: jax.pure_callback(outside, jax.ShapeDtypeStruct((), np.float64), v))
    outer = ppl.function([x], wrapped(x) + 1.0)

    def work():
        for _ in range(20):
            assert outer(1.0) == 2.0 and inner(1.0) > 1.0
            with pytest.raises(TypeError):
                inner("no number")
            dtypes.add(str(jax.numpy.zeros(2).dtype))

    dtypes: set[str] = set()
    threads = [threading.Thread(target=work) for _ in range(4)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert dtypes == {"float32"} and set(seen) == {"float64"} and len(seen) >= 80


def test_copy_swaps_variables():
    x = tt.dscalar("x")
    s, t = tt.shared(1.0, "s"), tt.shared(100.0, "t")
    f = ppl.function([x], x + s, updates={s: s + x})
    g = f.copy(swap={s: t})
    assert (g(1.0), t.get_value(), s.get_value()) == (101.0, 101.0, 1.0)
    h = f.copy(delete_updates=True)
    assert (h(1.0), s.get_value()) == (2.0, 1.0)
    assert [v.name for v in f.get_shared()] == ["s"] and f[s] == 1.0
    with pytest.raises(ValueError, match=r"no variable Variable\(name=t.* to swap"):
        f.copy(swap={t: s})


def test_givens():
    x, y = tt.dscalars("x", "y")
    s = tt.shared(3.0, "s")
    assert ppl.function([y], x + 1, givens={x: y * 2})(5.0) == 11.0
    assert ppl.function([x], x * s, givens=[(s, x + 5)])(2.0) == 14.0
    with pytest.raises(TypeError, match=r"givens: .*float64\[\], and its replacement .*int64\[\]"):
        ppl.function([], x + 1, givens={x: tt.constant(2)})
    assert ppl.function([], x + 1, givens={x: tt.constant(2)}, rebuild_strict=False)() == 3.0


# --- modes
def test_modes():
    x = tt.dscalar("x")
    for mode in (None, "FAST_RUN", "FAST_COMPILE", "JAX", ppl.get_mode("FAST_RUN")):
        assert ppl.function([x], tt.exp(x), mode=mode)(0.0) == 1.0
    with pytest.raises(ValueError, match=r"there is no mode 'SLOW'\. Modes are FAST_RUN, JAX, FAST_COMPILE"):
        ppl.function([x], x, mode="SLOW")


def test_stages_run_in_modes_that_rewrite(monkeypatch):
    x = tt.dscalar("x")
    seen = []
    monkeypatch.setattr(modes, "STAGES", [lambda outputs: seen.append(len(outputs)) or outputs])
    ppl.function([x], x + 1, mode="FAST_COMPILE")
    assert not seen
    ppl.function([x], x + 1)
    assert seen == [1]


def test_nan_guard_names_the_first_bad_node():
    x = tt.dvector("x")
    s = tt.shared(0.0, "s")
    f = ppl.function([x], tt.exp(tt.log(x) * 2).sum(), mode="NanGuardMode", updates={s: s + 1}, name="guarded")
    assert f([1.0, 2.0]) == pytest.approx(5)
    with pytest.raises(FloatingPointError, match=r'function "guarded": the first .* Op\(fn=log, .*, of .*name=x'):
        f([1.0, -2.0])
    assert s.get_value() == 1.0
    only_nan = ppl.function([x], tt.log(x), mode=ppl.NanGuardMode(inf_is_error=False))
    assert only_nan([0.0])[0] == -np.inf
    with pytest.raises(FloatingPointError, match="an input or a variable is not finite"):
        f([np.nan, 1.0])


def test_profile_and_trust():
    x = tt.dvector("x")
    f = ppl.function([x], x.sum(), profile=True, trust_input=True)
    f(np.ones(2))
    f(np.ones(2))
    assert f.profile.calls == 2 and f.profile.seconds > 0 and "2 calls" in f.profile.summary()
    assert ppl.function([x], x).profile is None


# --- programs
def test_equal_graphs_share_a_program_whatever_their_names():
    def make(name):
        x = tt.dvector(name)
        return ppl.function([x], (tt.sin(x) * 1.2345).sum().copy(name))

    f, g = make("a"), make("b")
    f(np.ones(3))
    assert f.compilations == g.compilations == 1
    g(np.ones(3))
    assert f.compilations == 1


def test_new_data_of_the_same_shape_does_not_compile_again():
    def make(data):
        x = tt.dscalar("x")
        loss = ((data - x) ** 2).sum()
        return ppl.function([x], [loss, ppl.grad(loss, x), ppl.grad(ppl.grad(loss, x), x)])

    first, second = np.arange(3000.0), np.arange(3000.0) ** 0.5
    f, g = make(first), make(second)
    for h, data in ((f, first), (g, second)):
        np.testing.assert_allclose(h(2.0), [((data - 2) ** 2).sum(), -2 * (data - 2).sum(), 6000])
    assert f.compilations == 1


def test_a_compilation_for_each_size_is_counted():
    x = tt.dmatrix("x")
    f = ppl.function([x], (x * 0.98765).sum(0))
    for rows in (2, 3, 2):
        assert f(np.ones((rows, 2))).shape == (2,)
    assert f.compilations == 2


def test_programs_hold_no_graph_of_the_user():
    x = tt.dscalar("x")
    compiled, constants = closed_program([x], [tt.exp(x) * np.ones(2000)])
    assert x not in ppl.graph.ancestors(compiled.body.outputs)
    assert [c.shape for c in constants] == [(2000,)]


def test_the_disk_cache_is_private(tmp_path):
    place = tmp_path / "cache"
    code = (
        "import sys, ppl, ppl.tensor as tt\n"
        "print(ppl.enable_disk_cache(sys.argv[1]))\n"
        "x = tt.dvector('x'); print(ppl.function([x], tt.exp(x).sum())([0.0, 0.0]))"
    )
    run = subprocess.run([sys.executable, "-c", code, str(place)], capture_output=True, text=True, check=True)
    assert run.stdout.split() == [str(place), "2.0"]
    assert place.stat().st_mode & 0o777 == 0o700 and any(place.iterdir())
    place.chmod(0o777)
    with pytest.raises(PermissionError, match=r"others may write to .*chmod 700"):
        ppl.enable_disk_cache(place)


def test_import_changes_no_setting_and_starts_no_backend():
    code = (
        "import jax; before = dict(jax.config.values); import ppl\n"
        "from jax._src import xla_bridge\n"
        "assert dict(jax.config.values) == before\n"
        "assert not xla_bridge.backends_are_initialized()\n"
        "import sys; assert 'networkx' not in sys.modules and 'arviz' not in sys.modules"
    )
    environment = {**os.environ, "XLA_FLAGS": ""}
    subprocess.run([sys.executable, "-c", code], check=True, env=environment)


# --- values at once
def test_eval_takes_names_and_leaves_no_trace():
    x, y = tt.dscalars("x", "y")
    assert (x + y).eval({x: 1.0, "y": 2.0}) == 3.0
    with pytest.raises(KeyError, match=r"0 inputs of .* are called 'z'"):
        (x + y).eval({"z": 1.0})
    s = tt.shared(0, "s")
    s.default_update = s + 1
    assert (s * 2).eval() == 0 and s.get_value() == 0


def test_eval_draws_random_variables():
    x, y = ppl.Normal.dist(0, 1, shape=(2, 3)), ppl.Normal.dist(0, 1, shape=(2, 3))
    assert np.array_equal(x.eval(), x.eval()) and not np.array_equal(x.eval(), y.eval())
    assert len(set(x.eval().ravel())) == 6
    z = ppl.Normal.dist(x, 0.001)
    assert np.allclose(z.eval({x: np.full((2, 3), 50.0)}), 50, atol=0.01)


def test_get_works_out_values_from_anywhere():
    x = tt.dscalar("x")
    s = tt.shared(2.0, "s")
    y = tt.exp(x)
    assert (y * s).get({y: 5.0}) == 10.0
    assert ppl.compile.get({"a": [y * s, s]}, {"x": 0.0}) == {"a": [2.0, 2.0]}
    with pytest.raises(ValueError, match="no value for Input"):
        y.get()


# --- dtypes
def test_floatX_is_a_policy_not_a_jax_setting():
    before = jax.config.jax_enable_x64  # other tests import packages that turn it on
    with ppl.config.change_flags(floatX="float32"):
        x = tt.vector("x")
        f = ppl.function([x], x * 0.1)
        assert f([1.0, 2.0]).dtype == np.float32 and tt.constant(1.5).dtype == "float32"
    assert tt.vector().dtype == "float64" and jax.config.jax_enable_x64 is before
    with pytest.raises(ValueError, match="floatX is 'float64' or 'float32'"):
        ppl.config.floatX = "float16"


def test_what_is_cast_in_silence_and_what_is_not():
    x, i = tt.fscalar("x"), tt.bscalar("i")
    f, g = ppl.function([x], x), ppl.function([i], i)
    assert f(1.5).dtype == np.float32 and g(7).dtype == g(np.int64(7)).dtype == np.int8  # as in PyTensor
    for call, value in ((f, np.float64(1.5)), (g, 300), (g, np.int64(300)), (g, 1.5), (f, 1j)):
        with pytest.raises(TypeError, match=r"input 0 is Input\(name=.*allow_input_downcast=True"):
            call(value)
    assert ppl.function([x], x, allow_input_downcast=True)(np.float64(1.5)) == 1.5
    assert ppl.function([ppl.In(i, allow_downcast=True)], i)(np.int64(3)) == 3
    with pytest.raises(TypeError, match="allow_input_downcast"):
        ppl.function([x], x, allow_input_downcast=False)(1.5)
    with pytest.raises(TypeError, match="dtype int64"):
        ppl.function([ppl.In(x, strict=True)], x)(1)


# --- bad input
def bad_calls():
    x, y, v, m = tt.dscalar("x"), tt.dscalar("y"), tt.dvector("v"), tt.dmatrix("m")
    s = tt.shared(0.0, "s")
    f = ppl.function([x, y], x + y, name="f")
    three, four = tt.tensor("a", dtype="float64", shape=(3,)), tt.tensor("b", dtype="float64", shape=(4,))
    return {
        "shape mismatch": (lambda: three + four, ValueError, r"add: the shapes \(3,\) and \(4,\) .*=a.*=b"),
        "shape mismatch of matrices": (lambda: tt.ones((2, 3)) @ tt.ones((2, 3)), ValueError, "3 columns meet 2 rows"),
        "dtype mismatch": (lambda: f("a", 1.0), TypeError, 'function "f": input 0 is .*name=x.*no array of numbers'),
        "wrong number of axes": (lambda: f(np.ones(2), 1.0), ValueError, r"=x.*of shape \(\), got .*shape \(2,\)"),
        "ragged": (lambda: ppl.function([m], m)([[1.0], [1.0, 2.0]]), ValueError, "which is no array"),
        "a symbol as a value": (lambda: f(x, 1.0), TypeError, "got the symbol .*clone_replace"),
        "unknown input": (lambda: f(1.0, z=2.0), TypeError, 'function "f" has no input .z.; its inputs are x, y'),
        "input given twice": (lambda: f(1.0, x=2.0), TypeError, "two values for input 'x'"),
        "missing value": (lambda: f(1.0), TypeError, "needs a value for .*name=y"),
        "too many values": (lambda: f(1.0, 2.0, 3.0), TypeError, "takes 2 inputs, got 3"),
        "missing input": (lambda: ppl.function([x], x + y), ValueError, "the outputs need .*name=y.*givens"),
        "unused input": (lambda: ppl.function([x, y], x), ValueError, "nothing depends on: .*name=y.*'ignore'"),
        "input listed twice": (lambda: ppl.function([x, x], x), ValueError, "listed twice"),
        "no tensor as input": (lambda: ppl.function([3], x), TypeError, "inputs of a function are tensors, got 3"),
        "duplicate names": (
            lambda: ppl.function([x, tt.dscalar("x")], x, on_unused_input="ignore"), ValueError,
            "two inputs are called 'x'",
        ),
        "non-scalar cost": (lambda: ppl.grad(v, v), ValueError, "taken of a scalar, got .*name=v"),
        "disconnected gradient": (lambda: ppl.grad(x**2, y), ValueError, "does not depend on .*name=y"),
        "integer gradient": (lambda: ppl.grad(x, tt.lscalar("n")), TypeError, "name=n.*only floats vary"),
        "index out of range": (lambda: three[5], IndexError, "index 5 is out of range for axis 0 of .*=a.* 3"),
        "too many indices": (lambda: three[0, 0], IndexError, "2 indices for .*name=a"),
        "update of a wrong shape": (
            lambda: ppl.function([], [], updates={s: tt.zeros(3)}), ValueError, r"update of .*=s.* has shape \(3,\)",
        ),
        "update of a wrong dtype": (
            lambda: ppl.function([], [], updates={tt.shared(0, "n"): x + 0}, givens={x: 1.0}), TypeError,
            "update of .*name=n.* has dtype float64, the variable int64",
        ),
        "update of no variable": (lambda: ppl.function([x], [], updates={x: x}), TypeError, "only shared variables"),
        "two updates": (lambda: ppl.function([], [], updates=[(s, s), (s, s)]), ValueError, "two updates for"),
        "bad value for a variable": (lambda: s.set_value([1.0]), ValueError, r"name=s.* holds arrays of shape \(\)"),
        "bad dtype for a variable": (lambda: s.set_value(1j), TypeError, "name=s.* holds float64, got complex128"),
        "update without a value": (lambda: ppl.In(x, update=x + 1), ValueError, "an update needs value="),
        "mutable": (lambda: ppl.In(x, mutable=True), NotImplementedError, "mutable=True is not supported"),
        "inplace": (lambda: ppl.function([x], x, accept_inplace=True), NotImplementedError, "works in place"),
        "device": (lambda: ppl.function(x, outputs=x, device="gpu"), NotImplementedError, r"jax\.default_device"),
        "unknown option": (lambda: ppl.function([x], x, optimize=True), TypeError, "no argument 'optimize'"),
        "on_unused_input": (lambda: ppl.function([x], x, on_unused_input="no"), ValueError, "'raise', 'warn'"),
        "keys of outputs": (lambda: ppl.function([x], {1: x}), TypeError, "has strings as keys"),
        "truth": (lambda: bool(x > 0), TypeError, "Use switch"),
    }  # fmt: skip


@pytest.mark.parametrize("name", list(bad_calls()))
def test_bad_input_is_told_what_is_wrong(name):
    call, kind, message = bad_calls()[name]
    with pytest.raises(kind, match=message):
        call()


def test_unused_input_may_warn():
    x, y = tt.dscalars("x", "y")
    with pytest.warns(UserWarning, match="nothing depends on"):
        ppl.function([x, y], x, on_unused_input="warn")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert ppl.function([x, y], x, on_unused_input="ignore")(1.0, 2.0) == 1.0
