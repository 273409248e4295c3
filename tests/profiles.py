"""How many random examples a property is tried with: hypothesis profiles.

`lean` is what a plain `pytest` takes, here and in CI; `thorough` is what `make thorough` takes.
A fixed number of examples would escape both, so a test that wants more or fewer says so by `times`.
"""

from __future__ import annotations

from hypothesis import settings

LEAN = 20
THOROUGH = 2000


def register() -> None:
    """Makes the profiles known and takes the lean one; `--hypothesis-profile` takes another."""
    settings.register_profile("lean", max_examples=LEAN, deadline=None, print_blob=True)
    settings.register_profile("thorough", max_examples=THOROUGH, deadline=None, print_blob=True)
    settings.load_profile("lean")  # no deadline: a busy machine is no defect of the code


def seeds(factor: float) -> range:
    """The seeds of runs that are drawn without hypothesis: `factor` of them for each example of the profile."""
    return range(max(1, round(factor * settings().max_examples)))


def times(factor: float) -> settings:
    """For a property that is worth more, or fewer, examples than the profile has."""
    return settings(max_examples=max(1, round(factor * settings().max_examples)))
