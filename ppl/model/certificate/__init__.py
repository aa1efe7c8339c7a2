"""A run checks itself: the marginal that was sampled against the joint density as written."""
