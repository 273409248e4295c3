"""A listener that notes what a reflector told it, and never really waits."""

import queue
import random
import threading
from collections.abc import Callable
from typing import Any

from cluster.client import ClusterClient
from cluster.reflector import Reflector
from tests.cluster.fake import PATIENCE, WIDGETS, FakeApi


class Listener:
    """What the reflector told, in order, and how long it rested."""

    def __init__(self, cluster: ClusterClient, **options: Any) -> None:
        self.reported: queue.Queue[tuple[object, ...]] = queue.Queue()
        self.rests: list[float] = []
        self.enough_rests = threading.Event()
        self.rests_allowed = 1000
        self.reflector: Reflector[str] = Reflector(
            cluster,
            WIDGETS,
            self.change,
            on_replace=lambda items, version: self.reported.put(("REPLACE", items, version)),
            keep=lambda manifest: str(manifest["metadata"]["name"]),
            rest=self.rest,
            chance=random.Random(1),
            **options,
        )

    def change(self, kind: str, name: str, version: str) -> None:
        self.reported.put((kind, name, version))

    def rest(self, seconds: float) -> None:
        """No real waiting, but no endless loop either: after the allowed number the reflector is stopped."""
        self.rests.append(seconds)
        if len(self.rests) >= self.rests_allowed:
            self.enough_rests.set()
            self.reflector.stop()

    def next(self) -> tuple[object, ...]:
        return self.reported.get(timeout=PATIENCE)

    def none_left(self) -> bool:
        return self.reported.empty()


Listen = Callable[..., Listener]


def watched_from(api: FakeApi) -> list[str]:
    return [seen.query["resourceVersion"] for seen in api.seen if seen.is_watch]
