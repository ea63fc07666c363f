"""What every learner of streams promises: chunks are rows to the bit, state survives, refusals change nothing."""

import pickle
import subprocess
import sys
from copy import deepcopy

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

import pgmx.streaming
from helpers.stream_learners import STREAMS, SUBSPACE, every_stream, list_state
from helpers.traced_memory import least_growth
from pgmx.streaming import StreamClassifier, StreamLearner


@every_stream
def test_chunks_are_single_rows_to_the_last_bit(make):
    X, y = make.draw(40)
    single, more = make.start()
    predictions = []
    for t in range(len(X)):
        if t:
            before = list_state(single)
            predictions.append(single.predict(X[t : t + 1])[0])
            assert list_state(single) == before
        first = single.predict_partial_fit(X[t : t + 1], y[t : t + 1], **more)
        predictions = predictions or [first[0]]
        assert first[0] == predictions[-1]
    for seed in range(3):
        pieces, more = make.start()
        cuts = np.sort(np.random.default_rng(seed).choice(np.arange(1, 40), size=4 * seed, replace=False))
        outputs = [
            pieces.predict_partial_fit(*chunk, **more)
            for chunk in zip(np.split(X, cuts), np.split(y, cuts), strict=True)
        ]
        np.testing.assert_array_equal(np.concatenate(outputs), predictions)
        assert list_state(pieces) == list_state(single)
    silent, more = make.start()
    assert list_state(silent.partial_fit(iter([(X[:7], y[:7]), (X[7:], y[7:])]), **more)) == list_state(single)
    assert single.n_seen_ == 40


@every_stream
def test_fit_forgets_and_makes_one_pass(make):
    X, y = make.draw(50)
    learner, more = make.start()
    learner.partial_fit(X[::2, :2], y[::2], **more)
    again = make().fit(X, y)
    assert list_state(learner.fit(X, y)) == list_state(again)
    fresh, _ = make.start()
    assert list_state(fresh.partial_fit(X, y, **more)) == list_state(again)
    iterator = make().fit(iter([(X[:30], y[:30]), (X[30:], y[30:])]))
    assert list_state(iterator) == list_state(again)


@every_stream
def test_state_survives_copies_and_files(make, tmp_path):
    X, y = make.draw(80)
    frame = pd.DataFrame(X, columns=list("abcd"))
    learner = make().fit(frame[:50], y[:50])
    path = learner.save(tmp_path / "learner.npz")
    copies = {
        "pickle": pickle.loads(pickle.dumps(learner)),
        "deepcopy": deepcopy(learner),
        "file": StreamLearner.load(path),
        "own file": make.cls.load(path),
    }
    learner.partial_fit(frame[50:], y[50:])
    for how, copy in copies.items():
        assert copy.n_seen_ == 50, how
        assert list_state(copy.partial_fit(frame[50:], y[50:])) == list_state(learner), how
        assert list(copy.feature_names_in_) == list("abcd")
        assert copy.get_params() == learner.get_params()
    with pytest.raises(ValueError, match="suffix"):
        learner.save(tmp_path / "learner.pkl")


@pytest.mark.slow
def test_files_continue_in_another_process(tmp_path):
    """All learners in one process, whose start takes longer than they do."""
    learners = {}
    for i, make in enumerate(STREAMS):
        X, y = make.draw(80)
        np.savez(tmp_path / f"rows{i}.npz", X=X[40:], y=y[40:])
        learner = make().fit(X[:40], y[:40])
        learner.save(tmp_path / f"learner{i}.npz")
        learners[i] = learner.partial_fit(X[40:], y[40:])
    code = (
        "import numpy as np; from pgmx.streaming import StreamLearner\n"
        f"for i in range({len(STREAMS)}):\n"
        "    rows, learner = np.load(f'rows{i}.npz'), StreamLearner.load(f'learner{i}.npz')\n"
        "    learner.partial_fit(rows['X'], rows['y']).save(f'later{i}.npz')"
    )
    subprocess.run([sys.executable, "-c", code], cwd=tmp_path, check=True)
    for i, learner in learners.items():
        assert list_state(StreamLearner.load(tmp_path / f"later{i}.npz")) == list_state(learner), STREAMS[i].name


@every_stream
def test_damaged_files_are_refused(make, tmp_path):
    X, y = make.draw(30)
    path = make().fit(X, y).save(tmp_path / "learner.npz")
    members = dict(np.load(path))
    name = next(name for name in members if name not in ("names", "classes", "feature_names"))
    changes = {
        "shape": {name: np.concatenate([members[name], members[name]])},
        "type": {name: members[name].astype(np.complex128)},
        "absent": {name: None},
        "further": {"more": np.zeros(3)},
        "document": {"names": np.frombuffer(members["names"].tobytes().replace(b'"n_seen"', b'"n_sean"'), np.uint8)},
        "class": {"names": np.frombuffer(members["names"].tobytes().replace(b'"type": "', b'"type": "X'), np.uint8)},
    }
    for what, change in changes.items():
        arrays = {key: array for key, array in {**members, **change}.items() if array is not None}
        np.savez(path, **arrays)
        with pytest.raises(ValueError, match="learner\\.npz"):
            pytest.fail(f"{what}: {StreamLearner.load(path)}")


def refused_chunks(make):
    """Return chunks that must be refused: name, rows, targets, words of the message."""
    X, y = make.draw(12, seed=1)
    missing, infinite = X.copy(), X.copy()
    missing[7, 2] = np.nan
    infinite[11, 3] = -np.inf
    chunks = [
        ("missing", missing, y, "NaN in column 2, row 7 of the chunk .row 37 of the stream"),
        ("infinite", infinite, y, "inf"),
        ("empty", X[:0], y[:0], "0 sample"),
        ("narrow", X[:, :3], y, "3 features"),
        ("text", np.where(X > 2, X, "word"), y, "word|numeric"),
        ("lengths", X, y[:-1], "inconsistent"),
        ("no targets", X, None, "y"),
    ]
    if make.is_classifier:
        return [*chunks, ("label", X, np.array(["low"] * 11 + ["odd"]), "'odd'")]
    return [*chunks, ("target", X, np.where(np.arange(12) == 11, np.nan, y), "NaN")]


@every_stream
def test_a_refused_chunk_changes_nothing(make):
    X, y = make.draw(30)
    learner, more = make.start()
    for what, rows, targets, words in refused_chunks(make):
        if what != "narrow":
            with pytest.raises(ValueError, match="NaN" if what == "missing" else words):
                learner.partial_fit(rows, targets, **more)
            assert vars(learner) == vars(make())
    learner.partial_fit(X, y, **more)
    before = list_state(learner)
    for what, rows, targets, words in refused_chunks(make):
        for method in (learner.partial_fit, learner.predict_partial_fit, learner.fit):
            if method == learner.fit and what in ("narrow", "label"):
                continue
            with pytest.raises(ValueError, match="NaN|inf" if method == learner.fit and what == "missing" else words):
                method(rows, targets)
            assert list_state(learner) == before, what
    option, other = make.frozen
    for name in {option, *({"n_components"} & set(learner.get_params()))}:
        value, new = getattr(learner, name), 4000 if name == "n_components" else other
        learner.set_params(**{name: new})
        for method, arguments in ((learner.partial_fit, (X, y)), (learner.predict, (X,))):
            with pytest.raises(ValueError, match=name):
                method(*arguments)
        learner.set_params(**{name: value})
    assert list_state(learner) == before
    if make.is_classifier:
        with pytest.raises(ValueError, match="classes"):
            learner.partial_fit(X, y, classes=["high", "low"])
        with pytest.raises(ValueError, match="classes=None"):
            make().partial_fit(X, y)


@every_stream
def test_inputs_are_read_only_and_not_aliased(make, tmp_path):
    X, y = make.draw(40)
    expected = make().fit(X, y)
    np.save(tmp_path / "rows.npy", X)
    mapped = np.load(tmp_path / "rows.npy", mmap_mode="r")
    assert list_state(make().fit(mapped, y)) == list_state(expected)
    assert list_state(make().fit(np.asfortranarray(X), y)) == list_state(expected)
    assert list_state(make().fit(pd.DataFrame(X), y)) == list_state(expected)
    rows, targets = X.copy(), y.copy()
    learner = make().fit(rows, targets)
    np.testing.assert_array_equal(rows, X)
    np.testing.assert_array_equal(targets, y)
    rows[:] = 0.0
    assert list_state(learner) == list_state(expected)


@pytest.mark.slow
def test_memory_is_constant():
    """All learners at once: a snapshot of the interpreter takes longer than they do."""
    chunks = {make().fit(*make.draw(300)): make.draw(300) for make in STREAMS if make().get_params().get("budget", 1)}
    sizes = [len(pickle.dumps(learner)) for learner in chunks]

    def learn():
        for learner, chunk in chunks.items():
            learner.partial_fit(*chunk)

    assert len(chunks) == len(STREAMS) - 1  # one keeps all rows
    assert least_growth(learn, 2) < 4_500  # less than a number per row of one learner
    for learner, size in zip(chunks, sizes, strict=True):
        assert abs(len(pickle.dumps(learner)) - size) < 100
        assert learner.n_seen_ == 2_100


@every_stream
def test_learners_are_plain_estimators_of_scikit_learn(make):
    X, y = make.draw(90)
    learner = make().fit(X, y)
    assert not vars(clone(learner)).keys() - learner.get_params().keys()
    option, values = make.grid
    pipeline = make_pipeline(StandardScaler(), make())
    search = GridSearchCV(pipeline, {f"{make.cls.__name__.lower()}__{option}": values}, cv=2).fit(X, y)
    assert search.predict(X).shape == (90,)
    assert learner.__sklearn_tags__().no_validation is False


@pytest.mark.filterwarnings("ignore")
@parametrize_with_checks([make() for make in STREAMS[:2]])
def test_scikit_learn_checks(estimator, check):
    check(estimator)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@parametrize_with_checks([make() for make in STREAMS[2:]])
def test_scikit_learn_checks_of_kernels(estimator, check):
    check(estimator)


def test_every_public_learner_is_here():
    public = {getattr(pgmx.streaming, name) for name in pgmx.streaming.__all__}
    learners = {cls for cls in public if isinstance(cls, type) and issubclass(cls, StreamLearner)}
    learners -= {StreamClassifier, StreamLearner, SUBSPACE.cls}  # rows without targets: test_subspace.py
    assert learners <= {make.cls for make in STREAMS}
