"""Searches killed with SIGKILL at any moment, again and again, end where an uninterrupted one does."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[1] / "helpers" / "killed_search.py"


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.parametrize("strategy", ["thorough", "annealing", "best first"])
def test_killed_at_any_moment(tmp_path, seed, strategy):
    path = tmp_path / "search.ckpt"
    done = subprocess.run(
        [sys.executable, str(SCRIPT), str(path), strategy, str(seed), "8"],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert told["taken_up"] >= 1
    assert told["result"] == told["whole"]
    assert told["whole"]["converged"]
    # a process that is killed while it writes leaves its part behind: nobody else knows that name
    assert [name for name in os.listdir(tmp_path) if not name.startswith(".pgmx-")] == []
