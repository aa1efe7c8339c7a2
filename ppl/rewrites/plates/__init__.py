"""Variables that a Python loop wrote one by one, found again as plates and processes."""
