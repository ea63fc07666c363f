"""Search over the orders of the variables: each takes the best parents from its predecessors.

- `first_orders`: orders to begin at: of a graph, and random ones, in which required arcs lead forward
- `kicks`: climbs over orders, again and again from where some variables were moved to random places
- `random_starts`: searches from random orders, on threads, with the result of one after the other

`pgmx.search.dag.best` asks it; it asks the kernel `_order_climb` and the course of the search.
"""
