"""What a run is measured against, by ids and codes: the edges of a true graph, and held-out rows."""

from collections.abc import Iterable

import numpy as np

from pgmx.checks import check_same_names, join_names
from pgmx.data import DiscreteTable, encode
from pgmx.data.errors import MissingCellsError, UnknownColumnsError
from pgmx.data.recode import recode_table
from pgmx.search.knowledge.pairs import read_pairs


def read_true_pairs(true_graph, names: list) -> set | None:
    """Return the edges of a graph, or of a collection of pairs of names, by ids."""
    if true_graph is None:
        return None
    edges: Iterable = true_graph.edges() if hasattr(true_graph, "edges") else true_graph
    ids = {name: i for i, name in enumerate(names)}
    pairs = set()
    for u, v in read_pairs(edges, "true_graph"):
        unknown = next((name for name in (u, v) if name not in ids), None)
        if unknown is not None:
            raise ValueError(f"true_graph has the node {unknown!r}, which is no column of the data")
        pairs.add((min(ids[u], ids[v]), max(ids[u], ids[v])))
    return pairs


def code_held_out(held_out, table: DiscreteTable, option: str = "held_out") -> np.ndarray | None:
    """Return the codes of further rows with the states of a table."""
    if held_out is None:
        return None
    states = dict(zip(table.columns, map(list, table.states), strict=True))
    try:
        coded = held_out if isinstance(held_out, DiscreteTable) else encode(held_out, state_names=states)
    except UnknownColumnsError as error:
        raise ValueError(f"{option} lacks the column(s) {join_names(error.names)}, which the data have") from None
    except MissingCellsError as error:
        raise ValueError(
            f"{option} has missing cells in column(s) {join_names(error.names)}: drop or fill them"
        ) from None
    except (TypeError, ValueError) as error:
        kind = TypeError if isinstance(error, TypeError) else ValueError  # others are not made of a text
        raise kind(f"{option} cannot be read with the states of the data: {error}") from None
    check_same_names(coded.columns, table.columns, option, "the data", "columns")
    return recode_table(coded, table.columns, table.states)
