"""Latent variables integrated out in closed form, by conjugacy and by other theorems."""
