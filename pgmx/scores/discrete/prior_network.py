"""A prior network as arrays, and its exact joint probabilities."""

from math import prod

import numpy as np

from pgmx.checks import check_same_names, join_names

#: Most cells of a table that marginalisation may make (512 MiB of float64).
MAX_CELLS = 2**26


class PriorNetwork:
    """A discrete Bayesian network over the columns of a table.

    Parameters
    ----------
    names : list
        Names of the variables, ids are positions in it.
    states : list of tuple
        States of each variable.
    tables : list of (tuple of int, ndarray)
        For each variable the ids (itself, parents...) and its conditional probabilities with these axes.
    """

    def __init__(self, names: list, states: list, tables: list[tuple[tuple[int, ...], np.ndarray]]):
        self.names = names
        self.states = states
        self.tables = tables
        self.edgeless = all(len(ids) == 1 for ids, _ in tables)

    @classmethod
    def of_pgmpy(cls, network) -> "PriorNetwork":
        """Read a pgmpy network; its nodes and states stay in their order."""
        from pgmpy.models import DiscreteBayesianNetwork

        if not isinstance(network, DiscreteBayesianNetwork):
            raise TypeError(
                "prior_network must be a pgmpy.models.DiscreteBayesianNetwork with its CPDs, "
                f"got {type(network).__name__}"
            )
        names = list(network.nodes())
        cpds = {cpd.variable: cpd for cpd in network.get_cpds()}
        bare = [name for name in names if name not in cpds]
        if bare:
            raise ValueError(f"the prior network has no CPD for {join_names(bare)}: add one for every node")
        network.check_model()
        ids = {name: v for v, name in enumerate(names)}
        states = [tuple(cpds[name].state_names[name]) for name in names]
        tables = []
        for name in names:
            cpd = cpds[name]
            values = np.array(cpd.values, dtype=np.float64)
            for axis, variable in enumerate(cpd.variables):
                values = values.take(order_of(cpd.state_names[variable], states[ids[variable]], variable), axis=axis)
            if not (values > 0).all():
                raise ValueError(
                    f"the prior network gives probability zero to a state of {name!r}: every probability must be "
                    "positive, or the data could be impossible under it"
                )
            # pgmpy lets columns pass that add up to 1 within 0.01, as rounded files have them
            tables.append((tuple(ids[variable] for variable in cpd.variables), values / values.sum(axis=0)))
        return cls(names, states, tables)

    def check_names(self, names) -> None:
        """Raise where `names` are not those of the network."""
        check_same_names(self.names, names, "the prior network", "the data")

    def over(self, names, states) -> "PriorNetwork":
        """Return the network with variables and states in the order of a table, or raise where they differ."""
        self.check_names(names)
        theirs = {name: v for v, name in enumerate(self.names)}
        ours = {name: v for v, name in enumerate(names)}
        orders = [order_of(self.states[theirs[name]], wanted, name) for name, wanted in zip(names, states, strict=True)]
        tables = []
        for name in names:
            ids, values = self.tables[theirs[name]]
            new_ids = tuple(ours[self.names[v]] for v in ids)
            for axis, v in enumerate(new_ids):
                values = values.take(orders[v], axis=axis)
            tables.append((new_ids, values))
        return PriorNetwork(list(names), [tuple(wanted) for wanted in states], tables)

    def joint(self, variables: list[int]) -> np.ndarray:
        """Return the joint distribution of `variables`, one axis each in their order."""
        wanted, ancestors = list(variables), set()
        while wanted:
            v = wanted.pop()
            if v not in ancestors:
                ancestors.add(v)
                wanted.extend(self.tables[v][0][1:])
        factors = [self.tables[v] for v in sorted(ancestors)]
        hidden = ancestors - set(variables)
        while hidden:
            v = min(hidden, key=lambda u: (self._size_without(u, factors), u))
            hidden.remove(v)
            touched = [factor for factor in factors if v in factor[0]]
            kept = tuple(sorted({u for ids, _ in touched for u in ids} - {v}))
            factors = [factor for factor in factors if v not in factor[0]]
            factors.append((kept, self._product(touched, kept)))
        return self._product(factors, tuple(variables))

    def _size_without(self, v: int, factors) -> int:
        around = {u for ids, _ in factors if v in ids for u in ids} - {v}
        return prod(len(self.states[u]) for u in around)

    def _product(self, factors, kept: tuple[int, ...]) -> np.ndarray:
        cells = prod(len(self.states[u]) for u in {*kept, *(u for ids, _ in factors for u in ids)})
        if cells > MAX_CELLS:
            raise ValueError(
                f"the joint distribution of {join_names([self.names[u] for u in kept])} under the prior network takes "
                f"tables of {cells:,} cells: set max_indegree, or give a prior network with fewer edges"
            )
        labels = {u: i for i, u in enumerate(sorted({*kept, *(u for ids, _ in factors for u in ids)}))}
        operands = [part for ids, values in factors for part in (values, [labels[u] for u in ids])]
        return np.einsum(*operands, [labels[u] for u in kept], optimize="greedy")


def order_of(states, wanted, name) -> list[int]:
    """Return where each state of `wanted` stands in `states`, or raise where they are not the same."""
    place = {state: i for i, state in enumerate(states)}
    if set(place) != set(wanted):
        raise ValueError(
            f"the prior network has the states {join_names(list(states))} for {name!r}, the data "
            f"{join_names(list(wanted))}: give the data's columns all states of the network, in any order"
        )
    return [place[state] for state in wanted]
