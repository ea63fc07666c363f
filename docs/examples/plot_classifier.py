"""
A tree-augmented classifier
===========================

Every feature depends on the class and on at most one other feature. Missing values are summed out.
"""

from sklearn.model_selection import cross_val_score

from pgmx.datasets import load_example
from pgmx.estimators import BayesianNetworkClassifier, MarkovBlanket
from pgmx.plotting import plot_graph

frame = load_example("affairs")
X, y = frame.drop(columns="affairs"), frame["affairs"]
for structure in ("naive", "tan"):
    losses = -cross_val_score(BayesianNetworkClassifier(structure), X, y, scoring="neg_log_loss")
    print(f"{structure}: log loss {losses.mean():.3f}")
classifier = BayesianNetworkClassifier().fit(X, y)
rows = X.head(3).assign(religious=None)
print(classifier.classes_, classifier.predict_proba(rows).round(3))

# %%
# Tests find the Markov blanket of the class: given these features, the others carry no information about it.
print(MarkovBlanket(target="affairs").fit(frame).blanket_)
picture = plot_graph(classifier.graph_)
