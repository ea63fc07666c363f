"""Gradraker: online regression on the nodes of growing graphs."""

from collections.abc import Sequence
from typing import Any, Self

from sklearn.base import RegressorMixin

from pgmx.streaming.gradraker.learner import GradrakerLearner
from pgmx.streaming.gradraker.views import Codes


class GradrakerRegressor(RegressorMixin, GradrakerLearner):
    r"""Online regression on the nodes of a graph from the rows of its adjacency matrix, by random features.

    For each node, f first predicts its target. Then the node is learned:

    .. math:: f(a) = m + \sum_p w_p \theta_p' z_p(a), \quad
              \theta_p \leftarrow \theta_p - 2 s (\theta_p' z_p - y + m) z_p, \quad
              \log w_p \leftarrow \log w_p - s_w (\theta_p' z_p - y + m)^2 / v

    with the running mean m and variance v of the targets, the sines and cosines z_p of D random frequencies over the
    root of D, and the weights w_p divided by their sum.

    Parameters
    ----------
    graph : networkx.Graph or networkx.DiGraph, default=None
        The graph; `X` then contains names of its nodes. Nodes and edges may change between calls. Edges have the
        attribute ``weight``, 1 by default. For directed graphs, both directions are used as separate columns.
    hops : int or sequence of int, default=(1, 2)
        The hops of `graph` and `layers` in the row of a node: the sum of the rows of A (D^-1 A)^(hop - 1), each scaled
        to unit length, with the weights of edges A and the degrees D. All hops share columns.
    layers : sequence of networkx graphs, default=None
        Additional graphs on the nodes, each with its own kernels; a node may be absent from them.
    node_features : mapping, array, sparse rows or frame, default=None
        The row of features of each node by its name (arrays: by position, frames: by label), with its own kernels.
    n_components : int, default=50
        Number D of random frequencies per kernel, each with a sine and a cosine; at least 1.
    variances : float or sequence of float, default=(0.3, 1.0)
        Widths s^2 > 0 of the Gaussian kernels exp(-r^2 / (2 s^2)) of rows of unit length.
    step : float, default=0.25
        Step size of the coefficients, above 0 and below 1.
    weight_step : float, default=2.0
        Step size of the logarithms of the kernels' weights, at least 0. With 0 the weights stay equal.
    random_state : int, RandomState or None, default=0
        Seed of the frequencies, which depend on it and on the names of columns; None uses fresh entropy.

    Attributes
    ----------
    n_seen_ : int
        Number of learned rows.
    n_features_in_ : int
        Largest number of columns so far; 1 for names of nodes.
    feature_names_in_ : ndarray of str, shape (`n_features_in_`,)
        Names of the columns, if the first rows had names.
    kernel_weights_ : ndarray of shape (P, 1)
        Weights of the kernels, with sum 1.

    Raises
    ------
    ValueError
        At the first row, if an option is out of range; later, if a node is not in `graph`.

    Notes
    -----
    The row of a node may be a row of an array, a row of a sparse matrix, whose width may grow from chunk to chunk, or
    the name of a node of `graph`. Node j of a graph with ``hops=1`` is column j of a sparse matrix. The frequencies of
    a new column come from a generator keyed by `random_state` and the name of the column. They do not depend on the
    order of the names, and the state does not grow with new nodes. Recently used frequencies are cached in a table of
    at most 64 MiB. Names other than natural numbers are identified by 64-bit hashes of their text.

    A row costs D deg + P D multiplications and P D sines and cosines, and 4 P D more per output. Here, deg is the
    number of entries and P the number of kernels: one per variance and per view (graph, layers and features). Two hops
    of names also cost the degrees of all neighbours. No nodes x nodes matrix is formed.

    Unlike the other options, graphs may change after the first row, and ``save`` does not write them.

    References
    ----------
    .. [1] Shen, Y., Leus, G. and Giannakis, G. B. (2019). Online graph-adaptive learning with scalability and privacy.
       IEEE Transactions on Signal Processing 67(9), algorithm 2, equations 14 and 20 to 22.

    Examples
    --------
    >>> import networkx as nx
    >>> from pgmx.streaming import GradrakerRegressor
    >>> graph = nx.karate_club_graph()
    >>> y = [float(graph.nodes[node]["club"] == "Officer") for node in graph]
    >>> learner = GradrakerRegressor(graph=graph).fit(list(graph)[:30], y[:30])
    >>> graph.add_edges_from([("new", 33), ("new", 32), ("new", 31)])
    >>> bool(learner.predict(["new"])[0] > 0.5)
    True
    """

    _is_centred = True

    def __init__(
        self,
        *,
        graph: Any = None,
        hops: int | Sequence[int] = (1, 2),
        layers: Sequence[Any] | None = None,
        node_features: Any = None,
        n_components: int = 50,
        variances: float | Sequence[float] = (0.3, 1.0),
        step: float = 0.25,
        weight_step: float = 2.0,
        random_state: Any = 0,
    ):
        self.graph = graph
        self.hops = hops
        self.layers = layers
        self.node_features = node_features
        self.n_components = n_components
        self.variances = variances
        self.step = step
        self.weight_step = weight_step
        self.random_state = random_state

    def partial_fit_encoded(self, codes: Any, y: Any) -> Self:
        """Learn codes of `encode_row`, for a server that has no access to neighbours.

        Parameters
        ----------
        codes : ndarray of shape (n_rows, 2 * n_components * P)
            The codes.
        y : array of shape (n_rows,)
            The targets.

        Returns
        -------
        self
            The learner, the same as after `partial_fit` of the rows.
        """
        self._learn_chunk(Codes(codes), y)
        return self
