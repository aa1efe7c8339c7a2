"""What an operation is: types, shapes and sizes, evaluation, derivatives, files."""
