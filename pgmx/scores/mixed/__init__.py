"""Scores of networks of continuous and discrete variables, one kind of family per module."""
