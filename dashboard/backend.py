"""All that pages ask, each time for one person."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from dashboard.reading.backend import UserLogin, UserReader
from dashboard.reading.served import NamedServer
from dashboard.what_if.processes import Processes


class Backend(Protocol):
    @property
    def what_if(self) -> Processes | None:
        """Computes the result of a change; None for files, which `quotree diff` compares."""

    @property
    def audited(self) -> bool:
        """Whether readers have findings. False: no audit is configured, and no menu leads to them."""

    @property
    def servers(self) -> Sequence[NamedServer]:
        """The servers behind the dashboard that have certificates of their own, without the API server."""

    def reader(self, login: UserLogin) -> UserReader:
        """May be called by many threads, and so may what it returns."""
