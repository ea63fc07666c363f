"""Searches over the orders of the variables."""
