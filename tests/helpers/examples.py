"""How many examples of a law are tried."""

from hypothesis import settings


def examples(number):
    """Try this number of examples with ``--hypothesis-profile=thorough``, and a fifth of them by default."""
    is_thorough = settings.default.max_examples >= 100
    return settings(max_examples=number if is_thorough else max(4, number // 5))
