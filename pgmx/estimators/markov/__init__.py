"""Learners of discrete Markov networks.

- `cost`: memory required for learning a Markov network
- `measures`: recall of true edges and loss on held-out rows, for the history
- `path`: penalty path, and the choice of a penalty
- `problem`: the problem of a grafting run, from a table and options
- `relaxation`: weighted means of penalised and refitted parameters
- `results`: graph and network of a fitted learner
- `learner`: base class of the learners: options, run, results
- `edge_grafting`: grafting that scores all pairs in each round and activates the best edge or a batch of edges
- `feature_grafting`: grafting that scores all features in each round and activates the best feature
- `group_lasso`: the exact optimum of the group-penalised pseudolikelihood, alone or along a path of penalties
- `best_choice_grafting`: grafting that activates the best edges of a reservoir, without a list of all pairs
- `online_grafting`: grafting that activates the best edges of a reservoir, with all pairs in a queue
- `first_hit_grafting`: grafting that immediately activates each edge that passes its test
"""
