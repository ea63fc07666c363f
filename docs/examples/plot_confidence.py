"""
Edge confidence (bootstrap)
===========================

Run the same learner on 100 resamples, and count how often each edge appears and in which direction.
"""

from pgmx.datasets import sample_network
from pgmx.estimators import BootstrapStructure, HillClimbSearch
from pgmx.plotting import plot_strengths

frame = sample_network("asia", 500, random_state=3)
bootstrap = BootstrapStructure(HillClimbSearch(), n_resamples=100, random_state=0, show_progress=False).fit(frame)
print(bootstrap.strengths_.head(10).to_string(index=False))
print(f"the consensus graph has the edges of more than {bootstrap.threshold_:.2f} of the resamples")
picture = plot_strengths(bootstrap.strengths_)
