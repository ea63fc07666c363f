"""The commands of ``pgmx``: arguments, options and help."""

from pathlib import Path

import click

from pgmx import __version__
from pgmx.cli import options as shared
from pgmx.cli.console import OneLineCommand, OneLineGroup, user_errors
from pgmx.cli.methods import N_RESAMPLES, STREAM_METHODS, missing_choices
from pgmx.scores.registry import describe_defaults, describe_scores

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
                                              a Gaussian graph of continuous variables
      pgmx bootstrap survey.csv               estimate the confidence of the edges
      pgmx posterior survey.csv               compute the probabilities of the edges
      pgmx score survey.bif later.csv         measure how well it predicts other rows
      pgmx compare alarm learned.bif          list the differences between two networks
      pgmx show learned.bif                   look at it in the browser
      pgmx convert learned.bif learned.net    write it in another format
      pgmx infer learned.uai --task MAR       the marginal distribution of each variable
      pgmx predict learned.bif holes.csv --out filled.csv
                                              fill in missing values
      pgmx learn sales.csv --method lds --time-column month --out sales.npz
                                              a graph of lagged effects between time series
      pgmx forecast sales.npz sales.csv --steps 12 --time-column month
                                              forecast the next 12 rows
      pgmx stream meter.csv --target load --out meter.npz
                                              predict each row before it is learned
      pgmx learn --help                       all options
      pgmx completion bash                    a script for the completion of commands by Tab
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
    "--held-out", "Undirected networks: held-out rows that evaluate the result; --select held-out chooses by them."
)
@shared.run_options
@shared.max_time_option
@shared.file_option(
    "--checkpoint",
    "Searches and Markov networks: save the state to this file from time to time. The same command continues from it "
    "after an interruption.",
)
@shared.file_option(
    "--out",
    "Write the result. Bayesian: .bif, .xmlbif, .net or .xdsl (the fitted discrete network), .json (the fitted "
    "network, discrete or Gaussian; the graph for mixed data), .graphml (the graph). Markov: .uai, "
    ".npz, .json or .graphml (the network). Gaussian graphs: .npz, .json or .graphml (the network). Time series: .npz "
    "(the linear dynamical system for pgmx forecast), .json or .graphml (the graph).",
)
@shared.plot_option
@shared.file_option(
    "--plot-history",
    "Write a picture of the score or objective over time. For Gaussian graphs: the path of penalties of --select. "
    "Formats: .svg or .png.",
)
@shared.report_option
@shared.reference_option
@shared.quiet_option
def learn(source, **options):
    """Learn a network from a table, or a graph from a time series.

    SOURCE is a table in a CSV or Parquet file, a folder of Parquet files, a coded table (.pgmx), or the name of a
    discrete network bundled with pgmpy (alarm, asia, child, insurance, hailfinder, win95pts, andes, link, ...; a wrong
    name lists them all).

    For a Bayesian network, the command prints the score or the number of tests, the edges ("a -> b"; "a -- b" if the
    data do not determine the direction), the time, and the answer to one query. For a Markov network, it prints the
    objective, the penalty and the edges with their strengths. For a Gaussian graph, it prints the same with partial
    correlations, and one prediction. For a time series, it prints the edges with their lags ("a@t-1 -> b"), strengths
    and coefficients.

    A bundled network is sampled first, and the result is compared with it (a Markov network with its moral graph).
    Without --out and --plot, NAME.bif (.uai) and NAME.svg are then written into the working directory.

    Columns of integers or text are discrete, columns of floats are continuous (Bayesian networks only). glasso, clime,
    neighborhood and the methods for time series require numeric columns. Results go to standard output, progress (on a
    terminal) and errors to standard error. Exit status: 0 done, 2 bad usage or bad data, 130 interrupted (Ctrl-C).
    After an interruption the best result so far is reported and written.

    \b
    Examples:
      pgmx learn alarm --rows 2000 --random-state 7
      pgmx learn link --max-time 10 --plot link.svg --quiet
      pgmx learn survey.csv --report survey.html
      pgmx learn survey.csv --score bdeu --max-indegree 3 --out survey.bif --plot survey.png
      pgmx learn visits.parquet --missing drop --forbidden never.csv --out visits.graphml
      pgmx learn survey.csv --strategy thorough --restarts 20 --tiers order.csv --roots age,sex
      pgmx learn cells.csv --sep ";" --decimal , --drop id --discretize quantile:5
      pgmx learn survey.csv --method pc --alpha 0.01 --test chi_square --report survey.html
      pgmx learn survey.csv --method tan --class-node ill --out classifier.bif
      pgmx learn survey.csv --method group-lasso --select ebic --out survey.uai --plot survey.svg
      pgmx learn ratings.parquet --method best-choice --lam 0.01 --max-edges 3000 --plot-history curve.svg
      pgmx learn cells.csv --method glasso --nonparanormal kendall --select ebic --plot-history path.svg
      pgmx learn genes.parquet --method clime --lam-ratio 0.4 --n-jobs -1 --out genes.npz --plot genes.svg
      pgmx learn sales.csv --method lds --lags 2 --time-column month --intercept --out sales.npz --plot sales.svg
      pgmx learn panel.csv --method dynamic --time t --groups id --lags 2 --static sex --out panel.json
      pgmx learn sales.csv --method lds --select cv --seasonal-period 12 --exogenous-columns price --time-column month

    \b
    An edge file names two columns of the table per line (a first line "from,to" is skipped):
      smoker,cancer
      age,smoker
    """  # noqa: D301 (as above)
    with user_errors(missing_choices(options["method"], options.get("nonparanormal"))):
        from pgmx.cli.learn.command import run_learn

        run_learn(source, **options)


@main.command(cls=OneLineCommand, context_settings=_SETTINGS, short_help="Estimate the confidence of edges.")
@shared.source_argument
@click.option(
    "--resamples",
    metavar="N",
    type=click.IntRange(min=1),
    default=N_RESAMPLES,
    show_default=True,
    help="Number of resamples, drawn with replacement from the rows.",
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
    """Learn from resamples of a table, and estimate the confidence of the edges.

    SOURCE and the options of learning are the same as for "pgmx learn". The command prints the edges whose share of
    the resamples (strength) is at least --threshold. It also prints which share of these resamples has the direction
    shown. An undirected edge of a resample counts half for each direction.

    \b
    Examples:
      pgmx bootstrap survey.csv --resamples 200 --n-jobs -1 --out strengths.csv
      pgmx bootstrap alarm --rows 1000 --threshold 0.9 --plot sure.svg
      pgmx bootstrap survey.csv --report survey.html
    """  # noqa: D301 (as above)
    with user_errors(missing_choices(options["method"], options.get("nonparanormal"))):
        from pgmx.cli.learn.command import run_bootstrap

        run_bootstrap(source, **options)


@main.command(
    cls=OneLineCommand, context_settings=_SETTINGS, short_help="Compute the posterior probabilities of the edges."
)
@shared.source_argument
@shared.posterior_options
@shared.knowledge_options
@shared.data_options
@shared.run_options
@shared.max_time_option
@shared.file_option(
    "--out",
    "Write the probabilities of all edges (.csv), or the graph of the probable ones (.graphml, .json).",
)
@shared.plot_option
@shared.report_option
@shared.quiet_option
def posterior(source, **options):
    """Compute the posterior probabilities of the edges of a Bayesian network, averaged over structures.

    SOURCE is a table as in "pgmx learn". The command prints the edges of a probability (strength) of at least
    --threshold, and the probability of the direction shown, given the edge. These are probabilities that an edge is in
    the true graph, unlike the shares of resamples of "pgmx bootstrap".

    \b
    Examples:
      pgmx posterior survey.csv --out probabilities.csv
      pgmx posterior cells.csv --score bge --max-indegree 4 --report cells.html
      pgmx posterior asia --rows 500 --prior uniform --threshold 0.9
    """  # noqa: D301 (as above)
    with user_errors(("drop", "category", "pairwise")):
        from pgmx.cli.learn.posterior import run_posterior

        run_posterior(source, **options)


@main.command(cls=OneLineCommand, context_settings=_SETTINGS, short_help="Score a network on data.")
@shared.model_argument("model")
@shared.source_argument
@click.option(
    "--score",
    "scores",
    metavar="NAME",
    multiple=True,
    help=f"Score of the structure, may be repeated: {describe_scores()}. Default: {describe_defaults()}, depending on "
    "the columns.",
)
@shared.format_option
@shared.missing_option
@shared.reading_options
@shared.discrete_option
def score(model, source, **options):
    """Score a network on data: its structure, and its parameters.

    MODEL is a file (.bif, .xmlbif, .net, .xdsl, .json; .uai, .npz or .graphml for a Markov network, .npz or .graphml
    for a Gaussian graph; .graphml for a structure alone) or the name of a bundled network. SOURCE is a table as in
    "pgmx learn". Its columns are the variables of the network. States are matched by their text.

    The command prints the scores of the structure, with parameters fitted to the data. If the network has its own
    parameters, it also prints their log-likelihood (in nats, in total and per row) and the number of rows with
    probability 0. On rows that the network was not learned from, the log-likelihood measures how well it predicts. For
    a Markov network the log-likelihood and the log-pseudolikelihood are printed, for a Gaussian graph the
    log-likelihood.

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
@click.option("--classes", is_flag=True, help="List the differences between the equivalence classes (CPDAGs).")
@shared.quiet_option
def compare(reference, other, **options):
    """Compare the structures of two networks over the same variables.

    REFERENCE (for example the true network) and OTHER (for example the learned network) are files (.bif, .xmlbif, .net,
    .xdsl, .json, .graphml, .uai, .npz) or names of bundled networks.

    The command prints the structural Hamming distances of the graphs and of their equivalence classes, precision,
    recall and F1 of the neighbours and of the arrows, and the edges that differ. For two undirected networks it prints
    the number of shared edges, the Hamming distance, and precision, recall and F1 of the edges. Exit status: 0, also if
    the networks differ.

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
@shared.file_option("--data", "A table in a file. The page then shows its rows, states and missing values.")
@shared.reading_options
@shared.reference_option
@shared.file_option("--out", "Write the page there instead of opening it: .html.")
def show(model, **options):
    """Show a network in the browser: an interactive graph, the parameters, a table of the edges.

    MODEL is a file (.bif, .xmlbif, .net, .xdsl, .json, .graphml, .uai, .npz) or the name of a bundled network. The page
    is one file that works offline.

    \b
    Examples:
      pgmx show alarm
      pgmx show learned.bif --data survey.csv --out learned.html
      pgmx show learned.bif --reference alarm
    """  # noqa: D301 (as above)
    with user_errors():
        from pgmx.cli.networks import show as run

        run(model, **options)


@main.command(cls=OneLineCommand, context_settings=_SETTINGS, short_help="Write a network in another format.")
@shared.model_argument("source")
@click.argument("target", metavar="OUT", type=Path)
@shared.format_option
def convert(source, target, **options):
    """Read a network and write it in another format. The suffix of OUT is the format.

    SOURCE is a file or the name of a bundled network: .bif, .xmlbif (.bifxml), .net (Hugin) and .xdsl (GeNIe) hold
    discrete Bayesian networks; .json any network; .uai discrete Markov networks; .npz Markov and Gaussian networks and
    linear dynamical systems; .graphml the graph. The additional suffix .gz means a compressed file. The format of a
    .xml file is found from its content.

    \b
    Examples:
      pgmx convert asia.net asia.bif
      pgmx convert alarm alarm.xdsl
      pgmx convert --format xdsl model.dat model.bif.gz
    """  # noqa: D301 (as above)
    with user_errors():
        from pgmx.cli.networks import convert as run

        run(source, target, **options)


@main.command(cls=OneLineCommand, context_settings=_SETTINGS, short_help="Answer a question about a network.")
@shared.model_argument("model")
@click.option(
    "--task",
    type=click.Choice(["PR", "MAR", "MAP"]),
    required=True,
    help="PR: the logarithm to base 10 of the partition function (for a normalised network: of the probability of the "
    "evidence). MAR: the distribution of each variable. MAP: the jointly most probable states of all variables, and "
    "the means of continuous variables given these states.",
)
@shared.file_option("--evidence", "Observed variables: a file in the evidence format of UAI (.evid).")
@click.option(
    "--given", metavar="NAME=VALUE", multiple=True, help="An observed variable and its state or value; repeatable."
)
@click.option(
    "--do",
    metavar="NAME=STATE",
    multiple=True,
    help="An intervention in a Bayesian network: the variable is set to a state, and the edges into it are removed; "
    "repeatable.",
)
@click.option(
    "--virtual",
    metavar="NAME=LIKELIHOOD,...",
    multiple=True,
    help="An uncertain observation: the likelihood of each state of the variable, in the order of its states; "
    "repeatable.",
)
@click.option(
    "--method",
    metavar="NAME",
    default="auto",
    show_default=True,
    help="Engine, as in pgmx.inference. auto is exact within 2 GB of memory, else approximate with a message. With "
    "continuous variables: auto, exact or weighting.",
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
    .xmlbif, .net or .xdsl for a Bayesian network, .json for one with continuous variables, .npz for a Gaussian graph)
    or the name of a bundled network.

    PR prints one number. MAR prints a table of the states of each discrete variable with their probabilities, and a
    table of the mean and the standard deviation of each continuous variable. MAP prints the state of each variable.
    Observed variables are included. An approximate answer is reported on standard error, with its error. If some
    variables are continuous, PR is the logarithm of a density. MAP requires only discrete or only continuous variables;
    --do and --virtual require only discrete ones.

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
      pgmx infer asia --task MAR --do smoke=no --virtual xray=0.7,0.2
      pgmx infer iris.json --given petal_length=1.4 --task MAR
      pgmx infer grid.uai --evidence grid.evid --task PR --format uai
      pgmx infer alarm --task MAR --format uai --out alarm.MAR
    """  # noqa: D301 (as above)
    with user_errors():
        from pgmx.cli.infer import infer as run

        run(model, **options)


@main.command(cls=OneLineCommand, context_settings=_SETTINGS, short_help="Predict the missing values of a table.")
@shared.model_argument("model")
@click.argument("source")
@click.option("--proba", is_flag=True, help="Write the distributions of the missing values instead of predictions.")
@click.option(
    "--method",
    type=click.Choice(["map", "marginal"]),
    default="map",
    show_default=True,
    help="map: the jointly most probable values of all that is missing in a row. marginal: the most probable state of "
    "each variable.",
)
@shared.format_option
@shared.reading_options
@shared.file_option("--out", "Write the table there instead of printing it as CSV: .csv or .parquet.")
@click.option("--quiet", "-q", is_flag=True, help="Show no progress.")
def predict(model, source, **options):
    """Predict the missing values of a table, each row given its observed values.

    MODEL is a file (.bif, .xmlbif, .net, .xdsl, .json, .uai, .npz) or the name of a bundled network, discrete, Gaussian
    or mixed. SOURCE is a CSV or Parquet file, a folder of Parquet files or a coded table (.pgmx). Its columns are
    variables of the network; variables without a column are predicted in every row. States are matched by their text.

    The output has the columns of SOURCE and then the absent variables. Observed values are unchanged, and so are
    complete rows. With --proba it has one column NAME_STATE per state of each variable without a column or with a
    missing value, and NAME_mean and NAME_std for continuous variables; observed states have probability 1.

    The file is read and written in chunks, so that it may be larger than memory. A row that is impossible under the
    network is an error with its number, and then no file is written.

    \b
    Examples:
      pgmx predict survey.bif holes.csv --out filled.csv
      pgmx predict alarm rows.parquet --method marginal --out filled.parquet
      pgmx predict asia patients.csv --drop id,lung --proba --out chances.csv
    """  # noqa: D301 (as above)
    with user_errors():
        from pgmx.cli.predict import predict as run

        run(model, source, **options)


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
    "--time-column", metavar="NAME", help="The time column, which the forecast continues. Default: row numbers."
)
@shared.file_option(
    "--exogenous", "A table of the exogenous columns of the model: one row per step, in the order of time."
)
@click.option(
    "--coverage",
    metavar="SHARE",
    type=click.FloatRange(min=0, max=1, min_open=True, max_open=True),
    help="Add the bounds of prediction intervals with this coverage probability.",
)
@shared.reading_options
@shared.file_option("--out", "Write the table there instead of printing it: .csv.")
def forecast(model, source, **options):
    """Forecast the rows that follow a time series.

    MODEL is the linear dynamical system (.npz) that "pgmx learn" writes with --method dense-lds, lds or scalable-lds,
    or the dynamic Bayesian network (.json) that it writes with --method dynamic.
    SOURCE is a CSV or Parquet file of the series, oldest row first. The forecast starts after its last row and needs as
    many rows as the model has lags. Seasons are counted from the first row of SOURCE, which must be the first row of
    the training data.

    The output is CSV, one row per step: its time, and the mean of each series. If the times are not regular, the steps
    are numbered 1, 2, ... instead. A dynamic Bayesian network gives the probability of each state of each series, for
    each group.

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
    help="raker: a sum of kernels on random features; adaraker: several raker learners, with step sizes for fast and "
    "slow changes. Default: adaraker.",
)
@click.option(
    "--loss",
    type=click.Choice(["square", "logistic", "hinge"]),
    help="square for a numeric target; logistic or hinge for labels. Default: square.",
)
@shared.names_option(
    "--classes", "All labels; required for labels from standard input. Default: the labels of the file."
)
@click.option(
    "--n-components",
    metavar="D",
    type=click.IntRange(min=1),
    help="Random features per kernel. Default: 50.",
)
@click.option("--random-state", metavar="SEED", type=click.IntRange(min=0), help="Seed of the features. Default: 0.")
@click.option(
    "--window",
    metavar="N",
    type=click.IntRange(min=1),
    default=500,
    show_default=True,
    help="Rows per point of the picture.",
)
@shared.reading_options
@shared.file_option("--resume", "Continue with the learner in this file, written by --out: .npz.")
@shared.file_option("--out", "Write the learner: .npz.")
@shared.file_option("--report", "Write a picture of the errors per window: .svg or .png.")
@click.option("--quiet", "-q", is_flag=True, help="Show no progress.")
def stream(source, target, **options):
    """Predict each row of a stream, then learn it, in constant memory.

    SOURCE is a CSV or Parquet file, a folder of Parquet files, or - for CSV on standard input. It has numeric columns
    and the target column, oldest row first.

    The command prints the mean error over all rows, and the mean errors of three baselines: the last value, the running
    mean (for labels: the most frequent label) and recursive least squares. Baselines start at the first row, also if
    the learner is resumed. Ctrl-C ends the stream: the learner is then reported and written, with exit status 130. An
    invalid row also ends the stream, with exit status 2, and nothing is written.

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


@main.command(cls=OneLineCommand, context_settings=_SETTINGS, short_help="Print a script for completion by Tab.")
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def completion(shell):
    """Print a shell script for the completion of commands, options, methods, bundled networks and files by Tab.

    \b
    Add this line to the start-up file of the shell:
      eval "$(pgmx completion bash)"              ~/.bashrc (bash 4.4 or newer)
      eval "$(pgmx completion zsh)"               ~/.zshrc
      pgmx completion fish | source               ~/.config/fish/config.fish
    """  # noqa: D301 (as above)
    with user_errors():
        from click.shell_completion import get_completion_class

        kind = get_completion_class(shell)
        click.echo(kind(main, {}, "pgmx", "_PGMX_COMPLETE").source())
