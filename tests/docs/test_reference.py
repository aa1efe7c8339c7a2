"""The reference holds every public name: with a docstring, its true arguments, and an example or a reason why not."""

import doctest
import inspect
import sys
from pathlib import Path

import numpy as np
import pytest

import ppl

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "docs/site"))

import docstrings
import families
import reference
import settings

NAMES = reference.public_names()

# Names without an example yet. Each has a reason; a name that gets an example has to leave the list.
ERROR = "an error or warning: it is met, not called"
VALUE = "a set of names, or a table"
PROPOSAL = "a choice for `proposal_dist`, shown by Metropolis"
SAME = "another name of a documented one"
NEEDS = "needs the real PyMC, or changes the whole process"
WITHOUT_EXAMPLE = {
    **dict.fromkeys(
        "CertificateError DataError GradientError GraphFileError ImputationWarning IncorrectArgumentsError "
        "ParameterValueError ResultError SamplingError ShapeError ShapeWarning TraceDirectoryError".split(),
        ERROR,
    ),
    **dict.fromkeys(
        "DRAW FAMILIES STEP_METHODS bool_types complex_types config continuous_types discrete_types float_types "
        "int_types".split(),
        VALUE,
    ),
    **dict.fromkeys(
        "CauchyProposal LaplaceProposal MultivariateNormalProposal NormalProposal PoissonProposal "
        "UniformProposal".split(),
        PROPOSAL,
    ),
    **dict.fromkeys(
        "ConstantData DensityDist Lognormal MutableData clone gradients graph_replace jacobians".split(), SAME
    ),
    **dict.fromkeys(
        "as_pymc from_pymc load_ipython_extension real register unload_ipython_extension unregister "
        "enable_disk_cache get_data current_graph".split(),
        NEEDS,
    ),
}
WITH_ALL_ARGUMENTS = (
    "sample Model Data Deterministic Potential sample_prior_predictive sample_posterior_predictive find_MAP summary "
    "explain check draw logp logcdf logccdf icdf do observe set_data from_pymc NUTS HamiltonianMC Metropolis Slice "
    "BinaryMetropolis BinaryGibbsMetropolis CategoricalGibbsMetropolis CompoundStep DEMetropolis DEMetropolisZ"
).split()


def test_every_public_name_stands_on_one_page_with_a_docstring():
    slugs = {slug for slug, _, _ in reference.GROUPS}
    assert {reference.group_of(name) for name in NAMES} <= slugs
    assert [name for name in NAMES if not reference.doc_of(name).strip()] == []
    assert [name for name in ppl.FAMILIES if name in dir(ppl) and not (ppl.FAMILIES[name].__doc__ or "").strip()] == []


@pytest.mark.parametrize("slug", ["models", "sampling", "errors"])
def test_a_page_has_an_entry_for_each_of_its_names(slug):
    text = reference.page(slug, "A title")
    for name in [n for n in NAMES if reference.group_of(n) == slug]:
        assert f"}} ppl.{name}" in text


def test_every_name_has_an_example_or_a_reason():
    without = {name for name in NAMES if not docstrings.examples(reference.doc_of(name))}
    assert without - set(WITHOUT_EXAMPLE) == set()


@pytest.mark.parametrize("name", sorted(reference.VALUES))
def test_examples_that_stand_in_the_reference_run(name):
    test = doctest.DocTestParser().get_doctest(reference.VALUES[name], {"ppl": ppl, "np": np}, name, None, None)
    assert doctest.DocTestRunner().run(test).failed == 0


def test_reasons_are_for_names_that_are_there_and_have_no_example():
    stale = [n for n in WITHOUT_EXAMPLE if n not in NAMES or docstrings.examples(reference.doc_of(n))]
    assert stale == []


def arguments(value) -> list[str]:
    return [name for name in inspect.signature(value).parameters if name not in ("self", "cls")]


@pytest.mark.parametrize("name", NAMES)
def test_listed_parameters_are_those_of_the_signature(name):
    listed = docstrings.documented_parameters(reference.doc_of(name))
    if listed or name in WITH_ALL_ARGUMENTS:
        assert sorted(listed) == sorted(arguments(getattr(ppl, name)))


def test_a_planted_wrong_parameter_is_found():
    text = "Says.\n\nParameters\n----------\na, b : int\n    What.\n**rest\n    More.\n\nReturns\n-------\nint"
    assert docstrings.documented_parameters(text) == ["a", "b", "rest"]


def test_docstrings_become_markdown():
    text = "Says.\n\n.. math:: x^2\n\nParameters\n----------\na : int\n    What.\n\nExamples\n--------\n>>> 1 + 1\n2"
    expected = "Says.\n\n```{math}\nx^2\n```\n\n**Parameters**\n\n`a` : int\n: What.\n\n**Examples**\n\n"
    expected += "```pycon\n>>> 1 + 1\n2\n```"
    assert docstrings.markdown(text) == expected


FAMILIES_WITHOUT_EXAMPLE = {
    "EulerMaruyama": "takes a function, shown in its docstring",
    "Flat": "improper: nothing can be drawn",
    "HalfFlat": "improper: nothing can be drawn",
}


MUCH_IS_COMPILED = ("HurdleGamma", "HurdleNegativeBinomial", "HurdlePoisson", "PolyaGamma", "SkewStudentT")
EXAMPLES = [
    pytest.param(name, marks=[pytest.mark.slow] if name in MUCH_IS_COMPILED else [])
    for name in sorted(ppl.FAMILIES)
    if name in dir(ppl)
]


@pytest.mark.parametrize("name", EXAMPLES)
def test_the_example_of_a_family_runs(name):
    code = families.example(name)
    assert (code is None) == (name in FAMILIES_WITHOUT_EXAMPLE)
    if code is not None:
        assert families.output_of(code)


def test_moments_are_written_in_latex():
    import formulas

    assert formulas.moment(ppl.Gamma, "mean") == r"\frac{\alpha}{\beta}"
    assert formulas.moment(ppl.Pareto, "mean").endswith(r"\text{ else } \infty")
    assert formulas.moment(ppl.Dirichlet, "mean") is None  # of a vector


def test_pictures_have_settings_for_every_family_of_one_number(tmp_path):
    missing = [n for n in ppl.FAMILIES if n in dir(ppl) and n not in settings.NUMBERS and n not in settings.WHOLE]
    assert sorted(missing) == sorted(FAMILIES_WITHOUT_EXAMPLE)
    assert families.draw_picture("Normal", tmp_path / "Normal.svg")
    assert (tmp_path / "Normal.svg").read_text().startswith("<?xml")
