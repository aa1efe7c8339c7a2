"""Differential equations: what a value with its gradient costs and takes to compile, and a rival where it is found.

    python benchmarks/inference_ode.py                        takes about two minutes
    PPL_DIFFRAX=/path/to/python python benchmarks/inference_ode.py    diffrax from the environment of that Python
    python benchmarks/inference_ode.py --pymc                 PyMC too (its gradient alone takes a tenth of a second)

Microseconds and seconds of processor time, each the least of several runs. The bars of Lotka and Volterra's equations
(20 times, 2 states, 4 rates and 2 starts, within 1e-6): a value and gradient within 150 microseconds, compiled within
1.2 seconds.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from _process import environment

TIMES, START = np.arange(1.0, 21.0), np.array([33.0, 6.0, 0.55, 0.028, 0.84, 0.026])
ROWS = np.random.default_rng(0).normal(size=(20, 2)) + 20.0
BAR_GRADIENT, BAR_COMPILE = 150.0, 1.2


def least(run: Callable[[], Any], times: int = 5, each: int = 300) -> float:
    """Microseconds of one run."""
    found = []
    for _ in range(times):
        begin = time.process_time()
        for _ in range(each):
            result = run()
        jax.block_until_ready(result)
        found.append((time.process_time() - begin) / each * 1e6)
    return min(found)


def first(f: Callable[..., Any], *arguments: Any) -> float:
    """Seconds until a jitted function has its first result, where JAX has done something before."""
    jax.block_until_ready(jax.jit(lambda x: (x @ x).sum())(jnp.ones((3, 3))))
    begin = time.process_time()
    jax.block_until_ready(f(*arguments))
    return time.process_time() - begin


def lotka_volterra(pm: Any) -> Any:
    """The model, by ppl or PyMC."""
    with pm.Model() as model:
        y0 = pm.Normal("y0", np.array([33.0, 6.0]), 10.0)
        theta = pm.Normal("theta", START[2:], 0.1)
        slopes = lambda y, t, p: [p[0] * y[0] - p[1] * y[0] * y[1], -p[2] * y[1] + p[3] * y[0] * y[1]]
        within = {"rtol": 1e-6, "atol": 1e-6} if pm.__name__ == "ppl" else {}
        equation = pm.ode.DifferentialEquation(slopes, TIMES, n_states=2, n_theta=4, **within)
        pm.Normal("y", equation(y0=y0, theta=theta), 1.0, observed=ROWS)
    return model


def ours() -> None:
    import ppl as pm
    from ppl.compile.density import FlatProgram, scalar
    from ppl.model.posterior.rewriting import rewritten
    from ppl.model.starting.start_points import starts_for

    posterior = rewritten(lotka_volterra(pm), rewrite=True)
    slots = starts_for(posterior, None, 1, 1, False).slots
    density = FlatProgram([posterior.logp()], slots, once=posterior.of_data)
    both = jax.jit(jax.value_and_grad(scalar(density)))
    with jax.enable_x64(True):
        x = jnp.asarray(START)
        seconds = first(both, x, *density.data)
        one = least(lambda: both(x, *density.data))
        looped = jax.jit(lambda x: jax.lax.fori_loop(0, 500, lambda i, s: s + 1e-16 * both(s, *density.data)[1], x))
        looped(x).block_until_ready()
        inside = least(lambda: looped(x), each=2) / 500
    told = lambda ok: "within the bar" if ok else "OVER THE BAR"
    print(
        f"Lotka-Volterra, ppl     {one:9.1f} us called, {inside:7.1f} us in a loop as a sampler's"
        f"  {told(one <= BAR_GRADIENT)}"
    )
    print(f"  compiled              {seconds:9.2f} s  {told(seconds <= BAR_COMPILE)}")


DIFFRAX = """
import json, sys, time
import jax; jax.config.update("jax_enable_x64", True)
import jax.numpy as jnp, numpy as np, diffrax
times, start, rows = (np.array(x) for x in json.load(sys.stdin))
f = lambda t, y, p: jnp.stack([p[0] * y[0] - p[1] * y[0] * y[1], -p[2] * y[1] + p[3] * y[0] * y[1]])
def loss(x, adjoint):
    found = diffrax.diffeqsolve(
        diffrax.ODETerm(f), diffrax.Tsit5(), 0.0, times[-1], None, x[:2], x[2:], saveat=diffrax.SaveAt(ts=times),
        stepsize_controller=diffrax.PIDController(rtol=1e-6, atol=1e-6), adjoint=adjoint, max_steps=4096)
    return jnp.sum((found.ys - rows) ** 2)
jax.jit(lambda x: (x @ x).sum())(jnp.ones((3, 3))).block_until_ready()
x = jnp.asarray(start)
def forward(x):
    run = lambda x: loss(x, diffrax.ForwardMode())
    return run(x), jax.jacfwd(run)(x)
backward = jax.value_and_grad(lambda x: loss(x, diffrax.RecursiveCheckpointAdjoint()))
for name, f_ in (("jacfwd", forward), ("reverse", backward)):
    both = jax.jit(f_); begin = time.process_time(); jax.block_until_ready(both(x))
    compiled = time.process_time() - begin
    best = 1e9
    for _ in range(5):
        begin = time.process_time()
        for _ in range(200): r = both(x)
        jax.block_until_ready(r); best = min(best, (time.process_time() - begin) / 200 * 1e6)
    looped = jax.jit(lambda x: jax.lax.fori_loop(0, 200, lambda i, s: s + 1e-16 * f_(s)[1], x))
    looped(x).block_until_ready(); begin = time.process_time(); looped(x).block_until_ready()
    inside = (time.process_time() - begin) / 200 * 1e6
    print(f"Lotka-Volterra, diffrax {best:9.1f} us called, {inside:7.1f} us in a loop, {name}; "
          f"compiled {compiled:.2f} s")
"""


def diffrax(python: str) -> None:
    given = json.dumps([TIMES.tolist(), START.tolist(), ROWS.tolist()])
    plain = {key: value for key, value in os.environ.items() if key not in ("XLA_FLAGS", "PYTHONPATH")}
    for words, more in (("with XLA's defaults", {}), ("with the flag of ppl", {"XLA_FLAGS": os.environ["XLA_FLAGS"]})):
        done = subprocess.run(
            [python, "-c", DIFFRAX], input=given, text=True, capture_output=True, check=False, env=plain | more
        )
        print(f"diffrax {words}:")
        print(done.stdout.rstrip() if done.returncode == 0 else f"diffrax: {done.stderr.strip().splitlines()[-1]}")


def pymc() -> None:
    import pymc as pm

    model = lotka_volterra(pm)
    f, point = model.compile_fn(model.dlogp()), {"y0": START[:2], "theta": START[2:]}
    f(point)
    begin = time.process_time()
    for _ in range(5):
        f(point)
    print(f"Lotka-Volterra, PyMC    {(time.process_time() - begin) / 5 * 1e6:9.1f} us, the gradient alone")


def directions() -> None:
    """Gradients forward and backward by the count of numbers: where `auto` changes (ppl/xla/ode/solution.py)."""
    from ppl.xla.ode.solution import FORWARD

    print(f"\nGradients of a network as right-hand side by the count of its numbers, us (auto changes above {FORWARD})")
    print(f"{'states':>7}{'numbers':>8}{'forward':>10}{'backward':>10}")
    for states, hidden in ((2, 1), (2, 3), (2, 6), (2, 12), (4, 4), (4, 12), (8, 8)):
        row = [_network(states, hidden, how) for how in ("forward", "adjoint")]
        print(f"{states:>7}{2 * hidden * states:>8}{row[0]:>10.1f}{row[1]:>10.1f}")


def _network(states: int, hidden: int, how: str) -> float:
    """Microseconds of a value and gradient in the weights of a network."""
    from ppl.xla.ode.loop import Control
    from ppl.xla.ode.solution import solve

    rng = np.random.default_rng(0)
    w, v = jnp.asarray(rng.normal(size=(hidden, states))), jnp.asarray(rng.normal(size=(states, hidden)))
    f = lambda t, y, w, v: (v * jnp.tanh((w * y).sum(1))).sum(1) - y
    control, y0, times = Control("tsit5", 1e-6, 1e-6, 1000), jnp.ones(states), jnp.arange(1.0, 11)
    total = lambda w, v: jnp.sum(solve(f, control, how, jnp.asarray(0.0), times, [y0], [w, v]))
    both = jax.jit(jax.value_and_grad(total, (0, 1)))
    jax.block_until_ready(both(w, v))
    return least(lambda: both(w, v), each=50)


def stiff() -> None:
    """Robertson's reactions up to t = 1e5 within 1e-8."""
    from ppl.xla.ode.loop import Control
    from ppl.xla.ode.solution import solve

    def f(t: Any, y: Any, a: Any, b: Any, c: Any) -> Any:
        first, second, third = a * y[0], c * y[1] * y[1], b * y[1] * y[2]
        return jnp.stack([-first + third, first - third - second, second])

    times = jnp.asarray([1e5])
    rates = tuple(map(jnp.asarray, (0.04, 1e4, 3e7)))
    run = lambda *rates: solve(
        f, Control("rodas5p", 1e-8, 1e-10, 4096), "forward", jnp.asarray(0.0), times, [jnp.eye(3)[0]], rates
    )
    value, both = jax.jit(run), jax.jit(jax.value_and_grad(lambda *r: run(*r)[0, 0], (0, 1, 2)))
    seconds = [first(value, *rates), first(both, *rates)]
    print(f"\nRobertson, rodas5p      {least(lambda: value(*rates)):9.1f} us, compiled in {seconds[0]:.2f} s")
    print(f"  with its gradient     {least(lambda: both(*rates)):9.1f} us, compiled in {seconds[1]:.2f} s")


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--pymc", action="store_true")
    parser.add_argument("--only-pymc", action="store_true", help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    if chosen.only_pymc:
        pymc()
        return
    ours()
    if python := os.environ.get("PPL_DIFFRAX"):
        diffrax(python)
    else:
        print("diffrax: give PPL_DIFFRAX=python of an environment that has it")
    if chosen.pymc:
        subprocess.run([sys.executable, __file__, "--only-pymc"], env=environment(), check=False)
    with jax.enable_x64(True):
        directions()
        stiff()


if __name__ == "__main__":
    main()
