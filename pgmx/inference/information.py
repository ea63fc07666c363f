"""Information that observations of single variables give about a target variable, in discrete networks."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence

import numpy as np
import pandas as pd

from pgmx.inference.exact.elimination_order import TreewidthError
from pgmx.inference.networks import LogFactors
from pgmx.inference.problem import Evidence, NetworkLike, Problem
from pgmx.inference.reduced_network import ZeroProbabilityError


def mutual_information(
    model: NetworkLike,
    target: Hashable,
    evidence: Evidence | None = None,
    variables: Sequence[Hashable] | None = None,
) -> pd.Series:
    r"""Return how much each variable is expected to tell about a target, given what is observed.

    .. math:: I(X; T \mid e) = \sum_{x, t} p(x, t \mid e) \log \frac{p(x, t \mid e)}{p(x \mid e) \, p(t \mid e)}

    This is the expected reduction of the target's entropy by an observation of X.

    Parameters
    ----------
    model : network, path, fitted learner, CompiledNetwork, PairwisePotentials or LogFactors
        The network, or a file of one (see :func:`pgmx.models.read_model`).
    target : hashable
        Name of a variable that is not observed.
    evidence : dict of {name: state}, optional
        Observed variables.
    variables : sequence of hashable, optional
        Names of distinct variables that are not observed; None: all of these but the target. The target itself may be
        named: its information is its entropy.

    Returns
    -------
    pandas.Series of float64
        Mutual information in nats by name, descending; equal values in the order of the variables.
        Exactly 0 for variables that the evidence d-separates from the target (in a Markov network: separates).

    Raises
    ------
    TreewidthError
        If exact inference needs more than 2 GB, or more than the free memory.
    TypeError, ValueError
        If evidence is impossible or names an unknown variable or state, if a variable is unknown, occurs twice or is
        observed, or if the target is observed.

    Notes
    -----
    Exact, from one pass for each state t of the target, which gives :math:`p(t, e)` and all :math:`p(x \mid t, e)`.
    The variables that are d-separated are found in the graph.

    References
    ----------
    T. M. Cover, J. A. Thomas (2006), Elements of Information Theory, equation 2.28. D. Koller, N. Friedman (2009),
    Probabilistic Graphical Models, algorithm 3.1 (d-separation).

    Examples
    --------
    >>> from pgmx.datasets import load_network
    >>> from pgmx.inference import mutual_information
    >>> mutual_information(load_network("asia"), "lung", {"xray": "yes"}).round(4).head(3)
    either    0.4478
    smoke     0.1182
    dysp      0.0649
    Name: mutual_information, dtype: float64
    """
    problem = Problem.from_model(model)
    codes = problem.encode_evidence(evidence)
    (t,) = problem.find_variables([target], codes)
    if variables is None:
        ids = [v for v in range(len(problem.names)) if v not in codes and v != t]
    else:
        ids = problem.find_variables(variables, codes)
    with problem.name_evidence():
        found = _compute_information(problem, codes, t, ids)
    order = np.argsort(-found, kind="stable")
    index = pd.Index([problem.names[ids[k]] for k in order], tupleize_cols=False, dtype=object)
    return pd.Series(found[order], index=index, name="mutual_information")


def _compute_information(problem: Problem, codes: Mapping[int, int], t: int, ids: Sequence[int]) -> np.ndarray:
    """Return the mutual information of variable t with each of some hidden variables, in nats: (len(ids),)."""
    dependent = _find_dependent(problem, codes, t)
    others = [v for v in ids if v != t and v in dependent]
    logs = np.full(len(problem.states[t]), -np.inf)
    sizes = [len(problem.states[v]) for v in others]
    given = np.zeros((len(logs), sum(sizes)))  # P(x | t, e), the variables side by side
    for state in range(len(logs)):
        try:
            exact = problem.exact({**codes, t: state}, None)
            logs[state] = exact.log_partition
        except ZeroProbabilityError:
            continue
        except TreewidthError as error:
            raise error.with_engines("marginals given each state of the target, with method='corrected'") from None
        if others:
            given[state] = np.concatenate([exact.marginal(v) for v in others])
    if logs.max() == -np.inf:
        _ = problem.exact(codes, None).log_partition  # raises the error that explains it
    weights = np.exp(logs - logs.max())
    weights /= weights.sum()
    found = dict.fromkeys(ids, 0.0)
    if others:
        ratios = np.divide(given, weights @ given, out=np.ones_like(given), where=given > 0.0)
        terms = weights @ (given * np.log(ratios))
        starts = np.cumsum([0, *sizes[:-1]])
        found |= dict(zip(others, np.maximum(np.add.reduceat(terms, starts), 0.0).tolist(), strict=True))
    if t in found:
        found[t] = -float(np.sum(weights * np.log(weights, out=np.zeros_like(weights), where=weights > 0.0)))
    return np.array(list(found.values()))


def _find_dependent(problem: Problem, codes: Mapping[int, int], t: int) -> set[int]:
    """Return the hidden variables that the evidence does not separate from variable t in the graph."""
    n = len(problem.names)
    parents: list[Sequence[int]] = [()] * n
    links: list[set[int]] = [set() for _ in range(n)]  # of a Markov network; else children
    if problem.is_directed:
        parents = [scope[1:] for scope in problem.engine.scopes]
        for v in range(n):
            for u in parents[v]:
                links[u].add(v)
    else:
        model = problem.model
        for scope in model.scopes if isinstance(model, LogFactors) else map(tuple, model.edges.tolist()):
            for v in scope:
                links[v].update(scope)
    informed = set(codes)  # observed variables and their ancestors: a common effect there connects its causes
    waiting = list(codes)
    for v in waiting:  # grows meanwhile
        waiting += [u for u in parents[v] if u not in informed]
        informed.update(parents[v])
    # visits are (variable, whether it is reached from one of its children)
    seen, steps = {(t, True)}, [(t, True)]
    for v, from_below in steps:  # grows meanwhile
        following = []
        if v not in codes:
            following += [(u, False) for u in links[v]]
        if v not in codes if from_below else v in informed:
            following += [(u, True) for u in parents[v]]
        for step in following:
            if step not in seen:
                seen.add(step)
                steps.append(step)
    return {v for v, _ in seen if v not in codes}
