"""Names as texts in pictures: cut if they are long, with their lag in time series."""

from collections import Counter
from collections.abc import Iterable


def shorten(name: object, length: int = 18) -> str:
    """Return the text of a name on one line, cut."""
    text = " ".join(str(name).split())
    return text if len(text) <= length else text[: length - 1] + "…"


def shorten_names(names: Iterable[object], length: int = 18) -> list[str]:
    """Return the texts of names, cut at the end; names that share their beginning are cut in the middle."""
    names = list(names)
    labels = [shorten(name, length) for name in names]
    counts = Counter(labels)
    n_last = length // 2
    for v, label in enumerate(labels):
        if counts[label] > 1:
            text = " ".join(str(names[v]).split())
            labels[v] = text if len(text) <= length else f"{text[: length - 1 - n_last]}…{text[-n_last:]}"
    return labels


def label_lag(name: object, lag: int, length: int | None = None) -> str:
    """Return the label of a variable of a time series at a lag, with at most `length` characters."""
    at = f" t-{lag}" if lag else " t"
    return f"{name if length is None else shorten(name, length - len(at))}{at}"
