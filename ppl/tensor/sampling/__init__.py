"""Random draws as operations: keys, and a file for each law that needs an algorithm of its own."""
