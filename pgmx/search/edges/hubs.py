"""Nodes of high degree (hubs), whose edges are tested first: the order of the tests, and the progress of each hub."""

from collections.abc import Callable

import numpy as np

from pgmx.runs.checkpoint import Snapshot
from pgmx.search.edges.random_pairs import RandomOrder, id_of

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

    def partner(self, hubs: np.ndarray, turns: np.ndarray) -> np.ndarray:
        """Return the partners of hubs at positions from 0 to n - 2."""
        places = self.rank[hubs] + turns + 1
        places[places >= self.n_variables] -= self.n_variables
        return self.nodes[places]

    def turn(self, hubs: np.ndarray, partners: np.ndarray) -> np.ndarray:
        """Return the positions of partners in the orders of their hubs."""
        turns = self.rank[partners] - self.rank[hubs] - 1
        turns[turns < 0] += self.n_variables
        return turns

    def edges(self, hub: int) -> tuple[np.ndarray, np.ndarray]:
        """Return the ids of all edges of a hub, and the values that break ties of their priorities."""
        turns = np.arange(self.n_variables - 1)
        hubs = np.full(self.n_variables - 1, hub)
        partners = self.partner(hubs, turns)
        older = (self.number[partners] >= 0) & (self.number[partners] < self.number[hub])
        turns = np.where(older, self.number[partners], turns)
        ids = id_of(np.column_stack((hubs, partners)), self.n_variables)
        return ids, turns * self.n_variables + self.number[hub]


class HubTurns:
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

    def window(self, size: int, n_turns: int) -> tuple[np.ndarray, np.ndarray]:
        """Return hubs and positions of the last group's next `size` tests, fewer if it reaches the previous group."""
        members, progress = self.groups[-1]
        while len(self.groups) > 1:
            before, their_progress = self.groups[-2]
            meeting, ahead = divmod(their_progress, len(before))
            if progress < meeting * len(members):
                n_turns = min(n_turns, meeting)
                break
            # The previous group is older, so its members that have not reached this position come first.
            members, progress = np.concatenate((before, members)), meeting * (len(before) + len(members)) + ahead
            self.groups[-2:] = [(members, progress)]
        goes = np.arange(progress, min(progress + size, n_turns * len(members)))
        return members[goes % len(members)], goes // len(members)

    def advance(self, goes: int, n_turns: int) -> None:
        """Advance the last group; it is removed after its last position."""
        members, progress = self.groups[-1]
        if progress + goes >= n_turns * len(members):
            self.groups.pop()
        else:
            self.groups[-1] = members, progress + goes

    def turns_taken(self, hubs: np.ndarray, n_turns: int, n_variables: int) -> np.ndarray:
        """Return the number of tested partners of each node; hubs that are not in a group have tested all."""
        counts = np.zeros(n_variables, dtype=np.int64)
        counts[hubs] = n_turns
        for members, progress in self.groups:
            turns, ahead = divmod(progress, len(members))
            counts[members] = turns
            counts[members[:ahead]] += 1
        return counts

    def state(self, name: str) -> dict[str, np.ndarray]:
        """Return the arrays for `restore`, under names that begin with `name`."""
        return {
            f"{name}_members": np.concatenate([members for members, _ in self.groups] or [np.empty(0, dtype=np.int64)]),
            f"{name}_sizes": np.array([len(members) for members, _ in self.groups], dtype=np.int64),
            f"{name}_progress": np.array([progress for _, progress in self.groups], dtype=np.int64),
        }

    def restore(self, state: Snapshot, name: str, number: np.ndarray, n_turns_of: Callable[[np.ndarray], int]) -> None:
        """Continue from a state; `number` is the number of each hub, `n_turns_of` returns a group's positions."""
        most = len(number) - 1
        members = state.array(f"{name}_members", np.int64, (None,), least=0, most=most, distinct=True)
        sizes = state.array(f"{name}_sizes", np.int64, (None,), least=1, most=len(members))
        progress = state.array(f"{name}_progress", np.int64, sizes.shape, least=0).tolist()
        state.check(sizes.sum() == len(members), f"groups of other sizes than {name!r}")
        self.groups = list(zip(np.split(members, np.cumsum(sizes)[:-1]), progress, strict=True)) if len(sizes) else []
        for group, goes in self.groups:
            is_ordered = number[group[0]] >= 0 and (np.diff(number[group]) > 0).all()
            state.check(is_ordered, f"no hubs, or hubs in another order, in {name!r}")
            state.check(goes < n_turns_of(group) * len(group), f"more turns in {name!r} than there are")
