"""The work of ``pgmx stream``: predict and learn rows one after the other, and save the learner."""

import signal
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from pgmx.cli.console import note_interrupt, say
from pgmx.cli.methods import STREAM_METHODS
from pgmx.cli.paths import check_writable
from pgmx.cli.tables import choose_columns, list_layout

_CHUNK_ROWS = 2048  # Ctrl-C waits until the current chunk is learned
_DELAY = 1.0  # seconds before the progress bar is shown
_LOSSES = {"squared": "squared error", "zero-one": "share of wrong labels"}


def stream(source: str, target: str, *, out: Path | None, report: Path | None, quiet: bool, **options: Any) -> None:
    """Learn a stream, report its errors, and write the learner and the picture."""
    _check_targets(out, report)
    if source != "-" and not Path(source).exists():
        raise ValueError(f"no such file or folder: {source}; - is standard input")
    from sklearn.base import is_classifier

    from pgmx.metrics.prequential import PrequentialErrors

    if options["columns"] is not None and target not in options["columns"]:
        options["columns"] = [*options["columns"], target]
    learner, resumed = _make_learner(options)
    has_labels = is_classifier(learner)
    if options["classes"] is not None and not has_labels:
        remedy = "use --loss logistic or hinge for labels" if options["resume"] is None else "leave it out"
        raise ValueError(
            f"--classes {','.join(options['classes'])}: {type(learner).__name__} predicts numbers; {remedy}"
        )
    with _name_in_errors(source):
        classes = _list_classes(learner, source, target, options) if has_labels else None
    errors = PrequentialErrors(learner, options["window"], classes)
    start = time.perf_counter()
    try:
        with _name_in_errors(source):
            _learn(errors, _iterate(source, target, has_labels, options), quiet)
    except KeyboardInterrupt:
        if not errors.n_rows:
            raise
        note_interrupt()
    if not errors.n_rows:
        raise ValueError(f"{_name_source(source)} has no rows")
    curve = errors.make_curve()
    before = f" after {resumed:,} before" if resumed else ""
    say(
        f"{type(learner).__name__}: {errors.n_rows:,} rows{before} in {time.perf_counter() - start:.1f} s; "
        f"mean {_LOSSES[curve.loss]}, each row predicted before it is learned:"
    )
    width = max(map(len, curve.means))
    for name, mean in curve.means.items():
        say(f"  {name:<{width}}  {mean:.6g}")
    if out is not None:
        say(f"wrote {curve.learner.save(out)}")
    if report is not None:
        from pgmx.cli.report import save_figure
        from pgmx.plotting import plot_prequential

        save_figure(plot_prequential(curve).figure, report)


def _check_targets(out: Path | None, report: Path | None) -> None:
    from pgmx.plotting.pictures import check_picture_path

    if out is not None:
        if out.suffix.lower() != ".npz":
            raise ValueError(f"--out {out}: the suffix must be .npz")
        check_writable(out, "--out")
    if report is not None:
        try:
            check_picture_path(report)
        except ValueError as error:
            raise ValueError(f"--report {report}: {error}") from None
        check_writable(report, "--report")


def _make_learner(options: dict) -> tuple[Any, int]:
    """Return a learner, new or from a file, and the rows that it has learned."""
    from pgmx import streaming

    resume, method, loss = options["resume"], options["method"], options["loss"]
    if resume is not None:
        chosen = [name for name in ("method", "loss", "n_components", "random_state") if options[name] is not None]
        if chosen:
            raise ValueError(f"--{chosen[0].replace('_', '-')} is already set in {resume}: leave it out with --resume")
        if not Path(resume).is_file():
            raise ValueError(f"--resume {resume}: no such file")
        learner = streaming.StreamLearner.load(resume)
        return learner, learner.n_seen_
    regressor, classifier = STREAM_METHODS[method or "adaraker"]
    numbers = {name: options[name] for name in ("n_components", "random_state") if options[name] is not None}
    if loss in (None, "square"):
        return getattr(streaming, regressor)(**numbers), 0
    return getattr(streaming, classifier)(loss=loss, **numbers), 0


def _list_classes(learner: Any, source: str, target: str, options: dict) -> list[str] | None:
    """Return all labels: from the learner, from the option, or from a pass over the file."""
    labels = options["classes"]
    if hasattr(learner, "classes_"):
        if labels is not None:
            raise ValueError(f"--classes {','.join(labels)}: a resumed learner has its own classes, leave it out")
        return None
    if labels is not None:
        return labels
    if source == "-":
        raise ValueError("labels from standard input need --classes: all labels, separated by commas")
    return sorted({label for _, labels in _iterate(source, target, True, options) for label in labels})


def _iterate(source: str, target: str, has_labels: bool, options: dict) -> Iterator[tuple[Any, Any]]:
    from pgmx.data.targets import iterate_targets

    opened: Any = sys.stdin if source == "-" else Path(source)
    layout = list_layout(Path("-.csv") if source == "-" else opened, options)
    yield from iterate_targets(
        opened, target, _CHUNK_ROWS, has_labels, layout, lambda names: choose_columns(names, options), options.get("na")
    )


@contextmanager
def _name_in_errors(source: str) -> Iterator[None]:
    """Add the name of the source to errors about its rows."""
    try:
        yield
    except ValueError as error:
        where = _name_source(source)
        raise error if str(error).startswith(("--", where)) else ValueError(f"{where}: {error}") from None


def _name_source(source: str) -> str:
    return "standard input" if source == "-" else source


def _learn(errors: Any, pieces: Iterator[tuple[Any, Any]], quiet: bool) -> None:
    """Learn chunk by chunk; the progress bar shows the error so far."""
    from tqdm.auto import tqdm

    with tqdm(desc=errors.label, unit=" rows", delay=_DELAY, disable=quiet or not sys.stderr.isatty()) as bar:
        for rows, targets in pieces:
            if errors.labels is None and targets.dtype == object:
                raise ValueError(f"the target holds labels, such as {targets[0]!r}: use --loss logistic or hinge")
            names = getattr(errors.learner, "feature_names_in_", None)
            if names is not None and set(names) == set(rows.columns):
                rows = rows[list(names)]
            with _without_interrupts():
                errors.learn(rows, targets)
            bar.set_postfix(error=f"{errors.mean:.4g}", refresh=False)
            bar.update(len(targets))


@contextmanager
def _without_interrupts() -> Iterator[None]:
    """Delay Ctrl-C until the learner and the baselines have learned the current rows."""
    if threading.current_thread() is not threading.main_thread():  # only the main thread may handle signals
        yield
        return
    interrupts: list[int] = []
    before = signal.signal(signal.SIGINT, lambda number, _: interrupts.append(number))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
    if interrupts:
        raise KeyboardInterrupt
