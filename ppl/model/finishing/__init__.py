"""From the chains to the result that users see."""
