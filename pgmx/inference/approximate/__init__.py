"""Inference in networks too wide for exact answers.

- `correction`: beliefs averaged with tempered Gibbs sampling, with an estimate of their error
- `decoding`: one configuration from the max-beliefs of single variables and pairs
- `dual_bound`: an upper bound on the score of every configuration, by tree-reweighted messages
- `gibbs`: Gibbs sampling from discrete Markov networks with a compiled sweep
- `loopy`: loopy belief propagation: marginals and Bethe's log-partition of networks too wide for exact inference
- `spanning_tree`: distributions with the structure of a spanning tree, fitted to a network: exact sampling and
  normalisation
- `annealing`: annealed importance sampling: the log-partition of networks too wide for exact inference, with a standard
  error
- `tree_reweighted`: tree-reweighted belief propagation with optimised edge probabilities: an upper bound on the
  log-partition
- `mean_field`: mean-field approximations with independent variables and with spanning trees: a lower bound on the
  log-partition
- `imputation`: missing states of rows, filled with the most probable states given the rest of the row
- `search`: the search for a most probable configuration
- `tempering`: replicas at several temperatures
"""
