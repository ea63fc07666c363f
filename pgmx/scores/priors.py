"""Prior probabilities of graphs, given by the change of their logarithm under a move."""

from dataclasses import dataclass
from math import log

from pgmx.checks import is_number


@dataclass(frozen=True)
class StructurePrior:
    """Base of the structure priors; by default all graphs are equally likely.

    A move changes the log prior by `bonus`, which depends on the number of edges, and by `parameter_cost` per free
    parameter of a family. Both are computed in O(1).
    """

    @property
    def bonus(self) -> tuple[float, float, float]:
        """Changes of the log prior by an addition, a deletion and a reversal of an edge, in nats."""
        return 0.0, 0.0, 0.0

    @property
    def parameter_cost(self) -> float:
        """Decrease of the log prior per free parameter, in nats."""
        return 0.0

    def log_prior(self, n_edges: int) -> float:
        """Return the term of the log prior that depends on the number of edges, in nats, up to a constant."""
        return 0.0


@dataclass(frozen=True)
class UniformPrior(StructurePrior):
    r"""All graphs are equally likely.

    .. math:: \ln P(G) = \text{const}

    Examples
    --------
    >>> UniformPrior().log_prior(7)
    0.0
    """


@dataclass(frozen=True)
class EdgePrior(StructurePrior):
    r"""Each edge makes a graph less likely by the same factor.

    .. math:: \ln P(G) = |E(G)| \ln c + \text{const}, \qquad 0 < c < 1

    Parameters
    ----------
    c : float
        The factor.

    Raises
    ------
    ValueError
        If `c` is not between 0 and 1.

    References
    ----------
    .. [1] Heckerman, D., Geiger, D. and Chickering, D. M. (1995). Learning Bayesian networks: the combination of
       knowledge and statistical data. Machine Learning 20, 197-243, section 6.2.

    Examples
    --------
    >>> prior = EdgePrior(0.5)
    >>> round(prior.log_prior(2), 3), [round(change, 3) for change in prior.bonus]
    (-1.386, [-0.693, 0.693, 0.0])
    """

    c: float

    def __post_init__(self):
        if not is_number(self.c) or not 0 < self.c < 1:
            raise ValueError(f"the factor c of an EdgePrior must lie between 0 and 1, got {self.c!r}")

    @property
    def bonus(self) -> tuple[float, float, float]:
        """Changes of the log prior by an addition, a deletion and a reversal of an edge, in nats."""
        return log(self.c), -log(self.c), 0.0

    def log_prior(self, n_edges: int) -> float:
        """Return the log prior of a graph with `n_edges` edges, in nats, up to a constant."""
        return n_edges * log(self.c)


@dataclass(frozen=True)
class ParameterPrior(StructurePrior):
    r"""Each free parameter makes a graph less likely by the same factor.

    .. math:: \ln P(G) = -\text{cost} \sum_x \dim(x \mid \Pi_x^G) + \text{const}

    with dim = q (r - 1) for r states and q configurations of the parents, and :math:`|\Pi| + 2` for a linear Gaussian
    family. The cost is added to the penalty of the score, and score equivalence is kept.

    Parameters
    ----------
    cost : float
        Nats per free parameter, not negative.

    Raises
    ------
    ValueError
        If `cost` is negative or not finite.

    Examples
    --------
    >>> ParameterPrior(0.5).parameter_cost
    0.5
    """

    cost: float

    def __post_init__(self):
        if not is_number(self.cost) or self.cost < 0:
            raise ValueError(f"the cost of a ParameterPrior must be a number of nats, 0 or more, got {self.cost!r}")

    @property
    def parameter_cost(self) -> float:
        """Decrease of the log prior per free parameter, in nats."""
        return float(self.cost)
