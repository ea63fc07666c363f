"""Search over the equivalence classes of directed acyclic graphs.

- `operators`: the insertions, deletions and reversals of an edge that a class allows, and the resulting DAGs
- `phases`: the greedy search by these operators, phase by phase

`pgmx.estimators.GreedyEquivalenceSearch` calls it; it uses `pgmx.graphs.partial_dag` and the course of the search.
"""
