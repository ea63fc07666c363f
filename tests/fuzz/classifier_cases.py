"""Cases of the classifier: features of all kinds, options, weights, and wrong calls."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from pgmx.estimators import BayesianNetworkClassifier, HillClimbSearch
from pgmx.models import ConditionalGaussianNetwork
from tests.fuzz.cases import Case, chance, entry, fault, pick
from tests.fuzz.frames import draw_codes, draw_names, hold_names, spoil_weights
from tests.fuzz.options import REAL, Option, draw_options, spoil_option
from tests.fuzz.oracles import is_close
from tests.fuzz.search_cases import draw_weights

OPTIONS = {
    "structure": Option(("naive", "tan", HillClimbSearch(show_progress=False)), ("x", None, 3, HillClimbSearch)),
    "equivalent_sample_size": Option((0.5, 1.0, 10.0), (0, *REAL)),
    "missing": Option(("error", "drop", "em"), ("x", None)),
    "n_jobs": Option((1, 2, None), ("x", 1.5)),
}


def draw_features(rng: np.random.Generator) -> tuple[pd.DataFrame, np.ndarray]:
    """Return features that depend on each other and on labels, in columns of states and of numbers."""
    n, n_rows = int(rng.integers(1, 6)), int(pick(rng, [6, 30, 120]))
    codes = draw_codes(rng, n + 1, n_rows)
    columns = {}
    for name, row in zip(draw_names(rng, n, plain=True), codes, strict=False):
        numbers = row + rng.normal(size=n_rows) * 10.0 ** rng.integers(-3, 2)
        columns[name] = numbers if chance(rng, 0.4) else pick(rng, [row, np.array(list("abcd"))[row]])
    return pd.DataFrame(columns), np.array(pick(rng, [[3, 1, 2, 0], list("dbac"), [2.0, 4.0, 6.0, 8.0]]))[codes[n]]


@entry("estimators.BayesianNetworkClassifier", 3.0)
def draw_classifier_case(rng: np.random.Generator) -> Case:
    """Return a fit and its predictions."""
    X, y = draw_features(rng)
    options = draw_options(rng, OPTIONS)
    faults, weights, name = [], None, pick(rng, list(X))
    plant = pick(rng, ("option", "weights", "hole", "labels", "rows", "infinite")) if chance(rng, 0.4) else ""
    fitted, labels = X, y
    if plant == "option":
        wrong, faults = spoil_option(rng, OPTIONS)
        options |= wrong
    elif plant == "weights":
        weights, faults = spoil_weights(rng, len(X), count_rows=False)
    elif plant == "hole":
        fitted = X.astype({name: object})
        fitted.iloc[1, X.columns.get_loc(name)] = None
        options |= {"structure": "tan", "missing": "error"}
        faults = [fault(*hold_names(name))]
    elif plant == "labels":
        labels = np.append(y[:-1].astype(object), None)
        faults = [fault("NaN", "y")]
    elif plant == "rows":
        labels, faults = y[:-1], [fault("samples")]
    elif plant == "infinite":
        fitted, faults = X.assign(another=np.append(np.arange(len(X) - 1.0), np.inf)), [fault("another")]
    elif chance(rng, 0.3):
        weights = draw_weights(rng, len(X))

    def call(folder: Path) -> Any:
        known = {} if weights is None else {"sample_weight": weights}
        return BayesianNetworkClassifier(**options).fit(fitted, labels, **known)

    def check(classifier: BayesianNetworkClassifier) -> None:
        check_classifier(classifier, X, y, weights)

    kinds = {name: str(dtype) for name, dtype in X.dtypes.items()}
    return Case("", call, check, faults, plan=f"planted: {plant or 'nothing'}, {options}, {len(X)} rows, {kinds}")


def check_classifier(classifier: Any, X: pd.DataFrame, y: np.ndarray, weights: Any) -> None:
    """Compare the answers with the likelihoods of the network, and ask for rows with missing and unknown values."""
    kept = np.ones(len(X), dtype=bool) if weights is None else np.asarray(weights) > 0
    X, y = X[kept], y[kept]  # a state of the other rows alone is unknown
    assert classifier.classes_.tolist() == np.unique(y).tolist()
    shares = classifier.predict_proba(X)
    assert is_close(shares.sum(axis=1), 1.0, atol=1e-9)
    model = classifier.model_
    if not isinstance(model, ConditionalGaussianNetwork):
        model = ConditionalGaussianNetwork.from_network(model)
    known = X[[name for name in X if name in model.nodes()]]
    states = model.states[classifier.class_node_]
    joint = np.column_stack(
        [
            model.log_evidence(known.assign(**{classifier.class_node_: pd.Categorical([s] * len(X), states)}))
            for s in states
        ]
    )
    assert is_close(shares, np.exp(joint - np.logaddexp.reduce(joint, axis=1)[:, None]), atol=1e-7)
    holes = X.astype(object).where(np.random.default_rng(0).random(X.shape) > 0.5)
    holes = holes.astype({name: float for name in X if X[name].dtype.kind == "f"})
    assert is_close(classifier.predict_proba(holes).sum(axis=1), 1.0, atol=1e-9)
