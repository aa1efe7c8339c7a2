"""Runs on disk: draws as they are made, and states to go on from.

A checkpoint is a directory: ``run.json`` says what was asked for; each chain has a folder with one .npy table for
positions, statistics, ... (or one array of the Zarr group ``draws.zarr``) and ``state.npz``, the sampler's state after
the first ``done`` rows. Rows are written after each dispatch; the state twice a second and at the end, to a new file
that then takes the old one's place. So a killed process leaves a state whose rows are all there, and rows beyond it are
written again, the same to the last bit.
Nothing is pickled: reading a checkpoint runs no code.
"""

import io
import json
import os
import time
from pathlib import Path
from typing import Any

import numpy as np

from ppl.samplers.programs.packing import on_host
from ppl.samplers.runs.chain import Chain
from ppl.samplers.runs.errors import StorageError
from ppl.samplers.runs.places import is_url, place_of, zarr_package
from ppl.samplers.runs.rows import PARSING, FileRows, MemoryRows, Rows, Shape
from ppl.samplers.runs.run import Divergence
from ppl.samplers.runs.zarr_rows import ZarrRows

VERSION = 4
STATE_SECONDS, STATE_SECONDS_AWAY = 0.5, 30.0  # between two states that are saved, in a folder and elsewhere
RUN = "run.json"
SHOWN = ("the argument ", "the version ")  # parts whose values are short enough to be shown
FREE = {"cores", "draws", "identity"}  # settings that do not reach the random numbers, and what is compared by itself
MOST_TOLD = 5  # differences in one error


class MemoryStore:
    """Everything is kept in memory and nothing survives the process."""

    def __init__(self, place: str | None = None) -> None:
        self.place = place  # where another process saves the run

    def rows(self, chain: int, name: str, shape: Shape) -> Rows:
        """A table in memory."""
        return MemoryRows(shape)

    def restore(self, chain: Chain) -> bool:
        """There is never anything to go on from."""
        return False

    def saved(self, chain: Chain, last: bool) -> None:
        """Nothing to do."""

    def close(self) -> None:
        """Nothing to do."""


STORAGES = ("npy", "zarr")


class DirectoryStore:
    """A checkpoint directory, or a place at a URL."""

    def __init__(self, path: str | os.PathLike[str], settings: dict[str, Any], resume: bool, storage: str) -> None:
        if storage == "zarr":
            zarr_package()  # asked for before anything is written
        self.path, self._storage = str(path), storage
        self._kept, self._away = place_of(path), is_url(path)
        self.place: str | None = self.path
        self._tables: dict[int, dict[str, FileRows | ZarrRows]] = {}
        self._written: dict[int, float] = {}
        described = json.loads(json.dumps({"version": VERSION, "storage": storage, **settings}))
        if resume:
            _compare(self.path, _described(path), described)
            return
        if holds_run(path):
            raise StorageError(
                f"{self.path} already holds a run. Give resume={self.path!r} to go on with it, or another directory."
            )
        try:
            self._kept.put(RUN, json.dumps(described, indent=1).encode())
        except OSError as error:
            raise StorageError(f"Cannot write the checkpoint {self.path}: {error}.") from error

    def rows(self, chain: int, name: str, shape: Shape) -> Rows:
        """A table in the chain's folder."""
        try:
            table = self._table(chain, name, shape)
        except (OSError, ValueError) as error:
            raise StorageError(f"Cannot use the checkpoint {self.path}: {error}.") from error
        self._tables.setdefault(chain, {})[name] = table
        return table

    def _table(self, chain: int, name: str, shape: Shape) -> FileRows | ZarrRows:
        if self._storage == "zarr":
            return ZarrRows(self._kept, chain, name, shape, self._away)
        folder = Path(self.path) / f"chain-{chain}"
        folder.mkdir(exist_ok=True)
        return FileRows(folder / f"{name}.npy", shape)

    def restore(self, chain: Chain) -> bool:
        """Give ``chain`` back what it had. False if it had nothing."""
        name = f"chain-{chain.number}/state.npz"
        file, content = f"{self.path}/{name}", self._kept.get(name)
        if content is None:
            return False
        try:
            with PARSING, np.load(io.BytesIO(content), allow_pickle=False) as saved:
                facts = json.loads(bytes(saved["facts"]).decode())
                found = tuple(saved[f"state{i}"] for i in range(len(chain.layout.blank)))
            tables = {name: (int(count), int(checksum)) for name, (count, checksum) in facts["tables"].items()}
            done, counts = int(facts["done"]), [n + 0 for n in facts["counts"]]
            divergences = [Divergence(int(d), np.asarray(x, float)) for d, x in facts["divergences"]]
        except Exception as error:  # damage fails in many ways: BadZipFile, zlib.error, struct.error, KeyError, ...
            raise StorageError(f"{file} cannot be read: {error}. Start afresh in another directory.") from error
        for name, (count, checksum) in tables.items():
            if not self._tables[chain.number][name].verified(count, checksum):
                raise StorageError(
                    f"The table {name} of {self.path}/chain-{chain.number} is damaged: its first {count} rows do not"
                    " have the checksum that was saved with them. Start afresh in another directory."
                )
        if any(a.shape != b.shape or a.dtype != b.dtype for a, b in zip(chain.layout.blank, found, strict=True)):
            raise StorageError(f"{file} belongs to another sampler: its state has other shapes.")
        chain.state = found
        chain.done, chain.divergences = done, divergences
        chain.n_diverging, chain.n_gradients, chain.elapsed = counts
        return True

    def saved(self, chain: Chain, last: bool) -> None:
        """Called after rows were written: save the state too if it is time."""
        now = time.monotonic()
        seconds = STATE_SECONDS_AWAY if self._away else STATE_SECONDS
        if not last and now - self._written.get(chain.number, 0.0) < seconds:
            return
        self._written[chain.number] = now
        facts = {
            "done": chain.done,
            "counts": [chain.n_diverging, chain.n_gradients, chain.elapsed],
            "divergences": [(d.draw, d.position.tolist()) for d in chain.divergences],
            "tables": {n: (t.rows_written, t.checksum) for n, t in self._tables[chain.number].items()},
        }
        content = io.BytesIO()
        np.savez(
            content,
            facts=np.frombuffer(json.dumps(facts).encode(), np.uint8),
            **{f"state{i}": vector for i, vector in enumerate(on_host(chain.state))},
        )
        try:
            for table in self._tables[chain.number].values():
                table.flush()
            self._kept.put(f"chain-{chain.number}/state.npz", content.getvalue())
        except OSError as error:
            raise disk_error(self.path, error) from error

    def close(self) -> None:
        """Let go of the files; what is in them can still be read."""
        for tables in self._tables.values():
            for table in tables.values():
                table.close()


def disk_error(path: str, error: OSError) -> StorageError:
    """A full or failing disk, in words."""
    return StorageError(
        f"The checkpoint {path} cannot be written: {error.strerror or error}. What was saved before is intact:"
        f" make room and go on with resume={path!r}."
    )


def holds_run(path: Any) -> bool:
    """Whether a run is saved there."""
    return place_of(path).get(RUN) is not None


def seed_of_run(path: Any) -> int | None:
    """The seed of the run that is saved somewhere; None where there is none."""
    return int(_described(path).get("seed", 0)) if holds_run(path) else None


def _described(path: Any) -> dict[str, Any]:
    """What a saved run says of itself."""
    try:
        content = place_of(path).get(RUN)
        return json.loads(content if content is not None else b"there is no run.json")
    except (OSError, ValueError) as error:
        raise StorageError(f"{path} is not a checkpoint that can be resumed: {error}.") from error


def _compare(path: str, saved: dict[str, Any], asked: dict[str, Any]) -> None:
    found = _differences(saved.get("identity") or {}, asked.get("identity") or {})
    if found and saved.get("version") == asked["version"]:
        more = "" if len(found) <= MOST_TOLD else f"; and {len(found) - MOST_TOLD} more"
        raise StorageError(
            f"{path} holds a run of another model, other data or another plan: {'; '.join(found[:MOST_TOLD])}"
            f"{more}. Resume with what it was made with, or give another directory."
        )
    for name in sorted((saved.keys() | asked.keys()) - FREE):
        if saved.get(name) != asked.get(name):
            raise StorageError(
                f"{path} was made with {name}={saved.get(name)!r}, now it is {asked.get(name)!r}; the draws"
                " would not be those of one run. Resume with what it was made with."
            )


def _differences(saved: dict[str, str], asked: dict[str, str]) -> list[str]:
    """What differs between two runs, in words."""
    new = [f"{name} is new" for name in asked if name not in saved]
    gone = [f"{name} is gone" for name in saved if name not in asked]
    other = [name for name in asked if name in saved and asked[name] != saved[name]]
    shown = [
        f"{name} was {saved[name]}, now {asked[name]}" if name.startswith(SHOWN) else f"{name} differs"
        for name in other
    ]
    return new + gone + shown
