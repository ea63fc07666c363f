"""Ctrl-C and SIGTERM: what there is is written, the exit status says so, and no process is left."""

import os
import signal
import threading
from pathlib import Path

import pytest

from helpers.command_line import pgmx
from helpers.processes import start_child, wait_for_child
from pgmx.cli import main
from pgmx.datasets import load_network, sample
from pgmx.estimators import BootstrapStructure, EdgeGrafting, GraphicalLasso, HillClimbSearch


def interrupting(method):
    """Return a method after which Ctrl-C comes."""

    def interrupted(*arguments, **options):
        method(*arguments, **options)
        raise KeyboardInterrupt

    return interrupted


def fit_and_interrupt(cls, monkeypatch):
    fit = cls.fit

    def interrupted(self, *arguments):
        fit(self, *arguments)
        self.stopped_by_, self.converged_ = "interrupt", False
        raise KeyboardInterrupt

    monkeypatch.setattr(cls, "fit", interrupted)


@pytest.mark.parametrize(
    ("cls", "options", "out"),
    [
        (HillClimbSearch, [], "weather.bif"),
        (EdgeGrafting, ["--method", "edge-grafting"], "weather.uai"),
    ],
)
def test_the_best_so_far_is_reported_and_written(cls, options, out, weather, monkeypatch):
    fit_and_interrupt(cls, monkeypatch)
    result = pgmx("learn", weather, "--out", out, *options)
    assert (result.exit_code, result.stderr) == (130, "Interrupted: the best result so far is reported and written\n")
    assert "edges" in result.stdout
    assert Path(out).exists()


def test_numbers_and_resamples_too(weather, floats, monkeypatch):
    fit_and_interrupt(GraphicalLasso, monkeypatch)
    fit_and_interrupt(BootstrapStructure, monkeypatch)
    for arguments in (
        ("learn", floats, "--method", "glasso", "--out", "floats.json"),
        ("bootstrap", weather, "--resamples", 3, "--out", "strengths.csv"),
    ):
        result = pgmx(*arguments)
        assert (result.exit_code, result.stderr.count("\n")) == (130, 1), result.output
        assert Path(arguments[-1]).exists()


def test_before_there_is_a_result(weather, monkeypatch):
    monkeypatch.setattr(HillClimbSearch, "fit", interrupting(lambda *_: None))
    result = pgmx("learn", weather, "--out", "weather.bif")
    assert (result.exit_code, result.stdout) == (130, "")
    assert result.stderr == "Interrupted before there was a result\n"
    assert not Path("weather.bif").exists()


def run_with_signal(number, status, *arguments):
    """Run the command line in this process, which gets a signal soon after a search began; check how it ends."""
    search = HillClimbSearch._search

    def begin(self, *parts):
        threading.Timer(0.5, os.kill, (os.getpid(), number)).start()
        search(self, *parts)

    HillClimbSearch._search = begin
    with pytest.raises(SystemExit) as ended:
        main([str(argument) for argument in arguments], prog_name="pgmx")
    assert ended.value.code == status


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.parametrize("n_jobs", [1, pytest.param(2, marks=pytest.mark.slow)])
def test_the_signals_themselves(n_jobs, workdir):
    sample(load_network("alarm"), 1000, random_state=0).to_csv("alarm.csv", index=False)
    options = ("--strategy", "thorough", "--restarts", 10**6, "--n-jobs", n_jobs, "--checkpoint", "run.ckpt")
    for number, status in ((signal.SIGINT, 130), (signal.SIGTERM, 143)):
        wait_for_child(
            start_child(run_with_signal, number, status, "learn", "alarm.csv", "--out", f"{number}.bif", *options)
        )
        assert Path("run.ckpt").exists()  # of the interrupted run; the terminated one leaves the last good one
    assert sorted(path.name for path in Path().glob("*.bif")) == [f"{signal.SIGINT}.bif"]
    assert list(Path().glob(".pgmx-*")) == []
