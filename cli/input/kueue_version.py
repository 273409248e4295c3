"""Which version of Kueue applies to a command whose configuration does not name one."""

from __future__ import annotations

from functools import partial

from cli.input.against import Against
from cli.input.settings import Installed
from cluster.errors import ClusterError
from policies.configuration.kueue.gates import LATEST, KueueVersion


def installed_beside(against: Against) -> Installed:
    """The version in the cluster that --against names; without one the latest.

    If the cluster does not answer, the command reports it later, when it reads the cluster.
    """
    return partial(_asked, against) if against.kind == "cluster" else lambda: LATEST


def _asked(against: Against) -> KueueVersion:
    from cluster.installed_kueue import installed_kueue  # here, since it takes long to load

    try:
        with against.login.connect() as cluster:
            return installed_kueue(cluster)
    except ClusterError:
        return LATEST
