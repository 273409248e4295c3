"""How many random examples a property is tried with: hypothesis profiles.

`lean` is what a plain `pytest` takes, here and in CI; `nightly` is what `make nightly` takes, and `thorough` what
`make thorough` takes. A fixed number of examples would escape them, so a test that wants more or fewer says so by
`times`, `seeds`, `seeds_of_long_runs` or `spread`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from functools import wraps
from inspect import signature
from math import ceil
from typing import Any, TypeVar

from hypothesis import settings

T = TypeVar("T")
Test = Callable[..., None]

PROFILES = {"lean": 5, "nightly": 200, "thorough": 2000}


def register() -> None:
    """Makes the profiles known and takes the lean one; `--hypothesis-profile` takes another."""
    for name, examples in PROFILES.items():
        settings.register_profile(name, max_examples=examples, deadline=None, print_blob=True)
    settings.load_profile("lean")  # no deadline: a busy machine is no defect of the code


def seeds(factor: float) -> range:
    """The seeds of runs that are drawn without hypothesis: `factor` of them for each example of the profile."""
    return range(max(1, round(factor * settings().max_examples)))


def each_case(names: str | tuple[str, ...], cases: Collection[Any]) -> Callable[[Test], Test]:
    """One test for all cases of these parameters. It reports each case that fails. For tests of a millisecond: pytest
    takes another one to collect, set up and report each.
    """

    several = isinstance(names, tuple)
    given = names if isinstance(names, tuple) else (names,)

    def decorated(test: Test) -> Test:
        @wraps(test)
        def every(**arguments: Any) -> None:
            failed: list[Exception] = []
            for case in cases:
                try:
                    test(**arguments, **dict(zip(given, case if several else (case,), strict=True)))
                except Exception as error:
                    error.add_note(f"{', '.join(given)}: {case}")
                    failed.append(error)
            if failed:
                raise ExceptionGroup(test.__name__, failed)

        own = signature(test)
        others = [each for other, each in own.parameters.items() if other not in given]
        every.__signature__ = own.replace(parameters=others)  # type: ignore[attr-defined]
        return every

    return decorated


def each_seed(factor: float) -> Callable[[Test], Test]:
    """One test for all of `seeds`, which are its parameter `seed`."""
    return each_case("seed", seeds(factor))


def seeds_of_long_runs(factor: float) -> range:
    """As `seeds`, for long runs: the lean profile has a third of them."""
    return seeds(factor / 3 if settings().max_examples == PROFILES["lean"] else factor)


def spread(cases: Sequence[T], factor: float) -> Sequence[T]:
    """At most `factor` of the cases for each example of the profile, evenly spread; all where there are no more."""
    return cases[:: max(1, ceil(len(cases) / len(seeds(factor))))]


def times(factor: float) -> settings:
    """For a property that is worth more, or fewer, examples than the profile has."""
    return settings(max_examples=max(1, round(factor * settings().max_examples)))
