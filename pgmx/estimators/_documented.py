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

SHARED = {
    "score": _SCORE,
    "knowledge": _KNOWLEDGE,
    "data": _DATA,
    "search": _SEARCH,
    "run": _RUN,
    "attributes": _ATTRIBUTES,
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
