"""Missing cells of many rows under conditional linear Gaussian networks of one graph: expectations, draws, guesses."""

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
    """What decides D draws for each of L rows that lack cells.

    `places` are the numbers of the rows among these L; `uniforms` of [0, 1), (columns, L, D), `normals` (m, D). A
    variable has for each row, in `ranks` (n, L), its column of the former if it has states, else its row of the latter.
    """

    places: np.ndarray
    uniforms: np.ndarray
    normals: np.ndarray
    ranks: np.ndarray


class MissingCells:
    """The missing cells of rows, piece by piece, for all parameters of a graph.

    `shapes` are the families of the graph, `plans` the pieces and how to compute them.
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
        """Return the log-density of what is known in the pieces, and expected totals of each family, flat.

        The log-density is weighted and summed; so are the counts and moments of the families that pieces touch, in rows
        where they do. Those of others are 0.
        """
        totals = np.zeros(self._total_begins[-1])
        solver = self._solver
        likelihood = solver.expect(0, solver.n_pieces, _flatten(network), rows.codes, rows.numbers, weights, totals)
        return likelihood, np.split(totals, self._total_begins[1:-1])

    def draw(self, network: MixedFamilies, rows: MixedRows, random: RandomNumbers, drawn: MixedRows) -> None:
        """Write joint draws into `drawn`, of which each row that lacks cells has D copies in succession."""
        self._solver.draw(
            0, self._solver.n_pieces, _flatten(network), rows.codes, rows.numbers, *random, drawn.codes, drawn.numbers
        )

    def impute(self, network: MixedFamilies, rows: MixedRows, filled: MixedRows) -> None:
        """Write the most probable states and the mean floats, given the row, into `filled`."""
        solver = self._solver
        solver.impute(0, solver.n_pieces, _flatten(network), rows.codes, rows.numbers, filled.codes, filled.numbers)


def _flatten(network: MixedFamilies) -> np.ndarray:
    """Return the parameters of all families, as the solver takes them."""
    parts = [np.empty(0)]
    for family in network.families:
        if isinstance(family, DiscreteFamily):
            parts.append(take_logs(family.table).ravel())
        else:
            parts.append(np.concatenate([family.coefficients, family.std[..., None]], axis=-1).ravel())
    return np.concatenate(parts)


def _describe(shapes: Sequence[Shape], piece: Piece, question: Question) -> list[int]:
    """Return the program of a piece."""
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
    """Return how far apart the cells of an array are along each axis."""
    return [prod(sizes[k + 1 :]) for k in range(len(sizes))]


def _begins(sizes: Iterable[int]) -> np.ndarray:
    """Return where parts of these sizes begin, and where the last one ends."""
    return np.fromiter(accumulate(sizes, initial=0), dtype=np.int64)


def _join(parts: Iterable[Iterable[int]]) -> np.ndarray:
    return np.fromiter(chain.from_iterable(parts), dtype=np.int64)
