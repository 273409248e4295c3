"""The permission to write: this process holds its own Lease, and Kueue's own manager is not running.

Kueue's manager renews its Lease while it runs. We watch Leases of that name in all namespaces. This process writes
nothing until that Lease is released, or expires because it was not renewed. Until the Leases have been listed, that
Lease counts as held.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from typing import Protocol

from cluster.client import ClusterClient
from cluster.lease import LeaseClaim
from cluster.reflector import ChangeKind, Pacing, Reflector
from cluster.resource import LEASES

log = logging.getLogger(__name__)
KUEUE_LEASE = "c1f6bfd2.kueue.x-k8s.io"
"""The default name of the Lease of Kueue's manager."""
_WATCHED = ("watching", "absent")


class LeasePermit(Protocol):
    """Checked before each write. `held` is fast, and any thread may call it."""

    def start(self) -> None: ...

    def stop(self) -> None: ...

    def held(self) -> bool: ...

    def late_writes_possible(self) -> bool:
        """Whether writes of the previous leader may still be in flight."""

    def term(self) -> int:
        """A number that grows whenever another process may have written, even if the Lease was regained at once."""


class AlwaysPermitted:
    """For a process that is the only writer in its cluster. It may write until it stops."""

    def __init__(self) -> None:
        self._stopped = threading.Event()

    def start(self) -> None:
        """Do nothing."""

    def stop(self) -> None:
        self._stopped.set()

    def held(self) -> bool:
        return not self._stopped.is_set()

    def late_writes_possible(self) -> bool:
        return False

    def term(self) -> int:
        return 0


class NeverPermitted(AlwaysPermitted):
    """For a process that only observes. It may never write."""

    def held(self) -> bool:
        return False


class RivalLease:
    """Watches the Lease of another controller, such as Kueue's manager, from `start` to `stop`.

    `controller`: the name of the other controller in messages.
    """

    def __init__(
        self,
        cluster: ClusterClient,
        name: str = KUEUE_LEASE,
        pacing: Pacing | None = None,
        clock: Callable[[], float] = time.monotonic,
        controller: str = "Kueue's manager",
    ) -> None:
        self.controller = controller
        self._clock = clock
        self._lock = threading.Lock()
        self._seen: dict[str, tuple[LeaseClaim, float]] = {}
        self._listed = False
        self._renewals = 0
        self._last_disconnected = float("-inf")
        self._reflector: Reflector[LeaseClaim] = Reflector(
            cluster,
            LEASES,
            self.change,
            on_replace=lambda claims, _: self.replace(claims),
            keep=LeaseClaim.of,
            field_selector=f"metadata.name={name}",
            pacing=pacing,
        )

    def start(self) -> None:
        self._reflector.start()

    def stop(self) -> None:
        self._reflector.stop()

    @property
    def known(self) -> bool:
        """Whether the API server has listed the Leases, and still reports their changes."""
        if self._listed and self._reflector.state in _WATCHED:
            return True
        self._last_disconnected = self._clock()
        return False

    def active(self) -> LeaseClaim | None:
        """The Lease of the other controller, unless it has expired; None if there is none.

        While the watch is disconnected a renewal could be missed, so expiry is counted from the reconnection on.
        """
        now = self._clock()
        with self._lock:
            lasting = (
                each for each, since in self._seen.values() if now - max(since, self._last_disconnected) < each.duration
            )
            return next(lasting, None)

    def names_holder(self) -> bool:
        """Whether any Lease still names a holder, expired or not."""
        with self._lock:
            return bool(self._seen)

    @property
    def renewals(self) -> int:
        return self._renewals

    def change(self, kind: ChangeKind, claim: LeaseClaim, _version: str = "") -> None:
        with self._lock:
            self._put(claim)
            if kind == "DELETED":
                self._seen.pop(claim.key, None)

    def replace(self, claims: tuple[LeaseClaim, ...]) -> None:
        """Process a fresh list of all Leases with that name."""
        with self._lock:
            for key in self._seen.keys() - {claim.key for claim in claims}:
                del self._seen[key]
            for claim in claims:
                self._put(claim)
            self._listed = True

    def _put(self, claim: LeaseClaim) -> None:
        """Store the claim.

        If the Lease is new or has changed, its duration starts now. A Lease without a holder is removed.
        """
        before = self._seen.get(claim.key)
        if not claim.holder:
            self._seen.pop(claim.key, None)
        elif before is None or before[0] != claim:
            self._seen[claim.key] = claim, self._clock()
            self._renewals += 1


class NoRivalLease:
    """For an installation in which no other controller does the same work."""

    controller = "nobody"
    known = True
    renewals = 0

    def start(self) -> None:
        """Do nothing."""

    def stop(self) -> None:
        """Do nothing."""

    def active(self) -> LeaseClaim | None:
        return None

    def names_holder(self) -> bool:
        return False


class ManagePermit:
    """Permits writes while we hold our Lease and the other controller does not hold its own. Logs each change once."""

    def __init__(self, lease: LeasePermit, rival: RivalLease | NoRivalLease) -> None:
        self._lease = lease
        self._rival = rival
        self._logged = ""

    def start(self) -> None:
        self._rival.start()
        self._lease.start()

    def stop(self) -> None:
        self._lease.stop()
        self._rival.stop()

    def held(self) -> bool:
        return self._lease.held() and self._rival.known and not self.obstacle()

    def late_writes_possible(self) -> bool:
        return self._lease.late_writes_possible() or self._rival.names_holder()

    def term(self) -> int:
        return self._lease.term() + self._rival.renewals

    def obstacle(self) -> str:
        """Why this process may not write, as a sentence; empty if it may."""
        claim, other = self._rival.active(), self._rival.controller
        message = (
            f"{other} is running: {claim.holder} renews the Lease {claim.key}; nothing is written until it"
            f" stops. Scale {other} to 0, or run with --mode observe"
            if claim
            else ""
        )
        self._log(message)
        return message

    def _log(self, message: str) -> None:
        before, self._logged = self._logged, message
        if message and not before:
            log.error("%s", message)
        elif before and not message:
            log.warning(
                "the Lease of %s is not renewed any more; the holder of our Lease may write again",
                self._rival.controller,
            )
