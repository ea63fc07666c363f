"""Forward sampling of discrete Bayesian networks as frames."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pandas as pd

from pgmx.checks import check_natural, check_seed
from pgmx.fitted import FittedLearner
from pgmx.inference.named_networks import BayesianArrays, draw_codes

if TYPE_CHECKING:
    from pgmpy.models import DiscreteBayesianNetwork


def sample(
    model: DiscreteBayesianNetwork | FittedLearner, n_rows: int, *, random_state: int | None = 0
) -> pd.DataFrame:
    r"""Draw independent rows from a discrete Bayesian network by forward (ancestral) sampling.

    Parents are drawn before their children. If the parents are in configuration :math:`j`, the state of variable
    :math:`v` is the number of states :math:`k` with :math:`F_{vj}(k) \le u`. Here, :math:`F_{vj}` is the cumulative
    distribution in that configuration and :math:`u` is uniform on :math:`[0, 1)`.

    Parameters
    ----------
    model : DiscreteBayesianNetwork or fitted learner
        A network with a conditional probability table for every node. It is not changed.
    n_rows : int
        Number of rows, at least 0.
    random_state : int or None, default=0
        A non-negative seed; None uses entropy from the operating system.

    Returns
    -------
    pandas.DataFrame, shape (n_rows, n_variables)
        Columns of category dtype in the order of ``model.nodes()``. The categories are all states of the variable,
        drawn or not, in the order of its table.

    Raises
    ------
    TypeError, ValueError
        If a number is not an integer or negative, or `model` is not a discrete Bayesian network or is inconsistent.

    Notes
    -----
    Each variable has its own random stream, seeded by `random_state` and the position of the variable in
    ``model.nodes()``. The same seed gives the same frame on every platform. A smaller `n_rows` gives the first rows of
    the same frame. The time is O(n_rows * sum of (number of parents + number of states)).

    References
    ----------
    M. Henrion (1988), Propagating uncertainty in Bayesian networks by probabilistic logic sampling.

    Examples
    --------
    >>> from pgmx.datasets import load_network, sample
    >>> frame = sample(load_network("cancer"), 1000, random_state=1)
    >>> frame.shape
    (1000, 5)
    >>> list(frame["Smoker"].cat.categories)
    ['True', 'False']
    """
    n_rows = check_natural(n_rows, "n_rows", 0)
    random_state = check_seed(random_state, "random_state")
    arrays = BayesianArrays.from_model(model)
    codes = draw_codes(arrays, n_rows, random_state)
    columns = [
        pd.Categorical.from_codes(column, dtype=pd.CategoricalDtype(list(states)))
        for column, states in zip(codes, arrays.states, strict=True)
    ]
    frame = pd.DataFrame(dict(enumerate(columns)), index=pd.RangeIndex(n_rows))
    frame.columns = pd.Index(arrays.names, tupleize_cols=False)
    return frame
