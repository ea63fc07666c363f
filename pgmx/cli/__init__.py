"""The command line: ``pgmx learn SOURCE``.

This module declares options and help alone, so that ``pgmx --help`` is quick; `inputs` checks what the user gave,
`job` learns and writes, `query` asks the network one question, `console` prints.
"""

from pathlib import Path

import click

from pgmx import __version__
from pgmx.cli.console import OneLineCommand, OneLineGroup, user_errors

__all__ = ["main"]

_SETTINGS = {"help_option_names": ["-h", "--help"], "max_content_width": 100}


@click.group(cls=OneLineGroup, context_settings=_SETTINGS, invoke_without_command=True)
@click.version_option(__version__, prog_name="pgmx", message="%(prog)s %(version)s")
@click.pass_context
def main(context):
    """Learn Bayesian networks from tables, for use in pgmpy.

    \b
    Examples:
      pgmx learn alarm                        sample a known network, learn it back, compare
      pgmx learn survey.csv --out survey.bif  learn from a table, write the fitted network
      pgmx learn --help                       all options
    """  # noqa: D301 (click's mark for verbatim text is a real backspace)
    if context.invoked_subcommand is None:
        click.echo(context.get_help())


@main.command(cls=OneLineCommand, context_settings=_SETTINGS)
@click.argument("source")
@click.option(
    "--score",
    metavar="NAME",
    help="bic, aic, k2, bdeu, ll; for floats bic-g, aic-g, ll-g; for both kinds of columns bic-cg, aic-cg, ll-cg. "
    "Default: bic, bic-g or bic-cg, as the columns are.",
)
@click.option("--max-indegree", metavar="N", type=click.IntRange(min=0), help="At most N parents a variable.")
@click.option("--required", metavar="FILE", type=Path, help="CSV of edges from,to that the network must have.")
@click.option("--forbidden", metavar="FILE", type=Path, help="CSV of edges from,to that it must not have.")
@click.option(
    "--missing",
    type=click.Choice(["error", "drop"]),
    default="error",
    show_default=True,
    help="Refuse tables with missing cells, or drop their rows.",
)
@click.option(
    "--random-state",
    metavar="SEED",
    type=click.IntRange(min=0),
    default=0,
    show_default=True,
    help="Seed of sampling and of the order among ties.",
)
@click.option(
    "--max-time",
    metavar="SECONDS",
    type=click.FloatRange(min=0, min_open=True),
    help="Stop learning then, with the best network found.",
)
@click.option("--n-jobs", metavar="N", type=int, help="Threads; -1 for all cores. The result is the same. Default: 1.")
@click.option(
    "--rows",
    metavar="N",
    type=click.IntRange(min=2),
    help="Rows to sample from a bundled network. Default: 10000.",
)
@click.option(
    "--out",
    metavar="FILE",
    type=Path,
    help="Write the result: .bif or .xmlbif (the fitted discrete network), .json (the fitted network, discrete or "
    "Gaussian; the graph where columns are of both kinds), .graphml (the graph).",
)
@click.option("--plot", metavar="FILE", type=Path, help="Write a picture of the graph: .svg or .png.")
@click.option("--quiet", "-q", is_flag=True, help="Do not list the edges.")
def learn(source, **options):
    """Learn a Bayesian network by hill climbing.

    SOURCE is a table in a CSV or Parquet file, or the name of a discrete network bundled with pgmpy (alarm, asia,
    child, insurance, hailfinder, win95pts, andes, link, ...; a wrong name lists them all).

    Printed are the score, the edges ("a -> b"; "a -- b" where the data cannot tell the direction), the time, and the
    answer to one query. A bundled network is sampled first and the result compared with it; without --out and --plot,
    NAME.bif and NAME.svg are written into the working directory.

    Integers and text are discrete states, floats are Gaussian. Results go to standard output, progress (on a
    terminal) and errors to standard error. Exit status: 0 done, 2 bad usage or bad data.

    \b
    Examples:
      pgmx learn alarm --rows 2000 --random-state 7
      pgmx learn link --max-time 10 --plot link.svg --quiet
      pgmx learn survey.csv --score bdeu --max-indegree 3 --out survey.bif --plot survey.png
      pgmx learn visits.parquet --missing drop --forbidden never.csv --out visits.graphml

    \b
    An edge file names two columns of the table a line (a first line "from,to" is skipped):
      smoker,cancer
      age,smoker
    """  # noqa: D301 (as above)
    with user_errors():
        from pgmx.cli.job import run

        run(source, **options)
