"""Pictures of models: variables as nodes, plates for dimensions; as NetworkX, Mermaid or graphviz."""

from __future__ import annotations

import html
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ppl.distributions import RandomVariable
from ppl.model.context import model_to_read
from ppl.model.registry.variable_registry import Books
from ppl.model.views.printing import parents
from ppl.tensor.tensor import Tensor

FORMATS = ("plain", "plain_with_params")
# PyMC's names of the kinds of variables.
KINDS = {
    "Free Random Variable": "free", "Observed Random Variable": "observed", "Deterministic": "deterministic",
    "Potential": "potential", "Data": "data",
}  # fmt: skip
Formatters = Mapping[Any, Callable[[Tensor], Mapping[str, Any]]]


def _formatters(given: Formatters | None) -> dict[str, Callable[[Tensor], Mapping[str, Any]]]:
    """Functions that give a node its attributes, by the kind of variable."""
    known = set(KINDS.values())
    found = {KINDS.get(str(getattr(k, "value", k)), k): f for k, f in dict(given or {}).items()}
    if unknown := set(found) - known:
        raise ValueError(
            f"node_formatters has {', '.join(sorted(map(str, unknown)))}; the kinds are {', '.join(KINDS)}, "
            f"or {', '.join(KINDS.values())} for short"
        )
    return found


def _kind(model: Books, var: Tensor) -> str:
    if any(var is rv for rv in model.observed_RVs):
        return "observed"
    if isinstance(var, RandomVariable):
        return "free"
    if any(var is p for p in model.potentials):
        return "potential"
    return "deterministic" if any(var is d for d in model.deterministics) else "data"


def _label(model: Books, var: Tensor, formatting: str) -> str:
    kind = {"deterministic": "Deterministic", "potential": "Potential", "data": "Data"}.get(_kind(model, var))
    if isinstance(var, RandomVariable):
        kind = var.family.__name__
        if formatting == "plain_with_params":
            kind += f"({', '.join(p.name or '…' for p in parents(model, var.inputs))})"
    return f"{var.name}\n~\n{kind}"


def _plate(model: Books, var: Tensor, include_dim_lengths: bool) -> str:
    dims = model.named_vars_to_dims.get(var.name or "", (None,) * var.ndim)
    lengths = [
        str(model.present_length(d) if n is None and d else "?" if n is None else n)
        for d, n in zip(dims, var.type.shape, strict=True)
    ]
    names = [d or n for d, n in zip(dims, lengths, strict=True)]
    if include_dim_lengths:
        names = [f"{d} ({n})" if d else n for d, n in zip(dims, lengths, strict=True)]
    return " x ".join(names)


def _chosen(model: Books, var_names: Sequence[str] | None) -> list[Tensor]:
    """The variables asked for and all that they are computed from."""
    if var_names is None:
        return list(model.named_vars.values())
    found: dict[str, Tensor] = {}
    stack = [model.variable(name) for name in var_names]
    while stack:
        var = stack.pop()
        if var.name not in found:
            found[var.name or ""] = var
            stack.extend(parents(model, _sources(model, var)))
    return [v for v in model.named_vars.values() if v.name in found]


def _sources(model: Books, var: Tensor) -> list[Any]:
    """What a variable is computed from; observed values count, where they are data with a name. Lengths do not: the
    data that give a dimension its length would point at every variable along it."""
    inputs = var.parameters if isinstance(var, RandomVariable) else var.inputs
    observed = model.rvs_to_values.get(var) if _kind(model, var) == "observed" else None
    return [*inputs, *([observed] if observed is not None and observed.name else [])]


def model_to_networkx(
    model: Books | None = None, *, var_names: Sequence[str] | None = None, formatting: str = "plain",
    include_dim_lengths: bool = True, node_formatters: Formatters | None = None,
) -> Any:  # fmt: skip
    """The model as a directed graph; nodes know their kind, label and plate.

    `node_formatters` maps a kind ("free", or PyMC's "Free Random Variable") to a function from a variable to the
    attributes that its node has in their place.

    >>> with pm.Model() as model:
    ...     s = pm.HalfNormal("s", 1)
    ...     x = pm.Normal("x", 0, s)
    >>> list(pm.model_to_networkx(model).edges)
    [('s', 'x')]
    """
    import networkx

    model = model_to_read(model)
    if formatting not in FORMATS:
        raise ValueError(f"formatting is one of {', '.join(FORMATS)}, got {formatting!r}")
    graph = networkx.DiGraph(name=model.name)
    chosen, formatters = _chosen(model, var_names), _formatters(node_formatters)
    for var in chosen:
        kind, label = _kind(model, var), _label(model, var, formatting)
        own = {"kind": kind, "label": label, "plate": _plate(model, var, include_dim_lengths)}
        graph.add_node(var.name, **(formatters[kind](var) if kind in formatters else own))
    for var in chosen:
        for parent in set(chosen).intersection(parents(model, _sources(model, var))):
            graph.add_edge(parent.name, var.name)
    return graph


def model_to_mermaid(
    model: Books | None = None,
    *,
    var_names: Sequence[str] | None = None,
    formatting: str = "plain",
    include_dim_lengths: bool = True,
) -> str:
    """The model as Mermaid text, which many viewers draw without any installation.

    >>> with pm.Model() as model:
    ...     s = pm.HalfNormal("s", 1)
    >>> "HalfNormal" in pm.model_to_mermaid(model)
    True
    """
    graph = model_to_networkx(
        model, var_names=var_names, formatting=formatting, include_dim_lengths=include_dim_lengths
    )
    ids = {name: f"v{i}" for i, name in enumerate(graph.nodes)}
    shapes = {
        "free": ("([", "])"),
        "observed": ("([", "])"),
        "deterministic": ("[", "]"),
        "potential": ("{{", "}}"),
        "data": ("[(", ")]"),
    }
    lines = ["graph TD"]
    plates: dict[str, list[str]] = {}
    for name, about in graph.nodes.items():
        plates.setdefault(about["plate"], []).append(name)
    for i, (plate, names) in enumerate(plates.items()):
        if plate:
            lines.append(f'subgraph p{i}["{_mermaid(plate)}"]')
        for name in names:
            about = graph.nodes[name]
            left, right = shapes[about["kind"]]
            lines.append(f'{ids[name]}{left}"{_mermaid(about["label"])}"{right}')
        if plate:
            lines.append("end")
    lines += [f"{ids[a]} --> {ids[b]}" for a, b in graph.edges]
    shaded = [ids[name] for name, about in graph.nodes.items() if about["kind"] == "observed"]
    if shaded:
        lines += ["classDef observed fill:#ccc", f"class {','.join(shaded)} observed"]
    return "\n".join(lines)


def _mermaid(text: str) -> str:
    return (
        html.escape(text).replace("\n", "<br>").replace("#", "&#35;")
        if "#" in text
        else html.escape(text).replace("\n", "<br>")
    )


def model_to_graphviz(
    model: Books | None = None, *, var_names: Sequence[str] | None = None, formatting: str = "plain", save: Any = None,
    figsize: tuple[float, float] | None = None, dpi: int = 300, node_formatters: Formatters | None = None,
    graph_attr: Any = None, include_dim_lengths: bool = True,
) -> Any:  # fmt: skip
    """The model as a graphviz picture, whose nodes are called by their variables; `node_formatters` maps a kind
    ("free", or PyMC's "Free Random Variable") to a function from a variable to all attributes of its node.

    >>> with pm.Model() as model:
    ...     center = pm.Normal("center")
    >>> "center" in pm.model_to_graphviz(model).source
    True
    """
    try:
        import graphviz
    except ImportError as error:
        raise ImportError(
            "model_to_graphviz needs the extra viz: pip install 'ppl-jax[viz]'. to_mermaid() needs nothing."
        ) from error
    found: Any = model_to_read(model)
    graph = model_to_networkx(
        found, var_names=var_names, formatting=formatting, include_dim_lengths=include_dim_lengths
    )
    attributes = dict(graph_attr or {})
    if figsize is not None:
        attributes |= {"size": f"{figsize[0]},{figsize[1]}", "dpi": str(dpi)}
    picture = graphviz.Digraph(found.name, graph_attr=attributes)
    looks = {
        "free": {"shape": "ellipse"},
        "observed": {"shape": "ellipse", "style": "filled", "fillcolor": "lightgrey"},
        "deterministic": {"shape": "box"},
        "potential": {"shape": "octagon", "style": "filled", "fillcolor": "lightgrey"},
        "data": {"shape": "box", "style": "rounded, filled", "fillcolor": "lightgrey"},
    }
    formatters = _formatters(node_formatters)
    # a colon would name a port of a node
    ids = {name: name.replace(":", "&") for name in graph.nodes}
    plates: dict[str, list[str]] = {}
    for name, about in graph.nodes.items():
        plates.setdefault(about["plate"], []).append(name)
    for i, (plate, names) in enumerate(plates.items()):
        target = graphviz.Digraph(f"cluster_{i}") if plate else picture
        for name in names:
            about = graph.nodes[name]
            look = looks[about["kind"]] | {"label": graphviz.escape(about["label"])}
            target.node(ids[name], **(formatters[about["kind"]](found[name]) if about["kind"] in formatters else look))
        if plate:
            target.attr(label=graphviz.escape(plate), labeljust="r", labelloc="b", style="rounded")
            picture.subgraph(target)
    for a, b in graph.edges:
        picture.edge(ids[a], ids[b])
    if save is not None:
        path = str(save)
        stem, _, kind = path.rpartition(".")
        picture.render(stem or path, format=kind if stem else "png", cleanup=True)
    return picture
