"""The learner of dynamic Bayesian networks: its options and results, its knowledge of edges, the rows it scores."""
