"""Gradraker: online regression and classification on the nodes of growing graphs."""

from collections.abc import Sequence
from copy import copy
from numbers import Integral, Real
from typing import Any, Self

import numpy as np
from scipy import sparse
from sklearn.base import RegressorMixin
from sklearn.utils.validation import assert_all_finite, check_array, check_consistent_length, column_or_1d

from pgmx._ext import _gradraker
from pgmx.streaming.base import Interval, StreamLearner, StrOptions
from pgmx.streaming.classifier import StreamClassifier
from pgmx.streaming.features import DEGREES, MIXTURES, list_kernels
from pgmx.streaming.inputs import check_finite
from pgmx.streaming.losses import LOSSES, check_step
from pgmx.streaming.node_rows import EncodedRows, KeyedRows, key_matrix, key_nodes

_check_array: Any = check_array  # type checkers infer its types from its defaults

_BLOCK = 256  # rows whose features are in memory together
_TABLE_BYTES = 1 << 26
#: The default step of the square loss, half a full step, as in Raker.
_SQUARE_STEP = 0.25


class GradrakerLearner(StreamLearner):
    """Coefficients (P, k, 2 D) and log weights (P, k) of P kernels, one per view and width."""

    _parameter_constraints: dict[str, Any] = {
        "graph": "no_validation",
        "hops": "no_validation",
        "layers": "no_validation",
        "node_features": "no_validation",
        "n_components": [Interval(Integral, 1, 2**31 - 1, closed="both")],
        "separate_hops": ["boolean"],
        "unit_rows": ["boolean"],
        "kernels": [str, "array-like"],
        "variances": "no_validation",
        "penalty": [Interval(Real, 0, 1e300, closed="both")],
        "step": [Interval(Real, 0, None, closed="neither")],
        "weight_step": [Interval(Real, 0, None, closed="left")],
        "random_state": ["random_state"],
    }
    _state_names = ("_coefficients", "_log_weights", "_moments", "_seed")
    # graphs grow while the learner learns
    _free_options = ("graph", "layers", "node_features")
    _accepts_sparse = True
    _is_centred = False

    graph: Any
    hops: int | Sequence[int]
    layers: Sequence[Any] | None
    node_features: Any
    separate_hops: bool
    unit_rows: bool
    n_components: int
    kernels: str | Sequence[str]
    variances: float | Sequence[float]
    penalty: float
    loss: str = "square"
    step: float | None
    weight_step: float
    random_state: Any

    # ---- public ----

    @property
    def kernel_weights_(self) -> np.ndarray:
        """Weights of the kernels, (P, n_outputs), with sum 1 per output."""
        shares = np.exp(self._log_weights - self._log_weights.max(axis=0))
        return shares / shares.sum(axis=0)

    def encode_row(self, X: Any) -> np.ndarray:
        """Compute the features of rows, for a node that keeps its neighbours private.

        Parameters
        ----------
        X : array, sparse matrix of shape (n_rows, n_columns), or sequence of names of nodes
            The rows, or the nodes of `graph`.

        Returns
        -------
        ndarray of shape (n_rows, 2 * n_components * P)
            For each kernel D sines, then D cosines, divided by the root of D.

        Raises
        ------
        ValueError
            If the rows are invalid, or ``random_state`` is not a number and nothing was learned yet.

        Notes
        -----
        Codes are an obfuscation, not a protection. With ``random_state`` and the names of nodes, the row can be
        recovered by non-negative least squares on the phases. For the neighbours of papers in Cora (one hop), 85 per
        cent were recovered with 50 frequencies and all with 200.
        """
        if hasattr(self, "_seed"):
            # the codes of a node must fit the learner of the server
            seed = self._seed
        elif not isinstance(self.random_state, Integral):
            raise ValueError(
                f"random_state={self.random_state!r:.60} must be an integer, the same for all nodes and the server"
            )
        else:
            self._check_learner_options()
            seed = self._draw_seed()
        rows = self._check_rows(X, None, restart=False)
        return self._encode(rows, 0, rows.shape[0], seed, self._make_table(), store=True).reshape(rows.shape[0], -1)

    def predict_encoded(self, codes: Any) -> np.ndarray:
        """Predict the targets of codes of `encode_row`; nothing is learned.

        Parameters
        ----------
        codes : ndarray of shape (n_rows, 2 * n_components * P)
            The codes.

        Returns
        -------
        ndarray of shape (n_rows,)
            Predictions, the same as from `predict` for the rows.
        """
        return self.predict(EncodedRows(codes))

    # ---- hooks ----

    def _count_values(self, n_features: int) -> int:
        return 2 * self.n_components * self._n_outputs * self._count_kinds()

    def _start(self, n_features: int) -> None:
        self._seed = self._draw_seed()
        self._allocate(getattr(self, "_n_views", 1) * self._count_kinds())
        self._table = self._make_table()

    def _update(self, rows: Any, targets: np.ndarray, predictions: np.ndarray | None) -> None:
        numbers = self._encode_targets(targets)
        options = (self._is_centred, LOSSES[self.loss].code, self._get_step(), float(self.weight_step))
        has_products = any(name in DEGREES for name, _ in list_kernels(self.kernels, self.variances))
        # left out of pickles: the table is a cache of drawn frequencies
        if not hasattr(self, "_table"):
            self._table = self._make_table()
        for first in range(0, rows.shape[0], _BLOCK):
            block = slice(first, min(first + _BLOCK, rows.shape[0]))
            features = self._encode(rows, first, block.stop, self._seed, self._table, store=True)
            outputs = np.empty((0, self._n_outputs)) if predictions is None else predictions[block]
            state = self._coefficients, self._log_weights, self._moments
            _gradraker.learn(features, numbers[block], *state, *options, outputs, self.penalty, has_products)

    def _predict(self, rows: Any) -> np.ndarray:
        outputs = np.empty((rows.shape[0], self._n_outputs))
        # predictions do not change the learner, not even its cache
        table, store = (self._table, False) if hasattr(self, "_table") else (self._make_table(), True)
        for first in range(0, rows.shape[0], _BLOCK):
            block = slice(first, min(first + _BLOCK, rows.shape[0]))
            features = self._encode(rows, first, block.stop, self._seed, table, store=store)
            _gradraker.predict(features, self._coefficients, self._log_weights, self._moments, outputs[block])
        return outputs

    def _encode_targets(self, targets: np.ndarray) -> np.ndarray:
        """Return the values to learn, (m, `_n_outputs`)."""
        return targets[:, None]

    # ---- features ----

    def _encode(self, rows: Any, first: int, stop: int, seed: np.ndarray, table: Any, store: bool) -> np.ndarray:
        """Return the features (stop - first, P, 2 D) of rows."""
        if isinstance(rows, np.ndarray):
            return rows[first:stop].reshape(stop - first, -1, 2 * self.n_components)
        scales, factors, degrees = self._draw_mixtures(int(seed[0]))
        features = np.empty((stop - first, rows.n_views * len(scales), 2 * self.n_components))
        entries = rows.keys, rows.values, rows.starts
        more = (factors, degrees, self.unit_rows)
        _gradraker.encode(*entries, first, scales, int(seed[0]), *table, store, features, *more)
        return features

    def _draw_mixtures(self, seed: int) -> tuple[np.ndarray, np.ndarray | None, np.ndarray | None]:
        """Return scales of the projections, factors of the components or None, and degrees or None, by kernel."""
        pairs = list_kernels(self.kernels, self.variances)
        degrees = np.array([DEGREES.get(name, 0) for name, _ in pairs], dtype=np.int32)
        scales = np.array([1.0 if name in DEGREES else 1.0 / np.sqrt(number) for name, number in pairs])
        if all(name == "gaussian" for name, _ in pairs):
            return scales, None, None
        rng = np.random.RandomState(seed % 2**32)
        n = self.n_components
        factors = [np.ones(n) if name in DEGREES else MIXTURES[name](rng, n) for name, _ in pairs]
        return scales, np.array(factors), degrees

    def _count_kinds(self) -> int:
        """Return the number of kernels per view."""
        return len(list_kernels(self.kernels, self.variances))

    def _draw_seed(self) -> np.ndarray:
        if isinstance(self.random_state, np.random.RandomState):
            return np.array([self.random_state.randint(2**31)], dtype=np.uint64)
        words = np.random.SeedSequence(self.random_state).generate_state(1, np.uint64)
        return np.array(words, dtype=np.uint64)

    def _make_table(self) -> tuple[np.ndarray, np.ndarray]:
        """Return an empty table of normals; the operating system allocates memory only for used slots."""
        slots = 1 << max(4, (_TABLE_BYTES // (8 * (self.n_components + 1))).bit_length() - 1)
        return np.zeros(slots, dtype=np.uint64), np.zeros((slots, self.n_components))

    def _allocate(self, n_kernels: int) -> None:
        self._coefficients = np.zeros((n_kernels, self._n_outputs, 2 * self.n_components))
        self._log_weights = np.zeros((n_kernels, self._n_outputs))
        self._moments = np.zeros(3)

    # ---- checks ----

    def _get_step(self) -> float:
        if self.step is not None:
            return float(self.step)
        return _SQUARE_STEP if self.loss == "square" else LOSSES[self.loss].get_full_step(self.penalty)

    def _check_learner_options(self) -> None:
        self._validate_params()
        check_step(self._get_step(), self.loss, self.penalty)
        if "laplacian_l1" in {name for name, _ in list_kernels(self.kernels, self.variances)}:
            raise ValueError(f"kernels={self.kernels!r}: laplacian_l1 needs a fixed set of columns; give laplacian")
        hops = np.atleast_1d(np.asarray(self.hops))
        if not len(hops) or hops.dtype.kind not in "iu" or hops.min() < 1 or hops.max() > 255:
            raise ValueError(f"hops={self.hops!r} must be one or more integers from 1 to 255")
        if self.layers is not None and not isinstance(self.layers, list | tuple):
            raise ValueError(f"layers={self.layers!r:.60} must be a list of networkx graphs")
        for what, graph in [("graph", self.graph), *(("layers", layer) for layer in self.layers or ())]:
            if graph is not None and (not hasattr(graph, "adj") or graph.is_multigraph()):
                raise ValueError(f"{what} must be networkx graphs without parallel edges, got {type(graph).__name__}")

    def _check_rows(self, X: Any, y: Any, *, restart: bool) -> Any:
        self._check_learner_options()
        fitted = hasattr(self, "n_seen_") and not restart
        if fitted:
            self._check_options()
        learned = restart or y is not None
        graphs = self.graph is not None or bool(self.layers) or self.node_features is not None
        rows: Any
        if isinstance(X, EncodedRows):
            rows = _check_array(X.features, dtype=np.float64, order="C", input_name="codes")
            n_views, over = divmod(rows.shape[1], 2 * self.n_components * self._count_kinds())
            if over:
                raise ValueError(
                    f"codes have {rows.shape[1]} columns, not a multiple of 2 n_components times the variances"
                )
            width = rows.shape[1]
        elif graphs or sparse.issparse(X) or not (learned or fitted):
            rows, width = self._key_names(X) if graphs else self._key_sparse(X, restart)
            n_views = rows.n_views
        else:
            checked = super()._check_rows(X, y, restart=restart)
            rows, y = checked if learned else (checked, y)
            rows, width, n_views = key_matrix(rows), self.n_features_in_, 1
        if fitted:
            views = len(self._coefficients) // self._count_kinds()
            if n_views != views:
                raise ValueError(
                    f"rows have {n_views} views, but had {views} at the first row: keep graph, layers and node_features"
                )
        if not learned:
            return rows
        self._n_views = n_views
        # later rows may have further columns
        self.n_features_in_ = width if restart else max(width, self.n_features_in_)
        return rows, self._check_y(rows, y)

    def _check_y(self, rows: Any, y: Any) -> Any:
        if y is None:
            raise ValueError(f"{type(self).__name__} requires y to be passed, but the target y is None")
        y = column_or_1d(y, warn=True)
        if rows.shape[0] != len(y):
            check_consistent_length(np.empty(rows.shape[0]), y)
        assert_all_finite(y, input_name="y")
        return y

    def _key_sparse(self, X: Any, restart: bool) -> tuple[KeyedRows, int]:
        X = _check_array(X, accept_sparse="csr", dtype=np.float64, ensure_all_finite=False, input_name="X")
        check_finite(X, None, 0 if restart else getattr(self, "n_seen_", 0))
        return key_matrix(X), X.shape[1]

    def _key_names(self, X: Any) -> tuple[KeyedRows, int]:
        sequence = hasattr(X, "__len__") and hasattr(X, "__iter__") and getattr(X, "shape", None) != ()
        if not sequence or isinstance(X, str | set | frozenset) or sparse.issparse(X):
            raise ValueError(
                f"X={X!r:.60} must be a sequence of names of nodes, because graph, layers or node_features is set"
            )
        shape = getattr(X, "shape", (0,))
        if len(shape) > 1:
            if shape[1:] != (1,):
                raise ValueError(
                    f"X has the shape {shape}, but must be one column of names of nodes, because graph, layers or "
                    "node_features is set"
                )
            X = np.asarray(X)[:, 0]
        names = X.tolist() if hasattr(X, "tolist") else list(X)
        if not names:
            raise ValueError("X holds 0 sample(s): give at least one name of a node")
        hops = [int(hop) for hop in np.atleast_1d(np.asarray(self.hops))]
        groups = [[hop] for hop in hops] if self.separate_hops else [hops]
        return key_nodes(names, self.graph, groups, self.layers, self.node_features, unit=self.unit_rows), 1

    # ---- copies and files ----

    def __getstate__(self) -> dict[str, Any]:
        inherited: Any = super().__getstate__()
        state = dict(inherited)
        # it can be drawn again, and may have 64 MiB
        state.pop("_table", None)
        return state

    def save(self, path: Any) -> Any:
        """Write the learner to a file; `load` restores exactly the same state.

        Parameters
        ----------
        path : str or path
            The file to write, with the suffix ``.npz``; an existing file is replaced when the new one is complete.

        Returns
        -------
        pathlib.Path
            The file, without `graph`, `layers` and `node_features`; set them by ``set_params`` after `load`.
        """
        # graphs have no plain value; a shallow copy keeps the caller's learner unchanged
        bare = copy(self)
        bare.graph = bare.layers = bare.node_features = None
        return StreamLearner.save(bare, path)

    def _list_sizes(self) -> dict[str, float]:
        sizes: dict[str, float] = dict.fromkeys(self._state_names, np.inf)
        return {**sizes, "_moments": self._moments.nbytes, "_seed": self._seed.nbytes}

    def _check_state(self, arrays: dict[str, np.ndarray]) -> None:
        """Read the number of kernels from the file, which does not contain the graphs."""
        weights = arrays["_log_weights"]
        n_kernels = len(weights) if weights.ndim else 0
        # checked first, since arrays of this size are made
        if n_kernels and n_kernels % self._count_kinds() == 0 and n_kernels < 1 << 20:
            self._coefficients = np.empty((n_kernels, self._n_outputs, 2 * self.n_components))
            self._log_weights = np.empty((n_kernels, self._n_outputs))
        super()._check_state(arrays)


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
    separate_hops : bool, default=False
        If True, each hop has its own kernels, as in (6.22) of the reference, instead of one row for all hops.
    unit_rows : bool, default=True
        If False, rows and hops keep their lengths, as in the reference. Kernels of nodes with many neighbours are then
        near 0 for small variances.
    n_components : int, default=50
        Number D of random frequencies per kernel, each with a sine and a cosine; at least 1.
    kernels : str or sequence of str, default="gaussian"
        Kernels of the distance r of two rows: "gaussian" exp(-r^2 / (2 s^2)), "laplacian" exp(-r / s), "cauchy"
        1 / (1 + r^2 / s^2). Kernels of their product a'b: "linear" a'b, "polynomial2" and "polynomial3" (a'b)^q.
    variances : float or sequence of float, default=(0.3, 1.0)
        Widths s^2 > 0. Each kernel of a distance is used with each width.
    step : float, default=0.25
        Step size of the coefficients, above 0 and below 1.
    weight_step : float, default=2.0
        Step size of the logarithms of the kernels' weights, at least 0. With 0 the weights stay equal.
    penalty : float, default=0.0
        Weight of the squared length of the coefficients in the loss, at least 0.
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
    at most 64 MiB. Names other than natural integers are identified by 64-bit hashes of their text.

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
        separate_hops: bool = False,
        unit_rows: bool = True,
        n_components: int = 50,
        kernels: str | Sequence[str] = "gaussian",
        variances: float | Sequence[float] = (0.3, 1.0),
        step: float = 0.25,
        weight_step: float = 2.0,
        penalty: float = 0.0,
        random_state: Any = 0,
    ):
        self.graph = graph
        self.hops = hops
        self.layers = layers
        self.node_features = node_features
        self.separate_hops = separate_hops
        self.unit_rows = unit_rows
        self.n_components = n_components
        self.kernels = kernels
        self.variances = variances
        self.penalty = penalty
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
        self._learn_chunk(EncodedRows(codes), y)
        return self


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
    separate_hops : bool, default=False
        If True, each hop has its own kernels, as in (6.22) of the reference, instead of one row for all hops.
    unit_rows : bool, default=True
        If False, rows and hops keep their lengths, as in the reference. Kernels of nodes with many neighbours are then
        near 0 for small variances.
    n_components : int, default=50
        Number D of random frequencies per kernel, each with a sine and a cosine; at least 1.
    kernels : str or sequence of str, default="gaussian"
        Kernels of the distance r of two rows: "gaussian" exp(-r^2 / (2 s^2)), "laplacian" exp(-r / s), "cauchy"
        1 / (1 + r^2 / s^2). Kernels of their product a'b: "linear" a'b, "polynomial2" and "polynomial3" (a'b)^q.
    variances : float or sequence of float, default=(0.3, 1.0)
        Widths s^2 > 0. Each kernel of a distance is used with each width.
    step : float, default=None
        Step size of the coefficients: below 1 for the square loss, below 8 for the logistic loss. None: 0.25 for the
        square loss, 4 for the logistic loss, 2 for the hinge loss.
    weight_step : float, default=2.0
        Step size of the logarithms of the kernels' weights, at least 0. With 0 the weights stay equal.
    penalty : float, default=0.0
        Weight of the squared length of the coefficients in the loss, at least 0.
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
    at most 64 MiB. Names other than natural integers are identified by 64-bit hashes of their text.

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
        separate_hops: bool = False,
        unit_rows: bool = True,
        n_components: int = 50,
        kernels: str | Sequence[str] = "gaussian",
        variances: float | Sequence[float] = (0.3, 1.0),
        step: float | None = None,
        weight_step: float = 2.0,
        penalty: float = 0.0,
        random_state: Any = 0,
    ):
        self.loss = loss
        self.graph = graph
        self.hops = hops
        self.layers = layers
        self.node_features = node_features
        self.separate_hops = separate_hops
        self.unit_rows = unit_rows
        self.n_components = n_components
        self.kernels = kernels
        self.variances = variances
        self.penalty = penalty
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
        self._learn_chunk(EncodedRows(codes), y, classes=classes)
        return self

    def _encode_targets(self, targets: np.ndarray) -> np.ndarray:
        if self._n_outputs == 1:
            return np.where(targets[:, None] == 1, 1.0, -1.0)
        others = 0.0 if self.loss == "square" else -1.0
        return np.where(targets[:, None] == np.arange(self._n_outputs), 1.0, others)
