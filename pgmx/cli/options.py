"""Options that several commands share; the defaults of learners come from `methods`."""

import csv
from collections.abc import Callable
from pathlib import Path

import click
from click.shell_completion import CompletionItem

from pgmx.ci_tests.registry import TESTS
from pgmx.cli.methods import (
    BAYESIAN_METHODS,
    GAUSSIAN_METHODS,
    HIDDEN_CAUSES,
    LAM_MIN_RATIO,
    MARKOV_METHODS,
    SCORE_TRANSFORMS,
    SEARCHES,
    SERIES_METHODS,
    default_text,
)
from pgmx.scores.registry import describe_defaults, describe_scores, list_scores

_COUNT, _POSITIVE, _NOT_NEGATIVE = click.IntRange(min=0), click.IntRange(min=1), click.FloatRange(min=0)


def join_options(*several):
    """Combine several option decorators into one; help lists the options in the given order."""

    def decorate(command):
        for option in reversed(several):
            command = option(command)
        return command

    return decorate


def split_names(text: str) -> list[str]:
    """Return the names in the text of an option, quoted as in a CSV file."""
    return [name.strip() for name in next(csv.reader([text], skipinitialspace=True), [])]


def _join_names(context, parameter, several: tuple[list[str], ...]) -> list[str] | None:
    """Return the names of all occurrences of an option, None if it was not given."""
    return [name for names in several for name in names] if several else None


def names_option(name: str, help: str):
    """Return an option for a list of names; if it is repeated, the lists are joined."""
    return click.option(name, metavar="A,B,...", type=split_names, multiple=True, callback=_join_names, help=help)


def file_option(name: str, help: str):
    """Return an option that names a file."""
    return click.option(name, metavar="FILE", type=Path, help=help)


def _learner_option(name: str, metavar: str | None, kind, help: str):
    """Return an option of learners, with their defaults in its help; `kind` is a click type or choices."""
    help += default_text(name[2:].replace("-", "_"))
    if kind is split_names:
        return names_option(name, help)
    kind = click.Choice(kind) if isinstance(kind, list) else kind
    return click.option(name, metavar=metavar, type=kind, help=help)


#: Options for reading a table from a file.
reading_options = join_options(
    click.option(
        "--sep",
        metavar="C",
        help="CSV files: the separator of the columns: a character, tab or space. Default: found from the file (comma, "
        "semicolon, tab or bar).",
    ),
    click.option(
        "--decimal",
        metavar="C",
        type=click.Choice([".", ","]),
        help="CSV files: the decimal point. Default: found from the file; a comma only if it does not separate "
        "columns.",
    ),
    click.option(
        "--na",
        metavar="TEXT",
        multiple=True,
        callback=lambda context, parameter, values: list(values) or None,
        help="CSV files: an additional text for missing values, such as '?'; may be repeated. An empty text turns off "
        "the warning about such values.",
    ),
    names_option("--columns", "Columns to read. Default: all."),
    names_option("--drop", "Columns to leave out."),
    click.option(
        "--index-column",
        metavar="NAME",
        help="The column of row names, which is dropped. An unnamed column of row numbers is always dropped.",
    ),
)

discrete_option = names_option(
    "--discrete",
    "Numeric columns that are discrete variables, for example integers with missing values (read as floats).",
)

#: Options about the data and about reading them.
data_options = join_options(
    reading_options,
    discrete_option,
    _learner_option(
        "--discretize",
        "METHOD:BINS",
        None,
        "Discrete networks: discretise the continuous columns, for example quantile:5; METHOD is quantile, interval "
        "(equal widths), kmeans or hartemink (mutual information).",
    ),
    click.option(
        "--missing",
        type=click.Choice(["error", "drop", "category", "pairwise", "em"]),
        default="error",
        show_default=True,
        help="Missing values: error: reject the table; drop: drop their rows; category: a state of its own; pairwise: "
        "delete them per family (Gaussian graphs: per pair); em: use expected counts (structural EM; searches only).",
    ),
    click.option(
        "--rows",
        metavar="N",
        type=click.IntRange(min=2),
        help="Rows to sample from a bundled network. Default: 10000.",
    ),
)


def method_option(*, numeric: bool):
    """Return the option of the method, with or without the methods for numeric data."""
    numbers = (
        " glasso, clime and neighborhood learn Gaussian graphs from numeric columns. dense-lds, lds, scalable-lds, "
        "svarm, kernel-svarm, tensor-sem and sparse-tensor-sem learn from time series: numeric columns, oldest row "
        "first. dynamic learns "
        "dynamic Bayesian networks from series of any columns."
    )
    more = [*GAUSSIAN_METHODS, *SERIES_METHODS] if numeric else []
    bayesian = [method for method in BAYESIAN_METHODS if numeric or method not in HIDDEN_CAUSES]
    return click.option(
        "--method",
        type=click.Choice([*bayesian, *MARKOV_METHODS, *more]),
        default="hill-climb",
        show_default=True,
        help=f"Bayesian networks: searches ({', '.join(SEARCHES)}), the best forest (chow-liu), a forest below a class "
        "variable (tan), tests of conditional independence (pc), or tests and then a search (mmhc). Partial ancestral "
        "graphs, if causes may be hidden: rfci, fci. The "
        "other methods learn undirected Markov networks." + (numbers if numeric else ""),
    )


#: Options of structure learning.
learner_options = join_options(
    click.option(
        "--score",
        metavar="NAME",
        help=f"{describe_scores()}. Default: {describe_defaults()}, depending on the columns; ll for forests.",
    ),
    _learner_option(
        "--penalty", "C", float, "Multiplies what a parameter costs under BIC and AIC (Tetrad's penalty discount)."
    ),
    _learner_option("--gamma", "G", float, "Multiplies what EBIC subtracts for the choice of the parents."),
    _learner_option(
        "--discrete-children",
        None,
        ["forbidden", "allowed"],
        f"Searches by {', '.join(list_scores(family='clg'))}: edges from continuous to discrete variables.",
    ),
    _learner_option(
        "--test",
        None,
        [entry.name for entry in TESTS],
        "pc, rfci, fci, mmhc: the test. Default: chi_square (discrete), fisher_z (continuous), mixed (mixed data).",
    ),
    _learner_option("--max-indegree", "N", _COUNT, "At most N parents per variable."),
    _learner_option("--max-degree", "N", _POSITIVE, "ges: at most N edges per variable."),
    _learner_option(
        "--strategy",
        None,
        ["greedy", "thorough", "best", "exact"],
        "hill-climb, mmhc: stop at the first optimum, search beyond it, also search orders, or prove the optimum.",
    ),
    _learner_option("--restarts", "N", _COUNT, "hill-climb: N restarts near the best graph."),
    _learner_option(
        "--em-restarts", "N", _COUNT, "--missing em: N more starts, with missing values drawn from their columns."
    ),
    _learner_option("--start", None, ["empty", "tree", "random"], "Graph that a search starts from."),
    _learner_option(
        "--interventions",
        "COLUMN",
        None,
        "Searches: column with the names of the variables that were set, separated by commas; empty if none.",
    ),
    _learner_option(
        "--max-candidates",
        "N",
        _POSITIVE,
        "Searches: try only the N most promising parents per variable; for thousands of variables.",
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
        "Discrete Bayesian networks: equivalent sample size of the prior of the written parameters, spread evenly over "
        "the cells of each table. Default: no prior, so that unobserved combinations have probability 0.",
    ),
    _learner_option(
        "--pseudo-counts", "X", _NOT_NEGATIVE, "The prior as a count that is added to each cell, such as 1."
    ),
)

#: Options of Markov networks.
markov_options = join_options(
    _learner_option(
        "--lam",
        "X",
        _NOT_NEGATIVE,
        "Undirected networks: penalty of the edges (Markov networks: nats per row; Gaussian graphs: scale of "
        "correlations); also for lds, scalable-lds, svarm and kernel-svarm. Default: --lam-ratio times the smallest "
        "penalty without edges; scalable-lds: about the largest correlation of independent series.",
    ),
    _learner_option("--lam-ratio", "X", _NOT_NEGATIVE, "The penalty as a share of the smallest penalty without edges."),
    _learner_option("--l2", "X", _NOT_NEGATIVE, "Markov networks: weight of half the squared parameters."),
    _learner_option("--loss", None, ["pseudolikelihood", "bethe", "exact"], "Markov networks: the loss to minimise."),
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
        "best-choice, online: 0 activates many edges per round, 1 only the best edge; edge-grafting: activate batches "
        "of edges above this threshold; pc, rfci, fci, mmhc: the significance level of the tests.",
    ),
    _learner_option(
        "--select",
        None,
        ["held-out", "ebic", "stars", "cv", "aic", "bic"],
        "Choose the penalty from a path. group-lasso: held-out, ebic or stars; the path ends at --lam. Gaussian "
        f"graphs: ebic, stars or cv; the path ends at --lam-ratio ({LAM_MIN_RATIO}), or lower if the best penalty is "
        "its end. In the same way lds: ebic or cv (forecasts of later rows); svarm, kernel-svarm: aic, bic or cv; "
        "sparse-tensor-sem: ebic or cv (windows).",
    ),
)

#: Options of Gaussian graphs.
gaussian_options = join_options(
    _learner_option(
        "--nonparanormal",
        None,
        ["kendall", "spearman", *SCORE_TRANSFORMS],
        "Gaussian graphs: learn from ranks (their correlation, or normal scores), for columns of any continuous "
        "distribution.",
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
        "clime: the exact path (homotopy), an iterative solver (admm), or the faster of both (auto).",
    ),
)

#: Options of time series.
series_options = join_options(
    click.option(
        "--time-column",
        "--time",
        "time_column",
        metavar="NAME",
        help="Time series: the time column. Without it rows are equidistant." + default_text("time_column"),
    ),
    _learner_option("--groups", "NAME", None, "Time series: the column that identifies the series of a panel."),
    _learner_option(
        "--exogenous-columns",
        "A,B,...",
        split_names,
        "Linear dynamical systems, svarm, kernel-svarm: columns of exogenous inputs, which act on the series in the "
        "same row.",
    ),
    _learner_option(
        "--seasonal-period",
        "N",
        click.IntRange(min=2),
        "Linear dynamical systems, svarm, kernel-svarm: rows per seasonal period; each season has its own mean.",
    ),
    _learner_option(
        "--static", "A,B,...", split_names, "dynamic: columns that are constant in each series, which have no parents."
    ),
    click.option(
        "--instantaneous",
        is_flag=True,
        default=None,
        help="dynamic: allow edges between variables of the same row." + default_text("instantaneous"),
    ),
    _learner_option("--lags", "L", _POSITIVE, "Time series: number of previous rows that may act on a row."),
    _learner_option(
        "--irregular",
        None,
        ["error", "ignore"],
        "Time series: reject irregular times, or treat their rows as equidistant.",
    ),
    click.option(
        "--intercept",
        is_flag=True,
        default=None,
        help="Linear dynamical systems, tensor-sem, sparse-tensor-sem: add a constant, for series whose mean is not "
        "zero." + default_text("intercept"),
    ),
    _learner_option("--k", "N", _POSITIVE, "lds, scalable-lds: at most N parents of a series."),
    _learner_option(
        "--screen", "N", _POSITIVE, "lds: try first the N most correlated parents of a series; for thousands of series."
    ),
    _learner_option("--seeds", "N", _POSITIVE, "scalable-lds: N series whose parents are learned by the lasso."),
    _learner_option(
        "--kernels", "A,B,...", split_names, "kernel-svarm: gaussian, poly2 or linear, or several to choose from."
    ),
    _learner_option(
        "--orient",
        None,
        ["nonlinear"],
        "kernel-svarm: direct instantaneous edges if their functions are not invertible. Default: no directions.",
    ),
    _learner_option(
        "--window",
        "N",
        click.IntRange(min=2),
        "tensor-sem, sparse-tensor-sem: rows per window; the power of the inputs is constant in it.",
    ),
    file_option(
        "--exogenous-power",
        "tensor-sem, sparse-tensor-sem: table of the mean squares of the inputs, one row per window and one column per "
        "series. Unknown values are empty. Default: all are unknown.",
    ),
)

#: Prior knowledge of the edges.
knowledge_options = join_options(
    file_option(
        "--required",
        "CSV of edges from,to that the network must have. Time series: a@t-1,b for an edge from a to b, one row later.",
    ),
    file_option("--forbidden", "CSV of edges from,to that the network must not have."),
    file_option(
        "--tiers", "CSV of variable,tier, or one tier per line, the earliest first. No edge leads to an earlier tier."
    ),
    names_option("--roots", "Variables without parents."),
)

#: Options of ``pgmx posterior``.
posterior_options = join_options(
    click.option(
        "--score",
        metavar="NAME",
        help="Score: a log marginal likelihood or BIC. Default: bdeu (discrete) or bge (continuous data).",
    ),
    click.option(
        "--method",
        type=click.Choice(["auto", "exact", "mcmc"]),
        default="auto",
        show_default=True,
        help="Sum over all structures, or sample them.",
    ),
    click.option(
        "--over",
        type=click.Choice(["dags", "orders"]),
        default="dags",
        show_default=True,
        help="Count each graph once, or once for each order of its variables (faster).",
    ),
    click.option(
        "--prior",
        type=click.Choice(["fair", "uniform"]),
        default="fair",
        show_default=True,
        help="Prior: each number of parents, or each graph, has the same probability.",
    ),
    click.option(
        "--max-indegree", metavar="N", type=_COUNT, default=5, show_default=True, help="Largest number of parents."
    ),
    click.option("--candidates", metavar="N", type=_COUNT, help="Number of candidate parents of each variable."),
    click.option(
        "--interventions",
        metavar="COLUMN",
        help="Column with the names of the variables that were set, separated by commas; empty if none.",
    ),
    click.option(
        "--threshold",
        metavar="P",
        type=click.FloatRange(min=0, max=1, min_open=True),
        default=0.5,
        show_default=True,
        help="Least probability of the edges that are shown.",
    ),
)

#: Options of the run: random state and parallel jobs.
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
        "--n-jobs",
        metavar="N",
        type=int,
        help="Number of parallel jobs; -1 for all cores. It does not change the result. Default: 1.",
    ),
)

max_time_option = click.option(
    "--max-time",
    metavar="SECONDS",
    type=click.FloatRange(min=0, min_open=True),
    help="Stop learning after this time, with the best result so far.",
)
missing_option = click.option(
    "--missing",
    type=click.Choice(["error", "drop"]),
    default="error",
    show_default=True,
    help="Missing values: reject the table, or drop their rows.",
)


def _complete_file(context: click.Context, parameter: click.Parameter, text: str) -> list[CompletionItem]:
    """Complete the name of a bundled network; the shell completes files."""
    files = [CompletionItem(text, type="file")]  # first: the script for bash drops items before it
    if not text.isalnum():  # a path, or an empty text: the list of networks is not needed
        return files
    from pgmx.datasets import list_networks

    return files + [CompletionItem(name) for name in list_networks() if name.startswith(text)]


source_argument = click.argument("source", shell_complete=_complete_file)


def model_argument(name: str) -> Callable:
    """Return the argument for a network: a file or a bundled network."""
    return click.argument(name, shell_complete=_complete_file)


format_option = click.option(
    "--format",
    metavar="NAME",
    help="Format of the network: bif, xmlbif, net, xdsl, json, graphml, npz or uai. Default: the suffix of its file.",
)
plot_option = file_option("--plot", "Write a picture of the graph: .svg or .png.")
report_option = file_option(
    "--report",
    "Write a report for the browser that works offline: an interactive graph, tables, details of the run: .html.",
)
reference_option = click.option(
    "--reference",
    metavar="NETWORK",
    help="A network in a file, or a bundled one. The page counts and colours the edges that differ from it.",
)
quiet_option = click.option("--quiet", "-q", is_flag=True, help="Do not list the edges.")
