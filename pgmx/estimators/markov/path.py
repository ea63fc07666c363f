"""Penalty path, the choice of a penalty (EBIC, relaxation by refitted parameters), and checkpoints of paths."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from pgmx.estimators.paths import PenaltyPath
from pgmx.inference import PairwisePotentials
from pgmx.models import PairwiseMarkovNetwork
from pgmx.runs.checkpoint import Snapshot
from pgmx.runs.run import Run, SectionStore
from pgmx.search.edges.grafting import COMPLETE, SLACK, Grafting
from pgmx.solvers.markov.penalised_loss import PenalisedLoss

_NETWORKS = ("lams", "objective", "kkt_residual", "n_edges", "edges", "nodes", "tables")

_COUNTS = ("n_iter", "n_active")

#: Snapshots with larger log-potentials are refused.
_MOST = 1e4

#: Weights of the refitted parameters that a selection compares.
RELAXATIONS = (0.0, 0.5, 1.0)


@dataclass(repr=False)
class RegularizationPath(PenaltyPath):
    """Networks for a decreasing sequence of penalties, and the criterion that chose one of them.

    Attributes
    ----------
    lams : ndarray of shape (k,)
        Penalties, the largest first.
    potentials : list of PairwisePotentials
        Parameters under each penalty.
    objective, loss, kkt_residual : list of float
        Objective, loss and residual under each penalty. `n_edges` counts the edges.
    criterion : ndarray of shape (k,) or None
        Values that the selection compares: held-out negative log-pseudolikelihood per row (with ``refit``, of the best
        relaxation), EBIC, or the instability of StARS.
    relaxation : ndarray of shape (k,) or None
        Weight of the refitted parameters in the best weighted mean on the held-out rows, for each penalty. None if not
        compared.
    selected : int
        Position of the chosen penalty.
    names, states : list
        Names and states of the variables.
    """

    names: list
    states: list
    lams: np.ndarray
    potentials: list[PairwisePotentials] = field(default_factory=list)
    objective: list[float] = field(default_factory=list)
    kkt_residual: list[float] = field(default_factory=list)
    criterion: np.ndarray | None = None
    selected: int = -1
    relaxation: np.ndarray | None = None

    def __len__(self) -> int:
        return len(self.potentials)

    def _names(self) -> list:
        return self.names

    def _edges(self, k: int) -> np.ndarray:
        return self.potentials[k].edges

    def model(self, k: int) -> PairwiseMarkovNetwork:
        """Return the network under the k-th penalty.

        Parameters
        ----------
        k : int
            Position in `lams`.

        Returns
        -------
        PairwiseMarkovNetwork
            The network.
        """
        return PairwiseMarkovNetwork.from_potentials(self.names, self.states, self.potentials[k])


# ---- the choice of a penalty ----


def compute_ebic(networks: list[PairwisePotentials], losses: list[float], n_rows: float, gamma: float) -> np.ndarray:
    """Return 2 N L + df ln N + 4 γ |E| ln n of each network, with (s_i - 1)(s_j - 1) degrees of freedom per edge."""
    criteria = []
    for potentials, loss in zip(networks, losses, strict=True):
        free = potentials.cardinalities - 1
        df = float((free[potentials.edges[:, 0]] * free[potentials.edges[:, 1]]).sum())
        prior = 4 * gamma * potentials.n_edges * np.log(potentials.n_variables)
        criteria.append(2 * n_rows * loss + df * np.log(n_rows) + prior)
    return np.array(criteria)


def average_potentials(penalised: PairwisePotentials, refitted: PairwisePotentials, share: float) -> PairwisePotentials:
    """Return (1 - share) times the first parameters plus share times the second, over the edges of both."""
    # exactly the given parameters, without rounding of a sum with zero
    if share in (0.0, 1.0):
        return refitted if share else penalised
    nodes = (1 - share) * penalised.node_values + share * refitted.node_values
    offsets = np.concatenate([[0], np.cumsum(penalised.cardinalities)])
    tables = [*_scale_tables(penalised, 1 - share), *_scale_tables(refitted, share)]
    return PairwisePotentials.build(penalised.cardinalities, np.split(nodes, offsets[1:-1]), tables)


def _scale_tables(potentials: PairwisePotentials, share: float) -> Iterator[tuple[tuple[int, int], np.ndarray]]:
    for (i, j), table in zip(potentials.edges.tolist(), potentials.tables(), strict=True):
        yield (i, j), share * table


def measure_averages(
    penalised: PairwisePotentials, refitted: PairwisePotentials, codes: np.ndarray, weights: np.ndarray | None
) -> list[float]:
    """Return the negative log-pseudolikelihood per row of codes (n, rows) for each weight in `RELAXATIONS`."""
    return [measure_loss(average_potentials(penalised, refitted, share), codes, weights) for share in RELAXATIONS]


def measure_loss(potentials: PairwisePotentials, codes: np.ndarray, weights: np.ndarray | None) -> float:
    """Return the negative log-pseudolikelihood per row of codes (n, rows)."""
    return float(-np.average(potentials.pseudo_log_likelihood(codes), weights=weights))


# ---- checkpoints ----


class PathStore(SectionStore):
    """State of a path: the networks under its first penalties in `path`, and the grafting state under the next one.

    `reason` is the reason why the path ended, "" while it is running.
    """

    def __init__(self, checkpoint: "SelectionCheckpoint", run: Run, path: RegularizationPath, state: Snapshot):
        self.path, self.reason, self._checkpoint, self._state = path, "", checkpoint, state
        grafting, self._selector_state = state.take_part("grafting_"), state.take_part("selector_")
        if state:
            _read_networks(state, path)
            if grafting:
                state.check(len(path) < len(path.lams), "a path that is solved already")
            else:
                state.check(len(path) > 0, "a path without networks")
                self.reason = COMPLETE[state.integer("reason", 0, len(COMPLETE) - 1)]
                self._counts = {name: state.integer(name, 0) for name in _COUNTS}
            state.check_names((*_NETWORKS, *(() if grafting else ("reason", *_COUNTS))))
        super().__init__(run, grafting if grafting else None, self._save)

    def _save(self, state: dict[str, Any], n_rows: int | None) -> None:
        grafting = {f"grafting_{name}": value for name, value in state.items()}
        self._checkpoint.save({**_pack_networks(self.path), **grafting}, n_rows)

    def check_networks(self, loss: PenalisedLoss) -> None:
        """Raise an error unless the stored networks have their stored objectives. The loss is set to each of them."""
        # the objective of the Bethe loss depends on its messages, which the snapshot of a path does not hold
        for k, network in enumerate(self.path.potentials if loss.is_convex else ()):
            loss.lam = self.path.lams[k]
            loss.set_potentials(network)
            objective, expected = self.path.objective[k], loss.objective()
            is_right = abs(objective - expected) <= SLACK * max(1.0, abs(objective))
            self._state.check(is_right, f"a network with objective={objective}, expected {expected}")

    def restore_counts(self, grafting: Grafting) -> None:
        """Set the counts of a run to the counts of the solved path."""
        grafting.n_iter, grafting.n_active = (self._counts[name] for name in _COUNTS)
        grafting.selector.restore(self._selector_state, grafting.loss)

    def append(self, loss: PenalisedLoss) -> None:
        """Add the current network of a loss under the next penalty."""
        path = self.path
        path.objective.append(loss.objective())
        path.kkt_residual.append(loss.kkt_residual())
        path.potentials.append(loss.potentials())  # last, because their number is the length of the path

    def end(self, reason: str, grafting: Grafting) -> None:
        """Store why the path ended. An interrupted path is not stored as solved."""
        self.reason, self.path.lams = reason, self.path.lams[: len(self.path)]
        if reason in COMPLETE:
            selected = {f"selector_{name}": value for name, value in grafting.selector.state().items()}
            counts = {name: getattr(grafting, name) for name in _COUNTS}
            self._checkpoint.add({**_pack_networks(self.path), "reason": COMPLETE.index(reason), **counts, **selected})
        else:
            self._checkpoint.close()


class SelectionCheckpoint:
    """Paths of a selection in the checkpoint of its run, in the order of their solution."""

    def __init__(self, run: Run):
        self._run = run
        self._solved: list[dict[str, Any]] = []
        self._is_closed = False
        self._parts: list[Snapshot] = []
        snapshot = run.restore()
        if snapshot is not None:
            # each path has arrays of its own: a file cannot declare more paths than arrays
            n_parts = snapshot.integer("n_paths", 1, len(snapshot.names))
            self._parts = [snapshot.take_part(f"{k}_") for k in range(n_parts)]
            snapshot.check_names(("n_paths",))
            snapshot.check(all(self._parts), "no arrays of a path")

    def open(self, path: RegularizationPath) -> PathStore:
        """Return the state of the next path, with all of its penalties in `lams` and the networks so far."""
        part = self._parts.pop(0) if self._parts else Snapshot({})
        arrays = {name: part.value(name) for name in part.names}
        store = PathStore(self, self._run, path, part)
        if store.reason:
            self._solved.append(arrays)
        else:
            part.check(not self._parts, "a path that started before an earlier path was solved")
        return store

    def add(self, arrays: dict[str, Any]) -> None:
        """Store a solved path with its final state."""
        self._solved.append(arrays)

    def close(self) -> None:
        """Stop storing paths, because the run is over and paths may be incomplete."""
        self._is_closed = True

    def save(self, begun: dict[str, Any], n_rows: int | None) -> None:
        """Write the solved paths and the state of the next one."""
        if not self._is_closed:
            paths = enumerate([*self._solved, begun])
            parts = {f"{k}_{name}": value for k, arrays in paths for name, value in arrays.items()}
            self._run.save({"n_paths": len(self._solved) + 1, **parts}, n_rows=n_rows)


def _pack_networks(path: RegularizationPath) -> dict[str, Any]:
    """Return the networks of a path as arrays."""
    networks = path.potentials
    return {
        "lams": path.lams,
        "objective": np.array(path.objective[: len(path)], dtype=float),
        "kkt_residual": np.array(path.kkt_residual[: len(path)], dtype=float),
        "n_edges": path.n_edges,
        "edges": np.concatenate([np.zeros((0, 2), dtype=np.int64), *(one.edges for one in networks)]),
        "nodes": np.concatenate([np.zeros(0), *(one.node_values for one in networks)]),
        "tables": np.concatenate([np.zeros(0), *(one.edge_values for one in networks)]),
    }


def _read_networks(state: Snapshot, path: RegularizationPath) -> None:
    """Add the networks that `_pack_networks` stored in a snapshot to a path."""
    lams, n = state.array("lams", float, (None,)), len(path.states)
    state.check(0 < len(lams) <= len(path.lams) and np.array_equal(lams, path.lams[: len(lams)]), "other penalties")
    cards = np.array([len(states) for states in path.states], dtype=np.int64)
    n_edges = state.array("n_edges", np.int64, (None,), least=0, most=n * (n - 1) // 2)
    k = len(n_edges)
    # checked before arrays of this size are read
    state.check(k <= len(lams) and n_edges.sum() < 10**9, "more networks than penalties, or too many edges")
    edges = state.array("edges", np.int64, (int(n_edges.sum()), 2), least=0, most=n - 1)
    n_cells = np.prod(cards[edges], axis=1)
    nodes = state.array("nodes", float, (k * int(cards.sum()),), least=-_MOST, most=_MOST)
    tables = state.array("tables", float, (int(n_cells.sum()),), least=-_MOST, most=_MOST)
    last_edges = np.cumsum(n_edges)[:-1]
    last_cells = np.append(0, np.cumsum(n_cells))[last_edges]
    parts = (np.split(nodes, k), np.split(edges, last_edges), np.split(tables, last_cells)) if k else ((), (), ())
    try:
        path.potentials = [PairwisePotentials(cards, *one) for one in zip(*parts, strict=True)]
    except ValueError as error:
        raise state.error(f"no network ({error})") from error
    path.lams = lams
    for name in ("objective", "kkt_residual"):
        setattr(path, name, state.array(name, float, (k,), finite=False).tolist())
