"""Names as texts in pictures: cut if they are long, with their lag in time series."""


def shorten(name: object, length: int = 18) -> str:
    """Return the text of a name on one line, cut."""
    text = " ".join(str(name).split())
    return text if len(text) <= length else text[: length - 1] + "…"


def label_lag(name: object, lag: int, length: int | None = None) -> str:
    """Return the label of a variable of a time series at a lag, with at most `length` characters."""
    at = f" t-{lag}" if lag else " t"
    return f"{name if length is None else shorten(name, length - len(at))}{at}"
