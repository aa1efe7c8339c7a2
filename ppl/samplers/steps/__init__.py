"""Steps for what gradients cannot move, and the sweep that combines them."""
