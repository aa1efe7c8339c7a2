"""PyTensor's and PyMC's longer module paths below `ppl`: imports changed by hand find what the alias gives."""

from __future__ import annotations

import importlib
import subprocess
import sys

import arviz
import numpy as np
import pytest

import ppl
from ppl.alias import by_hand
from ppl.alias.facade import Row
from ppl.alias.paths import PATHS

# `ppl.compile` is a package and not PyTensor's function; `ppl.compile.function` is the function itself.
HIDDEN = {"compile", "compile.function.types"}
ROWS = {path: Row(text, path) for path, text in PATHS.items() if "." in path}
BELOW = {path: path.partition(".")[2] for path, row in ROWS.items() if row.names}
HERE = [path for path, rest in BELOW.items() if rest not in HIDDEN and by_hand.row_of(f"ppl.{rest}") is not None]


@pytest.mark.parametrize("path", HERE)
def test_every_name_of_the_table_is_below_ppl(path):
    module = importlib.import_module(f"ppl.{path.partition('.')[2]}")
    missing = [name for name in ROWS[path].names if name != "compile" and not hasattr(module, name)]
    assert not missing, missing


def test_operations_of_ones_own_by_pytensors_paths():
    from ppl.compile.ops import as_op
    from ppl.graph.basic import Apply as SameApply
    from ppl.graph.op import Op as SameOp

    from ppl.graph import Apply, Op

    assert (Apply, Op) == (SameApply, SameOp)

    @as_op(itypes=[ppl.tensor.dvector], otypes=[ppl.tensor.dscalar])
    def total(x):
        return x.sum()

    assert total(ppl.tensor.as_tensor([1.0, 2.0])).eval() == 3.0


def test_names_that_only_the_alias_has():
    import ppl.util

    assert ppl.util.get_transformed_name("x", ppl.distributions.transforms.log) == "x_log__"
    assert "got <class 'str'>" in str(ppl.exceptions.DtypeError("The wrong kind", actual=str))
    assert str(ppl.exceptions.ShapeError("Lengths", actual=(2,), expected=(3,))) == "Lengths (expected (3,), got (2,))"


def test_a_statistic_of_warnings_is_dropped():
    shape = np.zeros((1, 2))
    result = arviz.from_dict(sample_stats={"a": shape, "warning": shape.astype(object)}, attrs={"of": "PyMC"})
    kept = ppl.util.drop_warning_stat(result)
    assert "warning" in result.sample_stats and list(kept.sample_stats.data_vars) == ["a"]
    assert kept.attrs["of"] == "PyMC"


def test_a_function_of_that_name_stays_what_it_is():
    program = """if True:
        import ppl
        scan, ifelse = ppl.scan, ppl.ifelse
        from ppl.scan.utils import until
        from ppl.scan import scan as same_scan
        from ppl.ifelse import ifelse as same_ifelse
        from ppl.gradient import grad_not_implemented, disconnected_grad
        assert ppl.scan is scan is same_scan and ppl.ifelse is ifelse is same_ifelse
        import ppl.tensor as tt, ppl.tensor.sort, ppl.initial_point
        assert tt.sort([2.0, 1.0]).eval().tolist() == [1.0, 2.0]
    """
    subprocess.run([sys.executable, "-c", program], check=True, timeout=120)


@pytest.mark.parametrize(
    "path", ["gradient.DisconnectedType", "tensor.random.op.RandomVariable", "ode.ode.DifferentialEquation",
             "logprob.transforms.LogTransform", "printing.str_for_model", "model.transform.basic"],
)  # fmt: skip
def test_names_are_reached_without_an_import_of_their_module(path):
    program = f"import ppl; assert ppl.{path} is not None"
    subprocess.run([sys.executable, "-c", program], check=True, timeout=120)


def test_what_is_nowhere_is_no_module():
    assert by_hand.row_of("ppl.nothing_of_this_name") is None
    with pytest.raises(ModuleNotFoundError, match="nothing_of_this_name"):
        importlib.import_module("ppl.nothing_of_this_name")
    with pytest.raises(AttributeError, match="nothing_of_this_name"):
        ppl.graph.nothing_of_this_name  # noqa: B018
