"""What PyMC says of the models of this folder, kept in a file: log-densities and gradients at four points.

`python tests/bridge/kept.py` writes the file anew, for models that were changed or are new.
"""

from __future__ import annotations

import hashlib
import inspect
import json
import sys
import warnings
from pathlib import Path
from typing import Any

import models_by_family
import models_by_op
import numpy as np
from against_pymc import books, in_double_precision, points_of, theirs_compiled

from ppl.bridge import from_pymc

FILE = Path(__file__).parent.parent / "golden" / "bridge_densities.json"
TABLES = (models_by_family, models_by_op)
MODELS = {name: build for table in TABLES for name, build in table.MODELS.items()}
BY_A_CONSTANT = models_by_family.BY_A_CONSTANT | models_by_op.BY_A_CONSTANT


def source_of(name: str) -> str:
    """A digest of the code of a model and what it closes over, however it is laid out in lines."""
    build = MODELS[name]
    functions = [build, *[cell.cell_contents for cell in build.__closure__ or ()]]
    codes = [f.__code__ for f in functions if inspect.isfunction(f)]
    return hashlib.sha256("\n".join(map(_told, codes)).encode()).hexdigest()[:16]


def _told(code: Any) -> str:
    inner = [_told(c) if inspect.iscode(c) else repr(c) for c in code.co_consts]
    return f"{code.co_code.hex()} {code.co_names} {inner}"


def built(pymc: Any, name: str) -> Any:
    """A model of PyMC."""
    import pytensor.tensor as pt

    with warnings.catch_warnings(), in_double_precision(), pymc.Model() as model:
        warnings.simplefilter("ignore")
        MODELS[name](pymc, pt)
    return model


def told(pymc: Any, name: str) -> dict[str, Any]:
    """What PyMC says of a model."""
    model = built(pymc, name)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        made = from_pymc(model)
        evaluate = theirs_compiled(model)
        rows = [(at, evaluate(at)) for at in points_of(model, made)]
    points = [
        {"at": {k: v.tolist() for k, v in at.items()}, "values": [np.asarray(v).tolist() for v in values]}
        for at, values in rows
    ]
    return {"source": source_of(name), "books": books(model), "points": points}


def kept() -> dict[str, Any]:
    return json.loads(FILE.read_text()) if FILE.exists() else {}


def write(found: dict[str, Any]) -> None:
    FILE.write_text("{\n" + ",\n".join(f"{json.dumps(k)}: {json.dumps(v)}" for k, v in found.items()) + "\n}\n")


if __name__ == "__main__":
    import pymc
    import pytensor

    pytensor.config.cxx = ""
    before, found = kept(), {}
    for name in MODELS:
        known = before.get(name, {})
        found[name] = known if known.get("source") == source_of(name) else told(pymc, name)
        write(before | found)
    write(found)
    print(f"{len(found)} models", file=sys.stderr)
