"""Raker and AdaRaker compared with scikit-learn and river on the streams of their authors.

    python tests/benchmarks/streaming_peers.py all [--out FILE]

scikit-learn: RBFSampler of as many numbers as one kernel of ours, with SGDRegressor or SGDClassifier at their best of
five steps, chosen on the error itself. river, where it is installed: Hoeffding adaptive tree and adaptive random forest
of ten trees, as they come. Every learner predicts a row before it learns it. Errors are 1,000 times the mean squared
error, or the per cent of wrong labels; rows per CPU second; set OMP_NUM_THREADS=1.
"""

import argparse
import json
import time
from pathlib import Path

import numpy as np
from sklearn.kernel_approximation import RBFSampler
from sklearn.linear_model import SGDClassifier, SGDRegressor
from streaming_raker import LABELS, REGRESSION, read_stream

from pgmx.streaming import AdaRakerClassifier, AdaRakerRegressor, RakerClassifier, RakerRegressor

STEPS = (0.05, 0.1, 0.25, 0.5, 1.0)


def measure(predict, y, is_label):
    """Return the error and the rows per CPU second of a function that returns predictions."""
    start = time.process_time()
    predictions = predict()
    seconds = time.process_time() - start
    error = 100.0 * np.mean(predictions != y) if is_label else 1e3 * np.mean((predictions - y) ** 2)
    return {"error": round(float(error), 3), "rows/s": round(len(y) / seconds)}


def learn_sgd(X, y, step, is_label):
    """Return predictions of scikit-learn's random features with stochastic gradient descent, row by row."""
    Z = RBFSampler(gamma=0.5, n_components=100, random_state=0).fit(X[:1]).transform(X)
    more = {"alpha": 0.0, "learning_rate": "constant", "eta0": step}
    learner = SGDClassifier(loss="log_loss", **more) if is_label else SGDRegressor(**more)
    classes = {"classes": [-1.0, 1.0]} if is_label else {}
    predictions = np.full(len(y), -1.0 if is_label else 0.0)
    for t in range(len(y)):
        if t:
            predictions[t] = learner.predict(Z[t : t + 1])[0]
        learner.partial_fit(Z[t : t + 1], y[t : t + 1], **classes)
    return predictions


def list_river(is_label):
    """Return the learners of river, none where it is not installed."""
    try:
        from river import forest, tree
    except ImportError:
        print("river is not installed: its learners are left out")
        return {}
    if is_label:
        return {
            "HoeffdingAdaptiveTree": tree.HoeffdingAdaptiveTreeClassifier(seed=0),
            "ARF": forest.ARFClassifier(seed=0),
        }
    return {"HoeffdingAdaptiveTree": tree.HoeffdingAdaptiveTreeRegressor(seed=0), "ARF": forest.ARFRegressor(seed=0)}


def learn_river(model, X, y, first):
    """Return predictions of a learner of river; `first` where it has none."""
    predictions = np.empty(len(y))
    for t in range(len(y)):
        row = dict(enumerate(X[t].tolist()))
        guess = model.predict_one(row)
        predictions[t] = first if guess is None else guess
        model.learn_one(row, float(y[t]))
    return predictions


def compare(X, y, is_label):
    """Return error and speed by learner."""
    rows = {}
    if is_label:
        ours = [
            (f"{cls.__name__} {loss}", cls(loss=loss), {"classes": [-1.0, 1.0]})
            for cls in (AdaRakerClassifier, RakerClassifier)
            for loss in ("logistic", "hinge")
        ]
    else:
        ours = [(cls.__name__, cls(), {}) for cls in (AdaRakerRegressor, RakerRegressor)]
    for name, learner, more in ours:
        rows[name] = measure(lambda learner=learner, more=more: learner.predict_partial_fit(X, y, **more), y, is_label)
    sgd = {step: measure(lambda step=step: learn_sgd(X, y, step, is_label), y, is_label) for step in STEPS}
    best = min(sgd, key=lambda step: sgd[step]["error"])
    rows["RBFSampler + SGD, step .25"] = sgd[0.25]
    rows["RBFSampler + SGD, best step"] = {**sgd[best], "step": best}
    for name, model in list_river(is_label).items():
        rows[f"river {name}"] = measure(
            lambda model=model: learn_river(model, X, y, -1.0 if is_label else 0.0), y, is_label
        )
    for name, figures in rows.items():
        print(f"  {name}: {figures}", flush=True)
    return rows


def main(argv=None):
    """Compare on all streams, or those that are named; write the tables where `--out` says."""
    streams = {**REGRESSION, **LABELS}
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("parts", nargs="+", choices=[*streams, "all"])
    parser.add_argument("--out", type=Path)
    arguments = parser.parse_args(argv)
    result = {}
    for title in streams if "all" in arguments.parts else arguments.parts:
        print(title, flush=True)
        result[title] = compare(*read_stream(streams[title]), title in LABELS)
    if arguments.out:
        arguments.out.write_text(json.dumps(result, indent=1))


if __name__ == "__main__":
    main()
