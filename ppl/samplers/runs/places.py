"""Where a run is saved: a folder, or a URL of an object store, by small files that are written whole and by Zarr.

A URL is that of a bucket and what the run is called there, as "s3://bucket/run". It is opened by obstore or, where that
is not installed, by fsspec; "memory://run" is kept by this process, for tests.
"""

import contextlib
import importlib
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Protocol

from ppl.samplers.runs.errors import StorageError

_in_memory: dict[str, Any] = {}  # stores of this process, by URL


class Place(Protocol):
    """A folder or a bucket."""

    def get(self, name: str) -> bytes | None:
        """What is kept under a name; None where there is nothing."""

    def put(self, name: str, content: bytes) -> None:
        """Keep all of it under a name, or leave what was there."""

    def zarr(self, name: str, mode: str) -> Any:
        """The Zarr group of a name."""

    def store(self) -> Any:
        """What Zarr and xarray open: a path, or a store of Zarr."""


def is_url(path: Any) -> bool:
    """Whether a run is to be saved elsewhere than in a folder."""
    return isinstance(path, str) and "://" in path


def place_of(path: str | os.PathLike[str]) -> Place:
    """The place that a path or a URL means."""
    return Bucket(str(path)) if is_url(path) else Folder(Path(path))


class Folder:
    """A folder of this machine."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def get(self, name: str) -> bytes | None:
        """What a file holds."""
        file = self.path / name
        return file.read_bytes() if file.exists() else None

    def put(self, name: str, content: bytes) -> None:
        """A new file, which then takes the old one's place."""
        file = self.path / name
        file.parent.mkdir(parents=True, exist_ok=True)
        fresh = file.with_suffix(f".new{file.suffix}")
        fresh.write_bytes(content)
        fresh.replace(file)

    def zarr(self, name: str, mode: str) -> Any:
        """A group in a folder of its own."""
        return zarr_package().open_group(self.path / name, mode=mode)

    def store(self) -> Any:
        """The folder."""
        return str(self.path)


class Bucket:
    """A place at a URL."""

    def __init__(self, url: str) -> None:
        self.url = url.rstrip("/")
        zarr_package()
        self._objects: Any = _opened(self.url)

    def get(self, name: str) -> bytes | None:
        """What an object holds."""
        with as_of_a_disk():
            try:
                return bytes(self._objects.get(name))
            except FileNotFoundError:
                return None

    def put(self, name: str, content: bytes) -> None:
        """Objects are written whole."""
        with as_of_a_disk():
            self._objects.put(name, content)

    def zarr(self, name: str, mode: str) -> Any:
        """A group under a prefix."""
        return zarr_package().open_group(self.store(), path=name, mode=mode)

    def store(self) -> Any:
        """The store of Zarr."""
        return self._objects.zarr()


@contextlib.contextmanager
def as_of_a_disk() -> Iterator[None]:
    """What goes wrong elsewhere is told as what goes wrong with a disk, by OSError."""
    try:
        yield
    except OSError:
        raise
    except Exception as error:  # stores have errors of their own
        raise OSError(f"{type(error).__name__}: {error}") from error


class _Obstore:
    """Objects by obstore."""

    def __init__(self, url: str) -> None:
        self._package = importlib.import_module("obstore")
        stores = importlib.import_module("obstore.store")
        if url.startswith("memory://"):
            self._store = _in_memory.setdefault(url, stores.MemoryStore())
        elif url.startswith("file://"):
            self._store = stores.LocalStore(url.removeprefix("file://"), mkdir=True)
        else:
            self._store = stores.from_url(url)

    def get(self, name: str) -> Any:
        return self._package.get(self._store, name).bytes()

    def put(self, name: str, content: bytes) -> None:
        self._package.put(self._store, name, content)

    def zarr(self) -> Any:
        return importlib.import_module("zarr.storage").ObjectStore(self._store)


class _Fsspec:
    """Objects by fsspec."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._files, self._root = importlib.import_module("fsspec.core").url_to_fs(url)

    def get(self, name: str) -> Any:
        return self._files.cat_file(f"{self._root}/{name}")

    def put(self, name: str, content: bytes) -> None:
        self._files.makedirs(f"{self._root}/{name}".rpartition("/")[0], exist_ok=True)
        self._files.pipe_file(f"{self._root}/{name}", content)

    def zarr(self) -> Any:
        return importlib.import_module("zarr.storage").FsspecStore.from_url(self._url)


def _opened(url: str) -> Any:
    """Objects by what is installed."""
    for kind in (_Obstore, _Fsspec):
        try:
            return kind(url)
        except ImportError:
            continue
    raise StorageError(f"The checkpoint {url} is a URL, which obstore or fsspec opens: install ppl-jax[stores].")


def zarr_package() -> Any:
    """The package, or an error that says how to come by it."""
    try:
        zarr = importlib.import_module("zarr")
    except ImportError:
        zarr = None
    if zarr is None or int(zarr.__version__.split(".")[0]) < 3:
        raise StorageError(
            "storage='zarr' needs the package zarr, version 3 or later: install ppl-jax[zarr]. "
            "storage='npy' needs nothing."
        )
    return zarr
