"""Small helpers for Gaussian processes, by PyMC's names."""

from ppl.gp.inducing_points import kmeans_inducing_points as kmeans_inducing_points
from ppl.gp.plots import plot_gp_dist as plot_gp_dist
from ppl.gp.process import JITTER_DEFAULT as JITTER_DEFAULT
from ppl.gp.process import conditioned_vars as conditioned_vars
from ppl.gp.process import stabilize as stabilize
from ppl.gp.values import replace_with_values as replace_with_values
