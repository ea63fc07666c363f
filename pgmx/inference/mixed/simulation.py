"""Independent rows given observed values and interventions: exact draws from the posterior, then forward sampling."""

from __future__ import annotations

from collections.abc import Hashable, Sequence

import numpy as np

from pgmx.checks import join_names
from pgmx.inference.exact.elimination_order import TreewidthError
from pgmx.inference.mixed.families import (
    DiscreteFamily,
    GaussianFamily,
    MixedFamilies,
    MixedRows,
    shape_families,
)
from pgmx.inference.mixed.missing_values import (
    MissingValues,
    RandomNumbers,
    describe_block,
    find_blocks,
    plan_block,
)
from pgmx.inference.mixed.posterior import EXACT_CELLS, compute_log_evidence


def cut_families(network: MixedFamilies, fixed: Sequence[int], row: MixedRows) -> MixedFamilies:
    """Return the network without the edges into `fixed` variables, which have their values in `row` for certain.

    The density of a continuous variable at its value is a constant: it does not matter, since the value is observed.
    """
    families = list(network.families)
    for v in fixed:
        if network.cards[v]:
            families[v] = DiscreteFamily((), np.eye(network.cards[v])[row.codes[v, 0]])
        else:
            families[v] = GaussianFamily((), (), np.array([row.numbers[v, 0]]), np.array(1.0))
    return MixedFamilies(network.cards, tuple(families))


def draw_given(
    network: MixedFamilies,
    names: Sequence[Hashable],
    row: MixedRows,
    observed: np.ndarray,
    n_rows: int,
    rng: np.random.Generator,
) -> MixedRows | None:
    """Draw rows given the observed values, bool (n,), of one row; None if these are impossible.

    Unobserved ancestors of observed variables are drawn from their posterior: their discrete variables down a junction
    tree, with continuous ones integrated out, then the continuous ones given them. The others follow their parents.
    """
    rows = MixedRows(*(np.repeat(values, n_rows, axis=1) for values in row))
    relevant = set(network.list_ancestors(np.flatnonzero(observed).tolist()))
    # The families of other variables sum to 1.
    families = [(v, *parents) if v in relevant else (v,) for v, parents in enumerate(network.parents)]
    hidden = np.array([v in relevant and not observed[v] for v in range(len(names))])
    blocks = find_blocks(families, hidden[:, None])
    plans = [(block, plan_block(network, block)) for block in blocks]
    for block, question in plans:
        if question.cells > EXACT_CELLS:
            raise TreewidthError(
                f"drawing {join_names(names[v] for v in block.hidden)} given the evidence would need "
                f"{question.cells:.2g} values, more than {EXACT_CELLS:,}",
                remedy="observe more or fewer variables, or draw without evidence and keep the rows that agree with it",
            )
    known = [v for v in relevant if observed[[v, *network.parents[v]]].all()]
    is_possible = all(network.log_density(v, row)[0] > -np.inf for v in known) and all(
        compute_log_evidence(network, question._replace(targets=[]), row, ~_mask(block.hidden, len(names)))[0] > -np.inf
        for block, question in plans
    )
    if not is_possible:
        return None
    if plans and n_rows:
        shapes = shape_families(network.cards, [(v, *parents) for v, parents in enumerate(network.parents)])
        programs = [(block, describe_block(shapes, block, question)) for block, question in plans]
        solver = MissingValues(network.cards, shapes, programs)
        discrete = [v for v in np.flatnonzero(hidden).tolist() if network.cards[v]]
        continuous = [v for v in np.flatnonzero(hidden).tolist() if not network.cards[v]]
        uniforms = rng.random((len(discrete), 1, n_rows))
        normals = rng.standard_normal((len(continuous), n_rows))
        ranks = np.zeros((len(names), 1), dtype=np.int64)
        ranks[discrete, 0], ranks[continuous, 0] = np.arange(len(discrete)), np.arange(len(continuous))
        solver.draw(network, row, RandomNumbers(np.zeros(1, dtype=np.int64), uniforms, normals, ranks), rows)
    network.draw(rows, observed | hidden, rng, np.flatnonzero(~observed & ~hidden).tolist())
    return rows


def _mask(positions: Sequence[int], n: int) -> np.ndarray:
    mask = np.zeros(n, dtype=bool)
    mask[list(positions)] = True
    return mask
