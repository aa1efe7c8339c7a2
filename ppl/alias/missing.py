"""What is said of a name of PyMC or PyTensor that ppl does not have."""

from __future__ import annotations

from ppl.model.former import FUNCTIONS, hint
from ppl.model.names.elsewhere import WHERE


class AliasError(ImportError):
    """The alias cannot be switched on: the real package is in use already."""


class NotHereYet(ModuleNotFoundError):  # noqa: N818  (it says what is the case)
    """A module or name of PyMC or PyTensor that ppl does not have yet."""


def sentence(path: str, user: str = "") -> str:
    """That ppl has no `path`, with the reason where one is known; `user` is what stands on it."""
    last = path.rpartition(".")[2]
    if path.startswith("pymc") and last in FUNCTIONS:
        return f"{path} is a name of PyMC 3 or 4{hint(last, FUNCTIONS)}"
    reasons = [WHERE[part] for part in reversed(path.split(".")[1:]) if part in WHERE]
    because = f": {reasons[0]}" if reasons else ""
    whose = f"{user}: " if user and not path.endswith(f".{user}") else ""
    return (
        f"{whose}{path} is not in ppl yet, which stands for {path.partition('.')[0]} here{because}. "
        "`with ppl.real():` imports the real packages instead."
    )
