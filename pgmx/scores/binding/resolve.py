"""From `scoring_method`, the name of a score or a score object, to the score bound to the data."""

from collections.abc import Hashable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from pgmpy.structure_score import BaseStructureScore

from pgmx.checks import check_same_names, join_names
from pgmx.data import DiscreteTable, DistributedNumericTable, Frame, encode
from pgmx.data.errors import StatesChoiceError, refuse_unobserved
from pgmx.data.mixed import MixedTable, read_incomplete_mixed, read_mixed
from pgmx.data.weights import Interventions, check_row_weights, combine_weights, weights_of_complete_rows
from pgmx.scores.binding.continuous import GaussianScoring, MixedScoring
from pgmx.scores.binding.discrete import DiscreteScoring, FormulaScoring, WeightedScoring
from pgmx.scores.binding.incomplete import (
    IncompleteGaussianScoring,
    IncompleteMixedScoring,
    IncompleteStates,
    read_incomplete_numbers,
)
from pgmx.scores.binding.interventions import bind_interventions, warn_of_set_variables
from pgmx.scores.binding.scoring import FunctionScoring, Scoring, check_structure_prior
from pgmx.scores.compiled import Prices, check_gamma, check_penalty
from pgmx.scores.discrete.base import DiscreteScore
from pgmx.scores.discrete.bde import BDe
from pgmx.scores.discrete.formulas import NodeAverage
from pgmx.scores.gaussian.base import (
    GaussianScore,
    compute_moments,
    compute_set_moments,
    list_names,
    read_numbers,
)
from pgmx.scores.mixed.base import MixedScore
from pgmx.scores.priors import StructurePrior
from pgmx.scores.registry import (
    check_prices_of,
    check_score_name,
    describe_pairwise,
    find_score,
    list_scores,
    name_default,
)
from pgmx.statistics import Moments


def resolve_scoring(
    scoring_method: str | BaseStructureScore | None,
    data: Frame | DiscreteTable | DistributedNumericTable,
    *,
    state_names: Mapping[Hashable, Sequence] | None,
    missing: str,
    n_jobs: int | None,
    sample_weight: ArrayLike | None = None,
    structure_prior: StructurePrior | None = None,
    discrete_children: str = "forbidden",
    penalty: float = 1.0,
    gamma: float = 1.0,
    interventions: Interventions | None = None,
    sets: Interventions | None = None,
) -> Scoring:
    """Bind the score that `scoring_method` means for `data`: None means BIC of the kind of the data.

    Row i counts as ``sample_weight[i]`` rows, and families do not count the rows in which `interventions` set the
    child. With `sets` the score counts all rows, and sums its moments over these sets. `penalty` multiplies the costs
    of parameters, `gamma` those of the choice of parents under EBIC. Conditional scores have `discrete_children`.
    """
    if interventions is not None:
        options: dict[str, Any] = {"state_names": state_names, "missing": missing, "n_jobs": n_jobs, "gamma": gamma}
        options |= {"structure_prior": structure_prior, "discrete_children": discrete_children, "penalty": penalty}
        return _bind_experiments(scoring_method, data, interventions, sample_weight, options)
    prices = Prices(check_penalty(penalty), check_gamma(gamma))
    _check_discrete_children(scoring_method, discrete_children)
    if structure_prior is not None:
        check_structure_prior(structure_prior)
    weights = None if sample_weight is None else check_row_weights(sample_weight, data.n_rows)
    options = {"state_names": state_names, "missing": missing, "n_jobs": n_jobs}
    if isinstance(data, DistributedNumericTable):  # it is distributed: continuous columns in memory are a frame
        _check_sums_suffice(scoring_method, data, missing)
        options["missing"] = missing = "error"  # rows with missing values were dropped when they were distributed
    elif missing == "em":
        return _bind_incomplete(scoring_method, data, options, weights, structure_prior, discrete_children, prices)
    if isinstance(scoring_method, BaseStructureScore):
        for option, value in prices._asdict().items():
            if value != 1.0:
                raise ValueError(
                    f"{option}={value:g} applies to a score by name, not to an instance of "
                    f"{type(scoring_method).__name__}: give it to the instance, as in EBIC(data, {option}={value:g})"
                )
        return _bind_instance(scoring_method, data, options, weights, structure_prior)
    name = _default_name(data) if scoring_method is None else check_score_name(scoring_method)
    prices = _find_prices(name, prices)
    _check_missing_choice(name, data, missing)
    if weights is not None and missing == "drop":
        weights = weights_of_complete_rows(weights, data)
    entry = find_score(name)
    if entry.kind == "discrete":
        return _bind_discrete(name, encode(data, **options), weights, structure_prior, prices)
    if entry.kind == "continuous":
        rows = read_numbers(data, missing=missing, purpose=f"scoring_method={name!r}")
        sample_moments, set_sums = compute_set_moments(rows, weights, sets)
        score = entry.load().from_moments(sample_moments, list_names(rows), prices)
        of_rows = GaussianScoring(
            score, rows, structure_prior, weights=weights, sample_moments=sample_moments, set_sums=set_sums
        )
        return _warn_of_collinearity(of_rows)
    assert not isinstance(data, DistributedNumericTable)
    mixed = read_mixed(data, state_names=state_names, missing=missing)
    score_of_table = entry.load().from_mixed(mixed, prices)
    if entry.family == "clg":
        score_of_table.discrete_children = discrete_children
    return _warn_of_collinearity(MixedScoring(score_of_table, score_of_table.mixed, structure_prior, weights=weights))


def _bind_experiments(
    method: Any, data: Any, interventions: Interventions, sample_weight: Any, options: dict
) -> Scoring:
    """Bind a score to rows in which variables were set."""
    if options["missing"] == "em":
        raise ValueError(
            "interventions with missing='em' is not supported, because EM completes the rows of all families together: "
            "give missing='pairwise' (discrete data) or 'drop'"
        )
    weights = None if sample_weight is None else check_row_weights(sample_weight, data.n_rows)
    if options["missing"] == "drop" and isinstance(data, Frame):
        weights = None if weights is None else weights_of_complete_rows(weights, data)
        interventions = interventions.take(data.complete_mask())
    plain = resolve_scoring(method, data, sets=interventions if weights is None else None, **options)
    warn_of_set_variables(interventions, plain.names)
    return bind_interventions(plain, interventions, weights)


def _find_prices(name: str, prices: Prices) -> Prices:
    """Return the multipliers for the score of this name, or raise if it does not have such a price."""
    check_prices_of(name, *prices)
    return prices if find_score(name).has_gamma else prices._replace(gamma=0.0)


def _warn_of_collinearity(scoring: Any) -> Scoring:
    """Warn of columns that determine each other, and return the score."""
    scoring.warn_of_collinearity()
    return scoring


def _check_discrete_children(method: Any, discrete_children: str) -> None:
    """Refuse `discrete_children` for scores without this option."""
    if discrete_children == "forbidden" or method is None:
        return
    names = list_scores(family="clg")
    if isinstance(method, str) and method.lower() not in names:
        check_score_name(method)
        raise ValueError(
            f"discrete_children={discrete_children!r} applies to the scores {', '.join(names)}, not to "
            f"scoring_method={method!r}: leave it out, or choose one of these scores"
        )
    if not isinstance(method, str):
        raise ValueError(
            f"discrete_children={discrete_children!r} applies to a score by name ({', '.join(names)}), not to an "
            f"instance. Pass it to the instance: BICCondLinearGauss(data, discrete_children='allowed')"
        )


def _check_sums_suffice(method: Any, table: DistributedNumericTable, missing: str) -> None:
    """Refuse options and scores that need more than means and cross-products."""
    if missing not in ("error", "drop"):
        raise ValueError(
            f"missing={missing!r} needs single rows, which a distributed table does not provide: distribute it with "
            "missing='drop', or pass the rows in memory"
        )
    if isinstance(method, BaseStructureScore):
        name, suffices = type(method).__name__, isinstance(method, GaussianScore) and method.is_compiled()
    elif method is None:
        refuse_integers(table)
        return
    else:
        name = check_score_name(method)
        suffices = find_score(name).kind == "continuous"
    if not suffices:
        counts = name in list_scores("discrete", aliases=True) or isinstance(method, DiscreteScore)
        reason = "needs discrete variables" if counts else "needs the rows of a mixed table"
        raise TypeError(
            f"scoring_method={name!r} {reason}, but {table!r} is numeric: choose one of "
            f"{', '.join(list_scores('continuous'))}, or pass rows in memory"
        )


def refuse_integers(table: Any) -> None:
    """Refuse integer columns if no Gaussian score is chosen: in mixed data they would be discrete."""
    if table.integer_columns:
        raise ValueError(
            f"column(s) {join_names(table.integer_columns)} hold integers, which are discrete in mixed data. Scores of "
            "mixed data need the rows: choose a Gaussian score ('bic-g', ...), cast the columns to float, or pass rows "
            "in memory"
        )


def _default_name(data) -> str:
    return name_default(len(data.float_columns), data.n_columns)


def _bind_discrete(name: str, table: DiscreteTable, weights, structure_prior, prices: Prices) -> Scoring:
    marked = table.missing_codes >= 0
    entry = find_score(name)
    score = entry.load()(table)
    score.penalty, score.gamma = prices
    if not marked.any():
        return _bind_terms(score, table, weights, structure_prior)
    refuse_unobserved(_list_unobserved(table))
    if weights is not None:
        table, weights = combine_weights(table, None, weights)
    formula = partial(_make_node_average, entry.name, prices.penalty, table.cardinalities, table.missing_codes)
    return FormulaScoring(score, formula, table, structure_prior, weights=weights)


def _bind_incomplete(method, data, options, weights, structure_prior, discrete_children, prices) -> Scoring:
    """Bind a score for structural EM; a table without missing values gets the ordinary score."""
    if isinstance(method, BaseStructureScore):
        raise ValueError(
            f"missing='em' needs a score by name ('bic', 'bic-g', ...), not an instance of {type(method).__name__}, "
            "which is bound to its rows"
        )
    name = _default_name(data) if method is None else check_score_name(method)
    prices = _find_prices(name, prices)
    if find_score(name).kind == "mixed":
        _check_likelihood(name, discrete_children)
        name = name.removesuffix("-clg") + _default_name(data).removeprefix("bic")  # depends on the kinds of columns
    entry = find_score(name)
    if entry.kind == "discrete":
        return _bind_incomplete_states(name, data, options, weights, structure_prior, prices)
    if not data.missing_columns() if isinstance(data, Frame) else not _is_marked(data):
        options = {**options, "missing": "error", "discrete_children": discrete_children, "penalty": prices.penalty}
        if entry.has_gamma:
            options["gamma"] = prices.gamma
        return resolve_scoring(name, data, sample_weight=weights, structure_prior=structure_prior, **options)
    if isinstance(data, DiscreteTable):
        raise ValueError(f"scoring_method={name!r} needs continuous data, not a discrete table: choose 'bic' or 'bdeu'")
    if entry.kind == "continuous":
        numbers = read_incomplete_numbers(data, f"scoring_method={name!r}")
        return _warn_of_collinearity(
            IncompleteGaussianScoring(
                entry.load(), numbers, data.names, structure_prior, weights=weights, prices=prices
            )
        )
    mixed = read_incomplete_mixed(data, state_names=options["state_names"])
    return _warn_of_collinearity(
        IncompleteMixedScoring(entry.load(), mixed, structure_prior, weights=weights, prices=prices)
    )


def _check_likelihood(name: str, discrete_children: str) -> None:
    """Refuse scores of mixed data that are not likelihoods of a distribution: EM needs expectations."""
    names = list_scores(family="clg")
    if name not in names or discrete_children != "forbidden":
        what = f"scoring_method={name!r}" if name not in names else f"discrete_children={discrete_children!r}"
        raise ValueError(
            f"missing='em' needs a score with a joint likelihood, which {what} does not have: choose one of "
            f"{', '.join(names)} with discrete_children='forbidden', or missing='drop'"
        )


def _bind_incomplete_states(name, data, options, weights, structure_prior, prices) -> Scoring:
    table = encode(data, **{**options, "missing": "pairwise"})
    refuse_unobserved(_list_unobserved(table), "em")
    available = name if find_score(name).has_pairwise else name_default(0, 1)
    if not (table.missing_codes >= 0).any():
        return _bind_discrete(name, table, weights, structure_prior, prices)
    bind = partial(_bind_discrete, name, structure_prior=structure_prior, prices=prices)
    return IncompleteStates(table, weights, bind, _bind_discrete(available, table, weights, structure_prior, prices))


def _list_unobserved(table: DiscreteTable) -> list:
    """Return the names of the columns in which all values are marked as missing."""
    markers = zip(table.columns, table.codes, table.missing_codes, strict=True)
    return [name for name, codes, marker in markers if marker >= 0 and (codes == marker).all()]


def _make_node_average(
    name: str, penalty: float, cards: np.ndarray, missing_codes: np.ndarray, n_rows: float
) -> NodeAverage:
    return NodeAverage(cards, missing_codes, n_rows, name, penalty)


def _ignore_rows(formula, n_rows: float):
    return formula


def _bind_terms(score: DiscreteScore, table: DiscreteTable, weights, structure_prior) -> DiscreteScoring:
    if weights is not None:
        table, weights = combine_weights(table, None, weights)
    if weights is not None:
        return WeightedScoring(score, table, weights, structure_prior)
    return DiscreteScoring(score, table, structure_prior)


def _bind_instance(score: BaseStructureScore, data, options, weights, structure_prior) -> Scoring:
    if options["missing"] == "pairwise" or _is_marked(data):
        raise ValueError(
            f"missing='pairwise' needs a score by name ({describe_pairwise()}), not an instance of "
            f"{type(score).__name__}"
        )
    if weights is not None and options["missing"] == "drop":
        weights = weights_of_complete_rows(weights, data)
    if isinstance(score, DiscreteScore) and score.is_compiled():
        table = _code_as(score, data, options)
        _check_same_table(score, table)
        if not isinstance(score, BDe):
            return _bind_terms(score, table, weights, structure_prior)
        if weights is not None:
            table, weights = combine_weights(table, None, weights)
        formula = partial(_ignore_rows, score.formula(table))
        return FormulaScoring(score, formula, table, structure_prior, weights=weights, equivalent=True)
    if isinstance(score, GaussianScore) and score.is_compiled():
        rows = read_numbers(data, missing=options["missing"], purpose=type(score).__name__)
        _check_same_moments(score, list_names(rows), compute_moments(rows))
        return _warn_of_collinearity(GaussianScoring(score, rows, structure_prior, weights=weights))
    if isinstance(score, MixedScore) and score.is_compiled():
        mixed = score.prepare(read_mixed(data, state_names=score.state_names, missing=options["missing"]))
        _check_same_mixed(score, mixed)
        return _warn_of_collinearity(MixedScoring(score, mixed, structure_prior, weights=weights))
    _refuse_weights(type(score).__name__, weights)
    frame = _make_frame(data, options["missing"])
    # a score of pgmpy keeps its frame as `data`; a user's score without it is compared by its names only
    data_of_score: Any = getattr(score, "data", None)
    _check_same(score, list(frame.columns), len(frame), len(frame) if data_of_score is None else len(data_of_score))
    if data_of_score is not None:
        for name in frame:
            if not np.array_equal(data_of_score[name].to_numpy(), frame[name].to_numpy()):
                raise _data_differ(name)
    discrete = score.get_class_tag("supported_datatype") == "discrete"
    fitted_to = _code_as(score, data, options) if discrete else frame
    return FunctionScoring(score, list(frame.columns), fitted_to, structure_prior)


# ---- row weights and missing values ----


def _refuse_weights(name: str, weights: np.ndarray | None) -> None:
    if weights is not None:
        raise ValueError(f"sample_weight is not supported by {name!r}, a score of pgmpy: use one of pgmx's scores")


def _is_marked(data) -> bool:
    return isinstance(data, DiscreteTable) and bool((data.missing_codes >= 0).any())


def _check_missing_choice(name: str, data, missing: str) -> None:
    """Refuse 'category' and 'pairwise' for continuous data and for scores that do not support them."""
    choice, entry = "pairwise" if _is_marked(data) else missing, find_score(name)
    if {"category": entry.kind == "discrete", "pairwise": entry.has_pairwise}.get(choice, True):
        return
    if entry.kind != "discrete" and not isinstance(data, DiscreteTable) and data.float_columns:
        raise StatesChoiceError(data.float_columns, choice)
    raise ValueError(
        f"missing={choice!r} is not supported by scoring_method={name!r}: choose {describe_pairwise()}, or "
        "missing='drop'"
    )


# ---- comparison with the data of a score instance ----


def _code_as(score, data, options) -> DiscreteTable:
    """Return the data coded with the states of the score."""
    states = getattr(score, "state_names", None)
    return data if isinstance(data, DiscreteTable) else data.encode(**{**options, "state_names": states})


def _make_frame(data, missing: str):
    if isinstance(data, DiscreteTable):
        return data.to_pandas()
    return data.to_pandas(missing=missing)


def _check_same_table(score: DiscreteScore, table: DiscreteTable) -> None:
    _check_same(score, list(table.columns), table.n_rows, score.table.n_rows)
    if table is not score.table:
        _compare_states(table, score.table)


def _compare_states(table: DiscreteTable, table_of_score: DiscreteTable) -> None:
    for name, column in zip(table.columns, table.codes, strict=True):
        v = table_of_score.index(name)
        same_states = table.states[table.index(name)] == table_of_score.states[v]
        if not same_states or not np.array_equal(column, table_of_score.codes[v]):
            raise _data_differ(name)


def _check_same_moments(score: GaussianScore, names: list, sample_moments: Moments) -> None:
    _check_same(score, names, int(sample_moments.n), int(score.moments.n))
    order = [score.variables.index(name) for name in names]
    theirs = score.moments.mean[order], score.moments.cross[np.ix_(order, order)]
    scale = np.sqrt(np.maximum(sample_moments.cross.diagonal(), theirs[1].diagonal()))
    # the same rows, summed in another order, have moments that differ in their last digits
    off = np.abs(sample_moments.mean - theirs[0]) > 1e-9 * (scale + np.abs(sample_moments.mean))
    off |= (np.abs(sample_moments.cross - theirs[1]) > 1e-7 * np.outer(scale, scale)).any(axis=1)
    if off.any():
        raise _data_differ(names[int(np.argmax(off))])


def _check_same_mixed(score: MixedScore, mixed: MixedTable) -> None:
    _check_same(score, list(mixed.columns), mixed.n_rows, score.mixed.n_rows)
    theirs = score.mixed
    if mixed.continuous_columns != theirs.continuous_columns:
        raise _data_differ(next(iter(set(mixed.continuous_columns) ^ set(theirs.continuous_columns))))
    for name, cells, cells_of_score in zip(mixed.continuous_columns, mixed.numbers, theirs.numbers, strict=True):
        if not np.array_equal(cells, cells_of_score):
            raise _data_differ(name)
    if mixed.table is not None and theirs.table is not None:
        _compare_states(mixed.table, theirs.table)


def _check_same(score, names: list, n_rows: int, rows_of_score: int) -> None:
    check_same_names(
        getattr(score, "variables", names), names, "the score", "the data", "columns", "Make the score from this data"
    )
    if rows_of_score != n_rows:
        raise ValueError(
            f"the score was made from {rows_of_score} rows, but the data have {n_rows}: make it from this data"
        )


def _data_differ(name) -> ValueError:
    return ValueError(f"the score was made from other data. Column {name!r} differs: make it from this data")
