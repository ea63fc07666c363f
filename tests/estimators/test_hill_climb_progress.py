"""The bar: only for long runs, on standard error, its end estimated in climbs; nothing ever on standard output."""

import re

import pytest
from pgmpy import config

from helpers.learning_tables import dependent_frame, gaussian_frame
from pgmx.estimators import MMHC, HillClimbSearch, HybridSearch, MarkovBlanket
from pgmx.runs.progress import ProgressBar, SearchProgress


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


def test_tests_of_independence_show_a_bar_as_well(capfd, at_once, pgmpy_bars):
    frame = dependent_frame(0)
    search = HillClimbSearch(show_progress=False)
    for learner, title in (
        (MarkovBlanket(), "MarkovBlanket: 100%"),
        (MMHC(), "MMHC, tests: 1 levels"),
        (HybridSearch(HillClimbSearch(), restrict="iamb"), "HybridSearch, tests: 1 variables"),
    ):
        learner.fit(frame)
        _, err = capfd.readouterr()
        assert title in err and re.search(r"n_tests=\d+\D", err) and ".0000" not in err
    for quiet in (MarkovBlanket(show_progress=False), HybridSearch(search, restrict="iamb")):
        quiet.fit(frame)
    config.set_show_progress(False)
    MMHC().fit(frame)
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize("options", [{"strategy": "thorough"}, {"patience": 3}])
def test_bar_has_no_total_where_nothing_estimates_it(capfd, at_once, options):
    _, err = output_of(capfd, **options)
    assert "%" not in err  # tqdm shows a percentage wherever it knows a total
    assert "/1000000" not in err


def test_bar_of_a_climb_shows_how_much_is_left(capfd, at_once, monkeypatch):
    monkeypatch.setattr(ProgressBar, "INTERVAL", 0.0)
    learner = HillClimbSearch().fit(dependent_frame(0))
    shown = re.findall(r"(\d+)/(\d+) \[", capfd.readouterr().err)
    assert [int(done) for done, _ in shown][:1] == [1]
    assert shown[-1] == (f"{learner.n_iter_}",) * 2  # nothing improves any more
    totals = [int(total) for _, total in shown]
    assert len(set(totals)) > 1  # it follows the additions that improve
    assert max(totals) <= 2 * learner.n_iter_
    HillClimbSearch(max_iter=3).fit(dependent_frame(0))
    assert {total for _, total in re.findall(r"(\d+)/(\d+) \[", capfd.readouterr().err)} == {"3"}


def test_bar_counts_the_moves(capfd, at_once):
    learner = HillClimbSearch().fit(dependent_frame(0))
    _, err = capfd.readouterr()
    assert f"{learner.n_iter_}/{learner.n_iter_} [" in err


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
