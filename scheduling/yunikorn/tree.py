"""The queues of a partition: those of queues.yaml, and those that placement rules create.

Source: YuniKorn core, `pkg/scheduler/partition.go`, `objects/queue.go`, `objects/template`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from itertools import count

from policies.dialects.yunikorn_config.dynamic import Leaf, TagLimits, with_limits, with_tags
from policies.dialects.yunikorn_config.model import ROOT, Partition, Template, amounts
from policies.dialects.yunikorn_config.model import ConfiguredQueue as Declared
from policies.dialects.yunikorn_config.placement import ConfiguredPartition, QueuePlacement, placed
from policies.dialects.yunikorn_config.placement import ReportedApplication as Submission
from policies.dialects.yunikorn_config.resources import YuniKornAmounts, is_positive, least
from scheduling.yunikorn.properties import inherited, read_properties
from scheduling.yunikorn.queue import YuniKornQueue, YuniKornQueueSettings

_UNTAGGED = Submission()


class ApplicationTree:
    """The queues of a partition. It also answers the questions of placement rules, for dynamic queues, too.

    capacity: the resources of all nodes together; None if they are not known.
    queues: by path in lower case.
    draining: queues with work that are no longer declared. They take nothing new.
    """

    def __init__(self, partition: Partition, capacity: YuniKornAmounts | None = None) -> None:
        self.partition = partition
        self.capacity = capacity
        self.queues: dict[str, YuniKornQueue] = {}
        self.draining: set[YuniKornQueue] = set()
        self._numbers = count()  # numbers for the order of creation
        self._guaranteed: dict[str, int] = {}  # the order in which queues first got a guaranteed amount
        self._shared: dict[YuniKornQueue, dict[str, Leaf]] = {}  # by dynamic leaf: its limits for each Namespace
        self._texts: dict[str, Mapping[str, str]] = {}  # property texts by path
        self._declared: dict[str, Declared] = {}  # the declaration of each queue in queues.yaml, by path
        self._configured = ConfiguredPartition(partition)
        declared = partition.root or Declared(ROOT, ROOT, "", 0, parent=True)
        self.root = self._declare(declared, None)

    def _declare(self, top: Declared, parent: YuniKornQueue | None) -> YuniKornQueue:
        waiting: list[tuple[Declared, YuniKornQueue | None]] = [(top, parent)]
        while waiting:
            declared, above = waiting.pop()
            queue = self._add(self._settings(declared, above), above)
            self._declared[queue.path] = declared
            waiting += [(child, queue) for child in reversed(declared.queues)]
        return self.queues[top.path.lower()]

    def _settings(self, declared: Declared, above: YuniKornQueue | None) -> YuniKornQueueSettings:
        own = {key: value.text for key, value in declared.properties.items()}
        texts = inherited(own, self._texts[above.path]) if above else own
        path = declared.path.lower()
        self._texts[path] = texts
        return YuniKornQueueSettings(
            path=path,
            leaf=above is not None and declared.is_leaf,
            maximum=_set(amounts(declared.maximum)) if above else self.capacity,
            guaranteed=_set(amounts(declared.guaranteed)),
            max_applications=declared.max_applications,
            properties=read_properties(texts),
            limits=declared.limits or (() if above else self.partition.limits),
        )

    def _add(self, settings: YuniKornQueueSettings, above: YuniKornQueue | None) -> YuniKornQueue:
        queue = YuniKornQueue(settings, above, is_cluster=above is None and self.capacity is not None)
        self.queues[settings.path] = queue
        queue.number = next(self._numbers)
        self._note_guarantee(queue)
        return queue

    def _note_guarantee(self, queue: YuniKornQueue) -> None:
        if queue.settings.guaranteed:
            self._guaranteed.setdefault(queue.path, next(self._numbers))
        else:
            self._guaranteed.pop(queue.path, None)

    def turn(self, leaf: YuniKornQueue) -> tuple[int, ...] | None:
        """The sort key of a leaf that may preempt; None if every queue on its path uses its guaranteed amounts.

        Leaves are sorted by which queue on their path first got a guaranteed amount, then in the order of the tree.
        """
        path = [*leaf.up()]
        claims = [(self._guaranteed[here.path], at) for at, here in enumerate(path) if here.is_under_guarantee]
        if not claims:
            return None
        first, depth = min(claims)
        return first, *(here.number for here in path[:depth][::-1])

    # --- questions of placement rules

    def exists(self, path: str) -> bool:
        return path.lower() in self.queues

    def is_leaf(self, path: str) -> bool:
        queue = self.queues.get(path.lower())
        return queue is not None and queue.is_leaf and queue not in self.draining

    def may_submit(self, path: str, application: Submission) -> bool:
        """Whether the user may submit to the queue.

        For a dynamic queue, the ACL of the nearest declared queue counts.
        """
        while path.lower() not in self._declared and "." in path:
            path = path.rpartition(".")[0]
        return self._configured.may_submit(path, application)

    def place(self, submission: Submission) -> QueuePlacement:
        return placed(self.partition.rules, self, submission)

    # --- dynamic queues

    def leaf(self, path: str, submission: Submission = _UNTAGGED) -> YuniKornQueue:
        """The leaf of the application, created if needed. A dynamic leaf gets the limits that the tags set."""
        queue = self.queues.get(path.lower()) or self._make(path.lower())
        own = queue.settings
        if not own.managed:
            tagged = with_tags(Leaf(own.path, False, own.maximum, own.guaranteed, own.max_applications), submission)
            queue.settings = replace(
                own, maximum=tagged.maximum, guaranteed=tagged.guaranteed, max_applications=tagged.max_applications
            )
            self._note_guarantee(queue)
        return queue

    def resumed(self, path: str) -> YuniKornQueue:
        """The leaf for running work that was admitted at this path. If it no longer exists, a draining leaf."""
        if self.is_leaf(path) or (path not in self.queues and self._has_room_for(path)):
            return self.leaf(path)
        return self.adopt(YuniKornQueue(YuniKornQueueSettings(path, managed=False)))

    def share(self, queue: YuniKornQueue, namespace: str, limits: TagLimits | None) -> None:
        """Limit a dynamic leaf by the quotas of all Namespaces that use it, not only by the last one.

        limits: those of the Namespace that joins; None if it no longer uses the leaf.
        """
        if queue.parent is None or queue in self.draining:
            return
        own = self._template_settings(queue.path, queue.parent)
        fresh = Leaf(own.path, False, own.maximum, own.guaranteed, own.max_applications)
        shared = self._shared.setdefault(queue, {})
        if limits is None:
            del shared[namespace]
        else:
            shared[namespace] = with_limits(fresh, limits)
        counts = [leaf.max_applications for leaf in shared.values() if leaf.max_applications]
        queue.settings = replace(
            own,
            maximum=least(*(leaf.maximum for leaf in shared.values())) or None,
            guaranteed=shared[max(shared)].guaranteed,
            max_applications=min(counts, default=0),
        )
        self._note_guarantee(queue)

    def _make(self, path: str) -> YuniKornQueue:
        above, _, _ = path.rpartition(".")
        parent = self.queues.get(above) or self._make_parent(above)
        return self._add(self._template_settings(path, parent), parent)

    def _template_settings(self, path: str, parent: YuniKornQueue) -> YuniKornQueueSettings:
        template = self._template(parent)
        if template is None:
            return YuniKornQueueSettings(path, managed=False)
        texts = {key: value.text for key, value in template.properties.items()}
        return YuniKornQueueSettings(
            path=path,
            managed=False,
            maximum=_set(amounts(template.maximum)),
            guaranteed=_set(amounts(template.guaranteed)),
            max_applications=template.max_applications,
            properties=read_properties(texts),
        )

    def _make_parent(self, path: str) -> YuniKornQueue:
        above, _, _ = path.rpartition(".")
        parent = self.queues.get(above) or self._make_parent(above)
        return self._add(YuniKornQueueSettings(path, leaf=False, managed=False), parent)

    def _template(self, queue: YuniKornQueue) -> Template | None:
        """The child template of the nearest queue that has one."""
        for each in queue.up():
            declared = self._declared.get(each.path)
            if declared is not None and declared.template is not None:
                return declared.template
        return None

    def adopt(self, leaf: YuniKornQueue) -> YuniKornQueue:
        """The leaf in this tree for a leaf of another tree. If it is no longer declared, a draining leaf is created."""
        found = self.queues.get(leaf.path)
        if found is not None and found.is_leaf:
            return found
        path = leaf.path
        while path in self.queues or not self._has_room_for(path):
            above, _, name = path.rpartition(".")
            path = f"{above.rpartition('.')[0] or ROOT}.{name}-draining"
        above = path.rpartition(".")[0]
        parent = self.queues.get(above) or self._make_parent(above)
        own = leaf.settings
        queue = self._add(replace(own, path=path, managed=False, limits=()), parent)
        if own.managed or path != leaf.path:
            self.draining.add(queue)
        return queue

    def _has_room_for(self, path: str) -> bool:
        """Whether the path can be created: no ancestor on it is a leaf."""
        steps = path.split(".")
        above = (self.queues.get(".".join(steps[:length])) for length in range(1, len(steps)))
        return not any(queue is not None and queue.is_leaf for queue in above)

    def drop_empty(self, queue: YuniKornQueue) -> list[YuniKornQueue]:
        """Remove an empty dynamic queue, and the dynamic parents that become empty with it.

        Returns the removed queues.
        """
        gone = []
        here: YuniKornQueue | None = queue
        while here is not None and not here.settings.managed and not here.children:
            gone.append(here)
            del self.queues[here.path]
            self._guaranteed.pop(here.path, None)
            self.draining.discard(here)
            self._shared.pop(here, None)
            if here.parent is not None:
                del here.parent.children[here.name]
            here = here.parent
        return gone


def _set(found: YuniKornAmounts) -> YuniKornAmounts | None:
    """The amounts, or None if all of them are 0."""
    return found if is_positive(found) else None
