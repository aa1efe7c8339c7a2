"""Batches, shuffling, splitting, standardizing, and the digits that come with the package."""

import numpy as np
import pytest

from ppl.nn.data import Standardize, batchify, shuffled, train_test_split
from ppl.nn.digits import digits

X, Y = np.arange(20.0).reshape(10, 2), np.arange(10)


def test_shuffling_keeps_examples_together_and_is_repeatable():
    x, y = shuffled(X, Y, seed=3)
    np.testing.assert_array_equal(x[:, 0], 2 * y)
    assert sorted(y) == list(Y) and list(y) != list(Y)
    np.testing.assert_array_equal(shuffled(X, Y, seed=3)[1], y)
    assert not np.array_equal(shuffled(Y, seed=4)[0], y)


@pytest.mark.parametrize("option", ["continuous", "random", "random_see_all"])
@pytest.mark.parametrize("drop_last", [True, False])
def test_batches_go_through_all_examples_once(option, drop_last):
    batches = list(batchify(X, Y, batch_size=4, option=option, seed=1, drop_last=drop_last))
    assert [len(y) for _, y in batches] == ([4, 4] if drop_last else [4, 4, 2])
    seen = np.concatenate([y for _, y in batches])
    assert len(set(seen)) == len(seen) and (option == "continuous") == (list(seen) == sorted(seen))
    np.testing.assert_array_equal(np.concatenate([x for x, _ in batches])[:, 0], 2 * seen)


def test_a_batch_of_one_array_is_an_array():
    (batch,) = batchify(Y, batch_size=10)
    np.testing.assert_array_equal(batch, Y)


def test_a_split_leaves_out_nothing_and_no_kind():
    labels = np.repeat([0, 1, 2], [40, 20, 4])
    x, x_test, y, y_test = train_test_split(np.arange(64), labels, test_size=0.25, seed=5, stratify=labels)
    assert sorted(np.concatenate([x, x_test])) == list(range(64))
    np.testing.assert_array_equal(np.bincount(y_test), [10, 5, 1])
    np.testing.assert_array_equal(labels[x], y)
    plain, test = train_test_split(np.arange(10), test_size=0.3)
    assert len(plain) == 7 and sorted([*plain, *test]) == list(range(10))


def test_standardized_features_have_mean_0_and_deviation_1():
    x = np.random.default_rng(0).normal([1, 2, 3], [1, 5, 0], (500, 3))
    scale = Standardize.fit(x)
    z = scale.transform(x)
    np.testing.assert_allclose(z.mean(0), 0, atol=1e-12)
    np.testing.assert_allclose(z.std(0), [1, 1, 0], atol=1e-12)  # what never changes stays as it is, but for its mean
    np.testing.assert_allclose(scale.inverse(z), x)


def test_the_digits_are_all_there():
    images, labels = digits()
    assert images.shape == (1797, 8, 8) and images.dtype == np.float64 and labels.dtype == np.int64
    assert images.min() == 0 and images.max() == 1
    np.testing.assert_array_equal(np.bincount(labels), [178, 182, 177, 183, 181, 182, 181, 179, 174, 180])


SAID = {
    "different numbers of examples": lambda: shuffled(X, Y[:4]),
    "a first axis of examples": lambda: shuffled(1.0),
    "a batch has between 1 and 10 examples, got 11": lambda: batchify(Y, batch_size=11),
    "option is 'continuous' or 'random', got 'odd'": lambda: batchify(Y, batch_size=2, option="odd"),
    "test_size is a share between 0 and 1, got 3": lambda: train_test_split(Y, test_size=3),
    "leave a part empty": lambda: train_test_split(Y, test_size=0.01),
}


@pytest.mark.parametrize("words", SAID)
def test_what_does_not_fit_is_refused(words):
    with pytest.raises(ValueError, match=words):
        SAID[words]()
