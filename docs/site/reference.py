"""The reference: every public name with its signature, its docstring and, for classes, their methods."""

from __future__ import annotations

import inspect
import re
from typing import Any

from docstrings import markdown

import ppl

GROUPS: list[tuple[str, str, tuple[str, ...]]] = [  # file, title, beginnings of the modules whose names it holds
    ("models", "Models and data", ("ppl.model.model", "ppl.model.inputs", "ppl.model.registry", "ppl.model.context")),
    ("interventions", "Models made from models", ("ppl.model.conditioning",)),
    ("sampling", "Sampling", ("ppl.model.inference.sampling", "ppl.model.starting", "ppl.samplers")),
    ("steps", "Step methods", ("ppl.model.inference.steps", "STEP_METHODS")),
    ("predictive", "Predictive draws and pointwise values", ("ppl.model.prediction",)),
    ("results", "Results", ("ppl.model.output", "ppl.model.finishing")),
    (
        "checking",
        "Plans, checks, pictures",
        ("ppl.model.checking", "ppl.model.posterior.rewriting", "ppl.model.views", "ppl.model.inference.mesh_plan"),
    ),
    ("densities", "Densities of random expressions", ("ppl.model.logprob", "ppl.distributions.log_probability")),
    ("optimum", "The mode", ("ppl.model.inference.optimum",)),
    ("pymc", "Programs and models of PyMC", ("ppl.alias", "ppl.bridge")),
    ("functions", "Compiled functions", ("ppl.compile",)),
    ("graphs", "Graphs", ("ppl.graph", "ppl.rewrites", "ppl.tensor.core.files", "ppl.tensor.core.evaluate")),
    ("derivatives", "Derivatives", ("ppl.tensor.core.derivatives",)),
    ("loops", "Loops and branches", ("ppl.tensor.loops",)),
    ("variables", "Variables and names", ("ppl.tensor.variables", "ppl.tensor.core.names")),
    ("declaring", "Families of one's own", ("ppl.distributions", "FAMILIES", "DRAW")),
    ("errors", "Errors and warnings", ("ppl.model.errors",)),
    ("small", "Small names", ("",)),
]


def modules() -> list[str]:
    """The modules that `ppl` exports; the names of `ppl.model` stand in the pages above."""
    return sorted(n for n in dir(ppl) if n[0] != "_" and inspect.ismodule(getattr(ppl, n)) and n != "model")


def public_names() -> list[str]:
    """What `ppl` exports: everything but its modules and the families, which have pages of their own."""
    return sorted(
        n for n in dir(ppl) if n[0] != "_" and not inspect.ismodule(getattr(ppl, n)) and n not in ppl.FAMILIES
    )


def group_of(name: str) -> str:
    """The first group whose modules hold the name."""
    module = getattr(getattr(ppl, name), "__module__", None) or name
    module = name if any(name in starts for _, _, starts in GROUPS) else module
    return next(slug for slug, _, starts in GROUPS if any(module.startswith(start) for start in starts))


def page(slug: str, title: str) -> str:
    """A page of names that belong together; a table of them stands first."""
    names = sorted((n for n in public_names() if group_of(n) == slug), key=lambda n: "Parameters\n---" not in doc_of(n))
    rows = [f"| [`{n}`](#ppl.{n}) | {first_sentence(n)} |" for n in names]
    table = ["| name | what it is |", "|---|---|", *rows]
    return "\n".join([f"# {title}", "", *table, "", *[entry(n) for n in names]])


def first_sentence(name: str) -> str:
    text = " ".join(doc_of(name).partition("\n\n")[0].split())
    found = re.match(r"(.+?[.:])(?: |$)", text)
    return cell((found[1] if found else text).rstrip(":"))


def cell(text: str) -> str:
    return text.replace("|", "∣")


def doc_of(name: str) -> str:
    value = getattr(ppl, name)
    if name in VALUES or not (callable(value) or name == "config"):
        return VALUES.get(name, "")
    return inspect.getdoc(value) or ""


VALUES = {  # of names whose class would speak for them
    "logit": "log(p / (1 - p)), entry by entry.\n\n>>> print(ppl.logit(0.5).eval())\n0.0",
    "invlogit": "1 / (1 + exp(-x)), entry by entry.\n\n>>> print(ppl.invlogit(0.0).eval())\n0.5",
    "logaddexp": "log(exp(x) + exp(y)), entry by entry, without overflow.\n\n"
    ">>> print(ppl.logaddexp(1000.0, 1000.0).eval().round(3))\n1000.693",
    "logsumexp": "log of the sum of exp(x) along axes, all by default, without overflow.\n\n"
    ">>> print(ppl.logsumexp(np.array([1000.0, 1000.0])).eval().round(3))\n1000.693",
    "DRAW": "The operation of a random draw: `node.op is ppl.DRAW` in a graph.",
    "FAMILIES": "Every family by its name, those of programs that declare their own too.",
    "STEP_METHODS": "The step methods that `pm.sample` chooses from, as in PyMC.",
    "bool_types": "Names of the dtypes of truth values, as in PyMC.",
    "int_types": "Names of the dtypes of whole numbers, as in PyMC.",
    "float_types": "Names of the dtypes of real numbers, as in PyMC.",
    "complex_types": "Names of the dtypes of complex numbers, as in PyMC.",
    "continuous_types": "Names of the dtypes of real and complex numbers, as in PyMC.",
    "discrete_types": "Names of the dtypes of truth values and whole numbers, as in PyMC.",
}


def entry(name: str) -> str:
    value = getattr(ppl, name)
    kind = "class" if inspect.isclass(value) else "function" if callable(value) else "data"
    lines = [f"```````{{py:{kind}}} {call_of(name, value)}", "", markdown(doc_of(name)), ""]
    if inspect.isclass(value):
        lines += [text for method in methods(value) for text in (method, "")]
    return "\n".join([*lines, "```````", ""])


def methods(cls: Any) -> list[str]:
    """The public methods and properties that have something to say, of the class and of what it inherits from ppl."""
    found = []
    own = [k for k in inspect.getmro(cls) if k.__module__.startswith("ppl") and not issubclass(k, Exception)]
    listed = {n for k in own for n in vars(k) if n[0] != "_"}
    if issubclass(cls, ppl.Distribution) or cls.__name__ in ("Node", "RandomVariable"):
        return []  # facts of a family, and the operations of tensors, have pages of their own
    for name in sorted(listed):
        value = inspect.getattr_static(cls, name)
        doc = inspect.getdoc(getattr(cls, name, None)) if not isinstance(value, property) else inspect.getdoc(value)
        if isinstance(value, property):
            found.append(f"``````{{py:property}} {cls.__name__}.{name}\n\n{markdown(doc or '')}\n``````")
        elif callable(getattr(cls, name, None)) and not inspect.isclass(value):
            call = call_of(f"{cls.__name__}.{name}", getattr(cls, name)).removeprefix("ppl.")
            found.append(f"``````{{py:method}} {call}\n\n{markdown(doc or '')}\n``````")
    return [f.replace(f"}} {cls.__name__}.", "} ") for f in found]


def call_of(name: str, value: Any) -> str:
    """`ppl.name(a, b=1, *, c)`, without types; the name alone where nothing is called."""
    if not callable(value):
        return f"ppl.{name}"
    try:
        signature = inspect.signature(value)
    except (TypeError, ValueError):
        return f"ppl.{name}(...)"
    shown = [
        p.replace(annotation=p.empty, default=p.empty if p.default is p.empty else Shown(p.default))
        for p in signature.parameters.values()
        if p.name not in ("self", "cls")
    ]
    return f"ppl.{name}{signature.replace(parameters=shown, return_annotation=signature.empty)}"


class Shown:
    """A default value as the reference writes it."""

    def __init__(self, value: Any) -> None:
        self.value = value

    def __repr__(self) -> str:
        return short(self.value)


def short(value: Any) -> str:
    text = repr(value)
    if re.match(r"<(function|class|object|ppl\.)", text) or "object at 0x" in text:
        return getattr(value, "__name__", "...").replace("<lambda>", "...")
    return text if len(text) < 40 else "..."


def module_page(name: str) -> str:
    """The public names of a module, a line each."""
    module = getattr(ppl, name)
    names = sorted(getattr(module, "__all__", None) or [n for n in dir(module) if n[0] != "_"])
    rows = []
    for n in names:
        value = getattr(module, n, None)
        if (
            value is None
            or inspect.ismodule(value)
            or getattr(value, "__module__", "ppl").split(".")[0] not in ("ppl",)
        ):
            continue
        doc = inspect.getdoc(value) if callable(value) else ""
        text = " ".join((doc or "").partition("\n\n")[0].split())
        rows.append(f"| `{n}` | {cell(text)} |")
    doc = markdown(inspect.getdoc(module) or "")
    return "\n".join([f"# ppl.{name}", "", doc, "", "| name | what it is |", "|---|---|", *rows, ""])
