"""The work of ``pgmx learn``: check the options, load the data, call the family of models."""

from pathlib import Path

from pgmx.cli.inputs.paths import (
    GAUSSIAN_SUFFIXES,
    GRAPH_SUFFIXES,
    MARKOV_SUFFIXES,
    NETWORK_SUFFIXES,
    check_targets,
    check_writable,
)
from pgmx.cli.inputs.sources import load, open_source
from pgmx.cli.learners import check_method
from pgmx.cli.methods import GAUSSIAN_METHODS, MARKOV_METHODS
from pgmx.cli.report import Targets


def run(source: str, *, out: Path | None, plot: Path | None, quiet: bool, **options) -> None:
    """Do what the command line asks; the options are those of `pgmx.cli.commands.learn`."""
    targets = Targets(out, plot, options["plot_history"])
    if options["method"] in GAUSSIAN_METHODS:
        _run_gaussian(source, options, targets, quiet)
        return
    markov = options["method"] in MARKOV_METHODS
    suffixes, first = (MARKOV_SUFFIXES, ".uai") if markov else (NETWORK_SUFFIXES + GRAPH_SUFFIXES, ".bif")
    check_targets(out, plot, suffixes, targets.history)
    check_method(options)
    if options["checkpoint"] is not None:
        check_writable(options["checkpoint"], "--checkpoint")
    where = open_source(source, options["rows"])
    if where.path is None and out is None and plot is None:
        targets = targets._replace(out=Path(f"{where.name}{first}"), plot=Path(f"{where.name}.svg"))
        check_targets(targets.out, targets.plot, suffixes, targets.history)
    data, knowledge = load(where, options)
    if markov:
        from pgmx.cli.learn.markov import learn_markov

        learn_markov(where, data, knowledge, options, targets, quiet)
    else:
        from pgmx.cli.learn.bayesian import learn_bayesian

        learn_bayesian(where, data, knowledge, options, targets, quiet)


def _run_gaussian(source: str, options: dict, targets: Targets, quiet: bool) -> None:
    from pgmx.cli.learn.gaussian import learn_gaussian

    check_targets(targets.out, targets.plot, GAUSSIAN_SUFFIXES, targets.history)
    check_method(options)
    where = open_source(source, options["rows"])
    if where.path is None:
        raise ValueError(
            f"--method {options['method']} learns from columns of numbers, and {where.name} is a bundled network of "
            "states: give a file of data"
        )
    learn_gaussian(where, options, targets, quiet)
