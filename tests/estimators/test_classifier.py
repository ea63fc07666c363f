"""The classifier: its answers against formulas, other classifiers and the models of its features."""

import itertools
import pickle

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import load_iris
from sklearn.ensemble import AdaBoostClassifier, StackingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.naive_bayes import CategoricalNB, GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from pgmx.data import Discretizer, FewValuesWarning, open_frame
from pgmx.data.mixed import read_incomplete_mixed, read_mixed
from pgmx.estimators import CLIME, BayesianNetworkClassifier, ChowLiuForest, HillClimbSearch
from pgmx.models import ConditionalGaussianNetwork
from pgmx.scores import LogLikelihoodCondLinearGauss
from pgmx.search.class_weights import weigh_given_class

EXPECTED_FAILURES = {
    "check_estimators_nan_inf": "missing values in predict are summed out, so they are not an error",
}


@parametrize_with_checks([BayesianNetworkClassifier()], expected_failed_checks=lambda _: EXPECTED_FAILURES)
def test_scikit_learn(estimator, check):
    check(estimator)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::pgmx.data.FewValuesWarning")  # of learners with missing values the checks round
@parametrize_with_checks(
    [
        BayesianNetworkClassifier("naive", missing="em"),
        BayesianNetworkClassifier(HillClimbSearch(), equivalent_sample_size=1.0),
    ],
    expected_failed_checks=lambda _: EXPECTED_FAILURES,
)
def test_scikit_learn_of_other_structures(estimator, check):
    check(estimator)


# ---- data ----


def discrete_rows(n_rows=400, seed=0):
    """Return features with a tree among them, and labels that are not numbered from 0."""
    rng = np.random.default_rng(seed)
    label = rng.integers(0, 3, n_rows)
    a = np.where(rng.random(n_rows) < 0.6, label, rng.integers(0, 3, n_rows))
    b = np.where(rng.random(n_rows) < 0.7, (a + label) % 2, rng.integers(0, 2, n_rows))
    c = np.where(rng.random(n_rows) < 0.7, (b + a) % 4, rng.integers(0, 4, n_rows))
    d = np.where(rng.random(n_rows) < 0.5, label % 2, rng.integers(0, 2, n_rows))
    X = pd.DataFrame({"a": np.array(list("xyz"))[a], "b": b.astype(bool), "c": c, "d": d})
    return X, pd.Series(np.array(["no", "so", "yes"])[label], name="answer")


def continuous_rows(n_rows=300, seed=0):
    rng = np.random.default_rng(seed)
    label = rng.integers(0, 2, n_rows)
    x = label + rng.normal(size=n_rows)
    y = np.where(label, 0.9, -0.5) * x + 0.4 * rng.normal(size=n_rows)
    z = 0.6 * y + rng.normal(size=n_rows)
    return pd.DataFrame({"x": x, "y": y, "z": z}), pd.Series(label, name="label")


def mixed_rows(n_rows=300, seed=0):
    numbers, y = continuous_rows(n_rows, seed)
    states, _ = discrete_rows(n_rows, seed + 1)
    rng = np.random.default_rng(seed)
    kind = np.where(rng.random(n_rows) < 0.7, y, rng.integers(0, 3, n_rows))
    numbers["z"] += 1.5 * kind
    return numbers.assign(kind=np.array(["k", "l", "m"])[kind], a=states["a"]), y


KINDS = {"discrete": discrete_rows, "continuous": continuous_rows, "mixed": mixed_rows}
every_kind = pytest.mark.parametrize("rows", KINDS.values(), ids=KINDS)
every_structure = pytest.mark.parametrize(
    "structure", ["naive", "tan", HillClimbSearch()], ids=["naive", "tan", "learner"]
)


def features_of_tree(classifier):
    """Return the edges between features."""
    return {edge for edge in classifier.graph_.edges() if classifier.class_node_ not in edge}


# ---- probabilities ----


def test_naive_bayes_of_states_is_scikit_learns():
    X, y = discrete_rows()
    codes = X.apply(lambda column: column.astype("category").cat.codes)
    prior = (y.value_counts().sort_index().to_numpy() + 1.0) / (len(y) + 3.0)
    expected = CategoricalNB(alpha=1.0, class_prior=prior).fit(codes, y)
    classifier = BayesianNetworkClassifier("naive", pseudo_counts=1.0).fit(X, y)
    np.testing.assert_allclose(classifier.predict_proba(X), expected.predict_proba(codes), rtol=1e-9)
    assert (classifier.predict(X) == expected.predict(codes)).all()
    assert classifier.classes_.tolist() == ["no", "so", "yes"]


def test_naive_bayes_of_numbers_is_scikit_learns():
    X, y = continuous_rows()
    classifier = BayesianNetworkClassifier("naive", pseudo_counts=0.0).fit(X, y)
    expected = GaussianNB(var_smoothing=0.0).fit(X, y)
    np.testing.assert_allclose(classifier.predict_proba(X), expected.predict_proba(X), rtol=1e-8)


def conditional_information(data, left, right, given):
    """Return the empirical mutual information of two columns given a third."""
    total = 0.0
    for _, part in data.groupby(given):
        joint = pd.crosstab(part[left], part[right]).to_numpy() / len(data)
        expected = np.outer(joint.sum(axis=1), joint.sum(axis=0)) / joint.sum()
        total += (joint[joint > 0] * np.log(joint[joint > 0] / expected[joint > 0])).sum()
    return total


def test_the_tree_has_the_largest_conditional_information():
    X, y = discrete_rows()
    data = X.assign(answer=y)
    pairs = {frozenset(pair): conditional_information(data, *pair, "answer") for pair in itertools.combinations(X, 2)}
    classifier = BayesianNetworkClassifier().fit(X, y)
    assert len(features_of_tree(classifier)) == 3
    found = sum(pairs[frozenset(edge)] for edge in features_of_tree(classifier))
    trees = itertools.combinations(pairs, 3)
    spanning = [tree for tree in trees if len(frozenset.union(*tree)) == 4 and len({*tree}) == 3]
    assert found == pytest.approx(max(sum(pairs[pair] for pair in tree) for tree in spanning if is_tree(tree)))
    assert set(classifier.graph_.predecessors("c")) >= {"answer"}


def is_tree(pairs):
    groups = {name: name for pair in pairs for name in pair}

    def root(name):
        while groups[name] != name:
            name = groups[name]
        return name

    for left, right in pairs:
        if root(left) == root(right):
            return False
        groups[root(left)] = root(right)
    return True


@every_kind
def test_the_tree_is_that_of_the_forest_learner(rows):
    X, y = rows()
    forest = ChowLiuForest(class_node=y.name).fit(X.assign(**{y.name: y.astype("category")}))
    assert set(BayesianNetworkClassifier().fit(X, y).graph_.edges()) == set(forest.graph_.edges())


@every_kind
@every_structure
def test_probabilities_are_joint_likelihoods_of_the_model(rows, structure):
    X, y = rows()
    classifier = BayesianNetworkClassifier(structure).fit(X, y)
    model = classifier.model_
    if not isinstance(model, ConditionalGaussianNetwork):
        model = ConditionalGaussianNetwork.from_network(model)
    joint = np.column_stack(
        [
            model.log_likelihood(X.assign(**{y.name: pd.Categorical([label] * len(X), classifier.classes_)}))
            for label in classifier.classes_.tolist()
        ]
    )
    expected = np.exp(joint - np.logaddexp.reduce(joint, axis=1)[:, None])
    found = classifier.predict_proba(X)
    np.testing.assert_allclose(found, expected, rtol=1e-8, atol=1e-300)
    np.testing.assert_allclose(classifier.predict_log_proba(X), np.log(found))
    assert (classifier.predict(X) == classifier.classes_[expected.argmax(axis=1)]).all()


def test_log_probabilities_of_many_features_do_not_overflow():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 60)
    X = rng.integers(0, 4, (60, 1000)) + y[:, None]
    probabilities = BayesianNetworkClassifier("naive").fit(X, y).predict_proba(X)
    assert np.isfinite(probabilities).all()
    assert (probabilities[np.arange(60), y] > 0.999).all()


@pytest.mark.parametrize("n_ones", [(1, 4, 7, 2, 9), (2, 3, 8, 5, 6), (1, 2, 3, 4, 6)])
def test_equally_probable_classes_tie(n_ones):
    """Products of the same numbers in another order differ by rounding errors alone."""
    y = np.repeat(np.arange(5), 10)
    X = np.array([[int(k % 10 < n_ones[(j + k // 10) % 5]) for j in range(5)] for k in range(50)])
    classifier = BayesianNetworkClassifier("naive").fit(X, y)
    assert len(set(classifier.predict_proba([[1] * 5])[0])) == 1
    assert classifier.predict([[1] * 5]) == 0


# ---- missing values and unknown states ----


@every_kind
def test_a_missing_feature_of_naive_bayes_is_left_out(rows):
    X, y = rows()
    classifier = BayesianNetworkClassifier("naive", pseudo_counts=1.0).fit(X, y)
    for name in X:
        holes = X.assign(
            **{name: pd.Series([None] * len(X), dtype=X[name].dtype if X[name].dtype == float else object)}
        )
        without = BayesianNetworkClassifier("naive", pseudo_counts=1.0).fit(X.drop(columns=name), y)
        np.testing.assert_allclose(
            classifier.predict_proba(holes), without.predict_proba(X.drop(columns=name)), rtol=1e-9
        )


def test_missing_states_are_summed_out():
    X, y = discrete_rows()
    classifier = BayesianNetworkClassifier().fit(X, y)
    logs = [np.log(cpd.values) for cpd in classifier.model_.get_cpds()]
    rng = np.random.default_rng(1)
    holes = X.astype(object).mask(rng.random(X.shape) < 0.4)
    model = classifier.model_
    names = list(model.nodes())
    states = [model.states[name] for name in names]
    total = np.zeros([len(own) for own in states])
    for cpd, table in zip(model.get_cpds(), logs, strict=True):
        axes = [names.index(name) for name in cpd.variables]
        order = np.argsort(axes)
        shape = [len(own) if v in axes else 1 for v, own in enumerate(states)]
        total += table.transpose(order).reshape(shape)
    joint = np.exp(total)
    expected = []
    for row in holes.itertuples(index=False):
        cells = tuple(
            slice(None)
            if name == "answer" or pd.isna(row[X.columns.get_loc(name)])
            else own.index(row[X.columns.get_loc(name)])
            for name, own in zip(names, states, strict=True)
        )
        kept = [name for name, cell in zip(names, cells, strict=True) if isinstance(cell, slice)]
        part = joint[cells]
        expected.append(part.sum(axis=tuple(k for k, name in enumerate(kept) if name != "answer")))
    expected = np.array(expected) / np.sum(expected, axis=1)[:, None]
    np.testing.assert_allclose(classifier.predict_proba(holes), expected, rtol=1e-9)


@every_kind
@every_structure
def test_a_row_alone_has_the_same_answer(rows, structure):
    X, y = rows(60)
    classifier = BayesianNetworkClassifier(structure).fit(X, y)
    whole = classifier.predict_proba(X)
    for k in (0, 17, 59):
        assert (classifier.predict_proba(X.iloc[[k]]) == whole[k]).all()
    assert (classifier.set_params(n_jobs=2).predict_proba(X[::-1])[::-1] == whole).all()


def test_unknown_states_count_as_missing():
    X, y = discrete_rows()
    classifier = BayesianNetworkClassifier().fit(X, y)
    new = X.head(5).assign(a=["x", "w", "y", "v", "z"])
    with pytest.warns(UserWarning, match=r"column\(s\) 'a' hold states that are not in the training data"):
        found = classifier.predict_proba(new)
    assert (found == classifier.predict_proba(new.assign(a=["x", None, "y", None, "z"]))).all()


def test_declared_states_are_known():
    X, y = discrete_rows()
    X["a"] = pd.Categorical(X["a"], ["x", "y", "z", "w"])
    classifier = BayesianNetworkClassifier().fit(X, y)
    assert classifier.model_.states["a"] == ["x", "y", "z", "w"]
    assert np.isfinite(classifier.predict_proba(X.head(1).assign(a="w"))).all()


def holes_in(X, seed=3, share=0.1):
    """Return a frame with missing values, in which numbers of states remain numbers of states."""
    stated = X.astype({name: object for name in X if X[name].dtype != float})
    return stated.mask(np.random.default_rng(seed).random(X.shape) < share)


def test_missing_values_in_training_data():
    X, y = discrete_rows()
    holes = holes_in(X)
    with pytest.raises(ValueError, match=r"missing values \(NaN\) in column\(s\) 'a', 'b', 'c', 'd'"):
        BayesianNetworkClassifier().fit(holes, y)
    complete = holes.notna().all(axis=1)
    dropped = BayesianNetworkClassifier(missing="drop").fit(holes, y)
    whole = BayesianNetworkClassifier().fit(holes[complete].infer_objects(), y[complete])
    assert (dropped.predict_proba(holes) == whole.predict_proba(holes)).all()
    category = BayesianNetworkClassifier(missing="category").fit(holes, y)
    assert category.model_.states["a"] == ["x", "y", "z", "missing"]
    filled = BayesianNetworkClassifier().fit(holes.fillna("missing").astype(str), y)
    assert category.graph_.number_of_edges() == filled.graph_.number_of_edges()
    np.testing.assert_allclose(
        category.predict_proba(holes), filled.predict_proba(holes.fillna("missing").astype(str)), rtol=1e-9
    )


def test_families_of_complete_rows():
    X, y = discrete_rows()
    holes = holes_in(X)
    classifier = BayesianNetworkClassifier("naive", missing="pairwise", pseudo_counts=1.0).fit(holes, y)
    known = holes["a"].notna()
    counts = pd.crosstab(holes["a"][known], y[known]).to_numpy() + 1.0
    np.testing.assert_allclose(classifier.model_.get_cpds("a").get_values(), counts / counts.sum(axis=0))


@every_kind
def test_expectation_maximisation_of_naive_bayes_is_a_fit_to_the_rows_of_each_family(rows):
    """The class is observed, so a missing feature says nothing about the others."""
    X, y = rows()
    holes = holes_in(X, share=0.2)
    classifier = BayesianNetworkClassifier("naive", missing="em", pseudo_counts=0.0).fit(holes, y)
    for name in X:
        known = holes[name].notna()
        alone = BayesianNetworkClassifier("naive", pseudo_counts=0.0).fit(holes.loc[known, [name]], y[known])
        found, expected = classifier.model_.get_cpds(name), alone.model_.get_cpds(name)
        if X[name].dtype == float:
            np.testing.assert_allclose(found.std, expected.std, rtol=1e-3)  # EM stops at 1e-7 of the likelihood
            np.testing.assert_allclose(found.coefficients, expected.coefficients, rtol=1e-3, atol=1e-3)
        else:
            np.testing.assert_allclose(found.get_values(), expected.get_values(), atol=1e-3)


@every_kind
def test_expectation_maximisation_of_a_tree(rows):
    X, y = rows(600)
    X = X.drop(columns="d", errors="ignore")  # no other feature says anything about it
    holes = holes_in(X)
    classifier, whole = BayesianNetworkClassifier(missing="em").fit(holes, y), BayesianNetworkClassifier().fit(X, y)
    assert set(map(frozenset, classifier.graph_.edges())) == set(map(frozenset, whole.graph_.edges()))
    assert abs(classifier.predict_proba(X) - whole.predict_proba(X)).max() < 0.2


def test_weights_of_mixed_pairs_are_of_the_rows_that_are_complete_in_them():
    X, y = mixed_rows()
    holes = holes_in(X, share=0.2).assign(label=y)
    mixed = read_incomplete_mixed(open_frame(holes))
    weights = weigh_given_class(mixed, None, 5, None).weights
    names = list(X)
    for child, parent in itertools.permutations(names, 2):
        if X[child].dtype != float:
            assert (weights[names.index(child), names.index(parent)] == -np.inf) == (X[parent].dtype == float)
            continue
        known = holes[[child, parent, "label"]].dropna()
        score = LogLikelihoodCondLinearGauss(known)
        gain = score.local_score(child, (parent, "label")) - score.local_score(child, ("label",))
        expected = gain * len(holes) / len(known)
        assert weights[names.index(child), names.index(parent)] == pytest.approx(expected, rel=1e-6)


def weigh(frame):
    return weigh_given_class(read_mixed(open_frame(frame)), None, frame.columns.get_loc("label"), None).weights


def test_classes_without_a_regression_add_nothing_to_the_weights_of_pairs():
    X, y = mixed_rows(200)
    X, usual = X[["x", "y", "kind"]], weigh(X[["x", "y", "kind"]].assign(label=y))
    few = pd.concat([X, X.head(2).assign(x=[0.0, 1.0], y=[0.0, 1.5])])
    weights = weigh(few.assign(label=[*y, 2, 2]))  # two rows, through which there is always a line
    np.testing.assert_allclose(weights[:2, :2], usual[:2, :2], rtol=1e-9)
    constant = pd.concat([X, X.assign(x=0.5)])
    weights = weigh(constant.assign(label=[*y, *y + 2]))
    np.testing.assert_allclose(weights[0], usual[0], rtol=1e-9)
    assert weights[1, 2] == pytest.approx(2 * usual[1, 2])  # this column varies in all classes
    X["kind"] = X["kind"].where(X.index > 0, "rare")
    assert (weigh(X.assign(label=y))[:2, 2] == -np.inf).all()  # one row of a class


def test_treatments_that_continuous_columns_do_not_have():
    X, y = continuous_rows(50)
    for missing in ("category", "pairwise"):
        with pytest.raises(ValueError, match="'drop'"):
            BayesianNetworkClassifier(missing=missing).fit(X.where(X > -1), y)


def test_a_learner_has_its_own_treatment_of_missing_values():
    X, y = discrete_rows()
    classifier = BayesianNetworkClassifier(HillClimbSearch(missing="em")).fit(holes_in(X), y)
    assert np.isfinite(classifier.predict_proba(holes_in(X))).all()


# ---- structures ----


def test_only_the_markov_blanket_of_a_learned_network_matters():
    X, y = discrete_rows()
    X = X.assign(noise=np.random.default_rng(0).integers(0, 3, len(X)), e=(X["c"] + 1) % 3)
    classifier = BayesianNetworkClassifier(HillClimbSearch()).fit(X, y)
    blanket = classifier.markov_blanket_
    assert set(blanket) == set(classifier.model_.get_markov_blanket("answer"))
    others = [name for name in X if name not in blanket]
    assert len(others) > 1
    changed = X.copy()
    for name in others:
        changed[name] = X[name].to_numpy()[::-1]
    assert (classifier.predict_proba(changed) == classifier.predict_proba(X)).all()


def test_the_learner_is_cloned():
    X, y = discrete_rows()
    learner = HillClimbSearch(max_indegree=1)
    BayesianNetworkClassifier(learner).fit(X, y)
    assert not hasattr(learner, "edges_")


@pytest.mark.parametrize("structure", ["bayes", CLIME(), HillClimbSearch])
def test_other_structures_are_refused(structure):
    X, y = discrete_rows(30)
    with pytest.raises(ValueError, match="'structure' parameter of BayesianNetworkClassifier must be"):
        BayesianNetworkClassifier(structure).fit(X, y)


def test_graphs_without_a_network_are_refused():
    X, y = continuous_rows(60)
    search = HillClimbSearch(scoring_method="bic-dg", required_edges=[("x", "label")])
    with pytest.raises(ValueError, match="arcs from continuous to discrete variables, 'x -> label'"):
        BayesianNetworkClassifier(search).fit(X, y)


def test_constant_columns_and_rare_classes():
    """A column without spread, in all rows or in a class, and a class of one row, do not end in an error."""
    X, y = continuous_rows(60)
    label = y.to_numpy().copy()
    label[0] = 2
    X = X.assign(same=1.0, half=np.where(label == 1, X["x"], 0.5), twice=2 * X["x"])
    for structure in ("naive", "tan"):
        classifier = BayesianNetworkClassifier(structure).fit(X, label)
        assert "same" not in classifier.graph_
        assert np.isfinite(classifier.predict_proba(X)).all()
    assert {"x", "twice"} in [set(edge) for edge in features_of_tree(classifier)]


def test_one_class_and_no_useful_feature():
    X, _ = continuous_rows(20)
    classifier = BayesianNetworkClassifier().fit(X, ["only"] * 20)
    assert (classifier.predict_proba(X) == 1).all()
    assert set(classifier.predict(X)) == {"only"}
    constant = BayesianNetworkClassifier(pseudo_counts=0.0).fit(np.ones((4, 2)), [0, 0, 0, 1])
    np.testing.assert_allclose(constant.predict_proba(np.ones((1, 2))), [[0.75, 0.25]])


# ---- weights ----


@every_kind
@every_structure
def test_weights_are_repetitions(rows, structure):
    X, y = rows(120)
    weights = np.random.default_rng(5).integers(0, 4, len(X))
    weights[:3] = 1
    at = np.repeat(np.arange(len(X)), weights)
    weighted = BayesianNetworkClassifier(structure).fit(X, y, sample_weight=weights)
    repeated = BayesianNetworkClassifier(structure).fit(X.iloc[at], y.iloc[at])
    assert set(weighted.graph_.edges()) == set(repeated.graph_.edges())
    np.testing.assert_allclose(weighted.predict_proba(X), repeated.predict_proba(X), rtol=1e-7, atol=1e-12)


def test_shares_are_scaled_to_the_number_of_rows():
    X, y = mixed_rows(100)
    weights = np.random.default_rng(2).random(100)
    weights *= 100 / weights.sum()
    counts = BayesianNetworkClassifier().fit(X, y, sample_weight=weights)
    shares = BayesianNetworkClassifier().fit(X, y, sample_weight=weights / 100)
    np.testing.assert_allclose(shares.predict_proba(X), counts.predict_proba(X), rtol=1e-9)
    boosted = AdaBoostClassifier(BayesianNetworkClassifier("naive"), n_estimators=3).fit(X.select_dtypes(float), y)
    assert boosted.score(X.select_dtypes(float), y) > 0.7


# ---- kinds of tables and labels ----


def test_tables_of_all_kinds_give_the_same_answers():
    X, y = mixed_rows()
    expected = BayesianNetworkClassifier().fit(X, y).predict_proba(X)
    for convert in (pl.from_pandas, pa.Table.from_pandas):
        table = convert(X)
        assert (BayesianNetworkClassifier().fit(table, y).predict_proba(table) == expected).all()
    cells = X.to_numpy(dtype=object)
    found = BayesianNetworkClassifier().fit(cells, y.to_numpy())
    assert (found.predict_proba(cells.tolist()) == expected).all()
    assert found.n_features_in_ == 5
    assert not hasattr(found, "feature_names_in_")


@pytest.mark.parametrize("labels", [[False, True], [3, 7], ["b", "a"], [0.0, 1.0], [np.int8(1), np.int8(2)]])
def test_labels_of_all_types(labels):
    X, y = continuous_rows(60)
    given = np.array(labels)[y]
    classifier = BayesianNetworkClassifier().fit(X, given)
    assert classifier.classes_.dtype == given.dtype
    assert classifier.predict(X).dtype == given.dtype
    assert (classifier.predict(X) == given).mean() > 0.6


def test_declared_discrete_columns():
    X, y = discrete_rows()
    numbers = X.drop(columns="a").astype(float)
    with pytest.warns(FewValuesWarning, match="discrete_columns"):
        BayesianNetworkClassifier().fit(numbers, y)
    declared = BayesianNetworkClassifier(discrete_columns=["b", "c", "d"]).fit(numbers, y)
    whole = BayesianNetworkClassifier().fit(numbers.astype(int), y)
    assert (declared.predict_proba(numbers) == whole.predict_proba(numbers.astype(int))).all()


def test_the_class_has_a_name_of_its_own():
    X, y = continuous_rows(40)
    assert BayesianNetworkClassifier().fit(X, y).class_node_ == "label"
    assert BayesianNetworkClassifier().fit(X, y.to_numpy()).class_node_ == "class"
    assert BayesianNetworkClassifier().fit(X, y.rename("x")).class_node_ == "class"
    assert BayesianNetworkClassifier().fit(X.rename(columns={"x": "class"}), y.rename("y")).class_node_ == "class_"


def test_columns_are_found_by_name():
    X, y = mixed_rows(100)
    X.columns = range(5)
    classifier = BayesianNetworkClassifier().fit(X, y)
    assert (classifier.predict_proba(X[[4, 0, 2, 1, 3]]) == classifier.predict_proba(X)).all()
    with pytest.raises(ValueError, match="only in X: 9; only in the training data: 4"):
        classifier.predict(X.rename(columns={4: 9}))


def test_nothing_of_the_callers_changes():
    X, y = mixed_rows(100)
    before, labels = X.copy(deep=True), y.copy()
    BayesianNetworkClassifier().fit(X, y).predict(X)
    pd.testing.assert_frame_equal(X, before)
    pd.testing.assert_series_equal(y, labels)


# ---- bad input ----


def test_bad_input():
    X, y = continuous_rows(40)
    with pytest.raises(ValueError, match="two priors of the same parameters"):
        BayesianNetworkClassifier(equivalent_sample_size=1, pseudo_counts=1).fit(X, y)
    with pytest.raises(ValueError, match="infinite"):
        BayesianNetworkClassifier().fit(X.assign(x=np.inf), y)
    with pytest.raises(ValueError, match="infinite"):
        BayesianNetworkClassifier().fit(X, y).predict(X.assign(x=-np.inf))
    with pytest.raises(ValueError, match="requires y to be passed"):
        BayesianNetworkClassifier().fit(X, None)
    with pytest.raises(ValueError, match="contains NaN"):
        BayesianNetworkClassifier().fit(X, y.where(y > 0))
    with pytest.raises(TypeError, match="did you mean"):
        BayesianNetworkClassifier(structre="tan")


def test_impossible_rows_of_maximum_likelihood():
    X = pd.DataFrame({"a": ["u", "u", "v", "v"], "b": ["u", "v", "u", "u"]})
    classifier = BayesianNetworkClassifier("naive", pseudo_counts=0.0).fit(X, [0, 0, 1, 1])
    with pytest.raises(ValueError, match=r"1 row\(s\), the first at position 1, "):
        classifier.predict(pd.DataFrame({"a": ["u", "v"], "b": ["u", "v"]}))


# ---- scikit-learn's tools ----


def test_tools_of_scikit_learn():
    X, y = load_iris(return_X_y=True)
    assert cross_val_score(BayesianNetworkClassifier(), X, y, scoring="accuracy", cv=3).mean() > 0.93
    grid = {"structure__max_indegree": [1, 2], "pseudo_counts": [0.5]}
    search = GridSearchCV(BayesianNetworkClassifier(HillClimbSearch()), grid, scoring="neg_log_loss", cv=2).fit(X, y)
    assert search.best_estimator_.structure.max_indegree == 2
    pipeline = make_pipeline(StandardScaler(), BayesianNetworkClassifier()).fit(X, y)
    np.testing.assert_allclose(pipeline.predict_proba(X), BayesianNetworkClassifier().fit(X, y).predict_proba(X), 1e-6)
    binned = make_pipeline(Discretizer(), BayesianNetworkClassifier("naive")).fit(X, y)
    assert binned.score(X, y) > 0.9
    calibrated = CalibratedClassifierCV(BayesianNetworkClassifier("naive"), cv=2).fit(X, y)
    assert calibrated.predict_proba(X).shape == (150, 3)
    stack = StackingClassifier([("bayes", BayesianNetworkClassifier())], LogisticRegression(), cv=2).fit(X, y)
    assert stack.score(X, y) > 0.93


def test_pickle_and_clone():
    X, y = mixed_rows(100)
    classifier = BayesianNetworkClassifier(HillClimbSearch(max_indegree=2), pseudo_counts=0.5).fit(X, y)
    copied = pickle.loads(pickle.dumps(classifier))
    assert (copied.predict_proba(X) == classifier.predict_proba(X)).all()
    assert clone(classifier).structure.max_indegree == 2


def test_report(tmp_path):
    X, y = mixed_rows(100)
    classifier = BayesianNetworkClassifier().fit(X, y)
    path = classifier.report(tmp_path / "report.html", data=X.assign(label=y))
    text = path.read_text(encoding="utf-8")
    assert "BayesianNetworkClassifier" in text
    assert '"label"' in text
