"""Search over the equivalence classes of directed acyclic graphs.

- `operators`: the insertions, deletions and turns of an edge that a class allows, and the DAGs that they lead to
- `phases`: the greedy search by these operators, phase by phase

`pgmx.estimators.GreedyEquivalenceSearch` asks it; it asks `pgmx.graphs.partial_dag` and the course of the search.
"""
