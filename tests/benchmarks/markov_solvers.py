"""The learners that are compared, and the simpler models for comparison on real data."""

import numpy as np
from markov_objective import Network


def learners():
    """Return {name: (class, options)}; a best-choice name ends in its alpha, -plain is without structure heuristics."""
    import pgmx.estimators as pgmx

    found = {
        "exhaustive": (pgmx.EdgeGrafting, {}),
        "exhaustive-batch": (pgmx.EdgeGrafting, {"batch": True}),
        "group-lasso": (pgmx.GroupLassoMarkovNetwork, {}),
        "online-0.5": (pgmx.OnlineEdgeGrafting, {"alpha": 0.5}),
        "feature": (pgmx.FeatureGrafting, {}),
        "feature-light": (pgmx.GraftingLight, {}),
    }
    for ending, options in (("", {}), ("-plain", {"structure_heuristics": False})):
        for alpha in (1, 0.5, 0):
            found[f"best-choice-{alpha}{ending}"] = pgmx.BestChoiceEdgeGrafting, {"alpha": float(alpha), **options}
        found[f"first-hit{ending}"] = pgmx.FirstHitEdgeGrafting, options
    return found


EDGE_WISE = (
    "group-lasso",
    "exhaustive",
    "exhaustive-batch",
    "best-choice-1",
    "best-choice-0.5",
    "best-choice-0",
    "online-0.5",
    "first-hit",
)
FEATURE_WISE = ("feature", "feature-light")
LIMITED = (
    "exhaustive",
    "exhaustive-batch",
    "group-lasso",
    "best-choice-1",
    "best-choice-0.5",
    "best-choice-0",
    "first-hit",
    "best-choice-1-plain",
    "best-choice-0.5-plain",
    "best-choice-0-plain",
    "first-hit-plain",
)
BASELINES = ("independent", "chow-liu", "node-wise-lasso")
ORDER = (*BASELINES, "node-wise-lasso-and", *dict.fromkeys((*EDGE_WISE, *LIMITED)), *FEATURE_WISE)  # of the rows


class Regressions:
    """Logistic regression of each binary variable on all others: intercepts (n,), coefficients (n, n)."""

    def __init__(self, intercepts, coefficients):
        self.intercepts, self.coefficients = intercepts, coefficients

    def fields(self, codes):
        """Yield the logits of each variable."""
        rows = codes.astype(np.float64)
        for intercept, coefficient in zip(self.intercepts, self.coefficients, strict=True):
            logit = intercept + coefficient @ rows
            yield np.stack([np.zeros_like(logit), logit])

    def edges(self):
        """Return the pairs with both coefficients non-zero, the AND rule of IsingFit."""
        kept = self.coefficients != 0
        return np.argwhere(np.triu(kept & kept.T, 1))

    def network(self):
        """Return the Ising model of IsingFit: the mean of both coefficients where the AND rule keeps the pair."""
        edges = self.edges()
        nodes = [np.array([0.0, intercept]) for intercept in self.intercepts]
        weights = 0.5 * (self.coefficients + self.coefficients.T)
        return Network(nodes, edges, [np.array([[0.0, 0.0], [0.0, weights[i, j]]]) for i, j in edges])


def independent(problem, lam):
    """Return the variables' own distributions, half a row added to each state."""
    return Network(_log_shares(problem), np.zeros((0, 2), dtype=np.int64), [])


def chow_liu(problem, lam):
    """Return the Chow-Liu forest by BIC with its parameters of largest likelihood, half a row added to each cell."""
    from pgmx.estimators import ChowLiuForest

    forest = ChowLiuForest(weight="bic").fit(problem.table()).graph_
    edges = np.array(sorted(sorted((int(u[1:]), int(v[1:]))) for u, v in forest.edges()), dtype=np.int64).reshape(-1, 2)
    tables = []
    for i, j in edges.tolist():
        cell = problem.codes[i].astype(np.int64) * problem.cards[j] + problem.codes[j]
        counts = np.bincount(cell, minlength=problem.cards[i] * problem.cards[j]) + 0.5
        joint = (counts / counts.sum()).reshape(problem.cards[i], problem.cards[j])
        tables.append(np.log(joint) - np.log(joint.sum(1))[:, None] - np.log(joint.sum(0)))
    return Network(_log_shares(problem), edges, tables)


def node_wise_lasso(problem, lam):
    """Return scikit-learn's logistic lasso of each variable on the others, under the group penalty's equivalent.

    A binary table of norm ||W|| is least for its interaction beta at ||W|| = |beta| / 2, so that lam d ||W|| is
    lam |beta|: that is lam to each of the two regressions of the halved pseudolikelihood, C = 1 / (rows lam).
    """
    from scipy.sparse import csr_matrix
    from sklearn.linear_model import LogisticRegression

    n, n_rows = problem.codes.shape
    columns = csr_matrix(problem.codes.T.astype(np.float64)).tocsc()
    intercepts, coefficients = np.zeros(n), np.zeros((n, n))
    for i in range(n):
        others = np.delete(np.arange(n), i)
        model = LogisticRegression(
            l1_ratio=1.0, C=1 / (n_rows * lam), solver="liblinear", intercept_scaling=100, tol=1e-4, max_iter=1000
        )
        model.fit(columns[:, others].tocsr(), problem.codes[i])
        intercepts[i], coefficients[i, others] = model.intercept_[0], model.coef_[0]
    return Regressions(intercepts, coefficients)


def _log_shares(problem):
    return [
        np.log((np.bincount(own, minlength=card) + 0.5) / (len(own) + 0.5 * card))
        for own, card in zip(problem.codes, problem.cards.tolist(), strict=True)
    ]


BASELINE = {"independent": independent, "chow-liu": chow_liu, "node-wise-lasso": node_wise_lasso}
