"""Models in words: `mu ~ Normal(0, 5)`, as plain text, LaTeX or a table."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from ppl.distributions import RandomVariable
from ppl.graph import Node
from ppl.tensor.tensor import Tensor, is_constant, value_of

if TYPE_CHECKING:
    from ppl.model.books import Books


def parents(model: Books, nodes: Any) -> list[Tensor]:
    """The nearest named variables that nodes are computed from, in the order of the model."""
    named = set(model.named_vars.values())
    found: set[Node] = set()
    stack, seen = list(nodes), set()
    while stack:
        node = stack.pop()
        if node in seen:
            continue
        seen.add(node)
        if node in named:
            found.add(node)
        else:
            stack.extend(node.inputs)
    return [v for v in model.named_vars.values() if v in found]


def _number(value: Any) -> str:
    return f"{value.item():.3g}" if value.ndim == 0 else "<constant>"


def _parameter(model: Books | None, node: Tensor) -> str:
    if is_constant(node):
        return _number(value_of(node))
    if node.name:
        return node.name
    if isinstance(node, RandomVariable):  # stands for its law
        return f"{node.family.__name__}({', '.join(_parameter(model, p) for p in node.parameters)})"
    if model is None:
        return "f()"
    return f"f({', '.join(p.name or '' for p in parents(model, [node]))})"


def str_for_dist(
    dist: Tensor, formatting: str = "plain", include_params: bool = True, model: Books | None = None
) -> str:
    """A random variable as `name ~ Family(parameters)`."""
    assert isinstance(dist, RandomVariable), f"{dist!r} is no random variable"
    arguments = ", ".join(_parameter(model, p) for p in dist.parameters) if include_params else ""
    return _line(dist.name or "", dist.family.__name__, arguments, formatting, include_params)


def str_for_potential_or_deterministic(
    var: Tensor,
    formatting: str = "plain",
    include_params: bool = True,
    dist_name: str = "Deterministic",
    model: Books | None = None,
) -> str:
    """A named expression as `name ~ Deterministic(f(parents))`."""
    inner = _parameter(model, var.inputs[0]) if var.inputs else ""
    return _line(var.name or "", dist_name, inner, formatting, include_params)


def _line(name: str, family: str, arguments: str, formatting: str, include_params: bool) -> str:
    if formatting == "plain":
        return f"{name} ~ {family}({arguments})" if include_params else f"{name} ~ {family}"
    shown = f"\\operatorname{{{_latex(family)}}}"
    inside = f"({_latex(arguments)})" if include_params else ""
    return f"\\text{{{_latex(name)}}} &\\sim {shown}{inside}"


_LATEX = {"\\": r"\textbackslash ", "_": r"\_", "%": r"\%", "$": r"\$", "#": r"\#", "&": r"\&", "{": r"\{", "}": r"\}",
          "^": r"\^{}", "~": r"\~{}", "<": "\\text{<}", ">": "\\text{>}"}  # fmt: skip


def _latex(text: str) -> str:
    return "".join(_LATEX.get(c, c) for c in text)


def _lines(model: Books, formatting: str, include_params: bool) -> Iterator[str]:
    for var in model.named_vars.values():
        if isinstance(var, RandomVariable):
            yield str_for_dist(var, formatting, include_params, model)
        elif any(var is d for d in model.deterministics):
            yield str_for_potential_or_deterministic(var, formatting, include_params, "Deterministic", model)
        elif any(var is p for p in model.potentials):
            yield str_for_potential_or_deterministic(var, formatting, include_params, "Potential", model)


def str_for_model(model: Books, formatting: str = "plain", include_params: bool = True) -> str:
    """All variables of a model, a line each."""
    if formatting not in ("plain", "latex"):
        raise ValueError(f"formatting is 'plain' or 'latex', got {formatting!r}")
    lines = list(_lines(model, formatting, include_params))
    if formatting == "latex":
        return (
            "$$\\begin{array}{rcl}\n"
            + "\\\\\n".join(line.replace(" &\\sim ", " &\\sim & ") for line in lines)
            + "\n\\end{array}$$"
        )
    width = max((line.index(" ~ ") for line in lines), default=0)
    return "\n".join(f"{line[: line.index(' ~ ')]:>{width}}{line[line.index(' ~ ') :]}" for line in lines)


def table(
    model: Books, *, split_groups: bool = True, truncate_deterministic: int | None = None, parameter_count: bool = True
) -> Any:
    """The variables with distribution, dimensions and shape, in groups, as a rich table."""
    from rich.table import Table

    result = Table(title="Model", show_lines=False)
    for column in ("Variable", "Expression", "Dimensions"):
        result.add_column(column)
    groups = [
        ("Data", model.data_vars),
        ("Free random variables", model.free_RVs),
        ("Deterministics", model.deterministics),
        ("Potentials", model.potentials),
        ("Observed random variables", model.observed_RVs),
    ]
    for title, members in groups:
        if not members:
            continue
        if split_groups:
            result.add_section()
            result.add_row(f"[bold]{title}[/bold]", "", "")
        for var in members:
            text = _expression(model, var, title)
            if title == "Deterministics" and truncate_deterministic and len(text) > truncate_deterministic:
                text = text[: truncate_deterministic - 3] + "..."
            result.add_row(var.name or "", text, _dims(model, var))
    if parameter_count:
        sizes = [v.type.shape for v in model.value_vars]
        if not any(None in s for s in sizes):
            total = sum(_product(s) for s in sizes)
            result.caption = f"Parameter count: {total}"
    return result


def _product(shape: Any) -> int:
    total = 1
    for n in shape:
        total *= n
    return total


def _expression(model: Books, var: Tensor, title: str) -> str:
    if isinstance(var, RandomVariable):
        return str_for_dist(var, model=model).split(" ~ ", 1)[1]
    if title == "Data":
        return "Data"
    return str_for_potential_or_deterministic(var, dist_name=title.rstrip("s"), model=model).split(" ~ ", 1)[1]


def _dims(model: Books, var: Tensor) -> str:
    dims = model.named_vars_to_dims.get(var.name or "", (None,) * var.ndim)
    return " × ".join(
        f"{d}[{'?' if n is None else n}]" if d else str("?" if n is None else n)
        for d, n in zip(dims, var.type.shape, strict=True)
    )
