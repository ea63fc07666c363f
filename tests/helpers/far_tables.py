"""Tables in partitions, without a cluster, and scorers that request counts."""

import numpy as np

from pgmx._ext._families import FamilyScorer
from pgmx._ext._weighted import WeightedFamilyScorer
from pgmx.data import DiscreteTable
from pgmx.data.table import Partition
from pgmx.statistics import marginal_counts, pair_counts
from pgmx.statistics.families import add_families, add_family_weights, count_families, weigh_families


def cut(table, bounds, weights=None):
    """Return the partitions of a table."""
    pieces = np.split(table.codes, bounds, axis=1)
    tables = [DiscreteTable(table.columns, table.states, np.ascontiguousarray(piece)) for piece in pieces]
    of_parts = [None] * len(tables) if weights is None else np.split(weights, bounds)
    return [Partition(rows, of_part) for rows, of_part in zip(tables, of_parts, strict=True)]


class Elsewhere:
    """What a scorer asks for counts; `messages` lists the families that each message asked for."""

    def __init__(self, parts):
        self.parts = parts
        self.messages = []

    def __call__(self, requests):
        self.messages.append([(child, *parents.tolist()) for child, parents, _ in requests])
        return add_families([count_families(part, requests) for part in self.parts])


class WeightedElsewhere(Elsewhere):
    """The same for rows with weights; families without parents are summed in the whole table."""

    def __init__(self, table, parts):
        super().__init__(parts)
        weights = np.concatenate([part.weights for part in parts])
        self.whole = WeightedFamilyScorer(table.codes, table.cardinalities, weights)

    def __call__(self, requests):
        self.messages.append([(child, *parents.tolist()) for child, parents, _ in requests])
        answers = []
        for request in requests:
            if len(request[1]):
                answers += add_family_weights([weigh_families(part, [request]) for part in self.parts])
            else:
                answers.append(self.whole.count(*request))
        return answers


def far_scorer(table, terms, ask, **options):
    """Return the scorer of a table that asks for its counts."""
    return FamilyScorer(
        np.empty((table.n_variables, 0), dtype=np.uint8),
        table.cardinalities,
        np.empty((0, 0), dtype=np.uint64),
        table.plane_offsets,
        marginal_counts(table),
        dirichlet=terms.dirichlet,
        per_cell=terms.per_cell,
        prior=terms.prior,
        penalty=terms.penalty,
        equivalent=terms.equivalent,
        pairs=pair_counts(table),
        ask=ask,
        n_rows=table.n_rows,
        **options,
    )
