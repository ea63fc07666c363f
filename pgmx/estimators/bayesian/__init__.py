"""Learners of Bayesian networks.

- `pgmpy_face`: what they take from pgmpy: its base class, scores and metrics
- `dag_learner`: the bases of all learners of directed graphs: results, knowledge of edges, the equivalence class
- `chow_liu`: forests: Chow-Liu trees, their penalised kin, and tree-augmented naive Bayes
- `structural_em`: searches on the expected counts of rows with missing cells
- `cost`, `search_cost`: the memory that learning takes, from shapes, and of a search from its table
- `search_learner`: the base of those that search by moves: the first graph, the limits, the checkpoint
- `annealing`: simulated annealing for Bayesian networks
- `best_first`: best-first search for Bayesian networks
- `equivalence`: greedy search over equivalence classes
- `hill_climb`: hill climbing for Bayesian networks
"""
