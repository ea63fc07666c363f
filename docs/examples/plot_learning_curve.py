"""
Learning curves: how many rows are enough
=========================================

Plot the distance between the learned and the true distribution against the number of rows.
"""

from pgmx.datasets import load_network
from pgmx.estimators import ChowLiuForest, HillClimbSearch
from pgmx.metrics import learning_curve
from pgmx.plotting import plot_learning_curve

network = load_network("asia")
learners = {"BIC": HillClimbSearch(), "forest": ChowLiuForest(), "structure known": network}
curve = learning_curve(network, [100, 300, 1_000, 3_000, 10_000], learners, n_repeats=5)
print(curve.groupby(["learner", "n_rows"])["divergence"].mean().unstack().round(4))
picture = plot_learning_curve(curve)
