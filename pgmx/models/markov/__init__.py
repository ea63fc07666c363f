"""The pairwise Markov network.

- `factors`: from log-potentials to pgmpy: factors scaled to Z = 1, junction trees and factor graphs that its
  inference takes
- `rows`: rows of data in the state codes of a network, missing cells and columns marked
- `row_queries`: what a network answers about rows: predictions and likelihoods, from its potentials alone
- `views`: other forms of a Markov network: a Bayesian network with its parameters, a chordal graph, independence
  statements
- `queries`: questions that a Markov network answers itself, by the functions of :mod:`pgmx.inference`
- `pgmpy_face`: the methods that pgmpy and networkx call, among them those that return other forms
- `network`: the discrete pairwise Markov network that learners return: arrays inside, a pgmpy network outside
"""
