"""Writes the OpenVEX document of a release from the statements in vex.yaml.

OpenVEX requires at least one statement, so a release without statements has no document.
"""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from generators.files import as_json
from generators.locks import pins
from generators.release.commit import Commit

STATEMENTS = "generators/release/vex.yaml"
_JUSTIFICATIONS = (
    "component_not_present",
    "vulnerable_code_not_present",
    "vulnerable_code_not_in_execute_path",
    "vulnerable_code_cannot_be_controlled_by_adversary",
    "inline_mitigations_already_exist",
)
_NEEDS = {
    "not_affected": ("justification", "impact_statement"),
    "affected": ("action_statement",),
    "fixed": (),
    "under_investigation": (),
}
"""The statuses of OpenVEX, each with the fields that can justify it. A statement needs at least one of these fields."""


def document(source: Path, version: str, commit: Commit) -> str | None:
    """The document for a version; None if there are no statements. Raises ValueError for an invalid statement."""
    given = yaml.safe_load((source / STATEMENTS).read_text(encoding="utf-8"))["statements"]
    locked = {pin.name: pin.version for pin in pins("runtime.txt", source)}
    statements = [_statement(each, version, locked) for each in given]
    if not statements:
        return None
    return as_json(
        {
            "@context": "https://openvex.dev/ns/v0.2.0",
            "@id": f"https://quotree.dev/vex/{version}/{commit.id}",
            "author": "The Quotree authors",
            "timestamp": datetime.datetime.fromtimestamp(commit.epoch, datetime.UTC).isoformat(),
            "version": 1,
            "statements": statements,
        }
    )


def _statement(given: Mapping[str, Any], version: str, locked: Mapping[str, str]) -> dict[str, Any]:
    """A statement about one package in the image of this version."""
    package, status, name = given["package"], given["status"], given["vulnerability"]["name"]
    if package not in locked:
        raise ValueError(f"{name}: {package} is not in requirements/runtime.txt; remove the statement")
    if status not in _NEEDS:
        raise ValueError(f"{name}: {status!r} is not a status; it must be one of {', '.join(_NEEDS)}")
    if _NEEDS[status] and not any(given.get(field) for field in _NEEDS[status]):
        raise ValueError(f"{name}: the status {status} needs {' or '.join(_NEEDS[status])}")
    if given.get("justification", _JUSTIFICATIONS[0]) not in _JUSTIFICATIONS:
        raise ValueError(f"{name}: {given['justification']!r} is not a justification of OpenVEX")
    taken = given["timestamp"]
    when = taken.isoformat() if isinstance(taken, datetime.datetime) else str(taken)
    part = {"@id": f"pkg:pypi/{package}@{locked[package]}"}
    product = {"@id": f"pkg:pypi/quotree@{version}", "subcomponents": [part]}
    rest = {key: value for key, value in given.items() if key not in ("package", "vulnerability", "timestamp")}
    return {"vulnerability": dict(given["vulnerability"]), "timestamp": when, "products": [product], **rest}
