"""A page for each family: what it is, density, support, moments, parameters, a picture, an example that has run."""

from __future__ import annotations

import contextlib
import inspect
import io
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from docstrings import markdown
from formulas import moment
from reference import call_of, short
from settings import NUMBERS, Written, first_of

import ppl as pm

POINTS = 240


def page(name: str, pictures: Path) -> str:
    """The page of one family, in Markdown; its picture is written beside it."""
    family = pm.FAMILIES[name]
    lines = [f"# {name}", "", f"```````{{py:class}} {call_of(name, family)}", "", body(inspect.getdoc(family) or "")]
    lines += ["", facts(family), "", parameters(family), "```````", ""]
    if draw_picture(name, pictures / f"{name}.svg"):
        lines += [f"![density and distribution function of {name}](pictures/{name}.svg)", ""]
    if code := example(name):
        lines += ["**Example**", "", "```python", code, "```", "", "```text", output_of(code), "```", ""]
    return "\n".join(lines)


def body(doc: str) -> str:
    return markdown(doc)


def facts(family: Any) -> str:
    """Support, mean and variance, as the family declares them."""
    support = "depends on the parameters" if inspect.isfunction(family.support) else f"{family.support!r}"
    rows = ["| fact | value |", "|---|---|", f"| support | {support} |"]
    for fact in ("mean", "variance"):
        formula = moment(family, fact)
        shown = (
            f"${formula}$" if formula else "computed; the formula is long" if getattr(family, fact) else "not declared"
        )
        rows.append(f"| {fact} | {shown} |")
    found = [word for word, fact in DECLARED.items() if getattr(family, fact)]
    return "\n".join([*rows, f"| computed here | {', '.join(found)} |"])


DECLARED = {
    "`logp`": "logp",
    "`logcdf`": "logcdf",
    "`icdf`": "has_quantile",
    "draws": "sample",
    "mode": "mode",
    "entropy": "entropy",
}


def parameters(family: Any) -> str:
    """Domains and defaults, and the other parametrizations."""
    domains = {name: (p.domain, p.default) for name, p in family.params.items()}
    rows = ["| parameter | domain | default |", "|---|---|---|"]
    rows += [
        f"| `{name}` | {domain!r} | {'' if default is None else short(default)} |"
        for name, (domain, default) in domains.items()
    ]
    others = []
    for other in family.alternatives:
        given = [f"`{n}` ({other.domains[n]!r})" if n in other.domains else f"`{n}`" for n in other.takes]
        others.append(f"- {', '.join(given)}")
    for condition in family.requirements:
        rows.append(f"| condition | {condition.words} | |")
    text = "\n".join(rows) if domains else "No parameters are declared by a domain."
    return text + ("\n\nOr by other parameters:\n\n" + "\n".join(others) if others else "")


def example(name: str) -> str | None:
    """A program of a few lines: draws of the family, and its log-density at one of them."""
    given = first_of(name)
    if given is None:
        return None
    call = f"x = pm.{name}.dist({', '.join(f'{k}={written(v)}' for k, v in given.items())})"
    head = ["import numpy as np", "import ppl as pm", ""]
    if name == "LKJCholeskyCov":  # three values: the factor, the correlations, the standard deviations
        return "\n".join([*head, call, "print(pm.draw(x[0], random_seed=1).round(3))"])
    ask = "print(pm.logp(x, value).eval().round(3))"
    return "\n".join([*head, call, "value = pm.draw(x, random_seed=1)", "print(np.round(value, 3))", ask])


def written(value: Any) -> str:
    if isinstance(value, np.ndarray):
        return f"np.array({np.round(value, 4).tolist()})"
    if isinstance(value, list) and value and isinstance(value[0], np.ndarray):
        return f"[{', '.join(map(written, value))}]"
    return str(value) if isinstance(value, Written) else repr(value)


def output_of(code: str) -> str:
    """What a program prints."""
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(code, "example", "exec"), {})
    return printed.getvalue().rstrip()


def draw_picture(name: str, place: Path) -> bool:
    """Density (or probabilities) and distribution function for some parameters, as SVG; False for vectors."""
    settings = NUMBERS.get(name)
    if not settings or name == "DiracDelta":
        return False
    from matplotlib.figure import Figure  # loaded only to draw

    figure = Figure(figsize=(8.0, 2.9), layout="constrained")
    left, right = figure.subplots(1, 2)
    laws = [pm.FAMILIES[name].dist(**given) for given in settings]
    x = grid(laws)
    discrete = np.issubdtype(x.dtype, np.integer)
    for given, law in zip(settings, laws, strict=True):
        label = ", ".join(f"{k} = {short(v)}" for k, v in given.items() if np.ndim(v) == 0)
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            density = np.exp(pm.logp(law, x).eval())
            left.plot(
                x, np.where(np.isfinite(density), density, np.nan), "o-" if discrete else "-", ms=3, lw=1.4, label=label
            )
            if pm.FAMILIES[name].logcdf:
                cdf = np.exp(pm.logcdf(law, x).eval())
                right.plot(x, cdf, lw=1.4, drawstyle="steps-post" if discrete else "default")
    left.set_title("probability" if discrete else "density", fontsize=10)
    right.set_title(
        "distribution function" if pm.FAMILIES[name].logcdf else "no distribution function is declared", fontsize=10
    )
    top = np.nanmax([line.get_ydata() for line in left.lines])
    left.set_ylim(0, min(top, 6 if not discrete else 1.02) * 1.05)
    if any(line.get_label() and line.get_label()[0] != "_" for line in left.lines):
        left.legend(fontsize=8, frameon=False)
    for axes in (left, right):
        axes.spines[["top", "right"]].set_visible(False)
        axes.tick_params(labelsize=8)
    place.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(place, metadata={"Date": None})
    return True


def grid(laws: list[Any]) -> np.ndarray:
    """Values that hold most of the mass of each law: all whole numbers there, or points between."""
    draws = [np.asarray(pm.draw(law, draws=2000, random_seed=1)) for law in laws]
    low = min(np.quantile(d, 0.005) for d in draws)
    high = max(np.quantile(d, 0.95 if np.quantile(d, 0.99) > 6 * np.quantile(d, 0.9) > 0 else 0.99) for d in draws)
    if np.issubdtype(draws[0].dtype, np.integer):
        return np.arange(int(low), int(high) + 1)
    return np.linspace(low - 0.02 * (high - low), high + 0.05 * (high - low), POINTS)
