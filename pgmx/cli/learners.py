"""From options to a learner, and the options that a method does not take."""

import sys

from pgmx.cli.options import BAYESIAN_METHODS, MARKOV_METHODS

_SEARCHES = ("hill-climb", "annealing", "best-first")
_FORESTS = ("chow-liu", "tan")

#: Options that only some methods take.
_ONLY = {
    "strategy": ("hill-climb",),
    "restarts": ("hill-climb",),
    "start": _SEARCHES,
    "max_candidates": _SEARCHES,
    "max_indegree": _SEARCHES,
    "max_time": _SEARCHES + MARKOV_METHODS,
    "checkpoint": _SEARCHES + MARKOV_METHODS,
    "plot_history": _SEARCHES + MARKOV_METHODS,
    "root": _FORESTS,
    "class_node": ("tan",),
    "score": BAYESIAN_METHODS,
    "tiers": BAYESIAN_METHODS,
    "roots": BAYESIAN_METHODS,
    "lam": MARKOV_METHODS,
    "lam_ratio": MARKOV_METHODS,
    "l2": MARKOV_METHODS,
    "loss": MARKOV_METHODS,
    "max_edges": MARKOV_METHODS,
    "held_out": MARKOV_METHODS,
    "alpha": ("best-choice", "online", "edge-grafting"),
    "select": ("group-lasso",),
}

#: Options of learners of Markov networks that have the same name there.
_MARKOV_OPTIONS = ("lam", "lam_ratio", "l2", "loss", "max_edges", "alpha", "max_time", "checkpoint")

#: Names of scores by the weight that a forest calls them.
_WEIGHTS = {"ll": "mutual_info", "bic": "bic", "aic": "aic", "bdeu": "bdeu"}


def check_method(options: dict) -> None:
    """Refuse options that the method does not take, and scores that are not known.

    Parameters
    ----------
    options : dict
        What the user typed; None where nothing. The score is turned into lower case.

    Raises
    ------
    ValueError
        With the option and the methods that take it.
    """
    from pgmx.scores.registry import check_score_name

    method = options["method"]
    for option, methods in _ONLY.items():
        if options.get(option) is not None and method not in methods:
            raise ValueError(f"--{option.replace('_', '-')} is for --method {', '.join(methods)}, not for {method}")
    if method in MARKOV_METHODS:
        _check_markov(options)
    if method == "tan" and options["class_node"] is None:
        raise ValueError("--method tan needs --class-node, the name of the class variable")
    if options["score"] is not None:
        options["score"] = check_score_name(options["score"])
        if method in _FORESTS and _plain(options["score"]) not in _WEIGHTS:
            raise ValueError(
                f"--score {options['score']} is not for --method {method}: choose one of {', '.join(_WEIGHTS)}"
            )


def _check_markov(options: dict) -> None:
    if options["lam"] is not None and options["lam_ratio"] is not None:
        raise ValueError("--lam and --lam-ratio both set the penalty: give one of them")
    if options["missing"] == "pairwise":
        raise ValueError(
            f"--missing pairwise is not for --method {options['method']}: choose one of error, drop, category"
        )
    if options["select"] is not None and options.get("checkpoint") is not None:
        raise ValueError("--checkpoint is not for --select: a path of penalties keeps no checkpoints")


def default_score(method: str, n_floats: int, n_columns: int) -> str:
    """Return the score in force where the user names none."""
    stem = "ll" if method in _FORESTS else "bic"
    return stem if not n_floats else f"{stem}-g" if n_floats == n_columns else f"{stem}-cg"


def _plain(score: str) -> str:
    return score.removesuffix("-d").removesuffix("-cg").removesuffix("-g")


def make_learner(options: dict, knowledge: dict, *, watched: bool = True):
    """Make the learner that the options ask for.

    Parameters
    ----------
    options : dict
        As `check_method` leaves them.
    knowledge : dict
        What `learner_knowledge` returns.
    watched : bool, default=True
        Whether it may show its progress, which it does on a terminal.

    Returns
    -------
    learner
        Not fitted.
    """
    from pgmx import estimators

    method = options["method"]
    if method in MARKOV_METHODS:
        return _markov_learner(options, knowledge, watched)
    common = {name: options[name] for name in ("missing", "n_jobs", "random_state")}
    if method in _FORESTS:
        weight = "mutual_info" if options["score"] is None else _WEIGHTS[_plain(options["score"])]
        # A root or a class is the user's choice of direction; without one the data tell none.
        directed = {"root", "class_node"} & knowledge.keys()
        return estimators.ChowLiuForest(weight=weight, return_type="dag" if directed else "pdag", **common, **knowledge)
    given = {
        "strategy": options["strategy"],
        "n_restarts": options["restarts"],
        "start_dag": None if options["start"] == "empty" else options["start"],
        "checkpoint": options.get("checkpoint"),
    }
    learner = {
        "hill-climb": estimators.HillClimbSearch,
        "annealing": estimators.SimulatedAnnealing,
        "best-first": estimators.BestFirstSearch,
    }[method]
    return learner(
        scoring_method=options["score"],
        max_indegree=options["max_indegree"],
        max_candidates=options["max_candidates"],
        max_time=options.get("max_time"),
        show_progress=watched and sys.stderr.isatty(),
        **{name: value for name, value in given.items() if value is not None},
        **common,
        **knowledge,
    )


def _markov_learner(options: dict, knowledge: dict, watched: bool):
    from pgmx import estimators

    method = options["method"]
    learner = {
        "best-choice": estimators.BestChoiceEdgeGrafting,
        "online": estimators.OnlineEdgeGrafting,
        "first-hit": estimators.FirstHitEdgeGrafting,
        "edge-grafting": estimators.EdgeGrafting,
        "feature-grafting": estimators.FeatureGrafting,
        "grafting-light": estimators.GraftingLight,
        "group-lasso": estimators.GroupLassoMarkovNetwork,
    }[method]
    given = {name: options[name] for name in _MARKOV_OPTIONS if options.get(name) is not None}
    if method == "edge-grafting" and "alpha" in given:
        given["batch"] = True
    if options["select"] is not None:
        given["selection"] = options["select"].replace("-", "_")
    return learner(
        # A missing cell that is a state of its own has been coded as one.
        missing="drop" if options["missing"] == "drop" else "error",
        show_progress=watched and sys.stderr.isatty(),
        n_jobs=options["n_jobs"],
        random_state=options["random_state"],
        **given,
        **knowledge,
    )
