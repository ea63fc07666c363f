"""Every learner and wrapper under the limits of its surroundings: bars that show nothing, no threads, no time."""

import threading
from io import StringIO

import pytest
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from tqdm.auto import tqdm

from helpers.all_learners import make_cases, summarise
from helpers.interpreter import run_python
from pgmx.plotting.reports.facts import read_figures
from pgmx.runs.progress import ProgressBar

CASES = make_cases()
every_case = pytest.mark.parametrize("name", CASES)
pytestmark = pytest.mark.filterwarnings(
    "ignore::pgmx.estimators.IdentifiabilityWarning",
    "ignore::sklearn.exceptions.ConvergenceWarning",
    "ignore:the smallest of",
    "ignore:selection=.* chose the smallest of",
    "ignore:exogenous=",
)


@pytest.fixture(scope="module")
def expected():
    """The edges that a case has without limits, learned once."""
    found = {}

    def learn(name):
        if name not in found:
            found[name] = summarise(learn_case(name, show_progress=False))
        return found[name]

    return learn


def learn_case(name, **options):
    """Return the learner of a case, fitted under options that it or its inner learners have."""
    case = CASES[name]
    learner = clone(case.learner)
    known = learner.get_params()
    given = {key: options[key.split("__")[-1]] for key in known if key.split("__")[-1] in options}
    return learner.set_params(**given).fit(case.table)


# ---- progress bars ----


class Broken(StringIO):
    """A stream whose reader has gone."""

    def write(self, text):
        raise BrokenPipeError(32, "Broken pipe")


@pytest.fixture
def at_each_step(monkeypatch):
    """Bars appear at once, as those of runs of more than a second do."""
    monkeypatch.setattr(ProgressBar, "DELAY", -1.0)
    monkeypatch.setattr(ProgressBar, "INTERVAL", 0.0)


@every_case
def test_a_bar_that_is_disabled(name, expected, at_each_step, monkeypatch):
    class Disabled(tqdm):
        def __init__(self, *arguments, **options):
            super().__init__(*arguments, **{**options, "disable": True})  # TQDM_DISABLE=1 does no more

    monkeypatch.setattr("tqdm.auto.tqdm", Disabled)
    assert summarise(learn_case(name, show_progress=True)) == expected(name)


@pytest.mark.parametrize("name", ["SimulatedAnnealing 300", "GraftingLight", "SelectedGraph CLIME cv"])
@pytest.mark.parametrize("kind", ["closed", "none", "broken"])
def test_a_bar_that_cannot_be_written(name, kind, expected, at_each_step, monkeypatch):
    stream = {"closed": StringIO(), "none": None, "broken": Broken()}[kind]
    if kind == "closed":
        stream.close()
    monkeypatch.setattr("sys.stderr", stream)
    assert summarise(learn_case(name, show_progress=True)) == expected(name)


def test_a_bar_that_is_closed_meanwhile(expected, at_each_step, monkeypatch):
    bars = []

    class Closed(tqdm):
        def __init__(self, *arguments, **options):
            super().__init__(*arguments, **options)
            bars.append(self)

        def update(self, n=1):
            self.close()
            return super().update(n)

    monkeypatch.setattr("tqdm.auto.tqdm", Closed)
    name = "SimulatedAnnealing 300"
    assert summarise(learn_case(name, show_progress=True)) == expected(name)
    assert bars


@pytest.mark.slow
def test_the_switch_of_tqdm_itself():
    code = (
        "from pgmx.runs.progress import ProgressBar; ProgressBar.DELAY = -1.0\n"
        "from pgmx.datasets import load_network, sample\n"
        "from pgmx.estimators import SimulatedAnnealing\n"
        "learner = SimulatedAnnealing(n_draws=500).fit(sample(load_network('asia'), 200, random_state=0))\n"
        "print(learner.stopped_by_)"
    )
    done = run_python("-W", "error::RuntimeWarning", "-c", code, TQDM_DISABLE="1")
    assert (done.returncode, done.stdout.strip(), done.stderr) == (0, "converged", "")


@pytest.mark.parametrize(
    "name", ["SelectedGraph CLIME cv", "SelectedGraph GraphicalLasso stars", "EM of states", "EM of mixed data"]
)
def test_counts_of_a_bar(name, at_each_step, monkeypatch):
    """No bar counts less than nothing, has a negative rate, or ends before the end of a run that converged."""
    seen = []

    class Watched(tqdm):
        def update(self, n=1):
            super().update(n)
            facts = self.format_dict
            seen.append((facts["n"], facts["initial"], facts["total"]))

    monkeypatch.setattr("tqdm.auto.tqdm", Watched)
    learn_case(name, show_progress=True)
    assert seen
    assert all(0 <= initial <= n for n, initial, _ in seen)
    assert seen[-1][2] in (None, seen[-1][0])


# ---- threads ----


@every_case
@pytest.mark.parametrize("n_more", [0, pytest.param(1, marks=pytest.mark.slow)])
def test_no_further_thread_can_be_started(name, n_more, expected, monkeypatch):
    if "n_jobs" not in {key.split("__")[-1] for key in CASES[name].learner.get_params()}:
        pytest.skip("has one thread")
    for constant in ("THREAD_PAYS", "HELPER_CALL", "HELPER_PAYS"):  # so that small tasks are worth a thread
        monkeypatch.setattr(f"pgmx.parallel.threads.{constant}", 1e-9)
    start, n_started = threading._start_new_thread, []

    def start_or_fail(*arguments):
        n_started.append(1)
        if len(n_started) > n_more:
            raise RuntimeError("can't start new thread")
        return start(*arguments)

    monkeypatch.setattr("threading._start_new_thread", start_or_fail)
    assert summarise(learn_case(name, show_progress=False, n_jobs=3)) == expected(name)


# ---- time ----


#: Most readings of the clock that a learner may take after its time is over, to come to an end.
MOST_READINGS = 20

every_limited_case = pytest.mark.parametrize(
    "name",
    [name for name, (learner, _) in CASES.items() if any(key.endswith("max_time") for key in learner.get_params())],
)


@pytest.fixture
def clock(monkeypatch):
    """A clock that advances by a second with each reading; returns the number of readings."""
    readings = [0]

    def read():
        readings[0] += 1
        return float(readings[0])

    monkeypatch.setattr("pgmx.runs.run.perf_counter", read)
    for module in ("pgmx.runs.run", "pgmx.parallel.tasks"):
        monkeypatch.setattr(f"{module}.time", lambda: float(readings[0]))
    return readings


@every_limited_case
def test_time_that_is_over_from_the_start(name):
    learner = learn_case(name, show_progress=False, max_time=0)
    assert learner.graph_ is not None
    assert learner.stopped_by_ in ("max_time", "converged")


@every_limited_case
def test_time_that_ends_in_the_middle(name, clock):
    learn_case(name, show_progress=False)
    limit, clock[0] = clock[0] // 2, 0
    learner = learn_case(name, show_progress=False, max_time=limit)
    assert clock[0] <= limit + MOST_READINGS
    assert learner.stopped_by_ in ("max_time", "converged")
    assert learner.graph_ is not None


@pytest.mark.parametrize(
    ("outer", "inner"),
    [
        ("SelectedGraph GraphicalLasso ebic", {"estimator__max_time": 30}),
        ("SelectedGraph Nonparanormal", {"estimator__estimator__max_time": 30}),
        ("Nonparanormal SelectedGraph", {"estimator__estimator__max_time": 30}),
        ("SelectedGraph series ebic", {"estimator__max_time": 10}),
        ("SelectedGraph series bic", {"estimator__max_time": 30}),
    ],
)
def test_a_limit_of_the_estimator_limits_the_whole(outer, inner, clock):
    learner = clone(CASES[outer].learner).set_params(**inner)
    learner.fit(CASES[outer].table)
    # each of the five penalties of an autoregression takes a first step
    more = 5 if outer == "SelectedGraph series bic" else 0
    assert clock[0] <= max(inner.values()) + MOST_READINGS + 5 * more


def test_resamples_that_are_cut_short_do_not_count(clock):
    whole = learn_case("BootstrapStructure GraphicalLasso", show_progress=False)
    limit, clock[0] = clock[0] // 2, 0
    learner = learn_case("BootstrapStructure GraphicalLasso", show_progress=False, max_time=limit)
    assert 0 < learner.n_resamples_ < whole.n_resamples_
    assert not learner.converged_
    first = learn_case("BootstrapStructure GraphicalLasso", show_progress=False, n_resamples=learner.n_resamples_)
    assert learner.strengths_.equals(first.strengths_)


def test_one_resample_that_is_cut_short_is_said():
    learner = clone(CASES["BootstrapStructure HillClimbSearch"].learner).set_params(max_time=0)
    with pytest.warns(ConvergenceWarning, match="max_time=0 ended BootstrapStructure .* one resample"):
        learner.fit(CASES["BootstrapStructure HillClimbSearch"].table)
    assert learner.n_resamples_ == 1
    assert learner.stopped_by_ == "max_time"


def test_seconds_are_those_of_the_whole_fit():
    """Reading counts, and so does what follows the last call of the callback."""
    learner = learn_case("SelectedGraph GraphicalLasso stars", show_progress=False)
    seconds = learner.history_["seconds"]
    assert (seconds[1:] >= seconds[:-1]).all()
    assert seconds[-1] <= learner._fit_seconds
    assert learner.history_["n_edges"][-1] == len(learner.edges_)


def test_seconds_that_are_shown_are_those_of_the_whole_fit(clock):
    learner = learn_case("SelectedGraph GraphicalLasso stars", show_progress=False)
    shown = dict(map(tuple, read_figures(learner)[0]))["seconds"]
    assert clock[0] - 3 <= shown <= clock[0]  # the clock began at 1
    assert learner.history_["seconds"][0] >= 1  # after the data were read
