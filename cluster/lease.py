"""Leader election: only the holder of a Lease writes.

The holder may write until `renew_deadline` after the last renewal that the API server confirmed. Another process takes
the Lease over after it was unchanged for `duration`. Each process uses its own monotonic clock, so clocks need not
agree.
Source: coordination.k8s.io/v1; client-go leaderelection.
"""

from __future__ import annotations

import logging
import math
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from cluster.client import MERGE_PATCH, ClusterClient
from cluster.errors import BadAnswer, ClusterError, Conflict, NotFound
from cluster.resource import LEASES, Manifest
from policies.dialects.reading import mapping, metadata, text

log = logging.getLogger(__name__)
_DURATION = 15.0
"""Duration, in seconds, of a Lease without leaseDurationSeconds."""
_PAUSE = 0.1
"""Seconds to wait after an attempt that took longer than the retry period."""


@dataclass(frozen=True, slots=True)
class LeaseTimes:
    """Seconds, as in Kueue's configuration `leaderElection`.

    Raises ValueError if two processes could hold the Lease at the same time.
    """

    duration: float = 15.0
    renew_deadline: float = 10.0
    retry: float = 2.0

    def __post_init__(self) -> None:
        if not 0 < self.retry < self.renew_deadline < self.duration:
            raise ValueError(
                f"retry {self.retry:g} s, renew deadline {self.renew_deadline:g} s and duration {self.duration:g} s:"
                " each must be shorter than the next"
            )


@dataclass(frozen=True, slots=True)
class LeaseClaim:
    """A Lease as it was observed.

    `key`: `namespace/name`.
    `holder`: the identity of the holder; empty if the Lease is released.
    `renewed`: `renewTime`, by the clock of the holder.
    `duration`: how long the Lease is held without a renewal, in seconds.
    """

    key: str
    holder: str
    renewed: str
    duration: float

    @classmethod
    def of(cls, manifest: Mapping[str, Any]) -> LeaseClaim:
        meta, spec = metadata(manifest), mapping(manifest.get("spec"))
        seconds = spec.get("leaseDurationSeconds")
        return cls(
            f"{text(meta.get('namespace'))}/{text(meta.get('name'))}",
            text(spec.get("holderIdentity")) or "",
            text(spec.get("renewTime")) or "",
            float(seconds) if isinstance(seconds, int) and seconds > 0 else _DURATION,
        )


class Lease:
    """Tries to hold the Lease from `start` to `stop`. `held` is cheap enough to call before each write."""

    def __init__(
        self,
        cluster: ClusterClient,
        namespace: str,
        name: str,
        identity: str,
        times: LeaseTimes | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.identity = identity
        self._cluster = cluster
        self._path = LEASES.item(name, namespace)
        self._collection = LEASES.collection(namespace)
        self._name = name
        self._times = times or LeaseTimes()
        self._clock = clock
        self._until = 0.0
        self._last = ("", "", 0.0)
        self._since = 0.0
        self._version = ""
        self._transitions = 0
        self._inherited = False
        self._term = 0
        self._logged = False
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name=f"lease {name}", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        """Release the Lease, so that another process need not wait for its expiry."""
        self._stop.set()
        if self._thread.ident is not None:
            self._thread.join(timeout=5.0)
        if self.held():
            self._until = 0.0
            # The request names our version: if it arrives late, it must not release the Lease of the next holder.
            body = {"metadata": {"resourceVersion": self._version}, "spec": {"holderIdentity": ""}}
            try:
                self._cluster.patch(self._path, body, MERGE_PATCH)
            except ClusterError as error:
                log.info("the Lease %s could not be released: %s", self._name, error)

    def held(self) -> bool:
        """Whether this process may write now."""
        return self._clock() < self._until

    def left(self) -> float:
        """Seconds until another process may write; negative if that moment has passed."""
        return self._until + self._times.duration - self._times.renew_deadline - self._clock()

    def late_writes_possible(self) -> bool:
        """Whether the previous holder may still have writes in flight, because it did not release the Lease."""
        return self._inherited

    def term(self) -> int:
        """How often this process has taken the Lease. Between two terms another process may have held it."""
        return self._term

    def _run(self) -> None:
        while not self._stop.is_set():
            began = self._clock()
            try:
                self.renew()
            except Exception:
                # Without this thread, the process would never hold the Lease again. A Lease that is held expires.
                log.exception("the Lease %s could not be renewed: internal error", self._name)
            self._stop.wait(max(_PAUSE, began + self._times.retry - self._clock()))

    def renew(self) -> None:
        """Try once to acquire or renew the Lease, and log a change."""
        began = self._clock()
        try:
            if self.attempt() and not self._stop.is_set():
                self._until = began + self._times.renew_deadline
        except ClusterError as error:
            log.warning("the Lease %s could not be renewed: %s", self._name, error)
        if self._logged != self.held():
            self._logged = not self._logged
            log.info("the Lease %s is %s", self._name, "held" if self._logged else "lost")

    def attempt(self) -> bool:
        """Try once to acquire or renew the Lease; returns whether this process holds it now. Raises ClusterError.

        A holder sends only one request, a write with the version of its last renewal. If that succeeds, nobody else has
        written the Lease.
        """
        return (self.held() and self._renewed()) or (not self._stop.is_set() and self._acquired())

    def _renewed(self) -> bool:
        try:
            return self._changed(self._transitions, self._version)
        except NotFound:
            return False

    def _acquired(self) -> bool:
        try:
            lease = self._cluster.get(self._path)
        except NotFound:
            return self._create()
        spec = lease.get("spec") or {}
        holder, transitions = spec.get("holderIdentity") or "", int(spec.get("leaseTransitions") or 0)
        lasting = max(self._times.duration, float(spec.get("leaseDurationSeconds") or 0))
        if holder not in ("", self.identity) and not self._expired(holder, str(spec.get("renewTime")), lasting):
            self._until = 0.0  # somebody else holds it
            return False
        transitions += holder != self.identity
        taken = self._changed(transitions, self._version_of(lease))
        self._transitions = transitions if taken else self._transitions
        if taken and holder != self.identity:
            self._inherited = bool(holder)
            self._term += 1
        return taken

    def _create(self) -> bool:
        """Create the Lease. A deleted one must have expired first, since its holder may not know of the deletion."""
        holder = self._last[0]
        if holder and not self.held() and not self._expired(*self._last):
            return False
        kind = {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease"}
        body = {**kind, "metadata": {"name": self._name}, "spec": self._spec(0)}
        made = self._written(lambda: self._cluster.create(self._collection, body))
        self._transitions = 0 if made else self._transitions
        self._inherited = self._inherited or (made and bool(holder))
        self._term += made
        return made

    def _expired(self, holder: str, renewed: str, lasting: float) -> bool:
        """Whether the holder has not renewed the Lease for `lasting` seconds."""
        if self._last != (holder, renewed, lasting):
            self._last, self._since = (holder, renewed, lasting), self._clock()
        return self._clock() - self._since >= lasting

    def _changed(self, transitions: int, version: str) -> bool:
        """Write our renewal, if the Lease still has this version. Its labels and annotations stay."""
        body = {"metadata": {"resourceVersion": version}, "spec": self._spec(transitions)}
        return self._written(lambda: self._cluster.patch(self._path, body, MERGE_PATCH))

    def _written(self, write: Callable[[], Manifest]) -> bool:
        try:
            self._version = self._version_of(write())
        except Conflict:
            return False  # another process was faster
        return True

    def _version_of(self, lease: Manifest) -> str:
        version = text(metadata(lease).get("resourceVersion"))
        if not version:
            raise BadAnswer(f"{self._path}: the response is not a Lease with a resource version")
        return version

    def _spec(self, transitions: int) -> Manifest:
        return {
            "holderIdentity": self.identity,
            "leaseDurationSeconds": math.ceil(self._times.duration),  # others must not take it before it is over
            "renewTime": datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ"),
            "leaseTransitions": transitions,
        }
