"""The version of Kueue that is installed in a cluster, for configurations that do not name a version."""

from __future__ import annotations

import logging

from cluster.client import ClusterClient
from cluster.errors import Forbidden, NotFound
from cluster.resource import CUSTOM_RESOURCE_DEFINITIONS, DEPLOYMENTS, Manifest
from policies.configuration.kueue.gates import LATEST, KueueVersion
from policies.takeover.objects import ReleaseNames
from policies.takeover.versions import installed_version

log = logging.getLogger(__name__)
_WORKLOADS = "workloads.kueue.x-k8s.io"


def installed_kueue(cluster: ClusterClient) -> KueueVersion:
    """The version of Kueue, found by the object names in Kueue's manifests; if not found, the latest. Logs the result.

    An object that may not be read counts as missing. Raises ClusterError if the API server does not answer.
    """
    manager = ReleaseNames().manager
    found = installed_version(_found(cluster, DEPLOYMENTS.item(manager.name, manager.namespace)), None)
    by = "Deployment"
    if found is None:
        found = installed_version(None, _found(cluster, CUSTOM_RESOURCE_DEFINITIONS.item(_WORKLOADS)))
        by = "definition of Workloads"
    if found is None:
        log.info("Kueue is not installed: its gates and defaults are those of %s", LATEST)
        return LATEST
    log.info("Kueue %s is installed, by its %s: its gates and defaults apply", found, by)
    return found


def _found(cluster: ClusterClient, path: str) -> Manifest | None:
    try:
        return cluster.get(path)
    except (NotFound, Forbidden):
        return None
