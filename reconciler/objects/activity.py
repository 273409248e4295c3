"""The condition Active: how it is compared and written, and the faults of references to parameters.

Source: Kueue v0.19, pkg/controller/admissionchecks and pkg/util/admissioncheck.
"""

from __future__ import annotations

from collections.abc import Container
from typing import NamedTuple

from cluster.actions import Patch
from cluster.resource import Resource
from policies.dialects.reading import condition
from policies.model.objects import GroupKind
from reconciler.objects.stored import Stored, with_condition
from scheduling.objects.queue_settings import CheckParameters

ACTIVE = "Active"
_BAD = "bad parameters reference"


class ActiveCondition(NamedTuple):
    """A condition to write. `holds`: whether its status is True."""

    holds: bool
    reason: str
    message: str


CHECK_ACTIVE = ActiveCondition(True, "Active", "The admission check is active")


def parameters_fault(parameters: CheckParameters | None, kind: GroupKind, names: Container[str]) -> str | None:
    """Why an AdmissionCheck refers to no existing object of this kind; None if it does. `names`: the existing ones."""
    if parameters is None:
        return "missing parameters reference"
    if not parameters.name:
        return f"empty name: {_BAD}"
    if parameters.group != kind.group:
        return f'wrong group "{parameters.group}", expecting "{kind.group}": {_BAD}'
    if parameters.kind != kind.kind:
        return f'wrong kind "{parameters.kind}", expecting "{kind.kind}": {_BAD}'
    if parameters.name not in names:
        return f'{kind.kind}.{kind.group} "{parameters.name}" not found'
    return None


def same(stored: Stored, wanted: ActiveCondition) -> bool:
    found = condition(stored.status, ACTIVE)
    stored_as = tuple(found.get(key) for key in ("status", "reason", "message"))
    return stored_as == ("True" if wanted.holds else "False", wanted.reason, wanted.message)


def news(stored: Stored, wanted: ActiveCondition) -> bool:
    """Whether the change deserves an Event. A new message alone does not."""
    found = condition(stored.status, ACTIVE)
    return (found.get("status"), found.get("reason")) != ("True" if wanted.holds else "False", wanted.reason)


def active_patch(
    resource: Resource, name: str, stored: Stored, wanted: ActiveCondition, now: int, manager: str
) -> Patch:
    """The patch of the condition. The time of the last transition changes only with the status."""
    conditions = with_condition(stored, ACTIVE, *wanted, now)
    body = {"status": {"conditions": conditions}}
    return Patch(resource, None, name, body, stored.version, manager, "status")
