"""An API server in memory that answers at once, and a loop with controllers on it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from cluster.actions import Action, Create
from cluster.errors import ApiError
from cluster.resource import Resource
from cluster.tracing.span import SpanRecorder
from reconciler.core.state import ClusterState
from reconciler.objects.observed import Key, Listed, Observed
from reconciler.objects.outcomes import Failed, Outcome
from scheduling.objects.order import Ordering
from scheduling.objects.requests import DEFAULT, Counting
from scheduling.quota.state import Options
from scheduling.status.deadlines import WaitForPodsReady
from scheduling.status.observability import LEGACY, Observability
from scheduling.topology.fleet import Fleet
from scheduling.world.world import World
from tests import builders
from tests.copies import copied
from tests.reconciler.checked import Asks, MakeController, loop, statuses
from tests.reconciler.plain_queues import NAMESPACE, PLAIN, START, cluster_queue
from tests.reconciler.stored_objects import Manifest, StoredObjects


def as_it_is(_: Key, manifest: Manifest) -> Manifest:
    return manifest


class Prompt(StoredObjects):
    """`stored` makes of an object what the API server keeps of it. `refused`: kinds of which nothing is written,
    because of `refusal`.

    `writes` are all but Events, which are in `events`. `late`: watches tell of a write after its answer, not before.
    """

    def __init__(
        self,
        controllers: Sequence[MakeController],
        stored: Callable[[Key, Manifest], Manifest] = as_it_is,
        quota: int = 3,
        observability: Observability = LEGACY,
        waiting: WaitForPodsReady | None = None,
        late: bool = False,
        ordering: Ordering | None = None,
        options: Options | None = None,
        spans: SpanRecorder | None = None,
        fleet: Fleet | None = None,
        counting: Counting = DEFAULT,
    ) -> None:
        super().__init__()
        self.late = late
        self._untold: list[Observed] | None = None
        self.now = START
        self.stored = stored
        self.refused: set[str] = set()
        self.refusal = ApiError(422, "Invalid", "a policy says no")
        self.writes: list[tuple[Key, Action]] = []
        self.events: list[tuple[str, str, str, str]] = []
        asks, made = Asks(self.write, self._read), (*controllers, statuses)
        state = ClusterState(World(options, ordering, counting, fleet=fleet))
        more: dict[str, Any] = {"observability": observability, "waiting": waiting, "spans": spans}
        self.loop = loop(asks, made, clock=lambda: self.now, state=state, **more)
        self.watched = self.loop.core.informer.watched
        self.put(("Namespace", "ns"), NAMESPACE)
        self.put(("ResourceFlavor", "plain"), PLAIN)
        self.put(("ClusterQueue", "q0"), cluster_queue("q0", "", quota))
        self.put(("LocalQueue", "ns/q0"), builders.local_queue("q0", "q0"))
        for kind in self.watched:
            objects = tuple(self._seen(key) for key in self.objects if key[0] == kind)
            self.loop.inbox.put(Listed(kind, objects, str(self.version)))

    def rounds(self, number: int, apart: int = 10**6) -> None:
        """`apart` in nanoseconds."""
        for _ in range(number):
            self.loop.round(0)
            self.now += apart

    def of(self, *kinds: str) -> list[Action]:
        """What was asked to be written of these kinds."""
        return [action for (kind, _), action in self.writes if kind in kinds]

    def put(self, key: Key, manifest: Manifest) -> None:
        """An unchanged object is not stored again."""
        made, before = self.stored(key, copied(manifest)), self.objects.get(key)
        if before is not None:
            made["metadata"]["resourceVersion"] = before["metadata"]["resourceVersion"]
        if made != before:
            super().put(key, made)

    def changed(self, key: Key) -> None:
        self.deliver(self._seen(key) if key in self.objects else Observed(key, str(self.version), None))

    def drop(self, key: Key) -> None:
        self.drop_unheard(key)
        self.changed(key)

    def drop_unheard(self, key: Key) -> None:
        """The object is deleted, and the watch does not report it."""
        del self.objects[key]
        self.version += 1

    def deliver(self, message: Observed | Outcome) -> None:
        """Delivers a watch event or an answer to the loop."""
        if self._untold is not None and isinstance(message, Observed):
            self._untold.append(message)
        else:
            self.loop.inbox.put(message)

    def _seen(self, key: Key) -> Observed:
        return self.watched[key[0]].observed(copied(self.objects[key]))

    def write(self, key: Key, action: Action) -> None:
        if key[0] == "Event":
            assert isinstance(action, Create)
            reported = action.body["involvedObject"]
            self.events.append((action.body["type"], action.body["reason"], reported["kind"], action.body["message"]))
            return
        self.writes.append((key, action))
        self._untold = [] if self.late else None
        answer = self._answer(key, action)
        untold, self._untold = self._untold or [], None
        for message in (answer, *untold):
            self.deliver(message)

    def _answer(self, key: Key, action: Action) -> Outcome:
        if key[0] in self.refused:
            return Failed(key, action, self.refusal)
        return self.perform(key, action)

    def _read(self, key: Key, resource: Resource) -> None:
        self.loop.inbox.put(self.look_up(key))


def job(name: str, suspend: bool = True, cpu: str = "1", **spec: Any) -> Manifest:
    """In the LocalQueue q0."""
    whole = {"parallelism": 1, "completions": 1, "suspend": suspend, "template": builders.template(cpu), **spec}
    return builders.batch_job(name, whole, labels=builders.queued("q0"), uid=f"uid-{name}")
