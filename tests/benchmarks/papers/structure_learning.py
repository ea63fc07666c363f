"""The statements of the lecture on structure learning: scores, forests, heuristic search and its costs.

Rows are sampled from networks that ship with pgmpy. Figures of the lecture come from Koller and Friedman (2009).
"""

import itertools
import sys
import warnings
from pathlib import Path
from time import process_time

sys.path.insert(0, str(Path(__file__).parents[1]))

import networkx as nx
import numpy as np
from claims import Claim, judge, report
from pgmpy.base import DAG

from pgmx.datasets import load_network, sample, sample_network
from pgmx.estimators import BestFirstSearch, ChowLiuForest, HillClimbSearch, SimulatedAnnealing
from pgmx.metrics import cpdag_shd, kl_divergence, skeleton_scores
from pgmx.scores import BIC, K2, BDeu, EdgePrior, LogLikelihood, ParameterPrior

QUIET = {"show_progress": False}
SEEDS = range(10)


def fit_graph(edges, rows, equivalent_sample_size=1):
    """Return a network with these edges and smoothed tables."""
    search = HillClimbSearch(
        scoring_method="bic",
        required_edges=edges,
        candidate_edges=edges,
        equivalent_sample_size=equivalent_sample_size,
        **QUIET,
    )
    return search.fit(rows).model_


def check_mismatch():
    """Section 1: graphs with an arc too few or too many."""
    network = load_network("asia")
    order = list(nx.topological_sort(network))
    test, edges, cells, lost = sample(network, 20_000, random_state=99), list(network.edges), [], []
    for n in (100, 10_000):
        losses = {"true": [], "fewer": [], "more": []}
        for seed in SEEDS:
            rows = sample(network, n, random_state=seed)
            rng = np.random.default_rng(seed)
            absent = [pair for pair in itertools.combinations(order, 2) if pair not in edges]
            chosen = edges[rng.integers(len(edges))], absent[rng.integers(len(absent))]
            graphs = {"true": edges, "fewer": [e for e in edges if e != chosen[0]], "more": [*edges, chosen[1]]}
            for name, graph in graphs.items():
                losses[name].append(fit_graph(graph, rows).score(test))
        means = {name: np.mean(values) for name, values in losses.items()}
        fewer, more = means["fewer"] - means["true"], means["more"] - means["true"]
        lost.append((-fewer, abs(more)))
        cells.append(f"{n:,} rows: an arc fewer {fewer:+.3f}, an arc more {more:+.4f}")
    yield Claim(
        "section 1",
        "a missing arc makes the distribution unlearnable, an additional one costs parameters",
        f"asia, mean of 10 draws, held-out log-likelihood per row against the true graph; {'; '.join(cells)}",
        # rows do not make up for a missing arc, and they do for parameters
        judge(min(fewer for fewer, _ in lost) > 0.01 and lost[1][1] < 0.1 * min(lost[0][1], lost[1][0])),
    )


def check_likelihood():
    """Section 1: mutual information, the decomposition and overfitting."""
    rows = sample_network("sachs", 300, random_state=0)
    x, y = rows["PKA"].cat.codes.to_numpy(), rows["Akt"].cat.codes.to_numpy()
    joint = np.histogram2d(x, y, bins=(np.arange(x.max() + 2), np.arange(y.max() + 2)))[0] / len(rows)
    outer = joint.sum(1, keepdims=True) * joint.sum(0)
    information = np.sum(joint[joint > 0] * np.log(joint[joint > 0] / outer[joint > 0]))
    score = LogLikelihood(rows)
    gain = score.local_score("Akt", ("PKA",)) - score.local_score("Akt", ())
    yield Claim(
        "section 1, mutual information",
        "the likelihood gains M I(X; Y) by an edge",
        f"PKA to Akt of sachs, 300 rows: {gain:.6f}, M I(X; Y) = {len(rows) * information:.6f}",
        judge(abs(gain - len(rows) * information) < 1e-6),
    )
    test, cells = sample_network("sachs", 5_000, random_state=1), {}
    for name in ("ll", "bic"):
        found = []
        for seed in SEEDS:
            rows = sample_network("sachs", 300, random_state=seed + 10)
            search = HillClimbSearch(scoring_method=name, equivalent_sample_size=1, **QUIET).fit(rows)
            found.append((len(search.dag_.edges), search.model_.score(rows), search.model_.score(test)))
        cells[name] = np.mean(found, axis=0)
    texts = [f"{name}: {edges:.1f} edges, {own:.2f} and {new:.2f}" for name, (edges, own, new) in cells.items()]
    yield Claim(
        "section 1, limitations",
        "the likelihood is highest for the complete graph and over-fits; BIC avoids it",
        "sachs (17 edges), 300 rows, mean of 10 draws, log-likelihood per row of these and of new rows: "
        f"{'; '.join(texts)}",
        judge(cells["ll"][2] < cells["bic"][2] and cells["ll"][1] > cells["bic"][1]),
    )


def check_consistency():
    """Section 1: the asymptotic behaviour of BIC."""
    network = load_network("sachs")
    cells, last = [], None
    for n in (100, 1_000, 10_000, 100_000):
        found = []
        for seed in range(5):
            search = HillClimbSearch(scoring_method="bic", strategy="thorough", **QUIET)
            search.fit(sample(network, n, random_state=seed))
            found.append((len(search.dag_.edges), cpdag_shd(network, search.dag_)))
        last = np.mean(found, axis=0)
        cells.append(f"{n:,}: {last[0]:.1f} ({last[1]:.1f})")
    yield Claim(
        "section 1, BIC",
        "BIC under-fits with few rows and is consistent: with many rows the true class has the highest score",
        f"sachs (17 edges), mean of 5 draws, edges (SHD to the true class) by rows: {', '.join(cells)}",
        judge(last[1] < 0.5, otherwise="partly: the true class is not reached"),
    )


def check_marginal_likelihood():
    """Section 2: the marginal likelihood as prediction row by row."""
    rows = sample_network("asia", 200, random_state=0)
    graph = DAG(list(load_network("asia").edges))
    states = {name: list(rows[name].cat.categories) for name in rows}
    first, last = (BDeu(rows[:n], state_names=states).score(graph) for n in (2, len(rows)))
    predictions = 0.0
    for n in range(2, len(rows)):
        network = fit_graph(list(graph.edges), rows[:n], 10)
        predictions += float(np.sum(network.log_likelihood(rows[n : n + 1])))
    yield Claim(
        "section 2, marginal likelihood",
        "it predicts each row from those before it, and so penalises over-fitting",
        f"asia, true graph: BDeu of 200 rows minus that of the first two is {last - first:.6f}, the sum of the "
        f"predictions of rows 3 to 200 by the tables of the rows before is {predictions:.6f}",
        judge(abs(last - first - predictions) < 1e-6),
    )
    cells = []
    for name in ("survey", "asia"):
        true = DAG(list(load_network(name).edges))
        tables = (sample_network(name, n, random_state=0) for n in (100, 1_000, 10_000, 100_000))
        cells.append([BDeu(many).score(true) - BIC(many).score(true) for many in tables])
    first, second = (" / ".join(f"{value:.1f}" for value in values) for values in cells)
    # a factor of 1,000 in the rows: half a parameter more or less is ln(1,000) / 2 = 3.5
    is_bounded = [max(values) - min(values) < 3.5 for values in cells]
    yield Claim(
        "section 2, BDe and BIC",
        "their difference is O(1) in the number of rows",
        f"true graph, BDeu - BIC at 100 / 1,000 / 10,000 / 100,000 rows: survey {first}, asia {second}",
        judge(
            is_bounded[0],
            "" if is_bounded[1] else " for positive probabilities (survey); with zeros (asia) the difference grows",
        ),
    )


def check_priors():
    """Section 2: structure priors and score equivalence."""
    priors = {
        "uniform": None,
        "c = .1": EdgePrior(0.1),
        "c = .01": EdgePrior(0.01),
        "1 per parameter": ParameterPrior(1.0),
    }
    test, cells, losses = sample_network("sachs", 5_000, random_state=1), [], []
    for n in (100, 1_000):
        found = {name: [] for name in priors}
        for seed in SEEDS:
            rows = sample_network("sachs", n, random_state=seed + 10)
            for name, prior in priors.items():
                learner = HillClimbSearch(
                    scoring_method="bdeu", structure_prior=prior, equivalent_sample_size=1, **QUIET
                ).fit(rows)
                found[name].append((len(learner.dag_.edges), learner.model_.score(test)))
        means = {name: np.mean(values, axis=0) for name, values in found.items()}
        losses.append([loss for _, loss in means.values()])
        text = ", ".join(f"{name} {edges:.1f} ({loss:.3f})" for name, (edges, loss) in means.items())
        cells.append(f"{n:,} rows: {text}")
    yield Claim(
        "section 2, structure priors",
        "the uniform prior is not bad; others penalise edges or parameters",
        f"sachs, BDeu, mean of 10 draws, edges (held-out log-likelihood per row); {'; '.join(cells)}",
        judge(
            max(losses[1]) - losses[1][0] < 0.01,
            f": the best prior gains {max(losses[0]) - losses[0][0]:.3f} with 100 rows, "
            f"{max(losses[1]) - losses[1][0]:.3f} with 1,000",
        ),
    )
    rows = sample_network("sachs", 300, random_state=0)[["PKC", "PKA", "Raf"]]
    chain, fork = DAG([("PKC", "PKA"), ("PKA", "Raf")]), DAG([("PKA", "PKC"), ("PKA", "Raf")])
    collider = DAG([("PKC", "PKA"), ("Raf", "PKA")])
    texts, differences = [], []
    for score in (BIC(rows), BDeu(rows), K2(rows)):
        first, second, third = (score.score(graph) for graph in (chain, fork, collider))
        differences.append(abs(first - second))
        texts.append(f"{type(score).__name__} {differences[-1]:.1g}, {third - first:.1f}")
    yield Claim(
        "section 2, BDe prior; section 3, score equivalence",
        "I-equivalent graphs have the same likelihood, BIC and BDe",
        f"three variables of sachs, fork - chain and collider - chain: {'; '.join(texts)}",
        judge(max(differences[:2]) < 1e-9, "; K2 is not score-equivalent" if differences[2] > 1e-9 else ""),
    )


def check_forests():
    """Section 3: the best forest by a maximum spanning tree."""
    cells, equal = [], True
    for seed in range(5):
        rows = sample_network("asia", 500, random_state=seed)
        score = BIC(rows)
        forest = ChowLiuForest(weight="bic").fit(rows).graph_
        exact = HillClimbSearch(scoring_method="bic", strategy="exact", max_indegree=1, **QUIET).fit(rows)
        difference = exact.score_ - score.score(forest)
        equal &= abs(difference) < 1e-6
        tree = ChowLiuForest(weight="mutual_info").fit(rows).graph_
        cells.append(f"{forest.number_of_edges()} and {tree.number_of_edges()}")
    yield Claim(
        "section 3",
        "the best forest is a maximum spanning tree: a tree by likelihood, a forest by BIC",
        f"asia, 500 rows, 5 draws: {'the scores' if equal else 'not the scores'} of the exact search with one parent; "
        f"edges by BIC and by likelihood {', '.join(cells)}",
        judge(equal),
    )


def check_search():
    """Section 4: techniques of search, starts, restarts and tabu lists."""
    settings = {
        "from no edges": HillClimbSearch(tabu_length=0, scoring_method="bic", **QUIET),
        "from the best tree": HillClimbSearch(tabu_length=0, start_dag="tree", scoring_method="bic", **QUIET),
        "from a random graph": HillClimbSearch(tabu_length=0, start_dag="random", scoring_method="bic", **QUIET),
        "tabu list": HillClimbSearch(tabu_length=100, patience=50, scoring_method="bic", **QUIET),
        "10 restarts": HillClimbSearch(n_restarts=10, scoring_method="bic", **QUIET),
        "both": HillClimbSearch(tabu_length=100, patience=50, n_restarts=10, scoring_method="bic", **QUIET),
        "best first": BestFirstSearch(scoring_method="bic", **QUIET),
        "annealing": SimulatedAnnealing(scoring_method="bic", **QUIET),
        "thorough": HillClimbSearch(strategy="thorough", scoring_method="bic", **QUIET),
        "best": HillClimbSearch(strategy="best", scoring_method="bic", **QUIET),
    }
    cells = {name: [] for name in settings}
    for network in ("child", "insurance", "alarm"):
        rows = sample_network(network, 2_000, random_state=0)
        scores = {}
        for name, learner in settings.items():
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                scores[name] = learner.fit(rows).score_
        for name, value in scores.items():
            cells[name].append(max(scores.values()) - value)
    texts = [f"{name} {' / '.join(f'{value:.0f}' for value in values)}" for name, values in cells.items()]
    means = {name: np.mean(values) for name, values in cells.items()}
    yield Claim(
        "section 4, search techniques",
        "hill climbing ends in local maxima; restarts and a tabu list make it a good, simple algorithm",
        f"nats below the best, 2,000 rows of child / insurance / alarm: {'; '.join(texts)}",
        judge(
            min(cells["from no edges"]) > 1.0 and means["both"] < 0.5 * means["from no edges"],
            ", and better searches exist" if min(means["thorough"], means["best"]) < means["both"] else "",
            "partly: hill climbing ends in local maxima",
        ),
    )


def check_alarm():
    """Section 4: the intensive care example."""
    network = load_network("alarm")
    cells, nats = [], []
    for n in (500, 2_000, 5_000):
        rows = sample(network, n, random_state=0)
        learned = HillClimbSearch(scoring_method="bdeu", equivalent_sample_size=10, **QUIET).fit(rows).model_
        known = fit_graph(list(network.edges), rows, 10)
        nats.append([kl_divergence(network, model).nats for model in (known, learned)])
        cells.append(f"{n:,}: {nats[-1][0]:.2f} ({nats[-1][1]:.2f})")
    yield Claim(
        "section 4, intensive care (figure of the book)",
        "a learned structure is nearly as good as the true one, and both improve with the rows",
        f"alarm, divergence from the true network with the true (learned) structure by rows: {', '.join(cells)}",
        judge(
            (np.diff(nats, axis=0) < 0).all() and nats[-1][1] < 2.0 * nats[-1][0],
            otherwise=f"partly: the learned structure has {nats[-1][1] / nats[-1][0]:.1f} times the divergence",
        ),
    )
    scores = []
    for seed in range(5):
        rows = sample_network("sachs", 5_400, random_state=seed)
        found = HillClimbSearch(scoring_method="bdeu", strategy="best", **QUIET).fit(rows).dag_
        scores.append(skeleton_scores(load_network("sachs"), found))
    yield Claim(
        "section 4, knowledge discovery (Sachs and others, 2005)",
        "a network of signalling proteins is found from single cells",
        "5,400 rows simulated from the published network, 5 draws: recall of its 17 edges "
        f"{np.mean([s.recall for s in scores]):.2f}, precision {np.mean([s.precision for s in scores]):.2f}",
        "data not at hand: the cells of the experiment were not used",
    )


def check_costs():
    """Section 5: the cost of a step."""
    cells, powers = [], []
    for n_rows in (1_000, 10_000):
        seconds = []
        for name in ("alarm", "andes", "link"):
            rows = sample_network(name, n_rows, random_state=0)
            search = HillClimbSearch(scoring_method="bic", **QUIET)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # of edges by chance
                search.fit(rows[:100])
                start = process_time()
                search.fit(rows)
            seconds.append(((process_time() - start) / search.n_iter_ * 1e6, rows.shape[1]))
        times, sizes = np.array(seconds).T
        powers.append(np.polyfit(np.log(sizes), np.log(times), 1)[0])
        cells.append(f"{n_rows:,} rows: {' / '.join(f'{value:.0f}' for value in times)}")
    yield Claim(
        "section 5",
        "by decomposable scores, a priority queue and common counts a step costs O(M n + n log n), not O(M n³)",
        f"CPU microseconds per move on alarm, andes, link (37, 223, 724 variables), coding of the table included; "
        f"{'; '.join(cells)}; grows with power {powers[0]:.2f} and {powers[1]:.2f} of n",
        judge(max(powers) < 1.5, otherwise="partly: the power is larger"),
    )
    rows = sample_network("alarm", 2_000, random_state=0)
    searches = [HillClimbSearch(scoring_method="bic", max_candidates=limit, **QUIET) for limit in (None, 5)]
    seconds = [[], []]
    for _ in range(15):
        for search, measured in zip(searches, seconds, strict=True):
            start = process_time()
            search.fit(rows)
            measured.append(process_time() - start)
    ratio, change = np.median(seconds[1]) / np.median(seconds[0]), searches[1].score_ - searches[0].score_
    yield Claim(
        "section 5, restricted operators",
        "fewer operators save time and change what can be found",
        f"alarm, 2,000 rows, five candidate parents per variable: BIC {change:+.1f} against all, "
        f"{ratio:.1f} times the CPU time",
        judge(ratio < 0.9 and abs(change) > 1e-6, otherwise="partly: the result changes, but no time is saved"),
    )


FUNCTIONS = {
    "section 1": check_mismatch,
    "section 1, likelihood": check_likelihood,
    "section 1, BIC": check_consistency,
    "section 2, marginal likelihood": check_marginal_likelihood,
    "section 2, priors": check_priors,
    "section 3": check_forests,
    "section 4, search": check_search,
    "section 4, examples": check_alarm,
    "section 5": check_costs,
}

if __name__ == "__main__":
    report(__file__, FUNCTIONS, __doc__)
