"""Tables in files, and a working directory of its own for every test."""

import numpy as np
import pandas as pd
import pytest


@pytest.fixture(autouse=True)
def workdir(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def weather(tmp_path):
    rng = np.random.default_rng(4)
    season = rng.integers(0, 4, 600)
    rain = rng.random(600) < np.array([0.6, 0.3, 0.1, 0.5])[season]
    wet = np.where(rng.random(600) < 0.95, rain, ~rain)
    frame = pd.DataFrame(
        {"season": season, "rain": np.where(rain, "yes", "no"), "coin": rng.integers(0, 2, 600), "wet": wet}
    )
    path = tmp_path / "weather.csv"
    frame.to_csv(path, index=False)
    return path


@pytest.fixture
def floats(tmp_path):
    rng = np.random.default_rng(5)
    a = rng.normal(size=300)
    frame = pd.DataFrame({"a": a, "b": a + rng.normal(size=300), "c": rng.normal(size=300)})
    path = tmp_path / "floats.parquet"
    frame.to_parquet(path)
    return path
