"""Options that several commands share, written once."""

from pathlib import Path

import click

BAYESIAN_METHODS = ("hill-climb", "annealing", "best-first", "chow-liu", "tan")
MARKOV_METHODS = (
    "best-choice",
    "online",
    "first-hit",
    "edge-grafting",
    "feature-grafting",
    "grafting-light",
    "group-lasso",
)
GAUSSIAN_METHODS = ("glasso", "clime", "neighborhood")

#: Transforms of ranks that each need whole columns, so that cells may not be missing pair by pair.
SCORE_TRANSFORMS = ("shrinkage", "truncation")


def missing_choices(options):
    """Return the values of --missing that let missing cells in, for a method."""
    if options["method"] in GAUSSIAN_METHODS:
        return ("drop",) if options["nonparanormal"] in SCORE_TRANSFORMS else ("drop", "pairwise")
    return ("drop", "category") if options["method"] in MARKOV_METHODS else ("drop", "category", "pairwise")


def options(*several):
    """Return one decorator in place of several, which help lists in the order given."""

    def decorate(command):
        for option in reversed(several):
            command = option(command)
        return command

    return decorate


#: What the data are, and how they are read.
data_options = options(
    click.option(
        "--missing",
        type=click.Choice(["error", "drop", "category", "pairwise"]),
        default="error",
        show_default=True,
        help="Missing cells: refuse the table, drop their rows, take them for a state of its own, or leave them out "
        "family by family (of Gaussian graphs pair by pair).",
    ),
    click.option(
        "--rows",
        metavar="N",
        type=click.IntRange(min=2),
        help="Rows to sample from a bundled network. Default: 10000.",
    ),
)


def method_option(*, gaussian):
    """Return the option that names the method, with or without those for Gaussian graphs."""
    numbers = " glasso, clime and neighborhood learn Gaussian graphs: of numbers." if gaussian else ""
    return click.option(
        "--method",
        type=click.Choice(BAYESIAN_METHODS + MARKOV_METHODS + (GAUSSIAN_METHODS if gaussian else ())),
        default="hill-climb",
        show_default=True,
        help="Bayesian networks: searches (hill-climb, annealing, best-first), the best forest (chow-liu), a forest "
        "below a class variable (tan). The others learn Markov networks, whose edges have no direction." + numbers,
    )


#: How the structure is learned.
learner_options = options(
    click.option(
        "--score",
        metavar="NAME",
        help="bic, aic, k2, bdeu, bds, ll; for floats bic-g, aic-g, ll-g; for both kinds of columns bic-cg, aic-cg, "
        "ll-cg. Default: bic, bic-g or bic-cg, as the columns are; ll for forests.",
    ),
    click.option("--max-indegree", metavar="N", type=click.IntRange(min=0), help="At most N parents a variable."),
    click.option(
        "--strategy",
        type=click.Choice(["greedy", "thorough"]),
        help="hill-climb: stop at the first local optimum, or go on for a better one.  [default: greedy]",
    ),
    click.option(
        "--restarts", metavar="N", type=click.IntRange(min=0), help="hill-climb: N climbs from near the best."
    ),
    click.option(
        "--start",
        type=click.Choice(["empty", "tree", "random"]),
        help="Graph that a search starts from.  [default: empty]",
    ),
    click.option(
        "--max-candidates",
        metavar="N",
        type=click.IntRange(min=1),
        help="Searches: try only the N most promising parents of a variable; for thousands of variables.",
    ),
    click.option("--class-node", metavar="NAME", help="tan: the class variable."),
    click.option("--root", metavar="NAME", help="chow-liu, tan: the variable that its tree hangs from."),
)

#: How a Markov network is learned.
markov_options = options(
    click.option(
        "--lam",
        metavar="X",
        type=click.FloatRange(min=0),
        help="Networks without directions: penalty of the edges (Markov networks: nats a row; Gaussian graphs: of "
        "correlations). Default: --lam-ratio of the least one without edges.",
    ),
    click.option(
        "--lam-ratio",
        metavar="X",
        type=click.FloatRange(min=0),
        help="The same as a share of the least one that leaves out all edges.  [default: 0.1; Gaussian graphs: 0.3]",
    ),
    click.option(
        "--l2",
        metavar="X",
        type=click.FloatRange(min=0),
        help="Markov networks: weight of half the squared parameters.  [default: 0.005]",
    ),
    click.option(
        "--loss",
        type=click.Choice(["pseudolikelihood", "bethe", "exact"]),
        help="Markov networks: what is minimised.  [default: pseudolikelihood]",
    ),
    click.option(
        "--max-edges",
        metavar="N",
        type=click.IntRange(min=0),
        help="Markov networks: activate at most N edges (feature-grafting, grafting-light: entries of tables).",
    ),
    click.option(
        "--alpha",
        metavar="X",
        type=click.FloatRange(min=0, max=1),
        help="best-choice, online: 0 activates many edges a round, 1 the best alone; edge-grafting: batches of edges "
        "from this threshold on.  [default: 0.5; edge-grafting: one edge a round]",
    ),
    click.option(
        "--select",
        type=click.Choice(["held-out", "ebic", "stars", "cv"]),
        help="Choose the penalty from a path: group-lasso by held-out, ebic or stars, the path ending at --lam; "
        "Gaussian graphs by ebic, stars or cv, the path ending at --lam-ratio (0.1), or below where that is best.",
    ),
)

#: How a Gaussian graph is learned.
gaussian_options = options(
    click.option(
        "--nonparanormal",
        type=click.Choice(["kendall", "spearman", *SCORE_TRANSFORMS]),
        help="Gaussian graphs: learn from ranks (their correlation, or normal scores), whatever the distribution of "
        "each column.",
    ),
    click.option(
        "--rule",
        type=click.Choice(["and", "or"]),
        help="neighborhood: join two variables if both chose the other, or if one did.  [default: and]",
    ),
    click.option(
        "--solver",
        type=click.Choice(["auto", "homotopy", "admm"]),
        help="clime: the exact path, iterations, or whichever is faster.  [default: auto]",
    ),
)

#: What is known of the edges.
knowledge_options = options(
    click.option("--required", metavar="FILE", type=Path, help="CSV of edges from,to that the network must have."),
    click.option("--forbidden", metavar="FILE", type=Path, help="CSV of edges from,to that it must not have."),
    click.option(
        "--tiers",
        metavar="FILE",
        type=Path,
        help="CSV of variable,tier, or one tier a line, the earliest first: no edge leads to an earlier one.",
    ),
    click.option("--roots", metavar="A,B,...", help="Variables without parents."),
)

#: How long it takes, and what is repeated.
run_options = options(
    click.option(
        "--random-state",
        metavar="SEED",
        type=click.IntRange(min=0),
        default=0,
        show_default=True,
        help="Seed of sampling and of all that is drawn.",
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
plot_option = click.option("--plot", metavar="FILE", type=Path, help="Write a picture of the graph: .svg or .png.")
quiet_option = click.option("--quiet", "-q", is_flag=True, help="Do not list the edges.")
