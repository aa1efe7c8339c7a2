"""From a job to its result: where its draws are stored, and who waits for it."""

import os
from collections.abc import Callable
from typing import Any

import numpy as np

from ppl.samplers.runs.checkpoint import STORAGES, DirectoryStore, MemoryStore
from ppl.samplers.runs.driver import Handle
from ppl.samplers.runs.errors import StorageError
from ppl.samplers.runs.job import Job, Store
from ppl.samplers.runs.places import is_url
from ppl.samplers.runs.progress import display_for
from ppl.samplers.runs.run import Run
from ppl.xla import backend
from ppl.xla.meshes import agreed, is_first, several_processes


def launch(job: Job, *, progress: bool | str | None, blocking: bool) -> Run | Handle:
    """Run the job; Ctrl-C returns what is finished. Without ``blocking`` its handle comes back at once."""
    backend.check()
    display = display_for(progress)
    handle = Handle(job).start()
    return handle.watch(display) if blocking else handle


def store_for(
    checkpoint: str | os.PathLike[str] | None,
    resume: str | os.PathLike[str] | None,
    storage: str | None,
    settings: dict[str, Any],
    mesh: Any = None,
) -> Store:
    """Memory, a new directory, or one to go on from."""
    if checkpoint is not None and resume is not None and os.fspath(checkpoint) != os.fspath(resume):
        raise ValueError("resume goes on with a checkpoint in its own directory, so checkpoint need not be given.")
    path = resume if resume is not None else checkpoint
    kind = storage_for(storage, path)
    make = lambda: MemoryStore() if path is None else DirectoryStore(path, settings, resume is not None, kind)
    return make() if mesh is None or not several_processes() else _of_the_first(make, path)


def _of_the_first(make: Callable[[], Store], path: str | os.PathLike[str] | None) -> Store:
    """What `make` gives in the first process, which writes for all; where it fails there, all fail."""
    if is_first():
        try:
            store = make()
        except BaseException:
            agreed(np.uint8(False))
            raise
        agreed(np.uint8(True))
        return store
    if not agreed(np.uint8(False)):
        raise StorageError(f"The first process cannot use {path}; its own error says why.")
    return MemoryStore(None if path is None else str(path))


def storage_for(storage: str | None, path: str | os.PathLike[str] | None) -> str:
    """How draws are saved: as asked, or as suits the place. A kind that there is not, or one without a place, is
    refused."""
    if storage is None:
        return "zarr" if is_url(path) else STORAGES[0]
    if storage not in STORAGES:
        raise ValueError(f"storage must be one of {', '.join(STORAGES)}, got {storage!r}.")
    if path is None and storage != STORAGES[0]:
        raise ValueError(f"storage={storage!r} says how draws are saved on disk, so a directory must be given too.")
    if storage == STORAGES[0] and is_url(path):
        raise ValueError(f"storage={storage!r} needs a directory; at a URL, {path}, draws are kept by storage='zarr'.")
    return storage


def cores_for(cores: int | None, chains: int) -> int:
    """How many chains run at a time."""
    return min(chains, cores or os.cpu_count() or 1)
