"""What a conformance suite is, and where the cases are.

The cases are tables of the three projects' own tests, as JSON. They are not part of this repository.
"""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import cache, partial
from pathlib import Path
from typing import Any

NO_COUNTERPART = "nothing here does what the table is about"
ENVIRONMENT = "QUOTREE_CONFORMANCE"
_BESIDE = Path(__file__).resolve().parents[2].parent / "shared" / "conformance"

Data = dict[str, Any]
Check = Callable[[Data], str | None]
"""None where the case holds, else a sentence with what was expected and what came."""


class Members(dict[str, Any]):
    """The members of a case, in which one that is absent and one that is null are the same: None.

    It is used for the case, its inputs, its result and its configuration, and for no manifest: what an object lacks
    is a question for the code under test.
    """

    def __missing__(self, key: str) -> None:
        return None

    def get(self, key: str, default: Any = None) -> Any:
        value = self[key]
        return default if value is None else value

    def __contains__(self, key: object) -> bool:
        return super().get(key) is not None  # type: ignore[arg-type]


@dataclass(frozen=True, slots=True)
class Case:
    """One row of a table. `check` answers as a Check does; where it raises, the case does not hold either."""

    name: str
    check: Callable[[], str | None]

    def complaint(self) -> str | None:
        """What is wrong, an exception included; None where the case holds."""
        try:
            return self.check()
        except Exception as error:
            return f"raised {type(error).__name__}: {error}"


@dataclass(slots=True)
class Suite:
    """The cases of one file that our rules cover. `uncovered` counts the others, `reasons` says why."""

    name: str
    file: Path
    cases: list[Case] = field(default_factory=list)
    uncovered: int = 0
    reasons: Counter[str] = field(default_factory=Counter)

    def leave_out(self, reason: str) -> None:
        self.uncovered += 1
        self.reasons[reason] += 1


def folder() -> Path | None:
    """Where the cases are: what QUOTREE_CONFORMANCE names, else ../shared/conformance; None where neither exists.

    Raises FileNotFoundError where the variable names no folder: a typing error must not look like success.
    """
    named = os.environ.get(ENVIRONMENT)
    if named:
        path = Path(named)
        if not path.is_dir():
            raise FileNotFoundError(f"{ENVIRONMENT} names {named}, which is no folder")
        return path
    return _BESIDE if _BESIDE.is_dir() else None


def suite(project: str, file: Path, check: Check, why_not: Callable[[Data], str] = lambda case: "") -> Suite:
    """The cases of a file, but for those that `why_not` has a reason against; none where there is no such file.

    A case that cannot even be read is one that does not hold: it is named like the others.
    """
    found = Suite(f"{project}/{file.stem}", file)
    for raw in raw_cases(file):
        name = str(raw.get("name"))
        try:
            case = _whole(file, raw)
            reason = why_not(case)
        except Exception as error:
            found.cases.append(Case(name, partial(_raise, error)))
            continue
        if reason:
            found.leave_out(reason)
        else:
            found.cases.append(Case(name, partial(check, case)))
    return found


def left_out(project: str, file: Path, reason: str) -> Suite:
    """A file that is known, and of which no case is ours."""
    found = Suite(f"{project}/{file.stem}", file)
    for _ in raw_cases(file):
        found.leave_out(reason)
    return found


def without_runner(folder: Path, suites: Iterable[Suite]) -> dict[str, int]:
    """The files that no suite reads, by their path in the folder, and how many cases each has."""
    read = {suite.file for suite in suites}
    unread = (file for file in sorted(folder.rglob("*.json")) if file not in read)
    counts = {file.relative_to(folder).as_posix(): len(raw_cases(file)) for file in unread}
    return {name: count for name, count in counts.items() if count}


def table(file: Path) -> Iterator[Data]:
    """The cases of one file, with the values that they share put in place; none where there is no such file."""
    return (_whole(file, case) for case in raw_cases(file))


def raw_cases(file: Path) -> list[Data]:
    """The cases as they are written; none where the file is absent or holds something else, such as an index."""
    content = _content(file)
    return content.get("cases", []) if isinstance(content, dict) else []


def _whole(file: Path, case: Data) -> Data:
    common = _content(file).get("common", {})
    given = {
        key: common[value["$common"]] if isinstance(value, dict) and "$common" in value else value
        for key, value in (case.get("given") or {}).items()
    }
    parts = {key: Members(case.get(key) or {}) for key in ("featureGates", "config", "expect")}
    return Members({**case, **parts, "given": Members(given)})


@cache
def _content(file: Path) -> Any:
    return json.loads(file.read_text(encoding="utf-8")) if file.is_file() else {}


def _raise(error: Exception) -> str | None:
    raise error


def mismatch(expected: object, actual: object) -> str | None:
    return None if expected == actual else f"expected {expected!r}, got {actual!r}"


def nanoseconds(duration: str | None) -> int:
    """Of a bare duration such as PT1.5S; 0 where there is none."""
    return int(float(duration.removeprefix("PT").removesuffix("S")) * 10**9) if duration else 0
