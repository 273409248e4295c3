"""Reads the share of a Namespace in its parent queue in YuniKorn. The forest keeps the sums over Namespaces.

Which queue the parent is depends on the placement rules. The rules treat Namespaces with the same `parentqueue`
annotation alike, unless a queue is declared for one of them. So the sums are kept for each value of this annotation.
"""

from __future__ import annotations

from dataclasses import replace

from policies.dialects import core, yunikorn
from policies.dialects.core import Namespace
from policies.dialects.reading import Manifest
from policies.model.objects import GroupKind, Ref, SubtreeShare

PARENT_QUEUE = GroupKind("yunikorn.apache.org", "ParentQueue")


def group(parent_queue: str) -> Ref:
    """The key of the sum over the Namespaces with this parent queue; an empty parent queue is for those without one."""
    return Ref(*PARENT_QUEUE, "", parent_queue)


def read_namespace(manifest: Manifest) -> Namespace:
    namespace = core.read_namespace(manifest)
    parent = yunikorn.parent_queue(namespace) or ""
    guaranteed, quota = yunikorn.guaranteed(namespace), yunikorn.quota(namespace)
    if not (parent or guaranteed or quota):
        return namespace
    return replace(namespace, parent_share=(group(parent), SubtreeShare(nominal=guaranteed or {}, limit=quota or {})))
