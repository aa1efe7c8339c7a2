"""Functions take their arguments by PyTensor's names, in PyTensor's order, with PyTensor's defaults: programs call
`pt.dot(l=a, r=b)`, and `pt.take_along_axis(x, i)` along the first axis."""

import functools
import inspect
import json
import subprocess
import sys

import pytest

import ppl
import ppl.tensor as tt

MODULES = "pytensor.tensor pytensor.tensor.math pytensor.tensor.basic pytensor.tensor.extra_ops pytensor.tensor.linalg \
    pytensor.tensor.special pytensor.tensor.subtensor pytensor.tensor.sort pytensor.tensor.shape pymc.math".split()
READ = """
import importlib, inspect, json, sys, warnings
warnings.simplefilter("ignore")
found = {}
for module in sys.argv[1:]:
    for name, f in vars(importlib.import_module(module)).items():
        if name[0] != "_" and inspect.isfunction(f) and f.__module__.split(".")[0] in ("pytensor", "pymc"):
            parameters = inspect.signature(f).parameters.values()
            found[f"{module}.{name}"] = [(p.name, p.kind.name, None if p.default is p.empty else repr(p.default))
                                         for p in parameters]
print(json.dumps(found))
"""
# Arguments of PyTensor's that are not here, and why.
ABSENT = {
    "overwrite_a": "arrays are never changed in place", "overwrite_b": "the same",
    "tolerate_inplace_aliasing": "the same", "set_instead_of_inc": "that is set_subtensor",
    "opt": "PyTensor's optimizations", "no_zeros_in_input": "the gradient is right with zeros",
    "end": "a name that PyTensor gives up for stop", "steps": "a name that PyTensor gives up for num",
    "assert_nonneg": "checked always", "corrected": "the slope of the formula is the right one",
    "add_names": "gradients have no names", "b_ndim": "lu_solve takes no stacks",
    "null_gradients": "no operation here has a gradient that is not defined",
    "vectorize": "the rows of a Jacobian are computed together always",
    "kind": "a keyword: ways to the same result", "stable": "the same", "order": "arrays have no fields",
    "sorter": "sorted arrays only", "pivoting": "not here yet", "lwork": "PyTensor ignores it",
    "p_indices": "not here yet", "check_finite": "a keyword where it is there", "on_error": "the factor is nan",
    "axes": "the last ones", "sort": "not here yet",
}  # fmt: skip
# Functions whose arguments differ on purpose.
OTHERWISE = {
    "atleast_Nd": "takes several arrays, as NumPy's do", "split": "NumPy's order, by which sizes may be places too",
    "extract_diag": "is `diagonal`", "trace": "has several axes", "eigvalsh": "takes one matrix, as NumPy's does",
}  # fmt: skip
# Defaults that say the same thing, or are spelled otherwise.
ALIKE = {
    ("dtype", None), ("shape", None), ("minlength", "None"), ("optimize", "None"), ("mode", "None"),
    ("check_finite", "True"), ("negative_input", "UNSET"),
}  # fmt: skip


@functools.cache
def theirs():
    done = subprocess.run([sys.executable, "-c", READ, *MODULES], capture_output=True, text=True, check=True)
    return json.loads(done.stdout.splitlines()[-1])


def shared():
    """Functions that both have, with their arguments in both."""
    for path, parameters in theirs().items():
        name = path.rpartition(".")[2]
        places = [ppl.math] if path.startswith("pymc") else [tt, tt.linalg]
        mine = next((getattr(place, name) for place in places if hasattr(place, name)), None)
        if callable(mine) and name not in OTHERWISE:
            own = inspect.signature(mine).parameters
            if not any(p.kind is p.VAR_KEYWORD for p in own.values()):
                yield path, parameters, own


@pytest.mark.usefixtures("pymc5")
def test_arguments_have_pytensors_names_order_and_defaults():
    wrong, seen = [], 0
    for path, parameters, own in shared():
        seen += 1
        names = [p.name for p in own.values() if p.kind in (p.POSITIONAL_OR_KEYWORD, p.POSITIONAL_ONLY)]
        place = 0
        for name, kind, default in parameters:
            if kind in ("VAR_POSITIONAL", "VAR_KEYWORD") or name in ABSENT:
                continue
            if name not in own:
                wrong.append(f"{path}: no argument {name}; there are {', '.join(own)}")
            elif kind == "POSITIONAL_OR_KEYWORD" and names[place : place + 1] != [name]:
                wrong.append(f"{path}: argument {place} is {names[place : place + 1]}, not {name}")
            elif (name, default) not in ALIKE and (name, None) not in ALIKE:
                mine = own[name].default
                if default is not None and (mine is inspect.Parameter.empty or repr(mine) != default):
                    wrong.append(f"{path}: {name} is {mine!r} by default, not {default}")
            place += kind == "POSITIONAL_OR_KEYWORD"
    assert wrong == []
    assert seen > 100
