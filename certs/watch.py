"""Watches the Secret and the objects that trust it, so that a change by another client is corrected at once."""

from collections.abc import Callable
from typing import Any

from certs.secret import SecretSettings
from cluster.client import ClusterClient
from cluster.reflector import of_one
from cluster.resource import SECRETS, Manifest, Resource


class CertificateWatch:
    """Calls `changed` in its own threads from `start` to `stop`, even after our own writes.

    Each object is watched by its name, since the shipped roles only allow that.
    """

    def __init__(self, cluster: ClusterClient, settings: SecretSettings, changed: Callable[[], None]) -> None:
        watched: list[tuple[Resource, str, Callable[[Manifest], object], str | None]] = [
            (SECRETS, settings.secret, _content, settings.namespace),
            *((each.resource, each.name, each.published, None) for each in settings.callers),
        ]
        self._reflectors = [
            of_one(cluster, resource, name, _last(changed), keep=keep, namespace=namespace)
            for resource, name, keep, namespace in watched
        ]

    def start(self) -> None:
        for each in self._reflectors:
            each.start()

    def stop(self) -> None:
        for each in self._reflectors:
            each.stop(timeout=0)  # signal all before waiting for one
        for each in self._reflectors:
            each.stop(timeout=1)


def _last(changed: Callable[[], None]) -> Callable[[object], None]:
    """Compares each observed state of one object with the last, and calls `changed` if it differs."""
    last: object = None

    def compare(seen: object) -> None:
        nonlocal last
        before, last = last, seen
        if seen != before:
            changed()

    return compare


def _content(secret: Manifest) -> tuple[Any, Any]:
    """The fields of the Secret that `ensure` reads. Only those of the last version are kept in memory."""
    return secret.get("data"), secret["metadata"].get("annotations")
