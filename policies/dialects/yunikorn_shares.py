"""What a Namespace has of the queue that YuniKorn places it below: the sums over siblings are kept by the forest.

Which queue that is depends on the placement rules. Here namespaces are only kept apart by what their annotation
`parentqueue` says, since the rules treat those that say the same alike, unless a queue is declared for one.
"""

from __future__ import annotations

from dataclasses import replace

from policies.dialects import core, yunikorn
from policies.dialects.core import Namespace
from policies.dialects.reading import Manifest
from policies.model.objects import GroupKind, Ref, SubtreeShare

PARENT_QUEUE = GroupKind("yunikorn.apache.org", "ParentQueue")


def group(parent_queue: str) -> Ref:
    """The name that namespaces with this annotation share quota under; empty for those that have none."""
    return Ref(*PARENT_QUEUE, "", parent_queue)


def read_namespace(manifest: Manifest) -> Namespace:
    namespace = core.read_namespace(manifest)
    parent = yunikorn.parent_queue(namespace) or ""
    guaranteed, quota = yunikorn.guaranteed(namespace), yunikorn.quota(namespace)
    if not (parent or guaranteed or quota):
        return namespace
    return replace(namespace, parent_share=(group(parent), SubtreeShare(nominal=guaranteed or {}, limit=quota or {})))
