"""Formulas of means and variances in LaTeX, from the expressions that families declare."""

from __future__ import annotations

import ast
import math

import ppl
import ppl.tensor as tt

GREEK = set("alpha beta gamma delta eta kappa lambda mu nu omega phi psi rho sigma tau".split(" "))
NAMED = {"lam": r"\lambda", "inf": r"\infty", "nan": r"\text{undefined}", "mu1": r"\mu_1", "mu2": r"\mu_2"}
CALLS = {
    "gammaln": r"\log\Gamma\left({}\right)",
    "betaln": r"\log B\left({}, {}\right)",
    "log": r"\log\left({}\right)",
    "log1p": r"\log\left(1 + {}\right)",
    "expm1": r"\left(e^{{{}}} - 1\right)",
    "sqrt": r"\sqrt{{{}}}",
    "exp": "e^{{{}}}",
}
KNOWN = {math.pi: r"\pi", math.sqrt(2 / math.pi): r"\sqrt{2/\pi}", math.sqrt(math.pi / 2): r"\sqrt{\pi/2}"}
KNOWN |= {
    1 - 2 / math.pi: r"\left(1 - 2/\pi\right)",
    2 / math.pi: r"\tfrac{2}{\pi}",
    2 - math.pi / 2: r"\left(2 - \pi/2\right)",
}
KNOWN |= {0.5772156649015329: r"\gamma", 0.42920367320510344: r"\left(2 - \pi/2\right)"}
LONGEST = 230  # of a formula in LaTeX; a longer one teaches nothing


def moment(family: type, fact: str) -> str | None:
    """The mean or variance of a family in LaTeX; None where it has none, or none that is short."""
    declared = getattr(family, fact)
    if not declared:
        return None
    try:
        expression = declared(*[tt.dscalar(name) for name in family.params])
        text = latex(ppl.pprint(expression))
    except (Exception, SyntaxError):  # of vectors and tables, whose moments are no formula of numbers
        return None
    return text if len(text) <= LONGEST else None


def latex(formula: str) -> str:
    """A formula that `pprint` wrote, in LaTeX; a SyntaxError or KeyError where it has more than arithmetic."""
    return _written(ast.parse(formula, mode="eval").body)


def _written(tree: ast.expr) -> str:
    match tree:
        case ast.Constant(value):
            return next((text for number, text in KNOWN.items() if abs(number - value) < 1e-12), f"{value:g}")
        case ast.Name(name):
            return NAMED.get(name) or (f"\\{name}" if name in GREEK else name.replace("_", r"\_"))
        case ast.UnaryOp(ast.USub(), operand):
            return f"-{_term(operand)}"
        case ast.BinOp(left, ast.Pow(), right):
            base = _written(left)
            return f"{base if isinstance(left, ast.Name) else _bracketed(base)}^{{{_written(right)}}}"
        case ast.BinOp(left, ast.Div(), right):
            return rf"\frac{{{_written(left)}}}{{{_written(right)}}}"
        case ast.BinOp(left, ast.Mult(), right):
            first, second = _term(left), _term(right)
            return f"{first} \\cdot {second}" if second[0].isdigit() else f"{first}\\,{second}"
        case ast.BinOp(left, ast.Add(), right):
            return f"{_written(left)} + {_written(right)}"
        case ast.BinOp(left, ast.Sub(), right):
            return f"{_written(left)} - {_term(right)}"
        case ast.Call(ast.Name("switch"), [condition, yes, ast.Name("inf" | "nan" as no)]):
            otherwise = NAMED[no]
            return rf"{_written(yes)} \quad\text{{for }} {_written(condition)},\text{{ else }} {otherwise}"
        case ast.Call(ast.Name("exp"), [ast.Call(ast.Name("gammaln"), [inner])]):
            return rf"\Gamma\left({_written(inner)}\right)"
        case ast.Call(ast.Name(name), arguments):
            return CALLS[name].format(*map(_written, arguments))
        case ast.Compare(left, [ast.Gt()], [right]):
            return f"{_written(left)} > {_written(right)}"
    raise SyntaxError("more than arithmetic")


def _term(tree: ast.expr) -> str:
    sum_of_terms = isinstance(tree, ast.BinOp) and isinstance(tree.op, ast.Add | ast.Sub)
    return _bracketed(_written(tree)) if sum_of_terms else _written(tree)


def _bracketed(text: str) -> str:
    return rf"\left({text}\right)"
