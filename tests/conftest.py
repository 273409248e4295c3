"""How thoroughly properties are tried: 100 examples as hypothesis has it, or `--hypothesis-profile=thorough`."""

from __future__ import annotations

from hypothesis import settings

settings.register_profile("default", deadline=None)  # a busy machine is no fault of the code
settings.register_profile("thorough", max_examples=2000, deadline=None, print_blob=True)


def times(factor: float) -> settings:
    """For a property that is worth more, or less, than the examples of the profile."""
    return settings(max_examples=int(factor * settings().max_examples))
