"""Observed rows replaced by sufficient statistics, or by distinct rows with counts."""
