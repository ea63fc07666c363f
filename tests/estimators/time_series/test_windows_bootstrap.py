"""BlockBootstrap of structural equations: blocks of windows, one resample by hand, and standard errors."""

import numpy as np
import pytest

from pgmx.data.draws import make_fractions
from pgmx.datasets import switching_series
from pgmx.estimators import BlockBootstrap, SparseTensorSEM, TensorSEM
from pgmx.estimators.time_series.equations.resampler import EquationsResampler

COEF = np.roll(np.diag([0.5, 0.4, 0.6, 0.3]), 1, axis=1)


def make_rows(seed=0):
    return switching_series(COEF, 6, 200, random_state=seed).series * [1.0, 10.0, 0.1, 3.0]


@pytest.mark.parametrize("cls", [TensorSEM, pytest.param(SparseTensorSEM, marks=pytest.mark.slow)])
def test_confidence_of_edges(cls):
    rows = make_rows()
    boot = BlockBootstrap(cls(exogenous="blind", window=200), n_resamples=10).fit(rows)
    assert (boot.edge_probability_[0][COEF != 0] == 1.0).all()
    absent = boot.edge_probability_[0][(COEF == 0) & ~np.eye(4, dtype=bool)]
    # the threshold .1 is three to seven standard errors
    assert absent.max() <= 0.3
    assert absent.mean() <= 0.1
    assert boot.edge_probability_.shape == (1, 4, 4)
    assert (boot.block_length_, boot.n_blocks_) == (6, 6 * 34)
    np.testing.assert_allclose(boot.coef_mean_[0][COEF != 0], boot.estimator_.coef_[COEF != 0], rtol=0.15)
    assert {(s, t) for (s, _), (t, _) in boot.consensus_graph(1.0).edges} >= {
        (f"x{(i + 1) % 4}", f"x{i}") for i in range(4)
    }
    table = boot.strengths_
    assert set(table["lag"]) == {0}
    assert len(table) == (boot.edge_probability_ > 0).sum()
    assert table["strength"].iloc[0] == 1.0


def test_one_resample_by_hand():
    """Rows of the blocks that each window draws from its own, learned as a series."""
    rows = make_rows()
    learner = TensorSEM(exogenous="blind", window=200, threshold=0.0)
    boot = BlockBootstrap(learner, n_resamples=1, block_length=50, random_state=5).fit(rows)
    blocks = rows.reshape(6, 4, 50, 4)
    chosen = np.floor(make_fractions(5, 0, 0, 24) * 4).astype(int).reshape(6, 4)
    drawn = np.concatenate([blocks[m, chosen[m]].reshape(200, 4) for m in range(6)])
    np.testing.assert_allclose(boot.coef_mean_[0], learner.fit(drawn).coef_, atol=1e-5)


def test_a_resample_leaves_the_learner_as_it_is():
    """Threads share it."""
    rows = make_rows()
    learner = TensorSEM(exogenous="blind", window=200).fit(rows)
    resampler, arrays = EquationsResampler.from_panel(learner, learner._open(rows), 20)
    before = set(vars(resampler.learner))
    first = resampler.solve(arrays, 0, 3)[1]
    assert set(vars(resampler.learner)) == before
    np.testing.assert_array_equal(resampler.solve(arrays, 0, 3)[1], first)


@pytest.mark.slow
def test_standard_errors_are_those_of_the_likelihood():
    boot = BlockBootstrap(TensorSEM(exogenous="blind", window=200, threshold=0.0), n_resamples=100).fit(make_rows())
    off = ~np.eye(4, dtype=bool)
    ratios = boot.standard_errors_[0][off] / boot.estimator_.standard_errors_[off]
    assert 0.75 < np.exp(np.log(ratios).mean()) < 1.25


@pytest.mark.parametrize(
    ("options", "text"),
    [({"exogenous": "known"}, "has no powers"), ({"window": 6}, "window 0 has 6 rows, of which a resample draws 4")],
)
def test_bad_input(options, text):
    with pytest.raises(ValueError, match=text):
        BlockBootstrap(TensorSEM(**{"exogenous": "blind", "window": 200, **options})).fit(make_rows())
