"""From options to a learner, and the options that a method does not take."""

import sys

from pgmx.cli.options import BAYESIAN_METHODS, GAUSSIAN_METHODS, MARKOV_METHODS, SCORE_TRANSFORMS

_SEARCHES = ("hill-climb", "annealing", "best-first")
_FORESTS = ("chow-liu", "tan")
_UNDIRECTED = MARKOV_METHODS + GAUSSIAN_METHODS

#: Options that only some methods take.
_ONLY = {
    "strategy": ("hill-climb",),
    "restarts": ("hill-climb",),
    "start": _SEARCHES,
    "max_candidates": _SEARCHES,
    "max_indegree": _SEARCHES,
    "max_time": _SEARCHES + _UNDIRECTED,
    "checkpoint": _SEARCHES + MARKOV_METHODS,
    "plot_history": _SEARCHES + _UNDIRECTED,
    "root": _FORESTS,
    "class_node": ("tan",),
    "score": BAYESIAN_METHODS,
    "tiers": BAYESIAN_METHODS,
    "roots": BAYESIAN_METHODS,
    "required": BAYESIAN_METHODS + MARKOV_METHODS,
    "forbidden": BAYESIAN_METHODS + MARKOV_METHODS,
    "lam": _UNDIRECTED,
    "lam_ratio": _UNDIRECTED,
    "l2": MARKOV_METHODS,
    "loss": MARKOV_METHODS,
    "max_edges": MARKOV_METHODS,
    "held_out": _UNDIRECTED,
    "alpha": ("best-choice", "online", "edge-grafting"),
    "select": ("group-lasso", *GAUSSIAN_METHODS),
    "nonparanormal": GAUSSIAN_METHODS,
    "rule": ("neighborhood",),
    "solver": ("clime",),
}

#: By what each family chooses a penalty.
_SELECTIONS = {"Markov": ("held-out", "ebic", "stars"), "Gaussian": ("ebic", "stars", "cv")}

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
    if method in GAUSSIAN_METHODS:
        _check_gaussian(options)
    if method == "tan" and options["class_node"] is None:
        raise ValueError("--method tan needs --class-node, the name of the class variable")
    if options["score"] is not None:
        options["score"] = check_score_name(options["score"])
        if method in _FORESTS and _plain(options["score"]) not in _WEIGHTS:
            raise ValueError(
                f"--score {options['score']} is not for --method {method}: choose one of {', '.join(_WEIGHTS)}"
            )


def _check_markov(options: dict) -> None:
    _check_penalty(options, "Markov")
    _check_missing(options, "pairwise", "error, drop, category")
    if options["select"] is not None and options.get("checkpoint") is not None:
        raise ValueError("--checkpoint is not for --select: a path of penalties keeps no checkpoints")


def _check_gaussian(options: dict) -> None:
    _check_penalty(options, "Gaussian")
    _check_missing(options, "category", "error, drop, pairwise")
    if options["missing"] == "pairwise" and options["nonparanormal"] in SCORE_TRANSFORMS:
        raise ValueError(
            f"--missing pairwise is not for --nonparanormal {options['nonparanormal']}: choose kendall or spearman, or "
            "--missing drop"
        )
    if options["select"] is None:
        if options["plot_history"] is not None:
            raise ValueError(f"--plot-history of --method {options['method']} draws a path of penalties: give --select")
        return
    if options["lam"] is not None:
        raise ValueError(
            "--lam is one penalty, and --select chooses from a path of them: say where that ends by --lam-ratio"
        )
    if options["lam_ratio"] is not None and not 0 < options["lam_ratio"] < 1:
        raise ValueError(
            f"--lam-ratio {options['lam_ratio']:g} is no end of a path for --select: give a share between 0 and 1"
        )


def _check_penalty(options: dict, family: str) -> None:
    if options["lam"] is not None and options["lam_ratio"] is not None:
        raise ValueError("--lam and --lam-ratio both set the penalty: give one of them")
    select, allowed = options["select"], _SELECTIONS[family]
    if select is not None and select not in allowed:
        raise ValueError(
            f"--select {select} is not for --method {options['method']}: choose one of {', '.join(allowed)}"
        )


def _check_missing(options: dict, refused: str, allowed: str) -> None:
    if options["missing"] == refused:
        raise ValueError(f"--missing {refused} is not for --method {options['method']}: choose one of {allowed}")


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
    if method in GAUSSIAN_METHODS:
        return _gaussian_learner(options, watched)
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


def _gaussian_learner(options: dict, watched: bool):
    from pgmx import estimators

    learner = {
        "glasso": estimators.GraphicalLasso,
        "clime": estimators.CLIME,
        "neighborhood": estimators.NeighborhoodLasso,
    }[options["method"]]
    show, select, ranks = watched and sys.stderr.isatty(), options["select"], options["nonparanormal"]
    wanted = ("rule", "solver", *(() if select else ("lam", "lam_ratio", "max_time")))
    given = {name: options[name] for name in wanted if options[name] is not None}
    missing = {} if ranks else {"missing": options["missing"]}
    learned = learner(show_progress=show, n_jobs=options["n_jobs"], **missing, **given)
    if ranks:
        learned = estimators.Nonparanormal(
            learned, correlation=ranks, missing=options["missing"], n_jobs=options["n_jobs"]
        )
    if select is None:
        return learned
    ends = {} if options["lam_ratio"] is None else {"lam_min_ratio": options["lam_ratio"]}
    return estimators.SelectedGraph(
        learned,
        selection=select,
        max_time=options["max_time"],
        show_progress=show,
        n_jobs=options["n_jobs"],
        random_state=options["random_state"],
        **ends,
    )
