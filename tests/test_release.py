"""What is released: the same bytes each time, and a whole repository in the sdist."""

import hashlib
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from pathlib import Path

import pytest

pytest.importorskip("setuptools", reason="what builds wheels")

ROOT = Path(__file__).resolve().parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


def built(what: str, checkout: Path, place: Path, umask: int = 0o022) -> Path:
    place.mkdir()
    program = f"import os; os.umask({umask}); import backend; print('built', backend.build_{what}({str(place)!r}))"
    known = {key: value for key, value in os.environ.items() if key != "SOURCE_DATE_EPOCH"}
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", program],
        cwd=checkout,
        env=known | {"PYTHONPATH": str(checkout / "release")},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return place / done.stdout.strip().split("built ")[-1]


def digest(file: Path) -> str:
    return hashlib.sha256(file.read_bytes()).hexdigest()


@pytest.fixture(scope="module")
def checkouts(tmp_path_factory):
    """Two clones of this repository, made one after the other."""
    if not (ROOT / ".git").exists():
        pytest.skip("not a git checkout")
    places = [tmp_path_factory.mktemp("first") / "a", tmp_path_factory.mktemp("second") / "another"]
    for place in places:
        subprocess.run(["git", "clone", "-q", "--depth", "1", ROOT.as_uri(), str(place)], check=True)
    return places


@pytest.fixture(scope="module")
def sdist(checkouts, tmp_path_factory):
    return built("sdist", checkouts[0], tmp_path_factory.mktemp("dist") / "d")


def test_two_checkouts_give_the_same_sdist(checkouts, sdist, tmp_path):
    assert digest(built("sdist", checkouts[1], tmp_path / "d", umask=0o077)) == digest(sdist)


def test_checkouts_and_the_sdist_give_the_same_wheel(checkouts, sdist, tmp_path):
    with tarfile.open(sdist) as archive:
        archive.extractall(tmp_path, filter="data")
    (unpacked,) = [place for place in tmp_path.iterdir() if place.is_dir()]
    first = digest(built("wheel", checkouts[0], tmp_path / "first"))
    assert digest(built("wheel", checkouts[1], tmp_path / "second", umask=0o077)) == first
    assert digest(built("wheel", unpacked, tmp_path / "third")) == first


def test_a_copy_without_git_builds_a_wheel_and_refuses_an_sdist(checkouts, tmp_path):
    """What a host gives as an archive of the files."""
    copy = tmp_path / "copy"
    shutil.copytree(checkouts[0], copy, symlinks=True, ignore=shutil.ignore_patterns(".git"))
    assert built("wheel", copy, tmp_path / "d").is_file()
    with pytest.raises(AssertionError, match="an sdist is built from a checkout with git"):
        built("sdist", copy, tmp_path / "e")


def test_the_sdist_is_the_repository(checkouts, sdist):
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=checkouts[0], capture_output=True, text=True).stdout
    with tarfile.open(sdist) as archive:
        names = {member.name.partition("/")[2]: member for member in archive.getmembers()}
    assert set(names) == {*filter(None, listed.split("\0")), "PKG-INFO"}
    assert names["samplers"].issym() and names["samplers"].linkname == "ppl/samplers"


def test_the_wheel_holds_the_package_alone(checkouts, tmp_path):
    wheel = built("wheel", checkouts[0], tmp_path / "d")
    with zipfile.ZipFile(wheel) as archive:
        tops = {name.partition("/")[0] for name in archive.namelist()}
        (information,) = [archive.read(n).decode() for n in archive.namelist() if n.endswith("/METADATA")]
        assert archive.testzip() is None
    assert sorted(tops) == ["ppl", wheel.name.removesuffix("-py3-none-any.whl") + ".dist-info"]
    assert f"Name: {PROJECT['name']}\n" in information


def test_what_says_the_version_says_the_same():
    citation = (ROOT / "CITATION.cff").read_text()
    assert f'version: "{PROJECT["version"]}"' in citation
    version = (ROOT / "ppl/model/version.py").read_text()
    assert PROJECT["version"] in version or "importlib" in version


def test_extras_are_asked_for_by_the_name_of_the_project():
    """`pip install ppl[viz]` would install another project."""
    wrong = []
    for file in [*(ROOT / "ppl").rglob("*.py"), *ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md")]:
        wrong += [f"{file.name}: {found}" for found in re.findall(r"(?<![\w-])ppl\[[a-z]+\]", file.read_text())]
    assert wrong == []
    assert PROJECT["name"] == "ppl-jax"


def test_supported_pythons_are_the_classifiers():
    stated = {text.rpartition(" :: ")[2] for text in PROJECT["classifiers"] if "Python :: 3." in text}
    page = (ROOT / "docs/supported_versions.md").read_text()
    assert stated and all(f"| {version} |" in page for version in stated)
    least = PROJECT["requires-python"].removeprefix(">=")
    assert min(stated, key=lambda v: int(v.split(".")[1])) == least
