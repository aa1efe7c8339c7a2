"""ppl: a PyMC-compatible probabilistic programming backend."""

import builtins as _builtins
import types as _types
import typing as _typing

from ppl import opening as _opening
from ppl.xla import flags as _flags

if _typing.TYPE_CHECKING:  # at run time they come when the first of them is asked for
    from ppl.public import *  # noqa: F403
    from ppl.public import __version__ as __version__

_flags.apply()  # XLA reads its flags once, when the first device is used
_opening.wait()


def __getattr__(name: str) -> _typing.Any:
    return _opening.find(name)


def __dir__() -> list[str]:
    _opening.now()
    return sorted(globals())


if not isinstance(_builtins.__import__, _types.BuiltinFunctionType):  # who watches imports looks at modules at once
    _opening.now()
