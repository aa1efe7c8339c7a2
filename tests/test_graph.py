"""The graph: identity, walks, substitution, sameness, printing, pictures, names."""

import gc
import subprocess
import sys
import weakref

import jax
import networkx as nx
import numpy as np
import pytest

import ppl
import ppl.tensor as tt
from ppl.graph import (
    Attrs,
    Node,
    ancestors,
    between,
    bodies,
    depends_on,
    fold,
    leaves,
    paths,
    substitute,
    topological,
    uses,
)
from ppl.graph.digest import visiting


# --- nodes
def test_the_same_expression_is_the_same_object():
    x = tt.dscalar("x")
    assert tt.exp(x) + 1 is tt.exp(x) + 1
    assert tt.dscalar("x") is not tt.dscalar("x")


@pytest.mark.parametrize("a, b", [(1, 1.0), (1, True), (0.0, -0.0), ((1, 2), (1.0, 2)), (np.int64(1), 1)])
def test_attributes_of_different_kinds_are_different(a, b):
    assert Attrs(k=a) != Attrs(k=b)
    assert Attrs(k=a) == Attrs(k=a)


def test_nan_attributes_and_constants_are_equal_to_themselves():
    assert Attrs(k=float("nan")) == Attrs(k=float("nan"))
    assert tt.constant(float("nan")) is tt.constant(float("nan"))
    assert tt.constant(0.0) is not tt.constant(-0.0)


def test_large_constants_are_one_node_and_their_own_copy():
    data = np.arange(5000.0)
    node = tt.constant(data)
    assert node is tt.constant(data.copy())
    data[0] = 7
    assert node.attrs["value"].array[0] == 0


def test_nodes_are_immutable():
    x = tt.dscalar("x")
    with pytest.raises(AttributeError, match="nodes are immutable"):
        x.inputs = ()


def test_memory_is_freed_with_the_last_reference():
    x = tt.dscalar("x")
    y = tt.exp(x) * 2
    g = ppl.grad(y, x)
    assert g.eval({x: 0.0}) == 2
    refs = [weakref.ref(node) for node in (x, y, g)]
    del x, y, g
    gc.collect()
    assert [ref() for ref in refs] == [None] * 3


def test_memory_is_freed_where_an_attribute_holds_the_node():
    v = ppl.tensor.Variable(1.0, name="v")
    ppl.add_updates({v: v * 2})  # kept in the variable's cell, which is an attribute of it
    ref = weakref.ref(v)
    del v
    gc.collect()
    assert ref() is None


# --- walks
def test_the_order_of_a_walk_does_not_depend_on_which_node_was_made_first():
    def order(first, second):
        made = {name: tt.dscalar(name) for name in (first, second)}
        parts = {name: tt.exp(made[name]) for name in (first, second)}
        return [node.name or node.op.name for node in topological(parts["x"] * parts["y"])]

    assert order("x", "y") == order("y", "x") == ["x", "exp", "y", "exp", "multiply"]


def test_walks():
    x, y = tt.dscalars("x", "y")
    a = tt.exp(x)
    b = a + y
    c = a * b
    assert ancestors(c) == {x, y, a, b, c}
    assert ancestors(c, blockers=[a, b]) == {a, b, c}
    order = {node: at for at, node in enumerate(topological(c))}
    assert all(order[parent] < order[node] for node in order for parent in node.inputs)
    assert set(leaves(c)) == {x, y}
    assert [[n.op.name for n in path] for path in paths(x, c)] == [
        ["input", "exp", "add", "multiply"],
        ["input", "exp", "multiply"],
    ]
    assert between(a, c) == sorted([a, b, c], key=lambda n: n.serial)
    assert uses(c)[a] == [(b, 0), (c, 0)]
    assert depends_on(b, [y]) and not depends_on(a, [y])
    assert fold(c, lambda node, below: 1 + sum(below))[c] == 7


def test_an_order_that_does_not_depend_on_when_nodes_were_built():
    x = tt.dscalar("x")
    late_first = tt.exp(x) + tt.sin(x)
    again = [n.op.name for n in visiting([late_first])]
    assert again == ["input", "exp", "sin", "add"]


# --- substitution
def test_a_replacement_that_holds_what_it_replaces_does_not_loop():
    x = tt.dscalar("x")
    y = tt.sin(x)
    assert substitute(y, {x: x + 1}) is tt.sin(x + 1)
    assert ppl.clone_replace(ppl.clone_replace(y, {x: x + 1}), {x: x + 1}) is tt.sin((x + 1) + 1)


def test_replacements_happen_at_once():
    x, y = tt.dscalars("x", "y")
    assert ppl.clone_replace(x - y, {x: y, y: x}) is y - x


def test_cloning_a_gradient_gives_the_gradient_at_the_new_point():
    x, z = tt.dscalars("x", "z")
    first, second = ppl.grad(x**2, x), ppl.grad(x**3, x)
    moved = ppl.clone([first, second], {x: z})
    assert [g.eval({z: 3.0}) for g in moved] == [6.0, 27.0]
    assert ppl.clone_replace(first, {x: z * 2}).eval({z: 3.0}) == 12.0


def test_cloning_two_functions_of_one_name():
    def times(k):
        def f(x):
            return x * k

        return ppl.from_jax(f)

    f, g = times(2), times(3)
    x, z = tt.dscalars("x", "z")
    both = [f(x), g(x)]
    assert both[0] is not both[1] and both[0].op.name == both[1].op.name
    assert [n.eval({z: 1.0}) for n in ppl.clone(both, {x: z})] == [2.0, 3.0]
    assert ppl.digest(both[0]) != ppl.digest(both[1])


def test_graph_replace_is_strict():
    x, y, z = tt.dscalars("x", "y", "z")
    with pytest.raises(ValueError, match=r"graph_replace: Input\(name=z.* is not in the graph"):
        ppl.graph_replace([x + y], {z: x})
    assert ppl.graph_replace(x + y, {z: x}, strict=False) is x + y


def test_a_replacement_of_another_type_is_refused():
    x, i = tt.dscalar("x"), tt.iscalar("i")
    with pytest.raises(TypeError, match=r"float64\[\] and cannot give way to .*int32\[\]"):
        ppl.clone_replace(x + 1, {x: i})
    assert ppl.clone_replace(x + 1, {x: i}, rebuild_strict=False).eval({i: 2}) == 3


def test_clone_makes_fresh_inputs_on_demand():
    x = tt.dscalar("x")
    y = tt.exp(x)
    assert ppl.clone(y) is y
    fresh = ppl.clone(y, share_inputs=False)
    assert fresh is not y and ppl.same_content(fresh, y)
    assert ppl.clone(x) is not x and ppl.clone(x).name == "x"


def test_vectorize_graph():
    x, w = tt.dvector("x"), tt.dscalar("w")
    xs, ws = tt.dtensor3("xs"), tt.dvector("ws")
    y = (x * w).sum() + ppl.grad((x**2).sum() * w, w)
    many = ppl.vectorize_graph(y, {x: xs, w: ws})
    a, b = np.arange(12.0).reshape(2, 3, 2), np.array([1.0, 2.0, 3.0])
    assert many.type.shape == (None, None)
    np.testing.assert_allclose(many.eval({xs: a, ws: b}), (a * b[:, None]).sum(-1) + (a**2).sum(-1))
    with pytest.raises(TypeError, match="does not extend"):
        ppl.vectorize_graph(y, {x: w})
    with pytest.raises(ValueError, match="no replacement has more axes"):
        ppl.vectorize_graph(y, {w: tt.dscalar()})
    with pytest.raises(ValueError, match="is not in the graph"):
        ppl.vectorize_graph(y, {tt.dscalar("other"): ws})


def test_what_a_body_is_a_function_of_can_be_given_a_value():
    x, a = ppl.Normal.dist(0, 1, shape=(2, 3)), np.arange(6.0).reshape(2, 3)
    rows = tt.vectorize(lambda row: row.sum(), signature="(n)->()")(x)
    np.testing.assert_allclose(rows.eval({x: a}), a.sum(1))
    np.testing.assert_allclose(ppl.grad((x**2).sum(), x).eval({x: a}), 2 * a)


# --- sameness
def test_equal_computations():
    x, y, z = tt.dscalars("x", "y", "z")
    assert ppl.equal_computations([x + 1], [x + 1])
    assert not ppl.equal_computations([x + 1], [y + 1])
    assert ppl.equal_computations([tt.exp(x) * z], [tt.exp(y) * z], [x], [y])
    assert not ppl.equal_computations([tt.exp(x) * z], [tt.exp(y) * x], [x], [y])
    assert not ppl.equal_computations([x], [x, x])


def test_the_digest_tells_what_matters():
    def graph(name="x", k=1.0, axis=0):
        x = tt.dmatrix(name)
        return ppl.grad((tt.exp(x) * k).sum(axis)[0], x)

    assert ppl.digest(graph()) == ppl.digest(graph())
    assert len({ppl.digest(g) for g in (graph(), graph("y"), graph(k=2.0), graph(axis=1))}) == 4
    x, y = tt.dscalars("x", "x")
    assert ppl.digest(x + x) != ppl.digest(x + y)
    assert ppl.digest([x, y]) != ppl.digest([x, x])


def test_the_digest_is_the_same_in_every_process():
    program = (
        "import ppl, ppl.tensor as tt, numpy as np\n"
        "{first}\nx = tt.dvector('x')\n"
        "print(ppl.digest(ppl.grad((tt.log(x) * np.arange(3.0)).sum() + x[0], x)))"
    )
    runs = [
        subprocess.run([sys.executable, "-c", program.format(first=first)], capture_output=True, text=True, check=True)
        for first in ("", "junk = [tt.exp(tt.dvector()) for _ in range(10)]")
    ]
    assert runs[0].stdout == runs[1].stdout != ""


# --- views
def test_networkx_sees_both_edges_and_the_bodies():
    x = tt.dscalar("x")
    graph = ppl.to_networkx(x * x)
    assert isinstance(graph, nx.MultiDiGraph)
    assert graph.number_of_edges(x.serial, (x * x).serial) == 2
    outer = ppl.to_networkx(ppl.grad(ppl.grad(tt.exp(x), x), x))
    (first,) = [b for _, data in outer.nodes(data=True) for b in data["bodies"]]
    (second,) = [b for _, data in first.nodes(data=True) for b in data["bodies"]]
    assert "exp" in {data["op"] for _, data in second.nodes(data=True)}
    assert second.graph["params"]


def test_what_networkx_brings():
    x, y = tt.dscalars("x", "y")
    out = tt.log(tt.exp(x) * (x + y))
    graph = ppl.to_networkx(out)
    assert nx.is_directed_acyclic_graph(graph)
    assert nx.dag_longest_path_length(graph, default_weight=1) == 3
    assert nx.descendants(graph, y.serial) == {n.serial for n in between(y, out)} - {y.serial}
    assert nx.immediate_dominators(nx.DiGraph(graph).reverse(), out.serial)[x.serial] == (tt.exp(x) * (x + y)).serial
    assert graph.nodes[x.serial]["node"] is x


def test_a_flat_view_sees_through_bodies():
    x = tt.dscalar("x")
    g = ppl.grad(ppl.grad(tt.exp(x) * x, x), x)
    flat = ppl.flat_networkx(g)
    assert nx.is_directed_acyclic_graph(flat)
    exp = next(key for key, data in flat.nodes(data=True) if data["op"] == "exp")
    assert nx.has_path(flat, (x.serial,), exp) and nx.has_path(flat, exp, flat.graph["outputs"][0])


# --- text
X, Y = tt.dscalars("x", "y")
M, V = tt.dmatrix("M"), tt.dvector("v")
FORMULAS = [
    (lambda: tt.log(tt.exp(X) * tt.exp(4 + X)), "log(exp(x) * exp(4 + x))"),
    (lambda: X - (Y - 1), "x - (y - 1)"),
    (lambda: (X - Y) - 1, "x - y - 1"),
    (lambda: X / (Y * 2), "x / (y * 2)"),
    (lambda: -(X**2), "-x ** 2"),
    (lambda: (-X) ** 2, "(-x) ** 2"),
    (lambda: X**Y**2, "x ** y ** 2"),
    (lambda: (X**Y) ** 2, "(x ** y) ** 2"),
    (lambda: (X + 1) * 2.5, "(x + 1) * 2.5"),
    (lambda: (X * -3) ** 2, "(x * -3) ** 2"),
    (lambda: (X < 2) & (Y > 1), "(x < 2) & (y > 1)"),
    (lambda: tt.eq(X < 2, Y > 1), "(x < 2) == (y > 1)"),
    (lambda: M.T @ M + 1, "M.T @ M + 1"),
    (lambda: M[0, 1:], "M[0, 1:]"),
    (lambda: (V + 1)[::2].sum(), "sum((v + 1)[::2])"),
    (lambda: M.sum(axis=1, keepdims=True), "sum(M, axis=1, keepdims=True)"),
    (lambda: V.shape[0] * 2, "v.shape[0] * 2"),
    (lambda: ppl.grad(X**2, X), "grad{#0 -> #0 ** 2}(x)"),
    (lambda: tt.exp(X).copy("mu") + 1, "mu + 1"),
]


@pytest.mark.parametrize("make, text", FORMULAS, ids=[text for _, text in FORMULAS])
def test_pprint_writes_brackets_only_where_needed(make, text):
    assert ppl.pprint(make()) == text


def test_debugprint_marks_what_was_shown():
    x = tt.dscalar("x")
    e = tt.exp(x)
    text = ppl.dprint((e + 1) * (e + 1 + e), file="str")
    assert text.count("exp [id") == 2 and text.count("···") == 2
    assert "(more below)" in ppl.dprint(tt.log(tt.exp(x)), depth=1, file="str")
    assert "<float64[]>" in ppl.dprint(e, print_type=True, file="str")
    assert "Inside value_and_grad_op" in ppl.dprint(ppl.grad(e, x), file="str")
    with pytest.raises(TypeError, match="only graphs and compiled functions are printed"):
        ppl.dprint(3)


def test_repr_shows_name_op_shape_dtype_and_scope():
    with ppl.Scope("layer"):
        w = tt.Variable(np.zeros((2, 3)), "w")
    assert repr(w) == "Variable(name=w, shape=(2, 3), dtype=float64, scope=/layer/)"
    assert repr(tt.exp(tt.dvector("x"))) == "Op(fn=exp, shape=(?), dtype=float64)"


def test_pictures_escape_names():
    x = tt.dscalar('"]; <script>alert(1)</script>')
    text = ppl.to_mermaid(tt.exp(x))
    assert "<" not in text and '"];' not in text and "#60;script" in text
    dot = ppl.to_dot(tt.exp(x))
    assert '\\"]; <script>' in dot
    inside = ppl.to_dot(ppl.grad(tt.exp(x), x))
    assert "subgraph" in inside and inside.count("{") == inside.count("}")
    assert ppl.to_mermaid(ppl.grad(tt.exp(x), x)).count("subgraph") == 1


def test_svg_says_what_it_needs(monkeypatch):
    monkeypatch.setitem(sys.modules, "graphviz", None)
    with pytest.raises(ImportError, match=r'pip install "ppl-jax\[viz\]"'):
        ppl.to_svg(tt.dscalar("x") + 1)


# --- names
def test_labels_and_scopes_are_found_by_glob():
    with ppl.Scope("found"), ppl.Scope("layer1"):
        w = tt.Variable(np.zeros(2), "w")
        b = tt.Variable(np.zeros(2), "b", trainable=False)
    with ppl.Scope("found"), ppl.Scope("layer2"):
        w2 = tt.Variable(np.zeros(2), "w")
    y = w + b
    y.name = "y_of_test"
    assert {id(v) for v in ppl.get_variables("/found/layer*/w")} == {id(w), id(w2)}
    assert {id(v) for v in ppl.get_variables("*", "/found")} == {id(w), id(b), id(w2)}
    assert [v.name for v in ppl.get_variables("*", "/found/layer1", trainable=True)] == ["w"]
    assert ppl.get_ops("y_of_*")[0] is y
    p = tt.dscalar("p_of_test")
    assert ppl.get_placeholders("p_of_test")[0] is p
    with pytest.raises(AttributeError, match="there is no global graph"):
        ppl.current_graph()


def test_the_bodies_of_a_node():
    x = tt.dscalar("x")
    g = ppl.grad(tt.exp(x), x)
    (body,) = bodies(g.inputs[0])
    assert body.apply([x])[0] is tt.exp(x)
    assert isinstance(g.inputs[0], Node) and not isinstance(g.inputs[0], tt.Tensor)


def test_a_graph_as_a_jax_function():
    x = tt.dvector("x")
    f = ppl.to_jax([x], (tt.exp(x) * 2).sum())
    with jax.enable_x64(True):
        np.testing.assert_allclose(jax.jit(jax.grad(f))(np.zeros(3)), 2 * np.ones(3))


def test_a_walk_asks_a_table_of_blockers_and_does_not_copy_it():
    """It may hold as many nodes as the graph, and be asked for each of them."""

    class Table(dict):
        def __iter__(self):
            raise AssertionError("copied")

    x = tt.dscalar("x")
    y = tt.exp(x)
    assert ppl.graph.topological(y + 1, blockers=Table({y: None}))[0] is not x


def test_the_truth_of_an_equation_is_identity():
    """As in PyTensor: programs ask `if scale == 0:` and `x in variables`."""
    x, y = tt.dvector("x"), tt.dscalar("y")
    truths = [bool(e) for e in (x == x, x == y, x == 0, x != y, x != x)]
    assert truths == [True, False, False, True, False]
    assert y in [x, y] and y not in [x]
    with pytest.raises(TypeError, match="not known before the program runs"):
        bool(y > 0)


def test_expressions_of_other_shapes_are_others_and_no_numbers_to_compare():
    x, y = tt.tensor("x", shape=(3,)), tt.tensor("y", shape=(2,))
    assert x in [y, x] and x not in [y] and [y, x].index(x) == 1 and bool(x == y) is False and x != y
    for use in (
        lambda e: tt.switch(e, 1.0, 0.0),
        lambda e: ~e,
        lambda e: e & True,
        lambda e: 1.0 * e,
        lambda e: e.sum(),
    ):
        with pytest.raises(ValueError, match=r"equal: the shapes \(3,\) and \(2,\) do not broadcast"):
            use(x == y)
