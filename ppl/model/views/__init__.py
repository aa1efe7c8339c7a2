"""Models as pictures and in words."""
