"""Queues of Volcano, written one by one as kubectl would."""

from __future__ import annotations

from cluster.client import Cluster
from policies.dialects.reading import metadata
from policies.rollout.edits import Edit

QUEUES = "/apis/scheduling.volcano.sh/v1beta1/queues"


def apply(cluster: Cluster, edit: Edit) -> None:
    """Raises ClusterError where it is refused."""
    path = f"{QUEUES}/{edit.ref.name}"
    if edit.after is None:
        cluster.delete(path)
        return
    manifest = dict(edit.after.manifest or {})
    if edit.before is None:
        cluster.create(QUEUES, manifest)
        return
    version = metadata(cluster.get(path))["resourceVersion"]
    cluster.replace(path, {**manifest, "metadata": {**metadata(manifest), "resourceVersion": version}})
