"""The engine of rewriting: rules, patterns, traces, and the proof that rewriting ends."""
