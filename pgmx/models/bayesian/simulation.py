"""Rows drawn from a discrete Bayesian network given evidence and interventions: independent and exact.

Evidence is not waited for. Variables with an observed descendant are drawn from their posterior, component by
component; all others are then drawn given their parents.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from pgmx.checks import check_natural, check_seed, join_names
from pgmx.inference.named_networks import BayesianArrays, draw_codes, draw_uniforms
from pgmx.inference.problem import Evidence, Problem
from pgmx.inference.reduced_network import ZeroProbabilityError
from pgmx.models.rows import read_discrete_rows

#: Uniform numbers that are drawn at a time: 128 MB.
CHUNK_NUMBERS = 1 << 24
#: Rows at a time at least, since every chunk makes the elimination plans of its components.
LEAST_ROWS = 4096
#: Messages for an impossible question.
_IMPOSSIBLE = "the evidence {evidence} has probability zero with these interventions and likelihoods: no rows to draw"
_IMPOSSIBLE_LIKELIHOODS = "the virtual evidence has probability zero with these interventions: no rows to draw"


class Simulation(NamedTuple):
    """Evidence and interventions of the rows, by position of the variable.

    `codes` and `likelihoods` are evidence. The edges into the variables of `settings` (codes), `policies`
    (distributions) and `columns` (a code per row) are removed.
    """

    codes: dict[int, int]
    likelihoods: dict[int, np.ndarray]
    settings: dict[int, int]
    policies: dict[int, np.ndarray]
    columns: dict[int, np.ndarray]


class MissingRule(NamedTuple):
    """The probability that a value is missing given other variables, or given earlier rules.

    `parents` are positions of variables, or n plus the position of a rule.
    """

    variable: int
    parents: list[int]
    probabilities: np.ndarray


def read_simulation(
    problem: Problem,
    n_samples: int,
    do: Evidence | None,
    evidence: Evidence | None,
    virtual_evidence: Iterable[Any] | None,
    virtual_intervention: Iterable[Any] | None,
    partial_samples: Any,
) -> Simulation:
    """Check the arguments of `simulate`, and return them by position."""
    codes = problem.encode_evidence(evidence)
    settings = problem.encode_evidence(do, "do")
    likelihoods = _read_vectors(problem, virtual_evidence, "virtual_evidence")
    policies = _read_vectors(problem, virtual_intervention, "virtual_intervention")
    columns = {} if partial_samples is None else _read_columns(problem, partial_samples, n_samples)
    places: dict[str, Iterable[int]] = {
        "do": settings,
        "virtual_intervention": policies,
        "partial_samples": columns,
        "evidence": codes,
        "virtual_evidence": likelihoods,
    }
    # of the last two and an intervention by probabilities both may be about one variable
    excluded = {"do": list(places)[1:], "virtual_intervention": ["partial_samples"]}
    excluded["partial_samples"] = ["evidence", "virtual_evidence"]
    for first, others in excluded.items():
        for second in others:
            if both := [problem.names[v] for v in places[first] if v in places[second]]:
                raise ValueError(f"{join_names(both)} cannot be both in {first} and in {second}: leave out one")
    return Simulation(codes, likelihoods, settings, {v: p / p.sum() for v, p in policies.items()}, columns)


def _read_vectors(problem: Problem, tables: Iterable[Any] | None, argument: str) -> dict[int, np.ndarray]:
    """Return pgmpy's tables of single variables as arrays, those of one variable multiplied."""
    found: dict[int, np.ndarray] = {}
    if tables is None:
        return found
    if isinstance(tables, Mapping | str) or not isinstance(tables, Iterable):
        raise TypeError(f"{argument} must be a list of TabularCPD, got {type(tables).__name__}")
    for table in tables:
        names = _list_variables(table, argument)
        v = problem.position(names[0])
        if len(names) > 1:
            raise ValueError(f"{argument} of {names[0]!r} must be a table of this variable alone, got {names!r}")
        values = _order_states(
            table, np.asarray(table.values, dtype=np.float64).ravel(), 0, problem.states[v], argument
        )
        if not (values >= 0.0).all() or not np.isfinite(values).all():
            raise ValueError(
                f"{argument} of {names[0]!r} must be finite and nonnegative, not all 0, got {values.tolist()}"
            )
        found[v] = found.get(v, 1.0) * values
        if not found[v].any():
            raise ValueError(f"{argument} of {names[0]!r} excludes all of its states: some value must be positive")
    return found


def _list_variables(table: Any, argument: str) -> list[Hashable]:
    variables = getattr(table, "variables", None)
    if variables is None or not hasattr(table, "values") or not hasattr(table, "state_names"):
        raise ValueError(f"{argument} must consist of TabularCPD objects, got {type(table).__name__}")
    return list(variables)


def _order_states(table: Any, values: np.ndarray, axis: int, states: Sequence, argument: str) -> np.ndarray:
    """Return values with the states of an axis in the order of the network."""
    name = table.variables[axis]
    own = list(table.state_names.get(name, range(values.shape[axis])))
    if len(own) != len(states):
        raise ValueError(
            f"{argument} gives {name!r} {len(own)} states, in the network it has {len(states)}: {join_names(states)}"
        )
    if set(own) == set(states):
        return values.take([own.index(state) for state in states], axis=axis)
    if own == list(range(len(own))):  # pgmpy's names of states that were not named
        return values
    raise ValueError(f"{argument} gives {name!r} the states {join_names(own)}: in the network {join_names(states)}")


def _read_columns(problem: Problem, partial_samples: Any, n_samples: int) -> dict[int, np.ndarray]:
    """Return the codes of the columns of `partial_samples`."""
    rows = read_discrete_rows(partial_samples, problem, allow_missing=True)
    if rows.codes.shape[1] != n_samples:
        raise ValueError(f"partial_samples has {rows.codes.shape[1]} rows, n_samples={n_samples}: give both the same")
    present = np.flatnonzero(~rows.missing.all(axis=1)).tolist() if n_samples else []
    if incomplete := [problem.names[v] for v in present if rows.missing[v].any()]:
        raise ValueError(
            f"partial_samples has missing values in column(s) {join_names(incomplete)}: fill them, or leave out the "
            "columns"
        )
    return {v: rows.codes[v].astype(np.int32) for v in present}


def read_missing_rules(problem: Problem, missing_prob: Any) -> list[MissingRule]:
    """Read pgmpy's tables of missing values: P(X* | parents) for a variable X, where the state 1 means missing."""
    tables = missing_prob if isinstance(missing_prob, list | tuple) else [missing_prob]
    rules: list[MissingRule] = []
    places: dict[Hashable, int] = {}
    binary = (0, 1)
    for table in tables:
        names = _list_variables(table, "missing_prob")
        marker = names[0]
        if not isinstance(marker, str) or not marker.endswith("*"):
            raise ValueError(f"missing_prob has a table of {marker!r}: the name must be that of a variable and '*'")
        v = problem.position(marker[:-1])
        if marker in places:
            raise ValueError(f"missing_prob has two tables of {marker!r}: give one")
        values = np.asarray(table.values, dtype=np.float64)
        if values.shape[0] != 2:
            raise ValueError(
                f"missing_prob of {marker!r} must have 2 states, 0 (observed) and 1 (missing), got {values.shape[0]}"
            )
        values = _order_states(table, values, 0, binary, "missing_prob")
        parents = []
        for axis, name in enumerate(names[1:], start=1):
            parents.append(places[name] if name in places else problem.position(name))
            states = binary if name in places else problem.states[parents[-1]]
            values = _order_states(table, values, axis, states, "missing_prob")
        total = values.sum(axis=0)
        if not (values >= 0.0).all() or not (np.abs(total - 1.0) < 0.01).all():
            raise ValueError(f"missing_prob of {marker!r} must hold probabilities whose columns sum to 1")
        places[marker] = len(problem.names) + len(rules)
        rules.append(MissingRule(v, parents, values[1] / total))
    return rules


# ---- draws ----


def draw_rows(problem: Problem, n_rows: int, question: Simulation, entropy: Any) -> list[np.ndarray]:
    """Draw rows as state codes: one integer array per variable."""
    arrays = _cut(problem.arrays, question)
    relevant = _list_ancestors(arrays, [*question.codes, *question.likelihoods])
    known = {v: np.full(n_rows, code) for v, code in question.settings.items()} | question.columns
    if relevant and n_rows:
        known |= _draw_posterior(problem, n_rows, question, relevant, entropy)
    return draw_codes(arrays, n_rows, entropy, known)


def _cut(arrays: BayesianArrays, question: Simulation) -> BayesianArrays:
    """Return the network without the edges into the variables of interventions (Pearl 2009, section 4.2)."""
    cut = arrays.cut(question.settings | dict.fromkeys(question.columns, 0))
    for v, distribution in question.policies.items():
        cut.parents[v], cut.tables[v] = (), distribution
    return cut


def _list_ancestors(arrays: BayesianArrays, variables: Iterable[int]) -> set[int]:
    """Return some variables and their ancestors."""
    waiting = list(dict.fromkeys(variables))
    seen = set(waiting)
    for v in waiting:  # grows meanwhile
        waiting += [u for u in arrays.parents[v] if u not in seen]
        seen.update(arrays.parents[v])
    return seen


def _draw_posterior(
    problem: Problem, n_rows: int, question: Simulation, relevant: set[int], entropy: Any
) -> dict[int, np.ndarray]:
    """Draw the variables that have an observed descendant, or are observed, together from their posterior."""
    engine, n = problem.engine, len(problem.names)
    likelihoods, cut = dict(question.likelihoods), {}
    for v in range(n):
        if v not in relevant:
            cut[v] = 0  # no family that takes part has this variable
        elif v in question.settings:
            cut[v] = question.settings[v]
        elif v in question.columns or v in question.policies:
            cut[v] = question.codes.get(v, -1)  # -1: no state is set
        if v in relevant and v in question.policies:
            likelihoods[v] = likelihoods.get(v, 1.0) * question.policies[v]
    codes = {v: code for v, code in question.codes.items() if v not in cut}
    given = {v: column for v, column in question.columns.items() if v in relevant}
    with engine.asking(codes, likelihoods, cut) as row:
        hidden = [v for v in range(n) if row[0, v] < 0 and v not in given]
        drawn = []
        size = max(LEAST_ROWS, CHUNK_NUMBERS // n)
        for start in range(0, n_rows, size):
            stop = min(start + size, n_rows)
            uniforms = np.zeros((stop - start, n))
            for v in hidden:
                uniforms[:, v] = draw_uniforms(entropy, v, stop - start, start)
            rows = row
            if given:
                rows = np.repeat(row, stop - start, axis=0)
                for v, column in given.items():
                    rows[:, v] = column[start:stop]
            states, logs = engine.complete_rows(rows, None, uniforms=uniforms, n_jobs=None)
            _check_possible(problem, question, logs, start, bool(given))
            drawn.append(states.T[sorted(relevant)])
    return dict(zip(sorted(relevant), np.concatenate(drawn, axis=1), strict=True))


def _check_possible(problem: Problem, question: Simulation, logs: np.ndarray, start: int, is_by_row: bool) -> None:
    impossible = np.flatnonzero(logs == -np.inf)
    if not len(impossible):
        return
    if is_by_row:
        raise ValueError(
            f"the evidence is impossible in row {start + impossible[0]} of partial_samples, and in {len(impossible)} "
            f"rows from {start} to {start + len(logs) - 1}: leave out these rows"
        )
    template = _IMPOSSIBLE if question.codes else _IMPOSSIBLE_LIKELIHOODS
    raise ZeroProbabilityError(question.codes, template=template).with_names(problem.names, problem.states)


def simulate_rows(
    problem: Problem,
    n_samples: int,
    *,
    do: Evidence | None = None,
    evidence: Evidence | None = None,
    virtual_evidence: Iterable[Any] | None = None,
    virtual_intervention: Iterable[Any] | None = None,
    missing_prob: Any = None,
    partial_samples: Any = None,
    seed: int | None = None,
    return_full: bool = False,
    left_out: Iterable[Hashable] = (),
) -> pd.DataFrame:
    """Draw rows as `DiscreteBayesianNetwork.simulate` does; the frame has no columns of `left_out`."""
    n_samples = check_natural(n_samples, "n_samples", 0)
    entropy = np.random.SeedSequence(check_seed(seed)).entropy
    question = read_simulation(
        problem, n_samples, do, evidence, virtual_evidence, virtual_intervention, partial_samples
    )
    rules = [] if missing_prob is None else read_missing_rules(problem, missing_prob)
    codes = draw_rows(problem, n_samples, question, entropy)
    n = len(codes)
    for place, rule in enumerate(rules):
        shares = rule.probabilities[tuple(codes[u] for u in rule.parents)]
        codes.append((draw_uniforms(entropy, n + place, n_samples) < shares).astype(np.int8))
    hidden = set(left_out)
    shown = [(name, v, codes[v]) for v, name in enumerate(problem.names) if name not in hidden]
    if return_full:
        full = [rule.variable for rule in rules if problem.names[rule.variable] not in hidden]
        shown += [(f"{problem.names[v]}_full", v, codes[v]) for v in full]
    missing = {rule.variable: codes[n + place].astype(bool) for place, rule in enumerate(rules)}
    columns = []
    for name, v, column in shown:
        if v in missing and name == problem.names[v]:
            column = np.where(missing[v], -1, column)
        columns.append(pd.Categorical.from_codes(column, dtype=pd.CategoricalDtype(list(problem.states[v]))))
    frame = pd.DataFrame(dict(enumerate(columns)), index=pd.RangeIndex(n_samples))
    frame.columns = pd.Index([name for name, _, _ in shown], tupleize_cols=False)
    return frame
