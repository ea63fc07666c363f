"""Slow, obvious twins of what pgmx computes fast; they import nothing from pgmx."""
