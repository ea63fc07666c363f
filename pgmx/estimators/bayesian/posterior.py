"""The posterior over structures of Bayesian networks."""

from collections.abc import Callable, Collection, Hashable, Sequence
from copy import copy
from functools import partial
from math import inf, nan
from numbers import Integral, Real
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import ArrayLike
from pgmpy.causal_discovery import ExpertKnowledge

from pgmx.checks import is_silent
from pgmx.data import DiscreteTable
from pgmx.estimators.base import DISCRETE_COLUMNS, NA_VALUES, Interval, StrOptions, config, random_draws
from pgmx.estimators.bayesian.cost import estimate_continuous, estimate_discrete, measure_size
from pgmx.estimators.bayesian.dag_learner import (
    KNOWLEDGE_OPTIONS,
    InputTable,
    InterventionLearner,
    read_parameter_prior,
    warn_of_few_complete_rows,
)
from pgmx.estimators.bayesian.pgmpy_interface import BaseStructureScore
from pgmx.estimators.bayesian.structure_results import Posterior, PosteriorResults
from pgmx.estimators.cost import LearningCost
from pgmx.models.bayesian.strengths import make_arc_matrix
from pgmx.runs.checkpoint import Checkpoint, open_checkpoint
from pgmx.runs.progress import PosteriorProgress, ProgressBar
from pgmx.runs.run import Run
from pgmx.scores.binding.discrete import list_facts
from pgmx.scores.binding.resolve import resolve_scoring
from pgmx.scores.binding.scoring import Scoring, StoredScoring
from pgmx.scores.discrete.base import DiscreteScore
from pgmx.scores.gains import GainSource
from pgmx.scores.priors import ParameterPrior, StructurePrior, UniformPrior
from pgmx.scores.registry import list_scores, name_default
from pgmx.search.knowledge import EdgeConstraints, read_constraints
from pgmx.search.posterior.candidates import OUTSIDE_GRAPHS, CandidateSearch, ChainFit, find_first_graph
from pgmx.search.posterior.chains import MOST_CANDIDATES as MOST_OF_CHAINS
from pgmx.search.posterior.chains import SampledPosterior, count_chain_bytes
from pgmx.search.posterior.diagnostics import warn_of_disagreement
from pgmx.search.posterior.exact import MOST_VARIABLES, ExactPosterior, count_bytes
from pgmx.search.posterior.families import ParentChoices, TableBuilder
from pgmx.search.posterior.outside import OutsideMass
from pgmx.search.posterior.structure_priors import PRIOR_NAMES, compute_log_prior, sum_prior, sum_weights

if TYPE_CHECKING:
    import pandas as pd

#: Number of variables up to which ``method="auto"`` is exact, and the bytes that it may take.
AUTO_VARIABLES, AUTO_BYTES = {"dags": 16, "orders": 20}, 1 << 30

#: Bytes above which the exact method is refused.
MOST_BYTES = 1 << 32

#: Number of variables up to which all others are candidate parents by default, and the number of candidates beyond.
ALL_CANDIDATES, SOME_CANDIDATES = 20, 12

#: Scores that are no marginal likelihoods, nor approximations of them.
NO_EVIDENCE = ("aic", "ll")

#: Default scores, by the default of a search.
DEFAULT_SCORES = {"bic": "bdeu", "bic-g": "bge"}


class StructurePosterior(InterventionLearner, PosteriorResults):
    r"""Posterior probabilities of the structures of Bayesian networks: edges, paths, effects and predictions.

    The posterior of a DAG G given the data D is

    .. math:: P(G \mid D) \propto P(G)\, P(D \mid G) = \prod_v \rho(|\Pi_v^G|)\, e^{s(v \mid \Pi_v^G)}

    with the scores s of `scoring_method`, log marginal likelihoods such as BDeu and BGe, and the `structure_prior`
    :math:`\rho`. The probability of an arc is the sum over all DAGs that contain it, computed exactly for few
    variables. Unlike the strengths of :class:`BootstrapStructure`, these are probabilities that an edge is in the true
    graph, if the prior and the family of distributions hold.

    Parameters
    ----------
    data : DataFrame, array, DiscreteTable, path or iterator of frames, optional
        Data for ``estimate()``. ``fit(X)`` does not use it.
    scoring_method : str or BaseStructureScore, default=None
        Name of a score, or a score object of pgmx or pgmpy made from the same data. The default is ``"bdeu"`` for
        discrete and ``"bge"`` for continuous data; mixed data need a name. BIC is used as the log marginal likelihood
        that it approximates; AIC and the log-likelihood are refused.
    equivalent_sample_size : float, default=None
        Number of rows that the Dirichlet prior of the parameters of `model_` represents, as in
        :class:`HillClimbSearch`. The score named ``"bdeu"`` has its own, 10; pass a score object for another one.
    method : {"auto", "exact", "mcmc"}, default="auto"
        ``"exact"`` sums over all structures, ``"mcmc"`` samples them by Markov chains. ``"auto"`` is exact with up to
        16 variables (``over="orders"``: 20), if that needs at most 1 GiB.
    over : {"dags", "orders"}, default="dags"
        ``"dags"`` counts each DAG once. ``"orders"`` counts it once for each of its topological orders, as most
        samplers over orders do. This is faster and not an approximation of ``"dags"``: arcs differ by 0.1 to 0.25.
    structure_prior : {"fair", "uniform"}, EdgePrior or ParameterPrior, default="fair"
        ``"fair"`` gives each number of parents the same probability: :math:`\rho(k) = 1 / \binom{n-1}{k}` [2]_.
        ``"uniform"`` gives each DAG the same probability, and so expects n / 4 parents of a variable.
    n_candidates : int, default=None
        Number of candidate parents of each variable, including required ones. The default of ``"exact"`` is all other
        variables with up to 20 variables and 12 beyond, that of ``"mcmc"`` is 12; chains accept at most 16.
    max_indegree : int, default=5
        Largest number of parents of a variable.
    n_chains : int, default=4
        Number of chains. Every second chain starts from a random order, the others from that of a search.
    n_steps : int, default=None
        Number of steps of each chain, a multiple of 32,768 (rounded up). With None there are rounds of 2¹⁹ steps, then
        twice as many, until the chains agree, or to 2²⁴ steps of all chains and temperatures together (2²³ above 64
        variables).
    n_dags : int, default=2000
        Number of DAGs drawn for paths, features, effects and predictions.
    r_hat : float, default=1.05
        Largest r-hat with which chains agree. They must also differ by at most 0.1 in the probability of each arc.
    expert_knowledge : ExpertKnowledge, default=None
        Prior knowledge as an object of pgmpy, combined with the next five options; contradictions are an error.
    required_edges, forbidden_edges : collection of (tail, head), default=None
        Edges that each graph must have, and edges that it must not have.
    tiers : list of collections, default=None
        Groups of variables from the earliest to the latest. No edge leads to an earlier group.
    root_nodes : collection, default=None
        Variables without parents.
    candidate_edges : collection of (tail, head), default=None
        The only edges that a graph may have.
    max_time : float, default=None
        Time limit in seconds. If it ends the scoring of families, graphs have at most as many parents as were scored
        for all variables, with a warning; chains end with the steps made so far. Exact sums are not interrupted.
    checkpoint : path-like, default=None
        File with the state of the chains. If it exists, ``fit`` resumes from it, to the same bits. It is deleted at the
        end. ``"exact"`` does not use it.
    checkpoint_every : float, default=60.0
        Seconds between two snapshots. 0 writes one per 32,768 steps.
    show_progress : bool, default=True
        Whether runs of more than one second show a progress bar. ``pgmpy.config.SHOW_PROGRESS`` can switch it off too.
    callback : callable, default=None
        Called with the named tuple (n_iter, r_hat, max_difference, seconds) after each number of parents that is scored
        by ``"exact"``, and after each 32,768 steps of all chains. If it returns a true value, no larger families are
        scored, or the chains end.
    state_names : dict, default=None
        States of some or all variables, in order. States that do not occur in the data are allowed.
    interventions : hashable, default=None
        Name of a column that says which variables were set from outside in a row: a name, several (a list, or a string
        separated by commas), or missing if none was. The column is no variable. See the Notes of
        :class:`HillClimbSearch`.
    missing : {"error", "drop", "category", "pairwise"}, default="error"
        Treatment of missing values, as in :class:`HillClimbSearch`. With ``"pairwise"`` families are scored on
        different rows, so that probabilities are approximate.
    na_values : scalar, str, list-like or dict, default=None
        Additional markers of missing values in a CSV file, as in ``pandas.read_csv``.
    discrete_columns : list of hashable, default=None
        Numeric columns that are discrete.
    n_jobs : int, default=None
        Number of threads for coding, counting and chains. The result does not depend on it.
    random_state : int, RandomState, Generator or None, default=0
        Seed or generator of the chains and of the sampled DAGs.

    Attributes
    ----------
    arc_probability_ : DataFrame
        P(row → column).
    edge_probability_, direction_probability_ : DataFrame
        Probability that two variables are joined, symmetric; and of row → column given that they are joined.
    strengths_ : DataFrame
        ``from``, ``to``, ``strength`` (joined) and ``direction`` of each pair, the most probable first, in its more
        probable direction; as from :class:`BootstrapStructure`.
    pairs_ : ndarray of shape (n_pairs, 2), int64
        The pairs (u, v), u < v, of positive probability, as positions in `variables_`.
    graph_, causal_graph_ : pgmpy.base.PDAG
        ``consensus_graph()``: the edges of probability 0.5 and more.
    dag_ : pgmpy.base.DAG
        `graph_` with its undirected edges directed, without new v-structures if possible.
    model_ : DiscreteBayesianNetwork, LinearGaussianBayesianNetwork or ConditionalGaussianNetwork
        The network of `dag_`, made on first access.
    best_dag_, best_score_ : pgmpy.base.DAG, float
        The DAG of highest posterior probability, and its score plus the log of its prior weight.
    log_evidence_ : float
        Log marginal likelihood of the data, averaged over structures, in nats, computed on first access. With all
        variables as candidates it takes no time, otherwise as long as `fit` at most.
    method_ : str
        The method used.
    candidates_ : dict
        The candidate parents of each variable, including required ones.
    outside_mass_ : float
        The largest probability that a variable has a parent from outside its candidates, of first order; 0 if all
        allowed parents are candidates.
    r_hat_, max_difference_ : float
        The largest r-hat of an arc or of the log-score, and the largest difference of two chains in the probability of
        an arc. For ``method="exact"`` these and the next two are 1, 0, infinity, 0 and 0.
    effective_sample_size_ : float
        Number of independent draws worth the chains, the least of the log-score and of the 20 arcs of largest r-hat.
    n_steps_, n_restarts_ : int
        Steps of each chain after the warm-up, and the number of times that a chain far below the best one was started
        again from the order of that chain.
    r_hats_ : DataFrame
        r-hat by arc, NaN outside the candidates; ones for ``method="exact"``.
    converged_, stopped_by_ : bool, str
        Whether all families were scored and chains agree, and why the run ended: "converged", "max_time", "max_iter"
        (`n_steps`, or its default limit), "callback" or "interrupt".
    history_ : dict of ndarray
        ``"r_hat"``, ``"max_difference"`` and ``"seconds"`` at each call of `callback`.
    edges_ : ndarray of shape (n_edges, 2), int64
        Edges (tail, head) of `dag_` as positions in `variables_`.
    adjacency_matrix_ : DataFrame
        Adjacency matrix of `graph_`, made on access.
    variables_, n_features_in_, feature_names_in_ : list, int, ndarray
        Names of the columns, and their number and names as in scikit-learn.

    Raises
    ------
    ValueError, TypeError
        If an option is out of range, the data are not accepted, knowledge is contradictory or requires more parents
        than `max_indegree` or `n_candidates` allow, the score is not a marginal likelihood, or the exact method needs
        too much memory. The message names the cause.
    ArithmeticError
        If rounding errors of the exact sums exceed 1e-9.

    Warns
    -----
    ConvergenceWarning
        If the chains do not agree; it names the arcs that differ most.
    UserWarning
        If `outside_mass_` is above 0.2; it names the variable.

    Notes
    -----
    With n variables and K candidates, all sets of up to `max_indegree` candidates are scored: n C(K, k) families of k
    parents. The sums over subsets take n 2ⁿ operations over orders [3]_, and up to 3ⁿ over DAGs [4]_, of which terms
    below e⁻⁴⁶ are left out: 2 to 40 % remain. Memory: 16 n 2ᴷ + 24 · 2ⁿ bytes. DAGs are drawn independently, by layers
    [5]_. 16 variables take 0.3 s, 20 variables 2 s and 300 MB, 25 variables with 12 candidates over orders 6 s. The
    probabilities sum over 10⁷² DAGs for 20 variables, without sampling.

    Constant discrete columns do not change a score, so the prior alone decides on their edges. Of equal columns each is
    the parent with a probability of about a half.

    Chains are over pairs of an order and a DAG that agrees with it. Their target is the posterior of the DAG times the
    probability that a random completion of the DAG gives the order, so that DAGs have exactly their posterior
    probability. Parents are summed out while the order moves [6]_. Chains begin with a warm-up over orders, and have 4
    temperatures above 40 variables. The first quarter of the steps is not used. Candidates depend on the data, not on
    `random_state`: the neighbours in the graphs of three thorough searches, then greedy additions, then the largest
    single gains. Pilot chains over orders pool them, and replace those that they do not use by variables of more mass.
    An arc from outside the candidates has the probability of one such parent, in addition to or in place of those
    drawn. A step costs 0.7 µs with 37 variables and 1.4 µs with 100; over orders 0.2 µs.

    References
    ----------
    .. [1] Madigan, D. and York, J. (1995). Bayesian graphical models for discrete data. International Statistical
       Review 63, 215-232.
    .. [2] Friedman, N. and Koller, D. (2003). Being Bayesian about network structure. Machine Learning 50, 95-125,
       section 2.2.
    .. [3] Koivisto, M. (2006). Advances in exact Bayesian structure discovery in Bayesian networks. UAI, 241-248.
    .. [4] Tian, J. and He, R. (2009). Computing posterior probabilities of structural features in Bayesian networks.
       UAI, 538-547, theorem 2.
    .. [5] Talvitie, T., Vuoksenmaa, A. and Koivisto, M. (2019). Exact sampling of directed acyclic graphs from modular
       distributions. UAI, PMLR 115, 965-974.
    .. [6] Friedman, N. and Koller, D. (2003), as above, section 4 (chains over orders).

    Examples
    --------
    >>> import numpy as np
    >>> import pandas as pd
    >>> rng = np.random.default_rng(0)
    >>> rain = rng.integers(0, 2, 500)
    >>> wet = np.where(rng.random(500) < 0.9, rain, 1 - rain)
    >>> data = pd.DataFrame({"rain": rain, "wet": wet, "coin": rng.integers(0, 2, 500)})
    >>> posterior = StructurePosterior().fit(data)
    >>> print(posterior.strengths_.head(1).round(2))
      from    to  strength  direction
    0  wet  rain       1.0       0.56
    """

    n_features_in_: int
    converged_: bool
    stopped_by_: str
    history_: dict[str, np.ndarray]
    method_: str
    _choices: ParentChoices
    _sampled: SampledPosterior

    _tags = {"name": "structure_posterior"}

    _parameter_constraints: dict[str, Any] = {
        "scoring_method": [str, BaseStructureScore, None],
        "equivalent_sample_size": [Interval(Real, 0, None, closed="neither"), None],
        "method": [StrOptions({"auto", "exact", "mcmc"})],
        "over": [StrOptions({"dags", "orders"})],
        "structure_prior": [StrOptions(set(PRIOR_NAMES)), StructurePrior],
        "n_candidates": [Interval(Integral, 0, None, closed="left"), None],
        "max_indegree": [Interval(Integral, 0, None, closed="left")],
        "n_chains": [Interval(Integral, 1, None, closed="left")],
        "n_steps": [Interval(Integral, 1, None, closed="left"), None],
        "n_dags": [Interval(Integral, 1, None, closed="left")],
        "r_hat": [Interval(Real, 1, None, closed="neither")],
        **dict.fromkeys(KNOWLEDGE_OPTIONS, "no_validation"),
        "max_time": [Interval(Real, 0, None, closed="left"), None],
        "checkpoint": [str, Path, None],
        "checkpoint_every": [Interval(Real, 0, None, closed="left")],
        "show_progress": ["boolean"],
        "callback": [callable, None],
        "state_names": [dict, None],
        "missing": [StrOptions({"error", "drop", "category", "pairwise", "em"})],  # "em" is refused with advice
        "interventions": "no_validation",  # a name of a column, checked when the data are opened
        "na_values": NA_VALUES,
        "discrete_columns": DISCRETE_COLUMNS,
        "n_jobs": [Integral, None],
        "random_state": ["random_state", np.random.Generator],
    }

    def __init__(
        self,
        data: Any = None,
        *,
        scoring_method: str | BaseStructureScore | None = None,
        equivalent_sample_size: float | None = None,
        method: Literal["auto", "exact", "mcmc"] = "auto",
        over: Literal["dags", "orders"] = "dags",
        structure_prior: Literal["fair", "uniform"] | StructurePrior = "fair",
        n_candidates: int | None = None,
        max_indegree: int = 5,
        n_chains: int = 4,
        n_steps: int | None = None,
        n_dags: int = 2000,
        r_hat: float = 1.05,
        expert_knowledge: ExpertKnowledge | None = None,
        required_edges: Collection[Sequence[Hashable]] | None = None,
        forbidden_edges: Collection[Sequence[Hashable]] | None = None,
        tiers: Sequence[Collection[Hashable]] | None = None,
        root_nodes: Collection[Hashable] | None = None,
        candidate_edges: Collection[Sequence[Hashable]] | None = None,
        max_time: float | None = None,
        checkpoint: str | Path | None = None,
        checkpoint_every: float = 60.0,
        show_progress: bool = True,
        callback: Callable[[PosteriorProgress], object] | None = None,
        state_names: dict | None = None,
        interventions: Hashable | None = None,
        missing: Literal["error", "drop", "category", "pairwise"] = "error",
        na_values: Any = None,
        discrete_columns: Sequence[Hashable] | None = None,
        n_jobs: int | None = None,
        random_state: int | np.random.RandomState | np.random.Generator | None = 0,
    ) -> None:
        self.data = data
        self.scoring_method = scoring_method
        self.equivalent_sample_size = equivalent_sample_size
        self.method = method
        self.over = over
        self.structure_prior = structure_prior
        self.n_candidates = n_candidates
        self.max_indegree = max_indegree
        self.n_chains = n_chains
        self.n_steps = n_steps
        self.n_dags = n_dags
        self.r_hat = r_hat
        self.expert_knowledge = expert_knowledge
        self.required_edges = required_edges
        self.forbidden_edges = forbidden_edges
        self.tiers = tiers
        self.root_nodes = root_nodes
        self.candidate_edges = candidate_edges
        self.max_time = max_time
        self.checkpoint = checkpoint
        self.checkpoint_every = checkpoint_every
        self.show_progress = show_progress
        self.callback = callback
        self.state_names = state_names
        self.interventions = interventions
        self.missing = missing
        self.na_values = na_values
        self.discrete_columns = discrete_columns
        self.n_jobs = n_jobs
        self.random_state = random_state

    # ---- learning ----

    def _reads_continuous(self, opened: Any) -> bool:
        method = self.scoring_method
        is_discrete = isinstance(method, DiscreteScore)
        if isinstance(method, str):
            is_discrete = method.lower() in list_scores("discrete", aliases=True)
        return super()._reads_continuous(opened) and not is_discrete

    def _fit(self, opened: InputTable, sample_weight: ArrayLike | None) -> Run:
        show, name = self.show_progress and config.SHOW_PROGRESS, type(self).__name__
        bar = ProgressBar(show, self.callback, name, unit="numbers of parents", figure=None)
        run = Run(PosteriorProgress, max_time=self.max_time, callback=bar.callback, start=self._start)
        bar.follow(run)
        with bar, run.limit_runs():
            scoring = self._bind_score(opened, sample_weight)
            names = scoring.names
            constraints = self._restrict(self._read_constraints(names), scoring)
            self._prior = read_parameter_prior(self)
            self._scoring = StoredScoring(scoring)
            self._seed = random_draws(1, self.random_state)[1]
            allowed, most = self._list_parents(names, constraints)
            self._log_prior = compute_log_prior(self.structure_prior, allowed.n)
            self.method_ = self._choose_method(allowed, most)
            if self.method_ == "mcmc":
                self._fit_by_chains(scoring, constraints, allowed, run)
            else:
                self._fit_exactly(scoring, constraints, allowed, most["exact"], run)
        choices = self._choices
        self.candidates_ = {
            names[v]: [names[u] for u in sorted([*choices.required[v].tolist(), *choices.candidates[v].tolist()])]
            for v in range(choices.n)
        }
        warn_of_few_complete_rows(scoring, self.edges_)
        self.history_ = run.history
        return run

    def _bind_score(self, opened: InputTable, sample_weight: ArrayLike | None) -> Scoring:
        """Return the score; raise ValueError if its exponential is not a marginal likelihood."""
        if self.missing == "em":
            raise ValueError(
                "StructurePosterior does not support missing='em', because expected counts depend on a graph. Use "
                "missing='pairwise' (approximate), 'category' or 'drop', or HillClimbSearch(missing='em') for one graph"
            )
        method: Any = self.scoring_method
        if method is None:
            default = "bic"
            if not isinstance(opened, DiscreteTable):
                default = name_default(len(opened.float_columns), opened.n_columns)
            if default not in DEFAULT_SCORES:
                raise ValueError(
                    "the data are mixed, and no score is the default for them: give scoring_method='bic-clg' (edges "
                    "from continuous to discrete variables excluded) or 'bic-dg'"
                )
            method = DEFAULT_SCORES[default]
        prior = self.structure_prior
        scoring = resolve_scoring(
            method,
            opened,
            state_names=self.state_names,
            missing=self.missing,
            n_jobs=self.n_jobs,
            sample_weight=sample_weight,
            interventions=self._interventions,
            structure_prior=UniformPrior() if isinstance(prior, str) else prior,
        )
        score: Any = getattr(scoring, "score", None)
        name = str(score.get_class_tag("name"))
        if name.split("-")[0] in NO_EVIDENCE:
            raise ValueError(
                f"the score {name!r} is not a log marginal likelihood, so that it has no posterior: choose 'bdeu', "
                "'bge', or a form of BIC"
            )
        if name.startswith("ebic") and prior == "fair":
            raise ValueError(
                f"the score {name!r} already has the price of the structure_prior 'fair': give "
                "structure_prior='uniform', or a score without it"
            )
        return scoring

    def _read_constraints(self, names: Sequence) -> EdgeConstraints:
        return read_constraints(names, **{option: getattr(self, option) for option in KNOWLEDGE_OPTIONS})

    def _list_parents(self, names: list, constraints: EdgeConstraints) -> tuple[ParentChoices, dict[str, int]]:
        """Return the required and the allowed parents of each variable, and the number of candidates by method."""
        n = constraints.n
        mask = np.ones((n, n), dtype=np.uint8) if constraints.allowed is None else constraints.allowed
        allowed = ParentChoices.from_masks(mask, constraints.required)
        n_required = np.array([len(ids) for ids in allowed.required])
        child = int(np.argmax(n_required))
        some = max(SOME_CANDIDATES, int(n_required[child]))
        most = {"exact": n if n <= ALL_CANDIDATES else some, "mcmc": some}
        if self.n_candidates is not None:
            most = dict.fromkeys(most, int(self.n_candidates))
        for option, limit in (("max_indegree", self.max_indegree), ("n_candidates", most["mcmc"])):
            if n_required[child] > limit:
                raise ValueError(
                    f"{names[child]!r} has {n_required[child]} required parents, but {option}={limit}: raise "
                    f"{option}, or require fewer edges"
                )
        return allowed, most

    def _choose_method(self, allowed: ParentChoices, most: dict[str, int]) -> str:
        """Return the method that fits; raise ValueError if the chosen one is not possible."""
        n = allowed.n
        limits = [max(most["exact"] - len(forced), 0) for forced in allowed.required]
        free = [ids[:limit] for ids, limit in zip(allowed.candidates, limits, strict=True)]
        choices = ParentChoices(allowed.required, free)
        n_bytes = count_bytes(choices, self.over)
        is_possible = n <= MOST_VARIABLES and n_bytes <= MOST_BYTES
        if self.method == "exact" and n > MOST_VARIABLES:
            raise ValueError(
                f"method='exact' accepts {MOST_VARIABLES} variables at most, got {n}: leave out variables, or give "
                "method='mcmc'"
            )
        if self.method == "exact" and not is_possible:
            raise ValueError(
                f"method='exact' needs {n_bytes / 2**30:,.1f} GiB for {n} variables with up to "
                f"{choices.sizes.max(initial=0)} candidates, and accepts {MOST_BYTES >> 30} GiB at "
                "most: give a smaller n_candidates, or method='mcmc'"
            )
        fits = n <= AUTO_VARIABLES[self.over] and n_bytes <= AUTO_BYTES
        if self.method == "exact" or (self.method == "auto" and fits) or n < 2:
            return "exact"
        if int(allowed.sizes.max()) > MOST_OF_CHAINS and most["mcmc"] > MOST_OF_CHAINS:
            raise ValueError(
                f"chains accept at most {MOST_OF_CHAINS} candidates of a variable, got n_candidates="
                f"{self.n_candidates}: give a smaller n_candidates, or method='exact'"
            )
        return "mcmc"

    def _make_first_graphs(self, scoring: Scoring, constraints: EdgeConstraints) -> Callable[[int], np.ndarray]:
        return partial(
            find_first_graph,
            scoring,
            constraints,
            self._log_prior,
            max_indegree=min(self.max_indegree, constraints.n),
            n_jobs=self.n_jobs,
        )

    def _open_source(self, scoring: Scoring) -> GainSource:
        return scoring.gains(allowed=None, max_indegree=None, deadline=inf, n_jobs=self.n_jobs)

    # ---- exact ----

    def _fit_exactly(
        self, scoring: Scoring, constraints: EdgeConstraints, allowed: ParentChoices, most: int, run: Run
    ) -> None:
        """Score all families, or those that the limits leave time for, and sum over all structures."""
        is_all = all(
            len(free) <= most - len(forced) for free, forced in zip(allowed.candidates, allowed.required, strict=True)
        )
        self._choices = allowed
        if not is_all:
            mass = OutsideMass(self._open_source(scoring), allowed, self._log_prior, max_indegree=self.max_indegree)
            if most > MOST_OF_CHAINS:  # more than pilot chains accept
                self._choices = allowed.restrict(self._open_source(scoring), most)
            else:
                search = CandidateSearch(mass, most, run.is_over)
                self._choices = search.search(self._make_first_graphs(scoring, constraints)).tables.choices
        builder = TableBuilder(self._open_source(scoring), self._choices, max_indegree=self.max_indegree)
        builder.score_level()
        run.count_steps(builder.n_levels, "numbers of parents", 1)
        with run.catch_interrupt():
            while not run.record(r_hat=nan, max_difference=nan) and not builder.is_complete:
                if not builder.score_level(run.is_over):
                    break
                run.advance()
        self.converged_ = builder.is_complete
        self.stopped_by_ = run.conclude(self.converged_, "max_time")
        self._n_levels = builder.level + 1
        if self.stopped_by_ == "max_time":
            self._warn_of_time(f"graphs have at most {builder.level} candidates as parents of a variable")
        self._exact = ExactPosterior(builder.finish(self._log_prior), self.over)
        self._exact.solve()
        self._log_total = self._exact.log_total
        n = self._choices.n
        if is_all:
            self._set_posterior(scoring.names, self._exact.arc_probability, np.zeros((n, n)))
        else:
            outside = mass.estimate(self._exact.sample(OUTSIDE_GRAPHS, self._seed), self._choices)
            self._set_posterior(scoring.names, self._exact.arc_probability, outside)
        self.r_hat_, self.max_difference_, self.effective_sample_size_ = 1.0, 0.0, inf
        self.n_restarts_ = self.n_steps_ = 0
        self._r_hats = np.ones((n, n))

    def _get_posterior(self) -> Posterior:
        self._require_fit()
        if self.method_ == "mcmc":
            return self._sampled
        if self._exact is None:  # after unpickling
            self._exact = ExactPosterior(self._score_levels(self._scoring.get()).finish(self._log_prior), self.over)
            self._exact.solve()
        return self._exact

    def _score_levels(self, scoring: Scoring) -> TableBuilder:
        """Return the scores of the families that `fit` scored."""
        builder = TableBuilder(self._open_source(scoring), self._choices, max_indegree=self.max_indegree)
        while builder.level + 1 < self._n_levels:
            builder.score_level()
        return builder

    @property
    def r_hats_(self) -> "pd.DataFrame":
        """Convergence figure r-hat of each arc."""
        self._require_fit()
        return make_arc_matrix(self._names, self._r_hats)

    @property
    def log_evidence_(self) -> float:
        """Log marginal likelihood of the data, averaged over structures; NaN if not all families were scored."""
        return self._make_once("evidence", self._compute_evidence)

    def _compute_evidence(self) -> float:
        if not self.converged_ or self.method_ == "mcmc":
            return nan
        if isinstance(self.structure_prior, ParameterPrior):  # the difference of the scores with and without it
            priced, free = self._scoring.get(), copy(self._scoring.get())
            free.structure_prior = UniformPrior()
            builder, plain = self._score_levels(priced), self._score_levels(free)
            is_scored = np.isfinite(builder.scores) & np.isfinite(plain.scores)
            builder.scores[is_scored] -= plain.scores[is_scored]
            return self._log_total - sum_weights(builder.finish(self._log_prior), self.over)
        return self._log_total - sum_prior(self._log_prior, self._choices, self.max_indegree, self.over)

    def __getstate__(self) -> dict[str, Any]:
        inherited: Any = super().__getstate__()
        state: dict[str, Any] = dict(inherited)
        if "_exact" in state:  # made again on access: it is large, and a pickle cannot hold it
            state["_exact"] = None
        return state

    # ---- chains ----

    def _fit_by_chains(self, scoring: Scoring, constraints: EdgeConstraints, allowed: ParentChoices, run: Run) -> None:
        """Choose candidates, run the chains, and add the probabilities of arcs from outside the candidates."""
        seed = random_draws(1, self.random_state)[1]
        source = scoring.gains(allowed=constraints.allowed, max_indegree=None, deadline=inf, n_jobs=self.n_jobs)
        fit = ChainFit(
            OutsideMass(source, allowed, self._log_prior, max_indegree=self.max_indegree),
            self._make_first_graphs(scoring, constraints),
            most=self._list_parents(scoring.names, constraints)[1]["mcmc"],
            over_dags=self.over == "dags",
            n_chains=self.n_chains,
            n_steps=self.n_steps,
            r_hat=float(self.r_hat),
            seed=seed,
            n_jobs=self.n_jobs,
        )
        if self.checkpoint is not None:
            run.checkpoint = self._open_checkpoint(scoring, source, allowed, seed)
        sampler = fit.sample(run)
        self._sampled, self._choices = sampler.finish(), sampler.tables.choices
        agreement = self._sampled.agreement
        self.r_hat_, self.max_difference_ = agreement.r_hat, agreement.max_difference
        self.effective_sample_size_ = self._sampled.sample_size
        self.n_restarts_, self.n_steps_ = sampler.n_restarts, sampler.n_steps
        self.converged_ = sampler.agrees and fit.n_levels > min(self.max_indegree, int(self._choices.sizes.max()))
        self.stopped_by_ = run.conclude(self.converged_)
        if self.stopped_by_ == "max_time" and fit.n_levels <= min(self.max_indegree, int(self._choices.sizes.max())):
            self._warn_of_time(f"graphs have at most {fit.n_levels - 1} candidates as parents of a variable")
        if sampler.is_finished and run.checkpoint is not None:
            run.checkpoint.remove()
        self._r_hats = self._sampled.fill_matrix(agreement.r_hats, nan)
        outside = fit.estimate_outside(self._sampled)
        self._set_posterior(scoring.names, self._sampled.arc_probability, outside)
        if not self.converged_ and not run.is_stopped_by_user() and not is_silent():
            warn_of_disagreement(agreement, self._choices.candidates, scoring.names, self.stopped_by_)

    def _open_checkpoint(self, scoring: Scoring, source: GainSource, allowed: ParentChoices, seed: int) -> Checkpoint:
        gains, scores = np.empty((allowed.n, allowed.n)), np.empty(allowed.n)
        source.start(gains, scores)
        facts = [*list_facts(scoring, gains, scores), *allowed.required, self._log_prior]
        return open_checkpoint(self, *facts, **dict.fromkeys(KNOWLEDGE_OPTIONS), random_state=seed, n_dags=None)

    # ---- memory ----

    def estimate_cost(self, X: Any) -> LearningCost:
        """Estimate the memory required for learning.

        Parameters
        ----------
        X : DataFrame, array, DiscreteTable or path
            The data. States are coded to count them. Iterators are not accepted, because reading would exhaust them.

        Returns
        -------
        LearningCost
            Bytes per component and their sum; `scratch` contains the tables of parent sets and of subsets.
        """
        size = measure_size(self, self._open(X))
        n = len(size.cards) + size.n_floats
        most = {"exact": n - 1 if n <= ALL_CANDIDATES else SOME_CANDIDATES, "mcmc": min(SOME_CANDIDATES, n - 1)}
        if self.n_candidates is not None:
            most = dict.fromkeys(most, min(self.n_candidates, n - 1))
        none = [np.empty(0, dtype=np.int32)] * n
        method = self._choose_method(ParentChoices(none, [np.zeros(n - 1, dtype=np.int32)] * n), most)
        choices = ParentChoices(none, [np.zeros(most[method], dtype=np.int32)] * n)
        cost = (
            estimate_continuous(size.n_rows, size.n_floats, size.cards)
            if size.n_floats
            else estimate_discrete(size.n_rows, size.cards)
        )
        if method == "mcmc":
            n_bytes = count_chain_bytes(choices, self.max_indegree, self.n_chains)
        else:
            n_bytes = int(count_bytes(choices, self.over))
        return cost.add(scratch=n_bytes)
