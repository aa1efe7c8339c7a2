"""Files of graphs and of variables' values: they come back as they were, and nothing in them is ever run."""

import functools
import io
import json
import random
import sys
import warnings
import zipfile

import numpy as np
import pytest
from op_table import TABLE, built

import ppl
import ppl.tensor as tt
from ppl.compile.numbers import HELD
from ppl.graph import storage
from ppl.graph.registry import OPS
from ppl.nn.layers_convolution import CONVOLVE, CONVOLVE_TRANSPOSED, POOL
from ppl.ode import solve
from ppl.tensor.arrays.log_sums import log_sum_to
from ppl.tensor.core.derivatives import at_optimum, twice
from ppl.tensor.loops.recurrence import linear_recurrence, unfold
from ppl.tensor.sampling.draws import of_words
from ppl.tensor.sampling.host_draw import host_draw
from ppl.tensor.sampling.keys import Key
from ppl.tensor.sampling.polya_gamma import polya_gamma
from ppl.tensor.sampling.rejection import draw_until
from ppl.tensor.sampling.roots import carried_root, first_root


def saved(graph) -> bytes:
    file = io.BytesIO()
    ppl.save(file, graph)
    return file.getvalue()


def loaded(data: bytes, **options):
    return ppl.load(io.BytesIO(data), **options)


def text_of(data: bytes) -> str:
    return zipfile.ZipFile(io.BytesIO(data)).read("graph.json").decode()


def with_text(data: bytes, text: str) -> bytes:
    """The same file with another graph.json."""
    old, file = zipfile.ZipFile(io.BytesIO(data)), io.BytesIO()
    with zipfile.ZipFile(file, "w") as new:
        for name in old.namelist():
            new.writestr(name, text if name == "graph.json" else old.read(name))
    return file.getvalue()


def changed(data: bytes, **head) -> bytes:
    return with_text(data, json.dumps({**json.loads(text_of(data)), **head}))


# --- round trips
def test_names_bodies_variables_and_labels_come_back(tmp_path):
    x = tt.dvector("x")
    with ppl.Scope("net"):
        w = tt.Variable(np.arange(3.0), "w")
    w.default_update = w * 2
    ppl.add_updates({w: w + 1})
    w.set_value([5.0, 6.0, 7.0])
    y = ppl.grad(ppl.grad((tt.exp(x) * w).sum() ** 2, x).sum(), w)
    y.name = "slope"
    ppl.save(tmp_path / "graph.npz", {"inputs": [x], "pair": (w, y.copy("named"))})
    back = ppl.load(tmp_path / "graph.npz")
    (x2,), (w2, named) = back["inputs"], back["pair"]
    assert x2 is not x and x2.name == "x" and w2.scope == "/net/" and w2.trainable
    assert named.name == "named" and named.inputs[0].name == "slope"
    np.testing.assert_array_equal(w2.value, [5.0, 6.0, 7.0])
    w2.reset()
    np.testing.assert_array_equal(w2.value, [0.0, 1.0, 2.0])
    np.testing.assert_array_equal(w.value, [5.0, 6.0, 7.0])
    assert w2.default_update is w2 * 2 and ppl.get_updates(variables=[w2])[w2] is w2 + 1
    w.reset()
    np.testing.assert_allclose(named.eval({x2: [0.1, 0.2, 0.3]}), y.eval({x: [0.1, 0.2, 0.3]}))
    assert ppl.same_content(named, y.copy("named"))


@pytest.mark.parametrize(
    "value",
    [
        *(0.0, -0.0, np.nan, np.inf, 1e-320, 2**62, True, 1 + 2j, np.float16(1.5), np.uint8(255)),
        *(np.arange(100.0), np.array([np.nan, -np.inf]), np.array([1 + 2j] * 3), np.zeros((0, 3))),
        np.ones((2, 30), np.float32).T,
    ],
    ids=repr,
)
def test_constants_keep_every_bit(value):
    back = loaded(saved(tt.constant(value)))
    assert back is tt.constant(value)


def test_identities_stay_apart_and_together():
    a, b = tt.dscalar("x"), tt.dscalar("x")
    back = loaded(saved([a + b, a * b, a]))
    assert back[0].inputs == back[1].inputs and back[2] is back[0].inputs[0] is not back[0].inputs[1]


def test_a_file_is_readable_text():
    x = tt.dscalar("x")
    assert '\n["exp", [0], {}],\n' in text_of(saved(tt.exp(x) + 1))


@functools.cache
def nodes_of_the_table():
    """A node of every operation that the rows of the table of ops build."""
    found = {}
    for name, row in TABLE.items():
        for each in row.calls:
            results = [r for r in built(name, each, known=True)[0] if isinstance(r, ppl.Node)]
            found.update((node.op.name, node) for node in ppl.graph.ancestors(results))
    return found


def fresh_numbers(rng, low, high, size):
    return rng.uniform(low, high, size)


@functools.cache
def own_nodes():
    """Nodes of operations that have no row: leaves, loops, derivatives, draws, checks."""
    x, v, n, a = tt.dscalar("x"), tt.dvector("v"), tt.lscalar("n"), tt.dmatrix("A")
    channels = [tt.tensor4("image"), tt.tensor4("filters")]
    key = Key(tt.tensor("k", dtype="uint32", shape=(2,)))
    nodes = [
        *(x, tt.constant(1.0), tt.shared(np.zeros(2), "w"), x.copy("y"), tt.arange(v.shape[0])),
        *(ppl.grad(x**2, x), ppl.jacobian(v * 2, v), ppl.Rop(v * 2, v, v), ppl.Lop(v * 2, v, v)),
        *(
            tt.stop_gradient(x),
            at_optimum(x),
            twice(x),
            ppl.gradient.grad_clip(x, -1.0, 1.0),
            tt.grad_scale(x, multiplier=2.0),
        ),
        *(ppl.scan(lambda a, s: s + a * x, sequences=v, outputs_info=0.0)[0], ppl.ifelse(x > 0, x * 2, x)),
        *(ppl.while_loop(lambda s: s < 10, lambda s: s * 2, x), ppl.vectorize_graph(x * 2, {x: v})),
        *(unfold(lambda s, u: s * x + u, x, v), linear_recurrence(v, a, v)),
        *(tt.eigh(a)[0], tt.eig(a)[0], tt.eigvals(a), tt.qr(a)[0], tt.schur(a)[0]),
        *(
            v[v > 0],
            tt.unique(v),
            tt.nonzero(v, size=3)[0],
            tt.bincount(v.astype("int64")),
            tt.assume(x, positive=True),
        ),
        *(ppl.printing.Print("v")(v), tt.Assert("small")(v, v < 1)),
        *(key.gumbel(), key.logistic(), key.laplace(), key.two_sided(x), polya_gamma(key.next(), x, x)),
        of_words(key.bits((3, 2), dtype="uint32"), law="random_normal"),
        *(tt.log_polya_gamma(x, x), tt.log_polya_gamma_cdf(x, x, x), tt.log_polya_gamma_ccdf(x, x, x)),
        *(key.truncated_normal(x, 9.0), key.negative_binomial(n, x)),
        *(key.uniform(), key.normal(), key.exponential(), key.gamma(v), key.bits(), key.poisson(v), key.binomial(n, x)),
        *(key.randint(0, n), key.permutation(v), key.choice(v, (2,)), key.multinomial(n, v), key.split()[0].node),
        *(tt.random.vonmises(x, x, rng=key), tt.random.hypergeometric(n, n, n, rng=key), ppl.Normal.dist(0, 1)),
        carried_root(
            draw_until(key, lambda k, shape: k.normal(shape) * x, lambda draw: draw > 0, v, True), lambda y: y - x
        ),
        host_draw(key.next(), fresh_numbers, (x, x), (2,), "float64"),
        log_sum_to(n, lambda k: -0.5 * k * x),
        *(tt.log_rice_cdf(x, x), tt.log_rice_ccdf(x, x), tt.log_skew_ndtr(x, x), tt.log_von_mises_cdf(x, x, x)),
        first_root(lambda y: y - x, -np.inf, np.inf, "float64"),
        CONVOLVE(*channels, strides=(1, 1), padding="VALID", dilations=(1, 1)),
        CONVOLVE_TRANSPOSED(*channels, strides=(1, 1), padding="VALID"),
        HELD(x),
        solve(lambda y, t: -y, y0=x, times=[1.0]),
        POOL(channels[0], kind="MAX", window=(2, 2), strides=(2, 2), padding="VALID"),
    ]
    return {node.op.name: node for node in ppl.graph.ancestors(nodes)}


@pytest.mark.parametrize("name", sorted(OPS))
def test_every_operation_comes_back(name):
    name = {"bound": "get"}.get(name, name)  # a parameter of the body of what is taken here
    node = own_nodes()[name] if name in own_nodes() else nodes_of_the_table()[name]
    back = loaded(saved(node), functions={"fresh_numbers": fresh_numbers})
    assert ppl.same_content(back, node)


# --- refusals
GRAPH = saved(tt.exp(tt.dvector("x")).sum() + np.arange(50.0).sum())


@pytest.mark.parametrize("cut", [0, 10, 100, len(GRAPH) // 2, len(GRAPH) - 1])
def test_a_truncated_file(cut):
    with pytest.raises(ppl.GraphFileError, match=r"truncated, damaged or no saved graph"):
        loaded(GRAPH[:cut])


def test_a_truncated_text():
    with pytest.raises(ppl.GraphFileError, match="truncated or damaged"):
        loaded(with_text(GRAPH, text_of(GRAPH)[:-20]))


def test_a_newer_version():
    with pytest.raises(ppl.GraphFileError, match="version 2 of the format, this ppl reads up to 1"):
        loaded(changed(GRAPH, version=2))


def test_an_unknown_operation():
    with pytest.raises(ppl.GraphFileError, match="operation 'frobnicate', which this ppl does not know"):
        loaded(with_text(GRAPH, text_of(GRAPH).replace('"exp"', '"frobnicate"')))


@pytest.mark.parametrize(
    "head, message",
    [
        ({"format": "other"}, "no saved graph"),
        ({"nodes": [["exp", [0], {}]]}, "node 0 is used before it is defined"),
        ({"nodes": [["sum", [], {"axis": {"tuple": [7]}}]]}, "node 0 .sum. does not fit together"),
        ({"output": {"module": "os"}}, "unknown kind 'module'"),
        ({"output": {"node": -1}}, "node -1 is used before"),
        ({"nodes": [["@system", [], {}]]}, "user's operation 'system'"),
        ({"output": {"array": ["float64", [10**9], [1.0]]}}, "with 1 entries"),
        ({"output": {"array": ["object", [1], [1.0]]}}, "an array of 'object'"),
        ({"functions": ["f"]}, "functions of its author.*functions={'f': f}"),
    ],
    ids=str,
)
def test_what_does_not_belong_there(head, message):
    with pytest.raises(ppl.GraphFileError, match=message):
        loaded(changed(GRAPH, **head))


def test_deep_nesting_and_great_size():
    deep = "[" * 100_000 + "]" * 100_000
    with pytest.raises(ppl.GraphFileError, match=r"nested too deeply|truncated or damaged"):
        loaded(with_text(GRAPH, deep))
    value: object = 1
    for _ in range(200):
        value = {"tuple": [value]}
    with pytest.raises(ppl.GraphFileError, match="nested too deeply"):
        loaded(changed(GRAPH, output=value))


def test_a_file_that_unpacks_to_too_much(monkeypatch):
    monkeypatch.setattr(storage, "MAX_BYTES", 1000)
    with pytest.raises(ppl.GraphFileError, match="unpacks to more than 1000 bytes"):
        loaded(with_text(GRAPH, text_of(GRAPH) + " " * 100_000))


def test_a_pickle_in_an_array_is_not_opened():
    bomb = io.BytesIO()
    np.save(bomb, np.array([print], object), allow_pickle=True)
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("graph.json", text_of(GRAPH))
        archive.writestr("array_0.npy", bomb.getvalue())
    with pytest.raises(ppl.GraphFileError, match="an array of object"):
        loaded(file.getvalue())


WATCHED = ("pickle.find_class", "os.system", "subprocess.Popen", "os.exec", "socket.connect", "shutil.rmtree")
_seen: list[str] | None = None


def _watch(event, args):
    if _seen is not None and event in WATCHED:
        _seen.append(event)


sys.addaudithook(_watch)


SWAPS = [("exp", "reshape"), ("0", "-1"), ("null", "1e400"), ("[", "{"), ("float64", "S9")]


def mutated(source: random.Random) -> bytes:
    if source.random() < 0.4:
        data = bytearray(GRAPH)
        for _ in range(source.randint(1, 5)):
            data[source.randrange(len(data))] = source.randrange(256)
        return bytes(data)
    text = text_of(GRAPH)
    for _ in range(source.randint(1, 3)):
        at = source.randrange(len(text))
        kind = source.randrange(4)
        if kind == 0:
            text = text[:at] + source.choice('0123456789[]{}",:-exp') + text[at + 1 :]
        elif kind == 1:
            text = text[:at] + text[at + source.randint(1, 20) :]
        elif kind == 2:
            text = text[:at] + text[at : at + 30] + text[at:]
        else:
            old, new = source.choice(SWAPS)
            text = text.replace(old, new, 1)
    return with_text(GRAPH, text)


def test_a_thousand_damaged_files_give_documented_errors_and_run_nothing():
    global _seen
    source = random.Random(1)
    files = [mutated(source) for _ in range(1000)]
    survivors, _seen = 0, []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # NumPy and zipfile grumble about what they read
        for data in files:
            try:
                loaded(data)
                survivors += 1
            except ppl.GraphFileError:
                pass
    seen, _seen = _seen, None
    assert not seen
    assert survivors < 700


# --- functions of the user
def test_functions_come_back_by_name_only():
    @ppl.from_jax
    def twice(x, pair, k=1):
        return {"double": x * 2 * k, "sum": pair[0] + pair[1]}

    x = tt.dscalar("x")
    out = twice(x, [x, x + 1])
    data = saved({"x": x, "y": out["double"] + out["sum"]})
    with pytest.raises(ppl.GraphFileError, match=r"functions=\{'twice': twice\}"):
        loaded(data)
    with pytest.raises(ppl.GraphFileError, match=r"user's operation 'twice', got <built-in function print>"):
        loaded(data, functions={"twice": print})
    back = loaded(data, functions={"twice": twice})
    assert back["y"].eval({back["x"]: 3.0}) == 13.0


def test_two_functions_of_one_name_cannot_share_a_file():
    x = tt.dscalar("x")
    f, g = ppl.from_jax(lambda x: x, name="f"), ppl.from_jax(lambda x: -x, name="f")
    with pytest.raises(ValueError, match="distinct names: 'f' does not do"):
        saved([f(x), g(x)])


def test_what_cannot_be_saved():
    with pytest.raises(TypeError, match="a graph to save is a node, or a list"):
        saved(3)


# --- values of variables
def test_variables_go_to_a_file_and_back(tmp_path):
    with ppl.Scope("stored"):
        a, b = tt.Variable(np.ones(2), "a"), tt.Variable(3.0, "b", trainable=False)
    a.set_value([4.0, 5.0])
    ppl.save_variables(tmp_path / "v.npz", "*", "/stored")
    ppl.reset_variables("*", "/stored")
    assert a.value[0] == 1
    ppl.load_variables(tmp_path / "v.npz", "a", "/stored")
    np.testing.assert_array_equal(a.value, [4.0, 5.0])
    with ppl.Scope("stored"):
        extra = tt.Variable(0.0, "extra")
    with pytest.raises(KeyError, match="no value for /stored/extra; it holds"):
        ppl.load_variables(tmp_path / "v.npz", "*", "/stored")
    del extra
    (tmp_path / "v.npz").write_bytes((tmp_path / "v.npz").read_bytes()[:100])
    with pytest.raises(ValueError, match="truncated, damaged"):
        ppl.load_variables(tmp_path / "v.npz", "a", "/stored")
    assert b.value == 3
