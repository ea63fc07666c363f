"""The base of the learners of growing graphs: features of keyed rows, updates, codes computed by nodes."""

from collections.abc import Sequence
from copy import copy
from numbers import Integral, Real
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils.validation import assert_all_finite, check_array, check_consistent_length, column_or_1d

from pgmx._ext import _gradraker
from pgmx.streaming.base import Interval, StreamLearner
from pgmx.streaming.gradraker.views import Codes, KeyedRows, key_matrix, key_nodes
from pgmx.streaming.inputs import check_finite
from pgmx.streaming.losses import LOSSES, check_step

_check_array: Any = check_array  # type checkers infer its types from its defaults

_BLOCK = 256  # rows whose features are in memory together
_TABLE_BYTES = 1 << 26
#: The default step of the square loss, half a full step, as in Raker.
SQUARE_STEP = 0.25


class GradrakerLearner(StreamLearner):
    """Coefficients (P, k, 2 D) and log weights (P, k) of P kernels, one per view and width."""

    _parameter_constraints: dict[str, Any] = {
        "graph": "no_validation",
        "hops": "no_validation",
        "layers": "no_validation",
        "node_features": "no_validation",
        "n_components": [Interval(Integral, 1, None, closed="left")],
        "variances": "no_validation",
        "step": [Interval(Real, 0, None, closed="neither")],
        "weight_step": [Interval(Real, 0, None, closed="left")],
        "random_state": ["random_state"],
    }
    _state_names = ("_coefficients", "_log_weights", "_moments", "_seed")
    _free_options = ("graph", "layers", "node_features")
    _accepts_sparse = True
    _is_centred = False

    graph: Any
    hops: int | Sequence[int]
    layers: Sequence[Any] | None
    node_features: Any
    n_components: int
    variances: float | Sequence[float]
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
            seed = self._seed
        elif not isinstance(self.random_state, Integral):
            raise ValueError(
                f"random_state={self.random_state!r:.60} must be an integer, the same for all nodes and the server"
            )
        else:
            self._check_options_alone()
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
        return self.predict(Codes(codes))

    # ---- hooks ----

    def _count_numbers(self, n_features: int) -> int:
        return 2 * self.n_components * self._n_outputs * len(self._list_widths())

    def _start(self, n_features: int) -> None:
        self._seed = self._draw_seed()
        self._allocate(getattr(self, "_n_views", 1) * len(self._list_widths()))
        self._table = self._make_table()

    def _update(self, rows: Any, targets: np.ndarray, predictions: np.ndarray | None) -> None:
        numbers = self._list_numbers(targets)
        options = (self._is_centred, LOSSES[self.loss].code, self._get_step(), float(self.weight_step))
        if not hasattr(self, "_table"):
            self._table = self._make_table()
        for first in range(0, rows.shape[0], _BLOCK):
            piece = slice(first, min(first + _BLOCK, rows.shape[0]))
            features = self._encode(rows, first, piece.stop, self._seed, self._table, store=True)
            outputs = np.empty((0, self._n_outputs)) if predictions is None else predictions[piece]
            state = self._coefficients, self._log_weights, self._moments
            _gradraker.learn(features, numbers[piece], *state, *options, outputs)

    def _predict(self, rows: Any) -> np.ndarray:
        outputs = np.empty((rows.shape[0], self._n_outputs))
        table, store = (self._table, False) if hasattr(self, "_table") else (self._make_table(), True)
        for first in range(0, rows.shape[0], _BLOCK):
            piece = slice(first, min(first + _BLOCK, rows.shape[0]))
            features = self._encode(rows, first, piece.stop, self._seed, table, store=store)
            _gradraker.predict(features, self._coefficients, self._log_weights, self._moments, outputs[piece])
        return outputs

    def _list_numbers(self, targets: np.ndarray) -> np.ndarray:
        """Return the values to learn, (m, `_n_outputs`)."""
        return targets[:, None]

    # ---- features ----

    def _encode(self, rows: Any, first: int, stop: int, seed: np.ndarray, table: Any, store: bool) -> np.ndarray:
        """Return the features (stop - first, P, 2 D) of rows."""
        widths = self._list_widths()
        if isinstance(rows, np.ndarray):
            return rows[first:stop].reshape(stop - first, -1, 2 * self.n_components)
        features = np.empty((stop - first, rows.n_views * len(widths), 2 * self.n_components))
        entries = rows.keys, rows.values, rows.starts
        _gradraker.encode(*entries, first, 1.0 / np.sqrt(widths), int(seed[0]), *table, store, features)
        return features

    def _list_widths(self) -> np.ndarray:
        return np.atleast_1d(np.asarray(self.variances, dtype=np.float64))

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
        return SQUARE_STEP if self.loss == "square" else LOSSES[self.loss].get_full_step()

    def _check_options_alone(self) -> None:
        self._validate_params()
        check_step(self._get_step(), self.loss)
        widths = self._list_widths()
        if widths.ndim != 1 or not len(widths) or not np.all((widths > 0.0) & np.isfinite(widths)):
            raise ValueError(f"variances={self.variances!r} must be finite and above 0")
        hops = np.atleast_1d(np.asarray(self.hops))
        if not len(hops) or hops.dtype.kind not in "iu" or hops.min() < 1 or hops.max() > 255:
            raise ValueError(f"hops={self.hops!r} must be one or more integers from 1 to 255")
        for what, graph in [("graph", self.graph), *(("layers", layer) for layer in self.layers or ())]:
            if graph is not None and (not hasattr(graph, "adj") or graph.is_multigraph()):
                raise ValueError(f"{what} must be networkx graphs without parallel edges, got {type(graph).__name__}")

    def _check_rows(self, X: Any, y: Any, *, restart: bool) -> Any:
        self._check_options_alone()
        fitted = hasattr(self, "n_seen_") and not restart
        if fitted:
            self._check_options()
        learned = restart or y is not None
        graphs = self.graph is not None or bool(self.layers) or self.node_features is not None
        rows: Any
        if isinstance(X, Codes):
            rows = _check_array(X.features, dtype=np.float64, order="C", input_name="codes")
            n_views, over = divmod(rows.shape[1], 2 * self.n_components * len(self._list_widths()))
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
            views = len(self._coefficients) // len(self._list_widths())
            if n_views != views:
                raise ValueError(
                    f"rows have {n_views} views, but had {views} at the first row: keep graph, layers and node_features"
                )
        if not learned:
            return rows
        self._n_views = n_views
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
            raise ValueError(f"X={X!r:.60} must be a sequence of names of nodes, because graph is set")
        shape = getattr(X, "shape", (0,))
        if len(shape) > 1:
            if shape[1:] != (1,):
                raise ValueError(
                    f"X has the shape {shape}, but must be one column of names of nodes, because graph is set"
                )
            X = np.asarray(X)[:, 0]
        names = X.tolist() if hasattr(X, "tolist") else list(X)
        if not names:
            raise ValueError("X holds 0 sample(s): give at least one name of a node")
        hops = [int(hop) for hop in np.atleast_1d(np.asarray(self.hops))]
        return key_nodes(names, self.graph, hops, self.layers, self.node_features), 1

    # ---- copies and files ----

    def __getstate__(self) -> dict[str, Any]:
        inherited: Any = super().__getstate__()
        state = dict(inherited)
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
        if n_kernels and n_kernels % len(self._list_widths()) == 0 and n_kernels < 1 << 20:
            self._coefficients = np.empty((n_kernels, self._n_outputs, 2 * self.n_components))
            self._log_weights = np.empty((n_kernels, self._n_outputs))
        super()._check_state(arrays)
