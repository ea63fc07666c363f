"""
A graph that changes over time
==============================

Follow a structural vector autoregression row by row. The coefficients of six series change after 500 rows. The tracker
finds the change and forgets the earlier rows.
"""

import numpy as np

from pgmx.datasets import sparse_system
from pgmx.estimators import SVARMTracker
from pgmx.metrics import tracking_errors
from pgmx.plotting import plot_tracking

rng = np.random.default_rng(0)
systems = [sparse_system(6, 2, 0.8, random_state=seed).toarray() for seed in (0, 1)]
rows = np.zeros((1000, 6))
for t in range(1, 1000):
    rows[t] = systems[t >= 500] @ rows[t - 1] + rng.standard_normal(6)

# the errors after each window of 25 rows
trackers = {"with restarts": SVARMTracker(instantaneous=False)}
trackers["forgetting alone"] = SVARMTracker(instantaneous=False, detect=False)
windows, coefs = np.split(rows, 40), [systems[0]] * 20 + [systems[1]] * 20
curves = {name: tracking_errors(tracker, windows, coefs) for name, tracker in trackers.items()}
print(curves["with restarts"].learner.restarts_, curves["with restarts"].restarts)
picture = plot_tracking(curves, measure="edge_mse", changes=[20])
