"""The training loop: what it returns, when it stops, what it shows."""

import numpy as np
import pytest

from ppl.nn.training import fit


def test_it_returns_the_mean_loss_of_each_epoch():
    seen = []

    def step(x, y):
        seen.append((x, y))
        return [x + y, "more"]  # further results are not looked at

    losses = fit(step, lambda epoch: [(epoch, 0), (epoch, 2)], epochs=3, progress=False)
    np.testing.assert_array_equal(losses, [1, 2, 3])
    assert seen == [(0, 0), (0, 2), (1, 0), (1, 2), (2, 0), (2, 2)]


def test_it_stops_when_told():
    told = []

    def after_epoch(epoch, loss):
        told.append((epoch, loss))
        return loss < 0.3

    losses = fit(lambda x: x, lambda epoch: [2.0**-epoch], epochs=10, after_epoch=after_epoch, progress=False)
    np.testing.assert_array_equal(losses, [1, 0.5, 0.25])
    assert told == [(0, 1.0), (1, 0.5), (2, 0.25)]


def test_the_progress_shows_the_loss(capsys):
    fit(lambda x: x, lambda epoch: [0.125], epochs=2)
    assert "2/2 loss 0.125" in capsys.readouterr().out


SAID = {
    "the loss is nan in epoch 1; try a smaller learning rate": lambda: fit(
        lambda x: x, lambda epoch: [[0.0, np.nan][epoch]], epochs=3, progress=False
    ),
    "epoch 0 has no batches": lambda: fit(lambda x: x, lambda epoch: [], epochs=1, progress=False),
    "the number of epochs is positive, got 0": lambda: fit(lambda x: x, lambda epoch: [1.0], epochs=0),
}


@pytest.mark.parametrize("words", SAID)
def test_what_does_not_work_says_so(words):
    with pytest.raises((ValueError, FloatingPointError), match=words):
        SAID[words]()
