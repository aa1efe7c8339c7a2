"""Loops, branches and derivatives under rewriting: what leaves them, what happens inside, and loops that become one."""

from __future__ import annotations

import numpy as np
import pytest
from rule_cases import everywhere

import ppl
import ppl.tensor as tt
from ppl.graph import ancestors, bodies
from ppl.rewrites import assume, optimize, simplify, strict, text
from ppl.tensor.core.elementwise import exp, log


@pytest.fixture(autouse=True)
def _strict(monkeypatch):
    monkeypatch.setattr(strict, "on", True)


def test_bodies_are_in_lower_terms_again():
    """A product of powers as it stands in the normal form, x² y^-2, overflows where (x/y)² does not."""
    x, y = tt.dscalars("x", "y")
    v = tt.dvector("v")
    square = (x / y) ** 2
    loop = ppl.scan(lambda e, s: s + (e / y) ** 2, v, tt.as_tensor(0.0), return_updates=False)
    repeated = tt.while_loop(lambda s: s < 1, lambda s: s + (x / y) ** 2, 0.0)
    outputs = [tt.grad(square, x), loop, repeated, tt.ifelse(x > 0, square, y), tt.jacobian(v * square, v)[0, 0]]
    found = ppl.function([x, y, v], outputs)(1e200, 1e200, np.array([1e200]))
    assert [float(np.squeeze(each)) for each in found] == [2e-200, 1.0, 1.0, 1.0, 1.0]
    assert not {"sum_of", "product_of"} & {node.op.name for out in optimize(outputs) for node in everywhere(out)}


def steps_of(result):
    """The operations in the first body of a loop."""
    (loop,) = [node for node in ancestors(simplify(result)) if node.op.name in ("scan_op", "while_op")]
    return [[node.op.name for node in ancestors(body.outputs) if node.inputs] for body in bodies(loop)]


def test_work_that_is_the_same_in_every_step_is_done_before_the_loop():
    v, b = tt.dvector("v"), tt.dscalar("b")
    a = assume(tt.dscalar("a"), positive=True)
    step = lambda e, s: 0.5 * s + log(a * exp(e)) + tt.sin(b) - 3 * b
    loop = ppl.scan(step, v, tt.as_tensor(0.0), return_updates=False)
    assert sorted(steps_of(loop)[0]) == ["add", "add", "multiply"]
    assert simplify(simplify(loop)) is simplify(loop)
    given = {v: np.arange(3.0), b: 0.7, a.inputs[0]: 1.3}
    plain, new = (ppl.function(list(given), loop, mode=m)(*given.values()) for m in ("FAST_COMPILE", "FAST_RUN"))
    np.testing.assert_allclose(new, plain, rtol=1e-14)
    repeated = tt.while_loop(lambda s: s < b * log(a * exp(b)), lambda s: s + log(a * exp(b + s)), 0.1)
    assert [sorted(each) for each in steps_of(repeated)] == [
        ["less"],
        ["add", "multiply"],
    ]
    nested = ppl.scan(
        lambda e: ppl.scan(step, v * e, tt.as_tensor(0.0), return_updates=False).sum(), v, return_updates=False
    )
    assert not {"log", "sin"} & set(steps_of(nested)[0])


def test_a_loop_that_no_step_changes_is_run_once():
    """That the inner loop needs nothing of the outer one shows when 0·e is gone."""
    v, w, a = tt.dvector("v"), tt.dvector("w"), tt.dscalar("a")

    def step(e, s):
        inner = ppl.scan(lambda x, t: t + x * log(0 * e + 1 + exp(a)), w, tt.as_tensor(0.0), return_updates=False)
        return 0.5 * s + inner[-1] + e

    outer = simplify(ppl.scan(step, v, tt.as_tensor(0.0), return_updates=False), unsafe=True)
    insides = [{node.op.name for node in ancestors(body.outputs)} for x in ancestors(outer) for body in bodies(x)]
    assert len(insides) == 2 and not any("scan_op" in names for names in insides)


def test_what_a_loop_prints_stays_in_it(capfd):
    v, b = tt.dvector("v"), tt.dscalar("b")
    show = ppl.printing.Print("b")
    looked_at = lambda e, s: s + show(tt.switch(e > -1, 2 * b, 2 * b) + 0 * b)
    f = ppl.function([v, b], ppl.scan(looked_at, v, tt.as_tensor(0.0), return_updates=False))
    assert f(np.ones(3), 1.0)[-1] == 6.0


# --- work that no state touches
def loops_in(outputs):
    """The loops of a rewritten graph."""
    return [node for node in ancestors(optimize(outputs)) if node.op.name == "scan_op"]


def operations(loop):
    return sorted(node.op.name for node in ancestors(loop.attrs["body"].outputs) if node.inputs)


def agrees(outputs, given, rtol=1e-12):
    """Compiled as they stand and rewritten, with their gradients, the outputs are the same."""
    slopes = ppl.grad(sum(tt.sum(out * out) for out in outputs), list(given), disconnected_inputs="ignore")
    plain, new = (
        ppl.function(list(given), [*outputs, *slopes], mode=mode)(*given.values())
        for mode in ("FAST_COMPILE", "FAST_RUN")
    )
    for before, after in zip(plain, new, strict=True):
        np.testing.assert_allclose(after, before, rtol=rtol, atol=1e-14)


def scanned(*arguments, **options):
    return ppl.scan(*arguments, **options, return_updates=False)


V, W, ROWS = (tt.tensor(name, "float64", shape) for name, shape in [("v", (5,)), ("W", (3, 4)), ("E", (5, 4))])
U, H = tt.dvector("u"), tt.tensor("h", "float64", (3,))
GIVEN = {
    x: np.random.default_rng(i).normal(size=[n or 5 for n in x.type.shape]) for i, x in enumerate([V, W, ROWS, U, H])
}


def test_a_loop_without_states_is_no_loop():
    assert text(simplify(scanned(lambda e: exp(e) + 1, U))) == "exp(u) + 1"
    squares = scanned(lambda e: tt.sum((W @ e) ** 2), ROWS)
    assert not loops_in([squares])
    agrees([squares], {ROWS: GIVEN[ROWS], W: GIVEN[W]})


def test_products_with_entries_of_a_sequence_are_one_stack_of_products():
    states = scanned(lambda e, h: tt.tanh(W @ e + 0.5 * h), ROWS, H)
    (loop,) = loops_in([states])
    assert "matmul" not in operations(loop) and len(loop.attrs["body"].params) == 2
    agrees([states], {x: GIVEN[x] for x in (ROWS, W, H)})


@pytest.mark.parametrize("x", [V, U], ids=["length known", "length unknown"])
def test_functions_of_a_sequence_leave_the_loop(x):
    step = lambda e, later, s: 0.5 * s + tt.sin(e) * later
    states = [
        scanned(step, [x, x[::-1]], tt.as_tensor(0.1)),
        scanned(step, [x, x + 1], tt.as_tensor(0.1), go_backwards=True),
        scanned(lambda e, s: (s + tt.sin(e), tt.until(s > 0.5)), x, tt.as_tensor(0.0)),
        ppl.scan(lambda s, e: (s * tt.cos(e), (s, exp(e))), tt.as_tensor(1.0), x, reverse=True)[1][1],
    ]
    assert not {"sin", "cos", "exp"} & {name for loop in loops_in(states) for name in operations(loop)}
    assert simplify(simplify(states[0])) is simplify(states[0])
    agrees(states, {x: GIVEN[x]})


def test_draws_effects_and_inner_loops_stay(capfd):
    show = ppl.printing.Print("e")
    seen = scanned(lambda e, s: s + show(e), V, tt.as_tensor(0.0))
    inner = scanned(lambda e, s: s + scanned(lambda t: t * e, outputs_info=tt.as_tensor(1.0), n_steps=3)[-1], V,
                    tt.as_tensor(0.0))  # fmt: skip
    assert "print_value" in operations(loops_in([seen])[0])
    assert len([loop for loop in loops_in([inner]) if "scan_op" in operations(loop)]) == 1
    agrees([inner], {V: GIVEN[V]})


def test_too_large_to_be_kept_for_all_steps_stays():
    long, tall = tt.tensor("long", "float64", (100_000,)), tt.tensor("tall", "float64", (2_000,))
    sums = scanned(lambda e, s: s + tt.sum(exp(e * tall)), long, tt.as_tensor(0.0))
    (loop,) = loops_in([sums])
    assert "exp" in operations(loop)


# --- rows that nobody asks for, and loops side by side
def test_the_last_row_is_the_last_state():
    last = scanned(lambda e, s: 0.5 * s + e, V, tt.as_tensor(0.0))[-1]
    assert text(optimize([last])[0]).endswith(".0")
    first = scanned(lambda e, s: 0.5 * s + e, V, tt.as_tensor(0.0))[0]
    assert "[0]" in text(optimize([first])[0])
    back = ppl.scan(lambda s, e: (s + e, s + e), H, ROWS[:, :3], reverse=True)[1][0, 1:]
    assert text(optimize([back])[0]).endswith(".0[1:]")
    agrees([last, first, back], {x: GIVEN[x] for x in (V, ROWS, H)})


@pytest.mark.parametrize("x", [V, U], ids=["length known", "length unknown"])
def test_loops_of_one_length_are_one_loop(x):
    one = scanned(lambda e, s: 0.5 * s + e, x, tt.as_tensor(0.0))
    two = scanned(lambda e, s, t: [tt.tanh(s * e), t - s], x, [tt.as_tensor(1.0), tt.as_tensor(2.0)])
    back = scanned(lambda e, s: 0.5 * s + e, x, tt.as_tensor(0.0), go_backwards=True)
    after = scanned(lambda e, s: s * tt.tanh(e + s), one, tt.as_tensor(1.0))
    backwards = ppl.scan(lambda s, e: (s + e, s), tt.as_tensor(0.0), x, reverse=True)[1]
    turned = scanned(lambda e, s: 0.5 * s + tt.sin(e), tt.cos(x), tt.as_tensor(0.0))
    outputs = [one, *two, turned, back, after, backwards]
    assert len(loops_in([one, *two, turned])) == 1
    assert len(loops_in(outputs)) == (3 if x is V else 4)  # one of what `one` gives, one the other way
    agrees(outputs, {x: GIVEN[x]})


def test_loops_of_other_lengths_stay_apart():
    x, y = tt.dvectors("x", "y")
    loops = [scanned(lambda e, s: 0.5 * s + e, z, tt.as_tensor(0.0)) for z in (x, y)]
    assert len(loops_in(loops)) == 2
    agrees(loops, {x: np.arange(3.0), y: np.arange(4.0)})
