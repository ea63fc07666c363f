"""pgmpy's linear Gaussian Bayesian network with compiled answers: the class of all learned and loaded networks."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from numbers import Real
from typing import Any, Self

import networkx as nx
import numpy as np
import pandas as pd
import pgmpy.models
from pgmpy.factors.continuous import LinearGaussianCPD

from pgmx.checks import check_natural, check_seed, join_names
from pgmx.fitted import get_model
from pgmx.inference.linear_gaussian import (
    LinearGaussianArrays,
    Noise,
    Regression,
    condition_noise,
    join_noise,
    read_regressions,
)
from pgmx.inference.problem import check_method
from pgmx.lookup import suggest
from pgmx.models.base import copy_into
from pgmx.models.bayesian.linear_gaussian_rows import LinearGaussianRowQueries
from pgmx.models.rows import read_numeric_rows

#: Largest ratio of standard deviations for which rows are drawn as pgmpy draws them.
_MOST_UNITS = 1e4


class LinearGaussianBayesianNetwork(LinearGaussianRowQueries, pgmpy.models.LinearGaussianBayesianNetwork):
    r"""A linear Gaussian Bayesian network with pgmpy's interface.

    .. math:: x_v = b_{v0} + \sum_{u \in \mathrm{pa}(v)} b_{vu} x_u + d_v \varepsilon_v, \quad \varepsilon_v \sim N(0,1)

    It is pgmpy's class, and its answers for rows come from compiled code: predictions, their standard deviations and
    likelihoods of tables with any pattern of missing values. Learners of continuous data and readers of files return
    it.

    Parameters
    ----------
    ebunch : iterable of edges, optional
        Edges (parent, child); ``add_node`` adds variables without edges.
    latents, exposures, outcomes : set of hashable, optional
        As in pgmpy.
    roles : dict of {str: iterable}, optional
        As in pgmpy.

    Attributes
    ----------
    cpds : list of LinearGaussianCPD
        The CPDs, added by ``add_cpds`` or ``fit``: coefficients, intercept first, and the standard deviation.

    Notes
    -----
    Every question sees the CPDs as they are, also if they were replaced or edited in place. What depends on the network
    alone is computed once and kept; pickles, copies and comparisons leave it out.

    Questions about rows need positive standard deviations. ``simulate`` accepts 0, and so do ``predict_probability``
    and pgmpy's call of ``predict``.

    ``predict`` and ``log_likelihood`` return what pgmpy's methods return; with ``method`` and ``per_row`` they return
    what those of the other networks of :mod:`pgmx.models` return.

    References
    ----------
    R. D. Shachter, C. R. Kenley (1989), Gaussian influence diagrams, Management Science 35.

    Examples
    --------
    >>> import pandas as pd
    >>> from pgmpy.factors.continuous import LinearGaussianCPD
    >>> from pgmx.models import LinearGaussianBayesianNetwork
    >>> network = LinearGaussianBayesianNetwork([("rain", "river"), ("river", "level")])
    >>> network.add_cpds(LinearGaussianCPD("rain", [1.0], 1.0))
    >>> network.add_cpds(LinearGaussianCPD("river", [0.0, 0.5], 1.0, ["rain"]))
    >>> network.add_cpds(LinearGaussianCPD("level", [2.0, 1.0], 0.5, ["river"]))
    >>> rows = pd.DataFrame({"rain": [2.0, None], "level": [3.0, 4.0]})
    >>> network.predict(rows, method="map").round(3).values.tolist()
    [[2.0, 3.0, 1.0], [1.5, 4.0, 1.75]]
    >>> network.predict_proba(rows, ["river"]).round(3).values.tolist()
    [[1.0, 0.447], [1.75, 0.456]]
    """

    _kept: tuple[tuple, LinearGaussianArrays] | None = None

    # ---- construction and other forms ----

    @classmethod
    def from_network(cls, network: Any) -> Self:
        """Make a network from another one.

        Parameters
        ----------
        network : LinearGaussianBayesianNetwork, GaussianMarkovNetwork or fitted learner
            A network of pgmpy, of :mod:`pgmx.models`, or the one of a learner. A Gaussian Markov network is converted
            by its ``to_linear_gaussian_bn``.

        Returns
        -------
        LinearGaussianBayesianNetwork
            A network with copies of the CPDs, and the attributes of graph, nodes and edges.

        Raises
        ------
        TypeError
            If the network is of another kind.
        """
        network = get_model(network)
        if hasattr(network, "sparse_precision"):
            network = network.to_linear_gaussian_bn()
        if not isinstance(network, pgmpy.models.LinearGaussianBayesianNetwork):
            raise TypeError(
                "network must be a LinearGaussianBayesianNetwork, a GaussianMarkovNetwork or a fitted learner of one, "
                f"got {type(network).__name__}"
            )
        return copy_into(cls(), network)

    def to_pgmpy(self) -> pgmpy.models.LinearGaussianBayesianNetwork:
        """Return a copy as an object of pgmpy's own class, whose pickles can be read without pgmx."""
        return copy_into(pgmpy.models.LinearGaussianBayesianNetwork(), self)

    def copy(self) -> Self:
        """Return a copy: a network of the same class with copies of the CPDs."""
        return copy_into(type(self)(), self)

    @classmethod
    def get_random(cls, *args: Any, **kwargs: Any) -> Self:
        """Return a random network; the arguments are pgmpy's."""
        return cls.from_network(pgmpy.models.LinearGaussianBayesianNetwork.get_random(*args, **kwargs))

    @classmethod
    def from_dagitty(cls, string: str | None = None, filename: str | None = None) -> Self:
        """Make a network from DAGitty syntax, as pgmpy does: with CPDs if it has coefficients."""
        return cls.from_network(super().from_dagitty(string, filename))

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "_kept"}

    # ---- the compiled form ----

    def _read_arrays(self) -> LinearGaussianArrays:
        # by value: this takes microseconds per variable, and sees CPDs that were edited in place
        seen = (
            tuple(self.nodes()),
            tuple(self.edges()),
            [(cpd.variable, tuple(cpd.evidence), np.asarray(cpd.beta).tolist(), cpd.std) for cpd in self.cpds],
        )
        if self._kept is None or self._kept[0] != seen:
            names = seen[0]
            regressions = read_regressions(self, names)
            place = {name: v for v, name in enumerate(names)}
            order = [place[name] for name in nx.topological_sort(self)]
            self._kept = seen, LinearGaussianArrays(names, regressions, order)
        return self._kept[1]

    # ---- answers under pgmpy's names ----

    def predict(self, data: Any, *, method: str | None = None) -> pd.DataFrame:
        r"""Predict missing values and absent columns by their conditional means given the rest of the row.

        .. math:: E(x_m \mid x_o) = \mu_m - K_{mm}^{-1} K_{mo} (x_o - \mu_o), \qquad K = (I - B)^T D^{-2} (I - B)

        with the slopes B and the standard deviations D of the CPDs. The conditional means are also the most probable
        values.

        Parameters
        ----------
        data : DataFrame, dict, array, path, iterator of frames, or DistributedNumericTable
            Any number of rows. Variables without a column and missing values are predicted. A dictionary of single
            values is one row. An array has a column for each variable, in the order of the nodes.
        method : {None, "map", "marginal"}, default=None
            None returns the predicted variables only, as pgmpy does. "map" and "marginal", which are the same here,
            return all variables.

        Returns
        -------
        pandas.DataFrame
            Without `method`, the variables without a column or with missing values, in pgmpy's topological order.
            Otherwise shape (n_samples, n_variables): the columns of `data` in their order, then the variables without a
            column in the order of the nodes. It has the index of `data`, and observed values are unchanged. For a
            distributed table, a dask.dataframe whose partitions the workers compute.

        Raises
        ------
        ValueError
            If a column is not a variable or not numeric, a value is infinite, a CPD is missing, a standard deviation is
            not positive, or, without `method`, if no value is missing.

        Notes
        -----
        Without `method`, and if only whole columns of a frame are missing, standard deviations may be 0.

        Missing values that no path of missing values joins in the moral graph are predicted separately. The cost is
        O(c^3) for c connected missing values, once for all rows with the same missing values. The answer for a row
        does not depend on other rows. pgmpy 1.1 rounds means and covariances to 8 decimals, pgmx does not.

        References
        ----------
        H. Rue, L. Held (2005), Gaussian Markov Random Fields, theorem 2.5.
        """
        if method is not None:
            check_method(method, ("map", "marginal"))
        if method is None and isinstance(data, pd.DataFrame) and self._is_partly_determined():
            variables, means, _ = self.predict_probability(data)
            return pd.DataFrame(means, columns=pd.Index(variables, tupleize_cols=False), index=data.index)
        return self._predict(data, whole=method is not None)

    def predict_probability(self, data: pd.DataFrame) -> tuple[list, np.ndarray, np.ndarray]:
        """Return the joint distribution of the variables without a column given the rest of the row.

        Parameters
        ----------
        data : DataFrame
            Rows without missing values, in which columns are absent.

        Returns
        -------
        list of hashable
            The k variables without a column, parents before children.
        ndarray of float64, shape (n_samples, k)
            Their conditional means.
        ndarray of float64, shape (k, k)
            Their conditional covariance, the same for all rows.

        Raises
        ------
        ValueError
            If all variables have a column, a column is not a variable, or a value is missing: `predict_proba` accepts
            missing values.
        """
        names = list(self.nodes())
        place = {name: v for v, name in enumerate(names)}
        rows = read_numeric_rows(data, tuple(names), allow_missing=True)
        order = [place[name] for name in nx.topological_sort(self)]
        absent = [v for v in order if not rows.known[v]]
        if not absent:
            raise ValueError("the data have a column for every variable: there is nothing to predict")
        if np.isnan(rows.values[:, rows.known]).any():
            raise ValueError(
                "values are missing, so that the rows have different covariances: predict_proba returns means and "
                "standard deviations"
            )
        missing = [names[v] for v in absent]
        if not self._is_partly_determined():
            arrays = self._read_arrays()
            return missing, arrays.fill(rows.values)[:, absent], arrays.condition(absent)
        noise = join_noise(read_regressions(self, names, least=0.0), order)
        given = condition_noise(noise, rows.order, rows.values[:, rows.order]).take(absent)
        return missing, given.mean, given.covariance

    def _is_partly_determined(self) -> bool:
        """Return whether a standard deviation is 0."""
        return any(cpd.std == 0 for cpd in self.cpds)

    # ---- samples ----

    def simulate(
        self,
        n_samples: int = 1000,
        do: Mapping[Hashable, float] | None = None,
        evidence: Mapping[Hashable, float] | None = None,
        virtual_intervention: Sequence[LinearGaussianCPD] | None = None,
        include_latents: bool = False,
        seed: int | None = None,
        missing_prob: Mapping[Hashable, float] | None = None,
    ) -> pd.DataFrame:
        """Draw independent rows, given evidence and after interventions if any.

        Parameters
        ----------
        n_samples : int, default=1000
            Number of rows, at least 0.
        do : dict of {name: number}, optional
            Interventions: the edges into these variables are cut, and they have these values.
        evidence : dict of {name: number}, optional
            Observed values; the other variables are drawn from their exact joint distribution given these.
        virtual_intervention : list of LinearGaussianCPD, optional
            CPDs that replace those of their variables; their parents must be among the parents in the graph.
        include_latents : bool, default=False
            Whether the result has columns for `latents`.
        seed : int or None, default=None
            A non-negative seed; None draws fresh entropy.
        missing_prob : dict of {name: probability}, optional
            Probability of each value of a column to be missing, independently of everything else.

        Returns
        -------
        pandas.DataFrame
            Float columns, parents before children, then the variables of `do`.

        Raises
        ------
        TypeError, ValueError
            If a name is not a variable, a variable is in both `do` and `evidence`, a value is not finite, the evidence
            is impossible (which takes standard deviations of 0), or an option is out of its range.

        Notes
        -----
        Without evidence a seed gives the rows that pgmpy draws with it, up to the rounding of pgmpy's covariance to 8
        decimals, unless standard deviations of variables differ by a factor above 1e4, where pgmpy's rows lose digits.
        Standard deviations of CPDs may be 0. The cost is O(p^3) for p variables.

        References
        ----------
        J. Pearl (2009), Causality, equation 3.10 (do).
        """
        n, seed = check_natural(n_samples, "n_samples", 0), check_seed(seed)
        settings, values = _read_numbers(do, "do", self), _read_numbers(evidence, "evidence", self)
        both = [name for name in settings if name in values]
        if both:
            raise ValueError(f"variables can't be in both do and evidence, got {join_names(both)}: leave it out of one")
        names = list(self.nodes())
        place = {name: v for v, name in enumerate(names)}
        regressions = read_regressions(self, names, least=0.0)
        for cpd in virtual_intervention or ():
            v = place.get(cpd.variable)
            if v is None or not set(cpd.evidence) <= set(self.predecessors(cpd.variable)):
                raise ValueError(
                    f"the virtual intervention {cpd} must be on a variable of the network, with no other parents than "
                    f"those of the graph; the variables are {join_names(names)}"
                )
            beta = np.asarray(cpd.beta, dtype=np.float64)
            regressions[v] = Regression(v, [place[parent] for parent in cpd.evidence], beta, float(cpd.std))
        for name, value in settings.items():
            regressions[place[name]] = Regression(place[name], [], np.array([value]), 0.0)
        whole = join_noise(regressions, [place[name] for name in nx.topological_sort(self)])
        order = _sort_as_pgmpy(self, settings, [cpd.variable for cpd in virtual_intervention or ()])
        drawn = order
        if values:
            whole = condition_noise(whole, [place[name] for name in values], np.array(list(values.values())))
            drawn = _sort([name for name in order if name not in values])
        rng = np.random.default_rng(seed)
        rows = _draw_normal(whole.take([place[name] for name in drawn]), n, rng)
        columns = {name: rows[:, k] for k, name in enumerate(drawn)}
        columns |= {name: np.full(n, value) for name, value in (settings | values).items()}
        kept = [name for name in (*order, *settings) if include_latents or name not in self.latents]
        _remove_values(columns, kept, missing_prob, rng)
        frame = pd.DataFrame({k: columns[name] for k, name in enumerate(kept)}, index=pd.RangeIndex(n))
        return frame.set_axis(pd.Index(kept, tupleize_cols=False), axis=1)


def _read_numbers(given: Mapping[Hashable, float] | None, kind: str, network: nx.DiGraph) -> dict[Hashable, float]:
    """Return evidence or interventions as floats; raise for unknown variables and values that are not finite."""
    given = {} if given is None else given
    if not isinstance(given, Mapping):
        raise TypeError(f"{kind} must be a dictionary {{name: number}}, got {type(given).__name__}")
    unknown = [name for name in given if name not in network]
    if unknown:
        raise ValueError(
            f"{kind}-nodes that are not present in the network: {join_names(unknown)}"
            f"{suggest(unknown[0], list(network.nodes()))}; its variables are {join_names(network.nodes())}"
        )
    for name, value in given.items():
        if not isinstance(value, Real) or not np.isfinite(value):
            raise ValueError(f"the value of {name!r} in {kind} must be a finite number, got {value!r}")
    return {name: float(value) for name, value in given.items()}


def _sort_as_pgmpy(network: nx.DiGraph, settings: Iterable[Hashable], replaced: Iterable[Hashable]) -> list:
    """Return the variables in the order in which pgmpy draws them, on which the rows of a seed depend."""
    graph = nx.DiGraph()
    graph.add_nodes_from(network.nodes())
    graph.add_edges_from(network.edges())
    graph.remove_nodes_from(list(settings))
    graph.remove_edges_from([edge for name in replaced if name in graph for edge in list(graph.in_edges(name))])
    return list(nx.topological_sort(graph))


def _sort(names: list) -> list:
    try:
        return sorted(names)
    except TypeError:  # names of several types, which pgmpy refuses
        return names


def _draw_normal(variables: Noise, n: int, rng: np.random.Generator) -> np.ndarray:
    if not len(variables.mean):
        return np.empty((n, 0))
    covariance = variables.covariance
    units = np.sqrt(covariance.diagonal())
    used = units[units > 0.0]
    # one decomposition of variables in very different units would lose the digits of the small ones
    scale = (
        np.where(units > 0.0, units, 1.0)
        if len(used) and used.max() > _MOST_UNITS * used.min()
        else np.ones(len(units))
    )
    covariance = covariance / np.outer(scale, scale)
    return rng.multivariate_normal(variables.mean / scale, covariance, size=n, check_valid="ignore") * scale


def _remove_values(
    columns: dict[Hashable, np.ndarray], kept: Sequence[Hashable], missing_prob: Any, rng: np.random.Generator
) -> None:
    """Replace values by NaN, each with the probability of its column."""
    if missing_prob is None:
        return
    if not isinstance(missing_prob, Mapping):
        raise ValueError(f"missing_prob must be a dictionary {{name: probability}}, got {missing_prob!r}")
    for name, share in missing_prob.items():
        if name not in kept:
            raise ValueError(f"missing_prob has {name!r}, which is not among the columns {join_names(kept)}")
        if not isinstance(share, Real) or not 0.0 <= float(share) <= 1.0:
            raise ValueError(f"missing_prob of {name!r} must be between 0 and 1, got {share!r}")
    for name, share in missing_prob.items():
        columns[name][rng.random(len(columns[name])) < share] = np.nan
