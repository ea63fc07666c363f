"""Searches over undirected edges: grafting and the sources of candidate edges.

- `frozen`: where edges wait that failed a test or lost their place, until the queue is filled again
- `heap`: a priority queue of edges whose priorities change while they wait; the smallest leaves first
- `hubs`: which nodes of a growing graph have become hubs
- `measures`: figures of the history besides the objective: recall and the fit to held-out rows
- `random_pairs`: random orders of the pairs of variables that are computed, not stored
- `exhaustive`: the best of all inactive pairs, without scoring all of them again
- `reservoir`: the control sample of candidate edges from which edges are activated
- `unseen_pairs`: the pairs that were not tested yet, in the order of their tests, without a list of them
- `pair_queue`: all edges that wait to be tested: some in a heap, untested ones stored nowhere
- `stream`: the stream of edges that online edge grafting tests, and the rounds in which it activates some of them
- `sources`: where a grafting run takes its next edges from: all pairs, single features, a working set, or a stream
- `grafting`: grafting: edges are activated in rounds, and the parameters of what is active are optimised in between
"""
