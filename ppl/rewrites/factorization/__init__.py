"""Which entries of variables meet in an expression, and posteriors that fall apart into independent factors."""
