"""From a table and options to what a grafting run works on."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import NamedTuple

import numpy as np

from pgmx.checks import check_same_names
from pgmx.data import DiscreteTable, Frame, encode
from pgmx.data.errors import FloatColumnsError, MissingCellsError
from pgmx.data.weights import check_row_weights, weights_of_complete_rows
from pgmx.inference import PairwisePotentials
from pgmx.models import PairwiseMarkovNetwork
from pgmx.scores.binding.scoring import weighted_rows
from pgmx.search.knowledge.pairs import PairKnowledge, read_pair_knowledge
from pgmx.solvers import BetheLoss, ExactLoss, PseudolikelihoodLoss
from pgmx.solvers.markov.penalised_loss import PenalisedLoss
from pgmx.statistics import PairTables

LOSSES: dict[str, type[PenalisedLoss]] = {
    "pseudolikelihood": PseudolikelihoodLoss,
    "bethe": BetheLoss,
    "exact": ExactLoss,
}

#: Bytes of pair tables that are kept, and of mean conditionals of pairs.
TABLE_MEMORY = 1 << 28
SIDE_MEMORY = 1 << 28


class MarkovProblem(NamedTuple):
    """Rows, what is counted on them, and what is known of the edges.

    Attributes
    ----------
    table : DiscreteTable
        The coded rows.
    weights : ndarray of float64 or None
        Their weights, None where all are 1.
    statistics : PairTables
        Pair tables of these rows.
    knowledge : PairKnowledge
        Required, forbidden and weighted edges.
    """

    table: DiscreteTable
    weights: np.ndarray | None
    statistics: PairTables
    knowledge: PairKnowledge

    @property
    def names(self) -> list:
        """Names of the variables."""
        return list(self.table.columns)

    @property
    def n(self) -> int:
        """Number of variables."""
        return self.table.n_variables

    @property
    def n_pairs(self) -> int:
        """Number of pairs of variables."""
        return self.n * (self.n - 1) // 2

    def loss(self, name: str, lam: float, **options):
        """Return the loss of that name under the penalty `lam`, without edges."""
        return LOSSES[name](
            self.table,
            self.statistics,
            lam=lam,
            edge_weights=self.knowledge.weight,
            weights=self.weights,
            **options,
        )

    def allowed(self) -> Callable[[np.ndarray], np.ndarray]:
        """Return a function that tells which pairs may be tested.

        Neither required nor forbidden ones, nor those of a column that is constant: a table with it would say what the
        parameters of the other node say, only without the squared penalty of those.
        """
        n = self.n
        known = np.concatenate([self.knowledge.required, self.knowledge.forbidden])
        numbers = np.sort(known[:, 0] * n + known[:, 1])
        varies = np.array([margin.max() < 1 - 1e-12 for margin in self.statistics.margins()])

        def allowed(pairs: np.ndarray) -> np.ndarray:
            return ~np.isin(pairs[:, 0] * n + pairs[:, 1], numbers) & varies[pairs].all(axis=1)

        return allowed


@contextmanager
def states_alone() -> Iterator[None]:
    """Say of floats and of missing cells what helps a learner that has no scores of families."""
    try:
        yield
    except FloatColumnsError as error:
        raise FloatColumnsError(error.names, error.hints, scores=False) from None
    except MissingCellsError as error:
        raise error.among(("drop", "category")) from None


def open_problem(learner, opened: Frame | DiscreteTable, sample_weight) -> MarkovProblem:
    """Code the data and translate what is known of the edges; errors are found here.

    Parameters
    ----------
    learner : MarkovLearner
        With its options.
    opened : Frame or DiscreteTable
        The data.
    sample_weight : array-like or None
        Weights of the rows.

    Returns
    -------
    MarkovProblem
        With nothing counted yet.
    """
    weights = weights_of_complete_rows(check_row_weights(sample_weight, opened.n_rows), opened, learner.missing)
    with states_alone():
        table = encode(opened, state_names=learner.state_names, missing=learner.missing, n_jobs=learner.n_jobs)
    kept = None
    if weights is not None:
        table, kept = weighted_rows(table, None, weights)
    return bind(learner, table, kept)


def bind(learner, table: DiscreteTable, weights: np.ndarray | None) -> MarkovProblem:
    """Return the problem of coded rows."""
    knowledge = _knowledge(learner, table)
    statistics = PairTables(table, weights=weights, memory=TABLE_MEMORY, n_jobs=learner.n_jobs)
    return MarkovProblem(table, weights, statistics, knowledge)


def _knowledge(learner, table: DiscreteTable) -> PairKnowledge:
    return read_pair_knowledge(
        list(table.columns), learner.required_edges, learner.forbidden_edges, learner.edge_weights
    )


def more_rows(problem: MarkovProblem, learner, opened: Frame | DiscreteTable, sample_weight) -> MarkovProblem:
    """Return the problem with further rows and the knowledge of today; what was counted is counted on."""
    table = problem.table
    names = opened.columns if isinstance(opened, DiscreteTable) else opened.names
    if len(names) != table.n_variables:
        raise ValueError(
            f"X has {len(names)} features, but {type(learner).__name__} is expecting {table.n_variables} features as "
            "input: give the columns of the rows before"
        )
    if list(names) != list(table.columns):
        raise ValueError(
            f"partial_fit was given the columns {list(names)[:5]!r}..., the rows before had "
            f"{list(table.columns)[:5]!r}...: give the same columns in the same order"
        )
    states = dict(zip(table.columns, map(list, table.states), strict=True))
    weights = weights_of_complete_rows(check_row_weights(sample_weight, opened.n_rows), opened, learner.missing)
    with states_alone():
        added = encode(opened, state_names=states, missing=learner.missing, n_jobs=learner.n_jobs)
    fresh = None
    if weights is not None:
        added, fresh = weighted_rows(added, None, weights)
    joined = DiscreteTable(table.columns, table.states, np.concatenate([table.codes, added.codes], axis=1))
    if fresh is None and problem.weights is None:
        knowledge = _knowledge(learner, joined)  # first, for it may be refused
        return problem._replace(table=joined, statistics=problem.statistics.update(added), knowledge=knowledge)
    parts = [np.ones(t.n_rows) if w is None else w for t, w in ((table, problem.weights), (added, fresh))]
    return bind(learner, joined, np.concatenate(parts))


def start_potentials(start, problem: MarkovProblem) -> PairwisePotentials | None:
    """Return the parameters of a network in the order of variables and states of the data.

    Parameters
    ----------
    start : PairwiseMarkovNetwork or None
        Over the same variables; it may lack states that the data have, which then start at parameters of zero.
    problem : MarkovProblem
        The data.

    Returns
    -------
    PairwisePotentials or None
        None where there is no network.
    """
    if start is None:
        return None
    if not isinstance(start, PairwiseMarkovNetwork):
        raise TypeError(
            f"start must be a PairwiseMarkovNetwork, such as the model_ of a learner, got {type(start).__name__}"
        )
    check_same_names(start.names, problem.names, "start", "the data")
    given = start.potentials
    order = [start.names.index(name) for name in problem.names]
    place = np.argsort(order)
    rows = []
    for name, states in zip(problem.names, problem.table.states, strict=True):
        known = {state: at for at, state in enumerate(start.states[name])}
        if not set(known) <= set(states):
            extra = next(state for state in known if state not in set(states))
            raise ValueError(
                f"start has the state {extra!r} of {name!r}, which the data lack: declare it in state_names"
            )
        rows.append([known.get(state, -1) for state in states])
    nodes = [np.append(given.node(v), 0.0)[rows[i]] for i, v in enumerate(order)]
    tables = {}
    for e, (u, v) in enumerate(given.edges.tolist()):
        i, j = int(place[u]), int(place[v])
        tables[i, j] = np.pad(given.table(e), ((0, 1), (0, 1)))[np.ix_(rows[i], rows[j])]
    return permitted(PairwisePotentials.build(problem.table.cardinalities, nodes=nodes, tables=tables), problem)


def permitted(potentials: PairwisePotentials, problem: MarkovProblem) -> PairwisePotentials:
    """Return the parameters without the edges that are forbidden."""
    forbidden = set(map(tuple, problem.knowledge.forbidden.tolist()))
    pairs = zip(map(tuple, potentials.edges.tolist()), potentials.tables(), strict=True)
    kept = {pair: table for pair, table in pairs if pair not in forbidden}
    if len(kept) == potentials.n_edges:
        return potentials
    nodes = [potentials.node(i) for i in range(potentials.n_variables)]
    return PairwisePotentials.build(potentials.cardinalities, nodes=nodes, tables=kept)
