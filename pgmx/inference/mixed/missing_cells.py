"""Missing values of many rows under conditional linear Gaussian networks of one graph: expected values and draws."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import accumulate, chain
from math import prod
from typing import NamedTuple

import numpy as np

from pgmx._ext._mixed_pieces import PieceSolver
from pgmx.inference.mixed.families import DiscreteFamily, MixedFamilies, MixedRows
from pgmx.inference.mixed.moments import Shape, count_totals
from pgmx.inference.mixed.pieces import Piece
from pgmx.inference.mixed.posterior import Question
from pgmx.inference.networks.log_tables import take_logs


class RandomNumbers(NamedTuple):
    """The random numbers for D draws for each of L incomplete rows.

    `places` are the positions of the rows among these L. `uniforms` in [0, 1) are (columns, L, D), `normals` (m, D).
    `ranks` (n, L) holds per variable and row the index into `uniforms` (discrete) or `normals` (continuous).
    """

    places: np.ndarray
    uniforms: np.ndarray
    normals: np.ndarray
    ranks: np.ndarray


class MissingCells:
    """The missing values of rows, in independent blocks, for all parameters of a graph.

    `shapes` are the families of the graph, `plans` the blocks and their computations.
    """

    def __init__(self, cards: Sequence[int], shapes: Sequence[Shape], plans: Sequence[tuple[Piece, Question]]):
        states = [[shape.states, _steps([cards[u] for u in shape.states])] for shape in shapes]
        floats = [shape.floats if cards[shape.child] else shape.floats[:-1] for shape in shapes]
        parameters = [
            prod(cards[u] for u in shape.states) * (1 if cards[shape.child] else len(shape.floats) + 1)
            for shape in shapes
        ]
        self._total_begins = _begins(count_totals(cards, shape) for shape in shapes)
        programs = [_describe(shapes, piece, question) for piece, question in plans]
        rows = [piece.rows for piece, _ in plans]
        self._solver = PieceSolver(
            np.array(cards, dtype=np.int64),
            _begins(len(shape.states) for shape in shapes),
            _join(members for members, _ in states),
            _join(steps for _, steps in states),
            _begins(map(len, floats)),
            _join(floats),
            _begins(parameters),
            self._total_begins,
            _join(programs),
            _begins(map(len, programs)),
            np.concatenate([np.empty(0, dtype=np.int64), *rows]).astype(np.int64),
            _begins(map(len, rows)),
        )

    def expect(self, network: MixedFamilies, rows: MixedRows, weights: np.ndarray) -> tuple[float, list[np.ndarray]]:
        """Return the log-density of the blocks' observed values, and expected totals of each family, flattened.

        Both are weighted sums over rows. The totals are the counts and moments of the families with missing values, in
        the rows where these are missing; 0 for other families.
        """
        totals = np.zeros(self._total_begins[-1])
        solver = self._solver
        likelihood = solver.expect(0, solver.n_pieces, _flatten(network), rows.codes, rows.numbers, weights, totals)
        return likelihood, np.split(totals, self._total_begins[1:-1])

    def draw(self, network: MixedFamilies, rows: MixedRows, random: RandomNumbers, drawn: MixedRows) -> None:
        """Write joint draws into `drawn`, which has D consecutive copies of each incomplete row."""
        self._solver.draw(
            0, self._solver.n_pieces, _flatten(network), rows.codes, rows.numbers, *random, drawn.codes, drawn.numbers
        )

    def impute(self, network: MixedFamilies, rows: MixedRows, filled: MixedRows) -> None:
        """Write the most probable states and the means of continuous variables, given the row, into `filled`."""
        solver = self._solver
        solver.impute(0, solver.n_pieces, _flatten(network), rows.codes, rows.numbers, filled.codes, filled.numbers)


def _flatten(network: MixedFamilies) -> np.ndarray:
    """Return the parameters of all families in the layout of the solver."""
    parts = [np.empty(0)]
    for family in network.families:
        if isinstance(family, DiscreteFamily):
            parts.append(take_logs(family.table).ravel())
        else:
            parts.append(np.concatenate([family.coefficients, family.std[..., None]], axis=-1).ravel())
    return np.concatenate(parts)


def _describe(shapes: Sequence[Shape], piece: Piece, question: Question) -> list[int]:
    """Return the program of a block (see `PieceSolver`)."""
    plan, components = question.plan, question.components
    program = [len(question.states), 0 if plan is None else len(plan.cliques), len(question.families), len(components)]
    program += question.states
    place = {u: k for k, u in enumerate(question.states)}
    scopes = [[place[u] for u in component.scope] for component in components]
    homes = [-1] * len(components)
    if plan is not None:
        rank, home_of = plan.rank.tolist(), plan.homes.tolist()
        program += home_of
        for clique, sepset, parent in zip(plan.cliques, plan.sepsets, plan.parents.tolist(), strict=True):
            program += [len(clique), len(sepset), parent, *clique]
        hidden = set(piece.hidden)
        for v in question.families:
            members = [place[u] for u in shapes[v].states if u in hidden]
            program += [v, home_of[min(members, key=rank.__getitem__)]]
        homes = [home_of[min(scope, key=rank.__getitem__)] if scope else -1 for scope in scopes]
    for component, scope, home in zip(components, scopes, homes, strict=True):
        program += [len(component.members), len(component.floats), len(scope), home]
        program += [*component.members, *component.floats, *scope]
    return program


def _steps(sizes: Sequence[int]) -> list[int]:
    """Return the strides of an array of these sizes."""
    return [prod(sizes[k + 1 :]) for k in range(len(sizes))]


def _begins(sizes: Iterable[int]) -> np.ndarray:
    """Return the offsets of consecutive segments of these sizes, and the end of the last."""
    return np.fromiter(accumulate(sizes, initial=0), dtype=np.int64)


def _join(parts: Iterable[Iterable[int]]) -> np.ndarray:
    return np.fromiter(chain.from_iterable(parts), dtype=np.int64)
