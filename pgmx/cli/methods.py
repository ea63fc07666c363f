"""Methods of learning, and the options of their learners.

No learner is imported, so that ``--help`` stays fast. A test compares every default with the learners' signatures.
"""

from collections.abc import Iterable
from typing import NamedTuple

SEARCHES = {
    "hill-climb": "HillClimbSearch",
    "annealing": "SimulatedAnnealing",
    "best-first": "BestFirstSearch",
    "ges": "GreedyEquivalenceSearch",
}
FORESTS = {"chow-liu": "ChowLiuForest", "tan": "ChowLiuForest"}
MARKOV_METHODS = {
    "best-choice": "BestChoiceEdgeGrafting",
    "online": "OnlineEdgeGrafting",
    "first-hit": "FirstHitEdgeGrafting",
    "edge-grafting": "EdgeGrafting",
    "feature-grafting": "FeatureGrafting",
    "grafting-light": "GraftingLight",
    "group-lasso": "GroupLassoMarkovNetwork",
}
GAUSSIAN_METHODS = {"glasso": "GraphicalLasso", "clime": "CLIME", "neighborhood": "NeighborhoodLasso"}
LDS_METHODS = {"dense-lds": "DenseLDS", "lds": "SparsityInducingLDS", "scalable-lds": "ScalableLDS"}
SVARM_METHODS = {"svarm": "LinearSVARM", "kernel-svarm": "KernelSVARM"}
SERIES_METHODS = {**LDS_METHODS, **SVARM_METHODS, "tensor-sem": "TensorSEM"}
#: Regressor and classifier in `pgmx.streaming` for each method of ``pgmx stream``.
STREAM_METHODS = {
    "adaraker": ("AdaRakerRegressor", "AdaRakerClassifier"),
    "raker": ("RakerRegressor", "RakerClassifier"),
}
BAYESIAN_METHODS = {**SEARCHES, **FORESTS}
UNDIRECTED_METHODS = {**MARKOV_METHODS, **GAUSSIAN_METHODS}

#: Class in `pgmx.estimators` of each method.
METHODS = {**BAYESIAN_METHODS, **UNDIRECTED_METHODS, **SERIES_METHODS}

#: Transforms of ranks that need complete columns, so that pairwise deletion of missing values is not possible.
SCORE_TRANSFORMS = ("shrinkage", "truncation")

#: Defaults of BootstrapStructure(n_resamples=) and SelectedGraph(lam_min_ratio=).
N_RESAMPLES, LAM_MIN_RATIO = 100, 0.1


class Parameter(NamedTuple):
    """The parameter that an option sets in some learners (none if `name` is empty); help shows `text` as default."""

    methods: Iterable[str]
    name: str = ""
    default: object = None
    text: str = ""
    scope: str = ""


_LAGGED = (*LDS_METHODS, *SVARM_METHODS)
_GUIDED = (*BAYESIAN_METHODS, *MARKOV_METHODS, *_LAGGED, "tensor-sem")
_LIMITED = (*SEARCHES, *FORESTS, *UNDIRECTED_METHODS, "lds", "scalable-lds", *SVARM_METHODS, "tensor-sem")

#: Options that only some methods have.
LEARNER_OPTIONS = {
    "strategy": [Parameter(["hill-climb"], "strategy", "greedy")],
    "discrete_children": [Parameter(SEARCHES, "discrete_children", "forbidden")],
    "restarts": [Parameter(["hill-climb"], "n_restarts", 0)],
    "em_restarts": [Parameter(SEARCHES, "n_em_restarts", 0)],
    "start": [Parameter(SEARCHES, "start_dag", text="empty")],
    "max_candidates": [Parameter(SEARCHES, "max_candidates")],
    "max_indegree": [Parameter(SEARCHES, "max_indegree")],
    "max_time": [Parameter(_LIMITED, "max_time")],
    "checkpoint": [Parameter([*SEARCHES, *MARKOV_METHODS], "checkpoint")],
    "plot_history": [Parameter([*SEARCHES, *UNDIRECTED_METHODS])],
    "root": [Parameter(FORESTS, "root")],
    "class_node": [Parameter(["tan"], "class_node")],
    "score": [Parameter(SEARCHES, "scoring_method"), Parameter(FORESTS, "weight", "mutual_info")],
    "tiers": [Parameter(BAYESIAN_METHODS, "tiers")],
    "roots": [Parameter(BAYESIAN_METHODS, "root_nodes")],
    "required": [Parameter(_GUIDED, "required_edges")],
    "forbidden": [Parameter(_GUIDED, "forbidden_edges")],
    "equivalent_sample_size": [Parameter(BAYESIAN_METHODS, "equivalent_sample_size")],
    "pseudo_counts": [Parameter(BAYESIAN_METHODS, "pseudo_counts")],
    "lam": [Parameter([*UNDIRECTED_METHODS, "lds", "scalable-lds", *SVARM_METHODS], "lam")],
    "lam_ratio": [
        Parameter([*MARKOV_METHODS, "lds", *SVARM_METHODS], "lam_ratio", 0.1),
        Parameter(GAUSSIAN_METHODS, "lam_ratio", 0.3, scope="Gaussian graphs"),
    ],
    "l2": [Parameter(MARKOV_METHODS, "l2", 0.001)],
    "loss": [Parameter(MARKOV_METHODS, "loss", "pseudolikelihood")],
    "max_edges": [Parameter(MARKOV_METHODS, "max_edges")],
    "discretize": [Parameter([*BAYESIAN_METHODS, *MARKOV_METHODS])],
    "held_out": [Parameter(MARKOV_METHODS, "held_out"), Parameter(GAUSSIAN_METHODS)],
    "alpha": [
        Parameter(["best-choice", "online"], "alpha", 0.5),
        Parameter(["edge-grafting"], "alpha", 0.0, text="one edge per round", scope="edge-grafting"),
    ],
    "select": [Parameter(["group-lasso"], "selection"), Parameter([*GAUSSIAN_METHODS, "lds", *SVARM_METHODS])],
    "nonparanormal": [Parameter(GAUSSIAN_METHODS)],
    "rule": [Parameter(["neighborhood"], "rule", "and")],
    "solver": [Parameter(["clime"], "solver", "auto")],
    "lags": [Parameter(_LAGGED, "lags", 1)],
    "time_column": [Parameter(SERIES_METHODS, "time_column")],
    "groups": [Parameter(SERIES_METHODS, "groups")],
    "exogenous_columns": [Parameter(_LAGGED, "exogenous_columns")],
    "seasonal_period": [Parameter(_LAGGED, "seasonal_period")],
    "irregular": [Parameter(SERIES_METHODS, "irregular", "error")],
    "intercept": [Parameter([*LDS_METHODS, "tensor-sem"], "fit_intercept", False, text="none")],
    "k": [Parameter(["lds"], "k"), Parameter(["scalable-lds"], "k", 10, scope="scalable-lds")],
    "screen": [Parameter(["lds"], "screen")],
    "seeds": [Parameter(["scalable-lds"], "n_seeds", text="a fifth of the series")],
    "kernels": [Parameter(["kernel-svarm"], "kernels", ("gaussian",), text="gaussian")],
    "orient": [Parameter(["kernel-svarm"], "orient")],
    "window": [Parameter(["tensor-sem"], "window")],
    "exogenous_power": [Parameter(["tensor-sem"])],
}


def methods_of(option: str) -> tuple[str, ...]:
    """Return the methods that have an option."""
    return tuple(method for parameter in LEARNER_OPTIONS[option] for method in parameter.methods)


def default_text(option: str) -> str:
    """Return the help text for the defaults of an option, such as ``[default: 0.1; Gaussian graphs: 0.3]``."""
    shown = [(parameter.scope, parameter.text or parameter.default) for parameter in LEARNER_OPTIONS[option]]
    texts = [f"{scope or 'default'}: {value}" for scope, value in shown if value is not None]
    return f"  [{'; '.join(texts)}]" if texts else ""


def missing_choices(method: str, nonparanormal: str | None) -> tuple[str, ...]:
    """Return the values of --missing that accept missing values, for a method."""
    if method in SERIES_METHODS:
        return ("drop",)
    if method in GAUSSIAN_METHODS:
        return ("drop",) if nonparanormal in SCORE_TRANSFORMS else ("drop", "pairwise")
    if method in MARKOV_METHODS:
        return ("drop", "category")
    return ("drop", "category", "pairwise") if method in FORESTS else ("drop", "category", "pairwise", "em")
