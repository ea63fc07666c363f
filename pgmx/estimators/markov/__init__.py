"""Learners of discrete Markov networks.

- `cost`: the memory that learning a Markov network takes
- `measures`: figures of the history besides the objective: recall of true edges, and the fit to held-out rows
- `path`: a path of penalties, and the choice of one of them
- `problem`: from a table and options to what a grafting run works on
- `relaxation`: blends of a penalised fit with one that was estimated again without the penalty
- `results`: graph and network of a fitted learner
- `learner`: what all learners of discrete Markov networks share: options, the run, the results
- `edge_grafting`: grafting that scores all pairs each round and activates the best edge, or a batch of edges
- `feature_grafting`: grafting that scores all features each round and activates the best one
- `group_lasso`: the exact optimum of the group-penalised pseudolikelihood, alone or along a path of penalties
- `best_choice_grafting`: grafting that activates the best edges of a reservoir, without a list of all pairs
- `online_grafting`: grafting that activates the best edges of a reservoir, with all pairs in a queue
- `first_hit_grafting`: grafting that activates each edge that passes its test at once
"""
