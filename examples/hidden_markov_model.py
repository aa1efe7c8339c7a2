"""A hidden Markov model trained by gradient: the path of hidden states is summed out by the forward recursion.

Nobody needs to write the backward recursion: the probability of each state at each time, given all observations, is the
derivative of the log-likelihood by the log-density of that observation under that state.
"""

from pathlib import Path

import matplotlib
import numpy as np

matplotlib.use("Agg")
import matplotlib.pyplot as plt

import ppl as pm
import ppl.tensor as T  # noqa: N812
from ppl.nn.optimizers import Adam

OUTPUT = Path(__file__).parent / "output"
STATES, TIMES = 3, 400
MEANS, DEVIATION, STAY = np.array([-2.0, 0.0, 2.5]), 0.7, 0.94


def simulated(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Hidden states that seldom change, and noisy observations of them."""
    states = np.zeros(TIMES, int)
    for t in range(1, TIMES):
        states[t] = states[t - 1] if rng.random() < STAY else rng.choice(np.delete(np.arange(STATES), states[t - 1]))
    return states, rng.normal(MEANS[states], DEVIATION)


def log_likelihood(log_start, log_move, fit):
    """log Σ over all paths, of start(z₀) Π move(zₜ₋₁, zₜ) Π exp fit(t, zₜ): the forward recursion.

    α holds, for each state, the log-density of the observations so far and of being there now.
    """

    def step(alpha, fit_now, log_move):
        alpha = T.logsumexp(alpha[:, None] + log_move, axis=0) + fit_now
        return alpha, alpha

    last, _ = T.scan(step, init=log_start + fit[0], sequences=[fit[1:]], non_sequences=[log_move])
    return T.logsumexp(last)


def by_summing_the_model(log_start, log_move, mean, deviation, y) -> float:
    """The same for a few observations, from the model as written: rewriting sums its states out."""
    with pm.Model() as model:
        state = pm.Categorical("z0", logit_p=log_start)
        pm.Normal("y0", mean[state], deviation, observed=y[0])
        for t in range(1, len(y)):
            state = pm.Categorical(f"z{t}", logit_p=log_move[state])
            pm.Normal(f"y{t}", mean[state], deviation, observed=y[t])
    return float(model.logp(rewrite=True).eval())


def main() -> None:
    states, y = simulated(np.random.default_rng(1))
    with pm.Scope("hmm"):
        start = T.Variable(np.zeros(STATES), name="start")
        move = T.Variable(2.0 * np.eye(STATES), name="move")
        mean = T.Variable(np.array([-1.0, 0.0, 1.0]), name="mean")
        log_deviation = T.Variable(0.0, name="log_deviation")
    log_start, log_move = T.log_softmax(start, axis=-1), T.log_softmax(move, axis=-1)
    series = T.Placeholder((None,), "float64", name="series")
    fit = pm.logp(pm.Normal.dist(mean, T.exp(log_deviation)), series[:, None])

    loss = -log_likelihood(log_start, log_move, fit) / series.shape[0]
    optimizer = Adam(loss, 0.05)
    train = pm.function(series, outputs=loss, updates=optimizer.updates)
    losses = np.array([train(y) for _ in range(300)])

    marginals = pm.function(series, outputs=T.grad(-loss * series.shape[0], fit))(y)
    transition = np.exp(log_move.eval())
    print("means      ", np.round(mean.value, 2), "  simulated with", MEANS)
    print("deviation  ", np.round(np.exp(log_deviation.value), 2), "  simulated with", DEVIATION)
    print("staying put", np.round(np.diag(transition), 2), "  simulated with", STAY)
    right = (marginals.argmax(1) == states).mean()
    print(f"loss {losses[0]:.3f} -> {losses[-1]:.3f}; {right:.1%} of the hidden states are found")

    few = y[:5]
    expected = by_summing_the_model(log_start, log_move, mean, T.exp(log_deviation), few)
    assert np.isclose(-5 * pm.function(series, outputs=loss)(few), expected, rtol=1e-9)
    assert np.allclose(marginals.sum(1), 1)  # they are probabilities
    assert np.allclose(mean.value, MEANS, atol=0.25) and np.allclose(np.diag(transition), STAY, atol=0.05)
    assert right > 0.95
    draw(states, y, marginals, OUTPUT / "hidden_markov_model.png")


def draw(states: np.ndarray, y: np.ndarray, marginals: np.ndarray, path: Path) -> None:
    figure, (top, bottom) = plt.subplots(2, 1, figsize=(9, 4.5), sharex=True, layout="constrained")
    top.plot(y, ".", color="0.6", label="observed")
    top.plot(MEANS[states], drawstyle="steps-mid", label="mean of the hidden state")
    top.legend(frameon=False, fontsize=8)
    bottom.stackplot(np.arange(TIMES), marginals.T, alpha=0.7)
    bottom.set(xlabel="time", ylabel="probability", ylim=(0, 1), title="States, given all observations")
    OUTPUT.mkdir(exist_ok=True)
    figure.savefig(path, dpi=150)


if __name__ == "__main__":
    main()
