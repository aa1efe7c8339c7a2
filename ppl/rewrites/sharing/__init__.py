"""Work that many nodes or many steps of a loop repeat, done once."""
