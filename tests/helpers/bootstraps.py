"""Short bootstraps, and whether two of them found the same."""

import numpy as np
import pandas as pd

from pgmx.estimators import BootstrapStructure


def boot(estimator=None, n_resamples=12, **options):
    return BootstrapStructure(estimator, n_resamples=n_resamples, show_progress=False, **options)


def same(one, other):
    pd.testing.assert_frame_equal(one.strengths_, other.strengths_, check_exact=True)
    assert np.array_equal(one.pair_counts_, other.pair_counts_)
    assert np.array_equal(one.edges_, other.edges_)
    assert one.threshold_ == other.threshold_
    return True
