"""What every test shares: reproducible examples, and the oracle."""

import functools
import importlib
import itertools
import logging
import os
import sys
import warnings
import zlib
from pathlib import Path
from types import ModuleType

import jax
import pytest
from hypothesis import settings

from ppl.rewrites import strict
from ppl.samplers import PROGRAMS

# Tests compile what they test, whatever another run has left on disk; their own processes too.
os.environ["PPL_DISK_CACHE"] = "0"

# The same examples in every run, so that a red test is a fact; `--hypothesis-profile=search` looks for new ones.
settings.register_profile("same", derandomize=True, deadline=None, print_blob=True)
settings.register_profile("search", deadline=None, max_examples=1000, print_blob=True)
settings.load_profile("same")


@pytest.fixture(scope="session", autouse=True)
def _rewriting_raises():
    """A rule that fails is left out with a warning when users run it; in tests it raises."""
    strict.on = True


@pytest.fixture(autouse=True)
def _what_is_logged_stays():
    """A test that wants silence does not leave it to the next one."""
    log = logging.getLogger("ppl")
    before = log.level
    yield
    log.setLevel(before)


PLACES = Path("/proc/self/maps")  # on Linux
MOST_PLACES = 20_000  # of the 65,530 places in memory that Linux gives a process; each program takes some for its code
_tests_so_far = itertools.count(1)


@pytest.fixture(autouse=True)
def _programs_are_let_go():
    """The programs of thousands of tests, which JAX keeps, are more than a process can have."""
    yield
    if next(_tests_so_far) % 100 or not PLACES.exists():
        return
    if PLACES.read_bytes().count(b"\n") > MOST_PLACES:
        PROGRAMS.clear()
        jax.clear_caches()


WITHOUT_EMITTERS = ("xla_cpu_use_fusion_emitters", False)  # they take a third of the time of a small program


@functools.cache
def _have_a_choice():
    """Whether XLA can do without these emitters: that of JAX 0.10 can, that of 0.12 knows no such option."""
    try:
        jax.jit(lambda: 0, compiler_options=dict([WITHOUT_EMITTERS]))()
    except jax.errors.JaxRuntimeError:
        return False
    return True


AS_USERS = 10  # of so many tests, or modules of tests, one is compiled as users' programs are


def _as_users_have_it(name):
    """Whether a test keeps the options of users: a choice that depends on nothing but its name."""
    return zlib.crc32(name.encode()) % AS_USERS == 0


def _compiled_quickly(request):
    """For programs that run once: to compile them is all the time there is. A tenth of the tests, and the full suite,
    has them as users do."""
    if request.config.getoption("markexpr") != "not slow" or _as_users_have_it(request.node.nodeid):
        yield
        return
    try:
        compiler = importlib.import_module("jax._src.compiler")  # private: a JAX without it takes longer, no more
        usual = compiler.get_compile_options
    except (ImportError, AttributeError):
        yield
        return

    def quick(*arguments, **named):
        options = usual(*arguments, **named)
        options.env_option_overrides = [*options.env_option_overrides, WITHOUT_EMITTERS]
        return options

    with pytest.MonkeyPatch.context() as patch:
        if _have_a_choice():
            patch.setattr(compiler, "get_compile_options", quick)
        jax.config.update("jax_disable_most_optimizations", True)
        yield
        jax.config.update("jax_disable_most_optimizations", False)


compiled_quickly = pytest.fixture(_compiled_quickly)
module_compiled_quickly = pytest.fixture(_compiled_quickly, scope="module")


@pytest.fixture(scope="session")
def pymc5() -> ModuleType:
    """PyMC 5, the oracle. Python 3.12 and later get a newer ArviZ than it can use, so there the test is skipped."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        pymc = pytest.importorskip("pymc", reason="PyMC 5, the oracle, is installed on Python 3.11 only")
    if not pymc.__version__.startswith("5."):
        pytest.skip(f"PyMC 5 is the oracle, found {pymc.__version__}")
    return pymc


@pytest.fixture
def no_real_packages():
    """PyMC as if nothing had imported it yet: other tests of this process may have."""
    from ppl.alias.facade import is_aliased

    aside = {name: sys.modules.pop(name) for name in list(sys.modules) if is_aliased(name)}
    yield
    for name in [name for name in sys.modules if is_aliased(name)]:
        del sys.modules[name]
    sys.modules.update(aside)


@pytest.fixture
def single_precision():
    """JAX's own default, which packages that other tests import change."""
    before = jax.config.jax_enable_x64
    jax.config.update("jax_enable_x64", False)
    yield
    jax.config.update("jax_enable_x64", before)
