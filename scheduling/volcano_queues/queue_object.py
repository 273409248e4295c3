"""A Volcano queue with the fields that decide its next state, read from its manifest."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from policies.amounts.requests import readable
from policies.dialects.reading import Manifest, listing, mapping, metadata, text, texts
from policies.dialects.volcano import IN_USE, ROOT, Queue, read_queue
from policies.model.quantity import Quantity

CLOSED_BY_PARENT = "volcano.sh/closed-by-parent"
"""Volcano's annotation: `true` on a queue that was closed with its parent and opens with it."""
OPERATION = "quotree.dev/queue-operation"
"""The annotation with the record of an operation on the queue and its descendants, see `operations`."""
FINALIZER = IN_USE
TOP = ROOT.name
QUOTA = ("guarantee", "deserved", "capability")
"""The fields of a spec with the amounts of a queue."""


@dataclass(frozen=True, slots=True)
class QueueObject:
    """A Queue.

    parent: spec.parent; empty if it is absent.
    closed_by_parent: it has the annotation CLOSED_BY_PARENT.
    deleting: it has a deletion timestamp.
    guarded: it has our finalizer.
    operation: the text of the annotation OPERATION.
    allocated: the amounts in its status.
    judged: the queue as rules read it.
    """

    name: str
    uid: str = ""
    parent: str = ""
    state: str = ""
    closed_by_parent: bool = False
    deleting: bool = False
    guarded: bool = False
    operation: str = ""
    allocated: Mapping[str, Quantity] = field(default_factory=dict)
    judged: Queue | None = None

    @property
    def takes_children(self) -> bool:
        """Whether it is being deleted, and its descendants have to be deleted before it."""
        return self.deleting and self.judged is not None and self.judged.takes_children

    @property
    def quota(self) -> Mapping[str, Mapping[str, Quantity]]:
        """The amounts of its spec, by field."""
        spec = self.judged
        return {field: getattr(spec, field) for field in QUOTA} if spec is not None else {}


def read_queue_object(manifest: Manifest) -> QueueObject:
    meta = metadata(manifest)
    annotations = texts(meta.get("annotations"))
    return QueueObject(
        text(meta.get("name")) or "",
        text(meta.get("uid")) or "",
        text(mapping(manifest.get("spec")).get("parent")) or "",
        text(mapping(manifest.get("status")).get("state")) or "",
        annotations.get(CLOSED_BY_PARENT) == "true",
        bool(meta.get("deletionTimestamp")),
        FINALIZER in listing(meta.get("finalizers")),
        annotations.get(OPERATION, ""),
        readable(mapping(manifest.get("status")).get("allocated")),
        read_queue(manifest),
    )
