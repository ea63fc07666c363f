"""Exact probabilities of discrete series, row by row: the interface algorithm with one joint table.

The table holds the joint distribution of the unobserved variables on which later rows depend, for several series whose
missing values have one pattern. A row multiplies the families of its variables, parents first, and sums out variables
as soon as nothing depends on them.

Cost per row: the cells of the largest table times the number of variables. Source: K. P. Murphy (2002), Dynamic
Bayesian networks, section 3.2.
"""

from collections.abc import Mapping, Sequence
from math import prod
from typing import Any, NamedTuple

import numpy as np

from pgmx.models.time_series.dynamic.columns import Slices

#: Most cells of the joint distribution of the last rows, and of the largest table that a row needs, for exact answers.
MOST_STATES, MOST_CELLS = 10**6, 1 << 26
#: Cells of the tables of several series that are answered together.
_BATCH_CELLS = 1 << 22

#: A variable v of the row t is (v, t), a static column (v, -1).
Place = tuple[int, int]


class Belief(NamedTuple):
    """Joint distribution, (n_series, *states of the places), and the observed codes, (n_series,), by place."""

    table: np.ndarray
    places: tuple[Place, ...]
    known: Mapping[Place, np.ndarray]


class Step(NamedTuple):
    """One variable of a row: its place, its family, the places of its parents, and the places to sum out after it."""

    place: Place
    table: np.ndarray
    parents: tuple[Place, ...]
    finished: tuple[Place, ...]


class DiscreteFilter:
    """The families of a discrete dynamic network by row."""

    def __init__(self, slices: Slices):
        self._slices, self._columns = slices, slices.columns
        self._cards = [slices.families.cards[p] for p in slices.columns.present]
        self._static_cards = slices.families.cards[: len(slices.columns.static)]
        self._plans: dict[tuple, tuple[list[Step], int]] = {}
        self._rows: dict[int, dict[Place, tuple[np.ndarray, tuple[Place, ...]]]] = {}
        # the largest lag at which later rows need a variable; static columns by (v, -1)
        self.reach = [0] * len(self._cards)
        self._needs_static = set()
        for position in slices.columns.present:
            for p in slices.families.parents[position]:
                v, lag = slices.columns.split(p)
                if lag < 0:
                    self._needs_static.add((v, -1))
                else:
                    self.reach[v] = max(self.reach[v], lag)

    @property
    def n_states(self) -> int:
        """Cells of the joint distribution of the variables of earlier rows on which a row depends."""
        return prod(card**reach for card, reach in zip(self._cards, self.reach, strict=True))

    def card(self, place: Place) -> int:
        """Return the number of states at a place."""
        return self._static_cards[place[0]] if place[1] < 0 else self._cards[place[0]]

    def start(self, static: np.ndarray, is_missing: np.ndarray) -> Belief:
        """Return the distribution before the first row given the codes (n_series, n_static) of static columns."""
        known = {(v, -1): static[:, v] for v in np.flatnonzero(~is_missing).tolist()}
        return self._advance(Belief(np.ones(len(static)), (), {}), -1, known, None)[0]

    def start_after(self, window: np.ndarray, static: np.ndarray) -> Belief:
        """Return the distribution after the rows 0 to L - 1 of codes (n_series, L, n) without missing values."""
        known = {(v, -1): static[:, v] for v in range(static.shape[1])}
        known |= {(v, t): window[:, t, v] for t in range(window.shape[1]) for v in range(window.shape[2])}
        return Belief(np.ones(len(window)), (), known)

    def advance(
        self, belief: Belief, t: int, codes: np.ndarray, is_missing: np.ndarray, *, is_asked: bool
    ) -> tuple[list[np.ndarray], Belief, np.ndarray]:
        """Return probabilities of the row t before it is observed, the new belief, and log-probabilities (n_series,).

        `codes` are (n_series, n), `is_missing` (n,) is common to all series. The probabilities, one array (n_series,
        states) per variable, are left out unless they are asked for.
        """
        observed = {(v, t): codes[:, v] for v in np.flatnonzero(~is_missing).tolist()}
        marginals: dict[Place, np.ndarray] = {}
        if is_asked:
            free = self._advance(belief, t, {}, marginals)
            shares = [marginals[v, t] for v in range(len(self._cards))]
            if not observed:
                return shares, *free
        else:
            shares = []
        return shares, *self._advance(belief, t, observed, None)

    def count_series(self, belief: Belief, t: int) -> int:
        """Return how many series can be answered together in little memory."""
        return max(1, _BATCH_CELLS // self.count_cells(belief, t))

    def list_families(self, t: int) -> dict[Place, tuple[np.ndarray, tuple[Place, ...]]]:
        """Return the families of the row t, or of the static columns for t = -1, by place, parents first."""
        lags = self._columns.lags
        own = self._rows.get(min(t, lags))
        if own is None:
            own = {}
            if t < 0:
                positions = list(range(len(self._static_cards)))
            else:
                positions = [self._columns.position(v, max(lags - t, 0)) for v in range(len(self._cards))]
            for position in sorted(positions, key=self._slices.families.order.index):
                family: Any = self._slices.families.families[position]
                parents = tuple(map(self._find_place, family.discrete_parents))
                own[self._find_place(position)] = (family.table, parents)
            self._rows[min(t, lags)] = own
        shift = max(t - lags, 0)
        return {
            _shift(place, shift): (table, tuple(_shift(p, shift) for p in parents))
            for place, (table, parents) in own.items()
        }

    def _find_place(self, position: int) -> Place:
        """Return the place of a column if the present is the row L."""
        v, lag = self._columns.split(position)
        return (v, -1) if lag < 0 else (v, self._columns.lags - lag)

    def needs(self, place: Place, t: int) -> bool:
        """Return whether a row after t depends on a place."""
        v, row = place
        lags = self._columns.lags
        is_parent = place in self._needs_static if row < 0 else row + self.reach[v] >= max(t + 1, lags)
        return is_parent or any(
            place in parents for later in range(t + 1, lags) for _, parents in self.list_families(later).values()
        )

    def plan(self, belief: Belief, t: int, observed: Sequence[Place]) -> tuple[list[Step], int]:
        """Return the variables of a row in an order of small tables, and the cells per series of the largest table."""
        lags = self._columns.lags
        shift = max(t - lags, 0)
        key = (
            min(t, lags),
            tuple(_shift(place, -shift) for place in belief.places),
            frozenset(_shift(place, -shift) for place in observed),
        )
        if key not in self._plans:
            own = {_shift(place, -shift) for place in observed}
            self._plans[key] = self._make_plan(belief, min(t, lags), own, shift)
        steps, peak = self._plans[key]
        moved = [
            Step(
                _shift(step.place, shift),
                step.table,
                tuple(_shift(p, shift) for p in step.parents),
                tuple(_shift(p, shift) for p in step.finished),
            )
            for step in steps
        ]
        return moved, peak

    def _make_plan(self, belief: Belief, t: int, observed: set[Place], shift: int) -> tuple[list[Step], int]:
        waiting = dict(self.list_families(t))
        users: dict[Place, set[Place]] = {place: set() for place in waiting}
        for place, (_, parents) in waiting.items():
            for p in parents:
                users.setdefault(p, set()).add(place)
        alive = {_shift(place, -shift) for place in belief.places}
        is_needed = {place: self.needs(place, t) for place in (*alive, *waiting)}
        cells = peak = prod(map(self.card, alive))
        steps = []
        while waiting:
            best: tuple | None = None
            for place, (table, parents) in waiting.items():
                if any(p in waiting for p in parents):
                    continue
                own = () if place in observed else (place,)
                finished = [
                    p
                    for p in dict.fromkeys((*own, *(p for p in parents if p in alive)))
                    if not is_needed[p] and not users.get(p, set()) - {place}
                ]
                largest = cells * prod(map(self.card, own))
                cost = (largest // prod(map(self.card, finished)), largest)
                if best is None or cost < best[0]:
                    best = cost, Step(place, table, parents, tuple(finished)), own
            assert best is not None
            (cells, largest), step, own = best
            peak = max(peak, largest)
            del waiting[step.place]
            for p in step.parents:
                users[p].discard(step.place)
            alive = alive.union(own).difference(step.finished)
            steps.append(step)
        return steps, peak

    def count_cells(self, belief: Belief, t: int) -> int:
        """Return the cells per series of the largest table of this row and all later ones, without observations."""
        most = 1
        for row in range(t, max(t, self._columns.lags) + self._columns.lags + 1):
            steps, peak = self.plan(belief, row, ())
            most = max(most, peak)
            alive = set(belief.places)
            for step in steps:
                alive = (alive | {step.place}) - set(step.finished)
            places = tuple(sorted(alive))
            belief = Belief(belief.table, places, belief.known)
        return most

    def _advance(
        self, belief: Belief, t: int, observed: Mapping[Place, np.ndarray], marginals: dict[Place, np.ndarray] | None
    ) -> tuple[Belief, np.ndarray]:
        """Return the distribution after the row t, and the log-probability of its observations, (n_series,).

        `observed` holds codes (n_series,) of variables of the row, and the probabilities (n_series, states) of the
        others are written into `marginals`. For series whose observations are impossible the logarithm is -inf.
        """
        steps, _ = self.plan(belief, t, tuple(observed))
        table, places = belief.table, list(belief.places)
        known = {**belief.known, **observed}
        log_total = np.zeros(len(table))
        for step in steps:
            table, places = _multiply(table, places, step, known)
            if marginals is not None and step.place not in known:
                share = table.sum(axis=tuple(range(1, table.ndim - 1)))
                marginals[step.place] = share / share.sum(axis=1, keepdims=True)
            gone = tuple(places.index(p) + 1 for p in step.finished)
            if gone:
                table = table.sum(axis=gone)
                places = [p for p in places if p not in step.finished]
            if step.place in known:
                total = table.reshape(len(table), -1).sum(axis=1)
                with np.errstate(divide="ignore"):
                    log_total += np.log(total)
                table = table / np.where(total > 0.0, total, 1.0).reshape(-1, *[1] * (table.ndim - 1))
        oldest = t + 1 - self._columns.lags
        known = {p: codes for p, codes in known.items() if p[1] < 0 or p[1] >= oldest}
        return Belief(table, tuple(places), known), log_total


def _shift(place: Place, shift: int) -> Place:
    return place if place[1] < 0 else (place[0], place[1] + shift)


def _multiply(
    table: np.ndarray, places: list[Place], step: Step, known: Mapping[Place, np.ndarray]
) -> tuple[np.ndarray, list[Place]]:
    """Multiply a table (n_series, *states) by a family; an unobserved variable becomes the last axis."""
    scope = (step.place, *step.parents)
    fixed = [axis for axis, place in enumerate(scope) if place in known]
    free = [place for place in scope if place not in known]
    family = step.table.transpose([*fixed, *(axis for axis in range(len(scope)) if axis not in fixed)])
    factor = family[tuple(known[scope[axis]] for axis in fixed)] if fixed else family[None]
    new = places if step.place in known else [*places, step.place]
    order = sorted(range(len(free)), key=lambda k: new.index(free[k]))
    factor = factor.transpose([0, *(k + 1 for k in order)])
    shape = [1] * len(new)
    for place, size in zip((free[k] for k in order), factor.shape[1:], strict=True):
        shape[new.index(place)] = size
    factor = factor.reshape(factor.shape[0], *shape)
    table = table if step.place in known else table[..., None]
    return table * factor, new
