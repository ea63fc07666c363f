"""The pairwise Markov network.

- `factors`: conversion of log-potentials for pgmpy's inference: factors scaled to Z = 1, junction trees and factor
  graphs
- `rows`: rows of data in the state codes of a network, with missing values and absent columns
- `row_queries`: row-wise methods of a network: predictions and likelihoods, computed from its potentials only
- `views`: other forms of a Markov network: a Bayesian network with its parameters, a chordal graph, independence
  statements
- `queries`: methods of a Markov network that call the functions of :mod:`pgmx.inference`
- `pgmpy_face`: the methods that pgmpy and networkx call, including conversions
- `network`: the discrete pairwise Markov network that learners return: a pgmpy network whose parameters are arrays
"""
