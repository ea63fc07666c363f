"""
Data streams: prediction row by row
===================================

Each row is predicted before it is learned. The error is therefore a prediction error, not the error of a fit.
"""

from pgmx.datasets import load_example
from pgmx.metrics import prequential
from pgmx.plotting import plot_prequential
from pgmx.streaming import AdaRakerRegressor

months = load_example("sea_temperature")["temperature"]
rows = months.to_frame("now").assign(**{f"{lag} before": months.shift(lag) for lag in (1, 2, 12)}).dropna()
X, y = rows.drop(columns="now").to_numpy() / 30, rows["now"].to_numpy() / 30
curve = prequential(AdaRakerRegressor(random_state=0), X, y, window=60)
print({name: errors[-1].round(5) for name, errors in curve.errors.items()})  # squared errors of the last window
picture = plot_prequential(curve)
