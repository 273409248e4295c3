"""Watches the settings by which a server recognizes requests that the API server forwards."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from email.message import Message
from pathlib import Path
from typing import Any

from cluster.api.front_proxy import NAME, NAMESPACE, FrontProxy
from cluster.client import ClusterClient
from cluster.errors import ClusterError
from cluster.reflector import of_one, whole
from cluster.resource import CONFIG_MAPS
from cluster.reviews import Caller

log = logging.getLogger(__name__)


class FollowedProxy:
    """Watches the ConfigMap of the front proxy from `start` to `stop`.

    `authority`: a file that is kept up to date with the authority of the API server's client certificate.
    """

    def __init__(self, cluster: ClusterClient, authority: Path) -> None:
        self.authority = authority
        self._cluster = cluster
        self._known: FrontProxy | None = None
        self._reflector = of_one(cluster, CONFIG_MAPS, NAME, self._take, keep=whole, namespace=NAMESPACE)

    def start(self) -> bool:
        """Start the watch. Returns False if the API server has no front proxy; then forwarded requests are refused."""
        try:
            self._take(self._cluster.get(CONFIG_MAPS.item(NAME, NAMESPACE)))
        except (ClusterError, OSError) as error:
            log.warning("requests that the API server forwards are refused: %s", error)
        if self._known is None:
            return False
        self._reflector.start()
        return True

    def stop(self) -> None:
        self._reflector.stop(timeout=1)

    def caller(self, certificate: Mapping[str, Any] | None, headers: Message) -> Caller | None:
        return self._known.caller(certificate, headers) if self._known is not None else None

    def _take(self, config_map: Mapping[str, Any] | None) -> None:
        try:
            found = FrontProxy.of(config_map) if config_map is not None else None
        except ValueError as error:
            log.warning("ConfigMap %s/%s: %s; the previous settings remain", NAMESPACE, NAME, error)
            return
        if found is None or found == self._known:
            return
        half = self.authority.with_suffix(".new")
        half.write_text(found.authority)
        half.replace(self.authority)
        self._known = found


@dataclass(frozen=True, slots=True)
class PassedOn:
    """Answers the requests that the API server forwards, with `answer_to`."""

    proxy: FollowedProxy
    answer_to: Callable[[str, Caller], dict[str, Any]]

    def caller(self, certificate: Mapping[str, Any] | None, headers: Message) -> Caller | None:
        return self.proxy.caller(certificate, headers)

    def answer(self, target: str, caller: Caller) -> dict[str, Any]:
        return self.answer_to(target, caller)
