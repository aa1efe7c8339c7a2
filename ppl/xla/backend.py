"""Whether JAX can be used here: the platform that was asked for is there, and no process that used it was forked.

JAX's threads do not come along into a forked child, which then waits for them for ever; and of a platform that is not
there JAX says little. So what runs programs looks first: `if not backend.ready: backend.check()`.
"""

import os

from ppl.xla.later import jax
from ppl.xla.private import devices_are_open, platforms

ready = False  # whether programs can be run, as far as is known
_used_at_fork = False
_lost = False  # this process was forked from one that had used JAX


def check() -> None:
    """Raise where no program can be run, and say what to do about it."""
    global ready
    if ready:
        return
    if _lost:
        raise RuntimeError(
            f"This process ({os.getpid()}) was forked from one that had used JAX, whose threads do not come along: a"
            " program would wait for them for ever. Start processes by multiprocessing.get_context('spawn') or"
            " get_context('forkserver') (joblib's default, loky, will do), or fork before anything is computed."
        )
    _open()
    ready = True


def _open() -> None:
    """Let JAX open its devices; where it cannot, say what was asked for and what is there."""
    try:
        jax.devices()
    except (AssertionError, RuntimeError) as error:
        asked = jax.config.jax_platforms
        if not asked:
            raise
        by = "JAX_PLATFORMS" if os.environ.get("JAX_PLATFORMS") == asked else 'jax.config "jax_platforms"'
        there = _there(asked)
        more = f" (JAX says: {error})" if str(error) else ""
        raise RuntimeError(
            f"{by} asks for {asked!r}, and JAX has no such device here, but {' and '.join(there)}: leave it out, set it"
            f" to {there[0]!r}, or install what JAX needs for {asked!r}{more}."
        ) from None


def _there(asked: str) -> list[str]:
    """The platforms that JAX finds by itself. Nothing stays open: the choice is left to the user."""
    try:
        jax.config.update("jax_platforms", None)
        return platforms()
    finally:
        jax.config.update("jax_platforms", asked)


def _before_fork() -> None:
    global _used_at_fork
    _used_at_fork = devices_are_open()


def _in_child() -> None:
    global ready, _lost
    _lost = _lost or _used_at_fork
    ready = ready and not _lost


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before_fork, after_in_child=_in_child)
