"""What is asked of a model: draws of its posterior, predictions, its highest point."""
