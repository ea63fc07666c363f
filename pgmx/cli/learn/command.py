"""The work of ``pgmx learn``: check the options, load the data, call the family of models."""

from pathlib import Path

from pgmx.cli.inputs.paths import (
    GAUSSIAN_SUFFIXES,
    GRAPH_SUFFIXES,
    MARKOV_SUFFIXES,
    NETWORK_SUFFIXES,
    SYSTEM_SUFFIXES,
    check_targets,
    check_writable,
)
from pgmx.cli.inputs.sources import load, open_source
from pgmx.cli.learners import check_method
from pgmx.cli.methods import GAUSSIAN_METHODS, LDS_METHODS, MARKOV_METHODS, SERIES_METHODS
from pgmx.cli.report import Targets


def run(source: str, *, out: Path | None, plot: Path | None, quiet: bool, **options) -> None:
    """Run ``pgmx learn`` with the options of `pgmx.cli.commands.learn`."""
    targets = Targets(out, plot, options["plot_history"], options["report"])
    if options["method"] in (*GAUSSIAN_METHODS, *SERIES_METHODS):
        _run_numeric(source, options, targets, quiet)
        return
    markov = options["method"] in MARKOV_METHODS
    suffixes, first = (MARKOV_SUFFIXES, ".uai") if markov else (NETWORK_SUFFIXES + GRAPH_SUFFIXES, ".bif")
    check_targets(out, plot, suffixes, targets.history, targets.report)
    check_method(options)
    if options["checkpoint"] is not None:
        check_writable(options["checkpoint"], "--checkpoint")
    where = open_source(source, options)
    if where.path is None and out is None and plot is None:
        targets = targets._replace(out=Path(f"{where.name}{first}"), plot=Path(f"{where.name}.svg"))
        check_targets(targets.out, targets.plot, suffixes, targets.history, targets.report)
    data, knowledge = load(where, options)
    if markov:
        from pgmx.cli.learn.markov import learn_markov

        learn_markov(where, data, knowledge, options, targets, quiet)
    else:
        from pgmx.cli.learn.bayesian import learn_bayesian

        learn_bayesian(where, data, knowledge, options, targets, quiet)


def _run_numeric(source: str, options: dict, targets: Targets, quiet: bool) -> None:
    method = options["method"]
    suffixes: tuple[str, ...] = GAUSSIAN_SUFFIXES
    if method in SERIES_METHODS:
        suffixes = SYSTEM_SUFFIXES if method in LDS_METHODS else GRAPH_SUFFIXES
        if targets.out is not None and targets.out.suffix.lower() == ".npz" and method not in LDS_METHODS:
            raise ValueError(
                f"--out {targets.out}: .npz holds linear dynamical systems, which --method {method} does not learn: "
                f"write the graph ({' or '.join(GRAPH_SUFFIXES)}), or choose one of {', '.join(LDS_METHODS)}"
            )
    check_targets(targets.out, targets.plot, suffixes, targets.history, targets.report)
    check_method(options)
    where = open_source(source, options)
    if where.path is None:
        raise ValueError(
            f"--method {method} needs numeric columns, but {where.name} is a bundled discrete network: give a file of "
            "data"
        )
    if method in SERIES_METHODS:
        from pgmx.cli.learn.series import learn_series

        learn_series(where, options, targets, quiet)
    else:
        from pgmx.cli.learn.gaussian import learn_gaussian

        learn_gaussian(where, options, targets, quiet)
