"""Operations on arrays, by NumPy's names: a file for each kind."""
