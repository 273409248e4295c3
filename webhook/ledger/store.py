"""The ledger as a ConfigMap: one key for each entry, and one for the watermarks."""

from __future__ import annotations

import json
import logging
import threading
from collections.abc import Iterable

from cluster.actions import Patch
from cluster.apply import perform
from cluster.client import ClusterClient
from cluster.errors import ApiError
from cluster.reflector import Pacing, of_one, whole
from cluster.resource import CONFIG_MAPS, Manifest
from cluster.versions import is_newer
from webhook.ledger.contents import LedgerContents
from webhook.ledger.entry import LedgerEntry, UnreadableEntry, entry

log = logging.getLogger(__name__)

NAMESPACE, NAME = "quotree-system", "quotree-ledger"
MANAGER = "quotree-ledger"
WATERMARKS = "seen"
"""The key of the watermarks; every other key is the uid of a request."""

LARGEST = 900 * 1024
"""The most bytes of all entries. The API server accepts a ConfigMap of 1 MiB."""

_WATCH = Pacing(first=0.2, longest=3.0)


class LedgerUnavailable(Exception):
    """The ledger cannot order this change. The message says why, and what to do.

    `result`: the label of the metric that counts it.
    """

    result = "unavailable"


class ConfigMapStore:
    """Stores the ledger in a ConfigMap, and keeps the newest contents that a watch, a read or a write has returned.

    `read` and `write` raise ClusterError or UnreadableEntry, and LedgerUnavailable if the ConfigMap is missing or full,
    or may not be used.
    """

    def __init__(self, cluster: ClusterClient) -> None:
        self._cluster = cluster
        self._newest: LedgerContents | None = None
        self._lock = threading.Lock()
        self._reflector = of_one(
            cluster,
            CONFIG_MAPS,
            NAME,
            self._observe,
            keep=whole,
            namespace=NAMESPACE,
            pacing=_WATCH,
            on_set_back=lambda _: self._forget(),
        )

    def start(self) -> None:
        self._reflector.start()

    def close(self) -> None:
        self._reflector.stop()
        self._cluster.close()

    def newest(self) -> LedgerContents | None:
        """The newest contents that this replica knows; None before the first read, or if the ConfigMap is missing."""
        return self._newest

    def read(self) -> LedgerContents:
        try:
            return self._take(self._cluster.get(CONFIG_MAPS.item(NAME, NAMESPACE)))
        except ApiError as error:
            raise _explained(error) from error

    def write(
        self,
        contents: LedgerContents,
        added: Iterable[LedgerEntry],
        dropped: Iterable[str],
        watermarks: dict[str, str | None],
    ) -> LedgerContents:
        """Write the ledger if its version is still that of `contents`, and return the new contents.

        `dropped`: the requests whose entries are removed.
        `watermarks`: the changed ones; None removes a watermark.
        """
        data: dict[str, str | None] = dict.fromkeys(dropped)
        data |= {each.request: each.text for each in added}
        if watermarks:
            kept = {place: value for place, value in {**contents.watermarks, **watermarks}.items() if value is not None}
            data[WATERMARKS] = json.dumps(kept, sort_keys=True)
        _check(contents, data)
        patch = Patch(CONFIG_MAPS, NAMESPACE, NAME, {"data": data}, contents.version, MANAGER)
        try:
            return self._take(perform(self._cluster, patch))
        except ApiError as error:
            raise _explained(error) from error

    def try_out(self) -> None:
        """Check the right to write by a write without changes. Raises what `read` and `write` raise."""
        self.write(self.read(), (), (), {})

    def _take(self, manifest: Manifest) -> LedgerContents:
        """Read the contents of a ConfigMap, and keep them unless newer ones are known."""
        found = read_contents(manifest)
        with self._lock:
            if self._newest is None or is_newer(found.version, self._newest.version):
                self._newest = found
        return found

    def _observe(self, manifest: Manifest | None) -> None:
        try:
            if manifest is not None:
                self._take(manifest)
                return
        except UnreadableEntry as error:
            log.warning("ledger: %s", error)
        self._forget()

    def _forget(self) -> None:
        """The next request reads the ConfigMap, or gets the reason as an error."""
        with self._lock:
            self._newest = None


def read_contents(manifest: Manifest) -> LedgerContents:
    """Read the entries and the watermarks from the ConfigMap. Raises UnreadableEntry."""
    data = dict(manifest.get("data") or {})
    try:
        watermarks = {str(place): str(value) for place, value in json.loads(data.pop(WATERMARKS, "{}")).items()}
    except (ValueError, AttributeError, RecursionError) as error:
        raise UnreadableEntry(f"key {WATERMARKS} cannot be read: {error}") from error
    entries = {request: entry(request, text) for request, text in data.items()}
    return LedgerContents(manifest["metadata"]["resourceVersion"], entries, watermarks)


_MISSING = f"ConfigMap {NAMESPACE}/{NAME} does not exist; apply manifests/base, or set `ledger: off`"
_CURES = {
    403: f"the webhook may not use ConfigMap {NAMESPACE}/{NAME}; apply manifests/base/rbac.yaml, or set `ledger: off`",
    404: _MISSING,
}


def _explained(error: ApiError) -> Exception:
    """The error with a fix if an administrator has to act; any other error unchanged."""
    cure = _CURES.get(error.status)
    return LedgerUnavailable(cure) if cure else error


def _check(contents: LedgerContents, data: dict[str, str | None]) -> None:
    """Check the size of the ConfigMap after the write. Raises LedgerUnavailable if it would be too large to store."""
    sizes = {request: len(each.text) for request, each in contents.entries.items()}
    sizes |= {key: len(text) if text is not None else 0 for key, text in data.items()}
    if sum(sizes.values()) > LARGEST:
        raise LedgerUnavailable(
            f"the ledger is full: {len(contents.entries)} changes are not stored yet; try again in a minute"
        )
