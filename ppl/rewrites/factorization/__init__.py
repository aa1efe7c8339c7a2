"""Posteriors that fall apart into independent factors."""
