"""A stand-in for the next version of pgmpy: this version's modules, with names removed, renamed and added.

``pgmpy.estimators`` has no ``StructureEstimator``, or is gone; ``pgmpy.metrics.get_metrics`` has become ``get_metric``;
the base of causal discovery is public, with tags and checks of its own; ``ExpertKnowledge`` has more fields.
"""

import sys
from importlib import import_module

import pgmpy.causal_discovery
import pgmpy.metrics
from skbase.base import BaseObject
from sklearn.base import BaseEstimator

TAGS = [
    "object_type",
    "name",
    "data_types",
    "identifiable_graph",
    "requires_target",
    "capability:multivariate",
    "capability:expert_knowledge",
    "assumption:causal_sufficiency",
    "assumption:acyclicity",
    "assumption:faithfulness",
    "assumption:linearity",
    "assumption:additive_noise",
    "assumption:gaussian_noise",
    "assumption:non_gaussian_noise",
    "assumption:low_noise",
]


class BaseCausalDiscovery(BaseEstimator, BaseObject):
    """The public base: tags, a method that all its learners share, and checks that no learner of pgmx may run."""

    _tags = dict.fromkeys(TAGS) | {"object_type": "causal_discovery"}

    __eq__ = BaseEstimator.__eq__
    __hash__ = BaseEstimator.__hash__

    def _check_fit_data(self, X):
        raise AssertionError("pgmpy's checks of the input have run")

    def fit(self, X, y=None, **options):
        """Check the input and learn."""
        return self._fit(self._check_fit_data(X), **options)

    def count_edges(self):
        """Return the number of edges of the learned graph."""
        return self.causal_graph_.number_of_edges()


class ExpertKnowledge(BaseEstimator):
    """Knowledge with the fields to come, stored as they are given."""

    def __init__(
        self,
        forbidden_edges=None,
        required_edges=None,
        temporal_order=None,
        search_space=None,
        root_nodes=None,
        orientations=None,
        orientation_fn=None,
        ci_test=None,
        significance_level=0.05,
    ):
        self.forbidden_edges = forbidden_edges
        self.required_edges = required_edges
        self.temporal_order = temporal_order
        self.search_space = search_space
        self.root_nodes = root_nodes
        self.orientations = orientations
        self.orientation_fn = orientation_fn
        self.ci_test = ci_test
        self.significance_level = significance_level


class Metric:
    """A metric of this version, whose types of graphs have become a list."""

    def __init__(self, metric):
        self.evaluate, self._types = metric.evaluate, list(metric.get_tag("supported_graph_types"))

    def get_tag(self, name):
        """Return the one tag that learners ask for."""
        return {"supported_graph_types": self._types}[name]


def _get_metric(metric=None, requires_true_graph=None):
    """Return an instance of a metric by its name, or the default of its kind."""
    by_name = {"shd": pgmpy.metrics.SHD, "correlation_score": pgmpy.metrics.CorrelationScore}
    default = pgmpy.metrics.SHD if requires_true_graph else pgmpy.metrics.CorrelationScore
    if metric is not None and metric.lower() not in by_name:
        raise ValueError(f"Unknown metric: {metric!r}.")
    return Metric(default() if metric is None else by_name[metric.lower()]())


def install(has_estimators):
    """Put the stand-in in the place of this version, before pgmx is imported."""
    if has_estimators:
        del import_module("pgmpy.estimators").StructureEstimator
    else:
        sys.modules["pgmpy.estimators"] = None  # importing it is a ModuleNotFoundError
    del pgmpy.metrics.get_metrics
    pgmpy.metrics.get_metric = _get_metric
    pgmpy.causal_discovery.BaseCausalDiscovery = BaseCausalDiscovery
    pgmpy.causal_discovery.ExpertKnowledge = ExpertKnowledge
