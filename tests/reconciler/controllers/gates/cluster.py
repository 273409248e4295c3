"""Pods at the gate in memory and a core that looks after them; it can crash after any write, and start again."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Mapping
from dataclasses import replace
from random import Random
from typing import Any, ClassVar

from cluster.actions import Action, Create
from cluster.errors import ApiError
from policies.configuration.settings import Configuration
from policies.dialects import read
from policies.model.forest import Forest
from policies.mutation.defaults import patch
from policies.mutation.patching import patched
from reconciler.core.commands import Command, ReadObject, Relist, WriteCommand
from reconciler.core.controller import Controller
from reconciler.core.core import Core
from reconciler.core.events import Continue, LeadershipGained, LeadershipLost, TimePassed
from reconciler.core.state import ClusterState
from reconciler.objects.observed import Key, Listed, Observed
from reconciler.objects.outcomes import Failed, Written
from reconciler.objects.watched import WatchedKind, by_kind
from scheduling.objects.times import rfc3339
from tests.builders import Manifest
from tests.copies import copied
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
            self.add(each)
        self.start()

    @abstractmethod
    def _controllers(self, state: ClusterState) -> list[Controller]:
        """What looks after Pods at the gate."""

    # --- what people do

    def add(self, made: Manifest) -> None:
        """A Pod that is new passes the mutating webhook first."""
        meta = made["metadata"]
        key = (made["kind"], f"{meta['namespace']}/{meta['name']}" if meta.get("namespace") else meta["name"])
        if key not in self.objects:
            made = self._completed({**made, "metadata": {"creationTimestamp": rfc3339(self.now), **meta}})
        self.put(key, made)

    def _completed(self, made: Manifest) -> Manifest:
        spaces = [each for key, each in self.objects.items() if key[0] == "Namespace"]
        forest = Forest().put_all([found for each in spaces if (found := read(each)) is not None])
        completed: Manifest = patched(made, patch(made, forest, self.configuration))
        return completed

    def end(self, name: str, phase: str = "Succeeded") -> None:
        self.edit(("Pod", f"dev/{name}" if "/" not in name else name), {"status": {"phase": phase}})

    def delete(self, name: str) -> None:
        self.remove(("Pod", f"dev/{name}" if "/" not in name else name))

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

    def start(self, *, late_writes: bool = False) -> None:
        """A new process that knows nothing. `late_writes`: whether writes of the one before may still arrive."""
        state = ClusterState()
        self.core = Core(state, self._controllers(state), kueue=False)
        self._news = []
        for kind in self.watched:
            self._handle(Listed(kind.kind, tuple(self._listed(kind)), str(self.version)))
        self._handle(LeadershipGained(late_writes))

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

    def wanted(self) -> list[WriteCommand]:
        """The writes that the core requests after what was observed. They are not executed."""
        found: list[Command] = []
        events = [*self._news, TimePassed()]
        self._news = []
        for event in events:
            found += self.core.handle((event,), self.now)
        while self.core.in_turn:
            found += self.core.handle((Continue(),), self.now)
        return [each for each in found if isinstance(each, WriteCommand) and not isinstance(each.action, Create)]

    def carry_out(self, command: Command) -> None:
        match command:
            case WriteCommand(key, action):
                self._news.append(self._write(key, action))
                if not isinstance(action, Create) and self.crash_after is not None:
                    self.crash_after -= 1
                    if not self.crash_after:
                        raise Crash
            case ReadObject(key):
                self._news.append(replace(self.look_up(self._stored_key(key)), key=key))
            case Relist(watched, request):
                lists = {view.kind: tuple(self._listed(view)) for view in watched.views}
                self._news += [Listed(kind, found, str(self.version), request) for kind, found in lists.items()]

    def _write(self, key: Key, action: Action) -> Written | Failed:
        if isinstance(action, Create):
            self.written.append((key, action))
            return Written(key, action, dict(action.body))
        if self.failing:
            return Failed(key, action, ApiError(500, "InternalError", "etcdserver: request timed out"))
        if key[1] in self.refused:
            return Failed(key, action, ApiError(422, "Invalid", "a policy says no"))
        answer = self.perform(self._stored_key(key), action)
        if isinstance(answer, Written):
            self.written.append((key, action))
        return replace(answer, key=key)

    # --- what is stored

    def _listed(self, watched: WatchedKind) -> Iterable[Observed]:
        for key, made in self.objects.items():
            if watched in self._watching(key):
                yield watched.observed(copied(made))

    def holders(self, key: Key) -> list[str]:
        """A Pod that is being deleted stays until its node says that it has ended."""
        leaving = key[0] == "Pod" and self.objects[key]["metadata"].get("deletionTimestamp")
        return ["node"] if leaving else super().holders(key)

    def changed(self, key: Key) -> None:
        made = self.objects.get(key)
        for watched in self._watching(key):
            seen = (
                Observed((watched.kind, key[1]), str(self.version), None)
                if made is None
                else watched.observed(copied(made))
            )
            self._news.append(seen)

    def _watching(self, key: Key) -> list[WatchedKind]:
        known = by_kind(self.watched)
        found = [known[kind] for kind in self.of_kind[key[0]]]
        return [each for each in found if each.field_selector in (None, f"metadata.name={key[1].rpartition('/')[2]}")]

    def _stored_key(self, key: Key) -> Key:
        """Of the object that the core means by any view of it."""
        return (next(kind for kind, watched in self.of_kind.items() if key[0] in (kind, *watched)), key[1])


def gated(pod: Manifest) -> bool:
    return any(gate["name"] == GATE for gate in pod["spec"].get("schedulingGates", ()))
