"""The queue of all pairs to be tested: tested pairs are stored, untested pairs are computed in their order.

Three facts determine whether a pair was seen: its position in a random order of all pairs, of which a prefix was drawn;
the progress of hubs (nodes of high degree, whose edges are tested first) through their partners; and the excluded
pairs.
"""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from pgmx.runs.checkpoint import Snapshot
from pgmx.search.edges.random_pairs import RandomOrder, RandomPairs, ends_of, id_of
from pgmx.search.edges.tested_pairs import (
    MOST_EXACT,
    MOST_FROZEN_SHARE,
    ExactPairs,
    LevelledPairs,
    TestedPairs,
    restore_tested,
)

_LEAST_WINDOW, _LARGEST_WINDOW = 64, 8192
_BLOCK = 1 << 18  # number of pairs per block when all pairs are listed
_OTHER_STREAM = 0x5851F42D4C957F2D  # makes the order of the nodes independent of the order of the pairs


class HubPartners:
    """The order in which edges of hubs are tested: `hubs`, oldest first, and the `number` of each node or -1.

    The partners of a hub are the other nodes in a random cyclic order, starting after the hub; the t-th partner has
    position t. Edges of equal priority are tested by position, then by the number of the hub, so that new hubs catch
    up. An edge between two hubs belongs to the younger hub; its position is the older hub's number.
    """

    def __init__(self, n_variables: int, seed: int):
        self.n_variables = n_variables
        self.nodes = RandomOrder(n_variables, seed ^ _OTHER_STREAM).value(np.arange(n_variables))
        self.rank = np.argsort(self.nodes)
        self.hubs = np.empty(0, dtype=np.int64)
        self.number = np.full(n_variables, -1, dtype=np.int64)

    def add(self, hubs: np.ndarray) -> None:
        """Number new hubs."""
        self.number[hubs] = np.arange(len(self.hubs), len(self.hubs) + len(hubs))
        self.hubs = np.concatenate((self.hubs, hubs))

    def partners_at(self, hubs: np.ndarray, positions: np.ndarray) -> np.ndarray:
        """Return the partners of hubs at positions from 0 to n - 2."""
        places = self.rank[hubs] + positions + 1
        places[places >= self.n_variables] -= self.n_variables
        return self.nodes[places]

    def positions_of(self, hubs: np.ndarray, partners: np.ndarray) -> np.ndarray:
        """Return the positions of partners in the orders of their hubs."""
        positions = self.rank[partners] - self.rank[hubs] - 1
        positions[positions < 0] += self.n_variables
        return positions

    def edges(self, hub: int) -> tuple[np.ndarray, np.ndarray]:
        """Return the ids of all edges of a hub, and the values that break ties of their priorities."""
        positions = np.arange(self.n_variables - 1)
        hubs = np.full(self.n_variables - 1, hub)
        partners = self.partners_at(hubs, positions)
        older = (self.number[partners] >= 0) & (self.number[partners] < self.number[hub])
        positions = np.where(older, self.number[partners], positions)
        ids = id_of(np.column_stack((hubs, partners)), self.n_variables)
        return ids, positions * self.n_variables + self.number[hub]


class HubGroups:
    """Groups of hubs with equal numbers of tested partners; the group with the fewest is the last and continues next.

    The progress of a group is the number of tests of its members, which alternate, the oldest first.
    """

    def __init__(self) -> None:
        self.groups: list[tuple[np.ndarray, int]] = []

    def add(self, hubs: np.ndarray) -> None:
        """Add new hubs, which have no tested partners yet."""
        if self.groups and self.groups[-1][1] == 0:
            hubs = np.concatenate((self.groups.pop()[0], hubs))
        self.groups.append((hubs, 0))

    def next_tests(self, size: int, n_positions: int) -> tuple[np.ndarray, np.ndarray]:
        """Return hubs and positions of the last group's next `size` tests, fewer if it reaches the previous group."""
        members, progress = self.groups[-1]
        while len(self.groups) > 1:
            before, their_progress = self.groups[-2]
            level, n_further = divmod(their_progress, len(before))
            if progress < level * len(members):
                n_positions = min(n_positions, level)
                break
            # The previous group is older, so its members that have not reached this position come first.
            members, progress = np.concatenate((before, members)), level * (len(before) + len(members)) + n_further
            self.groups[-2:] = [(members, progress)]
        steps = np.arange(progress, min(progress + size, n_positions * len(members)))
        return members[steps % len(members)], steps // len(members)

    def advance(self, steps: int, n_positions: int) -> None:
        """Advance the last group; it is removed after its last position."""
        members, progress = self.groups[-1]
        if progress + steps >= n_positions * len(members):
            self.groups.pop()
        else:
            self.groups[-1] = members, progress + steps

    def count_tested(self, hubs: np.ndarray, n_positions: int, n_variables: int) -> np.ndarray:
        """Return the number of tested partners of each node; hubs that are not in a group have tested all."""
        counts = np.zeros(n_variables, dtype=np.int64)
        counts[hubs] = n_positions
        for members, progress in self.groups:
            positions, n_further = divmod(progress, len(members))
            counts[members] = positions
            counts[members[:n_further]] += 1
        return counts

    def state(self, name: str) -> dict[str, np.ndarray]:
        """Return the arrays for `restore`, under names that begin with `name`."""
        return {
            f"{name}_members": np.concatenate([members for members, _ in self.groups] or [np.empty(0, dtype=np.int64)]),
            f"{name}_sizes": np.array([len(members) for members, _ in self.groups], dtype=np.int64),
            f"{name}_progress": np.array([progress for _, progress in self.groups], dtype=np.int64),
        }

    def restore(
        self, state: Snapshot, name: str, number: np.ndarray, n_positions_of: Callable[[np.ndarray], int]
    ) -> None:
        """Continue from a state; `number` is the number of each hub, `n_positions_of` returns a group's positions."""
        most = len(number) - 1
        members = state.array(f"{name}_members", np.int64, (None,), least=0, most=most, distinct=True)
        sizes = state.array(f"{name}_sizes", np.int64, (None,), least=1, most=len(members))
        progress = state.array(f"{name}_progress", np.int64, sizes.shape, least=0).tolist()
        state.check(sizes.sum() == len(members), f"groups of other sizes than {name!r}")
        self.groups = list(zip(np.split(members, np.cumsum(sizes)[:-1]), progress, strict=True)) if len(sizes) else []
        for group, steps in self.groups:
            is_ordered = number[group[0]] >= 0 and (np.diff(number[group]) > 0).all()
            state.check(is_ordered, f"no hubs, or hubs in another order, in {name!r}")
            state.check(steps < n_positions_of(group) * len(group), f"more positions in {name!r} than there are")


class ExcludedPairs:
    """Pairs that are never tested: pairs that a fixed rule does not allow, and pairs added later."""

    def __init__(self, allowed: Callable[[np.ndarray], np.ndarray] | None, n_variables: int):
        self.n_variables = n_variables
        self.allowed = allowed
        self.ids = np.empty(0, dtype=np.int64)

    def __bool__(self) -> bool:
        return self.allowed is not None or len(self.ids) > 0

    def add(self, ids: np.ndarray) -> None:
        """Exclude these pairs as well."""
        self.ids = np.union1d(self.ids, ids)

    def contains(self, ids: np.ndarray) -> np.ndarray:
        """Return which of the pairs, int64 (k,), are excluded, bool (k,)."""
        excluded = np.zeros(len(ids), dtype=bool)
        if len(self.ids):
            excluded = self.ids[np.minimum(np.searchsorted(self.ids, ids), len(self.ids) - 1)] == ids
        if self.allowed is not None and len(ids):
            excluded |= ~self.allowed(ends_of(ids, self.n_variables))
        return excluded


class UnseenPairs:
    """Untested pairs: first the pairs between hubs, then pairs with one hub, then all others in random order.

    `partners` is shared with the queue of tested pairs; `add_hubs` is called after its `add`. Memory: O(n), plus a
    window of at most some thousand precomputed pairs. A pair costs O(1), except for skipped pairs: a hub's partners
    that were tested before, and random pairs with a hub.
    """

    def __init__(self, order: RandomPairs, partners: HubPartners, excluded: ExcludedPairs):
        self.order = order
        self.partners = partners
        self.excluded = excluded
        self.n_variables = order.n_variables
        self._hub_pairs = HubGroups()  # pairs of young hubs with older hubs
        self._other_pairs = HubGroups()  # pairs of hubs with other nodes
        self._drawn = 0
        self._close_window()
        self._window_size = _LEAST_WINDOW

    def add_hubs(self, hubs: np.ndarray) -> None:
        """Move the pairs of new hubs (ascending by number) to the front."""
        self._advance()
        self._window_size = _LEAST_WINDOW
        self._other_pairs.add(hubs)
        if self.partners.number[hubs[-1]] > 0:
            self._hub_pairs.add(hubs)

    def exclude(self, ids: np.ndarray) -> None:
        """Never return these pairs."""
        self._advance()
        self.excluded.add(ids)

    def take(self, count: int) -> np.ndarray:
        """Return the ids of at least one of the next `count` pairs and mark them as seen; none if all were seen."""
        while self._used == len(self._ids):
            if not self._open_window(count):
                break
        ids = self._ids[self._used : self._used + count]
        self._used += len(ids)
        return ids

    def put_back(self, count: int) -> None:
        """Mark the last `count` pairs of the latest `take` as unseen again."""
        self._used -= count

    def state(self) -> dict[str, np.ndarray]:
        """Return the arrays for :meth:`restore`, in addition to the constructor's arguments."""
        self._advance()
        return {
            "drawn": np.array(self._drawn),
            **self._hub_pairs.state("hub_pairs"),
            **self._other_pairs.state("other_pairs"),
        }

    def restore(self, state: Snapshot) -> None:
        """Continue from a state."""
        self._close_window()
        names = [
            f"{groups}_{name}" for groups in ("hub_pairs", "other_pairs") for name in ("members", "sizes", "progress")
        ]
        state.check_names(("drawn", *names))
        self._drawn = state.integer("drawn", 0, len(self.order))
        number = self.partners.number
        self._hub_pairs.restore(state, "hub_pairs", number, lambda group: int(number[group[-1]]))
        self._other_pairs.restore(state, "other_pairs", number, lambda group: self.n_variables - 1)

    def seen(self) -> Iterator[np.ndarray]:
        """Yield the ids of the pairs that were seen and are not excluded, in blocks, without duplicates."""
        n, partners = self.n_variables, self.partners
        n_tested_others = self._other_pairs.count_tested(partners.hubs, n - 1, n)[partners.hubs]
        n_tested_hubs = self._hub_pairs.count_tested(partners.hubs, len(partners.hubs), n)[partners.hubs]
        pairs = [np.empty((0, 2), dtype=np.int64)]
        for k, hub in enumerate(partners.hubs.tolist()):
            older = partners.hubs[: min(k, int(n_tested_hubs[k]))]
            others = np.union1d(
                partners.partners_at(np.full(n_tested_others[k], hub), np.arange(n_tested_others[k])), older
            )
            pairs.append(np.column_stack((np.full(len(others), hub), others)))
        ids = np.unique(id_of(np.concatenate(pairs), n))
        ids = ids[self.order.position(ends_of(ids, n)) >= self._drawn]
        yield ids[~self.excluded.contains(ids)]
        for first in range(0, self._drawn, _BLOCK):
            ids = id_of(self.order.pair(np.arange(first, min(first + _BLOCK, self._drawn))), n)
            yield ids[~self.excluded.contains(ids)]

    # ---- windows: precomputed pairs, of which `_used` have been taken ----

    def _close_window(self) -> None:
        self._ids = np.empty(0, dtype=np.int64)
        self._steps = np.empty(0, dtype=np.int64)  # steps up to each of these pairs
        self._used = self._width = 0

    def _advance(self) -> None:
        """Advance by the pairs that were taken, and drop the precomputed pairs."""
        if self._width:
            steps = self._width
            if self._used < len(self._ids):
                steps = int(self._steps[self._used - 1]) if self._used else 0
            if self._hub_pairs.groups:
                self._hub_pairs.advance(steps, self._count_older_hubs())
            elif self._other_pairs.groups:
                self._other_pairs.advance(steps, self.n_variables - 1)
            else:
                self._drawn += steps
        self._close_window()

    def _count_older_hubs(self) -> int:
        """Return the number of pairs that the youngest of the next hubs has with older hubs."""
        return int(self.partners.number[self._hub_pairs.groups[-1][0][-1]])

    def _open_window(self, count: int) -> bool:
        """Compute the next pairs; return False if none is left."""
        self._advance()
        # some of the computed pairs will be skipped; the window grows until new hubs change the order
        size = max(2 * count, self._window_size)
        self._window_size = min(2 * self._window_size, _LARGEST_WINDOW)
        unseen: np.ndarray | None = None
        if self._hub_pairs.groups:
            pairs, unseen = self._next_hub_pairs(size)
        elif self._other_pairs.groups:
            pairs, unseen = self._next_other_pairs(size)
        elif self._drawn < len(self.order):
            pairs = self.order.pair(np.arange(self._drawn, min(self._drawn + size, len(self.order))))
            # Random pairs come after the pairs of hubs, which have all been seen by now.
            if len(self.partners.hubs):
                unseen = np.all(self.partners.number[pairs] < 0, axis=1)
        else:
            return False
        ids = id_of(pairs, self.n_variables)
        if self.excluded:
            unseen = ~self.excluded.contains(ids) if unseen is None else unseen & ~self.excluded.contains(ids)
        self._width = len(ids)
        which = np.arange(len(ids)) if unseen is None else np.flatnonzero(unseen)
        self._ids, self._steps = ids[which], which + 1
        return True

    def _next_hub_pairs(self, size: int) -> tuple[np.ndarray, np.ndarray]:
        """Return pairs of two hubs, and which of them are unseen."""
        young, positions = self._hub_pairs.next_tests(size, self._count_older_hubs())
        old = self.partners.hubs[positions]
        n_tested_others = self._other_pairs.count_tested(self.partners.hubs, self.n_variables - 1, self.n_variables)
        unseen = (positions < self.partners.number[young]) & (
            self.partners.positions_of(old, young) >= n_tested_others[old]
        )
        return self._pairs_not_drawn(young, old, unseen)

    def _next_other_pairs(self, size: int) -> tuple[np.ndarray, np.ndarray]:
        """Return pairs of a hub and another node, and which of them are unseen; pairs of two hubs were seen before."""
        hubs, positions = self._other_pairs.next_tests(size, self.n_variables - 1)
        others = self.partners.partners_at(hubs, positions)
        return self._pairs_not_drawn(hubs, others, self.partners.number[others] < 0)

    def _pairs_not_drawn(
        self, first: np.ndarray, second: np.ndarray, unseen: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        pairs = np.column_stack((np.minimum(first, second), np.maximum(first, second)))
        if self._drawn:  # a hub paired with itself is not unseen and has no position
            unseen[unseen] = self.order.position(pairs[unseen]) >= self._drawn
        return pairs, unseen


class EdgeQueue:
    """Edges by priority, the smallest first; an edge {i, j}, i < j, has the id i n + j.

    Untested edges have the priority 0, minus 1 per end that is a hub. Refilled edges have their own priority (see
    `tested_pairs`), minus 1 when an end becomes a hub. Ties: untested edges have a random order, edges of hubs the
    order of `HubPartners`. In the mode "sampled" untested edges are computed when needed; in "all" they are stored.
    """

    def __init__(
        self,
        n_variables: int,
        *,
        mode: str = "sampled",
        seed: int = 0,
        allowed: Callable[[np.ndarray], np.ndarray] | None = None,
    ):
        self.n_variables, self.mode, self.seed = n_variables, mode, seed
        self.partners = HubPartners(n_variables, seed)
        self.excluded = ExcludedPairs(allowed, n_variables)
        self._unseen: UnseenPairs | None = None
        self._is_unseen = False  # whether the latest edges taken were computed untested edges
        self.order = order = RandomPairs(n_variables, seed)
        self.tested: TestedPairs = ExactPairs(order)
        if mode == "all":
            # one byte per pair from the beginning, since all pairs are stored
            if len(order) > MOST_EXACT:
                self.tested = LevelledPairs(order)
            for first in range(0, len(order), _BLOCK):
                places = np.arange(first, min(first + _BLOCK, len(order)))
                self._push_untested(id_of(order.pair(places), n_variables), places)
        else:
            self._unseen = UnseenPairs(order, self.partners, self.excluded)

    def _push_untested(self, ids: np.ndarray, places: np.ndarray) -> None:
        if self.excluded:
            allowed = ~self.excluded.contains(ids)
            ids, places = ids[allowed], places[allowed]
        self.tested.add_untested(places, ids)

    def take(self, count: int) -> np.ndarray:
        """Return the ids of at least one of the next `count` edges; none if the queue is empty."""
        if self._unseen is not None:
            ids = self._unseen.take(count)
            self._is_unseen = len(ids) > 0
            if self._is_unseen:
                return ids
        return self.tested.take(count)

    def put_back(self, count: int) -> None:
        """Return the last `count` edges of the latest `take` to their positions."""
        if self._is_unseen and self._unseen is not None:
            self._unseen.put_back(count)
        else:
            self.tested.put_back(count)

    def freeze(self, ids: np.ndarray, priorities: np.ndarray) -> None:
        """Store tested edges with these priorities for the next pass."""
        self.tested.freeze(ids, priorities)
        self._round_priorities(max(MOST_EXACT, int(MOST_FROZEN_SHARE * len(self.order))))

    def begin_pass(self) -> None:
        """Move the frozen edges to the queue."""
        self._round_priorities(MOST_EXACT)
        self.tested.begin_pass()

    def _round_priorities(self, most: int) -> None:
        """Round priorities to levels from now on if more than `most` edges are frozen."""
        if isinstance(self.tested, ExactPairs) and self.tested.n_frozen > most:
            self.tested = LevelledPairs.from_exact(self.tested)

    def prioritise(self, hubs: np.ndarray) -> None:
        """Lower the priorities of all queued edges of nodes that become hubs."""
        self.partners.add(hubs)
        if self._unseen is not None:
            self._unseen.add_hubs(hubs)
        # untested pairs are moved by `add_hubs`; only stored pairs have priorities to lower
        if self.tested.n_waiting:
            for hub in hubs.tolist():
                self.tested.lower(*self.partners.edges(hub))

    def exclude(self, ids: np.ndarray) -> None:
        """Remove edges permanently."""
        if self._unseen is not None:
            self._unseen.exclude(ids)
        else:
            self.excluded.add(ids)
        self.tested.discard(ids)

    def state(self) -> dict[str, Any]:
        """Return the arrays for `restore`, in addition to the constructor's arguments."""
        return {
            "hubs": self.partners.hubs.copy(),
            "excluded": self.excluded.ids.copy(),
            **{f"tested_{name}": value for name, value in self.tested.state().items()},
            **({} if self._unseen is None else {f"unseen_{k}": v for k, v in self._unseen.state().items()}),
        }

    def restore(self, state: Snapshot, others: np.ndarray) -> None:
        """Continue from the state of a queue with the same arguments; `others` are edges seen outside it."""
        unseen, tested = state.take_part("unseen_"), state.take_part("tested_")
        state.check_names(("hubs", "excluded"))
        n = self.n_variables
        self.partners = HubPartners(n, self.seed)
        self.partners.add(state.array("hubs", np.int64, (None,), least=0, most=n - 1, distinct=True))
        excluded = state.array("excluded", np.int64, (None,))
        state.check((np.diff(excluded) > 0).all() and np.isin(excluded, others).all(), "other pairs than active ones")
        self.tested = restore_tested(self.order, tested)
        self._check_pairs(state, others)
        self.excluded.ids = excluded
        self._is_unseen = False
        if self._unseen is not None:
            self._unseen = UnseenPairs(self._unseen.order, self.partners, self.excluded)
            self._unseen.restore(unseen)
        unseen.check(bool(unseen) == (self._unseen is not None), "pairs of another kind of queue")
        self._check_seen(state, np.setdiff1d(others, excluded))

    def _check_seen(self, state: Snapshot, others: np.ndarray) -> None:
        """Raise an error unless `others` and the tested pairs are exactly the seen pairs that are not excluded."""
        n_seen = 0
        for part in self._all_pairs() if self._unseen is None else self._unseen.seen():
            state.check((self.tested.contains(part) | np.isin(part, others)).all(), "fewer pairs than were tested")
            n_seen += len(part)
        n_tested = self.tested.n_waiting + self.tested.n_frozen
        state.check(n_seen == n_tested + len(others), "pairs that were not tested yet")

    def _all_pairs(self) -> Iterator[np.ndarray]:
        order = RandomPairs(self.n_variables, self.seed)
        for first in range(0, len(order), _BLOCK):
            ids = id_of(order.pair(np.arange(first, min(first + _BLOCK, len(order)))), self.n_variables)
            yield ids[~self.excluded.contains(ids)]

    def _check_pairs(self, state: Snapshot, others: np.ndarray) -> None:
        """Raise an error unless `others` are distinct pairs and all queued pairs may be tested."""
        pairs = ends_of(others, self.n_variables)
        state.check(((pairs[:, 0] >= 0) & (pairs[:, 0] < pairs[:, 1])).all(), "edges between unknown variables")
        twice = len(np.unique(others)) < len(others) or self.tested.contains(others).any()
        state.check(not twice, "an edge in two places")
        for ids in self.tested.parts():
            state.check(not self.excluded.contains(ids).any(), "an edge that is not a candidate")
