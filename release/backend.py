"""How wheel and sdist are built: by setuptools, with the same bytes each time.

pip and `python -m build` find this through pyproject.toml; `python3 dev.py dist` calls it. The sdist is the repository
as git knows it, links included, so that what runs in a checkout runs in it; setuptools would leave out all but the
package. Times are that of the commit, owners and modes are plain, and the order is that of the names.
"""

from __future__ import annotations

import gzip
import io
import os
import shutil
import subprocess
import tarfile
import tempfile
import time
import zipfile
from pathlib import Path
from typing import Any

from setuptools import build_meta
from setuptools.build_meta import (
    build_editable,
    get_requires_for_build_editable,
    get_requires_for_build_wheel,
    prepare_metadata_for_build_editable,
    prepare_metadata_for_build_wheel,
)

__all__ = [
    "build_editable",
    "build_sdist",
    "build_wheel",
    "get_requires_for_build_editable",
    "get_requires_for_build_wheel",
    "prepare_metadata_for_build_editable",
    "prepare_metadata_for_build_wheel",
]

ROOT = Path(__file__).resolve().parent.parent
FIRST_TIME = 315532800  # 1980, before which no zip file has a time


def git(*words: str) -> str | None:
    """What git says of this checkout; nothing, where this is no checkout of its own."""
    if not (ROOT / ".git").exists() or shutil.which("git") is None:
        return None
    done = subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True)
    return done.stdout if done.returncode == 0 else None


def when() -> int:
    """The time that every file gets: SOURCE_DATE_EPOCH, the commit's, or that of the sdist this was unpacked from."""
    said = os.environ.get("SOURCE_DATE_EPOCH") or git("log", "-1", "--format=%ct")
    if said:
        return max(FIRST_TIME, int(said))
    kept = next(file for file in (ROOT / "PKG-INFO", ROOT / "pyproject.toml") if file.is_file())
    return max(FIRST_TIME, int(kept.stat().st_mtime))


def metadata() -> tuple[str, bytes]:
    """`name-version`, and the text of PKG-INFO."""
    with tempfile.TemporaryDirectory() as place:
        folder = prepare_metadata_for_build_wheel(place)
        return folder.removesuffix(".dist-info"), (Path(place) / folder / "METADATA").read_bytes()


def build_sdist(sdist_directory: str, config_settings: Any = None) -> str:
    listed = git("ls-files", "-z")
    if listed is None:
        raise SystemExit("an sdist is built from a checkout with git: this is none")
    name, information = metadata()
    files = sorted(filter(None, listed.split("\0")))
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w", format=tarfile.PAX_FORMAT) as archive:
        add(archive, f"{name}/PKG-INFO", information)
        for file in files:
            path = ROOT / file
            if path.is_symlink():
                add(archive, f"{name}/{file}", link=os.readlink(path))
            else:
                add(archive, f"{name}/{file}", path.read_bytes(), runs=os.access(path, os.X_OK))
    target = Path(sdist_directory) / f"{name}.tar.gz"
    with target.open("wb") as out, gzip.GzipFile("", "wb", 9, out, mtime=when()) as compressed:
        compressed.write(packed.getvalue())
    return target.name


def add(archive: tarfile.TarFile, name: str, content: bytes = b"", link: str = "", runs: bool = False) -> None:
    entry = tarfile.TarInfo(name)
    entry.mtime, entry.size, entry.mode = when(), len(content), 0o755 if runs else 0o644
    if link:
        entry.type, entry.linkname, entry.mode = tarfile.SYMTYPE, link, 0o777
    archive.addfile(entry, io.BytesIO(content))


def build_wheel(wheel_directory: str, config_settings: Any = None, metadata_directory: str | None = None) -> str:
    name = build_meta.build_wheel(wheel_directory, config_settings, metadata_directory)
    wheel = Path(wheel_directory) / name
    with zipfile.ZipFile(wheel) as built:
        contents = {entry: built.read(entry) for entry in sorted(built.namelist(), key=metadata_last)}
    with zipfile.ZipFile(wheel, "w", zipfile.ZIP_DEFLATED) as archive:
        for entry, content in contents.items():
            member = zipfile.ZipInfo(entry, time.gmtime(when())[:6])
            member.external_attr, member.compress_type, member.create_system = 0o100644 << 16, zipfile.ZIP_DEFLATED, 3
            archive.writestr(member, content)
    return name


def metadata_last(entry: str) -> tuple[bool, bool, str]:
    """Packages first, then what describes them, the list of all files at the end, as the format recommends."""
    return ".dist-info/" in entry, entry.endswith("/RECORD"), entry
