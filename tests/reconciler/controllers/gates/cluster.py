"""Pods at the gate in memory and a core that looks after them; it can crash after any write, and start again."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Mapping
from random import Random
from typing import Any, ClassVar

from cluster.actions import Action, Create, Delete, Patch
from cluster.errors import ApiError, Conflict, NotFound
from policies.configuration.settings import Configuration
from policies.dialects import read
from policies.model.forest import Forest
from policies.mutation.defaults import patch
from policies.mutation.patching import patched
from reconciler.core.commands import Command, ReadObject, Relist, WriteCommand
from reconciler.core.controller import Controller
from reconciler.core.core import Core
from reconciler.core.events import LeadershipGained, LeadershipLost
from reconciler.core.state import ClusterState
from reconciler.objects.observed import Key, Listed, Observed
from reconciler.objects.outcomes import Failed, ObjectRead, Written
from reconciler.objects.watched import WatchedKind, by_kind
from scheduling.objects.times import written
from tests.builders import Manifest
from tests.copies import copied
from tests.merging import merged
from tests.reconciler.controllers.turns import Crash, Turns

GATE = "quotree.dev/quota"


class GateCluster(Turns):
    """Nothing is written of the objects that are `refused` (`namespace/name`), nor of any while it is `failing`.

    Of a project: its `configuration`, the kinds that are `watched`, and by which of them objects `of_kind` are seen.
    """

    configuration: Configuration
    watched: tuple[WatchedKind, ...]
    of_kind: ClassVar[Mapping[str, tuple[str, ...]]]

    def __init__(self, *objects: Manifest) -> None:
        super().__init__()
        self.refused: set[str] = set()
        self.failing = False
        for each in objects:
            self.put(each)
        self.start()

    @abstractmethod
    def _controllers(self, state: ClusterState) -> list[Controller]:
        """What looks after Pods at the gate."""

    # --- what people do

    def put(self, made: Manifest) -> None:
        """A Pod that is new passes the mutating webhook first."""
        meta = made["metadata"]
        key = (made["kind"], f"{meta['namespace']}/{meta['name']}" if meta.get("namespace") else meta["name"])
        if key not in self.objects:
            self._version += 1
            made = copied(made)
            made["metadata"].setdefault("uid", f"uid-{self._version}")
            made["metadata"].setdefault("creationTimestamp", written(self.now))
            made = self._completed(made)
        self.store(key, made)

    def _completed(self, made: Manifest) -> Manifest:
        spaces = [each for key, each in self.objects.items() if key[0] == "Namespace"]
        forest = Forest().put_all([found for each in spaces if (found := read(each)) is not None])
        completed: Manifest = patched(made, patch(made, forest, self.configuration))
        return completed

    def change(self, key: Key, body: Manifest) -> None:
        self.store(key, merged(self.objects[key], body))

    def end(self, name: str, phase: str = "Succeeded") -> None:
        self.change(("Pod", f"dev/{name}" if "/" not in name else name), {"status": {"phase": phase}})

    def delete(self, name: str) -> None:
        self.gone(("Pod", f"dev/{name}" if "/" not in name else name))

    # --- what is stored of it

    def pods(self) -> list[Manifest]:
        return [each for key, each in self.objects.items() if key[0] == "Pod"]

    def gated(self) -> list[str]:
        return sorted(each["metadata"]["name"] for each in self.pods() if gated(each))

    def passed(self) -> list[str]:
        return sorted(each["metadata"]["name"] for each in self.pods() if not gated(each))

    def note(self, name: str, key: str = "quotree.dev/quota-waits") -> str:
        found = self.objects["Pod", name if "/" in name else f"dev/{name}"]["metadata"].get("annotations") or {}
        return str(found.get(key, ""))

    def events(self) -> list[str]:
        return [each["reason"] for each in self.created()]

    def created(self) -> list[Mapping[str, Any]]:
        """The Events, whole."""
        return [action.body for _, action in self.written if isinstance(action, Create)]

    # --- the process

    def start(self) -> None:
        """A new process that knows nothing."""
        state = ClusterState()
        self.core = Core(state, self._controllers(state), kueue=False)
        self._news = []
        for kind in self.watched:
            self._handle(Listed(kind.kind, tuple(self._listed(kind)), str(self._version)))
        self._handle(LeadershipGained())

    def turn_with_crashes(self, random: Random) -> None:
        """A turn, before which up to two processes end right behind a write."""
        for _ in range(random.randint(0, 2)):
            self.crash_after = 1
            try:
                self.settle(1)
            except Crash:
                self.start()
        self.crash_after = None
        self.settle(1)

    def lead(self, leads: bool) -> None:
        self._handle(LeadershipGained() if leads else LeadershipLost())

    def take_in(self) -> None:
        """What was observed, without the time to decide."""
        while self._news:
            self._handle(self._news.pop(0))

    def _carry_out(self, command: Command) -> None:
        match command:
            case WriteCommand(key, action):
                self._news.append(self._write(key, action))
                if not isinstance(action, Create) and self.crash_after is not None:
                    self.crash_after -= 1
                    if not self.crash_after:
                        raise Crash
            case ReadObject(key):
                found = self.objects.get(self._stored_key(key))
                error = NotFound(404, "NotFound", "gone")
                self._news.append(Failed(key, None, error) if found is None else ObjectRead(key, copied(found)))
            case Relist(watched, request):
                lists = {view.kind: tuple(self._listed(view)) for view in watched.views}
                self._news += [Listed(kind, found, str(self._version), request) for kind, found in lists.items()]

    def _write(self, key: Key, action: Action) -> Written | Failed:
        if isinstance(action, Create):
            self.written.append((key, action))
            return Written(key, action, dict(action.body))
        stored = self.objects.get(self._stored_key(key))
        if stored is None:
            return Failed(key, action, NotFound(404, "NotFound", "gone"))
        assert isinstance(action, Patch | Delete)
        if action.resource_version and stored["metadata"]["resourceVersion"] != action.resource_version:
            return Failed(key, action, Conflict(409, "Conflict", "changed"))
        if self.failing:
            return Failed(key, action, ApiError(500, "InternalError", "etcdserver: request timed out"))
        if key[1] in self.refused:
            return Failed(key, action, ApiError(422, "Invalid", "a policy says no"))
        self.written.append((key, action))
        if isinstance(action, Delete):
            self.gone(self._stored_key(key))
            return Written(key, action, copied(stored))
        self.store(self._stored_key(key), merged(stored, action.body))
        return Written(key, action, copied(self.objects[self._stored_key(key)]))

    # --- what is stored

    def _listed(self, watched: WatchedKind) -> Iterable[Observed]:
        for key, made in self.objects.items():
            if watched in self._watching(key, made):
                yield watched.observed(copied(made))

    def store(self, key: Key, made: Manifest) -> None:
        self._version += 1
        made = copied(made)
        made["metadata"]["resourceVersion"] = str(self._version)
        self.objects[key] = made
        self._news += [watched.observed(copied(made)) for watched in self._watching(key, made)]

    def gone(self, key: Key) -> None:
        self._version += 1
        made = self.objects.pop(key)
        kinds = [watched.kind for watched in self._watching(key, made)]
        self._news += [Observed((kind, key[1]), str(self._version), None) for kind in kinds]

    def _watching(self, key: Key, made: Manifest) -> list[WatchedKind]:
        known = by_kind(self.watched)
        found = [known[kind] for kind in self.of_kind[key[0]]]
        return [each for each in found if each.field_selector in (None, f"metadata.name={made['metadata']['name']}")]

    def _stored_key(self, key: Key) -> Key:
        """Of the object that the core means by any view of it."""
        return (next(kind for kind, watched in self.of_kind.items() if key[0] in (kind, *watched)), key[1])


def gated(pod: Manifest) -> bool:
    return any(gate["name"] == GATE for gate in pod["spec"].get("schedulingGates", ()))
