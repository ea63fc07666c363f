"""EBIC: what the choice of k of p - 1 parents costs, in all forms of the score and in all searches."""

import math
import warnings

import numpy as np
import pandas as pd
import pytest

from helpers.far_tables import Elsewhere, cut, far_scorer
from oracles.subset_networks import best_network_score
from pgmx import scores
from pgmx.data import encode
from pgmx.estimators import GreedyEquivalenceSearch, HillClimbSearch
from pgmx.scores.binding.resolve import resolve_scoring
from pgmx.scores.registry import SCORES
from pgmx.scores.set_sizes import log_choices

QUIET = {"show_progress": False}
rng = np.random.default_rng(0)
NUMBERS = pd.DataFrame(rng.normal(size=(120, 5)), columns=list("abcde"))
NUMBERS["d"] += NUMBERS["a"] - 0.4 * NUMBERS["b"]
NUMBERS["e"] += 0.5 * NUMBERS["d"]
STATES = pd.DataFrame(rng.integers(0, 3, size=(120, 4)), columns=list("uvwx"))
STATES["x"] = np.where(rng.random(120) < 0.6, STATES["u"], STATES["x"])
STATES = STATES.astype(str)
MIXED = pd.concat([NUMBERS.iloc[:, :4], STATES.iloc[:, [0, 3]]], axis=1)
TOTALS = NUMBERS.assign(f=NUMBERS["a"] + NUMBERS["b"] + NUMBERS["c"])  # a column that others determine
DATA = {"discrete": STATES, "continuous": NUMBERS, "mixed": MIXED}
EXTENDED = [entry for entry in SCORES if entry.has_gamma]


def log_sets(n, k):
    return math.lgamma(n + 1) - math.lgamma(k + 1) - math.lgamma(n - k + 1)


def plain_of(entry):
    """Return the score of which `entry` is the extension."""
    return getattr(scores, entry.class_name.removeprefix("E"))


def list_families(names, most=4):
    for child in names[::2]:
        others = [name for name in names if name != child]
        for k in range(min(most, len(others)) + 1):
            yield child, tuple(others[-k:] if k else ())


def bind(name, data, **options):
    from pgmx.data import open_frame

    options = {"state_names": None, "missing": "error", "n_jobs": None} | options
    return resolve_scoring(name, open_frame(data), **options)


def open_source(scoring, allowed=None):
    return scoring.gains(allowed=allowed, max_indegree=None, deadline=math.inf, n_jobs=1)


def test_log_choices_counts_sets():
    for n in (0, 1, 7, 40):
        expected = [math.log(math.comb(n, k)) for k in range(n + 1)]
        assert log_choices(n, np.arange(n + 1)) == pytest.approx(expected, abs=1e-12)
    assert log_choices(4_999, 3) == pytest.approx(math.log(math.comb(4_999, 3)), rel=1e-12)
    assert log_choices(9, 0) == log_choices(9, 9) == 0.0 and log_choices(3, 4) == log_choices(3, 5) == -math.inf


@pytest.mark.parametrize("data", ["plain", "collinear"])
@pytest.mark.parametrize("entry", EXTENDED, ids=lambda entry: entry.name)
def test_local_scores(entry, data):
    frame = DATA[entry.kind]
    if data == "collinear":
        if entry.kind == "discrete":
            frame = frame.assign(z="always")  # a constant column counts as a possible parent
        else:
            frame = pd.concat([TOTALS, frame.select_dtypes(exclude="number")], axis=1)
    names = list(frame)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        plain = plain_of(entry)(frame, penalty=1.5)
        extended = entry.load()(frame, penalty=1.5, gamma=0.7)
        none = entry.load()(frame, penalty=1.5, gamma=0)
    for family in list_families(names):
        if entry.family == "clg" and family[0] in STATES:
            family = (family[0], tuple(name for name in family[1] if name in STATES))
        value, price = plain.local_score(*family), 0.7 * log_sets(len(names) - 1, len(family[1]))
        assert extended.local_score(*family) == pytest.approx(value - price, abs=1e-9)
        assert none.local_score(*family) == value


@pytest.mark.parametrize("weights", [None, rng.random(120) + 0.5], ids=["rows", "weights"])
@pytest.mark.parametrize("entry", EXTENDED, ids=lambda entry: entry.name)
def test_rows_of_gains(entry, weights):
    """Gains differ from BIC's by what the sizes cost, to the bit; additions and deletions are opposite."""
    frame = DATA[entry.kind]
    n = frame.shape[1]
    plain, extended, none = (
        open_source(bind(name, frame, sample_weight=weights, **options))
        for name, options in ((plain_of(entry)._tags["name"], {}), (entry.name, {}), (entry.name, {"gamma": 0}))
    )
    costs = log_choices(n - 1, np.arange(n))
    before, after, same = np.zeros((3, n, n))
    of_plain, of_extended = np.empty(n), np.empty(n)
    plain.start(before, of_plain)
    extended.start(after, of_extended)
    assert (after == before - costs[1]).all() and (of_plain == of_extended).all()
    is_continuous = [dtype.kind == "f" for dtype in frame.dtypes]
    for child in range(n):
        for k in range(n):
            others = [
                v
                for v in range(n)
                if v != child and (entry.family != "clg" or is_continuous[v] <= is_continuous[child])
            ]
            parents = np.array(others[: min(k, 3)], dtype=np.int32)
            m = len(parents)
            score = plain.rescore(child, parents, before)
            assert extended.rescore(child, parents, after) == score - costs[m]
            assert none.rescore(child, parents, same) == score and (same[child] == before[child]).all()
            change = np.where(
                np.isin(np.arange(n), parents), costs[m] - costs[m - 1], -(np.append(costs, 0)[m + 1] - costs[m])
            )
            assert (after[child] == before[child] + change).all()
            assert extended.family_score(child, parents) == plain.family_score(child, parents) - costs[m]


def test_covered_arcs_of_equivalent_graphs_tie():
    """Reversing a -> d with a common parent exchanges the sizes of two families: equal scores."""
    for entry in EXTENDED:
        if entry.family == "clg":
            continue
        score = entry.load()(DATA[entry.kind], gamma=0.8)
        x, y, z, *_ = score.variables
        there = score.local_score(x, (z,)) + score.local_score(y, (x, z))
        assert there == pytest.approx(score.local_score(y, (z,)) + score.local_score(x, (y, z)), rel=1e-12)


@pytest.mark.parametrize("entry", EXTENDED, ids=lambda entry: entry.name)
@pytest.mark.parametrize("learner", [HillClimbSearch, GreedyEquivalenceSearch])
def test_learners(learner, entry):
    frame = DATA[entry.kind]
    fitted = learner(scoring_method=entry.name, gamma=1.4, penalty=0.9, **QUIET).fit(frame)
    score = entry.load()(frame, gamma=1.4, penalty=0.9)
    assert len(fitted.edges_) and fitted.score_ == pytest.approx(score.score(fitted.dag_), rel=1e-10)
    assert learner(scoring_method=score, **QUIET).fit(frame).score_ == fitted.score_
    plain = plain_of(entry)(frame)
    same, none = (learner(scoring_method=entry.name, gamma=0, **QUIET), learner(scoring_method=plain, **QUIET))
    assert same.fit(frame).score_ == none.fit(frame).score_ and (same.edges_ == none.edges_).all()


@pytest.mark.parametrize("gamma", [1.0, 10.0, 30.0])
@pytest.mark.parametrize("name", ["ebic", "ebic-g"])
def test_bounds_never_cut_the_optimum(name, gamma):
    """With a large gamma all variables are cheaper parents than half of them: bounds may not stop before."""
    for seed in range(2):
        draw = np.random.default_rng(seed)
        mix = np.triu(draw.normal(size=(6, 6)) * (draw.random((6, 6)) < 0.7), 1)
        frame = pd.DataFrame(draw.normal(size=(60, 6)) @ np.linalg.inv(np.eye(6) - mix)).add_prefix("x")
        if name == "ebic":
            frame = (frame > 0).astype(str)
            frame["x5"] = (frame.iloc[:, :5] == "True").sum(axis=1).mod(2).astype(str)
        score = scores.EBIC(frame, gamma=gamma) if name == "ebic" else scores.EBICGauss(frame, gamma=gamma)

        def local_score(v, parents, score=score):
            return score.local_score(f"x{v}", [f"x{u}" for u in parents])

        allowed = np.ones((6, 6), dtype=bool)
        allowed[1:3, 0] = allowed[3:5, 5] = allowed[0, 4] = seed == 1
        forbidden = [(f"x{u}", f"x{v}") for v, u in np.argwhere(~allowed).tolist()]
        best = best_network_score(6, local_score, allowed=allowed)
        options = {"scoring_method": name, "gamma": gamma, "forbidden_edges": forbidden or None, **QUIET}
        fitted = HillClimbSearch(strategy="exact", **options).fit(frame)
        assert fitted.score_ == pytest.approx(best, rel=1e-10) and fitted.proven_
        for strategy in ("thorough", "best"):
            assert HillClimbSearch(strategy=strategy, **options).fit(frame).score_ <= best + 1e-8


@pytest.mark.parametrize(("entry", "missing"), [(EXTENDED[0], "pairwise"), *((entry, "em") for entry in EXTENDED[:3])])
def test_missing_values(entry, missing):
    frame = DATA[entry.kind]
    holes = frame.mask(rng.random(frame.shape) < 0.04)
    options = {"missing": missing, "scoring_method": entry.name, **QUIET}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        one, none, bic = (
            HillClimbSearch(**options | more).fit(holes)
            for more in ({}, {"gamma": 0}, {"scoring_method": plain_of(entry)._tags["name"]})
        )
    assert none.score_ == bic.score_ and (none.edges_ == bic.edges_).all()
    sizes = np.bincount(one.edges_[:, 1], minlength=frame.shape[1])
    if (one.edges_.tolist() == none.edges_.tolist()) and len(one.edges_):
        price = log_choices(frame.shape[1] - 1, sizes).sum()
        assert price > 0 and one.score_ == pytest.approx(none.score_ - price, abs=1e-6)
    assert HillClimbSearch(**options | {"gamma": 500}).fit(holes).edges_.size == 0


def test_counts_from_elsewhere():
    table = encode(STATES)
    terms = scores.BIC(table).terms(table.n_rows)
    near, far = scores.family_scorer(table, terms), far_scorer(table, terms, Elsewhere(cut(table, [30, 70])))
    rows = []
    for scorer in (near, far):
        scorer.price_sizes(scores.EBIC(table).size_costs)
        gains = np.zeros((4, 4))
        found = [scorer.rescore(0, np.array(parents, dtype=np.int32), gains) for parents in ([], [1], [1, 3])]
        rows.append((found, gains))
    assert rows[0][0] == rows[1][0] and (rows[0][1] == rows[1][1]).all()
    with pytest.raises(ValueError, match="costs must have the shape"):
        near.price_sizes(np.zeros(3))
    near.price_sizes(None)
    assert near.family_score(0, np.array([1], dtype=np.int32)) == scores.BIC(table).local_score("u", ("v",))


def test_a_prior_of_graphs_is_added():
    prior = scores.ParameterPrior(0.8)
    fitted = HillClimbSearch(scoring_method="ebic-g", structure_prior=prior, **QUIET).fit(NUMBERS)
    family = [tuple(NUMBERS.columns[u] for u, w in fitted.edges_ if w == v) for v in range(5)]
    score = scores.EBICGauss(NUMBERS)
    expected = sum(score.local_score(name, parents) for name, parents in zip(NUMBERS, family, strict=True))
    assert fitted.score_ == pytest.approx(expected - 0.8 * (len(fitted.edges_) + 10), rel=1e-10)


@pytest.mark.parametrize(
    ("gamma", "error"),
    [(-0.1, ValueError), (np.nan, ValueError), (np.inf, ValueError), (True, TypeError), ("1", TypeError)],
)
def test_bad_gammas(gamma, error):
    with pytest.raises(error, match=f"gamma must be a .*number, 0 or more, got {gamma!r}"):
        HillClimbSearch(scoring_method="ebic", gamma=gamma, **QUIET).fit(STATES)
    for entry in EXTENDED:
        with pytest.raises(error, match="gamma must be"):
            entry.load()(DATA[entry.kind], gamma=gamma)


@pytest.mark.parametrize("entry", [entry for entry in SCORES if not entry.has_gamma], ids=lambda entry: entry.name)
def test_scores_without_gamma_refuse_it(entry):
    message = f"gamma=0.5 multiplies .* no price in scoring_method='{entry.name}'.*choose one of ebic, ebic-g, ebic-clg"
    with pytest.raises(ValueError, match=message):
        HillClimbSearch(scoring_method=entry.name, gamma=0.5, **QUIET).fit(DATA[entry.kind])
    with pytest.raises(ValueError, match=r"gamma=0.5 applies to a score by name.*EBIC\(data, gamma=0.5\)"):
        HillClimbSearch(scoring_method=scores.EBIC(STATES), gamma=0.5, **QUIET).fit(STATES)


def test_discrete_data_refuse_a_gaussian_score():
    with pytest.raises(ValueError, match="scoring_method='ebic-g' needs continuous variables"):
        HillClimbSearch(scoring_method="ebic-g", **QUIET).fit(STATES)


@pytest.mark.parametrize("entry", EXTENDED, ids=lambda entry: entry.name)
def test_fewer_edges_are_expected_by_chance(entry):
    from scipy.stats import chi2

    frame = DATA[entry.kind]
    fitted = HillClimbSearch(scoring_method=entry.name, gamma=0.6, penalty=0.5, **QUIET).fit(frame)
    if entry.kind == "discrete":
        free = [4] * 6
    elif entry.kind == "continuous":
        free = [1] * 10
    else:  # four continuous variables and two of three states, in one of two codings
        free = [1] * 6 + [2 if entry.family == "dg" else 4] * 8 + [4]
    more = 2 * 0.6 * math.log(frame.shape[1] - 1)
    expected = sum(chi2.sf(0.5 * d * math.log(120) + more, d) for d in free)
    assert fitted.expected_chance_edges_ == pytest.approx(expected, rel=1e-9)
