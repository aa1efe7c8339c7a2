"""Which latent variables are integrated out, in which order, by which theorem, and what stays for the sampler."""
