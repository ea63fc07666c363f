"""Mixed tables whose scores were computed by bnlearn and pybnesian."""

import numpy as np
import pandas as pd

#: The graphs that were scored.
MIXED_ARCS = [tuple(arc) for arc in ("RS", "ST", "RX", "SY", "XY", "SZ", "TZ", "XZ", "YZ")]
IRIS_ARCS = [("K", v) for v in ("SL", "SW", "PL", "PW")] + [("SL", "SW"), ("SL", "PL"), ("PL", "PW"), ("SW", "PW")]


def six_columns():
    """Return 800 rows of three discrete columns, R, S and T, and three continuous ones, X, Y and Z."""
    rng = np.random.default_rng(12)
    n = 800
    u, noise = rng.random((n, 3)), rng.normal(size=(n, 3))
    r = (u[:, 0] < 0.4).astype(int)
    s = (u[:, 1][:, None] > np.array([[0.5, 0.8], [0.2, 0.6]])[r]).sum(1)
    t = (u[:, 2] < np.array([0.2, 0.5, 0.8])[s]).astype(int)
    x = np.array([-1.0, 1.5])[r] + np.array([1.0, 0.5])[r] * noise[:, 0]
    y = np.array([0.0, 1.0, -1.0])[s] + np.array([0.5, -0.5, 1.0])[s] * x + np.array([1.0, 0.7, 0.4])[s] * noise[:, 1]
    slope = np.array([[0.3, -0.3], [0.6, 0.0], [0.0, -0.9]])
    z = 0.8 * x + slope[s, t] * y + np.array([1.0, 0.6])[t] * noise[:, 2]
    states = {name: pd.Categorical(codes.astype(str)) for name, codes in zip("RST", (r, s, t), strict=True)}
    return pd.DataFrame({**states, "X": x, "Y": y, "Z": z})


def iris():
    """Return the iris table of scikit-learn, the species as the last column."""
    from sklearn.datasets import load_iris

    bunch = load_iris()
    frame = pd.DataFrame(bunch.data, columns=["SL", "SW", "PL", "PW"])
    names = list(bunch.target_names)
    return frame.assign(K=pd.Categorical(bunch.target_names[bunch.target], categories=names))


def keep_few(frame, k):
    """Return the rows of `six_columns` with the first k only of those where S is 2 and T is 0."""
    few = ((frame["S"] == "2") & (frame["T"] == "0")).to_numpy()
    return frame[~few | (np.cumsum(few) <= k)].reset_index(drop=True)


def parents_of(frame, arcs):
    """Return the parents of each column as tuples."""
    return {name: tuple(tail for tail, head in arcs if head == name) for name in frame}
