"""Write docs/rewrites.md: the rules as theorems, and the checklist with what each row becomes."""

from __future__ import annotations

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests"))

from checklist_rewrites import CHECKLIST, HOLES, Item  # noqa: E402

from ppl.distributions import FAMILIES  # noqa: E402
from ppl.rewrites import everything, text  # noqa: E402
from ppl.rewrites.engine.rule import Safety  # noqa: E402
from ppl.rewrites.marginalization.conjugate.compounds import COMPOUNDS  # noqa: E402
from ppl.rewrites.marginalization.conjugate.pairs import PAIRS  # noqa: E402
from ppl.rewrites.marginalization.planning.bijections import END_SEEN  # noqa: E402

PAGE = ROOT / "docs" / "rewrites.md"
INTRODUCTION = """# Rewriting

`ppl.simplify(expression)` gives the simplest form of an expression, `ppl.explain(expression)` the steps that led to it;
every compiled function goes through the same rules. A rule is an equation; what it needs to be known of its operands is
proved from constants, from supports and from `ppl.assume(x, positive=True)`, or the rule does not apply.

This page is written by `python docs/generate_rewrites.py`.
"""
MODELS = """`pm.explain(model)` tells what sampling rewrites of a model, and why the rest stays. What a loop wrote
one by one (variables, observations, potentials, the steps of processes) becomes the entries of vectors. Variables that
nothing observed depends on are drawn afterwards; labels of finitely many values are summed out, whatever family their
rows are of; normal variables in linear expressions go in Gaussian blocks, given labels where few of these steer them
(levels between change points, spikes and slabs); rows that repeat, or of which sums are enough, become statistics; a
covariance that is a sum of two known matrices is decomposed once. Beside these there are:"""


def checklist() -> list[str]:
    """The forty rewrites most worth having; each row is a case of tests/test_rewrites_checklist.py."""
    return ["## The checklist", "", *_table(CHECKLIST, "test_row")]


def holes() -> list[str]:
    """What other systems leave as it is; each row is a case of the same test."""
    return ["## What PyTensor 2.38 leaves as it is", "", *_table(HOLES, "test_hole")]


def _table(items: list[Item], test: str) -> list[str]:
    lines = ["| | rewrite | before → after | | tests |", "|---|---|---|---|---|"]
    for item in items:
        forms = "<br>".join(f"`{_cell(text(before))}` → `{_cell(after)}`" for before, after in item.forms)
        by = [f"{test}[{item.number}]"] if item.forms else []
        ticked = "✓" if by or item.tests else ""
        tests = ", ".join([*by, *item.tests])
        lines.append(f"| {item.number} {ticked} | {_cell(item.title)} | {forms} | {_cell(item.note)} | {tests} |")
    return lines


def rules() -> list[str]:
    """Every rule as its theorem; all are checked by tests/laws/test_rules.py."""
    lines = ["## The rules", ""]
    for safety in Safety:
        chosen = [rule for rule in everything if rule.safety is safety]
        lines += [f"### {safety.name.replace('_', ' ')}: {safety.value}", "", "| rule | theorem |", "|---|---|"]
        lines += [f"| {rule.name} | {_cell(rule.doc)} |" for rule in chosen] + [""]
    return lines


NOT_REWRITTEN = {
    "a Poisson number seen through several Binomial visits": """its values have no end, and a sum that is cut off is not
        exact. With the limit in the model, `Truncated("N", Poisson.dist(mu), upper=60)`, it is summed out""",
    "an intercept and group effects, α + θⱼ, split into mean and deviations": """a Gaussian block takes both; with other
        likelihoods the split by hand gained nothing (109 effective draws for a thousand steps, without it 107)""",
    "groups of Student's t law, taken apart into normal ones of gamma precisions": """their block would take them, but
        as many precisions stay. 20 groups of 5 rows and 50 of 20 had three quarters and half of the effective draws
        for a step of NUTS, each at about twice the time; 8 of one row each had ten times as many (three seeds each,
        by hand). Write them so where rows are that few""",
    "chains for parts of about equal arithmetic": """parts that nothing joins are drawn apart where they are
        numbers, by quadrature, or one has three quarters of the arithmetic and that is much. A hurdle model of two
        hierarchies had 1.1 times as many effective draws a second with two chains, two equal regressions 0.6 to 1.0
        times, and first runs took 1.6 and 2.1 s longer (by hand)""",
    "Poisson with a log-normal rate, Bernoulli with a logit-normal one, a half-Cauchy scale": "no closed form is known",
    "sums of log-normal, Student's t or Beta draws, of Gamma draws with different rates": """no closed form is known; a
        law of the same mean and variance is not the same law""",
    "Laplace approximations": "they are not exact",
}


def models() -> list[str]:
    """What sampling rewrites in a model, by the declarations of the theorems."""
    lines = ["## Models", "", MODELS, "", "| of a model | becomes |", "|---|---|"]
    for pair in PAIRS:
        inner = "c·θ" if pair.scaled else "θ"
        slot = inner if pair.power == 1.0 else f"({inner})^{pair.power:g}"
        row = f"θ ~ {pair.prior}, y ~ {pair.child} with {pair.slot} = {slot}"
        lines.append(f"| {row} | θ integrated out: {pair.prior} again, given y |")
    lines.append("| θ ~ Normal, y ~ Normal with mu = c·θ + b | a Gaussian block |")
    for rule in COMPOUNDS:
        doc = " ".join((rule.state.__doc__ or "").split())
        lines.append(f"| x ~ {rule.latent.__name__} in {rule.slot} of one {rule.child.__name__} row | {_cell(doc)} |")
    lines.append("| θ ~ Pareto, y ~ Uniform with upper = θ | θ integrated out: Pareto again, given the largest y |")
    lines.append(
        "| f ~ MvNormal of an unknown covariance K, rows y ~ Normal(c·f[p] + b, σ), not more than f has entries | "
        "f integrated out: y ~ MvNormal with the covariance cc'·K[p, p] + σ²I, and f comes back; another beside it "
        "after it |"
    )
    lines.append(
        "| f ~ KroneckerNormal or MatrixNormal, one row y ~ Normal(c·f + b, σ) for each entry | "
        "f integrated out: y ~ KroneckerNormal with the noise σ, and f comes back in the basis of the factors |"
    )
    lines.append("| V ~ Wishart, y ~ MvNormal with tau = V | V integrated out: Wishart again, given y |")
    for family in [name for name, family in sorted(FAMILIES.items()) if family.thinned]:
        lines.append(f"| N ~ {family}, y ~ Binomial(N, p) | y ~ {family}; the rest of N comes back |")
    changed = [
        (name, to.base.__name__, to.words)
        for name, family in sorted(FAMILIES.items())
        if (to := family.change_of_variables)
    ]
    for family, becomes, words in (*changed, ("Censored", "Poisson", END_SEEN)):
        lines.append(f"| observed {family} | {becomes} in {words.format('y')}, where that opens a theorem |")
    lines += ["", "| not rewritten | why |", "|---|---|"]
    return lines + [f"| {_cell(what)} | {_cell(' '.join(why.split()))} |" for what, why in NOT_REWRITTEN.items()]


def _cell(line: str) -> str:
    return line.replace("|", "∣")


def page() -> str:
    return "\n".join([INTRODUCTION, *checklist(), "", *holes(), "", *models(), "", *rules()]).rstrip() + "\n"


if __name__ == "__main__":
    PAGE.write_text(page())
