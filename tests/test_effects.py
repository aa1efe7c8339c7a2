"""Operations that look at values, check them, or must be told how many there are."""

import jax
import numpy as np
import pytest

import ppl
import ppl.tensor as tt

pytestmark = pytest.mark.usefixtures("module_compiled_quickly")


def test_print_shows_the_value_and_changes_nothing(capsys):
    x = tt.dvector("x")
    y = ppl.printing.Print("here")(x)
    assert y.eval({x: [1.0, 2.0]}).tolist() == [1, 2]
    jax.effects_barrier()
    assert "here [1. 2.]" in capsys.readouterr().out
    assert ppl.grad(y.sum(), x).eval({x: [1.0, 2.0]}).tolist() == [1, 1]


def test_assert_stops_the_program_and_passes_gradients():
    x = tt.dscalar("x")
    y = tt.Assert("x must be small")(x, x < 3)
    f = ppl.function([x], [y * 2, ppl.grad(y * 2, x)])
    assert [v.item() for v in f(1.0)] == [2.0, 2.0]
    with pytest.raises(tt.CheckError, match=r"^x must be small$"):
        f(5.0)
    with pytest.raises(tt.CheckError, match="never"):
        tt.Assert("never")(x, False)
    assert tt.assert_op(x, True) is x


def test_how_many_there_are_may_be_said():
    x = tt.dvector("x")
    values = {x: [3.0, 0.0, 3.0, 1.0]}
    assert tt.unique(x, size=3).eval(values).tolist() == [0, 1, 3]
    assert tt.nonzero(x, size=3)[0].eval(values).tolist() == [0, 2, 3]
    assert tt.flatnonzero(x, size=3).eval(values).tolist() == [0, 2, 3]
    assert tt.nonzero_values(x, size=3).eval(values).tolist() == [3, 3, 1]
    assert tt.argwhere(x, size=3).eval(values).tolist() == [[0], [2], [3]]
    n = tt.lvector("n")
    assert tt.bincount(n, minlength=4).eval({n: np.array([1, 3, 1])}).tolist() == [0, 2, 0, 1]
    assert tt.bincount(n).eval({n: np.array([1, 3, 1])}).tolist() == [0, 2, 0, 1]
    assert tt.bincount(n).eval({n: np.array([], int)}).tolist() == []
