"""Penalised losses of pairwise Markov networks and their optimisation.

- `active_edges`: the edges that a loss has parameters for, in arrays that grow
- `proximal`: accelerated proximal gradient descent on a smooth function plus a penalty with a known proximal step
- `penalised_loss`: what every penalised loss of a pairwise Markov network has in common
- `pseudolikelihood`: the penalised pseudolikelihood of a pairwise Markov network, by block descent over stored
  conditionals
- `weighted_rows`: rows as its conditionals take them, with relative weights
- `conditional_parts`: its conditionals of rows that a worker of a cluster has
- `distributed_conditionals`: these as the driver sees them: requests to the workers, and steps by their sums
- `stored_conditionals`: its conditionals as arrays of a checkpoint
- `stored_operations`: the same for rows that workers have: what was done to them
- `bethe_loss`: the penalised likelihood of a pairwise Markov network under Bethe's approximation
- `exact_loss`: the penalised likelihood of a small pairwise Markov network, by enumeration of all configurations
"""
