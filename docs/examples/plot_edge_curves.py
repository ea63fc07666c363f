"""
Edges compared with a known graph
=================================

Draw a linear dynamical system, learn it from few noisy rows, and compare the strengths of the edges with the true graph
at all thresholds: false positives against true positives, and precision against recall.
"""

from pgmx.datasets import sparse_system, system_transitions
from pgmx.estimators import DenseLDS, ScalableLDS, SparsityInducingLDS
from pgmx.metrics import coefficient_error, edge_curve, edge_mse
from pgmx.plotting import plot_roc

coef = sparse_system(60, 4, kind="uniform")
train = system_transitions(coef, 60, noise=1.0).train
learners = {
    "least squares": DenseLDS(groups="series"),
    "lasso": SparsityInducingLDS(groups="series", lam_ratio=0.05, refit=False),
    "30 % seeds": ScalableLDS(groups="series", seed_fraction=0.3),
}
curves = {}
for name, learner in learners.items():
    learner.fit(train)
    curves[name] = edge_curve(learner.coef_, coef, diagonal=True)
    print(f"{name}: error {coefficient_error(learner, coef):.2f}, per pair {edge_mse(learner, coef):.4f}")
roc = plot_roc(curves)

# %%
# Only one pair in fifteen is an edge. Precision shows more clearly how many of the strongest pairs are wrong.
precision = plot_roc(curves, kind="precision_recall")
