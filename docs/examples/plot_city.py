"""
A week of a city, one hour after the other
==========================================

Count trips in the cells of a grid, learn which cells help to predict others an hour later, and predict each hour of the
last week from the hour before it. The trips are simulated; of real ones, use the coordinates and times of pick-ups.
"""

import numpy as np
import pandas as pd

from pgmx.datasets import grid_events, gridded_counts
from pgmx.estimators import DenseLDS, SparsityInducingLDS
from pgmx.metrics import one_step_predictions
from pgmx.plotting import plot_predictions

# trips of eight weeks: a coordinate within the cell and a time within the hour
busy = (20 * gridded_counts(16, 16, 8 * 168, mean_count=8.0)).round().astype(int)
hours, cells = np.nonzero(busy.to_numpy())
each = np.repeat(np.arange(len(hours)), busy.to_numpy()[hours, cells])
places = busy.columns.str.extract(r"r(\d+)c(\d+)").astype(float).to_numpy()[cells[each]]
rng = np.random.default_rng(0)
trips = pd.DataFrame(places + rng.random(places.shape), columns=["y", "x"])
trips["time"] = busy.index[hours[each]] + pd.to_timedelta(rng.random(len(each)), unit="h")
print(trips.head(3))

# %%
# Counts per cell and hour. Trips outside the bounds are counted separately.
gridded = grid_events(trips, (16, 16), bounds=(0, 16, 0, 15.5), step="h", min_count=100)
print(gridded.counts.shape, "trips outside:", gridded.n_outside)
series = gridded.counts / gridded.counts.max()

# %%
# Six weeks to learn, and the last week hour by hour. Least squares have a coefficient for each pair of cells. They
# predict worse, and fewer than 90 % of the hours lie within their intervals.
train, week = series.iloc[: 6 * 168], series.iloc[-169:]
learners = {"sparse": SparsityInducingLDS(k=10, lam_ratio=0.03), "least squares": DenseLDS()}
predictions = {name: one_step_predictions(learner.fit(train), week) for name, learner in learners.items()}
print(pd.DataFrame({name: found.summary().mean() for name, found in predictions.items()}).round(3))
busiest = gridded.cells["n_events"].nlargest(4).index
picture = plot_predictions(predictions, series=list(busiest))
