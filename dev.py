#!/usr/bin/env python3
"""Set up and run ppl with nothing but Python and pip.

python3 dev.py demo                        run the main example; its plots go to examples/output/
python3 dev.py test [PYTEST ...]           run the tests, all but the slow statistical ones
python3 dev.py test --full [SLICE ...]     run the slow ones too, in slices, with a report; what is green for this very
                                           tree is not run again
python3 dev.py test --oldest [PYTEST ...]  the tests with the oldest dependencies that pyproject.toml allows
python3 dev.py lint                        formatting, lint, types
python3 dev.py bench [--keep] [NAME ...]   run benchmarks/NAME.py, or all of them, against the rivals;
                                           --keep writes what they print to benchmarks/results/
python3 dev.py docs [--quick]              build the site into docs/build/html/, warnings as errors, every link checked
python3 dev.py dist                        wheel and sdist into dist/, the same bytes each time, with their hashes
python3 dev.py house [--follow]            folders, lines, arrows and circles of the imports, as text and as Mermaid;
                                           --follow: the files that a model visits in pm.sample, by a run

The first run makes a private environment in .venv (or .deps) with pinned versions; nothing else is touched.
"""

import sys

if sys.version_info < (3, 11):
    sys.exit("dev.py: ppl needs Python 3.11 or newer, this is %d.%d" % sys.version_info[:2])

import hashlib
import os
import re
import shutil
import subprocess
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent
VENV, DEPS = ROOT / ".venv", ROOT / ".deps"
GROUPS = ["run", "test", "docs", "bench"]  # each lock file contains the one before it
NO_NETWORK = re.compile(
    r"name resolution|getaddrinfo|nodename nor servname|dns error|error sending request|unreachable|"
    r"NewConnectionError|ConnectTimeout|ConnectionRefused|Connection refused|ProxyError",
    re.IGNORECASE,
)


class SetupError(Exception):
    """What is wrong, in one line."""


# The environment


def venv_python():
    return VENV / ("Scripts/python.exe" if os.name == "nt" else "bin/python")


def stamp(group):
    """What an installed group depends on; a change of any of it installs again."""
    locks = [ROOT / f"requirements/{g}.txt" for g in GROUPS[: GROUPS.index(group) + 1]]
    parts = [p.read_bytes() for p in (*locks, ROOT / "pyproject.toml")]
    return hashlib.sha256(b"\0".join([*parts, sys.version.encode(), sys.base_prefix.encode()])).hexdigest()


def is_ready(place, group):
    """True if this group, or one that contains it, is installed there as locked."""
    if place == VENV and not venv_python().exists():
        return False
    files = [(place / f"ppl-{g}.stamp", g) for g in GROUPS[GROUPS.index(group) :]]
    return any(file.is_file() and file.read_text() == stamp(g) for file, g in files)


def attempt(log, *command):
    """Run a quiet command, its output kept in `log`; True if it succeeded."""
    words = [str(word) for word in command]
    env = dict(os.environ, PIP_REQUIRE_VIRTUALENV="0", PIP_USER="0", PIP_DISABLE_PIP_VERSION_CHECK="1")
    done = subprocess.run(words, cwd=ROOT, env=env, stdin=subprocess.DEVNULL, capture_output=True, text=True)
    log.append(f"$ {' '.join(words)}\n{done.stdout}{done.stderr}")
    return done.returncode == 0


def same_python():
    """True if .venv was made by the Python that runs now."""
    config = VENV / "pyvenv.cfg"
    text = config.read_text() if config.is_file() else ""
    version = re.search(r"^version(?:_info)? *= *(\d+\.\d+)", text, re.MULTILINE)
    return bool(version and version[1] == "%d.%d" % sys.version_info[:2] and venv_python().exists())


def install(group):
    """Install a group by the first way that works: uv, pip in a venv, pip into a folder. Returns the folder."""
    log = []
    locked = ["--no-deps", "--require-hashes", "-r", ROOT / f"requirements/{group}.txt"]
    if VENV.exists() and not same_python():
        print(f"dev.py: {VENV.name} belongs to another Python, making it anew", flush=True)
        shutil.rmtree(VENV)

    uv = shutil.which("uv")
    if (
        uv
        and (VENV.exists() or attempt(log, uv, "venv", "--python", sys.executable, VENV))
        and attempt(log, uv, "pip", "install", "--python", venv_python(), *locked)
    ):
        return VENV

    fresh = not VENV.exists()
    if attempt(log, sys.executable if fresh else venv_python(), "-m", *(["venv", VENV] if fresh else ["ensurepip"])):
        if attempt(log, venv_python(), "-m", "pip", "install", *locked):
            return VENV
        raise SetupError(explain(log))
    if fresh:  # half a venv is what Debian leaves without its python3-venv
        shutil.rmtree(VENV, ignore_errors=True)

    if not attempt(log, sys.executable, "-m", "pip", "--version"):
        raise SetupError("uv, venv and pip are all missing: install one of them (Debian: python3-venv and python3-pip)")
    shutil.rmtree(DEPS, ignore_errors=True)
    if attempt(log, sys.executable, "-m", "pip", "install", "--target", DEPS, *locked):
        return DEPS
    raise SetupError(explain(log))


def reason(log):
    """Why an installation failed, in one line."""
    errors = [line.partition(":")[2].strip() for line in log.splitlines() if line.lower().startswith("error:")]
    if "No space left" in log:
        return "the disk is full"
    if "certificate" in log.lower():
        return "a certificate was not accepted on the way to the package index"
    if NO_NETWORK.search(log):
        return "no network: the package index could not be reached"
    return errors[-1] if errors else "pip failed"


def explain(log):
    """The reason, and where the whole story is."""
    (ROOT / ".dev.log").write_text("\n".join(log))
    return f"{reason(log[-1])} (details in .dev.log)"


def environment(group):
    """Return (python, environment variables) with `group` installed."""
    place = next((p for p in (VENV, DEPS) if is_ready(p, group)), None)
    if place is None:
        print(f"dev.py: installing pinned packages ({group}); the first time takes a minute or two", flush=True)
        start = time.monotonic()
        place = install(group)
        (place / f"ppl-{group}.stamp").write_text(stamp(group))
        print(f"dev.py: installed into {place.name}/ in {time.monotonic() - start:.0f} s", flush=True)
    paths = [ROOT] if place == VENV else [ROOT, DEPS]
    env = dict(os.environ, PYTHONPATH=os.pathsep.join(map(str, paths)), PYTHONNOUSERSITE="1")
    env.pop("PYTHONHOME", None)
    return (str(venv_python()) if place == VENV else sys.executable), env


# The commands


def run(group, *command):
    python, env = environment(group)
    return subprocess.run([python, *command], cwd=ROOT, env=env).returncode


def demo(args):
    example, output = ROOT / "examples/demo.py", ROOT / "examples/output"
    if not example.is_file():
        raise SetupError("examples/demo.py is missing: is this a whole checkout?")
    output.mkdir(exist_ok=True)
    start = time.time()
    failed = run("run", str(example), *args)
    pictures = sorted(p.relative_to(ROOT) for p in output.glob("*.png") if p.stat().st_mtime >= start - 1)
    if pictures and not failed:
        print("Pictures: " + ", ".join(map(str, pictures)))
    return failed


def with_oldest():
    """From here on there is one environment, that of the oldest versions."""
    global VENV, DEPS, GROUPS
    VENV, DEPS, GROUPS = ROOT / ".venv-oldest", ROOT / ".deps-oldest", ["oldest"]


def test(args):
    if "--full" in args:
        return full([a for a in args if a != "--full"])
    if "--oldest" in args:
        with_oldest()
        args = [a for a in args if a != "--oldest"]
    command = ["-m", "pytest"]
    if "-m" not in args:
        command += ["-m", "not slow"]
    if not args:  # a chosen few tests start sooner in one process
        command += PARALLEL
    return run("oldest" if "oldest" in GROUPS else "test", *command, *args)


# The full suite


FULL = ROOT / ".full"  # what slices printed, and which of them are green
PARALLEL = ["-n", str(min(os.cpu_count() or 1, 8))]


def slices():
    """The slices of the full suite: the fast tests, and the slow ones of each file that has some."""
    tests = ROOT / "tests"
    has_slow = re.compile(r"mark\.slow|some_slow|every\(")
    has = lambda file: file.parent.name == "laws" or has_slow.search(file.read_text())  # conftest marks cases of laws
    files = sorted(filter(has, tests.rglob("test_*.py")))
    names = {str(f.relative_to(tests).with_suffix("")).replace(os.sep, "/"): f for f in files}
    return {"fast": ["-m", "not slow"], **{name: ["-m", "slow", str(f)] for name, f in names.items()}}


def tree():
    """A digest of every file that a test could depend on."""
    listed = subprocess.run(
        ["git", "ls-files", "-co", "--exclude-standard"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout.splitlines()
    found = hashlib.sha256(sys.version.encode())
    for name in sorted(listed):
        if (ROOT / name).is_file():
            found.update(name.encode() + b"\0" + (ROOT / name).read_bytes())
    return found.hexdigest()[:16]


def full(chosen):
    """Run slices that are not green yet, and print what is known of each."""
    known = slices()
    unknown = [name for name in chosen if name not in known]
    if unknown:
        raise SetupError(f"no slice {', '.join(unknown)}: there are {', '.join(known)}")
    place = FULL / tree()
    place.mkdir(parents=True, exist_ok=True)
    python, env = environment("test")
    for name in chosen or known:
        log = place / f"{name.replace('/', '.')}.txt"
        if log.is_file() and told(log)[0] == "green":
            continue
        print(f"dev.py: {name} ...", flush=True)
        with log.open("w") as out:
            done = subprocess.run(
                [python, "-m", "pytest", *PARALLEL, *known[name]], cwd=ROOT, env=env, stdout=out, stderr=out
            )
            out.write(f"\nexit {done.returncode}\n")
    return report(place, known)


def told(log):
    """The verdict of a slice and the line that sums it up; pytest's 5 is a file none of whose tests was slow."""
    lines = log.read_text().split("\n") if log.is_file() else []
    codes = [line.split()[1] for line in lines[-3:] if line.startswith("exit ")]
    summary = next(
        (
            line.strip("= ")
            for line in reversed(lines)
            if re.search(r"\d+ (passed|failed|deselected)|no tests ran", line)
        ),
        "",
    )
    if not codes:
        return "not run" if not lines else "cut off", summary
    return "green" if codes[0] in "05" else "red", summary


def report(place, known):
    """Print a line a slice; the status is that of the worst."""
    results = {name: told(place / f"{name.replace('/', '.')}.txt") for name in known}
    width = max(map(len, known))
    for name, (verdict, summary) in results.items():
        print(f"{name:{width}}  {verdict:8} {summary}")
    left = [name for name, (verdict, _) in results.items() if verdict != "green"]
    print(
        f"{len(known) - len(left)} of {len(known)} slices are green for this tree; what they printed is in {FULL.name}/"
    )
    return 1 if left else 0


def lint(args):
    if args:
        raise SetupError("lint takes no arguments")
    steps = ["ruff format --check .", "ruff check .", "mypy"]
    failed = [step for step in steps if run("test", "-m", *step.split())]
    if failed:
        print("dev.py: found fault: " + ", ".join(failed))
    return 1 if failed else 0


def bench(args):
    known = {p.stem: p for p in sorted((ROOT / "benchmarks").glob("[!_]*.py"))}
    if not known:
        raise SetupError("there are no benchmarks yet")
    names = [a for a in args if a != "--keep"]
    unknown = [name for name in names if name not in known]
    if unknown:
        raise SetupError(f"no benchmark {', '.join(unknown)}: there are {', '.join(known)}")
    kept = "benchmarks/_kept.py"
    return max([run("bench", *((kept, n) if "--keep" in args else (str(known[n]),))) for n in (names or known)])


def docs(args):
    return run("docs", "docs/site/build.py", *args)


def dist(args):
    if args:
        raise SetupError("dist takes no arguments")
    place = ROOT / "dist"
    place.mkdir(exist_ok=True)
    build = "import sys; sys.path.insert(0, 'release'); import backend; backend.build_%s('dist')"
    failed = run("run", "-c", build % "sdist") or run("run", "-c", build % "wheel")
    for file in sorted(place.glob("ppl_jax-*")):
        print(f"{hashlib.sha256(file.read_bytes()).hexdigest()}  {file.relative_to(ROOT)}")
    return failed


def house(args):
    if "--follow" in args:
        return run("run", "docs/house.py", *args)
    return subprocess.run([sys.executable, "docs/house.py", *args], cwd=ROOT).returncode  # reads files, no more


COMMANDS = {"demo": demo, "test": test, "lint": lint, "bench": bench, "docs": docs, "dist": dist, "house": house}


def main(words):
    if not words or words[0] not in COMMANDS:
        print(__doc__.strip())
        return 0 if words and words[0] in ("-h", "--help", "help") else 2
    try:
        return COMMANDS[words[0]](words[1:])
    except SetupError as why:
        print(f"dev.py: {why}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
