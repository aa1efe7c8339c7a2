"""Learning: what a step and a compilation cost, beside the same program written by hand in JAX.

    python benchmarks/nn.py            prints three tables; takes about three minutes
    python benchmarks/nn.py --small    fewer runs

The program is the multilayer perceptron of JAX's first lessons, with two layers of 512 hidden units: on the digits that
come with the package (64 inputs), and on random images of the lessons' size (784 inputs).
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax
from _process import environment

import ppl
import ppl.tensor as T  # noqa: N812
from ppl.nn.activations import relu
from ppl.nn.data import batchify, train_test_split
from ppl.nn.digits import digits
from ppl.nn.initializers import he_normal
from ppl.nn.layers import Dense
from ppl.nn.losses import sparse_softmax_crossentropy_logits
from ppl.nn.optimizers import LBFGS, SGD, Adam, AdamW, NesterovMomentum, Optimizer, RMSProp

BATCH, CLASSES, HIDDEN = 128, 10, (512, 512)
OPTIMIZERS: dict[str, tuple[Callable[[Any], Optimizer], Any]] = {
    "SGD": (lambda loss: SGD(loss, 0.1), lambda: optax.sgd(0.1)),
    "NesterovMomentum": (lambda loss: NesterovMomentum(loss, 0.05), lambda: optax.sgd(0.05, 0.9, nesterov=True)),
    "RMSProp": (lambda loss: RMSProp(loss, 1e-3), lambda: optax.rmsprop(1e-3)),
    "Adam": (lambda loss: Adam(loss, 1e-3), lambda: optax.adam(1e-3)),
    "AdamW": (lambda loss: AdamW(loss, 1e-3), lambda: optax.adamw(1e-3)),
    "LBFGS": (lambda loss: LBFGS(loss), lambda: optax.lbfgs()),
}
Step = Callable[[np.ndarray, np.ndarray], float]


def ours(inputs: int, optimizer: str) -> Step:
    """The program in this package."""
    with ppl.Scope("perceptron"):
        x, y = T.Placeholder((None, inputs), "float32"), T.Placeholder((None,), "int32")
        hidden = x
        for units in HIDDEN:
            hidden = Dense(hidden, units, relu, W=he_normal())
        loss = sparse_softmax_crossentropy_logits(y, Dense(hidden, CLASSES, W=he_normal())).mean()
        updates = OPTIMIZERS[optimizer][0](loss).updates
    train = ppl.function(x, y, outputs=loss, updates=updates)
    return lambda x, y: float(train(x, y))


def by_hand(inputs: int, optimizer: str) -> Step:
    """The same in JAX and optax."""
    first = [
        he_normal().at(f"/perceptron/{name}/W")(shape)  # the same values to start with, so the same losses
        for name, shape in zip(("Dense", "Dense_1", "Dense_2"), pairwise((inputs, *HIDDEN, CLASSES)), strict=True)
    ]
    params = [(jnp.asarray(w, jnp.float32), jnp.zeros(w.shape[1], jnp.float32)) for w in first]
    transformation = optax.with_extra_args_support(OPTIMIZERS[optimizer][1]())

    def loss_of(params: Any, x: Any, y: Any) -> Any:
        for w, b in params[:-1]:
            x = jax.nn.relu(x @ w + b)
        w, b = params[-1]
        scores = jax.nn.log_softmax(x @ w + b)
        return -jnp.mean(jnp.sum(jax.nn.one_hot(y, CLASSES) * scores, axis=-1))

    @jax.jit
    def step(params: Any, state: Any, x: Any, y: Any) -> Any:
        value, slopes = jax.value_and_grad(loss_of)(params, x, y)
        changes, state = transformation.update(
            slopes, state, params, value=value, grad=slopes, value_fn=lambda p: loss_of(p, x, y)
        )
        return optax.apply_updates(params, changes), state, value

    now = (params, transformation.init(params))

    def train(x: np.ndarray, y: np.ndarray) -> float:
        nonlocal now
        *now, value = step(*now, x, y)
        return float(value)

    return train


PROGRAMS = {"ours": ours, "by hand": by_hand}


def batches_of(inputs: int, count: int) -> list[tuple[np.ndarray, np.ndarray]]:
    """Batches of digits, or where the number of inputs is not theirs, of random images with the digits' labels."""
    images, labels = digits()
    flat = images.reshape(len(images), -1).astype(np.float32)
    if inputs != flat.shape[1]:
        flat = np.random.default_rng(0).random((len(labels), inputs), np.float32)
    x, _, y, _ = train_test_split(flat, labels.astype(np.int32))
    found: list[Any] = []
    while len(found) < count:
        found += batchify(x, y, batch_size=BATCH, option="random", seed=len(found))
    return found[:count]


def print_steps(inputs: int, optimizer: str, rounds: int, count: int = 100) -> None:
    """Milliseconds of this process a step, both programs in turns, so that a busy machine changes little."""
    steps = {name: make(inputs, optimizer) for name, make in PROGRAMS.items()}
    batches = batches_of(inputs, count)
    times: dict[str, list[float]] = {name: [] for name in steps}
    losses: dict[str, float] = {}
    for _ in range(rounds + 1):
        for name, step in steps.items():
            start = time.process_time()
            for batch in batches:
                losses[name] = step(*batch)
            times[name].append((time.process_time() - start) / count * 1e3)
    mine, theirs = times["ours"][1:], times["by hand"][1:]  # without the round that compiled
    ratio = statistics.median(a / b for a, b in zip(mine, theirs, strict=True))
    row = f"{optimizer:<18}{inputs:>7}{statistics.median(mine):>10.3f} ms{statistics.median(theirs):>10.3f} ms"
    print(f"{row}{ratio:>8.2f}{losses['ours']:>12.4f}{losses['by hand']:>12.4f}")


def measure_compilation(program: str, inputs: int, optimizer: str) -> float:
    """Seconds of this process from nothing to the first loss, where JAX has done something before."""
    batch = batches_of(inputs, 1)[0]
    float(jax.jit(lambda x: (x @ x.T).sum())(jnp.ones((4, 4))))
    start = time.process_time()
    PROGRAMS[program](inputs, optimizer)(*batch)
    return time.process_time() - start


def print_compilation(inputs: int, optimizer: str, rounds: int) -> None:
    def fresh(program: str) -> float:
        command = [sys.executable, __file__, "--compile", program, str(inputs), optimizer]
        return float(subprocess.run(command, capture_output=True, text=True, check=True, env=environment()).stdout)

    pairs = [(fresh("ours"), fresh("by hand")) for _ in range(rounds)]
    mine, theirs = (statistics.median(column) for column in zip(*pairs, strict=True))
    ratio = statistics.median(a / b for a, b in pairs)
    print(f"{optimizer:<18}{inputs:>7}{mine:>11.3f} s{theirs:>11.3f} s{ratio:>8.2f}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--small", action="store_true", help="fewer runs")
    parser.add_argument("--compile", nargs=3, metavar=("PROGRAM", "INPUTS", "OPTIMIZER"), help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.compile:
        program, inputs, optimizer = args.compile
        print(measure_compilation(program, int(inputs), optimizer))
        return
    rounds = 2 if args.small else 5
    print(f"jax {jax.__version__}, Python {sys.version.split()[0]}; perceptron {HIDDEN}, batches of {BATCH}")
    print(f"\n{'from nothing':<18}{'inputs':>7}{'ours':>13}{'by hand':>13}{'ratio':>8}")
    for inputs, optimizer in ((64, "SGD"), (64, "Adam"), (784, "SGD")):
        print_compilation(inputs, optimizer, 1 + rounds // 2)
    for title, inputs, chosen in (("a step", 784, ("SGD", "Adam")), ("optimizers", 64, tuple(OPTIMIZERS))):
        print(f"\n{title:<18}{'inputs':>7}{'ours':>13}{'by hand':>13}{'ratio':>8}{'loss':>12}{'by hand':>12}")
        for optimizer in chosen:
            print_steps(inputs, optimizer, rounds, count=10 if optimizer == "LBFGS" else 100)


if __name__ == "__main__":
    main()
