"""Pages of the reference, one per public package, from the names that the packages export."""

import builtins
import inspect
from importlib import import_module
from pathlib import Path

from docutils.nodes import Text, field_list, rubric
from sphinx.addnodes import desc, desc_signature, pending_xref

#: Packages whose names users import, with the heading of each, in the order of the contents.
PACKAGES = {
    "pgmx": "The package itself",
    "pgmx.estimators": "Learners",
    "pgmx.models": "Models and their files",
    "pgmx.inference": "Inference",
    "pgmx.scores": "Scores",
    "pgmx.ci_tests": "Tests of conditional independence",
    "pgmx.data": "Data",
    "pgmx.datasets": "Networks and samples",
    "pgmx.metrics": "Metrics",
    "pgmx.plotting": "Plots and reports",
    "pgmx.streaming": "Data streams",
    "pgmx.statistics": "Statistics",
    "pgmx.solvers": "Solvers",
}
#: The packages by the reader's task, in the order of the first table of the reference.
TASKS = {
    "Learn": ("pgmx.estimators", "pgmx.streaming", "pgmx.scores", "pgmx.ci_tests"),
    "Use a learned model": ("pgmx.models", "pgmx.inference", "pgmx.plotting", "pgmx"),
    "Judge it": ("pgmx.metrics",),
    "Data": ("pgmx.data", "pgmx.datasets"),
    "What learners are made of": ("pgmx.statistics", "pgmx.solvers", "results"),
}
#: Classes that no package exports: base classes, arguments of callbacks, types of attributes and results.
RESULTS = (
    "pgmx.estimators.markov.learner.MarkovLearner",
    "pgmx.solvers.markov.penalised_loss.PenalisedLoss",
    "pgmx.scores.gains.GainSource",
    "pgmx.runs.progress.SearchProgress",
    "pgmx.runs.progress.GraftingProgress",
    "pgmx.runs.progress.SolverProgress",
    "pgmx.runs.progress.SkeletonProgress",
    "pgmx.runs.progress.ResamplingProgress",
    "pgmx.runs.progress.PosteriorProgress",
    "pgmx.estimators.bayesian.structure_results.FeatureProbability",
    "pgmx.estimators.paths.PenaltyPath",
    "pgmx.estimators.gaussian.estimate.GaussianPath",
    "pgmx.estimators.markov.path.RegularizationPath",
    "pgmx.estimators.time_series.svarm.edge_tests.EdgeTests",
    "pgmx.estimators.time_series.svarm.learner.SVARMPath",
    "pgmx.models.time_series.dynamic.forecasts.Forecast",
    "pgmx.models.time_series.measures.GraphMeasures",
    "pgmx.solvers.gaussian.graphical_lasso.GraphicalLassoSolution",
    "pgmx.solvers.gaussian.likelihood.MaximumLikelihood",
)
RESULTS_TITLE = "Base classes, and results of callbacks, paths and solvers"
RESULTS_SUMMARY = "Base classes, and objects that learners, callbacks and solvers return. You need not create them."
#: Headings of the folders and modules of a package that hold public names.
FOLDERS = {
    "pgmx.estimators.bayesian": "Bayesian networks",
    "pgmx.estimators.constraint_based": "Bayesian networks",
    "pgmx.estimators.markov": "Markov networks",
    "pgmx.estimators.gaussian": "Gaussian graphical models",
    "pgmx.estimators.selected_graph": "Choosing a penalty",
    "pgmx.estimators.bootstrap": "Edge confidence",
    "pgmx.estimators.block_bootstrap": "Edge confidence",
    "pgmx.estimators.time_series": "Time series",
    "pgmx.models.bayesian": "Bayesian networks",
    "pgmx.models.mixed": "Bayesian networks",
    "pgmx.models.markov_network": "Markov and Gaussian networks",
    "pgmx.models.markov_conversions": "Markov and Gaussian networks",
    "pgmx.models.gaussian_network": "Markov and Gaussian networks",
    "pgmx.models.time_series": "Time series",
    "pgmx.models.any_model": "Files",
    "pgmx.models.evidence": "Files",
    "pgmx.inference.queries": "Questions",
    "pgmx.inference.information": "Questions",
    "pgmx.inference.maximisation": "Questions",
    "pgmx.inference.pgmpy_classes": "Questions",
    "pgmx.inference.effects": "Effects of interventions",
    "pgmx.inference.exact": "Elimination",
    "pgmx.inference.approximate": "Approximations",
    "pgmx.inference.partition": "Approximations",
    "pgmx.scores.discrete": "Discrete data",
    "pgmx.scores.gaussian": "Continuous data",
    "pgmx.scores.mixed": "Mixed data",
    "pgmx.scores.priors": "Prior probabilities of graphs",
    "pgmx.data.inputs": "Input",
    "pgmx.data.files": "Input",
    "pgmx.data.frame": "Input",
    "pgmx.data.discretizer": "Input",
    "pgmx.data.table": "Tables",
    "pgmx.data.numeric": "Tables",
    "pgmx.data.distributed": "Tables",
    "pgmx.data.memory": "Memory",
    "pgmx.datasets.bundled": "Networks and samples",
    "pgmx.datasets.examples": "Networks and samples",
    "pgmx.datasets.sampling": "Networks and samples",
    "pgmx.datasets.markov": "Markov networks",
    "pgmx.datasets.reservoirs": "Markov networks",
    "pgmx.datasets.gaussian": "Gaussian networks",
    "pgmx.datasets.time_series": "Time series and streams",
    "pgmx.datasets.structural": "Time series and streams",
    "pgmx.datasets.events": "Time series and streams",
    "pgmx.datasets.changing": "Time series and streams",
    "pgmx.metrics.graphs": "Differences between graphs",
    "pgmx.metrics.time_series": "Time series",
    "pgmx.metrics.tracking": "Time series",
    "pgmx.metrics.predictions": "Time series",
    "pgmx.metrics.prequential": "Streams",
    "pgmx.metrics.regret": "Streams",
    "pgmx.plotting.graphs": "Graphs",
    "pgmx.plotting.heat_maps": "Graphs",
    "pgmx.plotting.strengths": "Graphs",
    "pgmx.plotting.series_graphs": "Graphs",
    "pgmx.plotting.distributions": "Distributions",
    "pgmx.plotting.curves": "Curves and series",
    "pgmx.plotting.edge_curves": "Curves and series",
    "pgmx.plotting.edge_paths": "Curves and series",
    "pgmx.plotting.paths": "Curves and series",
    "pgmx.plotting.forecast": "Curves and series",
    "pgmx.plotting.history": "Curves and series",
    "pgmx.plotting.reports": "Reports",
}


def group_names(package: str) -> dict[str, list[str]]:
    """Return the public names of a package by the headings of the folders that they come from."""
    module = import_module(package)
    groups: dict[str, list[str]] = {
        heading: [] for folder, heading in FOLDERS.items() if folder.startswith(f"{package}.")
    }
    groups["All names" if not groups else "Other names"] = []
    for name in module.__all__:
        place = getattr(getattr(module, name), "__module__", "")
        folder = next((f for f in FOLDERS if f.startswith(f"{package}.") and f"{place}.".startswith(f"{f}.")), None)
        groups[FOLDERS[folder] if folder else list(groups)[-1]].append(name)
    return {heading: names for heading, names in groups.items() if names}


def name_page(package: str) -> str:
    """Return the title of the page of a package."""
    return f"{package}: {PACKAGES[package][0].lower()}{PACKAGES[package][1:]}"


def summarise(page: str) -> str:
    """Return the line that says what a page of the reference has."""
    return RESULTS_SUMMARY if page == "results" else inspect.getdoc(import_module(page)).split("\n")[0]


def write_page(package: str) -> str:
    """Return the page of a package."""
    title = name_page(package)
    parts = [title, "=" * len(title), "", summarise(package), "", f".. module:: {package}", ""]
    groups = group_names(package)
    for heading, names in groups.items():
        if len(groups) > 1:
            parts += [heading, "-" * len(heading), ""]
        parts += [".. autosummary::", "   :toctree: names", "   :nosignatures:", ""]
        parts += [*(f"   {name}" for name in sorted(names)), ""]
    return "\n".join(parts)


def write_results() -> str:
    """Return the page of the classes that no package exports."""
    parts = [RESULTS_TITLE, "=" * len(RESULTS_TITLE), "", RESULTS_SUMMARY, "", ".. autosummary::", "   :toctree: names"]
    return "\n".join([*parts, "", *(f"   {name}" for name in RESULTS), ""])


def write_contents() -> str:
    """Return the first page: a table of the packages by task, then tables of all names with their summaries."""
    text = "All public names, with signatures, types, defaults, formulas and sources, from the docstrings."
    parts = ["Reference", "=========", "", text, ""]
    for task, pages in TASKS.items():
        parts += [f"**{task}**", "", ".. list-table::", "   :widths: 25 75", ""]
        for page in pages:
            parts += [f"   * - :doc:`{page} <{page}>`", f"     - {summarise(page)}"]
        parts += [""]
    parts += [".. toctree::", "   :maxdepth: 1", "   :hidden:", ""]
    parts += [*(f"   {page}" for page in (*PACKAGES, "results")), ""]
    for package in (page for pages in TASKS.values() for page in pages if page != "results"):
        title = name_page(package)
        parts += [title, "-" * len(title), "", f".. currentmodule:: {package}", ""]
        groups = group_names(package)
        for heading, names in groups.items():
            parts += [f"**{heading}**", ""] if len(groups) > 1 else []
            parts += [".. autosummary::", "   :nosignatures:", "", *(f"   {name}" for name in sorted(names)), ""]
    parts += [
        RESULTS_TITLE,
        "-" * len(RESULTS_TITLE),
        "",
        ".. currentmodule:: None",
        "",
        ".. autosummary::",
        "   :nosignatures:",
        "",
    ]
    parts += [*(f"   ~{name}" for name in RESULTS), ""]
    return "\n".join(parts)


def write_pages(app, config):
    """Write the pages into ``reference/``. Existing pages with the same text are not written again."""
    folder = Path(app.srcdir) / "reference"
    folder.mkdir(exist_ok=True)
    pages = {"index": write_contents(), "results": write_results()}
    for name, text in (pages | {package: write_page(package) for package in PACKAGES}).items():
        path = folder / f"{name}.rst"
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")


def is_foreign(app, what, name, member, skip, options):
    """Omit members inherited from other packages, which their own manuals document."""
    function = member.fget if isinstance(member, property) else member
    module = getattr(inspect.unwrap(function) if callable(function) else function, "__module__", None)
    if what == "class" and isinstance(module, str) and module.partition(".")[0] != "pgmx":
        return True
    return None


def show_purpose_first(app, doctree):
    """Put what an object is for, and its examples, before its signature, which may fill a screen.

    Links to the object lead to the top of its page.
    """
    described = next(doctree.findall(desc), None)
    if described is None or not app.env.docname.startswith("reference/names/"):
        return
    signature, content = described[0], described[-1]
    moved, is_moved = [], True
    for node in content:
        if isinstance(node, field_list | rubric | desc):
            is_moved = isinstance(node, rubric) and node.astext() == "Examples"
        if is_moved:
            moved.append(node)
    for node in moved:
        content.remove(node)
    page = described.parent
    page[page.index(described) : page.index(described)] = moved
    page["ids"] += signature["ids"]
    signature["ids"] = []


def unlink_builtins(app, doctree):
    """Show types such as ``bytes`` without a link, which would otherwise lead to an attribute of that name."""
    for node in list(doctree.findall(pending_xref)):
        if node.get("refdomain") == "py" and hasattr(builtins, node.get("reftarget", "")):
            node.replace_self(Text(node["reftarget"]))


def list_parents(node):
    """Yield the ancestors of a node, the nearest first."""
    while node.parent is not None:
        node = node.parent
        yield node


def show_unlinked(app, env, node, content):
    """Show a type in a signature without a link if it has no page. References in docstrings must have a target."""
    if any(isinstance(parent, desc_signature) for parent in list_parents(node)):
        return Text(node["reftarget"].rpartition(".")[2])
    return None


def setup(app):
    """Write the pages before autosummary looks for them."""
    app.connect("config-inited", write_pages)
    app.connect("autodoc-skip-member", is_foreign)
    app.connect("doctree-read", unlink_builtins)
    app.connect("doctree-read", show_purpose_first)
    app.connect("missing-reference", show_unlinked)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
