"""The plugin `nodegroup`: which groups of nodes a queue may use or prefers, and its limit in each group.

Source: Volcano, pkg/scheduler/plugins/nodegroup.
"""

from __future__ import annotations

from collections.abc import Mapping

from policies.dialects.volcano_node_groups import NODE_GROUP, NodeGroupAffinity
from scheduling.objects.amounts import add_to
from scheduling.volcano.machines import Room
from scheduling.volcano.objects import Status, Task, VolcanoQueueSettings
from scheduling.volcano.plugin import Plugin
from scheduling.volcano.refusal import QueueRefusal
from scheduling.volcano.world import SessionWorld

_COUNTED = (Status.ALLOCATED, Status.RUNNING, Status.PIPELINED)
_BASE = 100.0
_UNSET = NodeGroupAffinity()


class NodeGroups(Plugin):
    """Affinities and limits of queues by node group.

    A refusal is not `lasting`: the missing amount may become free in another queue or on another node.

    hierarchy: a queue without an affinity inherits that of the nearest ancestor with one. Limits are not inherited.
    """

    answers = frozenset(["predicate", "nodeOrder"])

    def __init__(self, arguments: Mapping[str, object], *, hierarchy: bool) -> None:
        self._strict = arguments.get("strict") is not False
        self._in_order = arguments.get("enablePreferredOrder") is True
        self._hierarchy = hierarchy
        self._world: SessionWorld | None = None
        # usage by queue and node group; None until it is needed in a session
        self._used: dict[tuple[str, str], dict[str, int]] | None = None
        self._counted: dict[str, tuple[str, str]] = {}  # by counted pod: its queue and node group

    def open(self, world: SessionWorld) -> None:
        self._world = world
        self._used = None

    def predicate(self, task: Task, room: Room) -> QueueRefusal | None:
        name = self.session.queue_of(task)
        settings = self._settings(name)
        if settings is not None and settings.group_limits is None:
            return QueueRefusal(f"queue {name}: its limits by node group cannot be read")
        affinity = self._affinity(name)
        group = room.machine.labels.get(NODE_GROUP)
        if group is None:
            if not self._strict and not affinity:
                return None
            return QueueRefusal(f"node {room.name} is in no node group")
        if not affinity:
            return QueueRefusal(f"queue {name} has no affinity to node groups, and node {room.name} is in {group}")
        if not affinity.allows(group):
            return QueueRefusal(f"queue {name} may not use node group {group}")
        return self._over(task, name, group, (settings.group_limits or {}).get(group, {}) if settings else {})

    def node_order(self, task: Task, room: Room) -> float:
        group, affinity = room.machine.labels.get(NODE_GROUP), self._affinity(self.session.queue_of(task))
        if group is None or affinity is _UNSET:
            return 0.0
        if group in affinity.disliked:
            return -1.0
        score = _BASE if group in affinity.required else 0.0
        if group in affinity.preferred:
            count, place = len(affinity.preferred), affinity.preferred.index(group)
            score += 0.5 * _BASE * ((count - place) / count if self._in_order else 1)
        return score

    def allocated(self, task: Task) -> None:
        self._recount(task)

    def deallocated(self, task: Task) -> None:
        self._recount(task)

    def _over(self, task: Task, queue: str, group: str, limits: Mapping[str, int]) -> QueueRefusal | None:
        if not limits:
            return None
        used = self._uses(queue, group)
        over = [name for name, limit in limits.items() if used.get(name, 0) + task.request.get(name, 0) > limit]
        if not over:
            return None
        return QueueRefusal(f"queue {queue} would exceed its limit in node group {group}: {', '.join(sorted(over))}")

    def _uses(self, queue: str, group: str) -> Mapping[str, int]:
        if self._used is None:
            self._used, self._counted = {}, {}
            for room in self._world.rooms.values() if self._world is not None else ():
                for task in room.tasks.values():
                    self._count(task, room)
        return self._used.get((queue, group), {})

    def _recount(self, task: Task) -> None:
        """Count the pod as it is now, instead of what was counted for it before. Its request does not change."""
        if self._used is None or self._world is None:
            return
        if (place := self._counted.pop(task.name, None)) is not None:
            add_to(self._used[place], task.request, -1)
        room = self._world.rooms.get(task.node)
        if room is not None and task.name in room.tasks:
            self._count(task, room)

    def _count(self, task: Task, room: Room) -> None:
        job = self._world.jobs.get(task.group) if self._world is not None else None
        group = room.machine.labels.get(NODE_GROUP)
        if self._used is not None and group is not None and job is not None and task.status in _COUNTED:
            place = self._counted[task.name] = job.group.queue, group
            add_to(self._used.setdefault(place, {}), task.request)

    def _settings(self, name: str) -> VolcanoQueueSettings | None:
        node = self._world.queues.get(name) if self._world is not None else None
        return node.settings if node is not None else None

    def _affinity(self, name: str) -> NodeGroupAffinity:
        node = self._world.queues.get(name) if self._world is not None else None
        for here in node.up() if node is not None else ():
            if here.settings.affinity is not None:
                return here.settings.affinity
            if not self._hierarchy:
                break
        return _UNSET
