"""A multilayer perceptron reads handwritten digits: 64 inputs, twice 512 hidden units, 10 scores.

The graph is built once, for batches of any size, and compiled once for each size that is met: here the batches of
training, and the test set. The digits come with the package (`ppl.nn.digits`).
"""

from pathlib import Path

import matplotlib
import numpy as np

matplotlib.use("Agg")
import matplotlib.pyplot as plt

import ppl
import ppl.tensor as T  # noqa: N812
from ppl.nn.activations import relu
from ppl.nn.data import batchify, train_test_split
from ppl.nn.digits import digits
from ppl.nn.initializers import he_normal
from ppl.nn.layers import Dense
from ppl.nn.losses import accuracy, sparse_softmax_crossentropy_logits
from ppl.nn.optimizers import Adam
from ppl.nn.training import fit

OUTPUT = Path(__file__).parent / "output"
EPOCHS, BATCH = 15, 64


def perceptron(x):
    """The scores of ten digits."""
    hidden = Dense(x, 512, relu, W=he_normal())
    hidden = Dense(hidden, 512, relu, W=he_normal())
    return Dense(hidden, 10)


def main() -> None:
    images, labels = digits()
    flat = images.reshape(len(images), -1).astype(np.float32)
    x, x_test, y, y_test = train_test_split(flat, labels, test_size=0.25, stratify=labels)

    inputs = T.Placeholder((None, 64), "float32", name="inputs")
    target = T.Placeholder((None,), "int64", name="target")
    with ppl.Scope("perceptron"):
        scores = perceptron(inputs)
    loss = sparse_softmax_crossentropy_logits(target, scores).mean()
    train = ppl.function(inputs, target, outputs=loss, updates=Adam(loss, 1e-3).updates)
    right = ppl.function(inputs, target, outputs=accuracy(target, scores))
    read = ppl.function(inputs, outputs=T.argmax(scores, axis=-1))

    def batches(epoch: int):
        return batchify(x, y, batch_size=BATCH, option="random", seed=epoch)

    shares = []
    losses = fit(train, batches, EPOCHS, after_epoch=lambda *_: shares.append(float(right(x_test, y_test))))

    print(
        f"loss {losses[0]:.3f} -> {losses[-1]:.4f}; {shares[-1]:.1%} of {len(y_test)} digits never seen are read right"
    )
    assert shares[-1] >= 0.96
    assert train.compilations == 1
    wrong = np.flatnonzero(read(x_test) != y_test)
    draw(losses, shares, x_test[wrong], y_test[wrong], read(x_test[wrong]), OUTPUT / "digits_perceptron.png")


def draw(losses, shares, images, labels, answers, path: Path) -> None:
    figure = plt.figure(figsize=(9, 3.5), layout="constrained")
    left, right = figure.subfigures(1, 2, width_ratios=(3, 2))
    axes = left.subplots()
    axes.semilogy(losses, "o-", label="loss in training")
    axes.semilogy(1 - np.array(shares), "o-", label="share of the test set misread")
    axes.set(xlabel="epoch")
    axes.legend(frameon=False)
    right.suptitle("Misread")
    for place, image, label, answer in zip(right.subplots(2, 3).flat, images, labels, answers, strict=False):
        place.imshow(image.reshape(8, 8), cmap="gray_r")
        place.set_title(f"{label}, not {answer}", fontsize=8)
    for place in right.axes:
        place.axis("off")
    OUTPUT.mkdir(exist_ok=True)
    figure.savefig(path, dpi=150)


if __name__ == "__main__":
    main()
