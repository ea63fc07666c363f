"""What a user writes: mypy and pyright find nothing to say about it."""

import networkx as nx
import numpy as np
import pandas as pd

import pgmx
from pgmx.data import encode, open_table, write_table
from pgmx.datasets import load_network, preferential_attachment_network, sample, sample_markov_network
from pgmx.estimators import (
    CLIME,
    BayesianNetworkClassifier,
    BootstrapStructure,
    ChowLiuForest,
    GraphicalLasso,
    GroupLassoMarkovNetwork,
    HillClimbSearch,
    Nonparanormal,
    OnlineEdgeGrafting,
    SelectedGraph,
)
from pgmx.metrics import held_out_log_likelihood, shd
from pgmx.models import GaussianMarkovNetwork, PairwiseMarkovNetwork, save_model
from pgmx.plotting import plot_graph
from pgmx.scores import BIC, EdgePrior
from pgmx.streaming import RakerRegressor

frame: pd.DataFrame = sample(load_network("asia"), 1000, random_state=1)
search = HillClimbSearch(scoring_method="bic", structure_prior=EdgePrior(0.1), max_indegree=3).fit(frame)
print(search.score_ + 1.0, len(search.edges_), shd(search.dag_, load_network("asia")))
save_model(search.model_, "asia.bif")
save_model(search, "asia.json")
print(shd(search, load_network("asia")), held_out_log_likelihood(search, frame).mean, plot_graph(search).get_xlim())
print(pgmx.estimators.HillClimbSearch().max_indegree, pgmx.metrics.shd(search, search.dag_))
forest = ChowLiuForest(weight="bic").fit(frame)
bootstrap = BootstrapStructure(HillClimbSearch(), n_resamples=20, n_jobs=2).fit(frame)
strengths: pd.DataFrame = bootstrap.strengths_
classifier = BayesianNetworkClassifier(HillClimbSearch(), pseudo_counts=0.5).fit(
    frame[["smoke", "xray"]], frame["lung"]
)
shares: np.ndarray = classifier.predict_proba(frame[["smoke", "xray"]])
print(
    classifier.classes_.shape,
    shares.shape,
    classifier.graph_.nodes,
    classifier.model_.nodes,
    classifier.markov_blanket_,
)
rows = sample_markov_network(preferential_attachment_network(10, 3), 500)
learner = OnlineEdgeGrafting(alpha=0.3, lam=0.02, max_edges=20).fit(rows)
network: PairwiseMarkovNetwork = learner.model_
print(network.marginals({"x0": 1})["x1"], learner.objective_.real, learner.history_["seconds"])
graph: nx.Graph = GroupLassoMarkovNetwork(selection="ebic", n_lams=8).fit(rows).graph_
numbers = pd.DataFrame(np.random.default_rng(0).normal(size=(100, 4)))
gaussian: GaussianMarkovNetwork = GraphicalLasso(lam=0.1).fit(numbers).model_
precision: np.ndarray = Nonparanormal(CLIME(lam_ratio=0.5), correlation="spearman").fit(numbers).precision_
print(SelectedGraph(GraphicalLasso(), selection="cv").fit(numbers).graph_.edges, gaussian.mean, precision.shape)
table = encode(frame)
write_table(table, "asia.pgmx")
print(open_table("asia.pgmx").n_rows, BIC(frame).local_score("lung", ["smoke"]), graph.edges, strengths.columns)
print(forest.edges_.shape, forest.graph_.nodes)
print(HillClimbSearch().set_params(max_indegree=2).fit(frame).score_, RakerRegressor.load("raker.npz").n_seen_)
print(OnlineEdgeGrafting().partial_fit(rows).edges_, PairwiseMarkovNetwork.load("grid.npz").potentials)
