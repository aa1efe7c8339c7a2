"""What errors say of variables: their names, the values that belong to a row, and where a start fails."""

import numpy as np
import pytest
from plain_words import require_plain

import ppl as pm
import ppl.tensor as tt

FEW = {"draws": 5, "tune": 5, "chains": 1, "random_seed": 1, "progressbar": False, "quiet": True}


def _row_of_many_trials():
    with pm.Model():
        pm.Binomial("y", [2, 3], 0.5, observed=[1, 9])


def _vector_too_short():
    with pm.Model():
        pm.Normal("x", shape=3)[7]


def _bounds_that_are_computed():
    with pm.Model():
        x = pm.Normal("x", shape=2)
        low, high = tt.minimum(x[0], 1).astype("int64"), tt.maximum(x[1], 2).astype("int64")
        pm.DiscreteUniform("u", low, high, observed=9)
        pm.sample(**FEW, independent=False)


def _data_of_another_length():
    with pm.Model():
        x, b = pm.Data("x", np.ones(3)), pm.Normal("b", shape=3)
        pm.Normal("y", b * x, observed=np.ones(3))
        draws = [{"b": np.zeros(3)}]
        pm.set_data({"x": np.ones(2)})
        pm.sample_posterior_predictive(draws, progressbar=False)


def _start_at_a_bound():
    with pm.Model():
        pm.Normal("y", pm.Uniform("x", 0, 1, initval=1.0), 1, observed=1.0)
        pm.sample(**FEW, rewrite=False)


def _states_of_two_shapes():
    pm.scan(lambda x: tt.concatenate([x, x]), outputs_info=[tt.exp(tt.zeros(2))], n_steps=3)


CASES = {
    "a value above the trials of its row": (
        _row_of_many_trials,
        "observed value 9 at position 1.*an integer from 0 to 3[.]",
    ),
    "an index": (_vector_too_short, 'index 7 is out of range for axis 0 of Normal "x", which has length 3'),
    "bounds of starting values": (
        _bounds_that_are_computed,
        "an integer from 0 to 2 where its parameters start, it is 9",
    ),
    "data that changed their length": (
        _data_of_another_length,
        '"y": .*shapes .3,. and .2,. do not broadcast, in .*name=b.*name=x',
    ),
    "a start at a bound": (
        _start_at_a_bound,
        '"x" starts at a bound of its support.*give it a start inside, by initval=',
    ),
    "a state": (_states_of_two_shapes, r"output 0 .exp.broadcast_to.* starts with shape"),
    "operands": (lambda: tt.exp(tt.zeros(3)) + tt.log(tt.ones(2)), r"in exp\(.*\) of shape .3,. and log"),
    "a truth": (lambda: bool(tt.exp(tt.dscalar("x")) > 0), r"the truth of greater\(exp\(...\), 0.0\)"),
}


@pytest.mark.parametrize("case", CASES)
def test_it_is_told_in_the_words_of_the_model(case):
    act, message = CASES[case]
    with pytest.raises(Exception, match=f"(?s){message}") as caught:
        act()
    require_plain(str(caught.value))
