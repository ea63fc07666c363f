"""Learners of Bayesian networks.

- `pgmpy_face`: base class, scores and metrics of pgmpy
- `dag_learner`: base classes of all learners of directed graphs: results, prior knowledge, equivalence class
- `chow_liu`: Chow-Liu trees, penalised forests, and tree-augmented naive Bayes
- `structural_em`: structural EM for rows with missing values
- `cost`, `search_cost`: memory required for learning, from shapes, and memory of a search, from its table
- `search_learner`: base class of searches by moves: start graph, limits, checkpoint
- `annealing`: simulated annealing for Bayesian networks
- `best_first`: best-first search for Bayesian networks
- `equivalence`: greedy search over equivalence classes
- `hill_climb`: hill climbing for Bayesian networks
"""
