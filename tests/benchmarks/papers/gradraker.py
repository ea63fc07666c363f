"""Gradraker (Shen 2019, chapter 6): figures 6.1 to 6.5.

Means over 3 or 5 draws of the labelled nodes, with ``--full`` over 20.

Baselines: the training mean, neighbours, label propagation, kernels of the graph (diffusion, band-limited) and a
Gaussian kernel of rows without random features, with and without centred values. Graphs: ``online`` in
PGMX_BENCHMARK_DATA.
"""

import sys
from contextlib import redirect_stdout
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

import streaming_gradraker as gradraker
from claims import STREAMS, Claim, need_data, report

SHOWN = {
    "Gradraker": "Gradraker",
    "as the source": "with the source's settings",
    "training mean": "training mean",
    "nearest neighbours of the source": "nearest neighbours as in the source",
    "one hop": "mean of neighbours",
    "propagation": "label propagation",
}


def measure(compare, n_draws, *more):
    """Return the figures of a part of streaming_gradraker.py, whose messages go to the standard error."""
    with redirect_stdout(sys.stderr):
        return compare(n_draws, *more)


def describe(figures, names):
    return ", ".join(f"{label} {figures[name][0]:.3f}" for name, label in names.items() if name in figures)


def find_best(figures, word, centred):
    """Return the least error of the kernels whose names hold a word, and the name."""
    found = [(mean, name) for name, (mean, _) in figures.items() if word in name and ("not centred" in name) != centred]
    return min(found)


def list_kernels(figures):
    """Return words on the best graph kernel and the Gaussian kernel, centred and not."""
    words = [
        f"{label} {find_best(figures, word, True)[0]:.3f} ({find_best(figures, word, False)[0]:.3f} not centred)"
        for label, word in (("best diffusion kernel", "diffusion"), ("band-limited", "band"), ("Gaussian", "Gaussian"))
    ]
    return ", ".join(words)


def check_synthetic(full):
    """Figures 6.1 and 6.2."""
    rows = measure(gradraker.compare_synthetic, 20 if full else 5)
    for item, title, claim in (
        (
            "figure 6.1",
            "diffusion",
            "values of a diffusion kernel: this kernel is the best, Gradraker beats neighbours",
        ),
        ("figure 6.2", "Gaussian", "values of a Gaussian kernel: this kernel is the best, Gradraker beats the others"),
    ):
        figures = rows[f"synthetic, {title} 1000"]
        mean, own = figures["training mean"][0], figures["Gradraker"][0]
        yield Claim(
            item,
            claim,
            f"1,000 nodes: {describe(figures, SHOWN)}, {list_kernels(figures)}",
            "not reproduced: values are nearly constant or independent draws, and the training mean is the best"
            if mean <= own
            else "partly",
        )


def check_temperatures(full):
    """Figure 6.3, on other stations."""
    item, claim = "figure 6.3", "temperatures of 89 Swiss stations: Gradraker beats graph kernels"
    absent = need_data(STREAMS / "us_station_temperature.parquet", item, claim)
    yield from absent
    if absent:
        return
    rows = measure(gradraker.compare_temperatures, 20 if full else 5)
    for n_labelled in (50, 200):
        figures = rows[f"stations {n_labelled}"]
        better = figures["Gradraker"][0] < find_best(figures, "diffusion", True)[0]
        yield Claim(
            item,
            claim,
            f"US stations, M = {n_labelled}: {describe(figures, SHOWN)}, {list_kernels(figures)}",
            "data not at hand: on US stations " + ("the same" if better else "centred diffusion kernels are better"),
        )


def check_classes(full):
    """Figures 6.4 and 6.5."""
    claim = "Gradraker beats graph kernels, and a Gaussian kernel without random features beats it"
    absent = need_data(STREAMS / "cora_edges.parquet", "figures 6.4, 6.5", claim)
    yield from absent
    if absent:
        return
    rows = measure(gradraker.compare_values, 20 if full else 3)
    for item, title, n_labelled in (
        ("figure 6.4", "email", 100),
        ("figure 6.4", "email", 500),
        ("figure 6.5", "Cora", 1000),
    ):
        figures = rows[f"{title} {n_labelled}"]
        own, centred = figures["Gradraker"][0], find_best(figures, "diffusion", True)[0]
        yield Claim(
            item,
            claim,
            f"{title}, M = {n_labelled}: {describe(figures, SHOWN)}, {list_kernels(figures)}",
            "partly: with unit rows, two hops and 400 frequencies" if own < centred else "partly: if not centred",
        )


if __name__ == "__main__":
    report(
        __file__,
        {"figures 6.1, 6.2": check_synthetic, "figure 6.3": check_temperatures, "figures 6.4, 6.5": check_classes},
        __doc__.splitlines()[0],
    )
