"""Models with named dimensions, by PyMC's names: `import ppl.dims as pmd`.

Variables have dims that operations and families go by, and are nodes of the same graph: rewriting, sampling and results
see the model that would have been written by position.
"""

from typing import Any as _Any

from ppl.dims import families as families
from ppl.dims import math as math
from ppl.dims import model as model
from ppl.dims import transforms as transforms
from ppl.dims.families import DimDistribution as DimDistribution
from ppl.dims.families import PositiveDimDistribution as PositiveDimDistribution
from ppl.dims.families import UnitDimDistribution as UnitDimDistribution
from ppl.dims.families import VectorDimDistribution as VectorDimDistribution
from ppl.dims.model import Data as Data
from ppl.dims.model import Deterministic as Deterministic
from ppl.dims.model import Potential as Potential
from ppl.dims.transforms import IntervalTransform as IntervalTransform
from ppl.dims.transforms import SimplexTransform as SimplexTransform
from ppl.dims.transforms import ZeroSumTransform as ZeroSumTransform
from ppl.xtensor.basic import tensor_from_xtensor as tensor_from_xtensor
from ppl.xtensor.math import dot as dot
from ppl.xtensor.shape import broadcast as broadcast
from ppl.xtensor.shape import concat as concat
from ppl.xtensor.shape import full_like as full_like
from ppl.xtensor.shape import ones_like as ones_like
from ppl.xtensor.shape import zeros_like as zeros_like
from ppl.xtensor.type import as_xtensor as as_xtensor


def __getattr__(name: str) -> _Any:
    return getattr(families, name)


def __dir__() -> list[str]:
    own = [name for name in globals() if not name.startswith("_")]
    return sorted({*own, *(name for name in dir(families) if name[0].isupper())})
