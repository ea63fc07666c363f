"""Cases of numbers as ordered categories."""

from typing import Any

import numpy as np

from pgmx.data import Discretizer, discretize
from tests.fuzz.calls import Wrong, enter_calls
from tests.fuzz.cases import chance, pick
from tests.fuzz.frames import draw_numbers


def draw_rows(rng: np.random.Generator) -> dict[str, Any]:
    """Return numbers, some missing, some as whole numbers, and options."""
    frame = draw_numbers(rng)
    if chance(rng, 0.3):
        frame = frame.mask(rng.random(frame.shape) < 0.2)
    if chance(rng, 0.2):
        frame = frame.round()
    arguments: dict[str, Any] = {"frame": frame, "method": pick(rng, ["quantile", "interval", "kmeans", "hartemink"])}
    if chance(rng, 0.5):
        arguments["n_bins"] = int(rng.integers(2, 9))
    if chance(rng, 0.3):
        arguments["n_initial_bins"] = int(rng.integers(9, 30))
    return arguments


def check_bins(result: Any, arguments: dict[str, Any]) -> None:
    """Missing values stay missing, order is kept, and new rows get the same bins."""
    categories, fitted = result
    frame, most = arguments["frame"], arguments.get("n_bins", 5)
    assert isinstance(fitted, Discretizer)
    for name in frame:
        cells, codes = frame[name].to_numpy(), categories[name].cat.codes.to_numpy()
        edges = fitted.bin_edges_[name]
        assert np.array_equal(codes < 0, np.isnan(cells))
        known = codes >= 0
        order = np.argsort(cells[known])
        assert (np.diff(codes[known][order]) >= 0).all(), name
        assert len(edges) - 1 == len(fitted.categories_[name]) <= most
        assert (codes[known] == np.searchsorted(edges[1:-1], cells[known], side="right")).all()
    assert fitted.transform(frame[::-1])[::-1].equals(categories)


enter_calls(
    "data.discretize",
    discretize,
    draw_rows,
    check_bins,
    {
        "method": Wrong(("mdl", None, 3)),
        "n_bins": Wrong((1, 0, -3, "x", None, 2.5, 256, {"no such column": 3})),
        "columns": Wrong((["no such column"], "a", 3)),
        "frame": Wrong(
            (lambda frame: frame[:0], lambda frame: frame.assign(z=np.inf), lambda frame: frame.iloc[:, :0]),
            ("sample(s)", "'z'", "columns"),
        ),
    },
    weight=2.0,
)
