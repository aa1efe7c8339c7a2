"""Covariance functions, a file for each kernel or close family; `ppl.gp.cov` lists them."""
