"""Log-densities of random expressions, with a file for each kind of operation on draws."""
