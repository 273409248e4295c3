"""Drives one controller as the core does: asks it for writes, and wakes it for what it waits for."""

from __future__ import annotations

from collections.abc import Callable

from reconciler.core.commands import ReadObject
from reconciler.core.controller import Controller, WaitFor, WakeAt
from reconciler.core.informer import Waits
from reconciler.objects.wanted import WantedWrite


def never(*_: str) -> bool:
    """Nothing is busy."""
    return False


class Driver:
    """The writes that a controller wants are neither executed nor answered, unless the test does it."""

    def __init__(self, controller: Controller) -> None:
        self.controller = controller
        self.waits = Waits()
        self.asked: list[ReadObject] = []

    def due(self, now: int, busy: Callable[[str, str], bool] = never) -> list[WantedWrite]:
        """What it wants now. What was busy and is no more was freed before."""
        for key in [*self.waits._by_key]:
            if not busy(*key):
                self.waits.free(key)
        self.waits.ring(now)
        found = []
        for wanted in self.controller.reconcile(busy, now):
            if isinstance(wanted, WaitFor | WakeAt):
                self.waits.add(self.controller, wanted)
            elif isinstance(wanted, ReadObject):
                self.asked.append(wanted)
            else:
                found.append(wanted)
        return found
