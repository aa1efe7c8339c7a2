"""Plans are told in words that statisticians know: each technical one has its line in the glossary."""

import ast
import re
from pathlib import Path

import ppl
from ppl.rewrites.marginalization import words

PLACE = Path(ppl.__file__).parent / "rewrites"
ROOMS = ("marginalization", "reparameterization", "sufficient_statistics", "plates", "factorization")
# English, and what a first course in statistics and the language of arrays take for granted.
ORDINARY = set(
    """
    about add alike all alone along already an and another are arguments arithmetic array as asked at axes axis back be
    become before begin beginning begins below beside between both bound bounds branches brings but by cannot cast
    categories chain cheap cheaper children choice closed coefficient column columns combinations common constant
    correlated correlations cost count counted counts covariance covariances cumulative data dense density depend
    depends deviations differ dimension dimensions direction distance distribution division do does domain domains draw
    drawn draws each effects either eliminate eliminated end entries entry estimate estimated evaluation exact exclude
    expression expressions failed far few finite first follow for form forward free from further gain given go goes
    groups has have heavy here how in independent index infinitely inside into is it its itself keeps known large law
    least leave left length less lie lies lighter linear little log logarithm looks loops makes many matrices matrix may
    mean means missing model more moved moves ms multiple multiples name nearly need neither new no none nor normal not
    nothing number numbers observation observations observed observes of on once one only or order other out outside
    over own parameter parameters parents part partial parts pick picks places planning please positive posterior power
    predictor prior probabilities probability product products program protected random rarely report right row rows
    rule running runs sample sampled sampling save saves say scale scales seen sees several shape share sign since
    singular size slope slower some sorted square squares standard start starts stay steered steps still strongly sum
    sums table tail tails take taken than that the their them themselves then theorems there these they through times to
    together too total totals transform treats trials tried two under understood uniform unknown unless up update upper
    value values variable variables vary vector vectors was watched weights were what when where whether which whole
    whose will with without would write written zero dimensionless center exponential integrated information reduced
    rewriting becomes integrates terms tau look declared this later gives gave others
    after going gone input same see takes
    stays much if theorem theorem's exp ratio different noisy grid factors
    added multiplied noise sets points divided identity stands diagonal spread inputs
    """.split()
)


def printed() -> dict[str, set[str]]:
    """Every word of the texts that a plan may show, with the files that say it."""
    found: dict[str, set[str]] = {}
    for file in (file for room in ROOMS for file in (PLACE / room).rglob("*.py")):
        tree = ast.parse(file.read_text())
        owners = (ast.Module, ast.ClassDef, ast.FunctionDef)
        docs = {n.body[0].value for n in ast.walk(tree) if isinstance(n, owners) and isinstance(n.body[0], ast.Expr)}
        if file.name == "words.py":
            continue
        texts = [n for n in ast.walk(tree) if isinstance(n, ast.Constant) and isinstance(n.value, str)]
        for text in texts:
            if text not in docs and " " in text.value.strip():  # a single word is a name in a table
                for word in re.findall(r"[A-Za-z][A-Za-z'-]+", text.value):
                    found.setdefault(word.lower(), set()).add(file.name)
    return found


def in_glossary() -> set[str]:
    """The words of the terms, and their inflections."""
    terms = " ".join(w.term for w in (*words.RULES, *words.OTHERS)).lower()
    return {form for word in re.findall(r"[a-z][a-z'-]+", terms) for form in (word, word + "s", word.removesuffix("s"))}


INFLECTED = {
    "marginalizes": "marginalized", "enumerating": "enumeration", "factorizes": "factorization",
    "factor": "factorization", "eigenvectors": "eigendecomposition", "switches": "switch",
    "rotates": "rotated",
}  # fmt: skip
FAMILIES = {name.lower() for name in ppl.distributions.FAMILIES}


def test_every_technical_word_of_a_plan_is_in_the_glossary():
    known = ORDINARY | in_glossary() | FAMILIES
    strange = {w: files for w, files in printed().items() if w not in known and INFLECTED.get(w) not in known}
    assert not strange, f"say it plainly, or give it a line in ppl/rewrites/marginalization/words.py: {strange}"


def test_a_private_word_would_be_found():
    assert not {"barren", "labels", "compaction"} & (ORDINARY | in_glossary())
