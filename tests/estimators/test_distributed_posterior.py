"""StructurePosterior of rows that lie with the workers of a cluster: the probabilities of the same rows in memory."""

import numpy as np
import pytest

from helpers.distributed_tables import cut, draw_frame, with_empty_part
from pgmx.data import distribute
from pgmx.estimators import StructurePosterior


@pytest.mark.slow
@pytest.mark.parametrize("is_weighted", [False, True])
def test_probabilities_and_predictions(client, is_weighted):
    frame = draw_frame(600, seed=2)
    weights = np.random.default_rng(0).exponential(size=600) if is_weighted else None
    table = distribute(with_empty_part(cut(frame, 4)), client)
    far, near = (
        StructurePosterior(scoring_method="bdeu", max_indegree=3).fit(rows, None, weights) for rows in (table, frame)
    )
    np.testing.assert_allclose(far.arc_probability_, near.arc_probability_, rtol=0, atol=1e-9)
    rows = frame.iloc[:5]
    np.testing.assert_allclose(far.score_samples(rows), near.score_samples(rows), rtol=0, atol=1e-9)
