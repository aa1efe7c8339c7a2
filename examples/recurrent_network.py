"""A small recurrent network learns to count modulo two, and does so on sequences longer than any it has seen.

The input is a sequence of bits; after each, the network says whether it has seen an odd number of ones. Nothing that
looks at a few bits at a time can know. Both the batch and the time axis may have any length.
"""

from pathlib import Path

import matplotlib
import numpy as np

matplotlib.use("Agg")
import matplotlib.pyplot as plt

import ppl as pm
import ppl.tensor as T  # noqa: N812
from ppl.nn.layers import GRU, Dense
from ppl.nn.losses import sigmoid_crossentropy_logits
from ppl.nn.optimizers import Adam
from ppl.nn.training import fit

OUTPUT = Path(__file__).parent / "output"
TRAINED, TESTED, BATCH = 12, 100, 64


def sequences(rng: np.random.Generator, count: int, length: int) -> tuple[np.ndarray, np.ndarray]:
    """Bits (count, length, 1), and whether their sums so far are odd (count, length)."""
    bits = rng.integers(0, 2, (count, length))
    return bits[..., None].astype(np.float32), (bits.cumsum(1) % 2).astype(np.float32)


def main() -> None:
    rng = np.random.default_rng(0)
    bits = T.Placeholder((None, None, 1), "float32", name="bits")
    odd = T.Placeholder((None, None), "float32", name="odd")
    with pm.Scope("counter"):
        score = Dense(GRU(bits, 8), 1)[:, :, 0]
    loss = sigmoid_crossentropy_logits(odd, score).mean()
    right = T.mean(T.eq(score > 0, odd > 0.5))

    train = pm.function(bits, odd, outputs=loss, updates=Adam(loss, 0.02, clip_norm=1.0).updates)
    test = pm.function(bits, odd, outputs=right)
    losses = fit(train, lambda epoch: (sequences(rng, BATCH, TRAINED) for _ in range(50)), epochs=20, progress=False)

    lengths = np.array([TRAINED, 25, 50, TESTED])
    shares = [float(test(*sequences(rng, 200, length))) for length in lengths]
    print(f"loss {losses[0]:.3f} -> {losses[-1]:.4f}")
    for length, share in zip(lengths, shares, strict=True):
        print(f"sequences of {length:>3}: {share:.1%} right")
    assert losses[-1] < 0.05 and min(shares) > 0.99
    draw(losses, lengths, shares, OUTPUT / "recurrent_network.png")


def draw(losses: np.ndarray, lengths: np.ndarray, shares: list[float], path: Path) -> None:
    figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.5), layout="constrained")
    left.semilogy(np.arange(1, len(losses) + 1) * 50, losses, "o-")
    left.axhline(np.log(2), color="0.7", linestyle="--", label="guessing")
    left.set(xlabel="step", ylabel="cross-entropy", title="Learning to count modulo two")
    left.legend(frameon=False)
    right.plot(lengths, shares, "o-")
    right.axvline(TRAINED, color="0.7", linestyle="--", label="longest seen in training")
    right.set(xlabel="length of a sequence", ylabel="share right", ylim=(0.45, 1.02), title="Longer ones")
    right.legend(frameon=False)
    OUTPUT.mkdir(exist_ok=True)
    figure.savefig(path, dpi=150)


if __name__ == "__main__":
    main()
