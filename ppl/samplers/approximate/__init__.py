"""Normal approximations of a log-density: kernels that know no model, driven from the host."""
