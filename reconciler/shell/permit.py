"""The permission to write: this process holds our Lease, and Kueue's own manager is not running.

Kueue's manager renews its Lease while it runs. That Lease is watched in every namespace by its name. From the moment at
which it is observed to be held, until it is released or was not renewed for its whole duration, nothing is written
here. Until the Leases have been listed, they count as held.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from cluster.client import ClusterClient
from cluster.reflector import ChangeKind, Pacing, Reflector
from cluster.resource import LEASES
from cluster.stream import Manifest
from policies.dialects.reading import mapping, metadata, text

log = logging.getLogger(__name__)
KUEUE_LEASE = "c1f6bfd2.kueue.x-k8s.io"
"""The Lease of Kueue's manager by its default name."""
_WATCHED = ("watching", "absent")
_DURATION = 15.0
"""The duration in seconds of a Lease that has none."""


class LeasePermit(Protocol):
    """Checked before each write; `held` is cheap and may be called from any thread."""

    def start(self) -> None: ...

    def stop(self) -> None: ...

    def held(self) -> bool: ...

    def inherits(self) -> bool:
        """Whether writes of the process that wrote before may still arrive."""

    def term(self) -> int:
        """A number that grows whenever another process may have written, even if the Lease is held before and after."""


class Alone:
    """The permit of a process that shares its cluster with no other: it may write until it stops."""

    def __init__(self) -> None:
        self._stopped = threading.Event()

    def start(self) -> None:
        """Do nothing."""

    def stop(self) -> None:
        self._stopped.set()

    def held(self) -> bool:
        return not self._stopped.is_set()

    def inherits(self) -> bool:
        return False

    def term(self) -> int:
        return 0


class Never:
    """The permit of a process that only observes."""

    def start(self) -> None:
        """Do nothing."""

    def stop(self) -> None:
        """Do nothing."""

    def held(self) -> bool:
        return False

    def inherits(self) -> bool:
        return False

    def term(self) -> int:
        return 0


@dataclass(frozen=True, slots=True)
class LeaseClaim:
    """A Lease as it was observed.

    `holder`: its holder.
    `renewed`: when the holder renewed it, by its own clock.
    `seconds`: its duration.
    """

    key: str
    holder: str
    renewed: str
    duration: float

    @classmethod
    def of(cls, manifest: Manifest) -> LeaseClaim:
        meta, spec = metadata(manifest), mapping(manifest.get("spec"))
        seconds = spec.get("leaseDurationSeconds")
        return cls(
            f"{text(meta.get('namespace'))}/{text(meta.get('name'))}",
            text(spec.get("holderIdentity")) or "",
            text(spec.get("renewTime")) or "",
            float(seconds) if isinstance(seconds, int) and seconds > 0 else _DURATION,
        )


class Rival:
    """Follows the Lease of another controller, Kueue's, from `start` to `stop`.

    `who`: the controller's name in messages.
    """

    def __init__(
        self,
        cluster: ClusterClient,
        name: str = KUEUE_LEASE,
        pacing: Pacing | None = None,
        clock: Callable[[], float] = time.monotonic,
        who: str = "Kueue's manager",
    ) -> None:
        self.who = who
        self._clock = clock
        self._lock = threading.Lock()
        self._seen: dict[str, tuple[LeaseClaim, float]] = {}
        self._listed = False
        self._renewals = 0
        self._blind = float("-inf")
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
        self._blind = self._clock()
        return False

    def active(self) -> LeaseClaim | None:
        """The Lease that shows that Kueue's manager is running; None if it is not.

        While the API server is not heard of, a Lease may have been renewed, so its duration starts again.
        """
        now = self._clock()
        with self._lock:
            lasting = (each for each, since in self._seen.values() if now - max(since, self._blind) < each.duration)
            return next(lasting, None)

    def left(self) -> bool:
        """Whether a Lease still names a holder that is gone and did not release it."""
        with self._lock:
            return bool(self._seen)

    @property
    def renewals(self) -> int:
        """The number of renewals that were observed."""
        return self._renewals

    def change(self, kind: ChangeKind, claim: LeaseClaim, _version: str = "") -> None:
        """A Lease with that name was written, or is gone."""
        with self._lock:
            self._put(claim)
            if kind == "DELETED":
                self._seen.pop(claim.key, None)

    def replace(self, claims: tuple[LeaseClaim, ...]) -> None:
        """These are all Leases with that name."""
        with self._lock:
            for key in self._seen.keys() - {claim.key for claim in claims}:
                del self._seen[key]
            for claim in claims:
                self._put(claim)
            self._listed = True

    def _put(self, claim: LeaseClaim) -> None:
        """The Lease is held for its duration from now on, unless it has not changed or names no holder."""
        before = self._seen.get(claim.key)
        if not claim.holder:
            self._seen.pop(claim.key, None)
        elif before is None or before[0] != claim:
            self._seen[claim.key] = claim, self._clock()
            self._renewals += 1


class NoRival:
    """No other controller does the same work."""

    who = "nobody"
    known = True
    renewals = 0

    def start(self) -> None:
        """Do nothing."""

    def stop(self) -> None:
        """Do nothing."""

    def active(self) -> LeaseClaim | None:
        return None

    def left(self) -> bool:
        return False


class Manage:
    """Held while our Lease is held and the rival's is not. A change is logged once."""

    def __init__(self, lease: LeasePermit, rival: Rival | NoRival) -> None:
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

    def inherits(self) -> bool:
        return self._lease.inherits() or self._rival.left()

    def term(self) -> int:
        return self._lease.term() + self._rival.renewals

    def obstacle(self) -> str:
        """Why this process may not write, in words; empty if it may."""
        claim = self._rival.active()
        said = (
            f"{self._rival.who} is running: {claim.holder} renews the Lease {claim.key}; nothing is written until it"
            f" stops. Scale {self._rival.who} to 0, or run with --mode observe"
            if claim
            else ""
        )
        self._log(said)
        return said

    def _log(self, said: str) -> None:
        before, self._logged = self._logged, said
        if said and not before:
            log.error("%s", said)
        elif before and not said:
            log.warning(
                "the Lease of %s is not renewed any more; the holder of our Lease may write again", self._rival.who
            )
