"""What a categorical subspace takes: frames, sparse matrices, triples, files, iterators; and what it refuses."""

import pickle

import joblib
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy.sparse import coo_array, csc_array, csr_array
from sklearn.base import clone
from sklearn.utils.estimator_checks import check_estimator_sparse_array, check_estimator_sparse_matrix
from sklearn.utils.metaestimators import available_if

from helpers.interpreter import run_python
from helpers.stream_learners import SUBSPACE, list_state
from helpers.traced_memory import least_growth
from pgmx.streaming import CategoricalSubspace, StreamLearner, inputs

X = SUBSPACE.draw(40, n_features=5, n_classes=4)[0]
OBSERVED = ~np.isnan(X)
FRAME = pd.DataFrame(X, columns=list("abcde"))


def start(**options):
    return CategoricalSubspace(n_components=2, max_iter=2, **options)


def draw_entries():
    return coo_array((X[OBSERVED], np.nonzero(OBSERVED)), shape=X.shape)


FRAMES = {
    "pandas": FRAME,
    "nullable integers": FRAME.astype("Int64"),
    "arrow integers": FRAME.astype("Int64").astype("int64[pyarrow]"),
    "categories": FRAME.astype("category"),
    "objects": FRAME.astype(object).where(FRAME.notna(), None),
    "polars": pl.from_pandas(FRAME.astype("Int64")),
    "arrow": pa.Table.from_pandas(FRAME, preserve_index=False),
    "lists": X.tolist(),
    "float32": X.astype(np.float32),
    **{name: draw_entries().asformat(name) for name in ("csr", "csc", "coo", "lil", "dok")},
}


@pytest.mark.parametrize("kind", FRAMES)
def test_kinds_of_rows_agree_to_the_last_bit(kind):
    expected, rows = start().fit(X), FRAMES[kind]
    learner = start().fit(rows)
    assert list_state(learner) == list_state(expected)
    np.testing.assert_array_equal(learner.impute(rows), expected.impute(X))
    np.testing.assert_array_equal(learner.transform(rows), expected.transform(X))
    assert list_state(clone(learner).fit(rows)) == list_state(expected)


def test_files_and_iterators_are_the_arrays(tmp_path, monkeypatch):
    FRAME.to_csv(tmp_path / "rows.csv", index=False)
    FRAME.to_parquet(tmp_path / "rows.parquet")
    (tmp_path / "folder").mkdir()
    for name, piece in (("1", FRAME[:11]), ("2", FRAME[11:12]), ("3", FRAME[12:])):
        piece.to_parquet(tmp_path / "folder" / f"{name}.parquet")
    monkeypatch.setattr(inputs, "CHUNK_ROWS", 7)
    expected, once = start().fit(FRAME), start(levels=range(4)).partial_fit(FRAME)
    for source in (str(tmp_path / "rows.csv"), tmp_path / "rows.parquet", tmp_path / "folder"):
        learner = start().fit(source)
        assert list_state(learner) == list_state(expected)
        assert learner.feature_names_in_.tolist() == list("abcde")
        assert list_state(start(levels=range(4)).partial_fit(source)) == list_state(once)
        with pytest.raises(TypeError, match="only fit and partial_fit"):
            learner.transform(source)
    assert list_state(start(levels=range(4)).partial_fit(iter([FRAME[:9], FRAME[9:]]))) == list_state(once)
    FRAME[:0].to_csv(tmp_path / "rows.csv", index=False)
    before = list_state(expected)
    for source in (tmp_path / "rows.csv", iter([])):
        with pytest.raises(ValueError, match="no row|no chunk"):
            expected.partial_fit(source)
    with pytest.raises(ValueError, match="no row"):
        expected.fit(tmp_path / "rows.csv")
    FRAME.assign(b="word").to_csv(tmp_path / "rows.csv", index=False)
    with pytest.raises(ValueError, match="'b' hold states or text"):
        expected.fit(tmp_path / "rows.csv")
    assert list_state(expected) == before


@pytest.mark.filterwarnings("ignore:X does not have valid feature names")
def test_what_is_refused_is_named():
    learner, entries = start(levels=range(4)).fit(FRAME), draw_entries()
    before = list_state(learner)
    infinite, odd = entries.copy(), FRAME.copy()
    infinite.data[17] = np.inf
    column = infinite.col[17]
    place = f"column ({column}|'{FRAME.columns[column]}'), row {infinite.row[17]}"
    odd.loc[3, "d"] = 7.0
    doubled = coo_array(([1.0, 1.0], ([0, 0], [1, 1])), shape=X.shape)
    for rows, words in [
        (infinite.tocsr(), place),
        (FRAME.replace(1.0, -np.inf), "infinity .* column '.', row"),
        (odd, "column 'd', row 3 of the chunk holds 7"),
        (doubled, "two entries"),
        (csc_array((np.ones(2), [0, 0], [0, 0, 2, 2, 2, 2]), shape=X.shape), "two entries"),
        (entries.todia(), "format 'dia'"),
        (entries.tobsr((1, 5)), "format 'bsr'"),
        (FRAME[list("bacde")], "feature names"),
        (X[:, 0], "2D array"),
        (X + 0j, "[Cc]omplex"),
    ]:
        for method in (learner.partial_fit, learner.fit, learner.transform):
            if rows is odd and method == learner.fit:
                continue
            if isinstance(rows, pd.DataFrame) and "names" in words and method == learner.fit:
                continue
            with pytest.raises(ValueError, match=words):
                method(rows)
            assert list_state(learner) == before
    with pytest.raises(ValueError, match="must be numeric"):
        start(levels=["low", "high"]).fit(X)
    with pytest.raises(ValueError, match="must be numeric"):
        start(thresholds=["low", "high", "top"]).fit(X)
    with pytest.raises(TypeError, match="n_columns"):
        learner.fit_triples([0], [0], [1.0], n_columns=1.5)
    assert learner.impute(X, cells=([], [])).shape == (0,)
    assert learner.predict_proba(X, cells=([], [])).shape == (0, 4)
    assert learner.transform(np.full((1, 5), np.nan)).tolist() == [[0.0, 0.0]]


def test_bounds_of_a_tobit_are_the_least_and_the_largest_number():
    rows = np.array([[3.0, 1.0], [2.5, np.nan], [1.5, 7.0]])
    assert start(model="tobit").fit(rows).levels_.tolist() == [1.0, 7.0]
    assert start(model="tobit").fit(np.full((3, 2), 4.0)).levels_.tolist() == [4.0, 8.0]


@pytest.mark.parametrize(
    "levels",
    [range(4), [0, 1, 2, 3], np.arange(4, dtype=np.int8), pd.Series([0.0, 1.0, 2.0, 3.0]), pd.Index([0, 1, 2, 3])],
    ids=lambda levels: type(levels).__name__,
)
def test_levels_may_be_declared_in_many_ways(levels, tmp_path):
    few = np.where(X > 1, 1.0, X)
    learner = start(levels=levels).partial_fit(few)
    assert learner.levels_.tolist() == [0, 1, 2, 3]
    copy = StreamLearner.load(learner.save(tmp_path / "learner.npz"))
    assert list_state(copy.partial_fit(X)) == list_state(learner.partial_fit(X))
    with pytest.raises(ValueError, match="not among the levels 0, 1"):
        start().partial_fit(few).partial_fit(X)


class Bare(CategoricalSubspace):
    """The learner without `predict_proba`, for which scikit-learn's checks expect one row of classes per row."""

    predict_proba = available_if(lambda self: False)(CategoricalSubspace.predict_proba)


def test_sparse_checks_of_scikit_learn():
    assert not hasattr(Bare(), "predict_proba")
    check_estimator_sparse_array("Bare", Bare(max_iter=1))
    check_estimator_sparse_matrix("Bare", Bare(max_iter=1))


def test_mapped_states_are_learned_further(tmp_path):
    learner = start(levels=range(4)).fit(X)
    joblib.dump(learner, tmp_path / "learner.joblib")
    mapped = joblib.load(tmp_path / "learner.joblib", mmap_mode="r")
    np.save(tmp_path / "rows.npy", X)
    rows = np.load(tmp_path / "rows.npy", mmap_mode="r")
    assert list_state(mapped.partial_fit(rows)) == list_state(learner.partial_fit(X))
    sparse = draw_entries().tocsr()
    for array in (sparse.data, sparse.indices, sparse.indptr):
        array.flags.writeable = False
    assert list_state(mapped.partial_fit(sparse)) == list_state(learner.partial_fit(X))


@pytest.mark.slow
def test_memory_is_constant():
    learner = start(levels=range(4)).fit(X)
    size = len(pickle.dumps(learner))
    # 90 bytes per pass; caches of the interpreter vary by up to 4,500 bytes, however many the passes are
    assert least_growth(lambda: learner.partial_fit(X), 80) < 7_200
    assert abs(len(pickle.dumps(learner)) - size) < 100


@pytest.mark.slow
def test_files_continue_in_another_process(tmp_path):
    np.save(tmp_path / "rows.npy", X)
    learners = {
        "probit": start(levels=range(4), learn_thresholds=True),
        "tobit": start(model="tobit", levels=(0, np.inf)),
        "logit": start(model="logit", levels=range(4), sketch="gradient"),
    }
    for name, learner in learners.items():
        learner.fit(X).save(tmp_path / f"{name}.npz")
    code = (
        "import os; import numpy as np; from pgmx.streaming import StreamLearner\n"
        f"os.chdir({str(tmp_path)!r}); rows = np.load('rows.npy', mmap_mode='r')\n"
        f"for name in {list(learners)}:\n"
        "    StreamLearner.load(f'{name}.npz').partial_fit(rows).save(f'{name}.npz')"
    )
    assert run_python("-c", code).returncode == 0
    for name, learner in learners.items():
        assert list_state(StreamLearner.load(tmp_path / f"{name}.npz")) == list_state(learner.partial_fit(X))


def test_rows_without_cells_and_columns_without_rows():
    empty = csr_array(X.shape)
    learner = start(levels=range(4)).fit(empty)
    np.testing.assert_allclose(learner.predict_proba(empty)[0].sum(axis=1), 1.0)
    assert learner.n_seen_ == 80
    assert start(levels=range(4)).fit_triples([3], [2], [1.0], n_columns=5).n_features_in_ == 5
