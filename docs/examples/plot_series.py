"""
A time series and its forecast
==============================

Learn which quarterly figures of the economy help to predict others one quarter later, and forecast the next quarters.
"""

import numpy as np

from pgmx.datasets import load_example
from pgmx.estimators import SparsityInducingLDS
from pgmx.plotting import plot_forecast, plot_summary_graph

series = load_example("economy")[["realgdp", "realcons", "realinv", "unemp", "infl", "tbilrate"]]
series[["realgdp", "realcons", "realinv"]] = np.log(series[["realgdp", "realcons", "realinv"]])
growth = series.diff().dropna()
learner = SparsityInducingLDS(lags=1, lam=0.1, fit_intercept=True).fit(growth)
print(learner.graph_)
picture = plot_summary_graph(learner.graph_)

# %%
# A forecast of eight quarters.
forecast = plot_forecast(learner.model_, growth, 8)
