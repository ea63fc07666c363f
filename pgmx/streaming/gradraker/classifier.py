"""Gradraker: online classification of the nodes of growing graphs."""

from collections.abc import Sequence
from numbers import Real
from typing import Any, Self

import numpy as np

from pgmx.streaming.base import Interval, StrOptions
from pgmx.streaming.classifier import StreamClassifier
from pgmx.streaming.gradraker.learner import GradrakerLearner
from pgmx.streaming.gradraker.views import Codes
from pgmx.streaming.losses import LOSSES


class GradrakerClassifier(StreamClassifier, GradrakerLearner):
    r"""Online classification of the nodes of a graph from the rows of its adjacency matrix, by random features.

    For each node, f first predicts its label. Then each class is learned against all others as a separate function:

    .. math:: f(a) = \sum_p w_p \theta_p' z_p(a), \quad
              \theta_p \leftarrow \theta_p - s c'(\theta_p' z_p, y) z_p, \quad
              \log w_p \leftarrow \log w_p - s_w c(\theta_p' z_p, y)

    with the loss c, the sines and cosines z_p of D random frequencies over the root of D, and the weights w_p divided
    by their sum.

    Parameters
    ----------
    loss : {"square", "logistic", "hinge"}, default="square"
        "square": (f - y)^2 with y = 1 for the class and 0 for others (-1 for two classes). "logistic":
        log(1 + exp(-y f)), which gives probabilities. "hinge": max(0, 1 - y f). The last two use y = -1 for others.
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
    step : float, default=None
        Step size of the coefficients: below 1 for the square loss, below 8 for the logistic loss. None: 0.25 for the
        square loss, 4 for the logistic loss, 2 for the hinge loss.
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
    classes_ : ndarray of shape (n_classes,)
        The labels in ascending order.
    kernel_weights_ : ndarray of shape (P, n_outputs)
        Weights of the kernels, with sum 1 per output; one output for two classes, else one per class.

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
    >>> from pgmx.streaming import GradrakerClassifier
    >>> graph = nx.karate_club_graph()
    >>> y = [graph.nodes[node]["club"] for node in graph]
    >>> learner = GradrakerClassifier(graph=graph).fit(list(graph)[:30], y[:30])
    >>> graph.add_edges_from([("new", 33), ("new", 32), ("new", 31)])
    >>> str(learner.predict(["new"])[0])
    'Officer'
    """

    _parameter_constraints: dict[str, Any] = {
        **GradrakerLearner._parameter_constraints,
        "loss": [StrOptions(set(LOSSES))],
        "step": [Interval(Real, 0, None, closed="neither"), None],
    }

    def __init__(
        self,
        *,
        loss: str = "square",
        graph: Any = None,
        hops: int | Sequence[int] = (1, 2),
        layers: Sequence[Any] | None = None,
        node_features: Any = None,
        n_components: int = 50,
        variances: float | Sequence[float] = (0.3, 1.0),
        step: float | None = None,
        weight_step: float = 2.0,
        random_state: Any = 0,
    ):
        self.loss = loss
        self.graph = graph
        self.hops = hops
        self.layers = layers
        self.node_features = node_features
        self.n_components = n_components
        self.variances = variances
        self.step = step
        self.weight_step = weight_step
        self.random_state = random_state

    def partial_fit_encoded(self, codes: Any, y: Any, classes: Any = None) -> Self:
        """Learn codes of `encode_row`, for a server that has no access to neighbours.

        Parameters
        ----------
        codes : ndarray of shape (n_rows, 2 * n_components * P)
            The codes.
        y : array of shape (n_rows,)
            The labels.
        classes : array of shape (n_classes,), optional
            All labels of the stream: required in the first call.

        Returns
        -------
        self
            The learner, the same as after `partial_fit` of the rows.
        """
        self._require_classes(classes)
        self._learn_chunk(Codes(codes), y, classes=classes)
        return self

    def _list_numbers(self, targets: np.ndarray) -> np.ndarray:
        if self._n_outputs == 1:
            return np.where(targets[:, None] == 1, 1.0, -1.0)
        others = 0.0 if self.loss == "square" else -1.0
        return np.where(targets[:, None] == np.arange(self._n_outputs), 1.0, others)
