"""What is worked out before a program runs: constants, sizes, small programs, and estimates of work."""
