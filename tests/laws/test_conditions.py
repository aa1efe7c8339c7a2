"""Every condition asked for in the code of rules, and where terms are collected, is needed there.

Each place in the code where a condition is asked is found by running all examples of all rules. Then each is taken for
granted in turn, as if it had been forgotten, and some example must get another value.
"""

from __future__ import annotations

import contextlib
import re
import sys
import warnings
from pathlib import Path
from typing import NamedTuple

import numpy as np
from arithmetic_forms import EXPRESSIONS
from rule_cases import Case, case, run

import ppl.tensor as tt
from ppl import rewrites
from ppl.graph import Attrs, Node
from ppl.rewrites import everything, strict
from ppl.rewrites.books.simplify import normal_forms
from ppl.rewrites.engine.rule import Safety
from ppl.rewrites.facts.facts import ASSUME, CONDITIONS
from ppl.rewrites.sharing.lower import lowered

ROOT = Path(rewrites.__file__).parent
NUMBERS = [-1.3, -0.4, 0.0, 0.3, 1.0, 2.7, 1.7, np.inf, -np.inf, np.nan]
MATRICES = [
    lambda a: a, lambda a: a @ a.T + np.eye(len(a)), lambda a: -a @ a.T - np.eye(len(a)), np.tril, np.triu,
    lambda a: np.diag(np.diag(a)),
]  # fmt: skip


class Site(NamedTuple):
    """A place in the code where a condition is asked."""

    file: str
    line: int
    condition: str


class Watch:
    """Which conditions are asked and not met, and where; at one place the answer is always yes."""

    def __init__(self, forgotten: Site | None = None) -> None:
        self.forgotten, self.unmet = forgotten, set()

    @contextlib.contextmanager
    def on(self):
        original = {name: condition.holds for name, condition in CONDITIONS.items()}
        try:
            for condition in CONDITIONS.values():
                object.__setattr__(condition, "holds", self._asked(condition.name, condition.holds))
            yield self
        finally:
            for name, condition in CONDITIONS.items():
                object.__setattr__(condition, "holds", original[name])

    def _asked(self, name, holds):
        def asked(fact):
            frame = sys._getframe(1)
            while frame.f_code.co_filename.endswith("facts.py"):  # in the name of others
                frame = frame.f_back
            file = Path(frame.f_code.co_filename)
            site = Site(file.name, frame.f_lineno, name)
            if file.parent.name != "books" and file != ROOT / "arithmetic" / "arithmetic.py":
                return holds(fact)
            if site == self.forgotten:
                return True
            if not (answer := holds(fact)):
                self.unmet.add(site)
            return answer

        return asked


def cases():
    """Examples with each of their conditions known, known but for being a number, and unknown."""
    for rule in everything:
        book = everything if rule.safety is Safety.nan_unsafe else everything.safe()
        for example in rule.examples():
            yield book, case(example)
            for name, condition in example.conditions.items():
                yield book, case(example, without=[name])
                yield book, case(example, without=[name], known={name: condition.fact})
    for build in EXPRESSIONS:
        for known in (None, "nonnegative", "positive", "nonzero"):
            x, y = tt.dscalar("x"), tt.dscalar("y")
            of_x = x if known is None else Node(ASSUME, (x,), Attrs(fact=CONDITIONS[known].fact))
            yield everything.safe(), Case(build(of_x, y), {"x": x, "y": y}, {})


def rewritten(book, c, watch):
    with watch.on():
        return lowered(normal_forms([c.expression], book))[0][0]


def points(c, rng):
    """Values that meet no condition in particular."""
    for _ in range(200):
        values = {}
        for name, x in c.inputs.items():
            shape = tuple(4 if dim is None else dim for dim in x.type.shape)
            drawn = rng.normal(0, 1.5, shape)
            if x.dtype == "bool":
                drawn = drawn > 0
            elif x.dtype[0] == "i":
                drawn = rng.integers(0, 3, shape)
            elif len(shape) == 2 and shape[0] == shape[1]:
                drawn = MATRICES[rng.integers(len(MATRICES))](drawn)
            elif len(shape) < 2:
                drawn = np.where(rng.random(shape) < 0.7, rng.choice(NUMBERS, shape), drawn)
            values[name] = np.asarray(drawn, x.dtype)
        yield values


def differs(c, new, rng):
    for values in points(c, rng):
        before, after = run([c.expression, new], c, values)
        if not np.allclose(before, after, rtol=1e-9, atol=1e-12, equal_nan=True):
            return True
    return False


def asked_in_code():
    """Every line of the rules, and of the arithmetic, that asks for a condition."""
    files = [*ROOT.glob("books/*.py"), ROOT / "arithmetic" / "arithmetic.py"]
    lines = [(file.name, i, line) for file in files for i, line in enumerate(file.read_text().split("\n"), 1)]
    return {(name, i) for name, i, line in lines if re.search(r"\w\.holds\(|facts\.all\(", line)}


def test_no_condition_may_be_forgotten(monkeypatch):
    monkeypatch.setattr(strict, "on", False)  # a rule that lacks its condition may also fail, or go on for ever
    suspects: dict[Site, list] = {}
    for book, c in cases():
        watch = Watch()
        new = rewritten(book, c, watch)
        for site in watch.unmet:
            suspects.setdefault(site, []).append((book, c, new))
    reached = {(site.file, site.line) for site in suspects}
    assert not (never := sorted(asked_in_code() - reached)), f"no example asks in vain at {never}"
    survivors = []
    for site, seen in sorted(suspects.items()):
        rng = np.random.default_rng(site.line)
        for book, c, new in seen:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                mutant = rewritten(book, c, Watch(site))
            if mutant is not new and differs(c, mutant, rng):
                break
        else:
            survivors.append(site)
    assert not survivors, "\n".join(map(str, survivors))


def test_a_condition_that_is_asked_for_in_vain_is_found(monkeypatch):
    """The law above sees through: without the watch's answer nothing changes, so such a place would survive."""
    x = tt.dscalar("x")
    c = Case(tt.sqrt(x - x), {"x": x}, {})
    watch = Watch()
    new = rewritten(everything.safe(), c, watch)
    assert watch.unmet
    assert not differs(c, new, np.random.default_rng(0))
