"""
Edges compared with a known graph
=================================

Draw a linear dynamical system, learn it from few noisy rows, and compare the strengths of the edges with the true graph
at all thresholds: false positives against true positives, and precision against recall.
"""

from pgmx.datasets import kronecker_coefficients, sparse_system, switching_series, system_transitions
from pgmx.estimators import DenseLDS, ScalableLDS, SparsityInducingLDS, TensorSEM
from pgmx.metrics import coefficient_error, edge_curve, edge_mse, success_rate
from pgmx.plotting import plot_history, plot_roc

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

# %%
# Structural equations of series whose inputs change their powers: in how many of ten draws are all edges right, by the
# number of rows per window? The gradient of the likelihood falls to rounding errors within some sweeps.
truth = kronecker_coefficients(2)
for window in (100, 300, 1000):
    drawn = [switching_series(truth, 10, window, random_state=seed).series for seed in range(10)]
    learned = [TensorSEM(exogenous="blind", window=window).fit(rows) for rows in drawn]
    edges = [learner.graph_.to_arrays(None)[0] for learner in learned]
    print(f"{window} rows: all edges right in {success_rate(edges, [truth] * 10):.0%} of the draws")
norms = plot_history(learned[0], measures="gradient_norm", against="seconds")
