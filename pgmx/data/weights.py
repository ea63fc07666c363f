"""Which rows count, and how often: checked weights of rows, and the rows in which variables were set."""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from pgmx.checks import check_weights, join_names
from pgmx.data.columns import python_scalar
from pgmx.data.frame import Frame
from pgmx.data.numeric import NumericTable
from pgmx.data.table import DiscreteTable

#: Rows are repeated if integer weights add up to at most this many times the number of rows, else weighted one by one.
MOST_REPETITIONS = 4

#: Rows of booleans up to which a dictionary numbers them faster than a hash table of words.
FEW_ROWS = 200

BITS = np.arange(8, dtype=np.uint8)[:, None]

#: The rows of each set of variables are packed once if there are at most this number of sets.
MOST_PLANES = 256


def check_row_weights(sample_weight: ArrayLike, n_rows: int) -> np.ndarray | None:
    """Return the weights as an array, None if all are 1, or raise ValueError."""
    weights = check_weights(sample_weight, "sample_weight", n_rows)
    if np.asarray(sample_weight).dtype.kind in "iu":
        weights = np.asarray(sample_weight)  # exact beyond 2**53
    if weights.sum() < 1:
        raise ValueError(
            f"sample_weight add up to {weights.sum():g}, less than one row: a weight is the number of rows that a row "
            "represents, so scale them to add up to the number of rows"
        )
    return None if (weights == 1).all() else weights


def weights_of_complete_rows(weights: np.ndarray, data: Frame | DiscreteTable | NumericTable) -> np.ndarray:
    """Return the weights of the rows without missing values; coded and numeric tables have dropped the other rows."""
    if not isinstance(data, Frame):
        return weights
    of_complete = weights[data.complete_mask()]
    if not (of_complete > 0).any():
        raise ValueError("all rows without missing values have the sample_weight zero: no row is left to learn from")
    return of_complete


def combine_weights(
    table: DiscreteTable, weights: np.ndarray | None, factors: np.ndarray
) -> tuple[DiscreteTable, np.ndarray | None]:
    """Return a table and the products of both weights of its rows, None if rows could be repeated instead."""
    products = np.asarray(factors) if weights is None else weights * np.asarray(factors)
    counts = to_repetitions(products)
    if counts is not None and counts.sum() <= MOST_REPETITIONS * len(counts):
        return (table if (counts == 1).all() else table.repeat_rows(counts)), None
    return table, np.ascontiguousarray(products, dtype=np.float64)


def to_repetitions(weights: np.ndarray) -> np.ndarray | None:
    """Return weights as integers, None if they are not whole."""
    weights = np.asarray(weights)
    if weights.dtype.kind == "f" and not ((weights == np.floor(weights)) & (weights < 2**53)).all():
        return None
    return weights.astype(np.int64)


def narrow_weights(weights: np.ndarray) -> np.ndarray:
    """Return weights in the smallest type that holds them, since they are sent."""
    whole = to_repetitions(weights)
    return weights if whole is None else whole.astype(np.min_scalar_type(int(whole.max(initial=0))))


# ---- interventions ----


@dataclass(frozen=True, eq=False)
class Interventions:
    """The variables that were set from outside in each row, all by their ids.

    ``targets[k, v]``, bool (K, n), says whether v is in the set number k; ``set_of_row``, intp (N,), is the number of
    the set of variables that were set in a row. Each of the sets occurs, and no two are equal.
    """

    targets: np.ndarray
    set_of_row: np.ndarray

    @classmethod
    def from_sets(cls, targets: np.ndarray, set_of_row: np.ndarray) -> "Interventions":
        """Return the same with equal sets merged and without sets that do not occur."""
        occurs = np.zeros(len(targets), dtype=bool)
        occurs[set_of_row] = True
        numbers, first = _number_rows(targets[occurs])
        return cls(targets[occurs][first], numbers[(np.cumsum(occurs) - 1)[set_of_row]])

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return len(self.set_of_row)

    @property
    def always_set(self) -> np.ndarray:
        """The variables that were set in every row, ids."""
        return np.flatnonzero(self.targets.all(axis=0))

    def take(self, keep: np.ndarray) -> "Interventions":
        """Return the interventions of the rows for which `keep`, bool (N,), is true."""
        return self if keep.all() else self.from_sets(self.targets, self.set_of_row[keep])

    def repeat(self, counts: np.ndarray) -> "Interventions":
        """Return the interventions of the table in which row i occurs ``counts[i]`` times."""
        return self.from_sets(self.targets, np.repeat(self.set_of_row, counts))

    @cached_property
    def row_groups(self) -> tuple[np.ndarray, np.ndarray]:
        """The sets of rows that families count, as masks of sets, bool (m, K), and the mask of each variable.

        The latter are int64 (n,), -1 for all rows. A variable that was set in every row counts all rows as well: its
        distribution is that of the experiments.
        """
        counted = ~self.targets.T
        group_of = np.full(len(counted), -1)
        partial = counted.any(axis=1) & ~counted.all(axis=1)
        group_of[partial], first = _number_rows(counted[partial])
        return counted[partial][first], group_of

    def pack_rows(self, masks: np.ndarray) -> np.ndarray:
        """Return sets of rows as bit planes, uint64 (m, words), given as masks of sets, bool (m, K).

        Row i is bit i % 64 of word i // 64, and the number of words is a multiple of 8.
        """
        planes = np.zeros((len(masks), -(-self.n_rows // 512) * 64), dtype=np.uint8)
        used = planes[:, : -(-self.n_rows // 8)]
        if len(self.targets) > MOST_PLANES:
            for plane, mask in zip(used, masks, strict=True):
                plane[:] = np.packbits(mask[self.set_of_row], bitorder="little")
        else:
            set_of_row = self.set_of_row.astype(np.uint8)
            of_sets = [np.packbits(set_of_row == k, bitorder="little") for k in range(len(self.targets))]
            leaves_few = 2 * np.count_nonzero(masks, axis=1) > masks.shape[1]
            for m, k in np.argwhere(masks ^ leaves_few[:, None]).tolist():
                used[m] |= of_sets[k]
            used[leaves_few] ^= np.packbits(np.ones(self.n_rows, dtype=bool), bitorder="little")
        return planes.view("<u8").astype(np.uint64, copy=False)

    @property
    def groups(self) -> np.ndarray:
        """A number for each variable, int64 (n,), equal for variables that were set in the same rows.

        If one of two variables was set in rows in which the other was not, the data decide the direction of their edge.
        """
        return _number_rows(self.targets.T)[0].astype(np.int64)

    def list_targets(self) -> list[tuple[int, ...]]:
        """Return the sets, each as ascending ids."""
        return [tuple(np.flatnonzero(chosen).tolist()) for chosen in self.targets]


def number_cells(column: Any) -> tuple[np.ndarray, list]:
    """Return a code for each cell of a column, equal for equal cells, and the cells in the order of the codes.

    Missing values have the code -1, and the last cell is None.
    """
    values = column.to_pandas().array if hasattr(column, "to_pandas") else column
    try:
        codes, distinct = pd.factorize(values)
    except TypeError:  # lists, which have no hash
        known: dict[Any, int] = {}
        keys = [cell if isinstance(cell, Hashable) else tuple(cell) for cell in values]
        codes, distinct = np.array([known.setdefault(key, len(known)) for key in keys], dtype=np.intp), known
    return codes, [*distinct, None]


def read_interventions(codes: np.ndarray, cells: Sequence, names: Sequence, column: Hashable) -> Interventions:
    """Read a column with the names of the variables that were set in each row; `codes` are positions in `cells`.

    A cell is a name, several (a list, tuple or set of names, or a string that separates them by commas), or missing or
    empty if no variable was set. Raise ValueError for names that are not among `names`.
    """
    ids, texts = {name: v for v, name in enumerate(names)}, {str(name): v for v, name in enumerate(names)}
    sets: dict[tuple[int, ...], int] = {}
    unknown: dict[Any, None] = {}
    occurs = np.zeros(len(cells), dtype=bool)
    occurs[codes] = True
    set_of_cell = np.zeros(len(cells), dtype=np.intp)
    for number in np.flatnonzero(occurs).tolist():
        chosen = _find_variables(cells[number], ids, texts, unknown)
        set_of_cell[number] = sets.setdefault(chosen, len(sets))
    if unknown:
        raise ValueError(
            f"column {column!r} of interventions names {join_names(unknown)}, but the variables are "
            f"{join_names(names)}: write names of columns, several separated by commas, and leave the cell empty if "
            "no variable was set"
        )
    targets = np.zeros((len(sets), len(names)), dtype=bool)
    for chosen, k in sets.items():
        targets[k, list(chosen)] = True
    return Interventions.from_sets(targets, set_of_cell[codes])


def _find_variables(
    cell: Any, ids: dict[Hashable, int], texts: dict[str, int], unknown: dict[Any, None]
) -> tuple[int, ...]:
    """Return the ids of the variables that a cell names, and add other names to `unknown`."""
    if isinstance(cell, Hashable) and cell in ids:
        return (ids[cell],)
    if isinstance(cell, str):
        if cell.strip() in texts:
            return (texts[cell.strip()],)
        parts: list = [part.strip() for part in cell.split(",") if part.strip()]
    elif isinstance(cell, list | tuple | set | frozenset | np.ndarray):
        parts = list(cell)
    else:
        parts = [] if pd.isna(cell) else [cell]
    chosen = set()
    for part in parts:
        v = ids.get(part, texts.get(_to_text(part)))
        if v is None:
            unknown[python_scalar(part)] = None
        else:
            chosen.add(v)
    return tuple(sorted(chosen))


def _to_text(cell: Any) -> str:
    """Return a cell as it stands in a text file; a numeric column with empty cells was read as floats."""
    return str(int(cell)) if isinstance(cell, float | np.floating) and float(cell).is_integer() else str(cell)


def read_set_cells(frame: Any, names: Sequence, n_rows: int, data: Any = None) -> Interventions:
    """Read a table of booleans, one column for each variable that was set, or an array with one for each variable.

    Interventions that are already read are returned. `data` are the data in the form in which the caller got them.
    """
    if isinstance(frame, Interventions):
        return frame
    if isinstance(frame, pd.DataFrame) and isinstance(data, pd.DataFrame):
        _check_order(frame.index, data.index)
    if not isinstance(frame, pd.DataFrame) and hasattr(frame, "to_pandas"):
        frame = frame.to_pandas()
    if isinstance(frame, pd.DataFrame):
        columns = list(frame.columns)
        if len(set(columns)) < len(columns):
            raise ValueError("interventions has a column name twice: give one column per variable")
        unknown = [name for name in columns if name not in set(names)]
        if unknown:
            raise ValueError(
                f"interventions has the column(s) {join_names(unknown)}, but the variables are {join_names(names)}: "
                "give a column for each variable that was set"
            )
        cells = frame.to_numpy()
        if cells.dtype != bool:  # the types of the columns are slow to list
            wrong = [name for name, dtype in zip(columns, frame.dtypes, strict=True) if dtype.kind != "b"]
            if wrong:
                raise ValueError(
                    f"interventions must hold booleans, but column(s) {join_names(wrong)} hold "
                    f"{frame[wrong[0]].dtype}: convert them with astype(bool)"
                )
            incomplete = [name for name in columns if frame[name].isna().any()]
            if incomplete:
                raise ValueError(
                    f"interventions has missing values in column(s) {join_names(incomplete)}: write False if a "
                    "variable was not set"
                )
            cells = frame.to_numpy(dtype=bool)
    else:
        columns, cells = list(names), np.asarray(frame)
        if cells.dtype != bool:
            raise ValueError(
                f"interventions must hold booleans, got {cells.dtype}: give a frame or an array of booleans, true if a "
                "variable was set"
            )
    if cells.ndim != 2 or cells.shape != (n_rows, len(columns)):
        raise ValueError(
            f"interventions must have the shape {(n_rows, len(columns))}, a row for each row of the data, got "
            f"{cells.shape}"
        )
    set_of_row, first = _number_rows(cells)
    targets = np.zeros((len(first), len(names)), dtype=bool)
    ids = {name: v for v, name in enumerate(names)}
    targets[:, [ids[name] for name in columns]] = cells[first]
    return Interventions(targets, set_of_row)


def _check_order(labels: pd.Index, of_data: pd.Index) -> None:
    """Raise ValueError if rows have the labels of the data in another order; labels that only count say nothing."""
    if labels.equals(of_data) or len(labels) != len(of_data) or isinstance(labels, pd.RangeIndex):
        return
    if labels.is_unique and labels.isin(of_data).all():
        raise ValueError(
            "interventions has the row labels of the data in another order, but rows are matched by position: give "
            "interventions.loc[X.index]"
        )


def _number_rows(cells: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return a number for each row of booleans, equal for equal rows, and the first row with each number."""
    if len(cells) <= FEW_ROWS:
        known: dict[bytes, int] = {}
        packed = np.packbits(cells, axis=1)
        numbers = np.array([known.setdefault(row.tobytes(), len(known)) for row in packed], dtype=np.intp)
    else:
        numbers = np.zeros(len(cells), dtype=np.intp)
        for word in _pack_words(cells).T:
            codes, found = pd.factorize(word)
            numbers = codes if not numbers.any() else pd.factorize(numbers * np.int64(len(found)) + codes)[0]
    first = np.empty(int(numbers.max(initial=-1)) + 1, dtype=np.intp)
    first[numbers[::-1]] = np.arange(len(cells))[::-1]
    return numbers, first


def _pack_words(cells: np.ndarray) -> np.ndarray:
    """Return the rows of booleans (N, n) as uint64 (N, words), each bit a value."""
    n_bytes = -(-cells.shape[1] // 8)
    words = np.zeros((len(cells), -(-n_bytes // 8)), dtype=np.uint64)
    packed = words.view(np.uint8)
    if not cells.flags.f_contiguous:
        packed[:, :n_bytes] = np.packbits(cells, axis=1)
        return words
    for k in range(n_bytes):  # columns of a frame are contiguous, and packbits along rows is slow for them
        columns = cells.T[8 * k : 8 * k + 8].view(np.uint8)
        packed[:, k] = np.bitwise_or.reduce(columns << BITS[: len(columns)], axis=0)
    return words
