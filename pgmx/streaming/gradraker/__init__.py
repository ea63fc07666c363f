"""Gradraker: functions on the nodes of graphs that grow, by random features of their rows.

- `views`: neighbours of nodes, their hops, layers and features as rows of keyed entries
- `learner`: what both learners share: features, updates, the private interface
- `regressor`, `classifier`: the two learners
"""

from pgmx.streaming.gradraker.classifier import GradrakerClassifier
from pgmx.streaming.gradraker.regressor import GradrakerRegressor

__all__ = ["GradrakerClassifier", "GradrakerRegressor"]
