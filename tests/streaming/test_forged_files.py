"""Files that claim what they do not hold: sizes, dimensions, counts. They are refused before memory is allocated."""

import json
import tracemalloc
import zipfile

import numpy as np
import pytest

from helpers.stream_learners import STREAMS, SUBSPACE, find_stream, list_state
from pgmx.streaming import AdaRakerRegressor, CategoricalSubspace, StreamLearner

pytestmark = pytest.mark.slow

every_learner = pytest.mark.parametrize("make", [*STREAMS, SUBSPACE], ids=lambda make: make.name)


def save_members(make, folder, **options):
    """Return the path of a saved learner, its document and its other members."""
    path = make(**options).fit(*make.draw(30)).save(folder / "learner.npz")
    members = dict(np.load(path))
    return path, json.loads(members.pop("names").tobytes()), members


def write_members(path, document, members):
    names = np.frombuffer(json.dumps(document).encode(), np.uint8)
    np.savez(path, names=names, **members)


def assert_refused(path, words, most_bytes=5e6):
    tracemalloc.start()
    try:
        with pytest.raises(ValueError, match=words) as caught:
            pytest.fail(f"{StreamLearner.load(path)}")
        assert tracemalloc.get_traced_memory()[1] < most_bytes
    finally:
        tracemalloc.stop()
    assert "learner.npz" in str(caught.value)


@every_learner
@pytest.mark.parametrize(
    ("entry", "value"),
    [
        ("n_features", 10**9),
        ("n_features", 10**30),
        ("n_features", 0),
        ("n_features", 4.0),
        ("n_components", 10**10),
        ("n_components", 10**30),
        ("n_components", -1),
        ("n_seen", -1),
        ("n_seen", 10**30),
        ("n_seen", True),
    ],
)
def test_absurd_dimensions_allocate_nothing(make, entry, value, tmp_path):
    path, document, members = save_members(make, tmp_path)
    if entry == "n_components" and entry not in document["options"]:
        pytest.skip("it has no components")
    if entry == "n_features" and make.cls.__name__.startswith("Gradraker") and 0 < value < 10**10:
        pytest.skip("its state does not depend on the columns")
    (document["options"] if entry in document["options"] else document)[entry] = value
    write_members(path, document, members)
    assert_refused(path, "need|its n_|n_components|learned")


@every_learner
def test_members_that_are_larger_than_their_bytes(make, tmp_path):
    path, document, members = save_members(make, tmp_path)
    first = next(iter(members))
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, array in {**members, "names": np.frombuffer(json.dumps(document).encode(), np.uint8)}.items():
            with archive.open(f"{name}.npy", "w") as file:
                np.lib.format.write_array(file, array)
        archive.getinfo(f"{first}.npy").file_size = 10**12
    assert_refused(path, "too many for")
    for name, array in members.items():
        if name in ("classes", "feature_names"):
            continue
        for changed in (array[..., None], array.ravel()[:-1], array.astype(np.float32), np.empty(0)):
            if changed.shape != array.shape or changed.dtype != array.dtype:
                write_members(path, document, {**members, name: changed})
                assert_refused(path, "learner.npz", 1e8)  # a table of Gradraker, which is not touched


def test_flags_of_changes_are_rows(tmp_path):
    """The compiled loop takes their number for a place."""
    path, document, members = save_members(find_stream(AdaRakerRegressor), tmp_path)
    for place, value in ((0, -5), (0, 31), (3, -1), (3, 30)):
        flags = members["_flags"].copy()
        flags[place] = value
        write_members(path, document, {**members, "_flags": flags})
        assert_refused(path, "flags")
    write_members(path, document, {**members, "_expert_logs": members["_expert_logs"] + np.inf})
    assert_refused(path, "infinite")


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"levels_": np.arange(4.0)}, "thresholds|shape"),
        ({"levels_": np.array([0.0, 2.0, 1.0])}, "ascend"),
        ({"levels_": np.array([0.0, 1.0, 2.5])}, "thresholds"),
        ({"levels_": None}, "lacks"),
        ({"_thresholds": np.array([-np.inf, 0.1, 0.3, np.inf])}, "thresholds"),
        ({"_progress": np.array([0.0, 1.0, 1.0])}, "scale"),
        ({"_counts": np.full(4, -1.0)}, "counts"),
    ],
)
def test_states_of_subspaces_that_contradict_themselves(change, words, tmp_path):
    path, document, members = save_members(SUBSPACE, tmp_path)
    changed = {name: array for name, array in {**members, **change}.items() if array is not None}
    write_members(path, document, changed)
    assert_refused(path, words)
    path, document, members = save_members(SUBSPACE, tmp_path, levels=(0, 1, 2))
    document["options"]["levels"] = [0, 1, 3]
    write_members(path, document, members)
    assert_refused(path, "levels differ")


def test_learned_thresholds_of_files_ascend(tmp_path):
    path, document, members = save_members(SUBSPACE, tmp_path, learn_thresholds=True)
    for edges in (members["_thresholds"][::-1], np.array([-np.inf, 0.0, np.inf, np.inf]), np.arange(4.0)):
        write_members(path, document, {**members, "_thresholds": edges})
        assert_refused(path, "ascend")


@pytest.mark.parametrize("bounds", [(0, np.inf), (-np.inf, 1), (-np.inf, np.inf)])
def test_bounds_of_tobits_may_be_infinite(bounds, tmp_path):
    X = np.clip(np.random.default_rng(0).standard_normal((40, 4)), *bounds)
    learner = CategoricalSubspace(model="tobit", levels=bounds, n_components=2).fit(X)
    copy = StreamLearner.load(learner.save(tmp_path / "learner.npz"))
    assert list_state(copy) == list_state(learner)
    shares = learner.predict_proba(X)
    np.testing.assert_allclose(shares.sum(axis=2), 1.0)
    assert (shares[..., [0, 2]][..., ~np.isfinite(bounds)] == 0).all()
