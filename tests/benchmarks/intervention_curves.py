"""Distance from the true graph against the share of interventional rows: the picture in INTERVENTIONS.md.

The records are those of ``intervention_recovery.py --out tests/benchmarks/results/interventions.json``.

    python tests/benchmarks/intervention_curves.py
"""

import json
from pathlib import Path

from matplotlib.figure import Figure

RESULTS = Path(__file__).parent / "results"
COLOURS = {100: "#d55e00", 1_000: "#009e73", 10_000: "#0072b2"}


def draw(records):
    """Return the figure: a row of panels for each kind of targets, a column for each network."""
    networks, kinds = ["asia", "sachs", "alarm"], ["single", "double"]
    figure = Figure(figsize=(9.5, 5.4), layout="constrained")
    panels = figure.subplots(len(kinds), len(networks), sharex=True, sharey="col", squeeze=False)
    percent = [100 * share for share in records["shares"]]
    for curve in records["curves"]:
        at = kinds.index(curve["targets"]), networks.index(curve["network"])
        style = "-" if curve["taken_as"] == "interventions" else "--"
        label = f"{curve['n_rows']:,} rows, {curve['taken_as']}" if at == (0, 0) else None
        panels[at].plot(percent, curve["shd"], style, color=COLOURS[curve["n_rows"]], marker=".", label=label)
    for row, kind in zip(panels, kinds, strict=True):
        row[0].set_ylabel("SHD")
        for panel, name in zip(row, networks, strict=True):
            panel.set_title(f"{name}, {kind} interventions", fontsize="medium")
            panel.set_ylim(bottom=0)
            panel.grid(alpha=0.3)
    for panel in panels[-1]:
        panel.set_xlabel("interventional rows, %")
    figure.legend(loc="outside lower center", ncols=3, fontsize="small")
    return figure


def main():
    records = json.loads((RESULTS / "interventions.json").read_text())
    draw(records).savefig(RESULTS / "interventions.png", dpi=80)


if __name__ == "__main__":
    main()
