"""Learners of structural equations from windows."""
