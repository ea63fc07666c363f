"""The commands of ``pgmx``: arguments, options and help."""

from pathlib import Path

import click

from pgmx import __version__
from pgmx.cli import options as shared
from pgmx.cli.console import OneLineCommand, OneLineGroup, user_errors
from pgmx.cli.methods import N_RESAMPLES, STREAM_METHODS, missing_choices

_SETTINGS = {"help_option_names": ["-h", "--help"], "max_content_width": 100}


@click.group(cls=OneLineGroup, context_settings=_SETTINGS, invoke_without_command=True)
@click.version_option(__version__, prog_name="pgmx", message="%(prog)s %(version)s")
@click.pass_context
def main(context):
    """Learn Bayesian and Markov networks from tables, for use in pgmpy.

    \b
    Examples:
      pgmx learn alarm                        sample a known network, learn it back, compare
      pgmx learn survey.csv --out survey.bif  learn from a table, write the fitted network
      pgmx learn survey.csv --method group-lasso --out survey.uai
                                              the same without directions: a Markov network
      pgmx learn cells.csv --method glasso --select ebic --plot cells.svg
                                              a Gaussian graph of columns of numbers
      pgmx bootstrap survey.csv               how sure its edges are
      pgmx score survey.bif later.csv         how well it predicts other rows
      pgmx compare alarm learned.bif          what differs between two networks
      pgmx show learned.bif                   look at it in the browser
      pgmx convert learned.bif learned.net    write it in another format
      pgmx infer learned.uai --task MAR       the marginal distribution of each variable
      pgmx learn sales.csv --method lds --time-column month --out sales.npz
                                              which series act on which, how many rows later
      pgmx forecast sales.npz sales.csv --steps 12 --time-column month
                                              the rows that follow
      pgmx stream meter.csv --target load --out meter.npz
                                              predict each row before it is learned
      pgmx learn --help                       all options
      pgmx completion bash                    what makes a shell complete all this by Tab
    """  # noqa: D301 (click's mark for verbatim text is a real backspace)
    if context.invoked_subcommand is None:
        click.echo(context.get_help())


@main.command(cls=OneLineCommand, context_settings=_SETTINGS)
@shared.source_argument
@shared.method_option(numeric=True)
@shared.learner_options
@shared.prior_options
@shared.markov_options
@shared.gaussian_options
@shared.series_options
@shared.knowledge_options
@shared.data_options
@shared.file_option(
    "--held-out", "Networks without directions: rows to judge the result by, and for --select held-out to choose by."
)
@shared.run_options
@shared.max_time_option
@shared.file_option(
    "--checkpoint",
    "Searches and Markov networks: write the state there now and then; the same command continues from it after a "
    "kill.",
)
@shared.file_option(
    "--out",
    "Write the result. Bayesian: .bif, .xmlbif, .net or .xdsl (the fitted discrete network), .json (the fitted "
    "network, discrete or Gaussian; the graph where columns are of both kinds), .graphml (the graph). Markov: .uai, "
    ".npz, .json or .graphml (the network). Gaussian graphs: .npz, .json or .graphml (the network). Time series: .npz "
    "(the linear dynamical system that pgmx forecast takes), .json or .graphml (the graph).",
)
@shared.plot_option
@shared.file_option(
    "--plot-history",
    "Write a picture of score or objective against seconds, of a Gaussian graph of the path that --select chose "
    "from: .svg or .png.",
)
@shared.report_option
@shared.quiet_option
def learn(source, **options):
    """Learn a network from a table, or a graph from a time series.

    SOURCE is a table in a CSV or Parquet file, a folder of Parquet files, a coded table (.pgmx), or the name of a
    discrete network bundled with pgmpy (alarm, asia, child, insurance, hailfinder, win95pts, andes, link, ...; a wrong
    name lists them all).

    Printed are the score, the edges ("a -> b"; "a -- b" where the data leave the direction open), the time, and the
    answer to one query; of a Markov network the objective, the penalty and the edges with their strengths; of a
    Gaussian graph the same with partial correlations, and one prediction; of a time series the edges with their lags
    ("a@t-1 -> b"), strengths and coefficients. A bundled network is sampled first and the result compared with it (a
    Markov network with its moral graph); without --out and --plot, NAME.bif (.uai) and NAME.svg are written into the
    working directory.

    Integers and text are discrete states, floats are Gaussian (Bayesian networks alone); glasso, clime, neighborhood
    and the methods for time series take integers and floats for numbers, and nothing else. Results go to standard
    output, progress (on a terminal) and errors to standard error. Exit status: 0 done, 2 bad usage or bad data, 130
    interrupted (Ctrl-C): the best result so far is reported and written then.

    \b
    Examples:
      pgmx learn alarm --rows 2000 --random-state 7
      pgmx learn link --max-time 10 --plot link.svg --quiet
      pgmx learn survey.csv --report survey.html
      pgmx learn survey.csv --score bdeu --max-indegree 3 --out survey.bif --plot survey.png
      pgmx learn visits.parquet --missing drop --forbidden never.csv --out visits.graphml
      pgmx learn survey.csv --strategy thorough --restarts 20 --tiers order.csv --roots age,sex
      pgmx learn cells.csv --sep ";" --decimal , --drop id --discretize quantile:5
      pgmx learn survey.csv --method tan --class-node ill --out classifier.bif
      pgmx learn survey.csv --method group-lasso --select ebic --out survey.uai --plot survey.svg
      pgmx learn ratings.parquet --method best-choice --lam 0.01 --max-edges 3000 --plot-history curve.svg
      pgmx learn cells.csv --method glasso --nonparanormal kendall --select ebic --plot-history path.svg
      pgmx learn genes.parquet --method clime --lam-ratio 0.4 --n-jobs -1 --out genes.npz --plot genes.svg
      pgmx learn sales.csv --method lds --lags 2 --time-column month --intercept --out sales.npz --plot sales.svg
      pgmx learn sales.csv --method lds --select cv --seasonal-period 12 --exogenous-columns price --time-column month

    \b
    An edge file names two columns of the table per line (a first line "from,to" is skipped):
      smoker,cancer
      age,smoker
    """  # noqa: D301 (as above)
    with user_errors(missing_choices(options["method"], options.get("nonparanormal"))):
        from pgmx.cli.learn.command import run

        run(source, **options)


@main.command(cls=OneLineCommand, context_settings=_SETTINGS, short_help="Estimate how sure edges are.")
@shared.source_argument
@click.option(
    "--resamples",
    metavar="N",
    type=click.IntRange(min=1),
    default=N_RESAMPLES,
    show_default=True,
    help="Tables drawn with replacement from the rows.",
)
@click.option(
    "--threshold",
    metavar="SHARE",
    type=click.FloatRange(min=0, max=1, min_open=True),
    help="Share of the resamples that must have an edge. Default: estimated from the shares of all edges.",
)
@shared.method_option(numeric=False)
@shared.learner_options
@shared.markov_options
@shared.knowledge_options
@shared.data_options
@shared.run_options
@shared.max_time_option
@shared.file_option(
    "--out",
    "Write the strengths of all edges (.csv), or the graph of the strong ones (.graphml, .json).",
)
@shared.plot_option
@shared.report_option
@shared.quiet_option
def bootstrap(source, **options):
    """Learn from resamples of a table, and estimate how sure the edges are.

    SOURCE and the options of learning are those of "pgmx learn". Printed are the edges that at least the share
    --threshold of the resamples have, with that share (strength) and the share of these that point in the direction
    shown; an edge that a resample cannot direct counts half for each direction.

    \b
    Examples:
      pgmx bootstrap survey.csv --resamples 200 --n-jobs -1 --out strengths.csv
      pgmx bootstrap alarm --rows 1000 --threshold 0.9 --plot sure.svg
      pgmx bootstrap survey.csv --report survey.html
    """  # noqa: D301 (as above)
    with user_errors(missing_choices(options["method"], options.get("nonparanormal"))):
        from pgmx.cli.resample import run

        run(source, **options)


@main.command(cls=OneLineCommand, context_settings=_SETTINGS, short_help="Score a network on data.")
@shared.model_argument("model")
@shared.source_argument
@click.option(
    "--score",
    "scores",
    metavar="NAME",
    multiple=True,
    help="Score of the structure, may be repeated: bic, aic, k2, bdeu, bds, ll; for floats bic-g, aic-g, ll-g, bge; "
    "for both kinds bic-clg, aic-clg, ll-clg, bic-dg, bic-cg, aic-cg, ll-cg. Default: bic, bic-g or bic-clg, as the "
    "columns are.",
)
@shared.format_option
@shared.missing_option
@shared.reading_options
@shared.discrete_option
def score(model, source, **options):
    """Score a network on data: its structure, and the probabilities that it holds.

    MODEL is a file (.bif, .xmlbif, .net, .xdsl, .json; .uai, .npz or .graphml for a Markov network, .npz or .graphml
    for a Gaussian graph; .graphml for a structure alone) or the name of a bundled network; SOURCE is a table as in
    "pgmx learn", with the variables of the network for columns. States are matched by their text.

    Printed are the scores of the structure, whose parameters are fitted to the data, and, where the network holds
    parameters of its own, their log-likelihood (in nats, of all rows and per row) and the number of rows that they rule
    out. For rows that the network was not learned from, this is how well it predicts. Of a Markov network the
    log-likelihood and the log-pseudolikelihood are printed, of a Gaussian graph the log-likelihood.

    \b
    Examples:
      pgmx score survey.bif later.csv
      pgmx score alarm rows.parquet --score bic --score bdeu
    """  # noqa: D301 (as above)
    with user_errors(missing=("drop",)):
        from pgmx.cli.evaluate import score_model

        score_model(model, source, **options)


@main.command(cls=OneLineCommand, context_settings=_SETTINGS)
@shared.model_argument("reference")
@shared.model_argument("other")
@shared.format_option
@click.option("--classes", is_flag=True, help="List what differs between the equivalence classes (CPDAGs).")
@shared.quiet_option
def compare(reference, other, **options):
    """Compare the structures of two networks over the same variables.

    REFERENCE (say, the truth) and OTHER (say, what was learned) are files (.bif, .xmlbif, .net, .xdsl, .json, .graphml,
    .uai, .npz) or names of bundled networks.

    Printed are the structural Hamming distances of the graphs and of their equivalence classes, precision, recall and
    F1 of the neighbours and of the arrows, and the edges that differ; of two undirected networks the number of edges
    that they share, the Hamming distance, and precision, recall and F1 of the edges. Exit status: 0, also where they
    differ.

    \b
    Examples:
      pgmx compare alarm learned.bif
      pgmx compare first.bif second.graphml --classes
    """  # noqa: D301 (as above)
    with user_errors():
        from pgmx.cli.evaluate import compare_models

        compare_models(reference, other, **options)


@main.command(cls=OneLineCommand, context_settings=_SETTINGS, short_help="Show a network in the browser.")
@shared.model_argument("model")
@shared.format_option
@shared.file_option("--data", "A table in a file, for the number of rows, the states and the missing cells.")
@shared.reading_options
@shared.file_option("--out", "Write the page there instead of opening it: .html.")
def show(model, **options):
    """Show a network in the browser: its graph to move and search, its parameters, its edges as a table.

    MODEL is a file (.bif, .xmlbif, .net, .xdsl, .json, .graphml, .uai, .npz) or the name of a bundled network. The page
    is one file, which needs no network.

    \b
    Examples:
      pgmx show alarm
      pgmx show learned.bif --data survey.csv --out learned.html
    """  # noqa: D301 (as above)
    with user_errors():
        from pgmx.cli.show import show as run

        run(model, **options)


@main.command(cls=OneLineCommand, context_settings=_SETTINGS, short_help="Write a network in another format.")
@shared.model_argument("source")
@click.argument("target", metavar="OUT", type=Path)
@shared.format_option
def convert(source, target, **options):
    """Read a network and write it in another format, which the suffix of OUT names.

    SOURCE is a file or the name of a bundled network: .bif, .xmlbif (.bifxml), .net (Hugin) and .xdsl (GeNIe) hold
    discrete Bayesian networks; .json any network; .uai discrete Markov networks; .npz Markov and Gaussian networks and
    linear dynamical systems; .graphml the graph. With a further suffix .gz the file is compressed. A file that ends in
    .xml is read by its content.

    \b
    Examples:
      pgmx convert asia.net asia.bif
      pgmx convert alarm alarm.xdsl
      pgmx convert --format xdsl model.dat model.bif.gz
    """  # noqa: D301 (as above)
    with user_errors():
        from pgmx.cli.convert import convert as run

        run(source, target, **options)


@main.command(cls=OneLineCommand, context_settings=_SETTINGS, short_help="Answer a question about a network.")
@shared.model_argument("model")
@click.option(
    "--task",
    type=click.Choice(["PR", "MAR", "MAP"]),
    required=True,
    help="PR: the logarithm of the partition function to base 10, of a normalised network that of the probability of "
    "the evidence. MAR: the distribution of each variable. MAP: the most probable states of all variables together.",
)
@shared.file_option("--evidence", "Observed variables: a file in the evidence format of UAI (.evid).")
@click.option(
    "--given", metavar="NAME=VALUE", multiple=True, help="An observed variable and its state or number; repeatable."
)
@click.option(
    "--method",
    metavar="NAME",
    default="auto",
    show_default=True,
    help="Engine, as in pgmx.inference: auto is exact within 2 GB, and says so where it is not. With floats "
    "auto, exact or weighting.",
)
@click.option(
    "--format",
    "form",
    type=click.Choice(["names", "uai"]),
    default="names",
    show_default=True,
    help="names: a table of variables and states. uai: the result format of the UAI competitions.",
)
@shared.file_option("--out", "Write the answer into this file instead of printing it.")
def infer(model, **options):
    """Answer a question about a network.

    MODEL is a file (.uai, .npz or .json for a Markov network with factors of any order, .uai of type BAYES, .bif,
    .xmlbif, .net or .xdsl for a Bayesian network, .json for one with floats, .npz for a Gaussian graph) or the name of
    a bundled network.

    Printed are for PR one number; for MAR a table of the states of each variable with their probabilities, and of
    the mean and the standard deviation of each continuous variable; for MAP the state of each variable. Observed
    variables are included. An approximate answer is announced on standard error, with its error. If some variables are
    continuous, PR is the logarithm of a density; MAP is for networks of discrete or of continuous variables alone.

    \b
    With --format uai, and in files of evidence, variables and states are numbered from 0 in the order of the file. The
    first line is the task, the second is
      PR   the number
      MAR  the number of variables, and for each the number of its states and their probabilities; 0, mean and standard
           deviation of a continuous variable
      MAP  the number of variables, and the state of each, or its value

    \b
    Examples:
      pgmx infer asia --task MAR --given smoke=yes --given xray=no
      pgmx infer iris.json --given petal_length=1.4 --task MAR
      pgmx infer grid.uai --evidence grid.evid --task PR --format uai
      pgmx infer alarm --task MAR --format uai --out alarm.MAR
    """  # noqa: D301 (as above)
    with user_errors():
        from pgmx.cli.infer import infer as run

        run(model, **options)


@main.command(cls=OneLineCommand, context_settings=_SETTINGS, short_help="Forecast a time series.")
@shared.model_argument("model")
@shared.source_argument
@click.option(
    "--steps",
    metavar="N",
    type=click.IntRange(min=1),
    default=1,
    show_default=True,
    help="Rows to forecast.",
)
@click.option(
    "--time-column", metavar="NAME", help="The column of the times, which the forecast continues. Default: row numbers."
)
@shared.file_option(
    "--exogenous", "A table of the exogenous columns of the model, a row per step; the times are in its order."
)
@click.option(
    "--coverage",
    metavar="SHARE",
    type=click.FloatRange(min=0, max=1, min_open=True, max_open=True),
    help="Add the bounds of intervals, each of which holds its value with this probability.",
)
@shared.reading_options
@shared.file_option("--out", "Write the table there instead of printing it: .csv.")
def forecast(model, source, **options):
    """Forecast the rows that follow a time series.

    MODEL is the linear dynamical system (.npz) that "pgmx learn" writes with --method dense-lds, lds or scalable-lds.
    SOURCE is a CSV or Parquet file of the series, oldest row first; the forecast follows its last rows, as many as the
    model has lags. Seasons are counted from the first row of SOURCE, which has to be that of the table that was learned
    from.

    Printed is CSV, a row per step: its time, and the mean of each series. Times that are not regular are not continued:
    steps are numbered 1, 2, ... then.

    \b
    Examples:
      pgmx forecast sales.npz sales.csv --steps 24 --time-column month
      pgmx forecast sales.npz later.csv --coverage 0.9 --out forecast.csv
    """  # noqa: D301 (as above)
    with user_errors():
        from pgmx.cli.forecast import forecast as run

        run(model, source, **options)


@main.command(cls=OneLineCommand, context_settings=_SETTINGS, short_help="Predict and learn a stream of rows.")
@shared.source_argument
@click.option("--target", metavar="NAME", required=True, help="The column to predict from all others.")
@click.option(
    "--method",
    type=click.Choice([*STREAM_METHODS]),
    help="raker: a sum of kernels on random features; adaraker: several of them, with steps for what changes fast and "
    "slowly. Default: adaraker.",
)
@click.option(
    "--loss",
    type=click.Choice(["square", "logistic", "hinge"]),
    help="square for numbers; logistic or hinge for labels. Default: square.",
)
@click.option(
    "--classes", metavar="A,B,...", help="All labels, where they come from standard input. Default: those of the file."
)
@click.option(
    "--n-components",
    metavar="D",
    type=click.IntRange(min=1),
    help="Random features per kernel. Default: that of the learner, 50.",
)
@click.option("--random-state", metavar="SEED", type=click.IntRange(min=0), help="Seed of the features. Default: 0.")
@click.option(
    "--window",
    metavar="N",
    type=click.IntRange(min=1),
    default=500,
    show_default=True,
    help="Rows of a point of the picture.",
)
@shared.reading_options
@shared.file_option("--resume", "Continue with the learner of this file, which --out has written: .npz.")
@shared.file_option("--out", "Write the learner: .npz.")
@shared.file_option("--report", "Write a picture of the errors window by window: .svg or .png.")
@click.option("--quiet", "-q", is_flag=True, help="Show no progress.")
def stream(source, target, **options):
    """Predict each row of a stream, then learn it, in constant memory.

    SOURCE is a CSV or Parquet file, a folder of Parquet files, or - for CSV on standard input: rows of numbers, oldest
    first, and the column of the target.

    Printed is the mean error over all rows, beside those of three baselines: the last value, the running mean (of
    labels: the most frequent one) and recursive least squares, which begin with the first row also where a learner is
    resumed. Ctrl-C ends the stream: what was learned is reported and written then, with exit status 130. A row that
    cannot be learned ends it as well, with exit status 2, and nothing is written.

    \b
    Examples:
      pgmx stream data.parquet --target y --method adaraker --out model.npz --report curve.svg
      pgmx stream later.parquet --target y --resume model.npz --out model.npz
      tail -n +1 -f meter.csv | pgmx stream - --target load --out meter.npz
      pgmx stream sensors.csv --target activity --loss hinge
    """  # noqa: D301 (as above)
    with user_errors():
        from pgmx.cli.stream import stream as run

        run(source, target, **options)


@main.command(cls=OneLineCommand, context_settings=_SETTINGS, short_help="Print what completes commands by Tab.")
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def completion(shell):
    """Print a script for a shell, which then completes commands, options, methods, bundled networks and files by Tab.

    \b
    In a file that the shell reads when it starts:
      eval "$(pgmx completion bash)"              ~/.bashrc (bash 4.4 or newer)
      eval "$(pgmx completion zsh)"               ~/.zshrc
      pgmx completion fish | source               ~/.config/fish/config.fish
    """  # noqa: D301 (as above)
    with user_errors():
        from click.shell_completion import get_completion_class

        kind = get_completion_class(shell)
        click.echo(kind(main, {}, "pgmx", "_PGMX_COMPLETE").source())
