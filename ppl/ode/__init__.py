"""Differential equations in models: PyMC's `DifferentialEquation`, and `solve` for states of any shape."""

from ppl.ode.differential_equation import DifferentialEquation as DifferentialEquation
from ppl.ode.solving import solve as solve
