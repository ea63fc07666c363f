"""Classifiers: quality in one cross-validation, and seconds, compared with scikit-learn and pyAgrum.

    python tests/benchmarks/classifier.py quality                 # tables that ship with scikit-learn and statsmodels
    python tests/benchmarks/classifier.py seconds --peer PYTHON   # an interpreter that imports pyagrum and pandas

Every classifier has the same ten folds. CPU seconds of one process; set OPENBLAS_NUM_THREADS=1. pyAgrum runs in
a process of its own and learns the same structure, with the same prior, from the same codes. Without ``--peer`` it is
skipped.
"""

import argparse
import platform
import subprocess
import sys
import tempfile
import warnings
from os import getloadavg
from pathlib import Path
from time import process_time as cpu

import numpy as np

N_FOLDS = 10
#: Rows that a peer predicts: it takes half a millisecond per row.
PEER_ROWS = 2_000


# ---- tables ----


def load_travel():
    """Return waiting time, cost and duration of four modes for 210 travellers, and the mode that each chose."""
    import pandas as pd
    import statsmodels.api as sm

    long = sm.datasets.modechoice.load_pandas().data
    wide = long.pivot(index="individual", columns="mode", values=["ttme", "invc", "invt", "gc"])
    wide.columns = [f"{what}_{int(mode)}" for what, mode in wide.columns]
    of_traveller = long.groupby("individual")[["hinc", "psize"]].first()
    chosen = long[long["choice"] == 1].set_index("individual")["mode"].astype(int)
    X = pd.concat([wide, of_traveller], axis=1)
    return X.loc[:, X.nunique() > 1], chosen


def load_flowers(name, dtype=float):
    from sklearn import datasets

    X, y = getattr(datasets, f"load_{name}")(return_X_y=True, as_frame=True)
    return X.astype(dtype), y


def split(name, target):
    from pgmx.datasets import load_example

    frame = load_example(name)
    return frame.drop(columns=target), frame[target].astype(str)


TABLES = {
    "iris": lambda: load_flowers("iris"),
    "wine": lambda: load_flowers("wine"),
    "breast_cancer": lambda: load_flowers("breast_cancer"),
    "travel": load_travel,
    "digits": lambda: load_flowers("digits", int),
    "affairs": lambda: split("affairs", "affairs"),
    "election": lambda: split("election", "vote"),
    "visits": lambda: split("visits", "health"),
}


def draw_alarm():
    from pgmx.datasets import load_network, sample

    frame = sample(load_network("alarm"), 20_000, random_state=0)
    return frame.drop(columns="LVFAILURE"), frame["LVFAILURE"].astype(str)


# ---- classifiers ----


NAMES = ("scikit-learn naive Bayes", "naive", "tan", "learned", "logistic regression", "random forest")


def make_classifiers(X):
    """Return the classifiers of each line of the tables: a mixed table has a second one, with numbers in five bins."""
    from sklearn.compose import make_column_selector, make_column_transformer
    from sklearn.ensemble import RandomForestClassifier
    from sklearn.linear_model import LogisticRegression
    from sklearn.naive_bayes import CategoricalNB, GaussianNB
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder, StandardScaler

    from pgmx.data import Discretizer
    from pgmx.estimators import BayesianNetworkClassifier, HillClimbSearch

    n_floats = sum(dtype.kind == "f" for dtype in X.dtypes)
    most = max((X[name].nunique() for name in X.columns if X[name].dtype.kind != "f"), default=0)
    most = max(most, 5)  # a number of bins; a state that the rows of a fold lack has the last code
    codes = OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=most)
    of_states = make_column_selector(dtype_exclude="float")
    numbers = make_column_transformer((codes, of_states), remainder="passthrough")
    dummies = make_column_transformer((OneHotEncoder(handle_unknown="ignore"), of_states), remainder=StandardScaler())
    own = [BayesianNetworkClassifier(structure) for structure in ("naive", "tan", HillClimbSearch(show_progress=False))]
    others = [
        make_pipeline(dummies, LogisticRegression(max_iter=5000)),
        make_pipeline(numbers, RandomForestClassifier(300, random_state=0)),
    ]
    lines = {}
    if n_floats:
        kind = "continuous" if n_floats == X.shape[1] else "mixed"
        lines[kind] = [make_pipeline(numbers, GaussianNB()), *own, *others]
    if n_floats < X.shape[1]:
        binned = (Discretizer(),) if n_floats else ()
        naive = make_pipeline(*binned, codes, CategoricalNB(min_categories=most + 1))
        line = [naive, *(make_pipeline(*binned, classifier) for classifier in own), *others]
        lines["binned" if n_floats else "discrete"] = line
    return {kind: dict(zip(NAMES, line, strict=True)) for kind, line in lines.items()}


def measure(classifier, X, y):
    """Return log loss, accuracy and Brier score over the folds, and the seconds of all fits and predictions."""
    from sklearn.metrics import log_loss
    from sklearn.model_selection import StratifiedKFold, cross_val_predict

    folds = StratifiedKFold(N_FOLDS, shuffle=True, random_state=0)
    begin = cpu()
    shares = cross_val_predict(classifier, X, y, cv=folds, method="predict_proba")
    seconds = cpu() - begin
    _, codes = np.unique(y, return_inverse=True)
    hits = np.eye(shares.shape[1])[codes]
    brier = ((shares - hits) ** 2).sum(axis=1).mean()
    return log_loss(codes, shares), (shares.argmax(axis=1) == codes).mean(), brier, seconds


def report_quality(names):
    lines = {}
    for name in names:
        X, y = TABLES[name]()
        for kind, classifiers in make_classifiers(X).items():
            title = f"{name}, {kind}: {len(X):,} x {X.shape[1]}, {len(np.unique(y))} classes"
            lines[title] = [measure(classifier, X, y) for classifier in classifiers.values()]
            print(title, *(f"{figures[0]:.3f}" for figures in lines[title]), file=sys.stderr, flush=True)
    for place, (what, digits) in enumerate((("log loss", 3), ("accuracy", 3), ("Brier score", 3), ("seconds", 2))):
        print(f"| {what} | {' | '.join(NAMES)} |\n| --- | {' | '.join(['---:'] * len(NAMES))} |")
        for title, found in lines.items():
            print(f"| {title} | {' | '.join(f'{figures[place]:.{digits}f}' for figures in found)} |")
        print()
    kept = dict.fromkeys(names, True)
    for title, (naive, _, tan, *_) in lines.items():
        kept[title.split(",")[0]] &= tan[0] <= naive[0]
    print(
        f"The log loss of the tree is no worse than scikit-learn's naive Bayes on {sum(kept.values())} of {len(kept)}."
    )


# ---- seconds ----


def code(X, y):
    """Return integer codes of the features, numbers in five bins, and of the labels."""
    from pgmx.data import Discretizer, encode

    if any(dtype.kind == "f" for dtype in X.dtypes):
        X = Discretizer().fit(X).transform(X)
    return encode(X).codes.T.astype(np.int64), np.unique(y, return_inverse=True)[1]


def serve(folder):
    """Fit and predict as pyAgrum does; write the probabilities, the edges and the seconds."""
    from pyagrum.lib.discreteTypeProcessor import DiscreteTypeProcessor
    from pyagrum.skbn import BNClassifier

    with np.load(Path(folder, "table.npz")) as arrays:
        X, y, method = arrays["X"], arrays["y"], str(arrays["method"])
    kinds = DiscreteTypeProcessor("NoDiscretization", None, discretizationThreshold=1000)
    classifier = BNClassifier(type_processor=kinds, learningMethod=method, prior="Smoothing", priorWeight=1.0)
    begin = cpu()
    classifier.fit(X, y)
    classifier.threshold_ = 0.5  # another one would bend the probabilities of two classes
    middle = cpu()
    shares = classifier.predict_proba(X[:PEER_ROWS])
    end = cpu()
    network = classifier.bn_
    arcs = [sorted((network.variable(u).name(), network.variable(v).name())) for u, v in network.arcs()]
    np.savez(Path(folder, "answer.npz"), shares=shares, seconds=[middle - begin, end - middle], arcs=arcs)


def ask_peer(python, X, y, structure):
    """Return the answer of the peer's process."""
    with tempfile.TemporaryDirectory() as folder:
        method = {"naive": "NaiveBayes", "tan": "TAN"}[structure]
        np.savez(Path(folder, "table.npz"), X=X, y=y, method=method)
        subprocess.run([python, __file__, "serve", folder], check=True, capture_output=True)
        with np.load(Path(folder, "answer.npz")) as arrays:
            return dict(arrays)


def measure_ours(X, y, structure, repeat=7):
    """Return the classifier, and the median seconds of fit, and of predict per row."""
    from pgmx.estimators import BayesianNetworkClassifier

    fits, predictions = [], []
    for _ in range(repeat):
        classifier = BayesianNetworkClassifier(structure)
        begin = cpu()
        classifier.fit(X, y)
        middle = cpu()
        classifier.predict_proba(X)
        fits.append(middle - begin)
        predictions.append((cpu() - middle) / len(X))
    return classifier, np.median(fits), np.median(predictions)


def report_seconds(names, peer):
    tables = {name: TABLES[name] for name in names} | {"alarm": draw_alarm}
    print("| table | structure | pgmx fit, ms | pyAgrum | ratio | pgmx predict, us per row | pyAgrum | ratio | edges "
          "shared | difference |")  # fmt: skip
    print("| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |")
    for name, load in tables.items():
        X, y = code(*load())
        for structure in ("naive", "tan"):
            classifier, fit, predict = measure_ours(X, y, structure)
            head = f"| {name}: {len(X):,} x {X.shape[1]} | {structure} | {1e3 * fit:.1f} |"
            if peer is None:
                print(f"{head} | | {1e6 * predict:.2f} | | | | |", flush=True)
                continue
            answer = ask_peer(peer, X, y, structure)
            other_fit, other_predict = answer["seconds"][0], answer["seconds"][1] / min(len(X), PEER_ROWS)
            ours = {tuple(sorted("y" if end == "class" else end for end in edge)) for edge in classifier.graph_.edges()}
            theirs = set(map(tuple, answer["arcs"].tolist()))
            difference = abs(classifier.predict_proba(X[:PEER_ROWS]) - answer["shares"]).max()
            fits = f"{1e3 * other_fit:,.0f} | {other_fit / fit:,.0f}x"
            predictions = f"{1e6 * predict:.2f} | {1e6 * other_predict:,.0f} | {other_predict / predict:,.0f}x"
            shared = f"{len(ours & theirs)} of {len(ours)}"
            print(f"{head} {fits} | {predictions} | {shared} | {difference:.0e} |", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("task", choices=("quality", "seconds", "serve"))
    parser.add_argument("names", nargs="*", help="tables; all by default")
    parser.add_argument("--peer", help="an interpreter that imports pyagrum and pandas")
    options = parser.parse_args()
    if options.task == "serve":
        serve(options.names[0])
        return
    warnings.simplefilter("ignore")
    print(f"Python {platform.python_version()}, load {getloadavg()[0]:.1f}\n")
    names = options.names or list(TABLES)
    if options.task == "quality":
        report_quality(names)
        return
    if options.peer is None:
        print("pyAgrum: skipped, give --peer\n", file=sys.stderr)
    report_seconds(names, options.peer)
    print(f"\nload {getloadavg()[0]:.1f} at the end")


if __name__ == "__main__":
    main()
