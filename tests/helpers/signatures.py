"""Signatures, to compare those of classes that annotate them differently."""

import inspect


def untyped_parameters(cls):
    """Return the parameters of a constructor in order, with their defaults and without their annotations."""
    return [p.replace(annotation=p.empty) for p in inspect.signature(cls).parameters.values()]
