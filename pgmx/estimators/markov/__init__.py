"""Learners of discrete Markov networks.

- `measures`: what the history of a grafting run tells besides the objective: recall and the fit to held-out rows
- `path`: a path of penalties, and the choice of one of them
- `problem`: from a table and options to what a grafting run works on
- `results`: what learners of discrete Markov networks hand back
- `learner`: what all learners of discrete Markov networks share: options, the run, the results
- `edge_grafting`: grafting that looks at all pairs each round: edge by edge, or feature by feature
- `group_lasso`: the exact optimum of the group-penalised pseudolikelihood, alone or along a path of penalties
- `online_grafting`: grafting that tests a stream of edges and activates the best it has seen
"""
