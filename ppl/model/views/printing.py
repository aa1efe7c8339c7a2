"""Models in words: `mu ~ Normal(0, 5)`, as plain text, LaTeX or a table."""

from __future__ import annotations

from typing import Any

from ppl.distributions import RandomVariable
from ppl.graph import Node
from ppl.model.inputs.data_values import value_now
from ppl.model.registry.variable_registry import Books, home_of
from ppl.tensor.tensor import Tensor, is_constant, set_law_writer, value_of


def parents(model: Books, nodes: Any) -> list[Tensor]:
    """The nearest named variables that nodes are computed from, in the order of the model."""
    known = model.root.named_vars.values()  # a variable of a model may depend on one of the model around
    named = set(known)
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
    return [v for v in known if v in found]


def _number(value: Any) -> str:
    return f"{value.item():.3g}"


class _Plain:
    """How a model is written as text."""

    comma, is_distributed = ", ", " ~ "

    def name(self, text: str) -> str:
        return text

    def family(self, text: str) -> str:
        return text

    def line(self, text: str) -> str:
        return text


class _Latex(_Plain):
    """How a model is written as LaTeX."""

    comma, is_distributed = r",~", r" \sim "

    def name(self, text: str) -> str:
        return rf"\text{{{_latex(text)}}}"

    def family(self, text: str) -> str:
        return rf"\operatorname{{{_latex(text)}}}"

    def line(self, text: str) -> str:
        return f"${text}$"


_FORMATS = {"plain": _Plain(), "latex": _Latex()}


def _format(formatting: str) -> _Plain:
    if formatting not in _FORMATS:
        raise ValueError(f"formatting is 'plain' or 'latex', got {formatting!r}")
    return _FORMATS[formatting]


def _parameter(model: Books | None, node: Tensor, form: _Plain) -> str:
    if is_constant(node):
        value = value_of(node)
        return _number(value) if value.ndim == 0 else form.name("<constant>")
    if node.name:
        return form.name(node.name)
    if isinstance(node, RandomVariable):  # stands for its law
        return _call(form.family(node.family.__name__), [_parameter(model, p, form) for p in node.parameters], form)
    known = value_now(node, data=False)
    if known is not None and known.ndim == 0:
        return _number(known)
    return _call("f", [form.name(p.name or "") for p in parents(model, [node])] if model is not None else [], form)


def _call(f: str, arguments: list[str], form: _Plain) -> str:
    return f"{f}({form.comma.join(arguments)})"


def str_for_dist(
    dist: Tensor, formatting: str = "plain", include_params: bool = True, model: Books | None = None
) -> str:
    """A random variable as `name ~ Family(parameters)`.

    >>> pm.str_for_dist(pm.Normal.dist(0, 1))
    ' ~ Normal(0, 1)'
    """
    assert isinstance(dist, RandomVariable), f"{dist!r} is no random variable"
    return _line(dist, dist.family.__name__, dist.parameters if include_params else None, formatting, model)


def str_for_potential_or_deterministic(
    var: Tensor,
    formatting: str = "plain",
    include_params: bool = True,
    dist_name: str = "Deterministic",
    model: Books | None = None,
) -> str:
    """A named expression as `name ~ Deterministic(f(parents))`.

    >>> with pm.Model() as model:
    ...     s = pm.HalfNormal("s", 1)
    ...     v = pm.Deterministic("v", s**2)
    >>> pm.str_for_potential_or_deterministic(v)
    'v ~ Deterministic(f())'
    """
    return _line(var, dist_name, var.inputs[:1] if include_params else None, formatting, model)


def _line(var: Tensor, family: str, parameters: Any, formatting: str, model: Books | None) -> str:
    form = _format(formatting)
    law = form.family(family)
    if parameters is not None:
        law = _call(law, [_parameter(model, p, form) for p in parameters], form)
    return form.line(f"{form.name(var.name or '')}{form.is_distributed}{law}")


_LATEX = {"\\": r"\textbackslash ", "_": r"\_", "%": r"\%", "$": r"\$", "#": r"\#", "&": r"\&", "{": r"\{", "}": r"\}",
          "^": r"\^{}", "~": r"\~{}", "<": "\\text{<}", ">": "\\text{>}"}  # fmt: skip


def _latex(text: str) -> str:
    return "".join(_LATEX.get(c, c) for c in text)


def _line_of(model: Books | None, var: Tensor, formatting: str, include_params: bool) -> str | None:
    """A random variable, deterministic or potential of a model; None for other tensors."""
    if isinstance(var, RandomVariable) and var.name:
        return str_for_dist(var, formatting, include_params, model)
    if model is None:
        return None
    for name, book in (("Deterministic", model.deterministics), ("Potential", model.potentials)):
        if any(var is each for each in book):
            return str_for_potential_or_deterministic(var, formatting, include_params, name, model)
    return None


def str_for_model(model: Books, formatting: str = "plain", include_params: bool = True) -> str:
    """All variables of a model, a line each.

    >>> with pm.Model() as model:
    ...     s = pm.HalfNormal("s", 1)
    >>> pm.str_for_model(model)
    's ~ HalfNormal(1)'
    """
    form = _format(formatting)
    found = [_line_of(model, var, formatting, include_params) for var in model.named_vars.values()]
    lines = [line for line in found if line is not None]
    if formatting == "latex":
        rows = [line.strip("$").replace(form.is_distributed, r" &\sim & ", 1) for line in lines]
        return "$$\\begin{array}{rcl}\n" + "\\\\\n".join(rows) + "\n\\end{array}$$"
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


set_law_writer(lambda var, formatting, include_params: _line_of(home_of(var), var, formatting, include_params))
