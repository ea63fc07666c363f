"""Options that several commands share, written once; the defaults of learners come from `methods`."""

import csv
from collections.abc import Callable
from pathlib import Path

import click
from click.shell_completion import CompletionItem

from pgmx.cli.methods import (
    BAYESIAN_METHODS,
    GAUSSIAN_METHODS,
    LAM_MIN_RATIO,
    MARKOV_METHODS,
    SCORE_TRANSFORMS,
    SERIES_METHODS,
    default_text,
)

_COUNT, _POSITIVE, _NOT_NEGATIVE = click.IntRange(min=0), click.IntRange(min=1), click.FloatRange(min=0)


def join_options(*several):
    """Return one decorator in place of several, which help lists in the order given."""

    def decorate(command):
        for option in reversed(several):
            command = option(command)
        return command

    return decorate


def split_names(text: str) -> list[str]:
    """Return the names of an option that takes several, quoted as in a CSV file."""
    return [name.strip() for name in next(csv.reader([text], skipinitialspace=True), [])]


def file_option(name: str, help: str):
    """Return an option that names a file."""
    return click.option(name, metavar="FILE", type=Path, help=help)


def _learner_option(name: str, metavar: str | None, kind, help: str):
    """Return an option that learners take, with their defaults in its help; `kind` is a click type or choices."""
    kind = click.Choice(kind) if isinstance(kind, list) else kind
    return click.option(name, metavar=metavar, type=kind, help=help + default_text(name[2:].replace("-", "_")))


#: How the table in a file is read.
reading_options = join_options(
    click.option(
        "--sep",
        metavar="C",
        help="CSV files: what separates the columns, a character, tab or space. Default: a comma, or a semicolon, tab "
        "or bar where the file has these.",
    ),
    click.option(
        "--decimal",
        metavar="C",
        type=click.Choice([".", ","]),
        help="CSV files: the decimal point. Default: a comma where numbers have one and no comma separates columns.",
    ),
    click.option(
        "--na",
        metavar="TEXT",
        multiple=True,
        callback=lambda context, parameter, values: list(values) or None,
        help="CSV files: a further value that is missing, such as '?'; may be repeated. An empty one ends the warning "
        "about values that look like it.",
    ),
    click.option("--columns", metavar="A,B,...", type=split_names, help="Columns to read. Default: all."),
    click.option("--drop", metavar="A,B,...", type=split_names, help="Columns to leave out."),
    click.option(
        "--index-column",
        metavar="NAME",
        help="The column that names the rows, which is left out; one without a name that counts the rows is so anyway.",
    ),
)

discrete_option = click.option(
    "--discrete",
    metavar="A,B,...",
    type=split_names,
    multiple=True,
    callback=lambda context, parameter, names: [name for several in names for name in several] or None,
    help="Columns whose numbers are states, such as integers with missing cells, which are read as floats; may be "
    "repeated.",
)

#: What the data are, and how they are read.
data_options = join_options(
    reading_options,
    discrete_option,
    _learner_option(
        "--discretize",
        "METHOD:BINS",
        None,
        "Discrete networks: make bins of the columns of floats, as in quantile:5; METHOD is quantile, interval "
        "(equal widths), kmeans or hartemink (mutual information).",
    ),
    click.option(
        "--missing",
        type=click.Choice(["error", "drop", "category", "pairwise", "em"]),
        default="error",
        show_default=True,
        help="Missing cells: refuse the table, drop their rows, take them for a state of its own, leave them out "
        "family by family (of Gaussian graphs pair by pair), or take their expected counts (structural EM; "
        "searches alone).",
    ),
    click.option(
        "--rows",
        metavar="N",
        type=click.IntRange(min=2),
        help="Rows to sample from a bundled network. Default: 10000.",
    ),
)


def method_option(*, numeric: bool):
    """Return the option that names the method, with or without those that learn from numbers alone."""
    numbers = (
        " glasso, clime and neighborhood learn Gaussian graphs: of numbers. dense-lds, lds, scalable-lds, svarm, "
        "kernel-svarm and tensor-sem learn from time series: rows of numbers, oldest first."
    )
    more = [*GAUSSIAN_METHODS, *SERIES_METHODS] if numeric else []
    return click.option(
        "--method",
        type=click.Choice([*BAYESIAN_METHODS, *MARKOV_METHODS, *more]),
        default="hill-climb",
        show_default=True,
        help="Bayesian networks: searches (hill-climb, annealing, best-first, ges), the best forest (chow-liu), a "
        "forest below a class variable (tan). The others learn Markov networks, whose edges have no direction."
        + (numbers if numeric else ""),
    )


#: How the structure is learned.
learner_options = join_options(
    click.option(
        "--score",
        metavar="NAME",
        help="bic, aic, k2, bdeu, bds, ll; for floats bic-g, aic-g, ll-g, bge; for both kinds of columns bic-clg, "
        "aic-clg, ll-clg, bic-dg, bic-cg, aic-cg, ll-cg. Default: bic, bic-g or bic-clg, as the columns are; "
        "ll for forests.",
    ),
    _learner_option(
        "--discrete-children",
        None,
        ["forbidden", "allowed"],
        "Searches by bic-clg, aic-clg, ll-clg: whether arcs lead from floats to states.",
    ),
    _learner_option("--max-indegree", "N", _COUNT, "At most N parents per variable."),
    _learner_option(
        "--strategy",
        None,
        ["greedy", "thorough", "best", "exact"],
        "hill-climb: first optimum, look beyond, search orders too, or prove the best.",
    ),
    _learner_option("--restarts", "N", _COUNT, "hill-climb: N climbs from near the best."),
    _learner_option(
        "--em-restarts", "N", _COUNT, "--missing em: N further starts, from missing cells drawn from their columns."
    ),
    _learner_option("--start", None, ["empty", "tree", "random"], "Graph that a search starts from."),
    _learner_option(
        "--max-candidates",
        "N",
        _POSITIVE,
        "Searches: try only the N most promising parents of a variable; for thousands of variables.",
    ),
    _learner_option("--class-node", "NAME", None, "tan: the class variable."),
    _learner_option("--root", "NAME", None, "chow-liu, tan: the variable at the root of its tree."),
)

#: The prior of the parameters of a Bayesian network.
prior_options = join_options(
    _learner_option(
        "--equivalent-sample-size",
        "X",
        click.FloatRange(min=0, min_open=True),
        "Discrete Bayesian networks: rows that the prior of the written parameters is worth, spread evenly over the "
        "cells of each table. Default: none, so that what did not occur is impossible.",
    ),
    _learner_option(
        "--pseudo-counts", "X", _NOT_NEGATIVE, "The same as a count that is added to each cell, such as 1."
    ),
)

#: How a Markov network is learned.
markov_options = join_options(
    _learner_option(
        "--lam",
        "X",
        _NOT_NEGATIVE,
        "Networks without directions: penalty of the edges (Markov networks: nats per row; Gaussian graphs: of "
        "correlations); also of lds, scalable-lds, svarm and kernel-svarm. Default: --lam-ratio of the least one "
        "without edges; scalable-lds: about the largest correlation of independent series.",
    ),
    _learner_option(
        "--lam-ratio", "X", _NOT_NEGATIVE, "The same as a share of the least one that leaves out all edges."
    ),
    _learner_option("--l2", "X", _NOT_NEGATIVE, "Markov networks: weight of half the squared parameters."),
    _learner_option("--loss", None, ["pseudolikelihood", "bethe", "exact"], "Markov networks: what is minimised."),
    _learner_option(
        "--max-edges",
        "N",
        _COUNT,
        "Markov networks: activate at most N edges (feature-grafting, grafting-light: entries of tables).",
    ),
    _learner_option(
        "--alpha",
        "X",
        click.FloatRange(min=0, max=1),
        "best-choice, online: 0 activates many edges per round, 1 the best alone; edge-grafting: batches of edges from "
        "this threshold on.",
    ),
    _learner_option(
        "--select",
        None,
        ["held-out", "ebic", "stars", "cv", "aic", "bic"],
        "Choose the penalty from a path: group-lasso by held-out, ebic or stars, the path ending at --lam; Gaussian "
        f"graphs by ebic, stars or cv, the path ending at --lam-ratio ({LAM_MIN_RATIO}), or below where that is best; "
        "so lds by ebic or cv (forecasts of later rows), svarm and kernel-svarm by aic, bic or cv.",
    ),
)

#: How a Gaussian graph is learned.
gaussian_options = join_options(
    _learner_option(
        "--nonparanormal",
        None,
        ["kendall", "spearman", *SCORE_TRANSFORMS],
        "Gaussian graphs: learn from ranks (their correlation, or normal scores), whatever the distribution of each "
        "column.",
    ),
    _learner_option(
        "--rule",
        None,
        ["and", "or"],
        "neighborhood: join two variables if both chose the other, or if one did.",
    ),
    _learner_option(
        "--solver",
        None,
        ["auto", "homotopy", "admm"],
        "clime: the exact path, iterations, or whichever is faster.",
    ),
)

#: How the graph of a time series is learned.
series_options = join_options(
    _learner_option(
        "--time-column", "NAME", None, "Time series: the column of the times. Without it rows are equidistant."
    ),
    _learner_option("--groups", "NAME", None, "Time series: the column that tells the series of a panel apart."),
    _learner_option(
        "--exogenous-columns",
        "A,B,...",
        split_names,
        "Linear dynamical systems, svarm, kernel-svarm: columns that are no series, and act on the rows that they "
        "stand in.",
    ),
    _learner_option(
        "--seasonal-period",
        "N",
        click.IntRange(min=2),
        "Linear dynamical systems, svarm, kernel-svarm: rows of a season, whose means may differ.",
    ),
    _learner_option("--lags", "L", _POSITIVE, "Time series: rows before a row that may act on it."),
    _learner_option(
        "--irregular",
        None,
        ["error", "ignore"],
        "Time series: refuse times that are not regular, or take their rows as equidistant.",
    ),
    click.option(
        "--intercept",
        is_flag=True,
        default=None,
        help="Linear dynamical systems, tensor-sem: add a constant, for series that do not vary about zero."
        + default_text("intercept"),
    ),
    _learner_option("--k", "N", _POSITIVE, "lds, scalable-lds: at most N parents of a series."),
    _learner_option(
        "--screen", "N", _POSITIVE, "lds: try first the N most correlated parents of a series; for thousands of series."
    ),
    _learner_option("--seeds", "N", _POSITIVE, "scalable-lds: N series whose parents are learned by the lasso."),
    _learner_option(
        "--kernels", "A,B,...", split_names, "kernel-svarm: gaussian, poly2 or linear, or several, the data choosing."
    ),
    _learner_option(
        "--orient",
        None,
        ["nonlinear"],
        "kernel-svarm: direct instantaneous edges, where functions cannot be inverted. Default: no directions.",
    ),
    _learner_option(
        "--window", "N", click.IntRange(min=2), "tensor-sem: rows over which the inputs of the series keep their power."
    ),
    file_option(
        "--exogenous-power",
        "tensor-sem: table of the mean squares of the inputs, a row per window and a column per series, with empty "
        "cells where unknown. Default: all are unknown.",
    ),
)

#: What is known of the edges.
knowledge_options = join_options(
    file_option(
        "--required",
        "CSV of edges from,to that the network must have; of time series as they are listed: a@t-1,b for a one row "
        "before b.",
    ),
    file_option("--forbidden", "CSV of edges from,to that it must not have."),
    file_option(
        "--tiers", "CSV of variable,tier, or one tier per line, the earliest first: no edge leads to an earlier one."
    ),
    click.option("--roots", metavar="A,B,...", type=split_names, help="Variables without parents."),
)

#: How long it takes, and what is repeated.
run_options = join_options(
    click.option(
        "--random-state",
        metavar="SEED",
        type=_COUNT,
        default=0,
        show_default=True,
        help="Seed of sampling and of all other random choices.",
    ),
    click.option(
        "--n-jobs", metavar="N", type=int, help="Jobs at a time; -1 for all cores. The result is the same. Default: 1."
    ),
)

max_time_option = click.option(
    "--max-time",
    metavar="SECONDS",
    type=click.FloatRange(min=0, min_open=True),
    help="Stop learning then, with the best found so far.",
)
missing_option = click.option(
    "--missing",
    type=click.Choice(["error", "drop"]),
    default="error",
    show_default=True,
    help="Refuse tables with missing cells, or drop their rows.",
)


def _complete_file(context: click.Context, parameter: click.Parameter, text: str) -> list[CompletionItem]:
    """Complete the name of a bundled network; the shell completes files."""
    files = [CompletionItem(text, type="file")]  # first: the script for bash forgets what stands before
    if not text.isalnum():  # a path, or nothing yet: no need to wait for the list
        return files
    from pgmx.datasets import list_networks

    return files + [CompletionItem(name) for name in list_networks() if name.startswith(text)]


source_argument = click.argument("source", shell_complete=_complete_file)


def model_argument(name: str) -> Callable:
    """Return the argument of a network: a file or a bundled one."""
    return click.argument(name, shell_complete=_complete_file)


format_option = click.option(
    "--format",
    metavar="NAME",
    help="Format of the network: bif, xmlbif, net, xdsl, json, graphml, npz or uai. Default: the suffix of its file.",
)
plot_option = file_option("--plot", "Write a picture of the graph: .svg or .png.")
report_option = file_option(
    "--report",
    "Write a page for a browser, which needs no network: the graph to move and search, tables, the run: .html.",
)
quiet_option = click.option("--quiet", "-q", is_flag=True, help="Do not list the edges.")
