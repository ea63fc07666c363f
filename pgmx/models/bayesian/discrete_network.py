"""pgmpy's discrete Bayesian network with compiled answers: the class of all learned and loaded networks."""

from __future__ import annotations

import os
from collections.abc import Hashable, Mapping, Sequence
from math import exp
from pathlib import Path
from typing import Any, Self

import numpy as np
import pandas as pd
import pgmpy.models
from pgmpy.models import DiscreteMarkovNetwork

from pgmx.data.distributed.tables import is_remote
from pgmx.fitted import get_model
from pgmx.inference.named_networks import TableSnapshot
from pgmx.inference.problem import Problem
from pgmx.models.base import copy_into
from pgmx.models.bayesian.simulation import simulate_rows
from pgmx.models.discrete_rows import NOTHING_MISSING, DiscreteRowAnswers, DiscreteRowQueries


class DiscreteBayesianNetwork(DiscreteRowQueries, pgmpy.models.DiscreteBayesianNetwork):
    r"""A discrete Bayesian network, :math:`P(x) = \prod_v P(x_v \mid x_{\mathrm{pa}(v)})`, with pgmpy's interface.

    It is pgmpy's class, and its answers come from compiled code: predictions, probabilities and likelihoods of tables
    with any pattern of missing values, and all questions of :mod:`pgmx.inference`. Learners, readers of files and
    :func:`pgmx.datasets.load_network` return it.

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
    cpds : list of TabularCPD
        The tables, added by ``add_cpds`` or ``fit``. As in pgmpy, ``states`` is a dictionary of the states of each
        variable in its table.

    Notes
    -----
    Every question sees the tables as they are, also if they were replaced or their values edited in place.
    Probabilities are scaled to the sum 1, since files hold rounded decimals. What depends on the network alone is
    computed once and kept; pickles, copies and comparisons leave it out.

    References
    ----------
    R. Dechter (1999), Bucket elimination: a unifying framework for reasoning, Artificial Intelligence 113.

    Examples
    --------
    >>> import pandas as pd
    >>> from pgmx.datasets import load_network
    >>> asia = load_network("asia")
    >>> rows = pd.DataFrame({"smoke": ["yes", "no"], "xray": ["yes", None], "dysp": ["yes", "no"]})
    >>> asia.predict(rows)[["xray", "bronc", "lung"]].values.tolist()
    [['yes', 'yes', 'yes'], ['no', 'no', 'no']]
    >>> asia.predict_proba(rows, ["lung"]).round(4).values.tolist()
    [[0.7237, 0.2763], [0.0035, 0.9965]]
    """

    _kept: tuple[TableSnapshot, Problem] | None = None

    # ---- construction and other forms ----

    @classmethod
    def from_network(cls, network: Any) -> Self:
        """Make a network from another one.

        Parameters
        ----------
        network : DiscreteBayesianNetwork, DiscreteMarkovNetwork or fitted learner
            A network of pgmpy, of :mod:`pgmx.models`, or the one of a learner. A Markov network is converted by
            pgmpy's ``to_bayesian_model``.

        Returns
        -------
        DiscreteBayesianNetwork
            A network with copies of the tables, and the attributes of graph, nodes and edges.

        Raises
        ------
        TypeError
            If the network is of another kind.
        """
        network = get_model(network)
        if isinstance(network, DiscreteMarkovNetwork):
            network = network.to_bayesian_model()
        if not isinstance(network, pgmpy.models.DiscreteBayesianNetwork):
            raise TypeError(
                "network must be a DiscreteBayesianNetwork, a DiscreteMarkovNetwork or a fitted learner of one, got "
                f"{type(network).__name__}"
            )
        return copy_into(cls(), network)

    def to_pgmpy(self) -> pgmpy.models.DiscreteBayesianNetwork:
        """Return a copy as an object of pgmpy's own class, whose pickles can be read without pgmx."""
        return copy_into(pgmpy.models.DiscreteBayesianNetwork(), self)

    def copy(self) -> Self:
        """Return a copy: a network of the same class with copies of the tables."""
        return copy_into(type(self)(), self)

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "_kept"}

    # ---- files ----

    def save(self, filename: str | os.PathLike, filetype: str | None = None) -> None:
        """Write the network to a file, as :func:`pgmx.models.save_model` does.

        Parameters
        ----------
        filename : str or path
            The file; its suffix determines the format.
        filetype : {"bif", "xmlbif", "net", "xdsl", "uai", "json", "graphml"} or None, default=None
            The format of a file with another suffix. None, without a suffix: bif, as in pgmpy.

        Raises
        ------
        ValueError
            For an unknown suffix or format, and as by :func:`pgmx.models.save_model`.
        """
        from pgmx.models.any_model import save_model

        save_model(self, filename, _choose_format(filename, filetype))

    @classmethod
    def load(cls, filename: str | os.PathLike, filetype: str | None = None, *, state_name_type: type = str) -> Self:
        """Read a network from a file, as :func:`pgmx.models.read_model` does.

        Parameters
        ----------
        filename : str or path
            The file; its suffix determines the format, the content of a ``.xml`` file its format.
        filetype : {"bif", "xmlbif", "net", "xdsl", "uai", "json"} or None, default=None
            The format of a file with another suffix. None, without a suffix: bif, as in pgmpy.
        state_name_type : type, default=str
            Converts the states of the file, for example ``int``.

        Returns
        -------
        DiscreteBayesianNetwork
            The network, of this class.

        Raises
        ------
        ValueError
            For an unknown suffix or format, a damaged file, and states that `state_name_type` cannot convert.
        TypeError
            If the file holds another model.
        """
        from pgmx.models.any_model import read_model

        network = cls.from_network(read_model(filename, _choose_format(filename, filetype)))
        if state_name_type is not str:
            for cpd in network.cpds:
                states = {name: [state_name_type(state) for state in found] for name, found in cpd.state_names.items()}
                cpd.store_state_names(cpd.variables, cpd.cardinality, states)
        return network

    # ---- the compiled form ----

    def inference_problem(self) -> Problem:
        """Return names, states and tables with the plans of earlier questions, for :mod:`pgmx.inference`."""
        if self._kept is None or not (self._kept[0].is_current(self) and self._kept[0].has_same_values()):
            self._kept = TableSnapshot(self), Problem.from_tables(self)
        return self._kept[1]

    def without_graph(self, question: str) -> DiscreteRowAnswers:
        """Return the tables with the row-wise methods of the network, without a pgmpy graph."""
        return DiscreteRowAnswers(self.inference_problem())

    # ---- answers under pgmpy's names ----

    def predict(
        self,
        data: Any,
        algo: type | None = None,
        stochastic: bool = False,
        n_jobs: int | None = -1,
        seed: int | None = None,
        *,
        method: str = "map",
        **kwargs: Any,
    ) -> pd.DataFrame:
        r"""Predict all missing values given the rest of the row.

        .. math:: \hat x_m = \arg\max_{x_m} P(x_m \mid x_o)

        for all missing values of a row together.

        Parameters
        ----------
        data : DataFrame, array, DiscreteTable, path, iterator of frames, or distributed table
            Rows. Variables without a column and missing values are predicted.
        algo : type, optional
            A class of ``pgmpy.inference``: pgmpy predicts with it. By default compiled code does.
        stochastic : bool, default=False
            True draws the missing values of a row together from their distribution given the rest of the row.
        n_jobs : int or None, default=-1
            Number of threads; results do not depend on it.
        seed : int or None, default=None
            Seed of the draws; None takes fresh entropy. A row's draws depend on the seed and on its position.
        method : {"map", "marginal"}, default="map"
            The most probable joint configuration, or the most probable state of each variable,
            :math:`\arg\max_k P(x_v = k \mid x_o)`.
        **kwargs
            Options of `algo`.

        Returns
        -------
        pandas.DataFrame of shape (n_samples, n_variables)
            The columns of the data, then the absent variables in the order of the nodes; categorical with all states
            declared, with the index of the data. Observed values are unchanged. For a distributed table, a
            dask.dataframe whose partitions the workers compute.

        Raises
        ------
        ValueError
            If nothing is missing, a column is not a variable, a value is not a state of its variable, or the observed
            values of a row are impossible.
        TreewidthError
            If a row needs more than 2 GB, or the free memory if that is less; the error names the row.

        Notes
        -----
        The missing variables of a row fall into components that are connected given its observed values. Each is
        eliminated by itself, in time proportional to the cells of its tables; the elimination orders are kept. Of
        equally probable configurations it is always the same one.
        """
        if algo is not None or kwargs:
            return super().predict(data, algo, stochastic, n_jobs, seed, **kwargs)
        if is_remote(data):
            if not set(self) - set(data.names):
                raise ValueError(NOTHING_MISSING)
            if seed is None:  # the chunks draw from one source, and every computation draws the same
                seed = int(np.random.SeedSequence().generate_state(1)[0])
        return self.fill(
            data, method=method, stochastic=stochastic, seed=seed, n_jobs=n_jobs, first_row=0, must_fill=True
        )

    def predict_probability(self, data: Any) -> pd.DataFrame:
        """Return the distributions of missing values as `predict_proba` does, under pgmpy's names of columns.

        Parameters
        ----------
        data : DataFrame, array, DiscreteTable, path or iterator of frames
            Rows, in which columns and values may be missing.

        Returns
        -------
        pandas.DataFrame
            Columns ``f"{variable}_{state}"``.

        Raises
        ------
        ValueError
            If nothing is missing, and as by `predict_proba`.
        """
        found = self.predict_proba(data)
        if not found.shape[1]:
            raise ValueError(NOTHING_MISSING)
        return found.set_axis([f"{name}_{state}" for name, state in found.columns], axis=1)

    def simulate(
        self,
        n_samples: int = 10,
        do: Mapping[Hashable, Hashable] | None = None,
        evidence: Mapping[Hashable, Hashable] | None = None,
        virtual_evidence: Sequence[Any] | None = None,
        virtual_intervention: Sequence[Any] | None = None,
        missing_prob: Any = None,
        include_latents: bool = False,
        partial_samples: Any = None,
        seed: int | None = None,
        show_progress: bool = True,
        return_full: bool = False,
    ) -> pd.DataFrame:
        r"""Draw independent rows from :math:`P(x \mid e, \mathrm{do}(y))`, exactly.

        Parameters
        ----------
        n_samples : int, default=10
            Number of rows, at least 0.
        do : dict of {name: state}, optional
            Interventions: the edges into these variables are removed and their states are set.
        evidence : dict of {name: state}, optional
            Observed variables; they keep their states in all rows.
        virtual_evidence : list of TabularCPD, optional
            Uncertain observations: the likelihood of each state of a variable, as a table of this variable alone.
        virtual_intervention : list of TabularCPD, optional
            Interventions by a distribution: the edges into the variable are removed, and its state has the
            distribution of the table.
        missing_prob : TabularCPD or list of TabularCPD, optional
            Probabilities of missing values: the table of ``"X*"``, with states 0 (observed) and 1 (missing), for the
            variable ``"X"``. Its parents may be ``"X"`` itself, other variables, and earlier tables of the list.
        include_latents : bool, default=False
            Whether the frame has columns of latent variables.
        partial_samples : DataFrame, optional
            Values of some variables, a row for each row to be drawn. As in pgmpy they act as interventions: the
            parents of these variables do not depend on them.
        seed : int or None, default=None
            A non-negative seed; None draws fresh entropy.
        show_progress : bool, default=True
            Accepted as in pgmpy; there is no progress to show.
        return_full : bool, default=False
            Whether the frame also has the columns with missing values as they were before, named ``"X_full"``.

        Returns
        -------
        pandas.DataFrame of shape (n_samples, n_variables)
            Categorical columns in the order of the nodes, all states declared.

        Raises
        ------
        TreewidthError
            If the evidence needs more than 2 GB, or the free memory if that is less.
        TypeError, ValueError
            If the evidence is impossible, a variable or state is unknown, two arguments contradict each other, a table
            does not fit to its variable, or a number is negative.

        Notes
        -----
        No row is rejected: the time does not depend on the probability of the evidence. Variables with an observed
        descendant are drawn from their posterior by elimination [1]_, all others given their parents. Every variable
        has its own random stream, seeded by `seed` and its position. The same seed gives the same rows on every
        platform and for any number of threads, and fewer rows are the first of these rows. Each row costs one addition
        per state of its variables.

        pgmpy multiplies the table of a virtual intervention by the mean of the variable's own table over its parents.
        Here it is the distribution of the variable, as pgmpy documents it. Columns of auxiliary nodes, ``"__X"``, are
        left out.

        References
        ----------
        .. [1] R. Dechter (1999), Bucket elimination: a unifying framework for reasoning, Artificial Intelligence 113.
        .. [2] J. Pearl (2009), Causality, equation 3.10 (do) and section 4.2 (interventions by a distribution).

        Examples
        --------
        >>> from pgmx.datasets import load_network
        >>> asia = load_network("asia")
        >>> rows = asia.simulate(2000, evidence={"tub": "yes"}, do={"smoke": "no"}, seed=0)
        >>> rows["either"].unique().tolist()
        ['yes']
        """
        left_out = () if include_latents else self.latents
        return simulate_rows(
            self.inference_problem(),
            n_samples,
            do=do,
            evidence=evidence,
            virtual_evidence=virtual_evidence,
            virtual_intervention=virtual_intervention,
            missing_prob=missing_prob,
            partial_samples=partial_samples,
            seed=seed,
            return_full=return_full,
            left_out=left_out,
        )

    def get_state_probability(self, states: Mapping[Hashable, Hashable]) -> float:
        """Return the probability of some states together, all other variables summed out.

        Parameters
        ----------
        states : dict of {name: state}
            The states.

        Returns
        -------
        float
            0 if they are impossible.

        Raises
        ------
        ValueError
            If a variable or a state is unknown.
        """
        problem = self.inference_problem()
        row = np.full((1, len(problem.names)), -1, dtype=np.int32)
        for v, code in problem.encode_evidence(states, "states").items():
            row[0, v] = code
        return exp(problem.engine.answer_rows(row, None)[0])


def _choose_format(path: str | os.PathLike, format: str | None) -> str | None:
    return "bif" if format is None and not Path(path).suffix else format
