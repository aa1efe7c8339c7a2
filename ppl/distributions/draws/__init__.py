"""Draws as nodes of the graph, and the programs that make them."""
