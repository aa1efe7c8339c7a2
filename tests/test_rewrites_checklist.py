"""Each row of the checklist, and that its documentation is up to date."""

import importlib.util
from pathlib import Path

import pytest
from checklist_rewrites import CHECKLIST, HOLES

import ppl
import ppl.tensor as tt
from ppl.graph import ancestors
from ppl.rewrites import assume, simplify, strict, text

ROOT = Path(__file__).resolve().parent.parent
ROWS = [item for item in CHECKLIST if item.before is not None]


@pytest.mark.parametrize("item", ROWS, ids=[str(item.number) for item in ROWS])
def test_row(item, monkeypatch):
    monkeypatch.setattr(strict, "on", True)
    assert text(simplify(item.before)) == item.after


@pytest.mark.parametrize("item", HOLES, ids=[str(item.number) for item in HOLES])
def test_hole(item, monkeypatch):
    monkeypatch.setattr(strict, "on", True)
    assert text(simplify(item.before)) == item.after


def test_rows_that_are_no_expression(monkeypatch):
    """34: an entry of a draw has the density of a draw with these entries of the parameters. 39: a loop."""
    monkeypatch.setattr(strict, "on", True)
    mu, s, y = tt.tensor("mu", "float64", (4,)), tt.tensor("s", "float64", (4,)), tt.dscalar("y")
    of_entry, of_entries = ppl.logp(ppl.Normal.dist(mu, s)[2], y), ppl.logp(ppl.Normal.dist(mu[2], s[2]), y)
    assert simplify(of_entry) is simplify(of_entries)
    v, a = tt.dvector("v"), assume(tt.dscalar("a"), positive=True)
    loop = ppl.scan(lambda e, total: total + tt.log(a * tt.exp(e)), v, tt.as_tensor(0.0), return_updates=False)
    (outside,) = [node for node in ancestors(simplify(loop)) if node.op.name == "log"]
    assert text(outside) == "log(a)"


def test_the_documentation_is_up_to_date():
    spec = importlib.util.spec_from_file_location("generate_rewrites", ROOT / "docs" / "generate_rewrites.py")
    generate = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(generate)
    assert generate.PAGE.read_text() == generate.page(), "run: python docs/generate_rewrites.py"
