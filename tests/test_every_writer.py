"""Whatever pgmx writes: a full disk leaves the old file and nothing else, a planted link is replaced, not followed."""

import errno
import os
import random
import re
import resource
import tempfile
from contextlib import redirect_stderr
from functools import cache
from io import StringIO

import click
import numpy as np
import pandas as pd
import pytest
from pgmpy.factors.discrete import DiscreteFactor
from pgmpy.models import DiscreteMarkovNetwork

from helpers.command_line import pgmx
from helpers.learning_tables import dependent_frame
from pgmx.cli import main
from pgmx.cli.console import user_errors
from pgmx.data import encode, open_table, write_table
from pgmx.datasets import chain_network, gaussian_chain_network
from pgmx.estimators import GraphicalLasso, HillClimbSearch, OnlineEdgeGrafting
from pgmx.models import LinearDynamicalSystem, save_gaussian_network, save_markov_network, save_model
from pgmx.parallel.tasks import MOST_SENT_BYTES, SharedArrays, make_sendable
from pgmx.plotting import save_picture, save_report
from tests.fuzz.model_files import lagged, system
from tests.helpers.processes import is_killed, run_in_child

LIMIT = 60  # bytes
STATES = dependent_frame(0)


@cache
def fitted():
    return HillClimbSearch().fit(STATES)


def run_command(*arguments):
    """Run the command line; raise what it prints as an error."""
    result = pgmx(*arguments)
    if result.exit_code:
        assert result.exit_code == 2, result.output
        raise OSError(0, result.stderr)


def learn(*arguments):
    run_command("learn", "states.pgmx", *arguments)


def of_three():
    model = DiscreteMarkovNetwork([("a", "b"), ("b", "c"), ("a", "c")])
    model.add_factors(DiscreteFactor(["a", "b", "c"], [2, 2, 2], range(8)))
    return model


def write_in_pieces(path):
    write_table((STATES[i : i + 50] for i in range(0, len(STATES), 50)), path)


WRITERS = {
    **{
        f"a.{suffix}": lambda path: save_model(fitted().model_, path)
        for suffix in ("bif", "xmlbif", "net", "xdsl", "bif.gz", "json", "graphml")
    },
    **{f"m.{suffix}": lambda path: save_model(chain_network(4), path) for suffix in ("npz", "uai", "json", "graphml")},
    **{f"f.{suffix}": lambda path: save_model(of_three(), path) for suffix in ("uai", "json")},
    **{
        f"g.{suffix}": lambda path: save_model(gaussian_chain_network(4), path) for suffix in ("npz", "json", "graphml")
    },
    **{f"l.{suffix}": lambda path: save_model(lagged(), path) for suffix in ("json", "graphml")},
    "system.npz": lambda path: save_model(system(False), path),
    "answer.MAR": lambda path: run_command("infer", "alarm", "--task", "MAR", "--out", path),
    "markov.npz": lambda path: save_markov_network(chain_network(4), path),
    "gaussian.npz": lambda path: save_gaussian_network(gaussian_chain_network(4), path),
    "graph.json": lambda path: save_model(fitted().graph_, path),
    "t.pgmx": lambda path: write_table(STATES, path),
    "pieces.pgmx": write_in_pieces,
    "p.svg": lambda path: save_picture(fitted().graph_, path),
    "p.png": lambda path: save_picture(fitted().graph_, path),
    "r.html": lambda path: save_report(fitted(), path),
    "out.bif": lambda path: learn("--out", path),
    "out.json": lambda path: learn("--out", path),
    "out.xdsl.gz": lambda path: learn("--out", path),
    "converted.net": lambda path: run_command("convert", "asia", path),
    "plot.svg": lambda path: learn("--plot", path),
    "report.html": lambda path: learn("--report", path),
    "history.png": lambda path: learn("--plot-history", path),
    "filled.csv": lambda path: run_command("predict", "asia", "rows.csv", "--out", path),
    "filled.parquet": lambda path: run_command("predict", "asia", "rows.csv", "--out", path),
    "forecast.csv": lambda path: run_command("forecast", "pair.npz", "pair.csv", "--steps", 9, "--out", path),
    "strengths.csv": lambda path: run_command("bootstrap", "states.pgmx", "--resamples", 2, "--out", path),
}
USUAL = ("m.npz", "t.pgmx", "pieces.pgmx", "out.json", "strengths.csv")
every_writer = pytest.mark.parametrize(
    "name", [name if name in USUAL else pytest.param(name, marks=pytest.mark.slow) for name in WRITERS]
)


@pytest.fixture(autouse=True)
def files_elsewhere(tmp_path, monkeypatch):
    """Give each test a folder for what its commands read, next to the one that it looks at."""
    (tmp_path / "work").mkdir()
    monkeypatch.chdir(tmp_path / "work")
    STATES.to_csv("states.csv", index=False)
    write_table(STATES, "states.pgmx")
    pd.DataFrame({"x": [1.0, 2.0], "y": [2.0, 1.0]}).to_csv("pair.csv", index=False)
    pd.DataFrame({"smoke": ["yes", "no"], "xray": ["no", None]}).to_csv("rows.csv", index=False)
    save_model(LinearDynamicalSystem(["x", "y"], np.eye(2) / 2), "pair.npz")


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "folder").mkdir()
    return tmp_path / "folder"


@every_writer
def test_a_full_disk(folder, name):
    path = folder / name
    path.write_bytes(b"old")
    fitted()  # what a child would learn again

    def write():
        resource.setrlimit(resource.RLIMIT_FSIZE, (LIMIT, resource.RLIM_INFINITY))
        with pytest.raises(OSError, match="the old file is unchanged") as caught:
            WRITERS[name](path)
        assert str(path) in str(caught.value)

    run_in_child(write)
    assert path.read_bytes() == b"old"
    assert [file.name for file in folder.iterdir()] == [name]


def read_back(path):
    """Return what a file holds in a form that can be compared, whatever its kind."""
    return open_table(path, verify=True) if path.suffix == ".pgmx" else path.read_bytes()


def test_a_full_disk_for_temporary_files(monkeypatch, folder):
    monkeypatch.setattr(tempfile, "tempdir", str(folder))

    def read():
        resource.setrlimit(resource.RLIMIT_FSIZE, (LIMIT, resource.RLIM_INFINITY))
        for work in (lambda: encode("states.csv"), lambda: run_command("learn", "states.csv")):
            with pytest.raises(OSError, match=rf"File too large; temporary .* TMPDIR names: '{folder}/pgmx-"):
                work()

    run_in_child(read)
    assert list(folder.iterdir()) == []


def fit_in_pieces():
    """Fit fewer rows than columns that come in chunks: they are stored, and a factor of their correlations."""
    rows = np.random.default_rng(0).normal(size=(30, 40))
    GraphicalLasso(lam_ratio=0.9).fit(pd.DataFrame(rows[i : i + 10]) for i in range(0, 30, 10))


def send_arrays():
    arrays = SharedArrays(rows=np.ones((2, MOST_SENT_BYTES)))
    with make_sendable(arrays, shared=False):
        pass


@pytest.mark.parametrize(("work", "limit"), [(fit_in_pieces, 600), (fit_in_pieces, 9650), (send_arrays, 600)])
def test_a_full_disk_for_temporary_arrays(monkeypatch, folder, work, limit):
    """The store of rows, the factor (its header is beyond the limit), and what workers are to read."""
    monkeypatch.setattr(tempfile, "tempdir", str(folder))

    def run():
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, resource.RLIM_INFINITY))
        with pytest.raises(OSError, match=rf"; temporary files are in .* TMPDIR names: '{folder}"):
            work()

    run_in_child(run)
    assert list(folder.iterdir()) == []


def test_a_disk_without_room_for_a_mapped_array(monkeypatch, folder):
    """A page without room ended the process by SIGBUS: room is asked for first."""

    def refuse(*arguments):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    monkeypatch.setattr(os, "posix_fallocate", refuse)
    with pytest.raises(OSError, match=rf"No space left on device; .* TMPDIR names: '{folder}/pgmx-.*factor.npy"):
        fit_in_pieces()
    assert list(folder.iterdir()) == []


def test_a_command_warns_of_a_checkpoint_that_a_full_disk_does_not_take(folder):
    def learn():
        resource.setrlimit(resource.RLIMIT_FSIZE, (LIMIT, resource.RLIM_INFINITY))
        with click.Context(main), redirect_stderr(StringIO()) as shown, user_errors():
            HillClimbSearch(checkpoint=folder / "run.npz", checkpoint_every=0, show_progress=False).fit(STATES)
        assert re.match(r"Warning: checkpoint=.*run.npz.* cannot be written .*: the run continues", shown.getvalue())

    run_in_child(learn)
    assert list(folder.iterdir()) == []


@every_writer
def test_a_planted_link(folder, name):
    victim, path = folder / "victim", folder / name
    victim.write_bytes(b"precious")
    for planted in (path, folder / f"{name}.tmp", folder / f".{name}.tmp"):
        planted.symlink_to(victim)
    WRITERS[name](path)
    assert victim.read_bytes() == b"precious"
    assert not path.is_symlink()
    assert read_back(path) != b"precious"
    assert len(list(folder.iterdir())) == 4


@pytest.mark.parametrize("learner", [HillClimbSearch(), OnlineEdgeGrafting()], ids=repr)
def test_a_planted_link_for_a_checkpoint(folder, learner):
    victim, path = folder / "victim", folder / "run.npz"
    victim.write_bytes(b"precious")
    for planted in (folder / "run.npz.tmp", folder / ".run.npz.tmp"):
        planted.symlink_to(victim)

    def plant(progress):
        path.unlink(missing_ok=True)
        path.symlink_to(victim)

    learner.set_params(checkpoint=path, checkpoint_every=0, show_progress=False, callback=plant).fit(STATES)
    assert victim.read_bytes() == b"precious"
    assert len(list(folder.iterdir())) == 3


# ---- a process that is killed while it writes ----

TABLES = [encode(pd.DataFrame(np.random.default_rng(k).integers(0, 3, (20_000, 4)))) for k in range(2)]
MODELS = [chain_network(400, random_state=k) for k in range(2)]


def write_for_ever(write, values, path):
    while True:
        for value in values:
            write(value, path)


def kill_writer(folder, kind, n_kills, draws):
    write, values, name = (write_table, TABLES, "t.pgmx") if kind == "write_table" else (save_model, MODELS, "m.npz")
    path = folder / name
    written = []
    for value in values:
        write(value, path)
        written.append(read_back(path))
    for _ in range(n_kills):
        assert is_killed(draws.uniform(0.0, 0.1), write_for_ever, write, values, path)
        assert read_back(path) in written
    assert [file.name for file in folder.iterdir() if not file.name.startswith(".pgmx-")] == [name]


@pytest.mark.parametrize("kind", ["write_table", "save_model"])
def test_a_writer_that_is_killed(folder, kind):
    kill_writer(folder, kind, 2, random.Random(0))


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["write_table", "save_model"])
def test_a_writer_that_is_killed_again_and_again(folder, seed, kind):
    kill_writer(folder, kind, 50, random.Random(seed))
