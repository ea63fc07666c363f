"""Gradraker: online classification of the nodes of graphs that grow."""

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

    Before each node f predicts its label, then each class is learned against all others as a function of its own:

    .. math:: f(a) = \sum_p w_p \theta_p' z_p(a), \quad
              \theta_p \leftarrow \theta_p - s c'(\theta_p' z_p, y) z_p, \quad
              \log w_p \leftarrow \log w_p - s_w c(\theta_p' z_p, y)

    with the loss c, the sines and cosines z_p of D random frequencies over the root of D, and the weights w_p divided
    by their sum.

    Parameters
    ----------
    loss : {"square", "logistic", "hinge"}, default="square"
        (f - y)^2 with y = 1 for the class and 0 for others (-1 where there are two classes); log(1 + exp(-y f)), which
        gives probabilities, or max(0, 1 - y f), with -1 for others.
    graph : networkx.Graph or networkx.DiGraph, default=None
        The graph, whose nodes `X` names then. Nodes and edges may come and go between calls: a row is read when its
        node is named. Edges weigh ``weight``, 1 by default. Of directed graphs both directions are read, as columns of
        their own.
    hops : int or sequence of int, default=(1, 2)
        Which hops of `graph` and `layers` make up the row of a node: the sum of the rows of A (D^-1 A)^(hop - 1), each
        scaled to unit length, with the weights of edges A and the numbers of neighbours D. All hops share columns.
    layers : sequence of networkx graphs, default=None
        Further graphs on the nodes, each with kernels of its own; a node may be absent from them.
    node_features : mapping, array, sparse rows or frame, default=None
        The row of features of each node by its name (of arrays its position, of frames its label), with kernels of its
        own.
    n_components : int, default=50
        Random frequencies D per kernel, each with a sine and a cosine: at least 1.
    variances : float or sequence of float, default=(0.3, 1.0)
        Widths s^2 > 0 of the Gaussian kernels exp(-r^2 / (2 s^2)) of rows of unit length.
    step : float, default=None
        Step size of the coefficients: below 1 of the square loss, below 8 of the logistic loss. None: .25 of the square
        loss, 4 of the logistic loss, 2 of the hinge loss.
    weight_step : float, default=2.0
        Step size of the logarithms of the kernels' weights, at least 0: equal weights for ever.
    random_state : int, RandomState or None, default=0
        With the name of a column it decides the frequencies of that column; None draws fresh entropy.

    Attributes
    ----------
    n_seen_ : int
        Rows learned so far.
    n_features_in_ : int
        Columns of the rows, the most so far; 1 of names of nodes.
    feature_names_in_ : ndarray of str, shape (`n_features_in_`,)
        Names of the columns, where the first rows came with names.
    classes_ : ndarray of shape (n_classes,)
        The labels in ascending order.
    kernel_weights_ : ndarray of shape (P, n_outputs)
        Weights of the kernels, which add up to 1 for each output: one output for two classes, else one per class.

    Raises
    ------
    ValueError
        At the first row, for options out of their ranges; at a node that `graph` lacks.

    Notes
    -----
    The row of a node may be a row of an array, of a sparse matrix of any width, which may grow from chunk to chunk, or
    the name of a node of `graph`. Node j of a graph with ``hops=1`` is column j of a sparse matrix. The frequencies of
    a column never seen before come from a generator keyed by `random_state` and its name, whatever the order of naming:
    nodes join without end, and the state does not grow. Those used lately are held in a table of 64 MiB at most.
    Names other than natural numbers are told apart by 64 bits of their text.

    A row costs D deg + P D multiplications and P D sines and cosines, and 4 P D more per output, for deg entries and P
    kernels: one per variance, of each of graph, layers and features. Two hops of names take the degrees of all
    neighbours besides. No matrix of nodes by nodes is formed.

    Graphs are not frozen with the first row as the other options are, and not written by ``save``.

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
        """Learn codes of `encode_row`, as a server does that never sees neighbours.

        Parameters
        ----------
        codes : ndarray of shape (n_rows, 2 * n_components * P)
            The codes.
        y : array of shape (n_rows,)
            The labels.
        classes : array of shape (n_classes,), optional
            All labels that will ever come: needed by the first call.

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
