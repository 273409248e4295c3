"""The interface through which pages read data, always for one user."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from dashboard.reading.backend import UserLogin, UserReader
from dashboard.reading.served import NamedServer
from dashboard.what_if.processes import Processes


class Backend(Protocol):
    @property
    def what_if(self) -> Processes | None:
        """The processes that compute the effect of a change; None for files, for which `quotree diff` does it."""

    @property
    def audited(self) -> bool:
        """Whether there are findings. If no audit is configured, there are none, and no menu leads to them."""

    @property
    def servers(self) -> Sequence[NamedServer]:
        """The servers that the dashboard calls and that have their own certificates, except the API server."""

    def reader(self, login: UserLogin) -> UserReader:
        """A reader with the rights of this user. Many threads may call this method and the reader."""
