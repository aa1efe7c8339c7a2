"""The alias switched on and off: `as_pymc()`, `real()`, and IPython's `%load_ext ppl`."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator
from types import ModuleType
from typing import Any

from ppl.alias.facade import ROOTS, Facade, Finder, is_aliased
from ppl.alias.missing import AliasError

FINDER = Finder()
Modules = dict[str, ModuleType]
_before: set[str] = set()  # the modules that were there when the alias was switched on
_kept_real: Modules = {}  # the real packages, loaded inside `real()`


class as_pymc:  # noqa: N801  (read as a function)
    """Let `pymc` and `pytensor` be ppl from now on, or inside a `with` block::

        with ppl.as_pymc():
            import pymc  # pymc.Normal is ppl.Normal

    Without `with` it stays on until `restore()` of what it returns. Where the alias is on already, nothing changes.
    """

    def __init__(self) -> None:
        self.switched_on = FINDER not in sys.meta_path
        if not self.switched_on:
            return
        for root in ROOTS:
            if root in sys.modules:
                raise AliasError(_refusal(root))
        _before.clear()
        _before.update(sys.modules)
        sys.meta_path.insert(0, FINDER)

    def restore(self) -> None:
        """Switch the alias off: `sys.modules` is as it was, without the packages that were imported on top of ppl."""
        if self.switched_on and FINDER in sys.meta_path:
            sys.meta_path.remove(FINDER)
            _take_out()
            sys.modules.update(_kept_real)
            _kept_real.clear()
        self.switched_on = False

    def __enter__(self) -> as_pymc:
        return self

    def __exit__(self, *_: object) -> None:
        self.restore()


@contextlib.contextmanager
def real() -> Iterator[None]:
    """Inside this block `pymc` and `pytensor` are the real packages, also where the alias is on."""
    if FINDER not in sys.meta_path:
        yield
        return
    sys.meta_path.remove(FINDER)
    aliased = _take_out()
    sys.modules.update(_kept_real)
    try:
        yield
    finally:
        _kept_real.update(_take_out())
        sys.modules.update(aliased)
        sys.meta_path.insert(0, FINDER)


def load_ipython_extension(ipython: Any) -> None:
    """`%load_ext ppl`: `pymc` and `pytensor` are ppl in this notebook."""
    _of_notebook.append(as_pymc())


def unload_ipython_extension(ipython: Any) -> None:
    """`%unload_ext ppl`: later imports of `pymc` and `pytensor` give the real packages."""
    while _of_notebook:
        _of_notebook.pop().restore()


_of_notebook: list[as_pymc] = []


def _refusal(root: str) -> str:
    origin = getattr(sys.modules[root], "__file__", None) or "no file"
    remedy = (
        "Restart the kernel and run `%load_ext ppl` before anything else."
        if "IPython" in sys.modules and hasattr(sys, "ps1")
        else f"Call ppl.as_pymc() before the first import of {root}, also by other packages, or run `python -m ppl "
        "script.py`."
    )
    return f"{root} is imported already ({origin}), and one program cannot use both it and ppl in its place. {remedy}"


# --- modules that come and go


def _take_out() -> Modules:
    """Remove the packages that ppl stands for, and those imported since that use them; return what was removed."""
    new = {name: module for name, module in sys.modules.items() if name not in _before and not _is_own(name)}
    roots = {name.partition(".")[0] for name in new if is_aliased(name)} | {"ppl"}
    while more := {name.partition(".")[0] for name, module in new.items() if _uses(module, roots)} - roots:
        roots |= more
    removed = {name: module for name, module in new.items() if name.partition(".")[0] in roots}
    for name, module in removed.items():
        del sys.modules[name]
        parent, _, last = name.rpartition(".")
        if parent in sys.modules and sys.modules[parent].__dict__.get(last) is module:
            delattr(sys.modules[parent], last)
    return removed


def _is_own(name: str) -> bool:
    return name == "__main__" or name.partition(".")[0] == "ppl"


def _uses(module: ModuleType, roots: set[str]) -> bool:
    """Whether a module holds a module, class or function of one of these packages."""
    held = list(vars(module).values()) if isinstance(module, ModuleType) else []
    return any(isinstance(value, Facade) or _package_of(value) in roots for value in held)


def _package_of(value: Any) -> str:
    if isinstance(value, ModuleType):
        return value.__name__.partition(".")[0]
    defined_in = getattr(value, "__module__", "") if isinstance(value, type) or callable(value) else ""
    return defined_in.partition(".")[0] if isinstance(defined_in, str) else ""
