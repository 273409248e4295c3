"""Gated Pods with mutated Namespaces, queues and PodGroups."""

from __future__ import annotations

import json
import random
from collections.abc import Sequence
from functools import cache
from typing import Any

from policies.configuration.settings import Dialect
from policies.dialects.core import read_namespace
from policies.dialects.quota_gates import QUOTA_KEY
from policies.dialects.volcano_gates import GROUP_NAME
from policies.dialects.yunikorn_config.configmap import CONFIGS, read_config_map
from policies.model.printing import plain
from reconciler.controllers.volcano import gates as volcano_gates
from reconciler.controllers.yunikorn.gates import reason_text
from reconciler.metrics.families.other_queues.quota_gates import of_namespaces, waiting_samples
from reconciler.metrics.families.other_queues.yunikorn_queues import queues
from reconciler.metrics.occasions import QuotaGates
from scheduling.volcano.gates import gatekeeper as volcano
from scheduling.volcano.gates.gated_pod import read_gated_group, read_gated_queue
from scheduling.volcano.gates.gated_pod import read_gated_pod as read_volcano_pod
from scheduling.yunikorn.as_json import queue_node, waiting_json
from scheduling.yunikorn.gates.gate_questions import in_namespace, in_queue, reasons
from scheduling.yunikorn.gates.gated_pod import read_gated_pod
from scheduling.yunikorn.gates.gatekeeper import YuniKornGatekeeper
from scheduling.yunikorn.gates.queues_in_force import QueuesInForce
from scheduling.yunikorn.usage import applications_below
from tests.fuzz import corpus
from tests.fuzz.mutations import Mutator, copied

_NAMES = ("a", "b", "c", "root", "default")


def quota_gates(chance: random.Random, mutator: Mutator) -> str:
    """Fuzz the gates of YuniKorn."""
    keeper, spaces = YuniKornGatekeeper(QueuesInForce("yunikorn"), preempts=chance.random() < 0.5), set[str]()
    for manifest in (chance.choice(_of_kinds("Pod", "Namespace", "ConfigMap")) for _ in range(12)):
        read_again = _mutated(_held(manifest, chance), mutator)
        if manifest["kind"] == "Pod":
            pod = read_gated_pod(read_again)
            keeper.put_pod(pod.key, pod)
            spaces.add(pod.namespace)
        elif manifest["kind"] == "Namespace":
            namespace = read_namespace(read_again)
            keeper.put_namespace(namespace.ref.name, namespace)
        else:
            keeper.queues.put(CONFIGS, read_config_map(read_again))
        if chance.random() < 0.2:
            keeper.refresh()
        keeper.decide(1)
    said = [keeper.why(key) for key in keeper.waiting()]
    assert all(why is not None and plain(reason_text(why)) for why in said), said
    _is_visible(keeper, spaces)
    return "some wait" if said else "nobody waits"


def _is_visible(keeper: YuniKornGatekeeper, spaces: set[str]) -> None:
    """Check that the state can be listed, drawn and scraped, and that each waiting Pod is listed in its queue."""
    counts = applications_below(keeper.scheduler)
    json.dumps([queue_node(queue, counts[queue]) for queue in keeper.scheduler.tree.root.walk()])
    waiting = waiting_samples(QuotaGates({Dialect.YUNIKORN: keeper.counts}))
    for each in (*waiting, *of_namespaces(keeper), *queues(keeper)):
        float(each.value)
    places = sorted(place for space in spaces for place in in_namespace(keeper, space))
    assert {place.pod for place in places} == {*keeper.waiting()}
    assert [place for place in places if not place.without_queue] == sorted(in_queue(keeper, "root"))
    json.dumps([*map(waiting_json, reasons(keeper, places))])


def volcanos_gates(chance: random.Random, mutator: Mutator) -> str:
    """Fuzz the gates of Volcano. Few names are used, so that objects refer to each other and form cycles."""
    keeper = volcano.VolcanoGatekeeper()
    for manifest in (chance.choice(_of_kinds("Pod", "Queue", "PodGroup")) for _ in range(20)):
        held = _held(manifest, chance)
        held["metadata"] = {**held["metadata"], "name": chance.choice(_NAMES), "namespace": "ns"}
        held["metadata"]["annotations"] = {GROUP_NAME: chance.choice(_NAMES)}
        if "spec" in held and manifest["kind"] != "Pod":
            held["spec"] = {**held["spec"], "parent": chance.choice(_NAMES), "queue": chance.choice(_NAMES)}
        read_again, name = _mutated(held, mutator), held["metadata"]["name"]
        gone = chance.random() < 0.1
        if manifest["kind"] == "Pod":
            pod = read_volcano_pod(read_again)
            keeper.put_pod(pod.key, None if gone else pod)
        elif manifest["kind"] == "PodGroup":
            keeper.put_group(f"ns/{name}", None if gone else read_gated_group(read_again))
        else:
            queue = read_gated_queue(read_again)
            keeper.put_queue(queue.settings.name, None if gone else queue)
        keeper.decide()
    said = [keeper.why(key) for key in keeper.waiting()]
    assert all(why is not None and plain(volcano_gates.reason_text(why)) for why in said), said
    return "some wait" if said else "nobody waits"


def _held(manifest: Any, chance: random.Random) -> Any:
    """A copy; most Pods get the gate."""
    held = copied(manifest)
    if chance.random() < 0.7 and held["kind"] == "Pod":
        held["spec"]["schedulingGates"] = [{"name": QUOTA_KEY}]
    return held


def _mutated(manifest: Any, mutator: Mutator) -> dict[str, Any]:
    read_again = json.loads(json.dumps(copied(mutator.mapping(manifest))))
    return read_again if isinstance(read_again, dict) else {}


@cache
def _of_kinds(*kinds: str) -> Sequence[Any]:
    groups = ("v1", "scheduling.volcano.sh/v1beta1")
    return [each for each in corpus.manifests() if each.get("apiVersion") in groups and each.get("kind") in kinds]
