"""Volcano's objects in memory and a core that looks after them; it can crash after any write, and start again."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from cluster.actions import Action, Create
from policies.configuration.settings import Configuration, ReconcilerSettings, VolcanoSettings
from reconciler.controllers.volcano.gate_kinds import GATED_QUEUE
from reconciler.controllers.volcano.kinds import NODE_AMOUNTS, QUEUES, WATCHED
from reconciler.controllers.volcano.queues import VolcanoQueuesController
from reconciler.core.commands import Command, ReadObject, Relist, WriteCommand
from reconciler.core.core import Core
from reconciler.core.events import LeadershipGained
from reconciler.core.state import ClusterState
from reconciler.objects.observed import Key, Listed, Observed
from reconciler.objects.outcomes import Failed, Written
from reconciler.objects.watched import WatchedKind, by_kind
from scheduling.objects.times import SECOND, rfc3339
from scheduling.volcano_queues.queue_object import OPERATION
from tests.builders import Manifest, manifest, pod_group, queue
from tests.copies import copied
from tests.reconciler.controllers.turns import Crash, Turns


class QueueCluster(Turns):
    """Queues, their work, and Commands."""

    def __init__(self, *objects: Manifest) -> None:
        super().__init__()
        self.kinds = by_kind((*WATCHED, NODE_AMOUNTS, *([GATED_QUEUE] if self.checks_sums else [])))
        for each in objects:
            self.add(each)
        self.start()

    # --- what people do

    def add(self, made: Manifest, kind: str = "") -> None:
        meta = made["metadata"]
        name = f"{meta['namespace']}/{meta['name']}" if meta.get("namespace") else meta["name"]
        self.put((kind or made["kind"], name), made)

    def queue(self, name: str, parent: str | None = "root", state: str = "") -> None:
        made = queue(name, parent)
        made["metadata"]["uid"] = f"uid-{name}"
        made["status"] = {"state": state} if state else {}
        self.add(made)

    def work(self, name: str, queue_name: str, phase: str = "Running") -> None:
        self.add(pod_group(name, queue_name, phase=phase))

    def done(self, name: str) -> None:
        self.drop(("PodGroup", f"ns/{name}"))

    def command(
        self, action: str, target: str, name: str = "", *, seconds_ago: int = 0, uid: str = "", step: bool = False
    ) -> None:
        made = manifest("bus.volcano.sh/v1alpha1", "Command", name or f"{action}-{target}", {}, namespace="default")
        made["metadata"]["creationTimestamp"] = rfc3339(self.now - seconds_ago * SECOND)
        if step:
            made["metadata"]["annotations"] = {OPERATION: "step"}
        made["action"] = action
        made["target"] = {"apiVersion": "scheduling.volcano.sh/v1beta1", "kind": "Queue", "name": target, "uid": uid}
        self.add(made)

    def set(self, name: str, body: Mapping[str, Any]) -> None:
        """A user patches the queue."""
        self.edit(("Queue", name), dict(body))

    def delete(self, name: str) -> None:
        self.remove(("Queue", name))

    # --- what is stored of it

    def states(self) -> dict[str, str]:
        """The state of every queue, with + where its parent closed it."""
        return {key[1]: _shown(each) for key, each in self.objects.items() if key[0] == "Queue"}

    def status(self, name: str) -> Mapping[str, Any]:
        found: Mapping[str, Any] = self.objects["Queue", name].get("status", {})
        return found

    def annotation(self, name: str, key: str) -> str | None:
        found: str | None = self.objects["Queue", name]["metadata"].get("annotations", {}).get(key)
        return found

    def commands(self) -> list[str]:
        return [key[1] for key in self.objects if key[0] == "Command"]

    def events(self) -> list[str]:
        events = (action.body for _, action in self.written if isinstance(action, Create) and action.resource != QUEUES)
        return [event["reason"] for event in events]

    # --- the process

    root_from_nodes = False
    checks_sums = False

    def start(self, replaces: Iterable[str] = ()) -> None:
        """A new process that knows nothing. `replaces`: Volcano's programs that its configuration says are stopped."""
        state = ClusterState()
        configuration = Configuration(
            volcano=VolcanoSettings(root_from_nodes=self.root_from_nodes, checks_sums=self.checks_sums),
            reconciler=ReconcilerSettings(replaces=frozenset(replaces)),
        )
        self.controller = VolcanoQueuesController(lambda name: state.records.detail(("Queue", name)), configuration)
        self.core = Core(state, [self.controller], kueue=False)
        self._news = []
        for kind in self.core.informer.watched:
            self._handle(self._listed(kind))
        self._handle(LeadershipGained())

    def carry_out(self, command: Command) -> None:
        match command:
            case WriteCommand(key, action):
                self._news.append(self._write(key, action))
                if not isinstance(action, Create) and self.crash_after is not None:
                    self.crash_after -= 1
                    if not self.crash_after:
                        raise Crash
            case ReadObject(key):
                self._news.append(self.look_up(key))
            case Relist(watched, request):
                self._news += [self._listed(kind, request) for kind in watched.kinds]

    def _write(self, key: Key, action: Action) -> Written | Failed:
        if isinstance(action, Create) and action.resource != QUEUES:
            self.written.append((key, action))
            return Written(key, action, dict(action.body))
        answer = self.perform(key, action)
        if isinstance(answer, Written):
            self.written.append((key, action))
        return answer

    # --- what is stored

    def _observed(self, key: Key) -> list[Observed]:
        """The object in each view of it."""
        return [view.observed(copied(self.objects[key])) for view in self.kinds.values() if _shows(view, key)]

    def _listed(self, kind: str, request: int = 0) -> Listed:
        found = tuple(
            each
            for key in self.objects
            if _shows(self.kinds[kind], key)
            for each in self._observed(key)
            if each.key[0] == kind
        )
        return Listed(kind, found, str(self.version), request)

    def changed(self, key: Key) -> None:
        if key in self.objects:
            self._news += self._observed(key)
        else:
            shown = [view.kind for view in self.kinds.values() if _shows(view, key)]
            self._news += [Observed((kind, key[1]), str(self.version), None) for kind in shown]


def _shows(view: WatchedKind[object], key: Key) -> bool:
    return key[0] in (view.kind, view.object_kind)


def _shown(made: Manifest) -> str:
    by_parent = made["metadata"].get("annotations", {}).get("volcano.sh/closed-by-parent") == "true"
    return f"{made.get('status', {}).get('state', '')}{'+' if by_parent else ''}"
