"""Resamples of a table whose partitions are at the workers of a cluster: the draws of the whole, to the bit."""

import pickle
from itertools import pairwise

import numpy as np
import pytest

from helpers.bootstraps import boot, same
from helpers.distributed_tables import (
    FOREST,
    copy_weights,
    cut,
    draw_chain,
    draw_frame,
    join_blocks,
    same_table,
    with_empty_part,
)
from pgmx.data import distribute, encode
from pgmx.data.draws import count_draws, count_many_draws, count_weighted_draws
from pgmx.estimators import ChowLiuForest, HillClimbSearch


@pytest.fixture(scope="module")
def frame():
    return draw_frame(500, seed=3)


@pytest.mark.slow
def test_resamples_of_parts(client, frame):
    table, whole = distribute(with_empty_part(cut(frame, 3)), client), encode(frame)
    assert same_table(table.draw_rows(5, 2), whole.repeat_rows(count_draws(5, 2, 500)))
    assert same(boot(FOREST, 3, random_state=5).fit(table), boot(FOREST, 3, random_state=5).fit(whole))


@pytest.mark.slow
@pytest.mark.parametrize("n_parts", [1, 2, 7, 32])
def test_any_number_of_unequal_parts(client, frame, n_parts):
    whole = encode(frame)
    parts = with_empty_part(cut(frame, n_parts))
    for learner in (HillClimbSearch(), ChowLiuForest(class_node="word")):
        assert same(boot(learner, 4).fit(distribute(parts, client)), boot(learner, 4).fit(whole))


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["whole", "few"])
def test_weights(client, frame, kind):
    """Whole weights, and some that leave whole partitions out."""
    rng = np.random.default_rng(1)
    weights = rng.integers(0, 3, len(frame))
    if kind == "few":
        weights[50:430] = 0
    table, whole = distribute(with_empty_part(cut(frame, 7)), client), encode(frame)
    counts = count_weighted_draws(4, 1, np.cumsum(weights))
    assert same_table(table.weigh_rows(weights).draw_rows(4, 1), whole.repeat_rows(counts))
    for learner in (HillClimbSearch(), FOREST):
        assert same(
            boot(learner, 3).fit(table, sample_weight=weights), boot(learner, 3).fit(whole, sample_weight=weights)
        )


@pytest.mark.slow
def test_draws_in_proportion_to_real_weights(client, frame):
    weights = np.random.default_rng(0).exponential(size=len(frame))
    whole = encode(frame)
    counts = count_weighted_draws(7, 0, np.cumsum(weights))
    for n_parts in (1, 5):
        table = distribute(with_empty_part(cut(frame, n_parts)), client).weigh_rows(weights)
        drawn = table.draw_rows(7, 0)
        assert same_table(drawn, whole.repeat_rows(counts))
        assert drawn.n_rows == round(weights.sum())


@pytest.mark.slow
def test_checkpoint_goes_on_with_other_parts(client, frame, tmp_path):
    path = tmp_path / "bootstrap.ckpt"
    boot(n_resamples=3, checkpoint=path, callback=lambda progress: progress.n_iter == 2).fit(
        distribute(frame, client, n_parts=2)
    )
    assert path.exists()
    table = distribute(cut(frame, 5), client)
    assert same(boot(n_resamples=4, checkpoint=path).fit(table), boot(n_resamples=4).fit(encode(frame)))
    boot(n_resamples=3, checkpoint=path, callback=lambda progress: True).fit(table)
    with pytest.raises(ValueError, match="other data or options"):
        boot(n_resamples=3, checkpoint=path).fit(distribute(frame[:400], client))


@pytest.mark.slow
def test_messages_do_not_grow_with_the_rows(client, monkeypatch):
    """The driver sends a key and bounds to each partition, and no weights."""
    frame = draw_frame(20_000)
    table = distribute(cut(frame, 4), client)
    sizes = []
    submit = client.submit

    def measure(function, *arguments, **options):
        sent = [argument for argument in arguments if not hasattr(argument, "key")]
        sizes.append(len(pickle.dumps(sent)))
        return submit(function, *arguments, **options)

    monkeypatch.setattr(client, "submit", measure)
    drawn = table.draw_rows(0, 1)
    assert drawn.n_rows == 20_000
    assert len(sizes) == 2 * table.n_parts
    assert sum(sizes) < 1000


@pytest.mark.slow
def test_numbers(client):
    rows = np.random.default_rng(0).standard_normal((300, 3)).cumsum(axis=1)
    drawn = np.repeat(rows, count_draws(3, 1, 300), axis=0)
    for bounds in ([0, 300], [0, 7, 7, 120, 300]):
        table = distribute([rows[first:stop] for first, stop in pairwise(bounds)], client).draw_rows(3, 1)
        assert table.n_rows == 300
        assert np.array_equal(table.reduce(join_blocks, add=np.concatenate), drawn)


@pytest.mark.slow
def test_bad_weights(client, frame):
    table = distribute(frame, client)
    with pytest.raises(ValueError, match="one weight per row"):
        table.weigh_rows(np.ones(499))
    with pytest.raises(ValueError, match=r"weights\[3\] is -1"):
        table.weigh_rows(np.where(np.arange(500) == 3, -1, 1))


@pytest.mark.slow
def test_weighted_numbers(client):
    """Weights of rows as often as rows, and many times: workers draw, and no weight is sent for a resample."""
    rows = draw_chain()
    for scale in (1.5, 40.0):
        weights = np.random.default_rng(4).exponential(scale, len(rows))
        weights[100:190] = 0
        table = distribute(with_empty_part(cut(rows, 5)), client)
        learner = boot(HillClimbSearch(scoring_method="bic-g"), 4, random_state=3)
        far = learner.fit(table, sample_weight=weights).pair_counts_
        assert np.array_equal(far, learner.fit(rows, sample_weight=weights).pair_counts_) and far.any()


@pytest.mark.slow
def test_many_draws_of_weighted_rows(client, frame):
    weights = np.random.default_rng(0).integers(0, 100, len(frame))
    table = distribute(with_empty_part(cut(frame, 5)), client).weigh_rows(weights)
    drawn = table.draw_weights(7, 2)
    assert np.array_equal(drawn.row_weights, count_many_draws(7, 2, weights))
    far = drawn.reduce(copy_weights, add=np.concatenate)
    assert np.array_equal(far, drawn.row_weights)
    with pytest.raises(ValueError, match="weigh_rows first"):
        distribute(frame, client).draw_weights(7, 2)
