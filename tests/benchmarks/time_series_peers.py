"""Worker of `time_series.py`: learn a system of one lag with a peer, in the peers' own environment, without pgmx.

    python time_series_peers.py METHOD problem.npz answer.npz

The problem holds `X` (T, N); the answer the strengths and the chosen edges, both [target, source] of lag 1, and CPU
seconds without imports.
"""

import sys
import warnings
from time import process_time

import numpy as np


def learn_lasso(X):
    """scikit-learn's lasso of every column, at a tenth of the largest penalty."""
    from sklearn.linear_model import Lasso

    X = (X - X.mean(axis=0)) / X.std(axis=0)
    lam = 0.1 * np.abs(X[:-1].T @ X[1:]).max() / (len(X) - 1)
    coef = np.abs(Lasso(alpha=lam, fit_intercept=False).fit(X[:-1], X[1:]).coef_)
    return coef, coef > 0


def learn_var(X):
    """statsmodels' vector autoregression: t-statistics, edges at the level .01."""
    from statsmodels.tsa.api import VAR

    fitted = VAR(X).fit(1)
    return np.abs(np.asarray(fitted.tvalues)[1:].T), np.asarray(fitted.pvalues)[1:].T < 0.01


def learn_var_lingam(X):
    """lingam's VARLiNGAM, pruned by its adaptive lasso."""
    from lingam import VARLiNGAM

    model = VARLiNGAM(lags=1, criterion=None, prune=True, random_state=0)
    coef = np.abs(model.fit(X).adjacency_matrices_[1])
    return coef, coef > 0


def run_pcmci(X, plus):
    """Return tigramite's answer with partial correlations."""
    from tigramite import data_processing
    from tigramite.independence_tests.parcorr import ParCorr
    from tigramite.pcmci import PCMCI

    pcmci = PCMCI(dataframe=data_processing.DataFrame(X), cond_ind_test=ParCorr(), verbosity=0)
    run = pcmci.run_pcmciplus if plus else pcmci.run_pcmci
    answer = run(tau_min=0 if plus else 1, tau_max=1, pc_alpha=0.01)
    p_values = answer["p_matrix"][:, :, 1].T
    return -np.log(np.maximum(p_values, 1e-300)) + np.abs(answer["val_matrix"][:, :, 1].T), p_values < 0.01


METHODS = {
    "scikit-learn Lasso": learn_lasso,
    "statsmodels VAR": learn_var,
    "lingam VARLiNGAM": learn_var_lingam,
    "tigramite PCMCI": lambda X: run_pcmci(X, False),
    "tigramite PCMCI+": lambda X: run_pcmci(X, True),
}


def main():
    """Warm up on a small problem, then learn."""
    method, problem, answer = sys.argv[1:]
    warnings.simplefilter("ignore")
    X = np.load(problem)["X"]
    METHODS[method](np.random.default_rng(0).standard_normal((100, 3)))
    start = process_time()
    strengths, edges = METHODS[method](X)
    np.savez(answer, strengths=strengths, edges=edges, seconds=process_time() - start)


if __name__ == "__main__":
    main()
