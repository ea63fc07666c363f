"""Searches over directed acyclic graphs.

- `state`: the state of every search over graphs: a graph, the gains of its moves and its score
- `course`: the progress of a search: its limits, its stages, the best graph so far, and checkpoints
- `legality`: graphs read from a checkpoint: whether a search can reach them, and their scores
- `starts`: initial graphs of a search: a maximum-weight forest, and a random graph
- `annealing`: simulated annealing over directed acyclic graphs
- `best`: the search for the best score: the thorough search, equivalence classes, orders with kicks, parent sets
- `best_first`: best-first search over directed acyclic graphs
- `equivalence`: greedy search over equivalence classes
- `families`: moves that change the parent set of one variable by more than one arc
- `exact`: the network of highest score, with a proof of optimality
- `hill_climb`: greedy hill climbing over directed acyclic graphs, also past local optima
- `orders`: search over the orders of the variables
- `trials`: trials of blocks of nodes for reinsertion, in compiled code and on threads
- `reinsertion`: optimal reinsertion: remove all arcs of some nodes, and climb again
- `restarts`: random restarts: repeatedly some random legal moves from an optimum, then a climb
- `thorough`: the thorough search: climbs with two orders of ties, and reinsertion from their optima
"""
