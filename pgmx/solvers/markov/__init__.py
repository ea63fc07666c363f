"""Penalised losses of pairwise Markov networks and their optimisation.

- `active_edges`: active edges of a loss with their parameters, in growing arrays
- `proximal`: accelerated proximal gradient descent on a smooth function plus a penalty with a known proximal step
- `penalised_loss`: base class of the penalised losses of pairwise Markov networks
- `pseudolikelihood`: penalised pseudolikelihood of a pairwise Markov network, by block descent over stored conditionals
- `weighted_rows`: rows with relative weights for the conditionals
- `conditional_parts`: conditionals of the rows of a partition on a worker
- `distributed_conditionals`: the driver's side: requests to the workers, and steps from their sums
- `stored_conditionals`: conditionals as arrays of a checkpoint
- `stored_operations`: the same for distributed rows: operations on the conditionals
- `bethe_loss`: penalised likelihood of a pairwise Markov network with the Bethe approximation
- `exact_loss`: penalised likelihood of a small pairwise Markov network, by enumeration of all configurations
"""
