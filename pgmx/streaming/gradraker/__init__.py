"""Gradraker: functions on the nodes of growing graphs, by random features of their rows.

- `views`: neighbours of nodes, their hops, layers and features as rows of keyed entries
- `learner`: base of both learners: features, updates, the private interface
- `regressor`, `classifier`: the two learners
"""

from pgmx.streaming.gradraker.classifier import GradrakerClassifier
from pgmx.streaming.gradraker.regressor import GradrakerRegressor

__all__ = ["GradrakerClassifier", "GradrakerRegressor"]
