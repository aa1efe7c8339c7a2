"""Draws in the forms in which users get and give them."""
