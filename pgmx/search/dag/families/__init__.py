"""Moves that change the parent set of one variable by more than one arc.

- `pairs`: additions of two parents that gain only jointly

`pgmx.search.dag.best` and `pgmx.search.dag.thorough` call it; it uses the state and the course of the search.
"""
