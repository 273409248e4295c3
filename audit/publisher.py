"""Writes the reports of the last audit into the cluster, and corrects changes by others. Only the leader does so."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from typing import NamedTuple

from audit.metrics import AuditMetrics
from audit.watched_reports import ReportKey, StoredReport, WatchedReports, digest
from cluster.actions import Action, Create, Delete, Patch
from cluster.apply import perform
from cluster.client import ClusterClient
from cluster.errors import ClusterError, Conflict, NotFound
from cluster.lease import Lease
from cluster.reflector import Pacing
from cluster.resource import Manifest
from policies.audit.audited import Audit
from policies.audit.reports import APIS, ReportApi, overwrite_patch, reports

log = logging.getLogger(__name__)
MANAGER = "quotree-audit"
_RETRY_AFTER = 30.0
"""Seconds until failed writes are tried again."""


class _Wanted(NamedTuple):
    body: Manifest
    digest: str


class Publisher:
    """Writes the reports. One thread calls `step` in a loop.

    `step` compares the stored reports with the wanted ones and writes the difference. If the process is killed between
    two writes, another replica therefore continues.
    """

    def __init__(
        self,
        cluster: ClusterClient,
        writing: ClusterClient,
        permit: Lease,
        most: int,
        metrics: AuditMetrics,
        *,
        pacing: Pacing | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.news = threading.Event()
        self.watched = [WatchedReports(cluster, api, self.news.set, pacing) for api in APIS]
        self._writing = writing
        self._permit = permit
        self._most = most
        self._metrics = metrics
        self._clock = clock
        self._published: tuple[Audit, int] | None = None
        self._again = float("inf")
        self._written: dict[ReportKey, tuple[str, str]] = {}
        self._wanted: tuple[Audit, ReportApi, dict[ReportKey, _Wanted]] | None = None

    def start(self) -> None:
        for each in self.watched:
            each.start()

    def stop(self) -> None:
        for each in self.watched:
            each.stop()

    def count(self) -> int:
        return sum(len(each.held()) for each in self.watched)

    def notes(self) -> list[str]:
        """A sentence if no API for reports is installed. This is not an error."""
        known = [each.installed for each in self.watched]
        if None in known or any(known):
            return []
        return ["neither OpenReports nor PolicyReports are installed, so none are written; checked from time to time"]

    def step(self, audit: Audit | None) -> None:
        """Write the reports that differ, if this replica holds the Lease and something has changed."""
        if audit is None or not self._permit.held() or any(each.installed is None for each in self.watched):
            return
        now, state = self._clock(), (audit, self._permit.term())
        same = self._published is not None and self._published[0] is audit and self._published[1] == state[1]
        if same and not self.news.is_set() and now < self._again:
            return
        self.news.clear()  # before the comparison, so that a change during it leads to another step
        self._published, self._again = state, float("inf")
        chosen = next((each for each in self.watched if each.installed), None)
        for each in self.watched:
            wanted = self._reports(audit, each.api) if each is chosen else {}
            if not self._write_api(each, wanted):
                self._again = now + _RETRY_AFTER

    def _reports(self, audit: Audit, api: ReportApi) -> dict[ReportKey, _Wanted]:
        """The wanted reports, computed once for each audit, so that frequent edits by others only cost writes."""
        if self._wanted is None or self._wanted[0] is not audit or self._wanted[1] is not api:
            made = {_key(it): _Wanted(it, digest(it)) for it in reports(audit, api, self._most)}
            self._wanted = audit, api, made
        return self._wanted[2]

    def _write_api(self, watched: WatchedReports, wanted: Mapping[ReportKey, _Wanted]) -> bool:
        """Write the reports of one API. Returns whether all writes succeeded."""
        if not watched.installed:
            return True
        failures: list[ClusterError] = []
        for key, action in self._plan(watched, wanted):
            if not self._permit.held():
                return False  # the new leader continues
            try:
                self._perform(watched, key, action, wanted)
            except NotFound:
                continue  # the namespace of the report is gone, or the report to delete is
            except ClusterError as error:
                self._metrics.wrote("failed")
                failures.append(error)
        if failures:
            log.warning("%s of the reports could not be written: %s", len(failures), failures[0])
        return not failures

    def _plan(self, watched: WatchedReports, wanted: Mapping[ReportKey, _Wanted]) -> Iterator[tuple[ReportKey, Action]]:
        found = watched.held()
        for key, report in wanted.items():
            if key not in found:
                yield key, Create(watched.resource(key), report.body, MANAGER)
            elif not self._is_written(found[key], report.digest):
                yield key, _patch(watched, found[key], report.body)
        for key in found.keys() - wanted.keys():
            yield key, _delete(watched, found[key])

    def _is_written(self, stored: StoredReport, wanted: str) -> bool:
        """Whether the stored report is the wanted one, or the result of our last write of it.

        These may differ: an API server with an older version of the kind drops fields.
        """
        return stored.digest == wanted or self._written.get(stored.key) == (wanted, stored.version)

    def _perform(
        self, watched: WatchedReports, key: ReportKey, action: Action, wanted: Mapping[ReportKey, _Wanted]
    ) -> None:
        try:
            stored = perform(self._writing, action)
        except Conflict:
            if not isinstance(action, Create):
                raise
            stored = self._take(watched, key, wanted[key].body)
        if isinstance(action, Delete):
            self._written.pop(key, None)
            self._metrics.wrote("deleted")
            return
        self._written[key] = wanted[key].digest, str(stored["metadata"]["resourceVersion"])
        self._metrics.wrote("written")

    def _take(self, watched: WatchedReports, key: ReportKey, report: Manifest) -> Manifest:
        """Overwrite a report that exists without our label. Only Quotree uses such names."""
        resource = watched.resource(key)
        meta = self._writing.get(resource.item(key.name, key.namespace or None))["metadata"]
        there = StoredReport(key, str(meta["uid"]), str(meta["resourceVersion"]), "")
        return perform(self._writing, _patch(watched, there, report))


def _key(report: Manifest) -> ReportKey:
    return ReportKey(report["metadata"].get("namespace", ""), report["metadata"]["name"])


def _patch(watched: WatchedReports, stored: StoredReport, report: Manifest) -> Patch:
    key = stored.key
    return Patch(
        watched.resource(key), key.namespace or None, key.name, overwrite_patch(report), stored.version, MANAGER
    )


def _delete(watched: WatchedReports, stored: StoredReport) -> Delete:
    """The deletion of the report with this UID, at any version. A new object of the same name stays."""
    return Delete(watched.resource(stored.key), stored.key.namespace or None, stored.key.name, uid=stored.uid)
