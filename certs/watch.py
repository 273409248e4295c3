"""Watches the Secret and the objects that trust it, so that a change by another client is corrected at once."""

import logging
from collections.abc import Callable
from typing import Any

from certs.callers import Caller
from certs.secret import SecretSettings
from cluster.client import ClusterClient
from cluster.reflector import Reflector
from cluster.resource import SECRETS, Manifest

log = logging.getLogger(__name__)


class CertificateWatch:
    """Calls `changed` in its own threads from `start` to `stop`, even after our own writes.

    Each object is watched by its name, since the shipped roles only allow that.
    """

    def __init__(self, cluster: ClusterClient, settings: SecretSettings, changed: Callable[[], None]) -> None:
        self._reflectors = [
            _Last(changed).following(cluster, settings.secret, _content, settings.namespace),
            *(_Last(changed).following(cluster, each.name, each.published, caller=each) for each in settings.callers),
        ]

    def start(self) -> None:
        for each in self._reflectors:
            each.start()

    def stop(self) -> None:
        for each in self._reflectors:
            each.stop(timeout=0)  # signal all before waiting for one
        for each in self._reflectors:
            each.stop(timeout=1)


class _Last:
    """The last observed state of one object; None if the object does not exist."""

    def __init__(self, changed: Callable[[], None]) -> None:
        self._changed = changed
        self._seen: object = None

    def following(
        self,
        cluster: ClusterClient,
        name: str,
        keep: Callable[[Manifest], object],
        namespace: str | None = None,
        caller: Caller | None = None,
    ) -> Reflector[object]:
        return Reflector(
            cluster,
            caller.resource if caller else SECRETS,
            lambda change, seen, _: self._compare(None if change == "DELETED" else seen),
            on_replace=lambda every, _: self._compare(next(iter(every), None)),
            keep=keep,
            namespace=namespace,
            field_selector=f"metadata.name={name}",
        )

    def _compare(self, seen: object) -> None:
        before, self._seen = self._seen, seen
        if seen != before:
            self._changed()


def _content(secret: Manifest) -> tuple[Any, Any]:
    """The fields of the Secret that `ensure` reads. Only those of the last version are kept in memory."""
    return secret.get("data"), secret["metadata"].get("annotations")
