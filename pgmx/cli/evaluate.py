"""The work of ``pgmx score`` and ``pgmx compare``."""

from collections.abc import Sequence
from math import inf
from pathlib import Path
from typing import Any

from pgmx.checks import check_same_names
from pgmx.cli.console import say
from pgmx.cli.networks import read_network, with_text_names
from pgmx.cli.paths import find_source
from pgmx.cli.report import line
from pgmx.cli.tables import choose_discrete, open_input, peek_columns
from pgmx.scores.registry import check_score_name, find_score, name_default, needs_columns


def compare_models(reference: str, other: str, *, format: str | None, classes: bool, quiet: bool) -> None:
    """Print the differences between two networks, or with `classes` between their equivalence classes."""
    from pgmx.metrics import cpdag_shd, direction_scores, edge_differences, shd, skeleton_scores

    a, b = (with_text_names(read_network(text, format), text) for text in (reference, other))
    if not (a.is_directed() or b.is_directed()):
        _compare_undirected(a, b, reference, other, classes=classes, quiet=quiet)
        return
    distance, of_classes = shd(a, b), cpdag_shd(a, b)
    pairs, arrows = skeleton_scores(a, b), direction_scores(a, b)
    class_arrows = direction_scores(a, b, equivalence_class=True)
    differences = edge_differences(a, b, equivalence_class=classes)

    line("graphs", f"{reference}: {_size(a)}; {other}: {_size(b)}")
    line("shd", f"{distance} ({of_classes} between the CPDAGs)")
    _shares((("neighbours", pairs), ("arrows", arrows), ("arrows of the CPDAGs", class_arrows)))
    if not quiet:
        _list_differences(differences, reference, other)


def _compare_undirected(a, b, reference: str, other: str, *, classes: bool, quiet: bool) -> None:
    """Print the differences between two undirected graphs."""
    from pgmx.metrics import edge_differences, skeleton_scores

    if classes:
        raise ValueError(f"--classes is for directed graphs, but {reference} and {other} have no directions")
    scores, differences = skeleton_scores(a, b), edge_differences(a, b)
    missing, extra = len(differences.missing), len(differences.added)

    line("graphs", f"{reference}: {_size(a)}; {other}: {_size(b)}")
    line("edges", f"{a.number_of_edges() - missing} shared, {missing} missing and {extra} extra in {other}")
    line("hamming", f"{missing + extra}")
    _shares((("edges", scores),))
    if not quiet:
        _list_differences(differences, reference, other)


def _shares(rows) -> None:
    """Print precision, recall and F1, one line per kind of edges."""
    say()
    say(f"{'':<24}  precision  recall     f1")
    for name, scores in rows:
        say(f"{name:<24}  {scores.precision:9.3f}  {scores.recall:6.3f}  {scores.f1:5.3f}")


def _size(graph) -> str:
    n_pairs = len({frozenset(edge) for edge in graph.edges()})
    return f"{len(graph)} variables, {n_pairs} edge{'' if n_pairs == 1 else 's'}"


def _list_differences(differences, reference: str, other: str) -> None:
    for edges, title in (
        (differences.added, f"only in {other}"),
        (differences.missing, f"only in {reference}"),
        (differences.reversed, f"reversed in {other}"),
        (differences.directed, f"directed in {other} alone"),
        (differences.undirected, f"undirected in {other} alone"),
    ):
        if edges:
            say()
            say(f"{title}: {len(edges)}")
            for edge in edges:
                say(f"  {' '.join(edge)}")


def score_model(
    model: str, source: str, *, format: str | None, scores: Sequence[str], missing: str, **reading: Any
) -> None:
    """Print the scores of a network's structure on a table, and the log-likelihood of its parameters."""
    names = [check_score_name(name) for name in scores]
    network = read_network(model, format)
    if hasattr(network, "potentials"):
        _score_markov(network, model, source, names, missing, reading)
        return
    if hasattr(network, "sparse_precision"):
        _score_gaussian(network, model, source, names, missing, reading)
        return
    if hasattr(network, "lagged_edges"):
        raise ValueError(
            f"{model} is a model of time series, which pgmx score does not support: use pgmx forecast for a linear "
            "dynamical system, or pgmx compare for two graphs"
        )
    if not network.is_directed() or any(network.has_edge(v, u) for u, v in network.edges()):
        raise ValueError(f"{model} has undirected edges: a score needs a DAG")
    title, path = _find_table(source)
    table = _match_columns(_open(path, network, names, missing, reading), network)

    values = _structure_scores(network, table, names, missing)
    likelihood = _likelihood(network, table, missing)

    _report_sizes(title, table.n_rows, network)
    for name, value in values:
        line("score", f"{value:.4f} ({name}, parameters fitted to these rows)")
    _report_likelihood(likelihood)


def _score_markov(network, model: str, source: str, names: Sequence[str], missing: str, reading: dict) -> None:
    """Print the log-likelihood and the log-pseudolikelihood of a Markov network."""
    from pgmx.data import DiscreteTable

    _refuse_scores(names, model, "a Markov network")
    title, path = _find_table(source)
    table = _match_columns(_open(path, network, names, missing, reading), network)
    if not isinstance(table, DiscreteTable):
        raise ValueError(f"column {table.float_columns[0]!r} is continuous, but the network is discrete")
    for name, states in zip(table.columns, table.states, strict=True):
        extra = states[len(network.states[name]) :]
        if extra:
            raise ValueError(f"column {str(name)!r} has the state {str(extra[0])!r}, which the network does not have")
    likelihood, pseudo = network.log_likelihood(table), network.pseudo_log_likelihood(table)

    _report_sizes(title, table.n_rows, network)
    how = "" if network.partition_is_exact else f" (± {network.log_partition_.standard_error:.2g}, a standard error)"
    line("loglik", f"{likelihood.sum():.4f} nats, {likelihood.mean():.4f} per row{how}")
    line("pseudo", f"{pseudo.sum():.4f} nats, {pseudo.mean():.4f} per row (log pseudolikelihood)")


def _score_gaussian(network, model: str, source: str, names: Sequence[str], missing: str, reading: dict) -> None:
    """Print the log-likelihood of a Gaussian graph."""
    from pgmx.cli.learn.undirected import of_scores, read_numbers, with_names_of

    _refuse_scores(names, model, "a Gaussian graph")
    title, path = _find_table(source)
    rows = with_names_of(network, read_numbers(open_input(path, reading), missing))
    likelihood = network.log_likelihood(rows)

    _report_sizes(title, len(rows), network)
    line("loglik", f"{likelihood.sum():.4f} nats, {likelihood.mean():.4f} per row{of_scores(network)}")


def _report_sizes(title: str, n_rows: int, network) -> None:
    line("data", f"{title}: {n_rows} rows, {len(network)} variables")
    line("graph", f"{network.number_of_edges()} edges")


def _refuse_scores(names: Sequence[str], model: str, what: str) -> None:
    if names:
        raise ValueError(f"--score {names[0]} is for Bayesian networks, but {model} is {what}")


def _find_table(source: str) -> tuple[str, Path]:
    where = find_source(source)
    if where.path is None:
        raise ValueError(f"{source} is a network, not a table: give a file of data")
    return where.name, where.path


def _open(path: Path, network: Any, names: Sequence[str], missing: str, reading: dict):
    from pgmx.data import Frame, encode, open_any, open_frame

    source, discrete = open_input(path, reading), _list_discrete(path, network, reading)
    continuous = _list_continuous(network)
    if (continuous or any(map(needs_columns, names))) and path.suffix.lower() != ".pgmx":
        frame = open_frame(source).declare_discrete(discrete)
        return frame.declare_continuous([name for name in frame.names if str(name) in continuous])
    table = open_any(source, missing=missing, discrete_columns=discrete)
    has_states = isinstance(table, Frame) and not table.list_known_floats()
    return encode(table, missing=missing) if has_states else table


def _list_discrete(path: Path, network: Any, reading: dict) -> list:
    """Return the columns of --discrete, and the columns that are discrete variables of the network."""
    discrete = {str(name) for name in network.nodes() if _states_of(network, name)}
    columns = peek_columns(path, reading) or []
    return [*(choose_discrete(path, reading) or ()), *(name for name in columns if str(name) in discrete)]


def _list_continuous(network: Any) -> set[str]:
    """Return the continuous variables of a network with parameters, as text; columns of integers are such variables."""
    from pgmpy.models import LinearGaussianBayesianNetwork

    if not isinstance(network, LinearGaussianBayesianNetwork) and not hasattr(network, "continuous"):
        return set()
    return {str(name) for name in network.nodes() if not _states_of(network, name)}


def _match_columns(opened, network) -> Any:
    """Return the data with the variables and states of the network; other states of the data are last."""
    from pgmx.data import DiscreteTable

    coded = isinstance(opened, DiscreteTable)
    names = list(network.nodes())
    at = {str(column): v for v, column in enumerate(opened.columns if coded else opened.names)}
    check_same_names(map(str, names), at, "the network", "the table")
    if not coded:
        return opened
    return _with_states_of(network, opened, [at[str(name)] for name in names])


def _with_states_of(network, table, order: Sequence[int]):
    import numpy as np

    from pgmx.data import DiscreteTable
    from pgmx.data.declared_states import match_texts
    from pgmx.data.errors import refuse_marked

    refuse_marked(table, "code it with 'drop' or 'category'")
    names, states, positions = list(network.nodes()), [], []
    for name, v in zip(names, order, strict=True):
        known = _states_of(network, name)
        places = match_texts(table.states[v], known, -1).tolist()
        unknown = [k for k, place in enumerate(places) if place < 0]
        for place, k in enumerate(unknown, start=len(known)):
            places[k] = place
        states.append((*known, *(table.states[v][k] for k in unknown)))
        positions.append(places)
    if (tuple(names), tuple(states)) == (table.columns, table.states):
        return table
    codes = np.empty((len(names), table.n_rows), dtype=np.min_scalar_type(max(map(len, states))))
    for row, v, places in zip(codes, order, positions, strict=True):
        row[:] = np.array(places, dtype=codes.dtype)[table.codes[v]]
    return DiscreteTable(names, states, codes)


def _states_of(network, name) -> list:
    if hasattr(network, "potentials") or hasattr(network, "continuous"):
        return list(network.states.get(name, ()))
    cpd = network.get_cpds(name) if hasattr(network, "get_cpds") else None
    return list(getattr(cpd, "state_names", {}).get(name, ()))


def _structure_scores(network, table, names: Sequence[str], missing: str) -> list[tuple[str, float]]:
    from pgmx.data import DiscreteTable
    from pgmx.models import to_dag

    coded = isinstance(table, DiscreteTable)
    if not names:
        names = [name_default(0 if coded else len(table.float_columns), len(network))]
    position = {name: v for v, name in enumerate(network.nodes())}
    dag = to_dag(list(position), sorted((position[u], position[v]) for u, v in network.edges()))
    values = []
    for name in names:
        entry = find_score(name)
        if entry.kind == "discrete":
            score = entry.load()(table if coded else table.encode(missing=missing))
        else:
            frame = table.to_pandas() if coded else table.to_pandas(missing=missing)
            _check_numbers(name, frame)
            score = entry.load()(frame)
        values.append((name, float(score.score(dag))))
    return values


def _check_numbers(score: str, frame) -> None:
    states = [column for column in frame if frame[column].dtype.kind not in "fiu"]
    if states and find_score(score).kind == "continuous":
        raise ValueError(
            f"--score {score} is for continuous variables, but column {states[0]!r} is discrete: choose bic or bic-clg"
        )


def _likelihood(network, table, missing: str):
    """Return the likelihood of the network's own parameters, None if it does not have any."""
    from pgmpy.models import DiscreteBayesianNetwork, LinearGaussianBayesianNetwork

    from pgmx.data import DiscreteTable
    from pgmx.metrics import held_out_log_likelihood
    from pgmx.models import ConditionalGaussianNetwork

    if isinstance(network, ConditionalGaussianNetwork):
        return held_out_log_likelihood(network, table, missing="error" if missing == "error" else "drop")
    if not isinstance(network, DiscreteBayesianNetwork | LinearGaussianBayesianNetwork):
        return None
    if isinstance(network, LinearGaussianBayesianNetwork) and isinstance(table, DiscreteTable):
        raise ValueError("the network is Gaussian, but the columns are discrete: give continuous columns")
    return held_out_log_likelihood(network, table, missing="drop" if missing == "drop" else "error")


def _report_likelihood(result) -> None:
    if result is None:
        line("loglik", "left out: the network is a graph without parameters")
        return
    if result.mean > -inf:
        line("loglik", f"{result.total:.4f} nats, {result.mean:.4f} per row (parameters of the network)")
        return
    line("loglik", f"-inf: the network gives probability 0 to {result.n_impossible} of {result.n_rows} rows")
    if result.n_impossible < result.n_rows:
        line("", f"{result.possible_mean:.4f} nats per row of the others")
    worst = sorted(result.impossible.items(), key=lambda item: (-item[1], str(item[0])))[:5]
    line("", "at " + ", ".join(f"{name} ({count})" for name, count in worst))
