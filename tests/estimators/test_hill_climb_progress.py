"""The bar: only for long runs, on standard error, without a total; nothing ever on standard output."""

import pytest
from pgmpy import config

from helpers.learning_tables import dependent_frame, gaussian_frame
from pgmx.estimators import HillClimbSearch
from pgmx.runs.progress import SearchProgress
from pgmx.runs.run import ProgressBar


@pytest.fixture
def at_once(monkeypatch):
    """Every run counts as a long one."""
    monkeypatch.setattr(ProgressBar, "DELAY", -1.0)


@pytest.fixture
def pgmpy_bars():
    """Pgmpy's switch, set back after the test."""
    yield config
    config.set_show_progress(True)


def output_of(capfd, **options):
    HillClimbSearch(**options).fit(dependent_frame(0))
    return capfd.readouterr()


def test_short_runs_are_silent(capfd):
    assert output_of(capfd) == ("", "")
    HillClimbSearch().fit(gaussian_frame(0))
    assert capfd.readouterr() == ("", "")


def test_long_runs_show_a_bar_on_standard_error(capfd, at_once):
    out, err = output_of(capfd)
    assert out == ""
    assert "HillClimbSearch" in err
    assert "moves" in err
    assert "score=" in err
    assert "edges=" in err


def test_bar_has_no_total(capfd, at_once):
    _, err = output_of(capfd)
    assert "%" not in err  # tqdm shows a percentage wherever it knows a total
    assert "/1000000" not in err


def test_bar_counts_the_moves(capfd, at_once):
    learner = HillClimbSearch().fit(dependent_frame(0))
    _, err = capfd.readouterr()
    assert f"{learner.n_iter_} moves" in err


def test_bar_comes_with_the_first_move_after_a_second(capfd):
    with ProgressBar(True, None, "HillClimbSearch") as watcher:
        for n_iter, seconds in enumerate([0.2, 0.9, 1.1, 1.2], start=1):
            watcher.callback(SearchProgress(n_iter, -1.0, n_iter, seconds))
            shown = capfd.readouterr()
            assert shown.out == ""
            assert bool(shown.err) <= (seconds > 1.0)
    assert "4 moves" in capfd.readouterr().err


def test_show_progress_false(capfd, at_once):
    assert output_of(capfd, show_progress=False) == ("", "")


def test_pgmpy_switch_silences(capfd, at_once, pgmpy_bars):
    pgmpy_bars.set_show_progress(False)
    assert output_of(capfd, show_progress=True) == ("", "")
    pgmpy_bars.set_show_progress(True)
    assert output_of(capfd, show_progress=True).err


def test_bar_is_closed_when_the_callback_fails_or_stops(capfd, at_once):
    def fail(progress):
        if progress.n_iter == 3:
            raise RuntimeError("enough")

    with pytest.raises(RuntimeError, match="enough"):
        HillClimbSearch(callback=fail).fit(dependent_frame(0))
    assert capfd.readouterr().err.endswith("\n")
    HillClimbSearch(callback=lambda progress: progress.n_iter == 2).fit(dependent_frame(0))
    out, err = capfd.readouterr()
    assert out == ""
    assert err.endswith("\n")


def test_callback_is_called_with_and_without_a_bar(at_once):
    for show_progress in (True, False):
        seen = []
        learner = HillClimbSearch(show_progress=show_progress, callback=seen.append).fit(dependent_frame(0))
        assert len(seen) == learner.n_iter_
