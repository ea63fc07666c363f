"""The user's input of learners of structural equations: windows, and powers of the inputs."""

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from pgmx.checks import as_reals, check_natural, check_same_names, join_names
from pgmx.data.series import Panel
from pgmx.solvers.time_series.sem_likelihood import SecondMoments, cut_windows

EXOGENOUS = ("known", "partial", "blind")
#: If an eigenvalue of the second moments of unit series is below this, it is rounding error: the series are dependent.
LEAST_EIGENVALUE = 1e-12


def read_windows(panel: Panel, window: int | None, boundaries: Sequence[int] | None) -> list[np.ndarray]:
    """Return the rows of each window; no window crosses the border of two segments."""
    lengths = [len(segment) for segment in panel.segments]
    if window is not None and boundaries is not None:
        raise ValueError(f"both window={window} and boundaries are given: give only one of them")
    if boundaries is not None:
        ends = _read_boundaries(panel, boundaries, lengths)
    elif window is not None:
        ends = cut_windows(lengths, window)
    elif len(lengths) > 1:
        ends = [np.array([length]) for length in lengths]
    else:
        raise ValueError(
            "neither window nor boundaries is given: give the number of rows of a window, or the first row of each "
            "window after the first"
        )
    return [
        segment[start:end]
        for segment, stops in zip(panel.segments, ends, strict=True)
        for start, end in pairwise([0, *stops.tolist()])
    ]


def _read_boundaries(panel: Panel, boundaries: Sequence[int], lengths: list[int]) -> list[np.ndarray]:
    total = sum(lengths)
    if panel.n_left_out:
        raise ValueError(
            f"boundaries count rows, but {panel.n_left_out} rows are left out because of missing values: give window "
            "instead"
        )
    rows = [check_natural(row, "boundaries", 1) for row in boundaries]
    if any(b <= a for a, b in pairwise(rows)) or (rows and rows[-1] >= total):
        raise ValueError(f"boundaries must increase and be below the {total} rows, got {join_names(rows)}")
    starts = np.cumsum([0, *lengths])
    inner = np.setdiff1d(rows, starts)
    return [
        np.append(inner[(inner > start) & (inner < start + length)] - start, length)
        for start, length in zip(starts[:-1].tolist(), lengths, strict=True)
    ]


def read_powers(exogenous_power: Any, names: Sequence, n_windows: int, exogenous: str) -> np.ndarray:
    """Return the powers of the inputs, (M, N), NaN if unknown; the error names an invalid power."""
    shape = (n_windows, len(names))
    if exogenous == "blind":
        if exogenous_power is not None:
            raise ValueError(
                "exogenous='blind' does not use exogenous_power: leave it out, or give exogenous='known' or 'partial'"
            )
        return np.full(shape, np.nan)
    if exogenous_power is None:
        raise ValueError(
            f"exogenous={exogenous!r} needs exogenous_power, the mean squares of the inputs per window, of shape "
            f"{shape}: pass it to fit, or give exogenous='blind'"
        )
    if hasattr(exogenous_power, "columns"):
        check_same_names(names, exogenous_power.columns, "the series", "exogenous_power", "columns")
        exogenous_power = exogenous_power[list(names)]
    powers = as_reals(exogenous_power, "exogenous_power").astype(np.float64)
    if powers.ndim == 1 and n_windows == 1:
        powers = powers[None]
    if powers.shape != shape:
        raise ValueError(
            f"exogenous_power must have the shape {shape}, one row per window and one column per series, got "
            f"{powers.shape}"
        )
    unknown = np.isnan(powers)
    if unknown.any() and exogenous == "known":
        m, i = np.argwhere(unknown)[0]
        raise ValueError(
            f"exogenous_power is NaN for {names[i]!r} in window {m}: give the value, or exogenous='partial'"
        )
    wrong = ~unknown & ~((powers > 0) & np.isfinite(powers))
    if wrong.any():
        m, i = np.argwhere(wrong)[0]
        raise ValueError(
            f"exogenous_power is {powers[m, i]} for {names[i]!r} in window {m}: powers must be positive and finite. "
            "NaN means unknown with exogenous='partial'"
        )
    return np.ascontiguousarray(powers)


def check_moments(data: SecondMoments, names: Sequence, n_left_out: int = 0) -> None:
    """Refuse windows for which the likelihood has no maximum; windows end early at rows that are left out."""
    n = len(names)
    silent = np.argwhere(~(np.einsum("mii->mi", data.moments) > 0))
    if len(silent):
        m, i = silent[0]
        raise ValueError(
            f"the series {names[i]!r} is zero in all rows of window {m}: give longer windows, or leave the series out"
        )
    short = np.flatnonzero((data.n_rows <= n) & np.isnan(data.powers).any(axis=1))
    if len(short):
        remedy = "give longer windows, or all powers"
        if n_left_out:
            remedy = (
                f"windows end at the {n_left_out} rows that are left out because of missing values: fill these "
                f"values, or remove segments of at most {n} rows and pass the other segments as a list"
            )
        raise ValueError(
            f"window {short[0]} has {data.n_rows[short[0]]:.0f} rows for {n} series, but estimation of powers needs "
            f"more than {n} rows: {remedy}"
        )
    if data.n_rows.sum() <= n:
        raise ValueError(f"{data.n_rows.sum():.0f} rows are too few for {n} series: give more than {n}")
    scales = data.scales
    values, vectors = np.linalg.eigh(np.einsum("m,mij->ij", data.shares, data.moments) / np.outer(scales, scales))
    if values[0] < LEAST_EIGENVALUE:
        weights = np.abs(vectors[:, 0])
        culprits = [repr(names[i]) for i in np.flatnonzero(weights > 0.1 * weights.max()).tolist()]
        raise ValueError(f"the series {', '.join(culprits)} are linearly dependent: leave one of them out")
