"""An API server on loopback that holds quota objects and tells of changes."""

from __future__ import annotations

import json
import threading
from typing import Any

from cluster.reflector import Pacing
from cluster.served import FOLLOWED
from policies.model.forest import Forest
from tests.cluster.fake import FakeApi, Handler, Reply, Seen, line, status

Manifest = dict[str, Any]
ALL = {resource for candidates in FOLLOWED.values() for resource in candidates}
QUICK = Pacing(first=0.01, longest=0.05, probe=0.05)


class QuotaApi(FakeApi):
    """Serves the kinds that a store follows: `objects` by plural; what `tell` says goes to the open watches.

    Requests for a plural in `failing`, or with a field selector in `failing_fields`, are answered so.
    """

    def __init__(self) -> None:
        self.objects: dict[str, list[Manifest]] = {}
        self.served = set(ALL)
        self.failing: dict[str, Reply] = {}
        self.failing_fields: dict[str, Reply] = {}
        self.version = 1
        self._events: list[tuple[str, int, bytes]] = []
        self._told = threading.Condition()
        super().__init__()

    def put(self, *manifests: Manifest) -> None:
        for manifest in manifests:
            self.objects.setdefault(_plural(manifest), []).append(self._next(manifest))

    def tell(self, kind: str, manifest: Manifest) -> None:
        with self._told:
            event = line(kind, self._next(manifest))
            self._events.append((_plural(manifest), self.version, event))
            self._told.notify_all()

    def reply_to(self, seen: Seen) -> Reply:
        self.seen.append(seen)
        namespace = seen.path.partition("/namespaces/")[2].partition("/")[0]
        whole = seen.path.replace(f"/namespaces/{namespace}", "") if namespace else seen.path
        resource = next((r for r in self.served if r.collection() == whole), None)
        if resource is None:
            names = [{"name": r.plural} for r in self.served if r.root == seen.path]
            return (lambda handler: handler.send_json(200, {"resources": names})) if names else status(404, "NotFound")
        if resource.plural in self.failing:
            return self.failing[resource.plural]
        if (selector := seen.query.get("fieldSelector", "")) in self.failing_fields:
            return self.failing_fields[selector]
        if seen.is_watch:
            return self._watch(resource.plural, seen)
        return self._list(resource.plural, seen)

    def _next(self, manifest: Manifest) -> Manifest:
        self.version += 1
        manifest["metadata"]["resourceVersion"] = str(self.version)
        return manifest

    def _list(self, plural: str, seen: Seen) -> Reply:
        answer = {
            "apiVersion": "v1",
            "kind": "List",
            "metadata": {"resourceVersion": str(self.version)},
            "items": [obj for obj in self.objects.get(plural, []) if _selected(obj, seen)],
        }
        return lambda handler: handler.send_json(200, answer)

    def _watch(self, plural: str, seen: Seen) -> Reply:
        def reply(handler: Handler) -> None:
            handler.begin_chunks()
            sent = 0
            while not self.released.is_set():
                with self._told:
                    news = self._events[sent:]
                    sent += len(news)
                    if not news:
                        self._told.wait(0.05)
                for kind, version, event in news:
                    new = kind == plural and version > int(seen.query["resourceVersion"])
                    if new and _selected(json.loads(event)["object"], seen):
                        handler.send_chunk(event)
            handler.cut()

        return reply


def _selected(manifest: Manifest, seen: Seen) -> bool:
    """As the API server does by namespace and name; what else a selector asks is not looked at."""
    within = seen.path.partition("/namespaces/")[2].partition("/")[0]
    wanted = {clause for clause in seen.query.get("fieldSelector", "").split(",") if clause.startswith("metadata.name")}
    meta = manifest["metadata"]
    return within in ("", meta.get("namespace")) and wanted <= {f"metadata.name={meta.get('name')}"}


def _plural(manifest: Manifest) -> str:
    kind = str(manifest["kind"]).lower()
    return f"{kind}s"


def names(forest: Forest) -> set[str]:
    return {obj.ref.name for obj in forest.objects()}
