"""The Pods that wait at the gates of YuniKorn's and Volcano's quota, with reasons. Call this in the loop's thread."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import groupby
from typing import Any, NamedTuple

from policies.configuration.settings import Dialect
from reconciler.api.gates import NoGates, gatekeeper, keeper
from reconciler.controllers.volcano.gates import VolcanoGatesController
from reconciler.controllers.yunikorn.gates import QuotaGatesController
from reconciler.core.core import Core
from scheduling.volcano.gates import gate_questions as of_volcano
from scheduling.volcano.gates.gate_questions import waiting_json as volcano_json
from scheduling.yunikorn.as_json import waiting_json as yunikorn_json
from scheduling.yunikorn.gates import gate_questions as of_yunikorn

API_VERSION = "quotree.dev/v1alpha1"


class PendingPod(NamedTuple):
    """A Pod that waits at the gate of a dialect. `place`: its place in the order; comparable within a dialect."""

    dialect: Dialect
    place: Any


def of_namespace(core: Core, namespace: str) -> list[PendingPod]:
    """The waiting Pods of a namespace, unordered. Raises NoGates if this process enforces neither quota."""
    yunikorn = gatekeeper(core, QuotaGatesController)
    volcano = gatekeeper(core, VolcanoGatesController)
    if yunikorn is None and volcano is None:
        raise NoGates("this process enforces no quota with scheduling gates")
    found: list[PendingPod] = []
    if yunikorn is not None:
        found += (PendingPod(Dialect.YUNIKORN, each) for each in of_yunikorn.in_namespace(yunikorn, namespace))
    if volcano is not None:
        found += (PendingPod(Dialect.VOLCANO, each) for each in of_volcano.in_namespace(volcano, namespace))
    return found


def of_yunikorns_queue(core: Core, path: str) -> list[PendingPod]:
    """The waiting Pods of a queue and its subtree, unordered. Raises NoGates, and KeyError without such a queue."""
    return [PendingPod(Dialect.YUNIKORN, each) for each in of_yunikorn.in_queue(keeper(core), path)]


def of_volcanos_queue(core: Core, name: str) -> list[PendingPod]:
    """The waiting Pods of a queue and its subtree, unordered. Raises NoGates, and KeyError without such a queue."""
    volcano = gatekeeper(core, VolcanoGatesController)
    if volcano is None:
        raise NoGates("this process does not enforce Volcano's quota")
    return [PendingPod(Dialect.VOLCANO, each) for each in of_volcano.in_queue(volcano, name)]


def pending_pods(core: Core, places: Iterable[PendingPod]) -> list[dict[str, Any]]:
    """The JSON of those of these Pods that still wait, in the order of `places`, with reasons."""
    yunikorn = gatekeeper(core, QuotaGatesController)
    volcano = gatekeeper(core, VolcanoGatesController)
    found: list[dict[str, Any]] = []
    for dialect, group in groupby(places, key=lambda each: each.dialect):
        those = [each.place for each in group]
        if dialect is Dialect.YUNIKORN and yunikorn is not None:
            found += map(yunikorn_json, of_yunikorn.reasons(yunikorn, those))
        elif dialect is Dialect.VOLCANO and volcano is not None:
            found += map(volcano_json, of_volcano.reasons(volcano, those))
    return found


def pending_json(items: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    return {"apiVersion": API_VERSION, "kind": "PendingPods", "items": list(items)}
