"""Special functions that JAX lacks or gets wrong in double precision."""
