"""Learners of structural vector autoregressions."""
