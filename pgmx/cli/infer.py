"""The work of ``pgmx infer``: the tasks of the UAI competitions, answered by names and states or in their format."""

from __future__ import annotations

from collections.abc import Sequence
from math import inf, log
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from pgmx.checks import join_names
from pgmx.cli.console import escape_controls, say
from pgmx.cli.networks import read_network
from pgmx.cli.paths import check_writable

if TYPE_CHECKING:
    from pgmx.inference.problem import Problem
    from pgmx.models import ConditionalGaussianNetwork


class _Answer(NamedTuple):
    """The answer to a task about variables with these names and states (None for a continuous one).

    `value` is the logarithm to base 10 for PR, and `meaning` describes it. `values` has one entry per variable. For
    MAP an entry is the code of a state, or a continuous value. For MAR an entry is the probabilities of the states, or
    mean and standard deviation.
    """

    names: Sequence[Any]
    states: Sequence[Sequence | None]
    values: Sequence[Any] = ()
    value: float = 0.0
    meaning: str = ""


def infer(
    model: str,
    *,
    evidence: Path | None,
    given: Sequence[str],
    do: Sequence[str],
    virtual: Sequence[str],
    task: str,
    method: str,
    form: str,
    out: Path | None,
) -> None:
    """Answer one question about a network and print the answer, or write it."""
    if out is not None:
        check_writable(out, "--out")
    network = read_network(model)
    mixed = _read_mixed(network)
    if mixed is None:
        problem = _read_discrete(network, model)
        answer = _ask_discrete(problem, _read_question(problem, evidence, given, do, virtual), task, method)
    elif do or virtual:
        option = "--do" if do else "--virtual"
        raise ValueError(
            f"{option} {(*do, *virtual)[0]}: {model} has continuous variables, and {option} is for networks with only "
            "discrete ones: leave it out"
        )
    else:
        answer = _ask_mixed(mixed, evidence, given, task, method)
    lines = [task, _list_figures(answer, task)] if form == "uai" else _list_names(answer, task)
    if out is None:
        for line in lines:
            say(line)
        return
    from pgmx.atomic import replace_file

    with replace_file(out) as part:
        part.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")


# ---- the forms of an answer ----


def _list_figures(answer: _Answer, task: str) -> str:
    """Return the second line in the format of the UAI competitions; a continuous variable has 0 states."""
    if task == "PR":
        return f"{answer.value:.12g}"
    words: list[Any] = [len(answer.names)]
    for states, value in zip(answer.states, answer.values, strict=True):
        if task == "MAR":
            words += [0 if states is None else len(states), *(f"{figure:.10g}" for figure in value)]
        else:
            words.append(f"{value:.10g}" if states is None else value)
    return " ".join(map(str, words))


def _list_names(answer: _Answer, task: str) -> list[str]:
    """Return the lines of an answer by names and states: one number, or one table per kind of variables."""
    if task == "PR":
        return [f"log10 of {answer.meaning}: {answer.value:.12g}"]
    rows = list(zip(answer.names, answer.states, answer.values, strict=True))
    if task == "MAP":
        shown = [(str(name), f"{value:.10g}" if own is None else str(own[value])) for name, own, value in rows]
        return _align([("variable", "value" if None in answer.states else "state"), *shown])
    discrete = [
        (str(name), str(state), f"{share:.6g}")
        for name, own, shares in rows
        if own is not None
        for state, share in zip(own, shares, strict=True)
    ]
    continuous = [(str(name), *(f"{figure:.6g}" for figure in figures)) for name, own, figures in rows if own is None]
    tables: list[tuple[Sequence[str], Sequence[Sequence[str]]]] = [
        (("variable", "state", "probability"), discrete),
        (("variable", "mean", "standard deviation"), continuous),
    ]
    lines: list[str] = []
    for header, cells in tables:
        if cells:
            lines += ([""] if lines else []) + _align([header, *cells])
    return lines


def _align(rows: Sequence[Sequence[str]]) -> list[str]:
    """Return rows of text as lines with aligned columns."""
    escaped = [[escape_controls(cell) for cell in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(*escaped, strict=True)]
    return ["  ".join(f"{cell:<{width}}" for cell, width in zip(row, widths, strict=True)).rstrip() for row in escaped]


# ---- discrete networks ----


class _Question(NamedTuple):
    """Observed variables, interventions and likelihoods, by name."""

    evidence: dict[Any, Any]
    do: dict[Any, Any]
    virtual: dict[Any, list[float]]


def _ask_discrete(problem: Problem, question: _Question, task: str, method: str) -> _Answer:
    """Return the answer about a discrete network."""
    from pgmx.inference import log_partition, map_assignment, marginals

    names, states = problem.names, problem.states
    changes: dict[str, Any] = {"virtual_evidence": question.virtual, "do": question.do}
    known = {**question.evidence, **question.do}
    if task == "PR":
        meaning = "the probability of the evidence"
        if not problem.is_directed:
            meaning = "the partition function" + (" given the evidence" if known or question.virtual else "")
        value = log_partition(problem, question.evidence, method=method, **changes) / log(10)
        return _Answer(names, states, value=value, meaning=meaning)
    if task == "MAP":
        best = {**map_assignment(problem, question.evidence, method=method, **changes), **known}
        return _Answer(names, states, [own.index(best[name]) for name, own in zip(names, states, strict=True)])
    beliefs = marginals(problem, question.evidence, method=method, **changes)
    shares = [
        [float(known[name] == state) for state in own] if name in known else beliefs.array(name).tolist()
        for name, own in zip(names, states, strict=True)
    ]
    return _Answer(names, states, shares)


def _read_discrete(network: Any, text: str) -> Problem:
    """Return a discrete network as arrays, or raise for a graph without parameters."""
    from pgmpy.models import DiscreteBayesianNetwork, DiscreteMarkovNetwork

    from pgmx.inference.problem import Problem

    if hasattr(network, "inference_problem") or isinstance(network, DiscreteBayesianNetwork | DiscreteMarkovNetwork):
        return Problem.from_model(network)
    raise ValueError(
        f"{text} holds a {type(network).__name__}: infer needs a network with parameters (discrete, linear Gaussian or "
        "mixed)"
    )


def _read_question(
    problem: Problem, evidence: Path | None, given: Sequence[str], do: Sequence[str], virtual: Sequence[str]
) -> _Question:
    """Read evidence, interventions and likelihoods; a variable may have one of them."""
    from pgmx.models.evidence import read_evidence_codes

    names, states = problem.names, problem.states
    if do and not problem.is_directed:
        raise ValueError(
            f"--do {do[0]}: an intervention needs a Bayesian network, because the edges of a Markov network have no "
            "direction: use --given for an observed variable"
        )
    codes: dict[Any, Any] = {} if evidence is None else read_evidence_codes(evidence, [len(own) for own in states])
    observed = {names[v]: states[v][code] for v, code in codes.items()}
    for v, word in _split_pairs("--given", given, names, codes):
        observed[names[v]] = states[v][_find_code(word, names[v], states[v])]
    set_states: dict[Any, Any] = {}
    for v, word in _split_pairs("--do", do, names, ()):
        if names[v] in observed:
            raise ValueError(f"--do {names[v]}={word}: {names[v]!r} is also observed: leave out one of the two")
        set_states[names[v]] = states[v][_find_code(word, names[v], states[v])]
    likelihoods: dict[Any, list[float]] = {}
    for v, word in _split_pairs("--virtual", virtual, names, (), "LIKELIHOOD,LIKELIHOOD,..."):
        if names[v] in observed or names[v] in set_states:
            other = "also observed" if names[v] in observed else "also set by --do"
            raise ValueError(f"--virtual {names[v]}={word}: {names[v]!r} is {other}: leave out one of the two")
        likelihoods[names[v]] = _read_likelihoods(word, names[v], states[v])
    return _Question(observed, set_states, likelihoods)


def _read_likelihoods(word: str, name: Any, states: Sequence) -> list[float]:
    """Return one likelihood per state from a text with commas."""
    remedy = f"write one nonnegative number per state, in the order {join_names(states)}, separated by commas"
    try:
        values = [float(number) for number in word.split(",")]
    except ValueError:
        values = []
    if not values or not all(0.0 <= value < inf for value in values):
        raise ValueError(f"--virtual {name}={word}: likelihoods must be finite and nonnegative numbers: {remedy}")
    if len(values) != len(states):
        raise ValueError(
            f"--virtual {name}={word}: {name!r} has {len(states)} states, got {len(values)} likelihoods: {remedy}"
        )
    if not any(values):
        raise ValueError(f"--virtual {name}={word}: all likelihoods are 0: give at least one state a positive one")
    return values


# ---- networks with continuous variables ----


def _read_mixed(network: Any) -> ConditionalGaussianNetwork | None:
    """Return a network with continuous variables as a conditional Gaussian network, None for any other."""
    from pgmpy.models import LinearGaussianBayesianNetwork

    from pgmx.models import ConditionalGaussianNetwork

    if isinstance(network, ConditionalGaussianNetwork):
        return network
    if hasattr(network, "sparse_precision"):
        if network.transforms is not None:
            raise ValueError("infer does not support transformed columns: use predict() and conditional() in Python")
        network = network.to_linear_gaussian_bn()
    if isinstance(network, LinearGaussianBayesianNetwork):
        return ConditionalGaussianNetwork.from_network(network)
    return None


def _ask_mixed(
    network: ConditionalGaussianNetwork, evidence: Path | None, given: Sequence[str], task: str, method: str
) -> _Answer:
    """Return the answer about a network with continuous variables."""
    if method not in ("auto", "exact", "weighting"):
        raise ValueError(
            f"--method {method} is for discrete networks: choose exact or weighting for continuous variables"
        )
    names = list(network.names)
    states = [network.states.get(name) for name in names]
    row = {} if evidence is None else _read_values(network, evidence)
    place = {name: v for v, name in enumerate(names)}
    for v, word in _split_pairs("--given", given, names, [place[name] for name in row]):
        row[names[v]] = _read_value(network, names[v], word)
    if task == "PR":
        value = float(network.log_evidence(row)[0]) / log(10)
        return _Answer(names, states, value=value, meaning="the density of the evidence")
    if task == "MAP":
        values = {**network.predict(row, inference=method).iloc[0].to_dict(), **row}
        codes = [
            values[name] if own is None else own.index(values[name]) for name, own in zip(names, states, strict=True)
        ]
        return _Answer(names, states, codes)
    figures = network.predict_proba(row, inference=method)
    shares: dict[Any, list] = {name: [] for name in names}
    for (name, _), value in figures.iloc[0].items():
        shares[name].append(value)
    for name, value in row.items():
        own = network.states.get(name)
        shares[name] = [value, 0.0] if own is None else [float(state == value) for state in own]
    return _Answer(names, states, [shares[name] for name in names])


def _read_values(network: ConditionalGaussianNetwork, path: Path) -> dict:
    """Read a file of evidence: a count, then variables by position, each with a code or a continuous value."""
    words, names = path.read_text(encoding="utf-8").split(), list(network.names)
    if not words or not words[0].isdecimal() or len(words) != 1 + 2 * int(words[0]):
        raise ValueError(f"{path} is not an evidence file: it must hold a count n, then n pairs of variable and value")
    row = {}
    for variable, value in zip(words[1::2], words[2::2], strict=True):
        if not variable.isdecimal() or int(variable) >= len(names):
            raise ValueError(f"{path} names the variable {variable!r:.60}: they are numbered 0..{len(names) - 1}")
        name = names[int(variable)]
        if name in row:
            raise ValueError(f"{path} has two values for variable {variable}: give one")
        own = network.states.get(name)
        if own is None:
            row[name] = _read_value(network, name, value)
        elif value.isdecimal() and int(value) < len(own):
            row[name] = own[int(value)]
        else:
            raise ValueError(
                f"{path}: the states of variable {variable} are numbered 0..{len(own) - 1}, got {value!r:.60}"
            )
    return row


def _read_value(network: ConditionalGaussianNetwork, name: Any, word: str) -> Any:
    """Return the value of a variable from its text."""
    own = network.states.get(name)
    if own is not None:
        return own[_find_code(word, name, own)]
    try:
        return float(word)
    except ValueError:
        raise ValueError(f"{name!r} is continuous and needs a number, got {word!r:.60}") from None


# ---- evidence by name ----


def _split_pairs(
    option: str, pairs: Sequence[str], names: Sequence, known: Any, form: str = "VALUE"
) -> list[tuple[int, str]]:
    """Return the positions of variables and the texts of their values from NAME=VALUE."""
    found: dict[int, str] = {}
    texts = [str(name) for name in names]
    for word in pairs:
        # A name may contain "=": the longest name of a variable is used.
        cuts = [at for at, mark in enumerate(word) if mark == "=" and word[:at] in texts]
        if not cuts:
            raise ValueError(f"{option} {word}: write NAME={form} with a variable among {join_names(names)}")
        v = texts.index(word[: cuts[-1]])
        if v in found or v in known:
            raise ValueError(f"{option} {word}: the value of {names[v]!r} is given twice")
        found[v] = word[cuts[-1] + 1 :]
    return list(found.items())


def _find_code(word: str, name: Any, states: Sequence) -> int:
    """Return the code of the state that a word is, as in a file."""
    from pgmx.data.declared_states import match_texts

    code = int(match_texts([word], states, -1)[0])
    if code < 0:
        raise ValueError(f"{name!r} has the states {join_names(states)}, got {word!r:.60}")
    return code
