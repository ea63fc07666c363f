"""Methods of learning: their learners, the options that each of them has, and the learner that the options describe.

No learner is imported before it is made, so that ``--help`` stays fast. A test compares every default with the
signatures of the learners.
"""

import sys
from collections.abc import Iterable
from typing import Any, NamedTuple

from pgmx.ci_tests.registry import name_default as name_default_test
from pgmx.scores.registry import check_score_name, list_scores, name_default

SEARCHES = {
    "hill-climb": "HillClimbSearch",
    "annealing": "SimulatedAnnealing",
    "best-first": "BestFirstSearch",
    "ges": "GreedyEquivalenceSearch",
}
#: Searches among pairs that tests have left.
HYBRIDS = {"mmhc": "MMHC"}
FORESTS = {"chow-liu": "ChowLiuForest", "tan": "ChowLiuForest"}
#: Methods that test conditional independence.
HIDDEN_CAUSES = {"rfci": "RFCI", "fci": "FCI"}
TESTED = {"pc": "PC", **HIDDEN_CAUSES}
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
#: Series of any kind of variables.
DYNAMIC_METHODS = {"dynamic": "DynamicBayesianNetworkSearch"}
EQUATION_METHODS = {"tensor-sem": "TensorSEM", "sparse-tensor-sem": "SparseTensorSEM"}
SERIES_METHODS = {**LDS_METHODS, **SVARM_METHODS, **EQUATION_METHODS, **DYNAMIC_METHODS}
#: Regressor and classifier in `pgmx.streaming` for each method of ``pgmx stream``.
STREAM_METHODS = {
    "adaraker": ("AdaRakerRegressor", "AdaRakerClassifier"),
    "raker": ("RakerRegressor", "RakerClassifier"),
}
SCORED = {**SEARCHES, **FORESTS, **HYBRIDS}
BAYESIAN_METHODS = {**SCORED, **TESTED}
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


_CLIMBS = (*SEARCHES, *HYBRIDS)
_SCORED_SEARCHES = (*_CLIMBS, *DYNAMIC_METHODS)
_LAGGED = (*LDS_METHODS, *SVARM_METHODS)
_GUIDED = (*BAYESIAN_METHODS, *MARKOV_METHODS, *_LAGGED, *EQUATION_METHODS, *DYNAMIC_METHODS)
_LIMITED = (
    *BAYESIAN_METHODS,
    *UNDIRECTED_METHODS,
    "lds",
    "scalable-lds",
    *SVARM_METHODS,
    *EQUATION_METHODS,
    *DYNAMIC_METHODS,
)

#: Options with files or names of columns: `tables` reads them and checks them against the table.
_READ_WITH_DATA = ("required", "forbidden", "tiers", "roots", "root", "class_node", "held_out", "interventions")

#: The criteria for the choice of a penalty, by family.
_SELECTIONS = {"Markov": ("held-out", "ebic", "stars"), "Gaussian": ("ebic", "stars", "cv"), "lds": ("ebic", "cv")}
_SELECTIONS["sparse-tensor-sem"] = _SELECTIONS["lds"]
_SELECTIONS |= dict.fromkeys(SVARM_METHODS, ("aic", "bic", "cv"))

#: The edge weight of a forest, by score.
_WEIGHTS = {"ll": "mutual_info", "bic": "bic", "aic": "aic", "bdeu": "bdeu", "bge": "bge", "bic-dg": "bic-dg"}

#: Options that only some methods have.
LEARNER_OPTIONS = {
    "strategy": [
        Parameter(["hill-climb", *DYNAMIC_METHODS], "strategy", "greedy"),
        Parameter(HYBRIDS, "strategy", "thorough", scope="mmhc"),
    ],
    "penalty": [Parameter(_SCORED_SEARCHES, "penalty", 1.0)],
    "gamma": [Parameter(_SCORED_SEARCHES, "gamma", 1.0)],
    "discrete_children": [Parameter(_SCORED_SEARCHES, "discrete_children", "forbidden")],
    "restarts": [Parameter(["hill-climb", *DYNAMIC_METHODS], "n_restarts", 0)],
    "em_restarts": [Parameter(SEARCHES, "n_em_restarts", 0)],
    "interventions": [Parameter(SEARCHES, "interventions")],
    "start": [Parameter(_CLIMBS, "start_dag", text="empty")],
    "max_candidates": [Parameter(SEARCHES, "max_candidates")],
    "max_indegree": [Parameter(_SCORED_SEARCHES, "max_indegree")],
    "max_degree": [Parameter(["ges"], "max_degree")],
    "max_time": [Parameter(_LIMITED, "max_time")],
    "checkpoint": [Parameter([*_CLIMBS, *TESTED, *MARKOV_METHODS], "checkpoint")],
    "plot_history": [Parameter([*_CLIMBS, *UNDIRECTED_METHODS])],
    "root": [Parameter(FORESTS, "root")],
    "class_node": [Parameter(["tan"], "class_node")],
    "score": [Parameter(_SCORED_SEARCHES, "scoring_method"), Parameter(FORESTS, "weight", "mutual_info")],
    "tiers": [Parameter(BAYESIAN_METHODS, "tiers")],
    "roots": [Parameter(BAYESIAN_METHODS, "root_nodes")],
    "required": [Parameter(_GUIDED, "required_edges")],
    "forbidden": [Parameter(_GUIDED, "forbidden_edges")],
    "equivalent_sample_size": [Parameter([*SCORED, *DYNAMIC_METHODS], "equivalent_sample_size")],
    "pseudo_counts": [Parameter([*SCORED, *DYNAMIC_METHODS], "pseudo_counts")],
    "lam": [Parameter([*UNDIRECTED_METHODS, "lds", "scalable-lds", *SVARM_METHODS, "sparse-tensor-sem"], "lam")],
    "lam_ratio": [
        Parameter([*MARKOV_METHODS, "lds", *SVARM_METHODS, "sparse-tensor-sem"], "lam_ratio", 0.1),
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
        Parameter(TESTED, "significance_level", 0.01, scope="pc, rfci, fci"),
        Parameter(HYBRIDS, "significance_level", 0.05, scope="mmhc"),
    ],
    "test": [Parameter([*TESTED, *HYBRIDS], "ci_test")],
    "select": [
        Parameter(["group-lasso"], "selection"),
        Parameter([*GAUSSIAN_METHODS, "lds", *SVARM_METHODS, "sparse-tensor-sem"]),
    ],
    "nonparanormal": [Parameter(GAUSSIAN_METHODS)],
    "rule": [Parameter(["neighborhood"], "rule", "and")],
    "solver": [Parameter(["clime"], "solver", "auto")],
    "lags": [Parameter([*_LAGGED, *DYNAMIC_METHODS], "lags", 1)],
    "static": [Parameter(DYNAMIC_METHODS, "static_columns")],
    "instantaneous": [Parameter(DYNAMIC_METHODS, "instantaneous", False, text="none")],
    "time_column": [Parameter(SERIES_METHODS, "time_column")],
    "groups": [Parameter(SERIES_METHODS, "groups")],
    "exogenous_columns": [Parameter(_LAGGED, "exogenous_columns")],
    "seasonal_period": [Parameter(_LAGGED, "seasonal_period")],
    "irregular": [Parameter(SERIES_METHODS, "irregular", "error")],
    "intercept": [Parameter([*LDS_METHODS, *EQUATION_METHODS], "fit_intercept", False, text="none")],
    "k": [Parameter(["lds"], "k"), Parameter(["scalable-lds"], "k", 10, scope="scalable-lds")],
    "screen": [Parameter(["lds"], "screen")],
    "seeds": [Parameter(["scalable-lds"], "n_seeds", text="a fifth of the series")],
    "kernels": [Parameter(["kernel-svarm"], "kernels", ("gaussian",), text="gaussian")],
    "orient": [Parameter(["kernel-svarm"], "orient")],
    "window": [Parameter(EQUATION_METHODS, "window")],
    "exogenous_power": [Parameter(EQUATION_METHODS)],
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
    if method in DYNAMIC_METHODS:
        return ("drop", "category", "pairwise")
    if method in SERIES_METHODS:
        return ("drop",)
    if method in GAUSSIAN_METHODS:
        return ("drop",) if nonparanormal in SCORE_TRANSFORMS else ("drop", "pairwise")
    if method in MARKOV_METHODS:
        return ("drop", "category")
    has_em = method not in (*FORESTS, *TESTED, *HYBRIDS)
    return ("drop", "category", "pairwise", "em") if has_em else ("drop", "category", "pairwise")


# ---- learners ----


def check_method(options: dict) -> None:
    """Raise an error for options that the method does not have and unknown scores; convert the score to lower case."""
    method = options["method"]
    for option in LEARNER_OPTIONS:
        methods = methods_of(option)
        if options.get(option) is not None and method not in methods:
            raise ValueError(f"--{option.replace('_', '-')} is for --method {', '.join(methods)}, not for {method}")
    if method in MARKOV_METHODS:
        _check_markov(options)
    if method in GAUSSIAN_METHODS:
        _check_gaussian(options)
    if method in SERIES_METHODS:
        _check_series(options)
    if method in (*GAUSSIAN_METHODS, *SERIES_METHODS) and method not in DYNAMIC_METHODS and options.get("discrete"):
        raise ValueError(
            f"--discrete {','.join(options['discrete'])} is for networks with discrete variables, not for --method "
            f"{method}: drop these columns by --drop"
        )
    if method in (*TESTED, *HYBRIDS) and options.get("alpha") in (0.0, 1.0):  # click has checked the rest of the range
        raise ValueError(f"--alpha {options['alpha']:g} is not a significance level: give a number above 0 and below 1")
    if method in (*FORESTS, *TESTED, *HYBRIDS):
        _check_missing(options, "em", "error, drop, category, pairwise")
    if options.get("em_restarts") and options["missing"] != "em":
        raise ValueError(f"--em-restarts {options['em_restarts']} is for --missing em, not for {options['missing']}")
    if method == "tan" and options["class_node"] is None:
        raise ValueError("--method tan needs --class-node, the name of the class variable")
    if options.get("equivalent_sample_size") is not None and options.get("pseudo_counts") is not None:
        raise ValueError("--equivalent-sample-size and --pseudo-counts are two priors: give one of them")
    if options["score"] is not None:
        options["score"] = check_score_name(options["score"])
        names = list_scores(family="clg")
        if options.get("discrete_children") == "allowed" and options["score"] not in names:
            raise ValueError(
                f"--discrete-children allowed is for --score {', '.join(names)}, not for {options['score']}"
            )
        if method in FORESTS and _plain(options["score"]) not in _WEIGHTS:
            raise ValueError(
                f"--score {options['score']} is not for --method {method}: choose one of {', '.join(_WEIGHTS)}"
            )


def _check_markov(options: dict) -> None:
    _check_penalty(options, "Markov")
    for choice in ("pairwise", "em"):
        _check_missing(options, choice, "error, drop, category")


def _check_gaussian(options: dict) -> None:
    _check_penalty(options, "Gaussian")
    for choice in ("category", "em"):
        _check_missing(options, choice, "error, drop, pairwise")
    if options["missing"] == "pairwise" and options["nonparanormal"] in SCORE_TRANSFORMS:
        raise ValueError(
            f"--missing pairwise is not for --nonparanormal {options['nonparanormal']}: choose kendall or spearman, or "
            "--missing drop"
        )
    if options["select"] is None:
        if options["plot_history"] is not None:
            raise ValueError(f"--plot-history of --method {options['method']} draws a path of penalties: give --select")
        return
    _check_path(options)


def _check_path(options: dict) -> None:
    """Raise an error for penalties that cannot be the end of the path of --select."""
    if options["lam"] is not None:
        raise ValueError(
            "--lam is one penalty, but --select chooses from a path of penalties: set the end of the path by "
            "--lam-ratio"
        )
    if options["lam_ratio"] is not None and not 0 < options["lam_ratio"] < 1:
        raise ValueError(
            f"--lam-ratio {options['lam_ratio']:g} cannot be the end of a path: with --select give a share between 0 "
            "and 1"
        )


def _check_series(options: dict) -> None:
    from pgmx.solvers.time_series.kernel_blocks import NAMES

    _check_penalty(options, options["method"])
    if options["select"] is not None:
        _check_path(options)
        if options["screen"] is not None:
            raise ValueError("--select needs all cross-products, which --screen does not compute: leave one out")
    for kernel in options["kernels"] or ():
        if kernel not in NAMES:
            raise ValueError(f"--kernels {kernel}: choose from {', '.join(NAMES)}")
    method = options["method"]
    if method in DYNAMIC_METHODS:
        _check_missing(options, "em", "error, drop, category, pairwise")
        return
    for choice in ("category", "pairwise", "em"):
        _check_missing(options, choice, "error, drop")
    if method in EQUATION_METHODS and options["window"] is None:
        raise ValueError(f"--method {method} needs --window, the number of rows with constant power of the inputs")
    if options["select"] is not None and options["exogenous_power"] is not None:
        raise ValueError("--select is for unknown powers of the inputs: leave out --exogenous-power, or give --lam")


def _check_penalty(options: dict, family: str) -> None:
    if options["lam"] is not None and options["lam_ratio"] is not None:
        raise ValueError("--lam and --lam-ratio both set the penalty: give one of them")
    select, allowed = options["select"], _SELECTIONS.get(family, ())
    if select is not None and select not in allowed:
        raise ValueError(
            f"--select {select} is not for --method {options['method']}: choose one of {', '.join(allowed)}"
        )


def _check_missing(options: dict, refused: str, allowed: str) -> None:
    if options["missing"] == refused:
        raise ValueError(f"--missing {refused} is not for --method {options['method']}: choose one of {allowed}")


def default_score(method: str, n_continuous: int, n_columns: int) -> str:
    """Return the default score, or the default test."""
    if method in TESTED:
        return name_default_test(n_continuous, n_columns)
    name = name_default(n_continuous, n_columns)
    return name.replace("bic", "ll") if method in FORESTS else name  # forests maximise mutual information


def _plain(score: str) -> str:
    return score.removesuffix("-d").removesuffix("-clg").removesuffix("-g")


def make_learner(options: dict, knowledge: dict, *, watched: bool = True) -> Any:
    """Create the learner of the options; if `watched`, it shows its progress on a terminal."""
    from pgmx import estimators

    method = options["method"]
    show = {"show_progress": watched and sys.stderr.isatty()}
    if method in GAUSSIAN_METHODS:
        return _gaussian_learner(options, show)
    if method in SERIES_METHODS:
        return _series_learner(options, knowledge, show)
    arguments = {**_parameters(options), **knowledge, "missing": options["missing"]}
    if method in FORESTS:
        if options["score"] is not None:
            arguments["weight"] = _WEIGHTS[_plain(options["score"])]
        # A root or a class determines the directions; the data do not.
        arguments["return_type"] = "dag" if {"root", "class_node"} & knowledge.keys() else "pdag"
    elif method in MARKOV_METHODS:
        # With "category", missing values are already coded as a state.
        arguments["missing"] = "drop" if options["missing"] == "drop" else "error"
        if method == "edge-grafting" and "alpha" in arguments:
            arguments["batch"] = True  # alpha is the threshold of batches; without them one edge is activated per round
        if options["select"] is not None:
            arguments["selection"] = options["select"].replace("-", "_")
    elif options.get("start") == "empty":
        del arguments["start_dag"]
    run = {"n_jobs": options["n_jobs"]}
    if method not in TESTED:  # which draw nothing
        run["random_state"] = options["random_state"]
    return getattr(estimators, METHODS[method])(**arguments, **run, **show)


def _parameters(options: dict, without: tuple[str, ...] = ()) -> dict:
    """Return the parameters of the learner that the user set, with their values."""
    return {
        parameter.name: options[option]
        for option, parameters in LEARNER_OPTIONS.items()
        for parameter in parameters
        if parameter.name and options["method"] in parameter.methods
        if option not in (*_READ_WITH_DATA, *without) and options.get(option) is not None
    }


def _gaussian_learner(options: dict, show: dict):
    from pgmx import estimators

    select, ranks, n_jobs = options["select"], options["nonparanormal"], {"n_jobs": options["n_jobs"]}
    missing = {"missing": options["missing"]}
    arguments = _parameters(options, without=("lam", "lam_ratio", "max_time") if select else ())
    learner = getattr(estimators, METHODS[options["method"]])(
        **arguments, **show, **n_jobs, **({} if ranks else missing)
    )
    if ranks:
        learner = estimators.Nonparanormal(learner, correlation=ranks, **missing, **n_jobs)
    if select is None:
        return learner
    return _choose_penalty(learner, options, show, max_time=options["max_time"])


def _choose_penalty(learner: Any, options: dict, show: dict, max_time: float | None) -> Any:
    """Return a learner that chooses the penalty of another learner by the criterion of --select."""
    from pgmx.estimators import SelectedGraph

    ends = {} if options["lam_ratio"] is None else {"lam_min_ratio": options["lam_ratio"]}
    return SelectedGraph(
        learner,
        selection=options["select"],
        max_time=max_time,
        random_state=options["random_state"],
        n_jobs=options["n_jobs"],
        **show,
        **ends,
    )


def _series_learner(options: dict, knowledge: dict, show: dict):
    from pgmx import estimators

    method, select = options["method"], options["select"]
    arguments = _parameters(options, without=("lam", "lam_ratio") if select else ()) | knowledge
    if method in ("lds", "scalable-lds", *DYNAMIC_METHODS):
        arguments["random_state"] = options["random_state"]
    if method in EQUATION_METHODS:
        # without a file of powers, all powers of the inputs are estimated
        arguments["exogenous"] = "blind" if options["exogenous_power"] is None else "partial"
    if method != "dense-lds":
        arguments |= show
    max_time = arguments.pop("max_time", None) if select and method in ("lds", "sparse-tensor-sem") else None
    learner = getattr(estimators, METHODS[method])(**arguments, missing=options["missing"], n_jobs=options["n_jobs"])
    return learner if select is None else _choose_penalty(learner, options, show, max_time)
