"""Constructors that add options to those of a base class, written once."""

from collections.abc import Callable
from functools import wraps
from inspect import Parameter, signature
from typing import Any


def with_options(init: Callable, **own: Any) -> Callable:
    """Return a constructor with the keyword options `own` and those of `init`.

    scikit-learn reads the options of a learner off the signature of its constructor; this makes one that lists all.

    Parameters
    ----------
    init : function
        Constructor of the base class, with `data` first and keyword-only options.
    **own
        Further options and their defaults; a default of an option of `init` is replaced.

    Returns
    -------
    function
        The constructor.

    Examples
    --------
    >>> def init(self, data=None, *, tol=1e-4):
    ...     self.data, self.tol = data, tol
    >>> signature(with_options(init, alpha=0.5))
    <Signature (self, data=None, *, alpha=0.5, tol=0.0001)>
    """
    known = signature(init).parameters
    added = [Parameter(name, Parameter.KEYWORD_ONLY, default=value) for name, value in own.items() if name not in known]
    kept = [p.replace(default=own[name]) if name in own else p for name, p in known.items()]
    merged = signature(init).replace(parameters=[*kept[:2], *added, *kept[2:]])

    @wraps(init)
    def constructor(self, *args, **options):
        try:
            bound = merged.bind(self, *args, **options)
        except TypeError as error:
            known = ", ".join(list(merged.parameters)[1:])
            raise TypeError(f"{type(self).__name__}() {error}: its options are {known}") from None
        bound.apply_defaults()
        given = dict(bound.arguments)
        del given["self"]
        for parameter in added:
            setattr(self, parameter.name, given.pop(parameter.name))
        init(self, **given)

    constructor.__signature__ = merged  # type: ignore[attr-defined]
    return constructor
