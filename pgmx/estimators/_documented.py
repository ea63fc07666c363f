"""Descriptions of parameters and attributes that several learners share, put into their docstrings by name."""

import re
from inspect import cleandoc
from typing import TypeVar

T = TypeVar("T", bound=type)

_SCORE = """
scoring_method : str or BaseStructureScore, default=None
    Discrete: ``"bic"``, ``"aic"``, ``"ll"``, ``"k2"``, ``"bdeu"``, ``"bds"`` (pgmpy's ``"bic-d"``, ``"aic-d"`` and
    ``"ll-d"`` are the same). Continuous: ``"ll-g"``, ``"aic-g"``, ``"bic-g"``. All these are compiled. Mixed, by pgmpy:
    ``"ll-cg"``, ``"aic-cg"``, ``"bic-cg"``. Or an instance of any score of pgmx or pgmpy made from the same data. None
    takes BIC for columns of states (integers are states), Gaussian BIC where all columns are floats, conditional
    Gaussian BIC for floats beside states.
structure_prior : UniformPrior, EdgePrior or ParameterPrior, default=None
    Prior of the graph, from :mod:`pgmx.scores`; uniform by default.
"""

_KNOWLEDGE = """
expert_knowledge : ExpertKnowledge, default=None
    pgmpy's object: required edges, forbidden edges, temporal order, search space. It is not changed. What it says and
    what the following options say holds together; contradictions are an error.
required_edges : collection of (tail, head), default=None
    Edges that the graph must have.
forbidden_edges : collection of (tail, head), default=None
    Edges that it must not have.
tiers : list of collections, default=None
    Groups of variables from the earliest to the latest; no edge leads to an earlier group.
root_nodes : collection, default=None
    Variables without parents.
candidate_edges : collection of (tail, head), default=None
    The only edges that the graph may have.
"""

_DATA = """
state_names : dict, default=None
    States of some or all variables, in order; may hold states that never occur.
missing : {"error", "drop", "category", "pairwise"}, default="error"
    What a missing cell means: an error; its row is dropped; it is a state of its own, ``"missing"``; or, for BIC, AIC
    and log-likelihood, each family is scored on the rows that are complete in it, by the node-average log-likelihood.
"""

_SEARCH = """
start_dag : DAG or {"tree", "random"}, default=None
    First graph: a DAG over the same variables, a Chow-Liu forest of the score, or a random graph; no edges by default.
max_indegree : int, default=None
    Most parents that a move may give a node; unlimited by default.
max_candidates : int, default=None
    Each variable keeps its `max_candidates` best partners by pair score as candidate parents, and those that chose it.
    It makes thousands of variables feasible; all pairs are candidates by default.
"""

_RUN = """
return_type : {"pdag", "dag"}, default="pdag"
    Whether `graph_` is the equivalence class of the DAG found (with what the knowledge directs kept directed and closed
    under Meek's rules), or the DAG.
epsilon : float, default=1e-4
    A move that gains less, in nats, is no improvement.
max_iter : int, default=1_000_000
    Most moves, those on trial (of restarts and reinsertions) among them; may be infinite.
max_time : float, default=None
    Seconds after which the best graph so far is returned. Coding the data and, for a discrete score, counting the pairs
    are not interrupted.
checkpoint : path-like, default=None
    File in which a running search leaves what it needs to be taken up again. Where the file exists, ``fit`` goes on
    from it, to the same graph as without the interruption; it is deleted when the search has converged.
checkpoint_every : float, default=60.0
    Seconds between two snapshots.
show_progress : bool, default=True
    Whether a run of more than a second shows a progress bar; ``pgmpy.config.SHOW_PROGRESS`` can turn it off too.
callback : callable, default=None
    Called with (n_iter, score, n_edges, seconds), a named tuple, after each move, and after moves on trial where they
    led to a better graph; a true answer ends the search.
"""

_ATTRIBUTES = """
graph_ : pgmpy.base.PDAG or pgmpy.base.DAG
    The learned graph; `causal_graph_` is the same object.
dag_ : pgmpy.base.DAG
    The DAG found, whatever `return_type`.
model_ : DiscreteBayesianNetwork or LinearGaussianBayesianNetwork
    The network of `dag_` with parameters by maximum likelihood, made on first access.
score_ : float
    Score of `dag_`, in nats, the log prior of the graph included.
n_iter_ : int
    Moves made, those on trial among them.
converged_ : bool
    Whether the search came to its end.
stopped_by_ : str
    Why it ended: ``"converged"``, ``"max_iter"``, ``"max_time"`` or ``"callback"``.
history_ : dict of ndarray
    ``"score"``, ``"n_edges"``, ``"seconds"`` wherever `callback` is called.
edges_ : ndarray of shape (n_edges, 2), int64
    Arcs (tail, head) of `dag_` as positions in `variables_`.
variables_ : list
    Names of the columns.
adjacency_matrix_ : DataFrame
    Of `graph_`, made on access.
n_features_in_, feature_names_in_ : int, ndarray
    As in scikit-learn.
"""

_PENALTY = """
lam : float, default=None
    Penalty λ of the objective, in nats a row; None takes `lam_ratio` times `lam_max_`, the smallest λ that leaves all
    edges out while nodes have no penalty (with `penalize_nodes` a few edges stay at `lam_max_`).
lam_ratio : float, default=0.1
    See `lam`; useful values are mostly between 0.02 and 0.3. All pairs are counted once for it, also by the learners
    that test a stream of pairs: these spare it when they are given `lam`.
l2 : float, default=0.001
    Weight of half the squared parameters. It keeps them finite where states never occur together; the papers' value
    is half of this one, and large ones fit worse than an independent model.
refit : bool, default=False
    Whether the parameters of the learned graph are estimated once more without λ, for `model_`: the penalty shrinks
    them. Objective, residual and history are those of the penalised fit.
loss : {"pseudolikelihood", "bethe", "exact"}, default="pseudolikelihood"
    Negative pseudolikelihood, halved so that its gradients have the scale of the likelihood's; Bethe's free energy by
    loopy belief propagation, as in the papers, which is not convex and scores inactive edges by products of node
    beliefs; or the likelihood by enumeration, for at most 2²² joint configurations.
penalize_nodes : bool, default=False
    Whether the parameters of each node are a penalised group too, as in the papers.
max_edges : int, default=None
    Most activations, required edges not counted; an activated edge may end at zero, and is then not in the graph.
tol : float, default=1e-4
    Largest distance of zero from the subdifferential of a group at the end, see `kkt_residual_`.
required_edges, forbidden_edges : collection of pairs, default=None
    Edges without penalty, which are in the graph always; edges that must not be.
edge_weights : mapping of pairs to floats, or symmetric table, default=None
    Factors c_e of the penalties, 1 where none is given; 0 requires an edge, infinity forbids it.
start : PairwiseMarkovNetwork, default=None
    Network whose edges and parameters the run starts from, such as the `model_` of an earlier fit.
"""

_MARKOV_RUN = """
true_graph : graph or collection of pairs, default=None
    True edges; what share of them has tables that are not zero, the history tells as ``"recall"``.
held_out : DataFrame, array or DiscreteTable, default=None
    Rows whose mean negative log pseudolikelihood the history tells as ``"held_out"``, whenever the edges have grown by
    2 %. The clock stands still for it.
max_time : float, default=None
    Seconds after which the network so far is returned.
checkpoint : path-like, default=None
    File in which a running search leaves what it needs to be taken up again. Where the file exists, ``fit`` goes on
    from it; it is deleted when the search has converged.
checkpoint_every : float, default=60.0
    Seconds between two snapshots.
show_progress : bool, default=True
    Whether a run of more than a second shows a progress bar; ``pgmpy.config.SHOW_PROGRESS`` can turn it off too.
callback : callable, default=None
    Called with (n_iter, objective, n_edges, seconds, n_tests), a named tuple, before the first round and after each; a
    true answer ends the run.
state_names : dict, default=None
    States of some or all variables, in order; may hold states that never occur.
missing : {"error", "drop", "category"}, default="error"
    What a missing cell means: an error; its row is dropped; it is a state of its own, ``"missing"``.
n_jobs : int, default=None
    Threads that code, count and score; the result is the same for any number.
"""

_MARKOV_ATTRIBUTES = """
graph_ : networkx.Graph
    The learned graph; ``weight`` of an edge is the norm of its table less the means of rows and columns.
model_ : PairwiseMarkovNetwork
    The learned network, made on first access.
edges_ : ndarray of shape (n_edges, 2), int64
    Its edges as positions in `variables_`: tables that are not zero, and required ones.
lam_, lam_max_ : float
    The penalty, and the smallest one without edges (NaN where it was not needed).
objective_ : float
    In nats a row.
kkt_residual_ : float
    Largest distance of zero from the subdifferential over nodes and activated edges; inactive pairs were found to pass
    where `converged_`.
converged_ : bool
    Whether no pair and no parameter violates its condition of optimality.
stopped_by_ : str
    ``"converged"``, ``"max_edges"``, ``"max_time"``, ``"callback"``; or ``"unsettled"``, with a warning, where the
    Bethe loss does not come to rest.
n_iter_, n_activated_, n_tests_, n_tables_ : int
    Rounds; activations; tests of inactive pairs; pair tables counted, which for a stream may be a few more than were
    tested, as some are scored ahead.
history_ : dict of ndarray
    An entry a round: ``"n_edges"`` activated, ``"n_tables"``, ``"n_tests"``, ``"objective"``, ``"cpu_seconds"``,
    ``"seconds"``, and ``"recall"`` and ``"held_out"`` where asked for.
variables_ : list
    Names of the columns.
adjacency_matrix_ : DataFrame
    Of `graph_`, made on access.
n_features_in_, feature_names_in_ : int, ndarray
    As in scikit-learn.
"""

_RESERVOIR = """
alpha : float, default=0.5
    From 0, which activates many edges a round and is fast, to 1, which activates the best one alone and takes the most
    rounds, for better edges.
reservoir_size : int, default=None
    Most edges in the reservoir; the number of variables by default.
max_tests : int, default=None
    Tests between two activations (t_max); the integer part of √n by default. The first activation waits for a full
    reservoir instead.
"""

_HEURISTICS = """
structure_heuristics : bool, default=True
    Whether the pairs of a variable are tested sooner once it has become a hub.
hub_threshold : float, default=None
    Degree centrality, the number of neighbours divided by n - 1, above which a variable is a hub; by default the mean
    over all variables, from 16 edges on.
"""

_STREAM_RULES = """
Edges that fail, or that the reservoir gives up, wait with the offset :math:`v_e = 1 - s_e / (\\lambda c_e)` for the
next pass; a pass that finds no edge in the optimal model of the active ones is the certificate that ends the run.
"""

_STREAM_NOTES = """
With counts from bit planes a full scoring of all pairs is no bottleneck any more: where all pair tables can be held and
the run goes on to the optimum, :class:`EdgeGrafting` and :class:`GroupLassoMarkovNetwork` are faster and activate fewer
wrong edges. Testing a stream pays where pairs are too many to be scored, or where one stops early: by `max_edges`,
`max_time` or a callback.
"""

_MARKOV_OBJECTIVE = """
.. math::

    \\min_{\\theta, W} \\; L(\\theta, W) + \\lambda \\sum_{e} c_e \\, d_e \\|W_e\\|_2
    + \\frac{l_2}{2} \\left( \\|\\theta\\|_2^2 + \\|W\\|_2^2 \\right),
    \\qquad d_e = \\sqrt{s_i s_j}
"""

_GAUSSIAN_PENALTY = """
lam : float, default=None
    Penalty λ, on the scale of correlations; None takes `lam_ratio` times `lam_max_`, the smallest λ that leaves all
    edges out.
lam_ratio : float, default=0.3
    See `lam`. `SelectedGraph` chooses the penalty by the data.
refit : bool, default=False
    Whether `model_` takes the graph alone and estimates its parameters anew by maximum likelihood: the penalty shrinks
    them.
"""

_GAUSSIAN_RUN = """
max_time : float, default=None
    Seconds after which what was found so far is returned.
covariance : {"empirical", "precomputed"}, default="empirical"
    Whether ``fit`` takes rows, or a covariance (or correlation) matrix: a frame or an array of shape (p, p).
n_samples : float, default=None
    Of ``"precomputed"``: the number of rows behind the covariance, which EBIC and the ridge of CLIME need.
missing : {"error", "drop", "pairwise"}, default="error"
    What a missing cell means: an error; its row is dropped; or each covariance is taken over the rows that know both
    variables, and the matrix then moved to the nearest one that is positive definite (see `repaired_`).
show_progress : bool, default=True
    Whether a run of more than a second shows a progress bar; ``pgmpy.config.SHOW_PROGRESS`` can turn it off too.
callback : callable, default=None
    Called with (n_iter, objective, n_edges, seconds), a named tuple, after each sweep or block of columns; a true
    answer ends the run.
n_jobs : int, default=None
    Workers, as joblib understands it; the result is the same for any number.
"""

_GAUSSIAN_ATTRIBUTES = """
graph_ : networkx.Graph
    The learned graph; ``weight`` of an edge is its partial correlation in `model_`.
model_ : GaussianMarkovNetwork
    The learned network, made on first access, positive definite always: of the method's own precision where that is so,
    else (and with `refit`) of maximum likelihood under the graph, for correlations shrunk towards zero where it does
    not exist otherwise. `model_.estimated_by` says which.
precision_ : ndarray of shape (p, p)
    The method's own estimate in the units of the data, else that of `model_`.
covariance_ : ndarray of shape (p, p)
    Of `model_`, the inverse of its precision.
location_ : ndarray of shape (p,)
    Means.
correlation_ : ndarray of shape (p, p)
    Correlations that were learned from.
repaired_ : float
    Largest change of a correlation that made them positive semidefinite; 0.0 where none was needed.
edges_ : ndarray of shape (n_edges, 2), int64
    Edges as positions in `variables_`.
lam_, lam_max_ : float
    The penalty, and the smallest one without edges (for CLIME: with all columns diagonal).
objective_ : float
    At the solution, on the correlation scale.
dual_gap_ : float
    How far above the optimum the objective is at most: by a feasible dual point, summed over columns where these are
    solved apart. Never below -1e-12 of the objective.
converged_ : bool
    Whether `tol` was reached.
stopped_by_ : str
    Why the run ended: ``"converged"``, ``"max_iter"``, ``"max_time"`` or ``"callback"``.
n_iter_ : int
    Sweeps of coordinate descent, exchanges of the path or iterations, the most of any column over its penalties.
history_ : dict of ndarray
    ``"objective"``, ``"n_edges"``, ``"seconds"`` wherever `callback` is called.
variables_ : list
    Names of the columns.
adjacency_matrix_ : DataFrame
    Of `graph_`, made on access.
n_features_in_, feature_names_in_ : int, ndarray
    As in scikit-learn.
"""

SHARED = {
    "score": _SCORE,
    "knowledge": _KNOWLEDGE,
    "data": _DATA,
    "search": _SEARCH,
    "run": _RUN,
    "attributes": _ATTRIBUTES,
    "penalty": _PENALTY,
    "markov_run": _MARKOV_RUN,
    "markov_attributes": _MARKOV_ATTRIBUTES,
    "markov_objective": _MARKOV_OBJECTIVE,
    "reservoir": _RESERVOIR,
    "heuristics": _HEURISTICS,
    "stream_rules": _STREAM_RULES,
    "stream_notes": _STREAM_NOTES,
    "gaussian_penalty": _GAUSSIAN_PENALTY,
    "gaussian_run": _GAUSSIAN_RUN,
    "gaussian_attributes": _GAUSSIAN_ATTRIBUTES,
}


def documented(learner: T) -> T:
    """Replace each line ``{name}`` in the docstring of a class by the shared descriptions of that name."""
    if learner.__doc__ is not None:

        def shared(found: re.Match) -> str:
            indent = found.group(1)
            lines = cleandoc(SHARED[found.group(2)]).splitlines()
            return "\n".join(indent + line if line else line for line in lines)

        learner.__doc__ = re.sub(r"^( *)\{(\w+)\}$", shared, learner.__doc__, flags=re.MULTILINE)
    return learner
