"""The work of ``pgmx learn`` for Bayesian networks: learn, report, ask, write."""

from pathlib import Path

from pgmx.cli import report
from pgmx.cli.console import say
from pgmx.cli.learn.query import Prediction, ask, ask_mixed, choose_question
from pgmx.cli.methods import HIDDEN_CAUSES, HYBRIDS, TESTED, make_learner
from pgmx.cli.paths import NETWORK_SUFFIXES, Source, suffix_of
from pgmx.cli.tables import Data
from pgmx.scores.registry import list_scores


def learn_bayesian(
    where: Source, data: Data, knowledge: dict, options: dict, targets: report.Targets, quiet: bool
) -> None:
    """Learn a Bayesian network, and report and write it."""
    if options["method"] in HIDDEN_CAUSES and targets.out is not None and suffix_of(targets.out) in NETWORK_SUFFIXES:
        raise ValueError(
            f"--out {targets.out}: {suffix_of(targets.out)} is for networks, but --method {options['method']} learns a "
            "graph with unknown marks: write .graphml or .json"
        )
    _check_format(data, targets.out)
    learner = make_learner(options, knowledge)
    seconds = report.fit_timed(learner, data.table, **data.fit_arguments)

    _report(where, data, learner, seconds, options, quiet)
    if options["method"] not in HIDDEN_CAUSES:
        _report_query(data, learner, options["missing"])
    truth = _true_class(data) if data.truth is not None and hasattr(learner, "dag_") else None
    _write(data, learner, targets, truth)
    report.write_report(targets, learner, f"{where.name}, learned by {options['method']}", data.table, truth)


def _check_format(data: Data, out: Path | None) -> None:
    if out is None or suffix_of(out) not in NETWORK_SUFFIXES or data.discrete:
        return
    floats = getattr(data.table, "float_columns", ())
    why = f"column {floats[0]!r} is continuous" if floats else f"the score {data.score} is not discrete"
    raise ValueError(
        f"--out {out}: {suffix_of(out)} is for discrete networks, but {why}: write .graphml or .json, or discretise "
        "the columns"
    )


def _report(where: Source, data: Data, learner, seconds: float, options: dict, quiet: bool) -> None:
    report.data_line(where, data.n_rows, len(data.columns), data.truth, options["random_state"])
    report.bins_line(data)
    report.integers_line(data)
    if options["method"] in TESTED:
        level = learner.significance_level
        report.line(
            "tests", f"{sum(learner.n_tests_):,} ({data.score} at level {level:g}, sets of up to {_size(learner)})"
        )
    else:
        report.line("score", f"{learner.score_:.4f} ({data.score})")
    if options["method"] in HYBRIDS:
        n_pairs = learner.skeleton_.number_of_edges()
        report.line(
            "tests", f"{learner.n_tests_:,} at level {learner.significance_level:g}: {n_pairs:,} candidate pairs"
        )
    if (
        data.network == "mixed"
        and data.score in list_scores(family="clg")
        and options["discrete_children"] != "allowed"
    ):
        report.line(
            "excluded",
            "edges from continuous to discrete variables: conditional linear Gaussian networks do not allow them",
        )
    if options["missing"] == "em":
        report.line(
            "observed", f"{learner.observed_log_likelihood_:.4f} (log-likelihood, {learner.n_em_iter_} iterations)"
        )
    edges = report.edges_of(learner.graph_)
    report.line("edges", report.edge_count(edges))
    stopped = "" if getattr(learner, "converged_", True) else " (stopped before convergence)"
    report.line("seconds", f"{seconds:.3f}{stopped}")
    if data.truth is not None and options["method"] in HIDDEN_CAUSES:
        from pgmx.metrics import skeleton_scores

        scores = skeleton_scores(data.truth, learner)
        report.line("pairs", f"precision {scores.precision:.3f}, recall {scores.recall:.3f} against the true graph")
    elif data.truth is not None:
        from pgmx.metrics import cpdag_shd

        n_true = data.truth.number_of_edges()
        report.line(
            "shd", f"{cpdag_shd(data.truth, learner.dag_)} (CPDAGs of learned and true graph; {n_true} true edges)"
        )
    if not quiet and edges:
        say()
        for edge in edges:
            say(" ".join(edge))


def _size(learner) -> str:
    """Return the size of the largest sets that were tested."""
    size = max(len(learner.n_tests_) - 1, 0)
    return f"{size} variable{'s' if size != 1 else ''}"


def _report_query(data: Data, learner, missing: str) -> None:
    say()
    if not data.discrete:
        _report_mixed_query(data, learner, missing)
        return
    cards = [int(card) for card in data.table.cardinalities]
    position = {name: v for v, name in enumerate(data.columns)}
    edges = sorted((position[u], position[v]) for u, v in learner.dag_.edges())
    question = choose_question(edges, cards, joined=data.truth is not None)
    if isinstance(question, str):
        report.line("query", f"left out: {question}")
        return
    report.answer_lines(ask(learner.model_, *question))


def _report_mixed_query(data: Data, learner, missing: str) -> None:
    """Ask a network with continuous variables."""
    from pgmx.models import ConditionalGaussianNetwork

    if not has_network(data, learner):
        reason = "edges from continuous to discrete variables have no parameters"
        if missing == "pairwise" and data.table.missing_columns():
            reason = "parameters need complete rows: --missing drop, or --method hill-climb --missing em"
        report.line("query", f"left out: {reason}")
        return
    model = learner.model_
    if not isinstance(model, ConditionalGaussianNetwork):
        model = ConditionalGaussianNetwork.from_network(model)
    answer = ask_mixed(model)
    if isinstance(answer, str):
        report.line("query", f"left out: {answer}")
    elif isinstance(answer, Prediction):
        report.prediction_lines(answer)
    else:
        report.answer_lines(answer)


def has_network(data: Data, learner) -> bool:
    """Return whether the learned network has parameters.

    Edges from continuous to discrete variables prevent them, and tests of incomplete rows with continuous variables.
    """
    return data.network is not None and hasattr(learner, "model_")


def _write(data: Data, learner, targets: report.Targets, truth) -> None:
    has_file = targets.out is not None and suffix_of(targets.out) != ".graphml"
    has_parameters = has_file and has_network(data, learner)
    model = learner.model_ if has_parameters else learner.graph_
    note = "" if truth is None else " (edges coloured by whether the true graph has them)"
    drawing = {"continuous": data.table.float_columns} if data.network == "mixed" else {}
    report.write_results(
        targets,
        model,
        learner.graph_,
        note,
        lambda path: report.save_history(learner, path),
        reference=truth,
        **drawing,
    )


def _true_class(data: Data):
    """Return the CPDAG of the true network: data cannot determine more than this."""
    from pgmx.models import cpdag, to_pdag

    position = {name: v for v, name in enumerate(data.columns)}
    return to_pdag(data.columns, *cpdag(len(position), [(position[u], position[v]) for u, v in data.truth.edges()]))
