"""Facts of a family stand in its own file: nowhere else is there a table by families or by their names."""

import ast
from pathlib import Path

import pytest

import ppl
from ppl.distributions import FAMILIES

PRODUCT = Path(ppl.__file__).parent
ELSEWHERE = {  # with the reason
    "alias/testing.py": "names in a package, which stand for others while a test runs",
    "bridge/compounds.py": "distributions of PyMC by the names of its classes",
    "bridge/elementwise.py": "operations of PyTensor by the names of its classes, some of which families have too",
    "rewrites/marginalization/conjugate/pairs.py": "priors and their pairs are theorems about two families",
}


def tables(source: str) -> list[int]:
    """The lines of dictionaries that have a family, or the name of one, for a key."""
    return [
        node.lineno
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.Dict | ast.DictComp) and any(map(is_family, keys(node)))
    ]


def keys(node: ast.Dict | ast.DictComp) -> list[ast.expr]:
    return [node.key] if isinstance(node, ast.DictComp) else [key for key in node.keys if key is not None]


def is_family(key: ast.expr) -> bool:
    """A family by its class, `pm.Normal` and `FAMILIES["Normal"]` among these, or by its name."""
    if isinstance(key, ast.Subscript):
        return is_family(key.slice)
    name = key.id if isinstance(key, ast.Name) else key.attr if isinstance(key, ast.Attribute) else None
    return (key.value if isinstance(key, ast.Constant) else name) in FAMILIES


def compared(source: str) -> list[int]:
    """The lines that compare the name of a class with that of a family."""
    return [
        node.lineno
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.Compare)
        and any(isinstance(x, ast.Attribute) and x.attr == "__name__" for x in (node.left, *node.comparators))
        and any(
            isinstance(x, ast.Constant) and x.value in FAMILIES
            for side in (node.left, *node.comparators)
            for x in ast.walk(side)
        )
    ]


FILES = [p for p in sorted(PRODUCT.rglob("*.py")) if "distributions" not in p.relative_to(PRODUCT).parts]


@pytest.mark.parametrize("find", [tables, compared])
def test_no_table_by_families_stands_outside_their_files(find):
    found = {str(p.relative_to(PRODUCT)): lines for p in FILES if (lines := find(p.read_text(encoding="utf-8")))}
    assert found.keys() - ELSEWHERE.keys() == set(), (
        f"{found}: declare the fact in the file of each family, see CONTRIBUTING.md, and ask the class for it"
    )


def test_such_tables_are_seen():
    assert tables("X = {Normal: 1}") and tables('X = {"a": 1, "Normal": 2}') and tables("X = {pm.Normal: 1}")
    assert tables('X = {**y, FAMILIES["Gamma"]: 1}') and not tables('X = {"mu": Normal, "normal": 1}')
    assert compared('rv.family.__name__ == "Normal"') and compared('rv.family.__name__ in ("Gamma", "Beta")')
    assert not compared("rv.family.__name__ == name")


def test_what_is_excused_is_there():
    assert all(tables((PRODUCT / name).read_text(encoding="utf-8")) for name in ELSEWHERE)
