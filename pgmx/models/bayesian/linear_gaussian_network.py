"""pgmpy's linear Gaussian Bayesian network with compiled answers: the class of all learned and loaded networks."""

from __future__ import annotations

from typing import Any, Self

import networkx as nx
import numpy as np
import pandas as pd
import pgmpy.models

from pgmx.fitted import get_model
from pgmx.inference.linear_gaussian import LinearGaussianArrays, read_regressions
from pgmx.inference.problem import check_method
from pgmx.models.base import copy_into
from pgmx.models.bayesian.linear_gaussian_rows import LinearGaussianRowQueries


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

    Questions about rows need positive standard deviations. ``simulate`` accepts 0, and so does ``predict`` if only
    whole columns are missing, as pgmpy does.

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
        Without `method`, and if whole columns of a frame are missing, standard deviations may be 0: pgmpy then answers.

        Missing values that no path of missing values joins in the moral graph are predicted separately. The cost is
        O(c^3) for c connected missing values, once for all rows with the same missing values. The answer for a row
        does not depend on other rows. pgmpy 1.1 rounds means and covariances to 8 decimals, pgmx does not.

        References
        ----------
        H. Rue, L. Held (2005), Gaussian Markov Random Fields, theorem 2.5.
        """
        check_method(method, (None, "map", "marginal"))
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
        if self._is_partly_determined():
            return super().predict_probability(data)
        arrays = self._read_arrays()
        rows = self.read_rows(data)
        absent = [v for v in arrays.order if not rows.known[v]]
        if not absent:
            raise ValueError("the data have a column for every variable: there is nothing to predict")
        if np.isnan(rows.values[:, rows.known]).any():
            raise ValueError(
                "values are missing, so that the rows have different covariances: predict_proba returns means and "
                "standard deviations"
            )
        return [arrays.names[v] for v in absent], arrays.fill(rows.values)[:, absent], arrays.condition(absent)

    def _is_partly_determined(self) -> bool:
        """Return whether a standard deviation is 0."""
        return any(cpd.std == 0 for cpd in self.cpds)
