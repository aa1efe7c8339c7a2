"""Loops and branches: values as a Python loop gives them, gradients as finite differences do."""

import numpy as np
import pytest
from op_structured import chain_matrix

import ppl
import ppl.tensor as tt
from ppl.tensor.core.vectorizing import vectorize
from ppl.tensor.linear_algebra.block_chains import chain_factor, chain_path, chain_solution, chain_substitution
from ppl.tensor.loops.recurrence import linear_recurrence, unfold

pytestmark = pytest.mark.usefixtures("module_compiled_quickly")

XS = np.array([0.3, -0.7, 1.1, 0.4, -0.2])
YS = np.array([1.0, 2.0, -1.0, 0.5, 0.25])


def slope(run, x, step=1e-6):
    """The gradient of a function of one array by differences."""
    found = np.zeros_like(x)
    for at in np.ndindex(x.shape):
        up, down = x.copy(), x.copy()
        up[at] += step
        down[at] -= step
        found[at] = (run(up) - run(down)) / (2 * step)
    return found


def same(result, inputs, wanted):
    """The values of a loop, and the gradients of their sum weighted by 1, 2, 3, ..., against those of plain Python."""
    values = list(inputs.values())
    answer = np.asarray(wanted(*values))
    weights = np.arange(1.0, answer.size + 1).reshape(answer.shape)
    run = ppl.function([*inputs], [result, *ppl.grad((weights * result).sum(), [*inputs])])
    value, *slopes = run(*values)
    np.testing.assert_allclose(value, answer, rtol=1e-12)
    for at, found in enumerate(slopes):
        cost = lambda v, at=at: np.sum(weights * wanted(*values[:at], v, *values[at + 1 :]))
        np.testing.assert_allclose(found, slope(cost, values[at]), rtol=1e-6, atol=1e-8)


@pytest.fixture(params=[(5,), (None,)], ids=["length known", "length unknown"])
def x(request):
    return tt.tensor("x", dtype="float64", shape=request.param)


def scanned(*args, **options):
    return ppl.scan(*args, **options, return_updates=False)


# --- Theano's scan
def test_accumulate(x):
    a = tt.dscalar("a")
    loop = scanned(lambda entry, before: a * before + tt.sin(entry), sequences=x, outputs_info=tt.constant(0.5))

    def wanted(xs, a):
        state, found = 0.5, []
        for entry in xs:
            state = a * state + np.sin(entry)
            found.append(state)
        return np.array(found)

    same(loop, {x: XS, a: np.array(0.8)}, wanted)


def test_go_backwards(x):
    loop = scanned(lambda entry, before: before * entry, sequences=x, outputs_info=1.0, go_backwards=True)
    same(loop, {x: XS}, lambda xs: np.cumprod(xs[::-1]))


def test_taps_of_sequences(x):
    loop = scanned(
        lambda before, now, after: before + 2 * now * after, sequences={"input": x, "taps": [-1, 0, 2]}
    )  # the steps at which all taps exist
    same(loop, {x: XS}, lambda xs: np.array([xs[t - 1] + 2 * xs[t] * xs[t + 2] for t in range(1, len(xs) - 2)]))


def test_taps_of_outputs_come_in_their_own_order(x):
    """Theano's regression: taps [-3, -5] are the third and the fifth value back, in this order."""
    starts = tt.dvector("starts")
    loop = scanned(
        lambda entry, third, fifth: entry + 2 * third * fifth,
        sequences=x, outputs_info={"initial": starts, "taps": [-3, -5]},
    )  # fmt: skip

    def wanted(xs, starts):
        path = list(starts)
        for entry in xs:
            path.append(entry + 2 * path[-3] * path[-5])
        return np.array(path[5:])

    same(loop, {x: XS, starts: YS}, wanted)


def test_several_outputs_and_sequences(x):
    y = tt.dvector("y")
    products, total = scanned(lambda a, b, before: (a * b, before + a), sequences=[x, y], outputs_info=[None, 0.0])
    same(products + 3 * total, {x: XS, y: YS}, lambda xs, ys: xs * ys + 3 * np.cumsum(xs))


def test_states_of_several_axes(x):
    matrix = tt.tensor("A", dtype="float64", shape=(2, 2))
    loop = scanned(
        lambda entry, state, m: m @ state * entry, sequences=x, outputs_info=tt.ones(2), non_sequences=matrix
    )

    def wanted(xs, m):
        state, found = np.ones(2), []
        for entry in xs:
            state = m @ state * entry
            found.append(state)
        return np.array(found)

    same(loop, {x: XS, matrix: np.array([[0.3, 1.0], [-0.5, 0.8]])}, wanted)


def test_until_takes_as_many_rows_as_steps(x):
    loop = scanned(lambda entry, before: (before + entry**2, tt.until(before + entry > 0.6)), x, 0.0)
    slope = ppl.grad((loop * loop.shape[0]).sum(), x)
    f = ppl.function([x], [loop, loop.sum(), loop.shape[0], loop[-1], slope])
    for values in (np.array([0.5, 0.3, 9.0, 9.0, 9.0]), np.array([0.9, 0.3, 9.0, 9.0, 9.0]), np.zeros(5)):
        sums = np.cumsum(values**2)
        stop = np.flatnonzero(np.concatenate([[0.0], sums[:-1]]) + values > 0.6)
        n = stop[0] + 1 if stop.size else 5
        rows, total, count, last, found = f(values)
        np.testing.assert_allclose(rows, sums[:n])
        assert total == pytest.approx(sums[:n].sum()) and count == n and last == pytest.approx(sums[n - 1])
        wanted = np.where(np.arange(5) < n, n * (n - np.arange(5)) * 2 * values, 0.0)
        np.testing.assert_allclose(found, wanted)


def test_steps_without_sequences():
    a = tt.dvector("a")
    powers = scanned(lambda before, base: before * base, outputs_info=tt.ones_like(a), non_sequences=a, n_steps=3)
    same(powers, {a: XS}, lambda a: np.array([a, a**2, a**3]))


def test_scan_in_scan(x):
    """The sum over i ≤ t of x_t x_i, by a loop in a loop."""
    loop = scanned(lambda t: scanned(lambda entry, s: s + entry * t, x, 0.0)[-1], x)
    same(loop, {x: XS}, lambda xs: xs * xs.sum())


def test_the_gradient_inside_a_loop(x):
    loop = scanned(lambda entry: ppl.grad(tt.sin(entry) * entry, entry), x)
    same(loop, {x: XS}, lambda xs: np.cos(xs) * xs + np.sin(xs))


def test_the_gradient_of_the_gradient_of_a_loop(x):
    total = scanned(lambda entry, s: s * tt.exp(entry), x, 1.0)[-1]
    second = ppl.grad((ppl.grad(total, x) * tt.arange(5.0)).sum(), x)
    np.testing.assert_allclose(second.eval({x: XS}), np.full(5, np.exp(XS.sum()) * 10), rtol=1e-12)


def test_updates_of_variables():
    count = ppl.shared(0, "count")
    values, updates = ppl.scan(lambda: (count + 1, {count: count + 2}), n_steps=3)
    f = ppl.function([], values, updates=updates)
    assert f().tolist() == [1, 3, 5] and count.get_value() == 6
    assert f().tolist() == [7, 9, 11]


def test_an_empty_sequence():
    x = tt.dvector("x")
    assert scanned(lambda e, s: s + e, x, 0.0).eval({x: np.zeros(0)}).shape == (0,)


# --- JAX's form
def test_carry_form(x):
    last, path = ppl.scan(lambda carry, entry: (carry + entry, carry * entry), 0.0, [x])
    same(last, {x: XS}, np.sum)
    same(path, {x: XS}, lambda xs: (np.cumsum(xs) - xs) * xs)


def test_carry_form_in_reverse(x):
    _, path = ppl.scan(lambda carry, entry: (carry + entry, carry), init=0.0, sequences=[x], reverse=True)
    same(path, {x: XS}, lambda xs: xs.sum() - np.cumsum(xs))


# --- map, reduce, fold
def test_map_and_folds(x):
    same(tt.map(lambda entry: entry**2, x), {x: XS}, np.square)
    squares, updates = ppl.map(lambda entry: entry**2, x)  # Theano's form
    same(squares, {x: XS}, np.square)
    assert not updates
    total, _ = ppl.reduce(lambda entry, before: before + entry**2, x, 0.0)
    same(total, {x: XS}, lambda xs: np.sum(xs**2))
    left, _ = ppl.foldl(lambda entry, before: before / 2 + entry, x, 0.0)
    right, _ = ppl.foldr(lambda entry, before: before / 2 + entry, x, 0.0)
    halves = 0.5 ** np.arange(5)
    same(left, {x: XS}, lambda xs: np.sum(halves[::-1] * xs))
    same(right, {x: XS}, lambda xs: np.sum(halves * xs))


# --- while and for
def test_while_loop():
    x = tt.dscalar("x")
    doubled, steps = ppl.while_loop(lambda state: state[0] < 100, lambda state: (state[0] * 2, state[1] + 1), (x, 0))
    assert [v.tolist() for v in ppl.function([x], [doubled, steps])(3.0)] == [192.0, 6]


def test_while_loop_has_no_gradient_backwards():
    x = tt.dscalar("x")
    with pytest.raises(ValueError, match=r"[Rr]everse-mode differentiation"):
        ppl.grad(ppl.while_loop(lambda s: s < 100, lambda s: s * 2, x), x).eval({x: 3.0})


def test_while_loop_forwards():
    x = tt.dscalar("x")
    assert ppl.Rop(ppl.while_loop(lambda s: s < 100, lambda s: s * 2, x), x, 1.0).eval({x: 3.0}) == 64


def test_fori_loop():
    x = tt.dscalar("x")
    loop = ppl.fori_loop(0, 4, lambda i, s: s * x + i, tt.constant(1.0))
    same(loop, {x: np.array(0.7)}, lambda x: x**4 + x**2 + 2 * x + 3)


# --- branches
@pytest.mark.parametrize("value", [2.0, -3.0])
def test_branches(value):
    x = tt.dscalar("x")
    chosen = ppl.ifelse(x > 0, x**3, tt.sin(x))
    same(chosen, {x: np.array(value)}, lambda x: x**3 if x > 0 else np.sin(x))
    both = ppl.ifelse(x > 0, [x, x * 2], [x * 3, x * 4])
    assert [v.tolist() for v in tt.get(both, {x: value})] == ([2.0, 4.0] if value > 0 else [-9.0, -12.0])
    of_cond = ppl.cond(x > 0, lambda a: a * 2, lambda a: a * x, [x], [x])
    same(of_cond, {x: np.array(value)}, lambda x: x * 2 if x > 0 else x * x)


def test_only_the_chosen_branch_is_computed():
    x = tt.dscalar("x")
    never = tt.Assert("computed")(x, x < 0)
    assert ppl.ifelse(x > 0, x, never).eval({x: 1.0}) == 1
    assert tt.switch(x > 0, tt.log(x), 0.0).eval({x: 2.0}) == np.log(2)


def test_the_gradient_of_a_masked_switch_is_finite():
    """Theano's regression: 0 times an infinite slope is nan unless the mask reaches the argument."""
    x = tt.dvector("x")
    safe = tt.switch(x > 0, x, 1.0)
    g = ppl.grad(tt.switch(x > 0, tt.log(safe), 0.0).sum(), x)
    np.testing.assert_array_equal(g.eval({x: [2.0, 0.0, -1.0]}), [0.5, 0, 0])


# --- recurrences and batches
def test_recurrences():
    start, weights, shocks = tt.dvector("start"), tt.dmatrix("weights"), tt.dvector("shocks")

    def wanted(start, weights, shocks):
        path = list(start)
        for w, u in zip(np.broadcast_to(weights, (len(shocks), 2)), shocks, strict=True):
            path.append(w[0] * path[-1] + w[1] * path[-2] + u)
        return np.array(path)

    same(
        linear_recurrence(start, weights, shocks), {start: XS[:2], weights: np.array([[0.5, -0.3]]), shocks: YS}, wanted
    )
    a = tt.dscalar("a")
    path = unfold(lambda s, u: tt.tanh(s * a) + u, a, shocks)

    def unrolled(a, shocks):
        path = [a]
        for u in shocks:
            path.append(np.tanh(path[-1] * a) + u)
        return np.array(path)

    same(path, {a: np.array(0.7), shocks: YS}, unrolled)


@pytest.mark.parametrize("k", [2, 5, 13])
def test_the_slopes_of_a_chain_are_those_of_the_whole_matrix(k):
    """The log-determinant of s A + B, A and B block tridiagonal, and how it changes with s."""
    rng = np.random.default_rng(k)
    blocks = rng.normal(size=(2, 4, k, k))
    diagonal, below = blocks[0] @ blocks[0].swapaxes(-1, -2) + 5 * k * np.eye(k), 0.3 * blocks[1]
    below[0] = 0
    s = tt.dscalar("s")
    lower, _ = chain_factor(s * diagonal + np.eye(k), s * below)
    log_det = 2 * tt.log(tt.diagonal(lower, axis1=1, axis2=2)).sum()
    value, slope = ppl.function([s], [log_det, ppl.grad(log_det, s)])(1.5)
    matrix = chain_matrix(diagonal, below)
    matrix = np.tril(matrix) + np.tril(matrix, -1).T
    whole = 1.5 * matrix + np.eye(len(matrix))
    np.testing.assert_allclose(value, np.linalg.slogdet(whole)[1], rtol=1e-12)
    np.testing.assert_allclose(slope, np.trace(np.linalg.solve(whole, matrix)), rtol=1e-12)


@pytest.mark.parametrize("k", [1, 2, 5, 13])
def test_the_slopes_of_a_solution_along_a_chain_are_those_of_the_whole_matrix(k):
    """Numbers that depend on log|M| and on M⁻¹H, M = s A + 1 and H = s² B, and how they change with s."""
    rng = np.random.default_rng(k)
    blocks, right = rng.normal(size=(2, 4, k, k)), rng.normal(size=(4, k, 3))
    diagonal, below = blocks[0] @ blocks[0].swapaxes(-1, -2) + 5 * k * np.eye(k), 0.3 * blocks[1]
    below[0] = 0
    s = tt.dscalar("s")
    x, log_det = chain_solution(s * diagonal + np.eye(k), s * below, s**2 * right)
    squares = (x**2).sum()
    slopes = [ppl.grad(log_det, s), ppl.grad(squares, s), ppl.grad(ppl.grad(log_det, s), s)]
    found = ppl.function([s], [log_det, squares, *slopes])(1.5)
    matrix = chain_matrix(diagonal, below)
    matrix = np.tril(matrix) + np.tril(matrix, -1).T
    inverse = np.linalg.inv(1.5 * matrix + np.eye(len(matrix)))
    flat, turned = right.reshape(len(matrix), 3), inverse @ matrix
    wanted = 1.5**2 * inverse @ flat
    moved = 3.0 * inverse @ flat - turned @ wanted
    log_det = -np.linalg.slogdet(inverse)[1]
    squares = (wanted**2).sum(), 2 * (wanted * moved).sum()
    np.testing.assert_allclose(
        found, [log_det, squares[0], np.trace(turned), squares[1], -np.trace(turned @ turned)], rtol=1e-10
    )


def test_a_solution_along_a_chain_that_is_still_has_no_slopes_and_no_second_ones():
    s, blocks = tt.dscalar("s"), np.broadcast_to(np.eye(2), (4, 2, 2))
    x, log_det = chain_solution(s * blocks, 0.0 * blocks, np.ones((4, 2, 1)), still=True)
    assert ppl.function([s], ppl.grad(x.sum(), s))(2.0) == 0.0
    np.testing.assert_allclose(ppl.function([s], ppl.grad(log_det * x.sum(), s))(2.0), 8 / 2.0 * 8 / 2.0)
    with pytest.raises(NotImplementedError, match="second derivatives"):
        ppl.function([s], ppl.grad(ppl.grad(x.sum(), s), s))(2.0)


def test_blocks_of_a_chain_must_fit():
    with pytest.raises(ValueError, match=r"chain_factor.*\(4, 2, 2\) and \(4, 2, 3\)"):
        chain_factor(np.ones((4, 2, 2)), np.ones((4, 2, 3)))
    with pytest.raises(ValueError, match=r"chain_substitution.*\(4, 2, 2\), \(4, 2, 2\) and \(4, 3\)"):
        chain_substitution(np.ones((4, 2, 2)), np.ones((4, 2, 2)), np.ones((4, 3)))
    with pytest.raises(ValueError, match=r"chain_solution.*\(4, 2, 2\), \(4, 2, 2\) and \(4, 2\)"):
        chain_solution(np.ones((4, 2, 2)), np.ones((4, 2, 2)), np.ones((4, 2)))
    with pytest.raises(ValueError, match=r"chain_path.*\(4, 2, 1\), got \(4, 2, 3\)"):
        chain_path(np.ones((4, 2, 2)), np.ones((4, 2, 2)), np.ones((4, 2, 1)), np.ones((4, 2, 3)))


def test_batches():
    x, y, xs = tt.dvector("x"), tt.dscalar("y"), tt.dmatrix("xs")
    norms = ppl.vectorize_graph((x**2).sum() * y, {x: xs})
    same(norms, {xs: np.stack([XS, YS]), y: np.array(2.0)}, lambda xs, y: y * (xs**2).sum(-1))
    first = vectorize(lambda v, m: m @ v, "(n),(m,n)->(m)")
    stack, matrices = tt.tensor3("s"), tt.tensor("m", dtype="float64", shape=(2, 3, 5))
    assert first(stack, matrices).eval({stack: np.ones((4, 2, 5)), matrices: np.ones((2, 3, 5))}).shape == (4, 2, 3)
    along = tt.apply_along_axis(lambda v: tt.cumsum(v), 0, xs)
    same(along, {xs: np.stack([XS, YS])}, lambda xs: np.cumsum(xs, 0))


def test_loops_are_seen_from_outside():
    """What is substituted outside a loop reaches what the loop captures."""
    x, a, b = tt.dvector("x"), tt.dscalar("a"), tt.dscalar("b")
    loop = scanned(lambda entry, s: s + a * entry, x, 0.0)
    moved = ppl.clone_replace(loop, {a: tt.exp(b)})
    same(moved, {x: XS, b: np.array(0.3)}, lambda xs, b: np.exp(b) * np.cumsum(xs))


def test_a_draw_made_by_a_step_is_made_for_each_step_or_refused():
    """Computed outside, it would be one and the same in every step."""
    start, stream = tt.zeros(()), ppl.tensor.random.RandomStream(1)
    step = lambda x: x + stream.normal()
    with pytest.raises(ValueError, match=r"drawn inside the step of a loop.*pass them in as a sequence"):
        ppl.scan(step, outputs_info=[start], n_steps=3)
    with pytest.raises(ValueError, match="drawn inside the step"):
        ppl.foldl(lambda e, x: e + step(x), sequences=tt.zeros(3), outputs_info=[start])
    own = lambda x: x + ppl.Normal.dist(0, 1)
    folded, _ = ppl.foldl(lambda e, x: e + own(x), sequences=tt.zeros(1000), outputs_info=[start])
    assert abs(ppl.draw(folded, random_seed=1)) < 200  # one draw a thousand times would be far out
    steps = ppl.Normal.dist(0, 1, shape=3)
    walk = ppl.scan(lambda e, x: x + e, sequences=steps, outputs_info=[start], return_updates=False)
    before = ppl.Normal.dist(0, 1)  # one draw for all steps, as it is written
    ramp = ppl.scan(lambda x: x + before, outputs_info=[start], n_steps=3, return_updates=False)
    walked, ramped = ppl.draw([walk, ramp], random_seed=1)
    assert len(set(np.round(np.diff(walked), 9))) == 2 and np.allclose(np.diff(ramped), ramped[0])


def test_a_strict_loop_may_use_parts_of_what_it_is_given():
    rho = tt.dvector("rho")
    step = lambda x, rho: x * rho[0]
    out = ppl.scan(step, outputs_info=[tt.ones(())], non_sequences=[rho], n_steps=2, strict=True, return_updates=False)
    assert out.eval({rho: [3.0]}).tolist() == [3.0, 9.0]
    other = tt.dscalar("other")
    with pytest.raises(ValueError, match=r"the step uses .*other"):
        ppl.scan(lambda x, rho: x * other, outputs_info=[tt.ones(())], non_sequences=[rho], n_steps=2, strict=True)


def test_taps_may_be_a_range():
    out = ppl.scan(lambda a, b: a + b, outputs_info={"initial": tt.ones(2), "taps": range(-2, 0)}, n_steps=3,
                   return_updates=False)  # fmt: skip
    assert out.eval().tolist() == [2.0, 3.0, 5.0]
