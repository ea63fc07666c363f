"""Searches over directed acyclic graphs.

- `state`: a graph, the gains of its moves and its score, kept in step: what every search over graphs works on
- `course`: the course of a search: its limits, its stages, the best graph so far, and where it can be resumed
- `legality`: graphs read from a checkpoint: whether a search may come to them, and what they score
- `starts`: first graphs of a search: a maximum-weight forest, and a random graph
- `annealing`: simulated annealing over directed acyclic graphs
- `best`: the search for the best score: the thorough search, equivalence classes, orders with kicks, sets of parents
- `best_first`: best-first search over directed acyclic graphs
- `equivalence`: greedy search over equivalence classes
- `families`: steps over the sets of parents of single variables, which moves of one arc do not make
- `exact`: the network of highest score, and the proof
- `hill_climb`: greedy hill climbing over directed acyclic graphs, also past local optima
- `orders`: search over the orders of the variables
- `trials`: trials of blocks of nodes in compiled code and on threads, which reinsertion makes
- `reinsertion`: optimal reinsertion: take nodes out of the graph with all their arcs, and let a climb put them back
  better
- `restarts`: random restarts: some random legal moves from an optimum, then a climb, many times over
- `thorough`: the thorough search: climbs under two orders of ties, and reinsertion into the optima they end in
"""
