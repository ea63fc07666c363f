"""How many examples of a law are tried."""

from hypothesis import settings


def examples(number):
    """Try half of this number of examples with ``--hypothesis-profile=thorough``, and an eighth of them by default."""
    is_thorough = settings.default.max_examples >= 50
    return settings(max_examples=max(4, number // (2 if is_thorough else 8)))
