"""Inference in networks too wide for exact answers.

- `loopy`: belief propagation: marginals, Bethe's log-partition, one configuration from max-beliefs
- `gibbs`: Gibbs sampling with a compiled sweep
- `tempering`: replicas at several temperatures, and beliefs corrected by their samples
- `annealing`: annealed importance sampling: the log-partition with a standard error
- `bounds`: lower (mean field) and upper (tree reweighting) bounds on the log-partition
- `spanning_tree`: distributions with the structure of a spanning tree, which start annealing and mean field
- `search`: a most probable configuration, with an upper bound on the best score
- `markov_rows`: rows with missing values, exactly by components or by loopy belief propagation
"""
