"""Watches Quotree's reports in a cluster by their label, and whether their API is installed."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from hashlib import sha256
from typing import NamedTuple

from cluster.client import ClusterClient
from cluster.reflector import ChangeKind, Pacing, Reflector
from cluster.resource import Manifest, Resource
from policies.audit.reports import MANAGED_BY, PREFIX, ReportApi, content
from policies.dialects.reading import metadata, text

_SELECTOR = ",".join(f"{key}={value}" for key, value in MANAGED_BY.items())


class ReportKey(NamedTuple):
    namespace: str
    name: str


class StoredReport(NamedTuple):
    """A stored report. `version`: its resource version. `digest`: a digest of its content."""

    key: ReportKey
    uid: str
    version: str
    digest: str


def digest(report: Manifest) -> str:
    return sha256(content(report).encode()).hexdigest()


def stored_report(manifest: Manifest) -> StoredReport:
    meta = metadata(manifest)
    key = ReportKey(text(meta.get("namespace")) or "", text(meta.get("name")) or "")
    return StoredReport(key, text(meta.get("uid")) or "", text(meta.get("resourceVersion")) or "", digest(manifest))


class WatchedReports:
    """The stored reports of one API. `news`: called in another thread after each change."""

    def __init__(
        self, cluster: ClusterClient, api: ReportApi, news: Callable[[], None], pacing: Pacing | None = None
    ) -> None:
        self.api = api
        self._kinds = [_Kind(cluster, api, namespaced, news, pacing) for namespaced in (True, False)]

    def start(self) -> None:
        for kind in self._kinds:
            kind.reflector.start()

    def stop(self) -> None:
        for kind in self._kinds:
            kind.reflector.stop()

    @property
    def installed(self) -> bool | None:
        """Whether both kinds of the API are served; None while that is unknown."""
        known = [kind.installed for kind in self._kinds]
        return None if None in known else all(known)

    def held(self) -> dict[ReportKey, StoredReport]:
        return {key: each for kind in self._kinds for key, each in kind.held().items()}

    def resource(self, key: ReportKey) -> Resource:
        return _resource(self.api, bool(key.namespace))


class _Kind:
    """The namespaced or the cluster-scoped kind of an API, with its watch."""

    def __init__(
        self, cluster: ClusterClient, api: ReportApi, namespaced: bool, news: Callable[[], None], pacing: Pacing | None
    ) -> None:
        self.installed: bool | None = None
        self._held: dict[ReportKey, StoredReport] = {}
        self._news = news
        self._lock = threading.Lock()
        self.reflector: Reflector[StoredReport] = Reflector(
            cluster,
            _resource(api, namespaced),
            self._change,
            on_replace=self._replace,
            keep=stored_report,
            label_selector=_SELECTOR,
            pacing=pacing,
        )

    def held(self) -> dict[ReportKey, StoredReport]:
        with self._lock:
            return dict(self._held)

    def _replace(self, items: Iterable[StoredReport], version: str) -> None:
        """Replace all reports of this kind. An empty `version` means that the kind is not installed."""
        with self._lock:
            self._held = {each.key: each for each in items if _ours(each)}
            self.installed = bool(version)
        self._news()

    def _change(self, kind: ChangeKind, item: StoredReport, _: str) -> None:
        if not _ours(item):
            return
        with self._lock:
            if kind == "DELETED":  # a watch also reports this for an object that lost the label
                self._held.pop(item.key, None)
            else:
                self._held[item.key] = item
        self._news()


def _ours(item: StoredReport) -> bool:
    """Whether the report is Quotree's, by its name. Others may add the label to their reports; these stay."""
    return item.key.name.startswith(PREFIX)


def _resource(api: ReportApi, namespaced: bool) -> Resource:
    return Resource(api.group, api.version, api.plural_of(namespaced), namespaced)
