"""All that pages ask, each time for one person."""

from __future__ import annotations

from typing import Protocol

from dashboard.reading.backend import UserLogin, UserReader
from dashboard.what_if.port import WhatIf


class Backend(Protocol):
    @property
    def what_if(self) -> WhatIf | None:
        """Computes the result of a change; None if what-ifs are off."""

    @property
    def audited(self) -> bool:
        """Whether readers have findings. False: no audit is configured, and no menu leads to them."""

    def reader(self, login: UserLogin) -> UserReader:
        """May be called by many threads, and so may what it returns."""
