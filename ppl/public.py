"""The public names, which `ppl` has once the first of them is asked for; see `ppl.opening`."""

# The parts, and the modules that Theano's programs reach through the package.
from ppl import bridge as bridge
from ppl import compile as compile
from ppl import distributions as distributions
from ppl import gp as gp
from ppl import graph as graph
from ppl import model as model
from ppl import nn as nn
from ppl import ode as ode
from ppl import samplers as samplers
from ppl import tensor as tensor

# Programs written for PyMC, unmodified or with their imports changed by hand.
from ppl.alias import as_pymc as as_pymc
from ppl.alias import by_hand as _by_hand
from ppl.alias import load_ipython_extension as load_ipython_extension
from ppl.alias import real as real
from ppl.alias import unload_ipython_extension as unload_ipython_extension
from ppl.alias.own_ops import Apply as Apply
from ppl.alias.own_ops import GradientError as GradientError
from ppl.alias.own_ops import Op as Op
from ppl.alias.own_ops import as_op as as_op
from ppl.alias.own_ops import wrap_jax as wrap_jax
from ppl.alias.own_ops import wrap_py as wrap_py

# The real PyMC: its models, and ppl as a sampler of it.
from ppl.bridge import from_pymc as from_pymc
from ppl.bridge import register as register
from ppl.bridge import unregister as unregister

# Compiled functions, and graphs with parts replaced.
from ppl.compile import Function as Function
from ppl.compile import In as In
from ppl.compile import Mode as Mode
from ppl.compile import NanGuardMode as NanGuardMode
from ppl.compile import Out as Out
from ppl.compile import clone as clone
from ppl.compile import clone_replace as clone_replace
from ppl.compile import function as function
from ppl.compile import get_mode as get_mode
from ppl.compile import graph_replace as graph_replace
from ppl.compile import verify_grad as verify_grad

# Families of distributions, every one that ppl.distributions exports.
from ppl.distributions import *  # noqa: F403

# Graphs.
from ppl.graph import Node as Node
from ppl.graph import debugprint as debugprint
from ppl.graph import digest as digest
from ppl.graph import dprint as dprint
from ppl.graph import equal_computations as equal_computations
from ppl.graph import flat_networkx as flat_networkx
from ppl.graph import pp as pp
from ppl.graph import pprint as pprint
from ppl.graph import same_content as same_content
from ppl.graph import to_dot as to_dot
from ppl.graph import to_mermaid as to_mermaid
from ppl.graph import to_networkx as to_networkx
from ppl.graph import to_svg as to_svg

# Models.
from ppl.model import *  # noqa: F403
from ppl.model.names import longer_paths as _longer_paths
from ppl.model.names.elsewhere import find as __getattr__  # noqa: F401
from ppl.model.version import __version__ as __version__

# Samplers.
from ppl.samplers import enable_disk_cache as enable_disk_cache

# Tensors: settings, names, variables, derivatives, files.
from ppl.tensor import config as config
from ppl.tensor import from_jax as from_jax
from ppl.tensor import from_numpy as from_numpy
from ppl.tensor import printing as printing
from ppl.tensor import shared as shared
from ppl.tensor import theano_gradient as _theano_gradient
from ppl.tensor import to_jax as to_jax
from ppl.tensor.core.derivatives import grad as grad
from ppl.tensor.core.derivatives import gradients as gradients
from ppl.tensor.core.derivatives import hessian as hessian
from ppl.tensor.core.derivatives import jacobian as jacobian
from ppl.tensor.core.derivatives import jacobians as jacobians
from ppl.tensor.core.derivatives import value_and_grad as value_and_grad
from ppl.tensor.core.files import GraphFileError as GraphFileError
from ppl.tensor.core.files import load as load
from ppl.tensor.core.files import save as save
from ppl.tensor.core.names import Scope as Scope
from ppl.tensor.core.names import current_graph as current_graph
from ppl.tensor.core.names import current_scope as current_scope
from ppl.tensor.core.names import get_ops as get_ops
from ppl.tensor.core.names import get_placeholders as get_placeholders
from ppl.tensor.core.vectorizing import vectorize_graph as vectorize_graph
from ppl.tensor.loops import iteration as _iteration
from ppl.tensor.loops import theano_loops as _theano_loops
from ppl.tensor.loops.branches import cond as cond
from ppl.tensor.loops.branches import fori_loop as fori_loop
from ppl.tensor.loops.branches import ifelse as ifelse
from ppl.tensor.loops.branches import while_loop as while_loop
from ppl.tensor.loops.iteration import foldl as foldl
from ppl.tensor.loops.iteration import foldr as foldr
from ppl.tensor.loops.iteration import reduce as reduce
from ppl.tensor.loops.iteration import scan as scan
from ppl.tensor.theano_gradient import Lop as Lop
from ppl.tensor.theano_gradient import Rop as Rop
from ppl.tensor.variables import add_updates as add_updates
from ppl.tensor.variables import get_updates as get_updates
from ppl.tensor.variables import get_variables as get_variables
from ppl.tensor.variables import load_variables as load_variables
from ppl.tensor.variables import reset_variables as reset_variables
from ppl.tensor.variables import save_variables as save_variables

scan_module = _theano_loops  # Theano's module, of `theano.scan_module.until`
gradient = _theano_gradient  # Theano's module; `ppl.tensor.gradient` is NumPy's function
map = _iteration.theano_map  # Theano's form; `ppl.tensor.map` is SymJAX's


def _enter() -> None:
    """Let the other paths be found that programs know names by."""
    _longer_paths.enter()
    _by_hand.enter()
