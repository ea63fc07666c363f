"""Learners of Bayesian networks.

- `dag_learner`: what all learners of directed acyclic graphs hand back
- `chow_liu`: forests: Chow-Liu trees, their penalised kin, and tree-augmented naive Bayes
- `search_learner`: what the learners that search by moves have in common: the first graph, the limits, the
  checkpoint, the results
- `annealing`: simulated annealing for Bayesian networks
- `best_first`: best-first search for Bayesian networks
- `hill_climb`: hill climbing for Bayesian networks
"""
