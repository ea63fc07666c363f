"""Solvers of models of time series: arrays in, arrays out."""
