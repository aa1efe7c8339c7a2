"""Compiled programs of samplers: what a kernel is to them, how they are made, kept on disk, fed with random numbers."""
