"""The timeouts of placeholders: how long a gang keeps the places of members that do not exist.

A timeout begins when a place is first observed to be free, so it begins again after a restart.
Source: YuniKorn core, `pkg/scheduler/objects/application.go`, `timeoutPlaceholderProcessing`.
"""

from __future__ import annotations

from collections.abc import Container


class PlaceTimeouts:
    """The gangs that keep places, and the gangs whose timeout is over. Moments are in nanoseconds."""

    def __init__(self) -> None:
        self._until: dict[str, int] = {}  # when running timeouts end, by application
        self._over: set[str] = set()  # applications whose timeout has ended

    def is_over(self, application: str) -> bool:
        """Whether the timeout of the application is over, so that it keeps no places."""
        return application in self._over

    def keeps(self, application: str, until: int) -> None:
        """Start the timeout of the application, which ends at `until`. A running timeout is not changed."""
        self._until.setdefault(application, until)

    def complete(self, application: str) -> None:
        """End the timeout, since no member is missing. If a member ends later, a new timeout begins."""
        self._until.pop(application, None)
        self._over.discard(application)

    def forget_others(self, applications: Container[str]) -> None:
        for name in [*self._until, *self._over]:
            if name not in applications:
                self.complete(name)

    def expire(self, now: int) -> list[str]:
        """End the timeouts that are over, and return their applications."""
        found = [name for name, until in self._until.items() if until <= now]
        for name in found:
            del self._until[name]
            self._over.add(name)
        return found

    @property
    def next(self) -> int | None:
        return min(self._until.values(), default=None)
