"""`profile`: where the time of a first `sample` goes, and what a gradient costs by statement of the model.

The stages are those of `sampling`, made one by one with a clock: the request becomes a task (rewriting, starts), the
task draws (programs compiled, chains), the draws a result. Programs that this process has compiled are set aside
meanwhile, so that what is seen is the first run; those on disk are read, unless they are not to be.
"""

from __future__ import annotations

import contextlib
import inspect
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field
from html import escape
from typing import Any

import numpy as np

import ppl.tensor as tt
from ppl.compile.density import FlatProgram, scalar
from ppl.graph.records import record
from ppl.model.context import model_may_be_first
from ppl.model.inference.request import request
from ppl.model.inference.sampling import sample, waited_for
from ppl.model.inference.strategies import drawn
from ppl.model.inference.task import Task, task_of
from ppl.model.log import silenced
from ppl.model.registry.variable_registry import Books
from ppl.samplers import PROGRAMS
from ppl.samplers.programs.programs import LOOP, Made
from ppl.xla.later import jax, lax, wide

WORDS = {
    "chunk": "chains",
    "ensemble": "chains",
    "rows": "values of every name",
    "values": "what follows from data",
    "expand": "log-density on a line",
}
LEAST_SECONDS, MOST_EVALUATIONS = 0.02, 1 << 20  # of a loop of gradients that is timed
PACKAGES = 4  # whose imports are shown


@record
class Profile:
    """Where the time of a first run goes. All times are seconds, but for gradients, which are in microseconds.

    Examples
    --------
    >>> with pm.Model() as model:
    ...     y = pm.Normal("y", pm.Normal("mu", 0, 10), 1, observed=[1.2, 0.8, 1.4])
    >>> found = pm.profile(model=model, imports=False, draws=100)
    >>> found.drawn_by, found.gradient is None
    ('recovery of what was integrated out', True)
    """

    imports: Mapping[str, float]  # by package, in a process of its own
    stages: Mapping[str, float]  # in their order
    programs: Sequence[Made] = ()
    drawn_by: str = ""
    gradient: float | None = None  # of all that is left to sample; None where no gradient is used
    statements: Mapping[str, float] = field(default_factory=dict)  # of the log-density of each, by itself

    @property
    def total(self) -> float:
        """Of the call of `sample`, and of the imports before it."""
        return sum(self.stages.values()) + sum(self.imports.values())

    def __str__(self) -> str:
        lines = [f"A first run takes {self.total:.2f} s, drawn by {self.drawn_by}"]
        if self.imports:
            lines.append(_line("imports", sum(self.imports.values())))
            lines += [_line(f"  {name}", seconds) for name, seconds in self.imports.items()]
        lines += [_line(name, seconds) for name, seconds in self.stages.items()]
        if self.programs:
            lines.append("Programs, some of them side by side: written out, and compiled or read from disk")
            lines += [
                f"  {WORDS.get(p.what, p.what):28}{p.writing:7.3f} s {p.compiling:7.3f} s" + "  from disk" * p.from_disk
                for p in self.programs
            ]
        if self.gradient is not None:
            lines.append(f"A gradient takes {self.gradient:.3g} µs; of the log-density of each statement by itself")
            longest = sorted(self.statements.items(), key=lambda item: -item[1])
            lines += [f"  {name:28}{time:9.3g} µs" for name, time in longest]
        return "\n".join(lines)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return f"<pre>{escape(str(self))}</pre>"


def _line(name: str, seconds: float) -> str:
    return f"  {name:28}{seconds:7.3f} s"


@model_may_be_first
def profile(*, model: Books | None = None, imports: bool = True, **arguments: Any) -> Profile:
    """Where the time of a first `sample` of a model goes, stage by stage, and what a gradient costs by statement.

    The model is sampled once, as if this process had not met it before: programs that it has compiled are set aside.
    Programs on disk are read, as a first run would; with the environment variable `PPL_DISK_CACHE=0` none are.

    Parameters
    ----------
    model : Model, optional
        The model; that of the `with` block by default.
    imports : bool, default True
        Whether a Python of its own is started to see how long the packages take to import.
    **arguments
        Arguments of `sample`: draws, chains, random_seed and so on.

    Returns
    -------
    Profile
        It prints as a table; `stages`, `programs`, `gradient` and `statements` hold the numbers.

    Examples
    --------
    >>> with pm.Model() as model:
    ...     mu = pm.Normal("mu", 0, 10)
    ...     y = pm.StudentT("y", 4, mu, 1, observed=[1.2, 0.8, 1.4])
    >>> found = pm.profile(model=model, imports=False, draws=100, tune=100, random_seed=1)
    >>> list(found.stages)
    ['rewriting and starts', 'compiling', 'sampling', 'results']
    """
    for name in ("blocking", "progressbar", "quiet"):
        if name in arguments:
            raise TypeError(f"profile() samples quietly and waits for the draws: leave {name}= out")
    bound = inspect.signature(sample).bind(model=model, progressbar=False, quiet=True, **arguments)
    bound.apply_defaults()
    asked = request(sample, bound.arguments)
    with silenced(True), PROGRAMS.set_aside(), _forgotten(asked.model):
        PROGRAMS.made.clear()
        clock = [time.perf_counter()]
        task = task_of(asked)
        clock.append(time.perf_counter())
        draws = drawn(task)
        is_run = hasattr(draws, "watch")
        draws = waited_for(task, draws) if is_run else draws
        clock.append(time.perf_counter())
        task.finish(draws, True)
        clock.append(time.perf_counter())
        made = tuple(PROGRAMS.made)
    begin, drawing, finishing = np.diff(clock).tolist()
    compiling = min(float(draws.compile_seconds), drawing)
    stages = {"rewriting and starts": begin, "compiling": compiling, "sampling": drawing - compiling}
    by = {**task.finish.facts, **getattr(draws, "facts", {})}["drawn_by"]
    gradients = _gradients(task) if is_run and task.starts.dim else (None, {})
    return Profile(_imports() if imports else {}, stages | {"results": finishing}, made, by, *gradients)


@contextlib.contextmanager
def _forgotten(model: Books) -> Iterator[None]:
    """As if the model had not been rewritten yet."""
    before, model.last_posterior = model.last_posterior, None
    try:
        yield
    finally:
        model.last_posterior = before


def _imports() -> dict[str, float]:
    """Seconds that packages take to import for `import ppl`, by the name of the package, the longest first."""
    done = subprocess.run([sys.executable, "-X", "importtime", "-c", "import ppl"], capture_output=True, text=True)
    total: dict[str, float] = {}
    for line in done.stderr.splitlines():
        own, _, name = (line.removeprefix("import time:") + "||").split("|")[:3]
        if own.strip().isdigit():
            package = name.strip().partition(".")[0]
            total[package] = total.get(package, 0.0) + 1e-6 * int(own)
    longest = sorted(total, key=lambda package: -total[package])
    shown = {name: total[name] for name in longest[:PACKAGES]}
    return shown | {"others": sum(total[name] for name in longest[PACKAGES:])}


def _gradients(task: Task) -> tuple[float, dict[str, float]]:
    """Microseconds of a gradient of the log-density, and of the gradient of each of its terms by itself."""
    posterior, slots = task.posterior, task.starts.slots
    position = np.asarray(task.starts.points[0], np.float64)
    of = lambda density: _microseconds(FlatProgram([density], slots, once=posterior.of_data), position)
    terms = {name: of(tt.sum(term)) for name, term in posterior.terms.items()}
    return of(posterior.logp()), terms


def _microseconds(density: FlatProgram, position: np.ndarray) -> float:
    """A gradient's, in a loop of so many that the clock tells."""
    gradient, data = jax.grad(scalar(density)), density.data

    def program(position: Any, count: Any, data: Any) -> Any:
        return lax.fori_loop(0, count, lambda _, x: x + 1e-300 * gradient(x, *data), position)

    with wide():
        arguments = (position, np.int64(1), data)
        run = PROGRAMS.get(("gradients", density.key), lambda: program, arguments, LOOP)
        count, seconds = 1, 0.0
        while True:
            began = time.perf_counter()
            run(position, np.int64(count), data).block_until_ready()
            seconds = time.perf_counter() - began
            if seconds > LEAST_SECONDS or count >= MOST_EVALUATIONS:
                return 1e6 * seconds / count
            count = min(MOST_EVALUATIONS, 4 * count)
