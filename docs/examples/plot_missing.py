"""
Missing values: complete rows or structural EM
==============================================

A fifth of the values is removed at random. Structural EM learns from all rows, ``drop`` from the complete rows.
"""

import numpy as np

from pgmx.datasets import load_network, sample
from pgmx.estimators import HillClimbSearch
from pgmx.metrics import shd
from pgmx.plotting import plot_graph

truth = load_network("asia")
frame = sample(truth, 5_000, random_state=1)
holes = frame.mask(np.random.default_rng(0).random(frame.shape) < 0.2)
complete = holes.dropna()
drop = HillClimbSearch(strategy="thorough").fit(complete)
em = HillClimbSearch(strategy="thorough", missing="em").fit(holes)
print(f"drop: {len(complete):,} rows, distance to the truth {shd(truth, drop.dag_)}")
print(f"em: all rows, distance {shd(truth, em.dag_)}, {em.n_em_iter_} iterations")
print(em.imputed_frame().head())
picture = plot_graph(em.dag_, reference=truth)
