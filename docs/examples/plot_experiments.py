"""
Directions that experiments decide
==================================

Observational rows of a chain decide no direction. Rows in which one variable was set decide all of them.
"""

import numpy as np
import pandas as pd

from pgmx.estimators import HillClimbSearch
from pgmx.plotting import plot_graph

rng = np.random.default_rng(0)
was_set = rng.random(2_000) < 0.5
dose = rng.normal(size=2_000)
level = np.where(was_set, rng.normal(size=2_000), 0.8 * dose + rng.normal(size=2_000))
response = 0.8 * level + rng.normal(size=2_000)
frame = pd.DataFrame({"dose": dose, "level": level, "response": response})

observed = HillClimbSearch().fit(frame[~was_set])
assert not observed.graph_.directed_edges
search = HillClimbSearch().fit(frame, interventions=pd.DataFrame({"level": was_set}))
picture = plot_graph(search, targets=["level"])
