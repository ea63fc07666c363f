"""Inference in networks too wide for exact answers.

- `correction`: beliefs weighed against tempered Gibbs sampling, with an estimate of their error
- `decoding`: one configuration out of the max-beliefs of single variables and pairs
- `dual_bound`: an upper bound on the score of every configuration, by tree-reweighted messages
- `gibbs`: gibbs sampling from discrete Markov networks with a compiled sweep
- `loopy`: loopy belief propagation: marginals and Bethe's log-partition of networks too wide for exact inference
- `imputation`: missing states of rows, filled by what is most probable given the rest of the row
- `search`: the search for a most probable configuration
- `tempering`: replicas at several temperatures
"""
