"""The version of Kueue for commands whose configuration does not name one."""

from __future__ import annotations

from functools import partial

from cli.input.against import Against
from cli.input.settings import Installed
from cluster.errors import ClusterError
from policies.configuration.kueue.gates import LATEST, KueueVersion


def installed_beside(against: Against) -> Installed:
    """A function that returns the version in the cluster of --against, or the latest if there is no cluster.

    If the cluster does not answer, the function returns the latest version, and the command reports the error when it
    reads the cluster.
    """
    return partial(_installed_version, against) if against.kind == "cluster" else lambda: LATEST


def _installed_version(against: Against) -> KueueVersion:
    from cluster.installed_kueue import installed_kueue  # here, since it takes long to load

    try:
        with against.login.connect() as cluster:
            return installed_kueue(cluster)
    except ClusterError:
        return LATEST
