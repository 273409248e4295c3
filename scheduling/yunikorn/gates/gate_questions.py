"""The Pods that wait at the gate: those of a Namespace, or of a queue with its descendants.

The places of all these Pods are cheap to read. Reasons are computed only for the Pods that the caller chooses.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from scheduling.yunikorn.application import Application
from scheduling.yunikorn.gates.gatekeeper import YuniKornGatekeeper
from scheduling.yunikorn.waiting import WaitingAllocation


class ApplicationPlace(NamedTuple):
    """The sort key of a waiting Pod: by queue, then in the order in which applications and their Pods are tried.

    Pods without a queue come last.
    """

    without_queue: bool
    queue: str
    application_priority: int
    submitted: int
    application: str
    kept: bool
    priority: int
    created: int
    pod: str


def in_namespace(keeper: YuniKornGatekeeper, namespace: str) -> list[ApplicationPlace]:
    found = []
    for key in keeper.waiting_in(namespace):
        application = keeper.scheduler.owners.get(key)
        found.append(
            _place(application, key)
            if application is not None
            else ApplicationPlace(True, "", 0, 0, "", False, 0, 0, key)
        )
    return found


def in_queue(keeper: YuniKornGatekeeper, path: str) -> list[ApplicationPlace]:
    """The places in a queue and its descendants, not sorted. Raises KeyError if the queue does not exist."""
    return [
        _place(application, key)
        for leaf in keeper.scheduler.tree.queues[path.lower()].walk()
        for application in keeper.scheduler.work.get(leaf, {}).values()
        for key in (*application.pending, *application.kept)
        if keeper.is_waiting(key)
    ]


def reasons(keeper: YuniKornGatekeeper, places: list[ApplicationPlace]) -> Iterator[WaitingAllocation]:
    """The reason of each Pod that still waits."""
    for place in places:
        waiting = keeper.why(place.pod)
        if waiting is not None:
            yield waiting


def _place(application: Application, key: str) -> ApplicationPlace:
    kept = key in application.kept
    ask = application.kept[key] if kept else application.pending[key]
    priority = -application.priority if application.pending else 0
    return ApplicationPlace(
        False,
        application.leaf.path,
        priority,
        application.submitted,
        application.name,
        kept,
        -ask.priority,
        ask.created,
        key,
    )
