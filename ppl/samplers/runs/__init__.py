"""A run: chains in threads or side by side, their storage, progress, failures and diagnostics."""
