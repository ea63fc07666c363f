"""The problem of a grafting run, from a table and options."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from math import isqrt
from typing import Any, Self

import numpy as np

from pgmx.checks import check_same_names
from pgmx.data import DiscreteTable, Frame, encode
from pgmx.data.distributed.tables import refuse_remote
from pgmx.data.errors import ContinuousColumnsError, MissingValuesError
from pgmx.data.weights import check_row_weights, combine_weights, weights_of_complete_rows
from pgmx.inference import PairwisePotentials
from pgmx.models import PairwiseMarkovNetwork
from pgmx.runs.checkpoint import Checkpoint, open_checkpoint
from pgmx.search.edges.exhaustive import ExhaustiveEdges
from pgmx.search.edges.stream import EdgeStream
from pgmx.search.pair_knowledge import PairKnowledge
from pgmx.solvers import BetheLoss, ExactLoss, PseudolikelihoodLoss
from pgmx.solvers.markov.penalised_loss import PenalisedLoss
from pgmx.statistics import PairTables

LOSSES: dict[str, type[PenalisedLoss]] = {
    "pseudolikelihood": PseudolikelihoodLoss,
    "bethe": BetheLoss,
    "exact": ExactLoss,
}

#: Largest memory of stored pair tables, and of mean conditionals of pairs, in bytes.
TABLE_MEMORY = 1 << 28
SIDE_MEMORY = 1 << 28

#: Bytes of the latest pair tables of a stream, if all tables do not fit. Tables of the reservoir are used again.
STREAM_TABLE_MEMORY = 1 << 25
MEMORY = {"table_memory": TABLE_MEMORY, "stream_table_memory": STREAM_TABLE_MEMORY, "side_memory": SIDE_MEMORY}


@dataclass(frozen=True)
class MarkovProblem:
    """Coded rows, their weights (None if all are 1), their counts, and prior knowledge of the edges."""

    table: DiscreteTable
    weights: np.ndarray | None
    statistics: PairTables
    knowledge: PairKnowledge

    @classmethod
    def from_rows(
        cls,
        table: DiscreteTable,
        weights: np.ndarray | None,
        knowledge: PairKnowledge,
        n_jobs: int | None = None,
        *,
        is_stream: bool = False,
    ) -> Self:
        """Return the problem of these rows, without counts. A stream rarely uses a pair twice."""
        tables = PairTables(table, weights=weights, memory=TABLE_MEMORY, n_jobs=n_jobs)
        if is_stream and not tables.fits:
            largest = 8 * int(np.prod(np.sort(table.cardinalities)[-2:]))  # the largest table must fit
            memory = min(max(STREAM_TABLE_MEMORY, largest), TABLE_MEMORY)
            tables = PairTables(table, weights=weights, memory=memory, n_jobs=n_jobs)
        return cls(table, weights, tables, knowledge)

    @property
    def names(self) -> list:
        """Names of the variables."""
        return list(self.table.columns)

    @property
    def n(self) -> int:
        """Number of variables."""
        return self.table.n_variables

    def loss(self, name: str, lam: float, **options: Any) -> PenalisedLoss:
        """Return the loss of that name under the penalty `lam`, without edges."""
        return LOSSES[name](
            self.table,
            self.statistics,
            lam=lam,
            edge_weights=self.knowledge.weight,
            weights=self.weights,
            **options,
        )

    def candidate_rule(self) -> Callable[[np.ndarray], np.ndarray]:
        """Return a function of pairs (k, 2): whether each may be tested, without constant columns and known edges.

        A table with a constant column would duplicate the parameters of the other node, without their squared penalty.
        """
        # weighted margins of a constant column may differ from 1 by rounding
        return self.knowledge.candidate_rule(np.array([m.max() < 1 - 1e-12 for m in self.statistics.margins()]))

    def count_pairs(self, *, by_feature: bool = False) -> ExhaustiveEdges:
        """Count all pairs, and return the candidate pairs, or with `by_feature` candidate features, for scoring."""
        self.statistics.prepare()
        sizes = np.ones(self.n, dtype=np.int64) if by_feature else self.table.cardinalities
        return ExhaustiveEdges(sizes, weight=self.knowledge.weight, allowed=self.candidate_rule())

    def stream_pairs(self, *, reservoir_size: int | None, max_tests: int | None, **options: Any) -> EdgeStream:
        """Return the candidates one after another. By default the reservoir holds n edges, and a round makes √n tests.

        The options are the options of `EdgeStream`.
        """
        return EdgeStream(
            self.n,
            reservoir_size=self.n if reservoir_size is None else int(reservoir_size),
            max_tests=max(1, isqrt(self.n)) if max_tests is None else int(max_tests),
            penalty_weight=self.knowledge.weight,
            allowed=self.candidate_rule(),
            lookahead=64,
            **options,
        )

    def open_checkpoint(self, learner: Any, seed: int) -> Checkpoint:
        """Return the checkpoint of a learner of these rows, with prior knowledge as ids in its fingerprint."""
        table = self.table
        return open_checkpoint(
            learner,
            self.names,
            table.states,
            table.identify_rows(),
            self.weights,
            required_edges=self.knowledge.factors,
            forbidden_edges=None,
            edge_weights=None,
            state_names=None,
            random_state=seed,
        )

    def subset(self, rows: np.ndarray, n_jobs: int | None) -> "MarkovProblem":
        """Return the problem of a subset of the rows."""
        # sorted rows are copied in the order of memory
        rows = np.sort(rows)
        table = DiscreteTable(self.table.columns, self.table.states, self.table.codes[:, rows])
        weights = None if self.weights is None else self.weights[rows]
        return MarkovProblem.from_rows(table, weights, self.knowledge, n_jobs)

    def with_rows(
        self, table: DiscreteTable, weights: np.ndarray | None, knowledge: PairKnowledge, n_jobs: int | None
    ) -> "MarkovProblem":
        """Return the problem with additional rows, whose counts are added to these tables, and prior knowledge."""
        old, codes = self.table, np.concatenate([self.table.codes, table.codes], axis=1)
        joined = DiscreteTable(old.columns, old.states, codes)
        if weights is None and self.weights is None:
            return MarkovProblem(joined, None, self.statistics.update(table), knowledge)
        parts = [np.ones(t.n_rows) if w is None else w for t, w in ((old, self.weights), (table, weights))]
        return MarkovProblem.from_rows(joined, np.concatenate(parts), knowledge, n_jobs)


@contextmanager
def rephrase_errors() -> Iterator[None]:
    """Change errors about floats and missing values to the advice for a learner without family scores."""
    try:
        yield
    except ContinuousColumnsError as error:
        raise ContinuousColumnsError(error.names, error.hints, scores=False) from None
    except MissingValuesError as error:
        raise error.among(("drop", "category")) from None


def code_rows(
    opened: Frame | DiscreteTable, sample_weight, *, state_names: dict | None, missing: str, n_jobs: int | None
) -> tuple[DiscreteTable, np.ndarray | None]:
    """Return coded rows and their weights, None if all are 1 or rows could be repeated."""
    weights = None if sample_weight is None else check_row_weights(sample_weight, opened.n_rows)
    if weights is not None and missing == "drop":
        weights = weights_of_complete_rows(weights, opened)
    with rephrase_errors():
        table = encode(opened, state_names=state_names, missing=missing, n_jobs=n_jobs)
    table, weights = (table, None) if weights is None else combine_weights(table, None, weights)
    return table.keep_weights(weights)  # workers get the weights of their rows once for all counts


def refuse_distributed(data: Any, what: str, remedy: str) -> None:
    """Refuse a distributed table if single rows are needed."""
    text = f"{what} needs single rows, but the rows of a DistributedTable stay with the workers: {remedy}"
    refuse_remote(data, lambda _: text, DiscreteTable)


def check_columns(names: list, names_before: list, learner: str) -> None:
    """Refuse rows whose columns differ from the earlier rows."""
    if len(names) != len(names_before):
        raise ValueError(
            f"X has {len(names)} features, but {learner} is expecting {len(names_before)} features as input: give "
            "the columns of the earlier rows"
        )
    if names != names_before:
        raise ValueError(
            f"partial_fit got the columns {names[:5]!r}..., the earlier rows have {names_before[:5]!r}...: give the "
            "same columns in the same order"
        )


def read_start(start, problem: MarkovProblem) -> PairwisePotentials | None:
    """Return the parameters of a network over the same variables, with variables and states in the order of the data.

    States of the data that are not in the network start with parameters of zero.
    """
    if start is None:
        return None
    if not isinstance(start, PairwiseMarkovNetwork):
        raise TypeError(
            f"start must be a PairwiseMarkovNetwork, such as the model_ of a learner, got {type(start).__name__}"
        )
    check_same_names(start.names, problem.names, "start", "the data")
    potentials = start.potentials
    order = [start.names.index(name) for name in problem.names]
    # position in the data of each variable of the start
    place = np.argsort(order)
    rows = []
    for name, states in zip(problem.names, problem.table.states, strict=True):
        known = {state: at for at, state in enumerate(start.states[name])}
        if not set(known) <= set(states):
            extra = next(state for state in known if state not in set(states))
            raise ValueError(
                f"start has the state {extra!r} of {name!r}, which is not in the data: declare it in state_names"
            )
        rows.append([known.get(state, -1) for state in states])
    # the appended zero is the parameter of new states, which have the position -1
    nodes = [np.append(potentials.node(v), 0.0)[rows[i]] for i, v in enumerate(order)]
    tables = {}
    for e, (u, v) in enumerate(potentials.edges.tolist()):
        i, j = int(place[u]), int(place[v])
        tables[i, j] = np.pad(potentials.table(e), ((0, 1), (0, 1)))[np.ix_(rows[i], rows[j])]
    return drop_forbidden(
        PairwisePotentials.build(problem.table.cardinalities, nodes=nodes, tables=tables), problem.knowledge
    )


def drop_forbidden(potentials: PairwisePotentials, knowledge: PairKnowledge) -> PairwisePotentials:
    """Return the parameters without the forbidden edges."""
    forbidden = set(map(tuple, knowledge.forbidden.tolist()))
    pairs = zip(map(tuple, potentials.edges.tolist()), potentials.tables(), strict=True)
    tables = {pair: table for pair, table in pairs if pair not in forbidden}
    if len(tables) == potentials.n_edges:
        return potentials
    nodes = [potentials.node(i) for i in range(potentials.n_variables)]
    return PairwisePotentials.build(potentials.cardinalities, nodes=nodes, tables=tables)
