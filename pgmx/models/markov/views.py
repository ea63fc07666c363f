"""Conversions of a Markov network: a Bayesian network with parameters, a chordal graph, independence statements."""

from itertools import combinations

import networkx as nx
import numpy as np
from pgmpy.factors.discrete import TabularCPD
from pgmpy.independencies import Independencies
from pgmpy.models import DiscreteBayesianNetwork, DiscreteMarkovNetwork

from pgmx.inference.exact.junction_tree import elimination_plan
from pgmx.inference.problem import EXACT_MEMORY, Problem


def make_bayesian_network(problem: Problem, memory: int = EXACT_MEMORY) -> DiscreteBayesianNetwork:
    """Return a Bayesian network with the same distribution and its tables; raise TreewidthError if too large.

    The parents of a variable are the variables before it in its clique of the junction tree.
    """
    tree = problem.exact({}, memory)
    names, states = problem.names, problem.states
    model = DiscreteBayesianNetwork()
    model.add_nodes_from(names)
    cpds = []
    for scope, shared, table in zip(tree.plan.cliques, tree.plan.sepsets, tree.conditionals(), strict=True):
        for k in range(len(shared), len(scope)):
            parents = scope[:k]
            values = table.sum(axis=tuple(range(k + 1, len(scope)))).reshape(-1, len(states[scope[k]])).T
            sums = values.sum(axis=0)
            values = np.where(sums > 0, values / np.where(sums > 0, sums, 1.0), 1.0 / len(values))
            model.add_edges_from((names[u], names[scope[k]]) for u in parents)
            cpds.append(
                TabularCPD(
                    names[scope[k]],
                    len(values),
                    values,
                    [names[u] for u in parents],
                    [len(states[u]) for u in parents],
                    {names[u]: list(states[u]) for u in scope[: k + 1]},
                )
            )
    model.add_cpds(*cpds)
    return model


def make_chordal_graph(problem: Problem) -> DiscreteMarkovNetwork:
    """Return the graph with the edges that elimination adds, without factors."""
    graph = DiscreteMarkovNetwork()
    graph.add_nodes_from(problem.names)
    pairs = {
        tuple(sorted(pair)) for clique in elimination_plan(problem.model).cliques for pair in combinations(clique, 2)
    }
    graph.add_edges_from((problem.names[i], problem.names[j]) for i, j in sorted(pairs))
    return graph


def list_independencies(graph: nx.Graph) -> Independencies:
    """Return one statement per node: it is independent of its non-neighbours given its neighbours."""
    statements = Independencies()
    for node in graph.nodes():
        near = set(graph.neighbors(node))
        rest = [other for other in graph.nodes() if other != node and other not in near]
        if rest:
            statements.add_assertions([[node], rest, sorted(near, key=list(graph.nodes()).index)])
    return statements
