"""
Distributions and what observations change
==========================================

The distribution of a variable given its parents, and all distributions of a network before (grey) and after an
observation.
"""

from pgmx.datasets import load_network
from pgmx.plotting import plot_cpd, plot_marginals

asia = load_network("asia")
distribution = plot_cpd(asia, "dysp")

# %%
# A positive X-ray of a patient with dyspnoea.
answer = plot_marginals(asia, {"xray": "yes", "dysp": "yes"})
