"""Coding of columns, one cell at a time: the meaning of `encode` in a few lines of plain Python."""


def order_states(cells):
    """Distinct cells: by value when all are of one type, else by type name and text."""
    distinct = {(type(cell), cell) for cell in cells}
    if len({kind for kind, _ in distinct}) == 1:
        return tuple(sorted(cell for _, cell in distinct))
    return tuple(cell for _, cell in sorted(distinct, key=lambda pair: (pair[0].__name__, str(pair[1]))))


def encode_column(cells, states=None):
    """States of a column and the code of each cell, by search in the list of states."""
    states = order_states(cells) if states is None else tuple(states)
    codes = []
    for cell in cells:
        matches = [i for i, state in enumerate(states) if type(state) is type(cell) and state == cell]
        codes.append(matches[0])
    return states, codes


def encode_columns(columns):
    """States and codes of several columns, given as lists of cells."""
    coded = [encode_column(cells) for cells in columns]
    return tuple(states for states, _ in coded), [codes for _, codes in coded]


def first_occurrences(cells):
    """Code of each cell by first occurrence, and the row of the first occurrence of each distinct cell."""
    seen, codes, rows = [], [], []
    for row, cell in enumerate(cells):
        if cell not in seen:
            seen.append(cell)
            rows.append(row)
        codes.append(seen.index(cell))
    return codes, rows


def planes_of(codes, cardinalities):
    """Bit planes as lists of booleans, one per state."""
    return [[code == state for code in row] for row, r in zip(codes, cardinalities, strict=True) for state in range(r)]


def encode_incomplete_column(cells):
    """States, codes and code of the missing values (-1 without any) of a column in which None is missing."""
    known = [cell for cell in cells if cell is not None]
    if len(known) == len(cells):
        return *encode_column(cells), -1
    states = order_states(known) if known else ()
    marker = next(name for name in ["missing", *(f"missing_{k}" for k in range(1, 99))] if name not in states)
    codes = [len(states) if cell is None else encode_column([cell], states)[1][0] for cell in cells]
    return (*states, marker), codes, len(states)
