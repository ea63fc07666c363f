"""Cases of the methods of Gaussian and Markov networks."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy import stats

from pgmx.models import GaussianMarkovNetwork
from tests.fuzz.calls import Arguments, Wrong, enter_calls
from tests.fuzz.cases import Case, entry, fault, pick
from tests.fuzz.frames import draw_names, hold_names
from tests.fuzz.network_cases import draw_network
from tests.fuzz.oracles import is_close
from tests.oracles import enumeration


def draw_gaussian(rng: np.random.Generator) -> tuple[GaussianMarkovNetwork, np.ndarray, np.ndarray]:
    """Return a Gaussian network, its mean and its covariance."""
    p = int(rng.integers(1, 6))
    root = np.triu(rng.normal(size=(p, p)) * (rng.random((p, p)) < 0.6), 1) + np.diag(rng.uniform(0.5, 2, p))
    precision, mean = root.T @ root, rng.normal(size=p)
    network = GaussianMarkovNetwork.from_precision(draw_names(rng, p), precision, mean=mean)
    return network, mean, np.linalg.inv(precision)


GAUSSIAN = ("log_likelihood", "conditional", "marginal", "predict", "simulate", "to_linear_gaussian_bn")


@entry("models.GaussianMarkovNetwork", 3.0)
def draw_gaussian_case(rng: np.random.Generator) -> Case:
    """Return a question to a Gaussian network."""
    network, mean, S = draw_gaussian(rng)
    names, p = list(network.names), len(mean)
    rows = pd.DataFrame(rng.normal(size=(5, p)), columns=names)
    method = pick(rng, GAUSSIAN)
    kind = pick(rng, ["", "", "", "column", "hole", "text", "number"])
    name = pick(rng, names)
    faults = []
    if kind == "column" and method in ("log_likelihood", "predict"):
        rows, faults = rows.assign(another=1.0), [fault("another")]
    elif kind == "hole" and method == "log_likelihood":
        rows.iloc[2, names.index(name)] = np.nan
        faults = [fault(*hold_names(name))]
    elif kind == "text" and method in ("log_likelihood", "predict"):
        rows, faults = rows.astype(object), [fault(*hold_names(name))]
        rows.iloc[:, names.index(name)] = "a"
    elif kind == "number" and method == "simulate":
        faults = [fault("n_samples")]
    elif kind == "number" and method in ("conditional", "marginal"):
        faults = [fault("no such variable")]
    seen = list(range(p - 1)) if p > 1 else []

    def call(folder: Path) -> Any:
        if method == "simulate":
            return network.simulate(pick(np.random.default_rng(0), [-1, "x", 2.5]) if faults else 50)
        if method == "conditional":
            return network.conditional({"no such variable": 1.0} if faults else {names[v]: 0.5 for v in seen})
        if method == "marginal":
            return network.marginal(["no such variable"] if faults else names[-1:])
        if method == "predict":
            return network.predict(rows if faults else rows.iloc[:, seen])
        return network.to_linear_gaussian_bn() if method == "to_linear_gaussian_bn" else network.log_likelihood(rows)

    def check(result: Any) -> None:
        check_gaussian_answer(method, result, mean, S, rows, seen)

    return Case("", call, check, faults, plan=f"{method} {kind} {names}")


def check_gaussian_answer(method: str, result: Any, mean: np.ndarray, S: np.ndarray, rows: Any, seen: list) -> None:
    """Compare with the formulas of the normal distribution."""
    if method == "log_likelihood":
        assert is_close(result, stats.multivariate_normal(mean, S).logpdf(rows.to_numpy()), atol=1e-6)
    elif method == "marginal":
        assert is_close(result.covariance.to_numpy(), S[-1:, -1:], rtol=1e-7)
    elif method in ("conditional", "predict"):
        slope = np.linalg.solve(S[np.ix_(seen, seen)], S[seen, -1]) if seen else np.zeros(0)
        if method == "predict":
            expected = mean[-1] + (rows.iloc[:, seen].to_numpy() - mean[seen]) @ slope
            assert is_close(result.iloc[:, -1], expected, atol=1e-7)
        else:
            assert is_close(result.mean.iloc[-1], mean[-1] + (0.5 - mean[seen]) @ slope, atol=1e-7)
    elif method == "simulate":
        assert result.shape == (50, len(mean)) and np.isfinite(result.to_numpy()).all()


def draw_parts(rng: np.random.Generator) -> Arguments:
    """Return names and a positive definite matrix."""
    network, mean, S = draw_gaussian(rng)
    return {"names": list(network.names), "covariance": S, "mean": mean}


def check_covariance(result: Any, arguments: Arguments) -> None:
    """The network has the covariance that it was made of."""
    S = arguments["covariance"]
    assert is_close(result.covariance.to_numpy(), S, rtol=1e-6, atol=1e-8 * S.diagonal().max())


enter_calls(
    "models.from_covariance",
    GaussianMarkovNetwork.from_covariance,
    draw_parts,
    check_covariance,
    {
        "names": Wrong(([], lambda names: [*names, "another"], lambda names: [names[0]] * (len(names) + 1))),
        "covariance": Wrong((lambda S: -S, lambda S: S[:0], lambda S: S * np.nan, lambda S: S[0])),
        "mean": Wrong((lambda m: m * np.nan, lambda m: [*m, 1.0], "x")),
    },
)

MARKOV = ("log_likelihood", "pseudo_log_likelihood", "log_evidence", "predict", "predict_proba", "simulate", "query")


@entry("models.PairwiseMarkovNetwork", 3.0)
def draw_markov_case(rng: np.random.Generator) -> Case:
    """Return a question about rows to a Markov network."""
    network, cards, factors = draw_network(rng)
    names, n = list(network.names), len(cards)
    method = pick(rng, MARKOV)
    codes = np.array([rng.integers(0, r, 6) for r in cards])
    rows = pd.DataFrame({v: [network.states[names[v]][c] for c in codes[v]] for v in range(n)}).set_axis(names, axis=1)
    kind = pick(rng, ["", "", "", "column", "state", "hole"])
    faults = []
    name = pick(rng, names)
    takes_rows = method not in ("simulate", "query")
    takes_gaps = method in ("log_evidence", "predict", "predict_proba")
    if kind == "column" and takes_rows:
        rows, faults = rows.assign(another=1), [fault("another")]
    elif kind == "state" and takes_rows:
        rows = rows.astype(object)
        rows.iloc[3, names.index(name)] = "no such state"
        faults = [fault("no such state", *hold_names(name))]
    elif kind == "hole" and takes_rows and not takes_gaps:
        rows = rows.astype(object)
        rows.iloc[3, names.index(name)] = None
        faults = [fault(*hold_names(name))]
    elif kind == "column" and method == "query":
        faults = [fault("no such variable")]

    def call(folder: Path) -> Any:
        if method == "simulate":
            return network.simulate(7)
        if method == "query":
            return network.query(["no such variable"] if faults else names[:1])
        is_cut = takes_gaps and not faults and n > 1
        return getattr(network, method)(rows.iloc[:, 1:] if is_cut else rows)

    def check(result: Any) -> None:
        if method == "log_likelihood":
            total = enumeration.log_partition(cards, factors)
            assert is_close(result, [enumeration.log_score(factors, row) - total for row in codes.T], atol=1e-7)
        elif method == "pseudo_log_likelihood":
            assert (result <= 1e-9).all()
        elif method == "log_evidence":
            known = [{v: int(row[v]) for v in range(int(n > 1), n)} for row in codes.T]
            total = enumeration.log_partition(cards, factors)
            assert is_close(
                result, [enumeration.log_partition(cards, factors, own) - total for own in known], atol=1e-7
            )
        elif method == "predict_proba":
            assert result.shape == (6, cards[0] if n > 1 else 0) and is_close(result.sum(axis=1), float(n > 1))
        elif method == "query":
            assert is_close(result.values.sum(), 1)
        else:
            order = [*range(1, n), 0] if method == "predict" and n > 1 else [*range(n)]
            assert list(result.columns) == [names[v] for v in order] and not result.isna().to_numpy().any()
            known = [k for k, v in enumerate(order) if v or n == 1]
            assert method != "predict" or all(list(result.iloc[:, k]) == list(rows.iloc[:, order[k]]) for k in known)

    return Case("", call, check, faults, plan=f"{method} {kind} {cards} {names}")
