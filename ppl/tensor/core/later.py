"""JAX and its copies of SciPy, loaded when one of their functions first runs; see `ppl.xla.later`."""

from ppl.xla.later import Array as Array
from ppl.xla.later import Functions as Functions
from ppl.xla.later import jax as jax
from ppl.xla.later import jnp as jnp
from ppl.xla.later import loaded as loaded
from ppl.xla.later import when_loaded as when_loaded
from ppl.xla.later import wide as wide

jnf, jsp, jsl = Functions("jax.numpy"), Functions("jax.scipy.special"), Functions("jax.scipy.linalg")
