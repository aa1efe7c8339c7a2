"""Loops and branches: nodes whose bodies are graphs."""
