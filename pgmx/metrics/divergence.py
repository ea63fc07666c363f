"""Kullback-Leibler divergence between two discrete Bayesian networks over the same variables."""

from __future__ import annotations

from collections.abc import Hashable
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from pgmx.checks import check_natural, check_same_names
from pgmx.fitted import FittedLearner
from pgmx.inference.exact.family_marginals import FamilyMarginals
from pgmx.inference.likelihood import look_up_logs
from pgmx.inference.named_networks import BayesianArrays, draw_codes
from pgmx.inference.networks import take_logs

if TYPE_CHECKING:
    from pgmpy.models import DiscreteBayesianNetwork

_STREAM = 0x6B6C  # separates the seeds of these samples from other seeds


class Divergence(NamedTuple):
    """A Kullback-Leibler divergence and its standard error.

    Parameters
    ----------
    nats : float
        The divergence in nats; ``inf`` if an outcome is possible in `p` and impossible in `q`.
    standard_error : float
        Standard error of `nats`; 0 if it is exact.
    exact : bool
        True if `nats` comes from exact inference alone; False if samples of `p` were used for some families.
    impossible : tuple
        Variables whose tables in `q` have probability 0 for outcomes that are possible in `p`, which makes the
        divergence infinite.

    Examples
    --------
    >>> Divergence(nats=0.25, standard_error=0.0, exact=True, impossible=()).nats
    0.25
    """

    nats: float
    standard_error: float
    exact: bool
    impossible: tuple[Hashable, ...]


def kl_divergence(
    p: DiscreteBayesianNetwork | FittedLearner,
    q: DiscreteBayesianNetwork | FittedLearner,
    *,
    max_cells: int = 2**18,
    n_samples: int = 100_000,
    random_state: int = 0,
) -> Divergence:
    r"""Return the Kullback-Leibler divergence of a discrete Bayesian network from another one.

    With :math:`U_v` and :math:`W_v` the parents of variable :math:`v` in `p` and in `q`,

    .. math:: D(P \| Q) = \sum_x P(x) \ln \frac{P(x)}{Q(x)}
              = \sum_v \Big( \sum_{x_v, u} P(x_v, u) \ln P(x_v \mid u)
              - \sum_{x_v, w} P(x_v, w) \ln Q(x_v \mid w) \Big),

    in nats. The joint distributions of the families are computed by variable elimination in `p`. If this needs a table
    of more than `max_cells` cells, the terms of that variable are the mean over rows sampled from `p`, and the field
    ``exact`` of the result is False.

    Parameters
    ----------
    p, q : DiscreteBayesianNetwork or fitted learner
        Networks with a table for every node, over the same variables; `p` is the true network. States are matched by
        name in any order; a state that `q` does not have has probability 0 in `q`. The networks are not changed.
    max_cells : int, default=2**18
        Maximum number of cells of a table in exact inference; 0 uses samples for all variables.
    n_samples : int, default=100_000
        Number of sampled rows if tables are too large, at least 2.
    random_state : int, default=0
        Seed of the samples; they differ from the rows of `pgmx.datasets.sample` with the same seed.

    Returns
    -------
    Divergence
        A named tuple ``(nats, standard_error, exact, impossible)``. An exact divergence is at least 0; an estimate may
        be negative because of its error. One sampled row with probability 0 in `q` proves an infinite divergence.

    Raises
    ------
    TypeError, ValueError
        If `p` or `q` is not a discrete Bayesian network or lacks a table, the variables differ, a variable has no
        common state, or a number is out of range.

    Notes
    -----
    Distributions are scaled to the sum 1, since files hold rounded decimals. Each distinct family costs one elimination
    of its ancestors. Networks learned by maximum likelihood from few rows have probability 0 for possible outcomes, so
    their divergence is infinite; see `pseudo_count` of `learning_curve`.

    References
    ----------
    D. Koller, N. Friedman (2009), Probabilistic Graphical Models, appendix A.1.3.2 and section 9.3 (elimination).

    Examples
    --------
    >>> from pgmx.datasets import load_network
    >>> from pgmx.metrics import kl_divergence
    >>> truth = load_network("cancer")
    >>> other = truth.copy()
    >>> other.get_cpds("Smoker").values = [0.5, 0.5]
    >>> round(kl_divergence(truth, other).nats, 6)
    0.082283
    """
    true = BayesianArrays.from_model(p, "p").normalise()
    other = _align(BayesianArrays.from_model(q, "q").normalise(), true)
    max_cells, n_samples = check_natural(max_cells, "max_cells", 0), check_natural(n_samples, "n_samples", 2)
    random_state = check_natural(random_state, "random_state", 0)
    return compute_divergence(FamilyMarginals(true, max_cells), other, n_samples, random_state)


def _align(other: BayesianArrays, true: BayesianArrays) -> BayesianArrays:
    """Return a network in the order of the true one; raise an error without common variables or states."""
    check_same_names(true.names, other.names, "the first network", "the second")
    other_states = dict(zip(other.names, other.states, strict=True))
    for name, states in zip(true.names, true.states, strict=True):
        if not set(states) & set(other_states[name]):
            raise ValueError(
                f"variable {name!r} has the states {list(states)} in one network and {list(other_states[name])} in "
                "the other: none in common. Give both the same names (text from a file is not a number)"
            )
    return other.align(true.names, true.states)


def compute_divergence(
    marginals: FamilyMarginals, other: BayesianArrays, n_samples: int, random_state: int
) -> Divergence:
    """Return the divergence of the network of `marginals` from another one; large families use sampling."""
    true = marginals.arrays
    nats, impossible, sampled = 0.0, [], []
    for v in range(len(true.names)):
        joint, other_joint = (marginals.joint((v, *network.parents[v])) for network in (true, other))
        if joint is None or other_joint is None:
            sampled.append(v)
            continue
        term = _average_log(joint, true.tables[v]) - _average_log(other_joint, other.tables[v])
        nats += term
        if term == np.inf:
            impossible.append(true.names[v])
    error, exact = 0.0, True
    if sampled:
        mean, error, zeros = _sample_log_ratio(true, other, sampled, n_samples, random_state)
        nats += mean
        impossible += [true.names[v] for v in zeros]
        exact = bool(nats == np.inf)
    if exact:
        nats, error = max(nats, 0.0), 0.0  # sums of rounded terms may be a little below 0
    return Divergence(float(nats), float(error), exact, tuple(impossible))


def _average_log(joint: np.ndarray, table: np.ndarray) -> float:
    """Return E[ln table] over cells with positive `joint`; -inf if the table is 0 in one of these cells."""
    possible = joint > 0.0
    return float(joint[possible] @ take_logs(table[possible]))


def _sample_log_ratio(
    true: BayesianArrays, other: BayesianArrays, variables: list[int], n_samples: int, random_state: int
) -> tuple[float, float, list[int]]:
    """Return mean and standard error of the variables' log-ratio, and the variables at which `other` has a zero."""
    # Not the rows that `sample` draws with the same seed: `other` may have been learned from them.
    seed = int(np.random.SeedSequence([random_state, _STREAM]).generate_state(1, np.uint64)[0])
    codes = draw_codes(true, n_samples, seed)
    ratio = np.zeros(n_samples)
    zeros = []
    for v in variables:
        ratio += look_up_logs([codes[u] for u in (v, *true.parents[v])], take_logs(true.tables[v]))
        term = look_up_logs([codes[u] for u in (v, *other.parents[v])], take_logs(other.tables[v]))
        ratio -= term
        if term.min() == -np.inf:
            zeros.append(v)
    if zeros:
        return np.inf, 0.0, zeros
    return ratio.mean(), ratio.std(ddof=1) / np.sqrt(n_samples), zeros
