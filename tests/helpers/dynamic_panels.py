"""Panels of discrete variables that follow each other."""

import numpy as np
import pandas as pd


def draw_panel(seed=0, n_groups=6, n_times=40, n_states=3):
    """Return a panel in which b follows a, and c follows b and the static column of its group."""
    rng = np.random.default_rng(seed)
    groups = []
    for key in range(n_groups):
        rows = rng.integers(0, n_states, (n_times, 3))
        static = int(rng.integers(0, 2))
        for t in range(1, n_times):
            if rng.random() < 0.8:
                rows[t, 1] = rows[t - 1, 0]
            if rng.random() < 0.8:
                rows[t, 2] = (rows[t, 1] + static) % n_states
        groups.append(pd.DataFrame(rows, columns=list("abc")).assign(s=static, id=f"g{key}", t=np.arange(n_times)))
    return pd.concat(groups, ignore_index=True)
