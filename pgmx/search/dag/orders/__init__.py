"""Search over the orders of the variables: each variable gets its best parents among its predecessors.

- `first_orders`: initial orders: the order of a graph, and random orders, in which required arcs lead forward
- `kicks`: climbs over orders, repeated after moving some variables to random positions
- `random_starts`: searches from random orders on threads, with the same result as a sequential search

`pgmx.search.dag.best` calls it; it uses the kernel `_order_climb` and the course of the search.
"""
