"""
A graph that changes over time
==============================

Follow a structural vector autoregression row by row. The coefficients of six series change after 500 rows. The tracker
finds the change and forgets the earlier rows.
"""

import matplotlib.pyplot as plt
import numpy as np

from pgmx.datasets import sparse_system
from pgmx.estimators import SVARMTracker

rng = np.random.default_rng(0)
systems = [sparse_system(6, 2, 0.8, random_state=seed).toarray() for seed in (0, 1)]
rows = np.zeros((1000, 6))
for t in range(1, 1000):
    rows[t] = systems[t >= 500] @ rows[t - 1] + rng.standard_normal(6)

trackers = {"with restarts": SVARMTracker(), "forgetting alone": SVARMTracker(detect=False)}
errors = {name: [] for name in trackers}
for end in range(25, 1001, 25):
    for name, tracker in trackers.items():
        tracker.set_params(instantaneous=False).partial_fit(rows[end - 25 : end])
        errors[name].append(np.linalg.norm(tracker.coef_[1] - systems[end > 500]))
print(trackers["with restarts"].restarts_)

picture, axes = plt.subplots(figsize=(6, 3), layout="constrained")
for name, values in errors.items():
    axes.plot(range(25, 1001, 25), values, label=name)
axes.set(xlabel="rows", ylabel="error of the coefficients", ylim=(0, None))
legend = axes.legend()
