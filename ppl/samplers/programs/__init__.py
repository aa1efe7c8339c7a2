"""Compiled programs of samplers: how they are made, kept on disk, and fed with random numbers."""
