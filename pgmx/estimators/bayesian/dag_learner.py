"""Base classes of the learners of directed acyclic graphs: results, and prior knowledge of edges."""

import warnings
from collections.abc import Collection, Hashable, Sequence
from numbers import Integral, Real
from typing import Any, TypeAlias, TypeVar

import networkx as nx
import numpy as np
from numpy.typing import ArrayLike
from pgmpy.base import DAG, PDAG
from sklearn.utils.validation import check_is_fitted

from pgmx.checks import caller_level, check_same_names, join_names
from pgmx.data import (
    DiscreteTable,
    DistributedNumericTable,
    Frame,
    IncompleteRowsWarning,
    NumericTable,
    encode,
    open_frame,
)
from pgmx.data.distributed.tables import is_remote, refuse_remote
from pgmx.data.files.readers import is_chunked
from pgmx.data.inputs import is_plane_file, open_for_scores, open_rows_to_score, split_column, to_columns
from pgmx.data.weights import Interventions, read_interventions, read_set_cells
from pgmx.estimators.base import DISCRETE_COLUMNS, NA_VALUES, BaseStructureLearner, Interval, StrOptions
from pgmx.estimators.bayesian.pgmpy_interface import CausalDiscovery, make_metric
from pgmx.inference.likelihood import HeldOutLikelihood, held_out_log_likelihood, sum_unset_terms
from pgmx.models import ConditionalGaussianNetwork, cpdag, to_dag, to_pdag
from pgmx.models.bayesian.discrete_network import DiscreteBayesianNetwork
from pgmx.models.bayesian.linear_gaussian_network import LinearGaussianBayesianNetwork
from pgmx.models.bayesian.networks import check_parameter_prior
from pgmx.scores.binding.discrete import FormulaScoring
from pgmx.scores.binding.scoring import Scoring, StoredScoring
from pgmx.search.knowledge import EdgeConstraints, forbid_parents, read_constraints, restrict_to_score

#: Options of prior knowledge of edges. `read_constraints` checks them.
KNOWLEDGE_OPTIONS = ("expert_knowledge", "required_edges", "forbidden_edges", "tiers", "root_nodes", "candidate_edges")

#: Families with a smaller share of complete rows are unreliable: below it more edges are missed.
LEAST_SHARE = 0.1

#: Treatment of missing values in the likelihood of rows, per option of the learner. A state "missing" is not missing.
SCORED_AS = {"error": "error", "drop": "drop", "category": "error", "pairwise": "observed", "em": "observed"}

#: Options for the parameters of `model_`.
PRIOR_OPTIONS = ("equivalent_sample_size", "pseudo_counts")

#: Prior of `score`, and of the `model_` of a classifier, if no option gives one. It makes all known states possible.
ONE_PSEUDO_ROW = {"equivalent_sample_size": 1.0}


#: Types of opened data.
InputTable: TypeAlias = Frame | DiscreteTable | DistributedNumericTable

Intervened = TypeVar("Intervened", bound="InterventionLearner")


class NetworkResults(BaseStructureLearner, CausalDiscovery):
    """Base of the learners of directed acyclic graphs: the learned graph and its network.

    `_fit` sets `edges_`, `_names`, an empty `_results`, `_prior`, and `_scoring`, the score with its data, from which
    `model_` is made.
    """

    edges_: np.ndarray
    _names: list
    _scoring: StoredScoring
    _prior: dict[str, float]

    _open_input = staticmethod(open_for_scores)

    @property
    def dag_(self) -> DAG:
        """The learned graph with all edges directed."""
        return self._make_once("dag", lambda: to_dag(self._names, self.edges_.tolist()))

    @property
    def causal_graph_(self) -> nx.Graph:
        """The learned graph under pgmpy's name."""
        return self.graph_

    @property
    def model_(self) -> DiscreteBayesianNetwork | LinearGaussianBayesianNetwork | ConditionalGaussianNetwork:
        """The network of `dag_` with its parameters, by default maximum likelihood estimates.

        For mixed data it is a `ConditionalGaussianNetwork`. If the graph has an edge from a continuous to a discrete
        variable, there is no such network (AttributeError).

        A row with a combination of states that does not occur in the data may have probability 0. The options
        `equivalent_sample_size` and `pseudo_counts` set a prior under which all rows are possible. With a `class_node`
        the default is one pseudo row.
        """
        return self._make_once("model", lambda: self._make_model(self._prior))

    def _make_model(
        self, prior: dict[str, float]
    ) -> DiscreteBayesianNetwork | LinearGaussianBayesianNetwork | ConditionalGaussianNetwork:
        try:
            scoring = self._scoring.get()
        except FileNotFoundError as error:
            raise FileNotFoundError(
                f"model_ is made from the coded table, but its file is gone ({error}). Access model_ before the "
                "learner is pickled, or learn from a file of pgmx.data.write_table and keep the file"
            ) from error
        return scoring.model(self.edges_.tolist(), **prior)

    def score(self, X: Any = None, y: object = None, true_graph: DAG | None = None, metric: Any = None) -> float:
        r"""Return the mean log-likelihood of rows under the learned network, in nats; higher is better.

        .. math:: \frac1N \sum_{i=1}^N \sum_v \ln P(x_{iv} \mid u_{iv})

        with :math:`u_{iv}` the states (or values) of the parents of variable v in row i. CPTs are estimated with the
        Dirichlet prior of the options `equivalent_sample_size` and `pseudo_counts`, or with one equivalent row if
        neither is given. Under maximum likelihood, rows with a new combination of states would be impossible.

        Parameters
        ----------
        X : DataFrame, array, DiscreteTable, distributed table, path or iterator of frames, optional
            Rows with the columns and states of the training data: at least one row in memory, or two in a file or an
            iterator. The option `missing` of the learner sets the treatment of missing values, see the Notes.
        y : None
            Ignored; scikit-learn's convention.
        true_graph : DAG, optional
            Graph to compare the learned graph with by `metric`, as in pgmpy.
        metric : str or metric, optional
            A name or an instance from ``pgmpy.metrics``, in place of the likelihood. If only `true_graph` is given, the
            default is pgmpy's default for graphs.

        Returns
        -------
        float
            The mean log-likelihood, or the value of the metric. Metrics that do not accept a PDAG get `dag_`.

        Raises
        ------
        ValueError
            If neither `X` nor `true_graph` is given, the metric is not known, or `X` has other columns.
        TreewidthError
            With "em" and "pairwise", if summing out the missing values of a row needs more than 2^27 values.

        Warns
        -----
        UserWarning
            If rows are dropped, or if a row has a state that is not in the training data. The score is then minus
            infinity. Declare such states with `state_names`.

        Notes
        -----
        pgmpy's ``score(X)`` is its metric ``"correlation_score"``: write ``score(X, metric="correlation_score")``.

        The option `missing` "error" raises an error for missing values, "drop" drops the row with a warning, and
        "category" uses the state. With "em" and "pairwise" the likelihood of a row is the exact likelihood of its
        observed values o: ln P(x_o) = ln Σ P(x_o, x_m), summed over the missing values m.

        Workers of a distributed table sum their rows. Rows of a file or an iterator are coded in chunks.
        """
        check_is_fitted(self, "edges_")
        if isinstance(y, nx.Graph):
            raise TypeError("the second argument of score is scikit-learn's y: give the graph as true_graph=...")
        if X is None and true_graph is None:
            raise ValueError("score needs data or a true graph: give X=... or true_graph=...")
        if metric is None and true_graph is None:
            return self._score_rows(X)
        refuse_remote(
            X,
            lambda _: (
                f"metric={metric!r} needs rows in memory, but these rows are distributed: omit metric, or give rows in "
                "memory"
            ),
        )
        is_named = metric is None or isinstance(metric, str)
        chosen: Any = make_metric(metric, compares_graphs=X is None) if is_named else metric
        graph = self.graph_ if isinstance(self.graph_, tuple(chosen.get_tag("supported_graph_types"))) else self.dag_
        if X is not None:
            frame = self._read_rows(X).to_pandas()  # a copy, checked for missing and infinite values
            return chosen.evaluate(X if isinstance(X, type(frame)) else frame, graph)
        return chosen.evaluate(true_causal_graph=true_graph, est_causal_graph=graph)

    def _score_rows(self, X: Any) -> float:
        """Return the mean log-likelihood of rows. The network has no probability of 0 for known states."""
        prior = self._prior or ONE_PSEUDO_ROW
        network = self._make_once("predictive", lambda: self._make_model(prior))
        if isinstance(network, LinearGaussianBayesianNetwork | ConditionalGaussianNetwork):
            rows = self._read_rows(X)
        else:
            coding = self._list_coding()
            # chunks are coded to a temporary plane file
            rows = encode(self._read_rows(encode(X, **coding) if is_chunked(X) else X), **coding)
        return self._report(held_out_log_likelihood(network, rows, missing=SCORED_AS[self.missing]))

    @staticmethod
    def _report(likelihood: HeldOutLikelihood) -> float:
        """Return the mean log-likelihood, and warn of impossible rows."""
        if likelihood.impossible:
            warnings.warn(
                f"{likelihood.n_impossible} of {likelihood.n_rows} rows have states of "
                f"{join_names(likelihood.impossible)} that are not in the training data, so the score is minus "
                "infinity. Declare all states with state_names={name: [...]}, or as categories",
                stacklevel=caller_level(),
            )
        return likelihood.mean

    def _read_rows(self, X: Any) -> Any:
        """Return rows with the columns of the training data."""
        rows = open_rows_to_score(X)
        if not isinstance(rows, DiscreteTable | NumericTable):
            rows = open_frame(rows, na_values=self.na_values).declare_discrete(self.discrete_columns)
        names = list(rows.names)
        if len(names) != self.n_features_in_:
            raise ValueError(
                f"X has {len(names)} features, but {type(self).__name__} is expecting {self.n_features_in_} "
                "features as input"
            )
        check_same_names(names, self.variables_, "X", "the learned graph")
        return rows


class InterventionLearner(BaseStructureLearner):
    """Base of the learners that know which variables were set in which rows: the option and the argument of ``fit``.

    During ``fit``, `_interventions` holds them for the opened data, from which their column has been removed.
    """

    #: Name of the column with the names of the variables that were set.
    interventions: Hashable | None = None
    _set_cells: Any = None
    _interventions: Interventions | None = None

    def fit(
        self: Intervened, X: Any, y: object = None, sample_weight: ArrayLike | None = None, interventions: Any = None
    ) -> Intervened:
        """Learn the structure from `X`.

        Parameters
        ----------
        X : DataFrame, array or DiscreteTable of shape (n_samples, n_features), path, or iterator of frames
            The data, one column per variable: a pandas, polars or Arrow table, a numpy array (columns ``x0``, ``x1``,
            ...), or the path of a CSV, Parquet or plane file or of a folder of Parquet files. The data are never
            changed.
        y : None
            Ignored; scikit-learn's convention. A named Series that is not a column of a frame `X` causes a warning.
        sample_weight : array of shape (n_samples,), optional
            Non-negative weights of the rows, with a sum of at most 2**62. A row of weight 2 counts as two rows.
        interventions : DataFrame of bool of shape (n_samples, n_set), optional
            Whether a variable was set from outside in a row, in place of a column of `X` (the option `interventions`).
            The columns are the variables that were ever set, in any order. Rows are matched by position; a frame with
            the row labels of `X` in another order is refused. An array has a column for each variable.

        Returns
        -------
        self
            The fitted learner.
        """
        self._set_cells = interventions
        try:
            return super().fit(X, y, sample_weight)
        finally:
            self._set_cells = self._interventions = None

    def _open(self, X: Any) -> Any:
        if self.interventions is not None and is_chunked(X) and not is_plane_file(X):
            X = open_frame(X, na_values=self.na_values)  # a cell of the column may be empty
        opened = super()._open(X)
        self._interventions = None
        if self.interventions is not None:
            if self._set_cells is not None:
                raise ValueError(
                    f"interventions={self.interventions!r} names a column, and fit got interventions too: give one of "
                    "them"
                )
            cells, opened = split_column(opened, self.interventions, "interventions")
            self._interventions = read_interventions(*cells, opened.names, self.interventions)
        elif self._set_cells is not None:
            self._interventions = read_set_cells(self._set_cells, list(opened.names), opened.n_rows, X)
        return opened

    @staticmethod
    def _restrict(constraints: EdgeConstraints, scoring: Scoring) -> EdgeConstraints:
        """Restrict edges to those for which the score is defined; a variable that was set in every row has no parents.

        Raise ValueError if an excluded edge is required.
        """
        constraints = restrict_to_score(constraints, scoring.arc_mask, scoring.names)
        interventions = getattr(scoring, "interventions", None)
        if interventions is None:
            return constraints
        return forbid_parents(constraints, interventions.always_set, scoring.names)


class InterventionScorer(InterventionLearner, NetworkResults):
    """Base of the learners of a network that know which variables were set: the likelihood of rows."""

    def score(
        self,
        X: Any = None,
        y: object = None,
        true_graph: DAG | None = None,
        metric: Any = None,
        interventions: Any = None,
    ) -> float:
        r"""Return the mean log-likelihood of rows under the learned network, in nats; higher is better.

        .. math:: \frac1N \sum_{i=1}^N \sum_{v \notin I_i} \ln P(x_{iv} \mid u_{iv})

        with :math:`u_{iv}` the states (or values) of the parents of variable v in row i, and :math:`I_i` the variables
        that were set in row i: the likelihood of the other variables given the values that were set. CPTs are estimated
        with the Dirichlet prior of the options `equivalent_sample_size` and `pseudo_counts`, or with one equivalent row
        if neither is given. Under maximum likelihood, rows with a new combination of states would be impossible.

        Parameters
        ----------
        X : DataFrame, array, DiscreteTable, distributed table, path or iterator of frames, optional
            Rows with the columns and states of the training data: at least one row in memory, or two in a file or an
            iterator. If `X` has the column of the option `interventions`, it says which variables were set; without
            this column no variable was set. The option `missing` of the learner sets the treatment of missing values,
            see the Notes.
        y : None
            Ignored; scikit-learn's convention.
        true_graph : DAG, optional
            Graph to compare the learned graph with by `metric`, as in pgmpy.
        metric : str or metric, optional
            A name or an instance from ``pgmpy.metrics``, in place of the likelihood. If only `true_graph` is given, the
            default is pgmpy's default for graphs.
        interventions : DataFrame of bool of shape (n_samples, n_set), optional
            Whether a variable was set in a row, as for ``fit``. For the likelihood of rows in memory.

        Returns
        -------
        float
            The mean log-likelihood, or the value of the metric. Metrics that do not accept a PDAG get `dag_`.

        Raises
        ------
        ValueError
            If neither `X` nor `true_graph` is given, the metric is not known, `X` has other columns, or rows in which
            variables were set have missing values.
        TreewidthError
            With "em" and "pairwise", if summing out the missing values of a row needs more than 2^27 values.

        Warns
        -----
        UserWarning
            If rows are dropped, or if a row has a state that is not in the training data. The score is then minus
            infinity. Declare such states with `state_names`.

        Notes
        -----
        pgmpy's ``score(X)`` is its metric ``"correlation_score"``: write ``score(X, metric="correlation_score")``.

        The option `missing` "error" raises an error for missing values, "drop" drops the row with a warning, and
        "category" uses the state. With "em" and "pairwise" the likelihood of a row is the exact likelihood of its
        observed values o: ln P(x_o) = ln Σ P(x_o, x_m), summed over the missing values m.

        Workers of a distributed table sum their rows. Rows of a file or an iterator are coded in chunks, unless some
        have interventions.
        """
        check_is_fitted(self, "edges_")
        found = None
        if interventions is not None and (X is None or metric is not None or true_graph is not None):
            raise ValueError("interventions are for the likelihood of rows: give X, and neither metric nor true_graph")
        if X is not None and (interventions is not None or self.interventions is not None):
            X, found = self._split_rows(X, interventions)
        if found is None or metric is not None or true_graph is not None:
            return super().score(X, y, true_graph, metric)
        return self._score_unset(X, found)

    def _split_rows(self, X: Any, cells: Any) -> tuple[Any, Interventions | None]:
        """Return rows to score without the column of interventions, and the interventions; None if there are none."""
        if is_remote(X) and cells is None:
            return X, None
        refuse_remote(X, lambda _: "score with interventions needs rows in memory, but these rows are distributed")
        if is_chunked(X) and not is_plane_file(X):
            X = open_frame(X, na_values=self.na_values)
        rows = open_rows_to_score(X)
        if isinstance(rows, NumericTable):
            rows = to_columns(rows)
        elif not isinstance(rows, DiscreteTable | Frame):
            rows = open_frame(rows, na_values=self.na_values)
        names = list(rows.names)
        if self.interventions in names and self.interventions not in self.variables_:
            if cells is not None:
                raise ValueError(
                    f"X has the column {self.interventions!r} of interventions, and score got interventions too: give "
                    "one of them"
                )
            column, rows = split_column(rows, self.interventions, "interventions")
            return rows, read_interventions(*column, rows.names, self.interventions)
        return rows, None if cells is None else read_set_cells(cells, names, rows.n_rows)

    def _score_unset(self, X: Any, interventions: Interventions) -> float:
        """Return the mean log-likelihood of rows without the terms of the variables that were set."""
        rows = self._read_rows(X)
        if isinstance(rows, Frame) and self.missing == "drop" and rows.missing_columns():
            interventions = interventions.take(rows.complete_mask())
            rows = rows.enough_complete_rows()
        network = self._make_once("predictive", lambda: self._make_model(self._prior or ONE_PSEUDO_ROW))
        names = list(rows.names)
        if not isinstance(network, LinearGaussianBayesianNetwork | ConditionalGaussianNetwork):
            rows = encode(rows, **self._list_coding())
        was_set = interventions.targets[interventions.set_of_row]
        return self._report(sum_unset_terms(network, rows, names, was_set))


class DagLearner(NetworkResults):
    """Base of the learners of a directed acyclic graph.

    A subclass has the options declared here. Its `_fit` calls `_check_return_type` first and `_set_graph` last.
    """

    _parameter_constraints: dict[str, Any] = {
        **dict.fromkeys(KNOWLEDGE_OPTIONS, "no_validation"),
        "equivalent_sample_size": [Interval(Real, 0, None, closed="neither"), None],
        "pseudo_counts": [Interval(Real, 0, None, closed="left"), None],
        "return_type": [str],  # any case, checked by _check_return_type
        "state_names": [dict, None],
        "missing": [StrOptions({"error", "drop", "category", "pairwise"})],
        "na_values": NA_VALUES,
        "discrete_columns": DISCRETE_COLUMNS,
        "n_jobs": [Integral, None],
        "random_state": ["random_state", np.random.Generator],
    }

    return_type: str

    def _check_return_type(self) -> None:
        if self.return_type.lower() not in ("dag", "pdag"):
            raise ValueError(f"the option 'return_type' must be 'dag' or 'pdag', got {self.return_type!r}")

    def _read_prior(self, opened: InputTable) -> None:
        """Set `_prior`, the given options of the parameters. Refuse them if all columns are continuous."""
        self._prior = read_parameter_prior(self)
        given = _list_given_prior(self)
        if not given or isinstance(opened, DiscreteTable):
            return
        floats = opened.float_columns
        if floats and len(floats) == opened.n_columns:
            option, value = next(iter(given.items()))
            raise ValueError(
                f"{option}={value!r} is a prior of discrete variables, but {join_names(floats)} hold floats: "
                "omit it, or convert these columns to categories"
            )

    def _read_constraints(self, names: Sequence) -> EdgeConstraints:
        return read_constraints(names, **{option: getattr(self, option) for option in KNOWLEDGE_OPTIONS})

    def _set_graph(self, scoring: Scoring, constraints: EdgeConstraints, edges: np.ndarray) -> None:
        self.edges_ = edges
        self._scoring = StoredScoring(scoring)
        self._names = scoring.names
        warn_of_few_complete_rows(scoring, edges)
        arcs = [(tail, head) for tail, head in edges.tolist()]
        compelled = constraints.forces_direction(arcs)
        interventions = getattr(scoring, "interventions", None)
        if interventions is not None:
            groups = interventions.groups
            compelled += [(tail, head) for tail, head in arcs if groups[tail] != groups[head]]
        self._compelled = list(dict.fromkeys(compelled))
        self._kind = self.return_type.lower()
        self._results = {}

    @property
    def graph_(self) -> DAG | PDAG:
        """The learned graph, a PDAG or a DAG as given by `return_type`."""
        self._require_fit()
        if self._kind == "dag":
            return self.dag_
        return self._make_once("pdag", lambda: to_pdag(self._names, *self._class_edges()))

    def _class_edges(self) -> tuple[Collection, Collection]:
        """Return the directed and the undirected edges of the equivalence class, as ids."""
        edges = [(tail, head) for tail, head in self.edges_.tolist()]
        return cpdag(len(self._names), edges, compelled=self._compelled)


def warn_of_few_complete_rows(scoring: Scoring, edges: np.ndarray) -> None:
    """Warn of learned families with few complete rows, if only complete rows are scored."""
    if not isinstance(scoring, FormulaScoring):
        return
    table = scoring.table
    n_complete = {}
    for child in np.unique(edges[:, 1]).tolist():
        family = [child, *edges[edges[:, 1] == child, 0].tolist()]
        marked = [v for v in family if table.missing_codes[v] >= 0]
        if marked:
            known = (table.codes[v] != table.missing_codes[v] for v in marked)
            n_complete[child] = int(np.count_nonzero(np.logical_and.reduce(list(known))))
    few = [child for child, n in n_complete.items() if n < LEAST_SHARE * table.n_rows]
    if few:
        least = min(few, key=n_complete.__getitem__)
        warnings.warn(
            f"missing='pairwise': fewer than {LEAST_SHARE:.0%} of the rows are complete in the families of "
            f"{join_names([scoring.names[child] for child in few])} ({n_complete[least]:,} of {table.n_rows:,} rows in "
            f"that of {scoring.names[least]!r}). Only complete rows choose the parents: missing='em' uses all rows",
            IncompleteRowsWarning,
            stacklevel=caller_level(),
        )


def read_parameter_prior(learner: Any) -> dict[str, float]:
    """Return the prior of the parameters from a learner's options. The prior of a classifier is never empty.

    Under maximum likelihood a new row may be impossible for every class, so that class probabilities are undefined.
    """
    given = _list_given_prior(learner)
    check_parameter_prior(*(given.get(name) for name in PRIOR_OPTIONS))
    return ONE_PSEUDO_ROW if not given and getattr(learner, "class_node", None) is not None else given


def _list_given_prior(learner: Any) -> dict[str, float]:
    options = {name: getattr(learner, name, None) for name in PRIOR_OPTIONS}
    return {name: value for name, value in options.items() if value is not None}
