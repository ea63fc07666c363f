"""Chow-Liu trees; the functions are those of `solvers`."""
