"""The rules, one file a subject, and `simplify`, which applies them all."""
