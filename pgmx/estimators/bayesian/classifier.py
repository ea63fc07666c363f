"""Classification by a Bayesian network: the distribution of a class given features, some of which may be missing."""

import warnings
from collections.abc import Hashable, Iterable, Mapping, Sequence
from numbers import Integral, Real
from pathlib import Path
from typing import Any, Literal, TypeVar

import numpy as np
from numpy.typing import ArrayLike
from pgmpy.base import DAG
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_array, check_consistent_length, check_is_fitted, column_or_1d, validate_data

from pgmx.checks import caller_level, check_same_names, check_weights, join_names
from pgmx.data import DiscreteTable, Frame
from pgmx.data.columns import read_floats
from pgmx.data.errors import check_rows_left
from pgmx.data.few_values import warn_of_few_values
from pgmx.data.frame import open_rows
from pgmx.estimators.base import DISCRETE_COLUMNS, Interval, StrOptions, clone_learner, import_page, random_draws
from pgmx.estimators.bayesian.dag_learner import PRIOR_OPTIONS, NetworkResults
from pgmx.lookup import explain_options
from pgmx.models import ConditionalGaussianNetwork, DiscreteBayesianNetwork, to_dag
from pgmx.models.bayesian.networks import check_parameter_prior
from pgmx.models.rows import MixedColumns, read_mixed_rows
from pgmx.scores.binding.continuous import MixedScoring
from pgmx.scores.binding.incomplete import IncompleteMixedScoring, IncompleteScoring
from pgmx.search.class_weights import weigh_given_class
from pgmx.search.forest_weights import bind_forest_score, score_pairs
from pgmx.search.knowledge import EdgeConstraints
from pgmx.search.spanning_forest import find_spanning_forest

Classifier = TypeVar("Classifier", bound="BayesianNetworkClassifier")  # jedi completes `Self` as the base class

#: Name of the class if `y` has no name, or the name of a feature.
_CLASS = "class"

#: Name of the code of missing values in coded rows.
_MISSING = "missing"

#: Rounding error of the sum of weights that are shares.
_ROUNDING = 1e-9

#: The prior if no option gives one: under one row for all cells of a table, rare configurations are too certain.
_LAPLACE = {"pseudo_counts": 1.0}


class BayesianNetworkClassifier(ClassifierMixin, BaseEstimator):
    r"""Classifier by a Bayesian network: naive Bayes, tree-augmented naive Bayes, or a learned network.

    .. math:: P(c \mid x_o) = \frac{\sum_{x_m} P(c, x_o, x_m)}{\sum_{c'} \sum_{x_m} P(c', x_o, x_m)}

    with :math:`x_o` the observed and :math:`x_m` the missing values of a row. Sums over continuous variables are
    integrals.

    Parameters
    ----------
    structure : {"naive", "tan"} or learner, default="tan"
        ``"naive"``: the features are independent given the class. ``"tan"``: each feature has the class and at most one
        other feature as parents, by the tree of largest conditional mutual information given the class. An unfitted
        learner of Bayesian networks, such as ``HillClimbSearch()``, learns the graph of the features and the class from
        a copy of it.
    equivalent_sample_size : float, default=None
        Number of rows that the Dirichlet prior of each family represents, divided equally among the cells of its CPT.
    pseudo_counts : float, default=None
        Number of rows that the prior adds to each cell of a CPT. The default is 1, the smoothing of Laplace, if
        `equivalent_sample_size` is None too. 0 gives maximum likelihood estimates.
    missing : {"error", "drop", "category", "pairwise", "em"}, default="error"
        Treatment of missing values in `fit`: raise an error; drop the row; add a state ``"missing"``; fit each family
        to the rows that are complete in it; or fit the parameters by EM to all rows, and choose the tree by the rows
        that are complete in each pair. ``"category"`` and ``"pairwise"`` need discrete features. A learner as
        `structure` uses its own option. See the Notes for missing values in predictions.
    discrete_columns : list of hashable, default=None
        Numeric columns that are discrete. Their states are the distinct values, as integers if all values are whole.
        The columns of an array are named ``x0``, ``x1``, ...
    n_jobs : int, default=None
        Number of threads that count pairs of features. The result does not depend on it.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The labels in ascending order.
    class_node_ : hashable
        Name of the class in `graph_` and `model_`: the name of `y`, if it has one that is not a feature, else
        ``"class"``.
    graph_ : pgmpy.base.DAG
        The graph of the features and the class. Constant continuous columns are left out.
    model_ : DiscreteBayesianNetwork or ConditionalGaussianNetwork
        The fitted network. The states of the class are the labels.
    markov_blanket_ : list of hashable
        The features that determine the prediction of a complete row: parents, children, and other parents of the
        children of the class.
    n_features_in_ : int
        Number of columns of the training data.
    feature_names_in_ : ndarray of str, shape (n_features,)
        Names of the columns, if all of them are strings.

    Raises
    ------
    ValueError, TypeError
        If the data cannot be used, an option is unknown, `structure` is not a learner of Bayesian networks, or a row to
        predict is impossible, which needs ``pseudo_counts=0``.

    Warns
    -----
    UserWarning
        If rows to predict hold states that are not in the training data. They count as missing values.

    Notes
    -----
    Columns of floats are continuous, all others are discrete, including integers. With continuous columns the network
    is conditional linear Gaussian: a continuous variable is regressed on its continuous parent in each class. The
    weights of the tree are then the gains of the log-likelihood of this model, which generalise conditional mutual
    information: for two continuous features of one class, :math:`-\tfrac{N}{2} \ln(1 - \rho^2)`. A tree does not have
    edges from continuous to discrete features.

    The prior keeps the probabilities of all known states above 0. For a continuous variable it adds average rows of the
    table to each class, see :meth:`ConditionalGaussianNetwork.fit <pgmx.models.ConditionalGaussianNetwork.fit>`.

    Missing values in predictions are summed out. With ``missing="category"`` a feature with missing values in the
    training data has the state ``"missing"``, and missing values in predictions are this state.

    Cost: n² / 2 pair tables of the features for ``"tan"``, one pass over the rows per feature for ``"naive"``. A
    prediction of a complete row takes time proportional to the number of features and classes.

    References
    ----------
    .. [1] Friedman, N., Geiger, D. and Goldszmidt, M. (1997). Bayesian network classifiers. Machine Learning 29,
       131-163, sections 3 and 4.1.
    .. [2] Heckerman, D., Geiger, D. and Chickering, D. M. (1995). Learning Bayesian networks: the combination of
       knowledge and statistical data. Machine Learning 20, 197-243, section 5.

    Examples
    --------
    >>> from pgmx.datasets import load_example
    >>> frame = load_example("affairs")
    >>> X, y = frame.drop(columns="affairs"), frame["affairs"]
    >>> classifier = BayesianNetworkClassifier("naive").fit(X, y)
    >>> classifier.classes_.tolist()
    ['none', 'some']
    >>> classifier.predict_proba(X.head(2)).round(3)
    array([[0.289, 0.711],
           [0.176, 0.824]])
    """

    classes_: np.ndarray
    class_node_: Hashable
    graph_: DAG
    model_: DiscreteBayesianNetwork | ConditionalGaussianNetwork
    n_features_in_: int
    feature_names_in_: np.ndarray
    markov_blanket_: list[Hashable]
    _names: tuple
    _has_missing: frozenset

    _parameter_constraints: dict[str, Any] = {
        "structure": "no_validation",  # by _check_structure, whose error names learners
        "equivalent_sample_size": [Interval(Real, 0, None, closed="neither"), None],
        "pseudo_counts": [Interval(Real, 0, None, closed="left"), None],
        "missing": [StrOptions({"error", "drop", "category", "pairwise", "em"})],
        "discrete_columns": DISCRETE_COLUMNS,
        "n_jobs": [Integral, None],
    }

    def __init__(
        self,
        structure: Literal["naive", "tan"] | NetworkResults = "tan",
        *,
        equivalent_sample_size: float | None = None,
        pseudo_counts: float | None = None,
        missing: Literal["error", "drop", "category", "pairwise", "em"] = "error",
        discrete_columns: Sequence[Hashable] | None = None,
        n_jobs: int | None = None,
    ) -> None:
        self.structure = structure
        self.equivalent_sample_size = equivalent_sample_size
        self.pseudo_counts = pseudo_counts
        self.missing = missing
        self.discrete_columns = discrete_columns
        self.n_jobs = n_jobs

    # ---- learning ----

    def fit(self: Classifier, X: Any, y: Any, sample_weight: ArrayLike | None = None) -> Classifier:
        """Learn the network of the features and the class.

        Parameters
        ----------
        X : DataFrame or array of shape (n_samples, n_features)
            The features: a pandas, polars or Arrow table, or an array, never changed.
        y : array of shape (n_samples,)
            The labels.
        sample_weight : array of shape (n_samples,), optional
            Non-negative weights of the rows. A row of weight 2 counts as two rows, a row of weight 0 is left out.
            Weights that add up to at most 1 are shares, as of boosting, and are scaled to add up to the number of rows.

        Returns
        -------
        self
            The fitted classifier.

        Raises
        ------
        ValueError, TypeError
            If the data cannot be used, or an option is unknown.
        """
        self._check_structure()
        self._validate_params()
        prior = self._read_prior()
        validate_data(self, X, y, skip_check_array=True)
        frame = open_rows(X).check_shape()
        warn_of_few_values(frame, self.discrete_columns or ())
        frame = frame.declare_discrete(self.discrete_columns)
        any_type: Any = None
        labels = column_or_1d(check_array(y, ensure_2d=False, dtype=any_type, input_name="y"), warn=True)
        check_consistent_length(labels, np.empty(frame.n_rows))
        check_classification_targets(labels)
        weights = _read_weights(sample_weight, frame.n_rows)
        kept = weights > 0
        if self._missing == "drop":
            kept &= frame.complete_mask()
            check_rows_left(int(kept.sum()), int((weights > 0).sum()), frame.missing_columns)
        if not kept.all():
            frame, labels, weights = frame.rows(kept), labels[kept], weights[kept]
        self._names = frame.names
        self._has_missing = frozenset(frame.missing_columns())
        self.classes_, codes = np.unique(labels, return_inverse=True)
        self.class_node_ = _name_class(y, frame.names)
        table = _leave_out_constants(frame).add_discrete(self.class_node_, codes, _list_states(self.classes_))
        edges, self.model_ = self._learn(table, None if (weights == 1).all() else weights, prior)
        self.graph_ = to_dag(list(table.names), edges)
        self.markov_blanket_ = _find_markov_blanket(self.graph_, self.class_node_)
        return self

    def _check_structure(self) -> None:
        """Refuse a structure that is neither a name nor a learner of Bayesian networks."""
        structure: Any = self.structure
        if structure in ("naive", "tan") if isinstance(structure, str) else isinstance(structure, NetworkResults):
            return
        known = "'naive', 'tan' or a learner of Bayesian networks, such as HillClimbSearch()"
        if hasattr(structure, "shape"):
            raise TypeError(f"structure must be {known}, got data: pass them to fit(X, y)")
        shown = " ".join(repr(structure).split())
        raise ValueError(f"structure must be {known}, got {shown if len(shown) < 100 else type(structure).__name__}")

    def _read_prior(self) -> dict[str, float]:
        """Return the prior of the parameters."""
        given = {name: getattr(self, name) for name in PRIOR_OPTIONS}
        check_parameter_prior(**given)
        return {name: value for name, value in given.items() if value is not None} or _LAPLACE

    @property
    def _missing(self) -> str:
        """Treatment of missing values of the training data; a learner has its own."""
        return self.structure.missing if isinstance(self.structure, NetworkResults) else self.missing

    def _learn(
        self, table: Frame, weights: np.ndarray | None, prior: dict[str, float]
    ) -> tuple[list[tuple[int, int]], Any]:
        """Return the edges between the columns and the fitted network; the class is the last column."""
        if isinstance(self.structure, NetworkResults):
            learner = clone_learner(self.structure).fit(table, sample_weight=weights)
            try:
                return learner.edges_.tolist(), learner._make_model(prior)
            except AttributeError as error:  # the graph has edges that no network has
                raise ValueError(f"structure={type(learner).__name__}(...): {error}") from None
        scoring = bind_forest_score(
            "mutual_info",
            table,
            equivalent_sample_size=1.0,  # for Bayesian weights only
            prior_network=None,
            sample_weight=weights,
            state_names=None,
            missing=self.missing,
            n_jobs=self.n_jobs,
        )
        n_features = table.n_columns - 1
        edges = [(n_features, v) for v in range(n_features)]
        if self.structure == "tan" and n_features > 1:
            edges += _find_tree(scoring, n_features, self.n_jobs)
        return edges, scoring.model(edges, **prior)

    # ---- predictions ----

    def predict_proba(self, X: Any) -> np.ndarray:
        """Return the probability of each class.

        Parameters
        ----------
        X : DataFrame or array of shape (n_samples, n_features)
            Rows with the columns of the training data; values may be missing.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            Probabilities in the order of `classes_`, rounded to 40 bits.

        Raises
        ------
        ValueError
            If the columns differ from the training data, a continuous value is infinite, or a row is impossible.
        """
        check_is_fitted(self)
        frame = open_rows(X)
        validate_data(self, X, skip_check_array=True, reset=False)
        answers = self.model_.predict_proba(self._read_rows(X, frame), [self.class_node_])
        return _round(answers.to_numpy())

    def predict_log_proba(self, X: Any) -> np.ndarray:
        """Return the logarithm of the probability of each class.

        Parameters
        ----------
        X : DataFrame or array of shape (n_samples, n_features)
            Rows, as for `predict_proba`.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            Natural logarithms in the order of `classes_`; minus infinity below about 1e-308.
        """
        with np.errstate(divide="ignore"):
            return np.log(self.predict_proba(X))

    def predict(self, X: Any) -> np.ndarray:
        """Return the most probable class.

        Parameters
        ----------
        X : DataFrame or array of shape (n_samples, n_features)
            Rows, as for `predict_proba`.

        Returns
        -------
        ndarray of shape (n_samples,)
            Labels. Of equally probable classes it is the first of `classes_`.
        """
        probabilities = self.predict_proba(X)  # first, since it refuses a classifier that is not fitted
        return self.classes_[probabilities.argmax(axis=1)]

    def _read_rows(self, X: Any, frame: Frame) -> MixedColumns | DiscreteTable:
        """Return the features as `model_` reads them fastest; unknown states count as missing."""
        if not hasattr(X, "columns") and not hasattr(X, "column_names"):  # arrays and lists of rows have no names
            frame = Frame(self._names, frame.columns, frame.n_rows)
        check_same_names(frame.names, self._names, "X", "the training data")
        nodes, known = tuple(self.model_.nodes()), self.model_.states
        states = tuple(tuple(known[name]) if name in known else None for name in nodes)
        features = frame.take_columns([name for name in nodes if name != self.class_node_])
        rows = read_mixed_rows(features, nodes, states, allow_missing=True, allow_unknown=True)
        if self._missing == "category":
            for v, name in enumerate(nodes):
                codes, mask, own = rows.codes[v], rows.missing[v], states[v]
                if name in self._has_missing and codes is not None and mask is not None and own is not None:
                    codes[mask] = len(own) - 1  # the state of missing values is the last one
                    rows.missing[v] = None
        _merge_unknown(rows, nodes)
        return rows if isinstance(self.model_, ConditionalGaussianNetwork) else _make_table(rows, nodes, known)

    # ---- reports ----

    def report(
        self,
        path: str | Path = "report.html",
        *,
        data: Any = None,
        reference: Any = None,
        title: str | None = None,
        notes: Iterable[str] = (),
    ) -> Path:
        """Write the network as one HTML file with an interactive graph.

        Parameters
        ----------
        path : str or path-like, default="report.html"
            Path of the file, with the suffix ``.html`` or ``.htm``.
        data : DataFrame, optional
            Rows of the features and the class. The report shows their number, states and missing values.
        reference : pgmpy or networkx graph, or fitted learner, optional
            A graph on the same variables. The report colours the edges that differ from it, and counts them.
        title : str, optional
            The heading. Default: the name of the class.
        notes : iterable of str, default=()
            Sentences to add to the warnings and limits.

        Returns
        -------
        pathlib.Path
            Path of the written file, see :func:`pgmx.plotting.save_report`.
        """
        check_is_fitted(self)
        return import_page().save_report(self, path, data=data, reference=reference, title=title, notes=notes)

    # ---- scikit-learn ----

    def __sklearn_tags__(self) -> Any:
        """Return scikit-learn's tags: a classifier of categorical and text input; missing values by `missing`."""
        tags = super().__sklearn_tags__()
        tags.input_tags.categorical = True
        tags.input_tags.string = True
        tags.input_tags.allow_nan = self._missing != "error"
        return tags


explain_options(BayesianNetworkClassifier)


# ---- training data ----


def _name_class(y: Any, names: Sequence[Hashable]) -> Hashable:
    """Return a name for the class that is not the name of a feature."""
    name = getattr(y, "name", None)
    if name not in (None, "") and name not in names:
        return name
    free = _CLASS
    while free in names:
        free += "_"
    return free


def _read_weights(sample_weight: ArrayLike | None, n_rows: int) -> np.ndarray:
    """Return the number of rows that each row represents."""
    if sample_weight is None:
        return np.ones(n_rows)
    weights = check_weights(sample_weight, "sample_weight", n_rows)
    total = weights.sum()
    return weights * (n_rows / total) if total <= 1.0 + _ROUNDING else weights


def _list_states(classes: np.ndarray) -> list:
    """Return the labels as states of the class."""
    labels = classes.tolist()
    return [int(label) for label in labels] if classes.dtype.kind == "f" else labels  # floats that are whole


def _leave_out_constants(frame: Frame) -> Frame:
    """Return the columns without those of floats that have a single value: they say nothing about the class."""
    constant = set()
    for name, values in zip(frame.names, frame.columns, strict=True):
        if name in frame.float_columns:
            numbers = read_floats(values)
            numbers = numbers[~np.isnan(numbers)]
            if len(numbers) and np.isfinite(numbers[0]) and (numbers == numbers[0]).all():
                constant.add(name)
    return frame.take_columns([name for name in frame.names if name not in constant]) if constant else frame


def _find_markov_blanket(graph: DAG, node: Hashable) -> list[Hashable]:
    """Return parents, children and the other parents of the children, in the order of the graph."""
    children = set(graph.successors(node))
    members = children.union(graph.predecessors(node), *(graph.predecessors(child) for child in children)) - {node}
    return [name for name in graph.nodes() if name in members]


def _find_tree(scoring: Any, class_node: int, n_jobs: int | None) -> list[tuple[int, int]]:
    """Return the edges of the best tree of the features given the class, the last column; ties as `ChowLiuForest`."""
    permutation, _ = random_draws(class_node + 1, 0)
    features = np.arange(class_node)
    constraints = None
    if isinstance(scoring, MixedScoring | IncompleteMixedScoring):
        pair_weights: Any = weigh_given_class(scoring.mixed, scoring.weights, class_node, n_jobs)
        is_continuous = scoring.mixed.is_continuous[features]
        is_symmetric = bool(is_continuous.all())
        if not is_symmetric:
            allowed = is_continuous[:, None] | ~is_continuous[None, :]
            constraints = EdgeConstraints(class_node, allowed=allowed.astype(np.uint8))
    else:
        of_pairs = scoring.available if isinstance(scoring, IncompleteScoring) else scoring
        pair_weights = score_pairs(of_pairs, features, class_node, n_jobs).pair_weights
        is_symmetric = scoring.equivalent
    forest = find_spanning_forest(
        pair_weights,
        priority=np.argsort(np.argsort(permutation[features])),
        constraints=constraints,
        symmetric=is_symmetric,
        at_once=True,
    )
    return [(tail, head) for tail, head in forest.edges.tolist()]


# ---- rows to predict ----


def _round(probabilities: np.ndarray) -> np.ndarray:
    """Return probabilities of 40 bits: classes that differ by rounding errors alone are equally probable."""
    fractions, exponents = np.frexp(probabilities)
    return np.ldexp(np.round(np.ldexp(fractions, 40)), exponents - 40)


def _merge_unknown(rows: MixedColumns, names: Sequence[Hashable]) -> None:
    """Count unknown states as missing, with a warning."""
    unknown = [v for v, mask in enumerate(rows.unknown) if mask is not None]
    for v in unknown:
        missing, mask = rows.missing[v], rows.unknown[v]
        rows.missing[v], rows.unknown[v] = mask if missing is None else mask | missing, None
    if unknown:
        warnings.warn(
            f"column(s) {join_names([names[v] for v in unknown])} hold states that are not in the training data. They "
            "count as missing values. Declare all states by categorical columns",
            UserWarning,
            stacklevel=caller_level(),
        )


def _make_table(rows: MixedColumns, names: Sequence[Hashable], states: Mapping) -> DiscreteTable:
    """Return discrete columns as a coded table, in which missing values have a code after those of the states."""
    members = np.flatnonzero(~rows.absent).tolist()
    all_states = [(*states[names[v]], _MISSING) for v in members]
    largest = max(map(len, all_states), default=0)
    codes = np.empty((len(members), rows.n_rows), dtype=np.uint8 if largest <= 256 else np.uint16)
    for row, v, own in zip(codes, members, all_states, strict=True):
        column, mask = rows.codes[v], rows.missing[v]
        assert column is not None  # it is not absent
        row[:] = column
        if mask is not None:
            row[mask] = len(own) - 1
    markers = np.array([len(own) - 1 for own in all_states], dtype=np.int64)
    return DiscreteTable._from_parts(tuple(names[v] for v in members), tuple(all_states), codes, markers)
