"""The families of distributions: each file is one family, written as a list of facts."""
