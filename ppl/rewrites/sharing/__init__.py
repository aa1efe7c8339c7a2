"""Work that many nodes or many steps of a loop repeat, done once; with it, sums and products as they are computed."""
