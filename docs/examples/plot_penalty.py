"""
Choosing a penalty
==================

Solve the graphical lasso for a path of penalties, and select one by EBIC.
"""

from pgmx.datasets import load_example
from pgmx.estimators import GraphicalLasso, Nonparanormal, SelectedGraph
from pgmx.plotting import plot_path

cells = load_example("wine").drop(columns="grape")
learner = SelectedGraph(Nonparanormal(GraphicalLasso()), selection="ebic", show_progress=False).fit(cells)
print(learner.graph_, f"penalty {learner.lam_:.3f}, gap {learner.dual_gap_:.1e}")
picture = plot_path(learner)
