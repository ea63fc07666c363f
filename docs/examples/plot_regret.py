"""
The regret of a stream learner
==============================

Regret is the loss of a learner that predicts each row before it learns it, minus the loss of the best function that
knew all rows. The function of this stream changes every 1,000 rows: against the best function that may change with it,
the regret grows at each change.
"""

from pgmx.datasets import drifting_stream
from pgmx.metrics import regret
from pgmx.plotting import plot_regret
from pgmx.streaming import RakerRegressor

X, y, changes = drifting_stream(4000, 1000)
curve = regret(RakerRegressor(n_components=20, step=0.1, weight_step=0.1), X, y, changes=changes)
picture = plot_regret(curve)
picture.set_yscale("log")
