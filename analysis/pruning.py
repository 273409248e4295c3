"""Finds the objects that `--prune` deletes."""

from __future__ import annotations

from collections.abc import Iterator

from analysis.inputs import InputObjects
from policies.dialects import core, kueue, volcano
from policies.model.forest import Forest
from policies.model.objects import KubeObject

PRUNED = frozenset({kueue.COHORT, kueue.CLUSTER_QUEUE, kueue.LOCAL_QUEUE, volcano.QUEUE, core.NAMESPACE})
"""The kinds that --prune may delete: those of quota trees."""


def missing(inputs: InputObjects, world: Forest) -> Iterator[KubeObject]:
    """Yield the missing objects, only of kinds that the files have: a file of queues deletes no Namespace.

    Yields nothing while an input is unreadable, since it may have them.
    """
    kinds = PRUNED & {ref.group_kind for ref in inputs.objects} if not inputs.unreadable else ()
    for obj in sorted(world.objects(), key=lambda obj: obj.ref):
        if obj.ref.group_kind in kinds and obj.ref not in inputs.objects and not _made_by_the_system(obj):
            yield obj


def _made_by_the_system(obj: KubeObject) -> bool:
    """Whether Volcano or Kubernetes creates the queue or namespace, so that users do not keep it in files."""
    kind, name = obj.ref.group_kind, obj.ref.name
    if kind == volcano.QUEUE:
        return name in volcano.BUILT_IN
    return kind == core.NAMESPACE and (name == "default" or name.startswith("kube-"))
