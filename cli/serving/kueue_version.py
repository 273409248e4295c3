"""The version of Kueue for servers whose configuration does not name one."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from cli.exits import OutOfReach
from cli.input.against import Against
from cli.input.settings import Installed
from cluster.errors import ApiError, ClusterError, NotConfigured, Unreachable
from policies.configuration.kueue.gates import LATEST, KueueVersion

if TYPE_CHECKING:  # it takes long to load
    from cluster.client import ClusterClient

PATIENCE = 60.0
"""Seconds to wait for the API server, which may start at the same time as this process."""
_PAUSE = 2.0
log = logging.getLogger(__name__)


def logged(connect: Callable[[], ClusterClient]) -> Installed:
    """A function that returns and logs the version of Kueue in the cluster of a server.

    It raises OutOfReach if the cluster does not answer in time. With a default instead, two replicas could decide by
    different versions.
    """
    return partial(_logged, connect)


def beside_webhook(against: Against, kubeconfig: str | None) -> Installed:
    """The same for the webhook. If the webhook judges against files, the version is the latest one."""
    if against.kind != "cluster":
        return lambda: LATEST

    def connect() -> ClusterClient:
        from cluster.client import ClusterClient  # here, since it takes long to load

        return ClusterClient.connect(against.name or None, kubeconfig)

    return logged(connect)


def _logged(connect: Callable[[], ClusterClient]) -> KueueVersion:
    from cluster.installed_kueue import installed_kueue  # here, since a configuration may name its version
    from webhook.logs import log_as_json

    log_as_json()
    last = time.monotonic() + PATIENCE
    while True:
        try:
            with connect() as cluster:
                return installed_kueue(cluster)
        except NotConfigured:
            return LATEST  # there is no cluster
        except ClusterError as error:
            passing = isinstance(error, Unreachable) or (isinstance(error, ApiError) and error.status >= 500)
            if not passing or time.monotonic() >= last:
                text = f"the version of Kueue is unknown: {error}; kueueVersion in Quotree's own Configuration names it"
                raise OutOfReach(text) from error
            log.warning("the version of Kueue is unknown yet: %s", error)
            time.sleep(_PAUSE)
