"""Tests of conditional independence between variables given as integer ids, a row of tests at a time."""
