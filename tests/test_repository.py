"""The repository as a stranger finds it: links, lock files, no traces of one machine."""

import os
import re
import subprocess
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement

ROOT = Path(__file__).resolve().parent.parent
MACHINE_PATH = re.compile(r"(?<![\w./:-])/(?:home|root|tmp|work|Users|private|mnt|opt)/\w|\b[A-Z]:\\Users\b")
ADDRESS = re.compile(r"https?://")


def tracked_files() -> list[Path]:
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    if listed.returncode:
        pytest.skip("not a git checkout")
    files = [ROOT / name for name in listed.stdout.split("\0") if name]
    return [f for f in files if f.is_file() and not f.is_symlink()]


@pytest.mark.parametrize("part", ["distributions", "rewrites", "samplers"])
def test_the_root_links_to(part):
    assert os.readlink(ROOT / part) == f"ppl/{part}"
    assert (ROOT / part / "__init__.py").is_file()


def machine_paths(name: str, text: str) -> list[str]:
    lines = text.splitlines()
    return [f"{name}:{n}: {line.strip()}" for n, line in enumerate(lines, 1) if MACHINE_PATH.search(line)]


def test_no_file_names_a_machine_path():
    found = []
    for file in tracked_files():
        try:
            found += machine_paths(str(file.relative_to(ROOT)), file.read_text())
        except UnicodeDecodeError:
            continue  # a picture or an array
    assert not found, "\n".join(found)


def test_a_planted_machine_path_is_found():
    planted = "a = 1\nb = open('" + "/" + "home/ann/data.csv')\nc = 'src" + "/" + "home/x'"
    assert machine_paths("x.py", planted) == ["x.py:2: b = open('" + "/" + "home/ann/data.csv')"]


def lock_files() -> list[Path]:
    return sorted((ROOT / "requirements").glob("*.txt"))


@pytest.mark.parametrize("file", lock_files(), ids=lambda file: file.stem)
def test_the_lock_names_no_host(file):
    assert not ADDRESS.search(file.read_text())


@pytest.mark.parametrize("python", ["3.11", "3.12", "3.13"])
def test_the_lock_satisfies_the_project_file(python):
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    wanted = [Requirement(r) for r in sum(project["optional-dependencies"].values(), project["dependencies"])]
    here = {"python_version": python, "python_full_version": f"{python}.0"}
    locked = {}
    for file in [f for f in lock_files() if f.stem != "oldest"]:  # which stands by itself
        for entry in re.findall(r"^([a-zA-Z].*?) *\\$", file.read_text(), re.MULTILINE):
            requirement = Requirement(entry)
            if not requirement.marker or requirement.marker.evaluate(here):
                assert requirement.name not in locked, f"{requirement.name} is locked twice for Python {python}"
                locked[requirement.name] = str(requirement.specifier).removeprefix("==")
    for requirement in wanted:
        if not requirement.marker or requirement.marker.evaluate(here):
            assert requirement.name in locked, f"{requirement.name}: run requirements/relock.py"
            assert locked[requirement.name] in requirement.specifier, f"{requirement}: run requirements/relock.py"


def test_the_oldest_versions_are_the_least_that_the_project_file_allows():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    locked = (ROOT / "requirements/oldest.txt").read_text()
    for requirement in map(Requirement, project["dependencies"]):
        least = str(requirement.specifier).removeprefix(">=")
        assert re.search(rf"^{requirement.name}=={re.escape(least)}(\.0)*\b", locked, re.MULTILINE), requirement
