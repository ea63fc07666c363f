"""Searches over undirected edges: grafting and the sources of candidate edges.

- `exhaustive`: sources that score all inactive pairs, without scoring all of them again
- `frozen`: edges that failed their test, by the hundred million, until the queue is empty
- `grafting`: grafting: edges are activated in rounds, and the parameters of what is active are optimised in between
- `hubs`: nodes of high degree, whose edges are tested first
- `iterates`: the parameters that a run on a loss which is not convex passed through, and the return to the best
- `pair_queue`: all pairs that wait to be tested, of which untested ones are stored nowhere
- `random_pairs`: random orders of the pairs of variables that are computed, not stored
- `reservoir`: the best edges that a stream tested, and how far the others are from passing
- `stream`: the stream of edges that online edge grafting tests, and the rounds in which it activates some of them
- `tested_pairs`: pairs that were tested, with their priorities, or in a byte each where there are many
"""
