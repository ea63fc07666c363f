"""The conditional linear Gaussian network: variables with states beside floats.

- `parameters`: the parameters of a family as they are shown and given
- `fitting`: families fitted to a table of both kinds
- `incomplete_rows`: parameters from rows with missing cells
- `parts`: the parts of a network: of tables and of distributions, and distributions of parts
- `rows`: rows of both kinds for a network, missing cells marked
- `predictions`: what a network predicts of cells that are missing
- `queries`: questions that a network answers: predictions, rows, and likelihoods
- `network`: the network that learners return: arrays inside, a pgmpy graph outside
"""
