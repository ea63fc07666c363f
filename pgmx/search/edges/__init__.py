"""Searches over undirected edges: grafting and the sources of candidate edges.

- `exhaustive`: sources that score all inactive pairs, and rescore only where necessary
- `frozen`: compact storage of the edges that failed their test, until the queue is empty
- `grafting`: grafting: edges are activated in rounds, and the active parameters are optimised in between
- `hubs`: nodes of high degree, whose edges are tested first
- `iterates`: the earlier parameters of a run on a non-convex loss, and the return to the best
- `pair_queue`: the queue of all pairs to be tested, without storage for untested pairs
- `random_pairs`: random orders of the pairs of variables that are computed, not stored
- `reservoir`: the best edges that a stream tested, and the priorities of the others
- `stream`: the stream of edges that online edge grafting tests, and the rounds in which it activates some of them
- `tested_pairs`: tested pairs with exact priorities, or in one byte each if there are many
"""
