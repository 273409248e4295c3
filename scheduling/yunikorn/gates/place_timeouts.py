"""How long a gang keeps the places of members that do not exist: placeholders time out.

Each time counts from the moment at which a place is first seen to be free, so after a restart it begins again.
Source: YuniKorn core, `pkg/scheduler/objects/application.go`, `timeoutPlaceholderProcessing`.
"""

from __future__ import annotations

from collections.abc import Container


class PlaceTimeouts:
    """The gangs that keep places, and those that keep none any more; moments are in nanoseconds."""

    def __init__(self) -> None:
        self._until: dict[str, int] = {}
        self._over: set[str] = set()

    def is_over(self, application: str) -> bool:
        """Whether the application keeps no places any more."""
        return application in self._over

    def keeps(self, application: str, until: int) -> None:
        """The application keeps places; the first `until` counts as long as it does."""
        self._until.setdefault(application, until)

    def complete(self, application: str) -> None:
        """No member of the application is missing. A member that goes later leaves a place for the whole time."""
        self._until.pop(application, None)
        self._over.discard(application)

    def forget_others(self, applications: Container[str]) -> None:
        """Forget all but these applications."""
        for name in [*self._until, *self._over]:
            if name not in applications:
                self.complete(name)

    def expire(self, now: int) -> list[str]:
        """The applications whose time ends now."""
        found = [name for name, until in self._until.items() if until <= now]
        for name in found:
            del self._until[name]
            self._over.add(name)
        return found

    @property
    def next(self) -> int | None:
        return min(self._until.values(), default=None)
