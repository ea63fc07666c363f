"""Pictures of distributions: the CPD of a variable, and the distribution of each variable given observations."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from itertools import product
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from pgmx.checks import is_number, join_names
from pgmx.fitted import get_model
from pgmx.inference import marginals
from pgmx.lookup import suggest
from pgmx.plotting.labels import shorten
from pgmx.plotting.pictures import make_figure
from pgmx.plotting.strengths import make_axes

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.colors import Colormap
    from matplotlib.figure import Figure

_PALE, _FACE, _DARK, _RED, _INK = "#dbe6f1", "#2f6ea5", "#102f55", "#c8323c", "#33475b"
_PRIOR = "#b9c4cf"
_MOST_BARS, _MOST_STATES, _FEW = 40, 12, 6
_LEAST_TEXT = 0.09  # smallest probability that is written on its bar
_INTERVAL = 1.959964  # standard deviations of a 95 % interval
_MOST_PANELS, _MOST_COLUMNS = 40, 5


# ---- CPDs ----


def plot_cpd(model: Any, variable: Hashable, ax: Axes | None = None) -> Axes:
    """Draw the conditional distribution of a variable given its parents.

    Discrete variables: one bar per configuration of the parents, divided by the probabilities of the states; above 40
    configurations or 12 states a heat map. Continuous variables: the coefficients of the regression on the parents.
    With discrete parents: means with 95 % intervals for each of their configurations, where continuous parents are 0.

    Parameters
    ----------
    model : Bayesian network or fitted learner
        A network with CPDs: discrete, linear Gaussian or conditional linear Gaussian.
    variable : hashable
        The name of the variable.
    ax : matplotlib.axes.Axes, optional
        The axes to draw on. Default: a new figure, independent of pyplot.

    Returns
    -------
    matplotlib.axes.Axes
        The axes drawn on.

    Raises
    ------
    TypeError, ValueError
        If `model` is not a Bayesian network, `variable` is not one of its variables or has no CPD, or a continuous
        variable has more than 40 configurations of discrete parents.

    Examples
    --------
    >>> from pgmx.datasets import load_network
    >>> from pgmx.plotting import plot_cpd
    >>> ax = plot_cpd(load_network("asia"), "dysp")
    >>> [label.get_text() for label in ax.get_yticklabels()]
    ['bronc=yes, either=yes', 'bronc=yes, either=no', 'bronc=no, either=yes', 'bronc=no, either=no']
    """
    network = get_model(model)
    if not hasattr(network, "get_cpds") or not hasattr(network, "nodes"):
        raise TypeError(f"plot_cpd draws CPDs of Bayesian networks, got {type(network).__name__}")
    _check_names([variable], list(network.nodes()), "variable")
    cpd = network.get_cpds(variable)
    if cpd is None:
        raise ValueError(f"node {variable!r} has no parameters: fit the model or add its CPD")
    if hasattr(cpd, "beta"):
        return _draw_coefficients(ax, variable, list(cpd.evidence), np.asarray(cpd.beta, dtype=float), float(cpd.std))
    if hasattr(cpd, "discrete_parents"):
        if not cpd.discrete_parents:
            return _draw_coefficients(ax, variable, cpd.continuous_parents, cpd.coefficients, float(cpd.std))
        return _draw_intervals(ax, variable, cpd)
    return _draw_table(ax, variable, cpd)


def _name_rows(parents: Sequence[Hashable], states: Sequence[Sequence]) -> list[str]:
    """Return the configurations of the parents as text, the last parent varies fastest."""
    return [
        ", ".join(f"{shorten(name)}={shorten(state)}" for name, state in zip(parents, row, strict=True))
        for row in product(*states)
    ]


def _draw_table(ax: Axes | None, variable: Hashable, cpd: Any) -> Axes:
    parents = list(cpd.variables)[1:]
    names = cpd.state_names
    states = [str(shorten(state)) for state in names[variable]]
    table = np.asarray(cpd.values, dtype=float).reshape(len(states), -1).T
    rows = _name_rows(parents, [names[parent] for parent in parents])
    if len(rows) <= _MOST_BARS and len(states) <= _MOST_STATES:
        ax = make_axes(ax, 6.4, 1.0 + 0.26 * len(rows))
        _draw_stacked_bars(ax, table, states)
    else:
        ax = make_axes(ax, 6.4, float(np.clip(1.2 + 0.14 * len(rows), 2.4, 7.0)))
        _draw_heat(ax, table, states)
    if len(rows) <= _MOST_BARS:
        _write_rows(ax, rows)
    else:
        ax.set_yticks([])
        ax.set_ylabel(f"{len(rows):,} configurations of {', '.join(shorten(parent) for parent in parents)}", fontsize=8)
    ax.set_xlabel(f"P({shorten(variable)}{' | parents' if parents else ''})").set_parse_math(False)
    return ax


def _draw_stacked_bars(ax: Axes, table: np.ndarray, states: Sequence[str]) -> None:
    from matplotlib.colors import to_rgb

    shades = _make_shades()(np.linspace(0.0, 1.0, len(states)))
    left = np.zeros(len(table))
    for k, state in enumerate(states):
        ax.barh(
            np.arange(len(table)), table[:, k], left=left, height=0.78, color=shades[k], label=state, edgecolor="white"
        )
        ink = "white" if sum(to_rgb(shades[k])) < 1.6 else _INK
        for row in np.flatnonzero(table[:, k] >= _LEAST_TEXT).tolist():
            middle = left[row] + table[row, k] / 2
            ax.text(middle, row, f"{table[row, k]:.2f}", ha="center", va="center", fontsize=7, color=ink)
        left = left + table[:, k]
    ax.set_xlim(0.0, 1.0)
    ax.set_ylim(len(table) - 0.5, -0.5)
    legend = ax.legend(
        loc="lower left",
        bbox_to_anchor=(0.0, 1.0),
        ncols=min(6, len(states)),
        frameon=False,
        fontsize=8,
        handlelength=1.0,
    )
    for text in legend.get_texts():
        text.set_parse_math(False)


def _draw_heat(ax: Axes, table: np.ndarray, states: Sequence[str]) -> None:
    image = ax.imshow(table, cmap=_make_shades(), vmin=0.0, vmax=1.0, aspect="auto", interpolation="nearest")
    if len(states) <= _MOST_BARS:
        ax.set_xticks(np.arange(len(states)), states, rotation=90 if len(states) > _FEW else 0, fontsize=8)
        for label in ax.get_xticklabels():
            label.set_parse_math(False)
    else:
        ax.set_xticks([])
    bar = ax.figure.colorbar(image, ax=ax, shrink=0.9, pad=0.02)
    bar.set_label("probability")
    bar.outline.set_visible(False)


def _draw_coefficients(
    ax: Axes | None, variable: Hashable, parents: Sequence[Hashable], beta: np.ndarray, std: float
) -> Axes:
    ax = make_axes(ax, 6.0, 1.2 + 0.28 * len(beta))
    rows = np.arange(len(beta))
    ax.barh(rows, beta, height=0.6, color=[_FACE if value >= 0 else _RED for value in beta])
    for row, value in enumerate(beta.tolist()):
        align = "left" if value >= 0 else "right"
        ax.annotate(
            f"{value:.3g}",
            (value, row),
            xytext=(3 if value >= 0 else -3, 0),
            textcoords="offset points",
            ha=align,
            va="center",
            fontsize=8,
            color=_INK,
        )
    ax.axvline(0.0, color=_INK, linewidth=0.8)
    ax.margins(x=0.15)
    ax.set_ylim(len(beta) - 0.5, -0.5)
    _write_rows(ax, ["intercept", *(shorten(parent) for parent in parents)])
    ax.set_xlabel(f"coefficients of {shorten(variable)}; standard deviation {std:.3g}").set_parse_math(False)
    return ax


def _draw_intervals(ax: Axes | None, variable: Hashable, cpd: Any) -> Axes:
    rows = _name_rows(cpd.discrete_parents, [cpd.state_names[parent] for parent in cpd.discrete_parents])
    if len(rows) > _MOST_BARS:
        raise ValueError(
            f"{variable!r} has {len(rows):,} configurations of discrete parents, at most {_MOST_BARS} are drawn: "
            "get_cpds(variable).to_frame() has them all"
        )
    beta, std = cpd.coefficients.reshape(len(rows), -1), cpd.std.ravel()
    ax = make_axes(ax, 6.4, 1.1 + 0.28 * len(rows))
    places = np.arange(len(rows))
    ax.errorbar(
        beta[:, 0], places, xerr=_INTERVAL * std, fmt="o", color=_FACE, ecolor=_PRIOR, elinewidth=4, markersize=5
    )
    parents = cpd.continuous_parents
    if parents:
        for row, slopes in enumerate(beta[:, 1:].tolist()):
            terms = [f"{slope:+.3g} {shorten(name)}" for slope, name in zip(slopes, parents, strict=True)]
            text = ax.annotate(
                ", ".join(terms).replace("-", "\N{MINUS SIGN}"),
                (beta[row, 0], row),
                xytext=(0, 5),
                textcoords="offset points",
                ha="center",
                fontsize=7,
                color=_INK,
            )
            text.set_parse_math(False)
    ax.set_ylim(len(rows) - 0.5, -0.5)
    _write_rows(ax, rows)
    where = " where the continuous parents are 0" if parents else ""
    ax.set_xlabel(f"{shorten(variable)}: mean and 95 % interval{where}").set_parse_math(False)
    return ax


def _write_rows(ax: Axes, rows: Sequence[str]) -> None:
    ax.set_yticks(np.arange(len(rows)), rows, fontsize=8)
    for label in ax.get_yticklabels():
        label.set_parse_math(False)
    ax.tick_params(axis="y", length=0)


def _make_shades() -> Colormap:
    from matplotlib.colors import LinearSegmentedColormap

    return LinearSegmentedColormap.from_list("pgmx-shares", [_PALE, "#7fa3c9", _DARK])


# ---- marginals ----


class _Panel(NamedTuple):
    """One variable: its states and two distributions, or two pairs of mean and standard deviation."""

    name: Hashable
    states: Sequence | None
    before: np.ndarray
    after: np.ndarray

    @property
    def n_rows(self) -> int:
        """Number of bars."""
        return 2 if self.states is None else len(self.states)

    @property
    def change(self) -> float:
        """Total variation distance, or the change of the mean and the width in standard deviations before."""
        if self.states is not None:
            return float(np.abs(self.after - self.before).sum() / 2)
        return float(np.abs(self.after - self.before).max() / max(self.before[1], 1e-300))


def plot_marginals(
    model: Any,
    evidence: Mapping[Hashable, Any] | None = None,
    *,
    variables: Sequence[Hashable] | None = None,
    figure: Figure | None = None,
) -> Figure:
    """Draw the distribution of each variable given observations, and in grey without them.

    Discrete variables have a bar per state, continuous variables their mean with a 95 % interval.

    Parameters
    ----------
    model : network or fitted learner
        A discrete Bayesian or Markov network, or a Gaussian or mixed network.
    evidence : dict of {name: state or value}, optional
        Observed variables.
    variables : sequence of hashable, optional
        The variables to draw. Default: all that are not observed, but at most the 40 whose distributions the
        observations change most (total variation distance; for continuous variables the larger change of mean and
        standard deviation in units of the latter).
    figure : matplotlib.figure.Figure, optional
        The figure to draw on. Default: a new figure, independent of pyplot.

    Returns
    -------
    matplotlib.figure.Figure
        One axes per variable, in the order of the network.

    Raises
    ------
    TypeError, ValueError
        If `model` is not a network with parameters, the observations are impossible, or a name or state is unknown.

    Notes
    -----
    Discrete networks are answered by :func:`pgmx.inference.marginals`, others by their method ``predict_proba``.

    Examples
    --------
    >>> from pgmx.datasets import load_network
    >>> from pgmx.plotting import plot_marginals
    >>> figure = plot_marginals(load_network("asia"), {"xray": "yes"}, variables=["lung", "tub"])
    >>> [ax.get_title() for ax in figure.axes]
    ['tub', 'lung']
    """
    network = get_model(model)
    if not (evidence is None or isinstance(evidence, Mapping)):
        raise TypeError(f"evidence must be a dict of {{name: state or value}}, got {evidence!r:.100}")
    given = dict(evidence or {})
    names = _list_names(network)
    _check_names(given, names, "evidence")
    if variables is not None:
        chosen = [variables] if isinstance(variables, str) else list(variables)
        _check_names(chosen, names, "variables")
        observed = [name for name in chosen if name in given]
        if observed or not chosen:
            raise ValueError(
                f"variables has {join_names(observed)}, observed in evidence" if observed else "variables is empty"
            )
    panels = _read_panels(network, names, given)
    if variables is not None:
        panels = [panel for panel in panels if panel.name in chosen]
    if not panels:
        raise ValueError("all variables are observed: there is nothing to draw")
    shown = sorted(range(len(panels)), key=lambda k: -panels[k].change)[:_MOST_PANELS]
    return _draw_panels([panels[k] for k in sorted(shown)], len(panels), given, figure)


def _list_names(network: Any) -> list:
    """Return the names of the variables of a network with parameters."""
    if not hasattr(network, "nodes") or not (hasattr(network, "predict_proba") or hasattr(network, "get_cpds")):
        raise TypeError(f"plot_marginals draws answers of a network with parameters, got {type(network).__name__}")
    return list(network.nodes())


def _check_names(given: Any, names: list, option: str) -> None:
    unknown = [name for name in given if name not in names]
    if unknown:
        remedy = suggest(unknown[0], names) if len(unknown) == 1 else ""
        raise ValueError(f"{option} has {join_names(unknown)}, not in the network{remedy}")


def _read_panels(network: Any, names: list, given: dict) -> list[_Panel]:
    """Return the distributions before and after the observations."""
    is_discrete = not (hasattr(network, "continuous") or hasattr(network, "to_joint_gaussian"))
    if is_discrete:
        before = marginals(network)
        after = marginals(network, given) if given else before
        return [_Panel(name, list(after[name]), before.array(name), after.array(name)) for name in after]
    before = _predict(network, names, {})
    after = _predict(network, names, given) if given else before
    panels = []
    for name in names:
        if name not in given:
            labels = list(after[name].columns)
            states = None if labels == ["mean", "std"] else labels
            panels.append(_Panel(name, states, before[name].to_numpy()[0], after[name].to_numpy()[0]))
    return panels


def _predict(network: Any, names: list, given: dict) -> Any:
    """Return the distributions of all variables without a value, one row."""
    import pandas as pd

    wrong = [name for name, value in given.items() if name in _list_continuous(network) and not is_number(value)]
    if wrong:
        raise ValueError(f"evidence gives {given[wrong[0]]!r} for {wrong[0]!r}: give a number")
    row = pd.DataFrame({name: pd.Series([given.get(name)], dtype=None if name in given else object) for name in names})
    for name in _list_continuous(network):
        row[name] = row[name].astype(float)
    return network.predict_proba(row)


def _list_continuous(network: Any) -> list:
    """Return the continuous variables of a Gaussian or mixed network."""
    return list(getattr(network, "continuous", None) or ([] if hasattr(network, "continuous") else network.nodes()))


def _draw_panels(panels: list[_Panel], n_all: int, given: dict, figure: Figure | None) -> Figure:
    n_columns = min(_MOST_COLUMNS, int(np.ceil(np.sqrt(len(panels)))))
    n_rows = -(-len(panels) // n_columns)
    most = [max(panel.n_rows for panel in panels[row * n_columns :][:n_columns]) for row in range(n_rows)]
    heights = [0.45 + 0.17 * min(n, _MOST_STATES) for n in most]
    title = ", ".join(f"{shorten(name)} = {shorten(value)}" for name, value in given.items())
    notes = []
    if given:
        notes.append(f"given {title if len(title) <= 40 * n_columns else f'{len(given)} observed variables'}")
    if len(panels) < n_all:
        notes.append(f"the {len(panels)} of {n_all} variables that change most")
    if figure is None:
        figure = make_figure(2.3 * n_columns, sum(heights) + 0.35 * len(notes) + 0.1)
    grid = figure.subplots(n_rows, n_columns, squeeze=False, gridspec_kw={"height_ratios": heights})
    for at, ax in enumerate(grid.ravel()):
        if at >= len(panels):
            ax.remove()
            continue
        if panels[at].states is None:
            _draw_numbers(ax, panels[at], bool(given))
        else:
            _draw_states(ax, panels[at], bool(given))
            ax.set_ylim(max(panels[at].n_rows, min(most[at // n_columns], _MOST_STATES)) - 0.5, -0.5)
    if notes:
        figure.suptitle("\n".join(notes), fontsize=9).set_parse_math(False)
    return figure


def _draw_states(ax: Axes, panel: _Panel, has_evidence: bool) -> None:
    _strip(ax, panel.name)
    rows = np.arange(panel.n_rows)
    if has_evidence:
        ax.barh(rows, panel.before, height=0.86, color=_PRIOR)
    ax.barh(rows, panel.after, height=0.5 if has_evidence else 0.72, color=_FACE)
    ax.set_xlim(0.0, 1.0)
    ax.set_xticks([])
    if panel.n_rows > _MOST_STATES:
        ax.set_yticks([])
        return
    _write_rows(ax, [shorten(state, 14) for state in panel.states or ()])
    for row, value in enumerate(panel.after.tolist()):
        place = max(value, panel.before[row] if has_evidence else 0.0)
        inside = place > 0.8
        ax.text(
            place - 0.02 if inside else place + 0.02,
            row,
            f"{value:.2f}",
            ha="right" if inside else "left",
            va="center",
            fontsize=7,
            color="white" if inside and value > 0.7 else _INK,
        )


def _draw_numbers(ax: Axes, panel: _Panel, has_evidence: bool) -> None:
    _strip(ax, panel.name)
    pairs = [(panel.before, _PRIOR, 1)] if has_evidence else []
    for (mean, std), colour, row in [*pairs, (panel.after, _FACE, 0)]:
        ax.plot([mean - _INTERVAL * std, mean + _INTERVAL * std], [row, row], color=colour, linewidth=4)
        ax.plot([mean], [row], marker="o", color=_INK if colour == _FACE else colour, markersize=5)
    mean, std = panel.after.tolist()
    ax.set_ylim(1.6 if has_evidence else 0.6, -0.8)
    ax.margins(x=0.08)
    ax.set_yticks([])
    ax.tick_params(axis="x", labelsize=7)
    ax.locator_params(axis="x", nbins=4)
    ax.annotate(
        f"{mean:.3g} ± {_INTERVAL * std:.2g}",
        (mean, 0),
        xytext=(0, 5),
        textcoords="offset points",
        ha="center",
        fontsize=7,
        color=_INK,
    )


def _strip(ax: Axes, name: Hashable) -> None:
    """Remove the frame, and write the name of the variable above."""
    for side in ("top", "right", "left", "bottom"):
        ax.spines[side].set_visible(False)
    ax.tick_params(length=0)
    ax.set_title(shorten(name), fontsize=8.5, loc="center", pad=2, color=_INK).set_parse_math(False)
