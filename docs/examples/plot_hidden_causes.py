"""
Causes that were not measured
=============================

RFCI draws two arrowheads between variables with a hidden common cause, and a circle if the data do not decide.
"""

import numpy as np
import pandas as pd

from pgmx.estimators import RFCI
from pgmx.plotting import plot_graph

rng = np.random.default_rng(0)
season, price, advertising = rng.normal(size=(3, 5_000))
visits = advertising + season + rng.normal(size=5_000)
sales = season - price + rng.normal(size=5_000)
profit = sales + rng.normal(size=5_000)
frame = pd.DataFrame(
    {"advertising": advertising, "visits": visits, "sales": sales, "price": price, "profit": profit}
)  # without the season
picture = plot_graph(RFCI().fit(frame))
