"""Who may write: the holder of our Lease, and only while Kueue's own manager is not at work.

Kueue's manager shows that it works by renewing its Lease. That Lease is followed in every namespace by its name; from
the moment in which it is observed to be held until it was given up, or was not renewed for its whole duration, nothing
is written here. What was not looked at yet counts as held.
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
"""Seconds that a Lease lasts which does not say so."""


class LeasePermit(Protocol):
    """Asked before each write; `held` is cheap and may be called from any thread."""

    def start(self) -> None: ...

    def stop(self) -> None: ...

    def held(self) -> bool: ...

    def inherits(self) -> bool:
        """Whether whoever wrote before may still have writes on their way."""

    def term(self) -> int:
        """Grows each time that somebody else may have written; also where it is held before and after."""


class Alone:
    """For a process that no other one shares its cluster with: it may write until it stops."""

    def __init__(self) -> None:
        self._stopped = threading.Event()

    def start(self) -> None:
        """Nothing to begin."""

    def stop(self) -> None:
        self._stopped.set()

    def held(self) -> bool:
        return not self._stopped.is_set()

    def inherits(self) -> bool:
        return False

    def term(self) -> int:
        return 0


class Never:
    """For who only looks on."""

    def start(self) -> None:
        """Nothing to begin."""

    def stop(self) -> None:
        """Nothing to end."""

    def held(self) -> bool:
        return False

    def inherits(self) -> bool:
        return False

    def term(self) -> int:
        return 0


@dataclass(frozen=True, slots=True)
class LeaseClaim:
    """A Lease as it was observed: who holds it, when the holder renewed it by its own clock, for how many seconds."""

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
    """Follows the Lease of another controller, Kueue's, from `start` to `stop`. `who` renews it, in words."""

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
        """Whether the API server reported it, and still does."""
        if self._listed and self._reflector.state in _WATCHED:
            return True
        self._blind = self._clock()
        return False

    def active(self) -> LeaseClaim | None:
        """The Lease by which Kueue's manager is at work, None where it is not.

        While nothing was heard of the API server it may have been renewed, so its time begins anew.
        """
        now = self._clock()
        with self._lock:
            lasting = (each for each, since in self._seen.values() if now - max(since, self._blind) < each.duration)
            return next(lasting, None)

    def left(self) -> bool:
        """Whether somebody is named in it still, who was lost and did not give it up."""
        with self._lock:
            return bool(self._seen)

    @property
    def renewals(self) -> int:
        """How often it was observed to be renewed."""
        return self._renewals

    def change(self, kind: ChangeKind, claim: LeaseClaim, _version: str = "") -> None:
        """One Lease of that name was written, or is gone."""
        with self._lock:
            self._put(claim)
            if kind == "DELETED":
                self._seen.pop(claim.key, None)

    def replace(self, claims: tuple[LeaseClaim, ...]) -> None:
        """These are all Leases of that name."""
        with self._lock:
            for key in self._seen.keys() - {claim.key for claim in claims}:
                del self._seen[key]
            for claim in claims:
                self._put(claim)
            self._listed = True

    def _put(self, claim: LeaseClaim) -> None:
        """From now on it lasts for its duration, unless it is the same as before or held by nobody."""
        before = self._seen.get(claim.key)
        if not claim.holder:
            self._seen.pop(claim.key, None)
        elif before is None or before[0] != claim:
            self._seen[claim.key] = claim, self._clock()
            self._renewals += 1


class NoRival:
    """Nobody else does what we do."""

    who = "nobody"
    known = True
    renewals = 0

    def start(self) -> None:
        """Nothing to begin."""

    def stop(self) -> None:
        """Nothing to end."""

    def active(self) -> LeaseClaim | None:
        return None

    def left(self) -> bool:
        return False


class Manage:
    """Held while our Lease is and that of a rival is not; a change is logged once."""

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
        """Why nobody of us may write, in words; empty where nothing is in the way."""
        claim = self._rival.active()
        said = (
            f"{self._rival.who} is at work: {claim.holder} renews the Lease {claim.key}; nothing is written until it"
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
            log.warning("the Lease of %s is not renewed any more; whoever holds ours may write again", self._rival.who)
