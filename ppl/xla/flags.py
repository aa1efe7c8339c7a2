"""The one XLA flag that makes loops of small operations fast on CPU.

XLA's CPU runtime starts each small operation inside a loop as a kernel of its own. One of its passes folds a whole
loop into a single kernel, but by default only loops that touch less than a kilobyte. Raising that limit makes NUTS on
small models 3 to 16 times faster. The option is read once, when the first device is used, and cannot be given for a
single program; so it is set when this package is imported. Whatever else stands in XLA_FLAGS is kept, and a limit
chosen by the user wins. ``PPL_NO_XLA_FLAGS=1`` leaves the environment alone.
"""

import logging
import os

from ppl.xla.private import devices_are_open

OPTION = "xla_cpu_small_while_loop_byte_threshold"
LIMIT = 1_000_000_000
GROUP = "--xla_backend_extra_options="
OPT_OUT = "PPL_NO_XLA_FLAGS"

_told = False


def apply() -> bool:
    """Put the option into XLA_FLAGS; True when the flags that the backend reads contain it."""
    flags = os.environ.get("XLA_FLAGS", "")
    if OPTION in flags:
        return True
    if os.environ.get(OPT_OUT, "") not in ("", "0"):
        return False
    if devices_are_open():
        _tell_once()
        return False
    os.environ["XLA_FLAGS"] = with_option(flags)
    return True


def with_option(flags: str) -> str:
    """``flags`` with the loop limit added; a group of backend options that is already there is extended."""
    setting = f"{OPTION}={LIMIT}"
    words = flags.split()
    for i, word in enumerate(words):
        if word.startswith(GROUP):
            return " ".join([*words[:i], f"{word},{setting}", *words[i + 1 :]])
    return " ".join([*words, GROUP + setting])


def _tell_once() -> None:
    global _told
    if _told:
        return
    _told = True
    logging.getLogger("ppl").warning(
        "JAX was already in use when ppl was imported, so the XLA flag that makes sampling small models on CPU several"
        " times faster cannot be set any more. Import ppl before the first JAX computation, or start Python with"
        " XLA_FLAGS=%s. (%s=1 silences this notice and leaves the flags alone.)",
        with_option(os.environ.get("XLA_FLAGS", "")),
        OPT_OUT,
    )
