"""Rows about the processor time of a review in the webhook, from the request body to the answer, without a server."""

from __future__ import annotations

import gc
import json
from collections.abc import Callable, Iterator
from itertools import islice
from typing import Any

from cli.main import GARBAGE
from cluster.served import FOLLOWED
from cluster.sightings import Sightings, Snapshot, sighting
from policies.configuration.settings import Configuration, KueueSettings
from policies.dialects import read
from policies.judge import evaluate
from policies.judging.rule import propose
from policies.model.forest import Forest
from policies.mutation.defaults import patch
from tests.bench.organisation import Manifest, organisation, raised
from tests.bench.serving import QUEUED
from tests.bench.stopwatch import Stopwatch
from tests.builders.core import namespace, pod
from tests.builders.kueue import local_queue, queued_job, workload
from webhook.answer import mutated, validated
from webhook.decision import case, warm_up
from webhook.owners import owners
from webhook.review import parse

_SIZES = (10, 1_000, 10_000, 100_000)
_REVIEWS = 40
"""The number of different reviews in a lap: if it were one, every quantity would be found in a cache."""
_LAPS = 30
_FAN_OUT = 9
_STEPS = ("parse", "read", "overlay", "rules", "answer")
_FILLING = ("parse", "owners", "fill in", "answer")
_CONFIGURATION = Configuration()
_PODS = Configuration(kueue=KueueSettings(manage_jobs=True, manage_pods=True))

Change = tuple[Manifest | None, Manifest]


def rows() -> None:
    """Print rows by kind and number of queues: a review must not cost more because the cluster is large."""
    print(f"\n{'processor us of one review':40} {' '.join(f'{step:>8}' for step in (*_STEPS, 'all'))}")
    warm_up()
    gc.set_threshold(*GARBAGE)  # as in the process that serves
    for size in _SIZES:
        manifests = _manifests(size)
        cache = _cache(manifests)
        for name, changes in _kinds(manifests).items():
            micros = _measured(cache, [_body(*each) for each in islice(changes, _REVIEWS)])
            figures = " ".join(f"{each:8.1f}" for each in (*micros, sum(micros)))
            print(f"{f'{name}, {size} queues':40} {figures}", flush=True)
    _filled_in()


def _filled_in() -> None:
    """Rows about new Pods without a queue, for which the mutating webhook is called in every namespace."""
    print(f"\n{'processor us of one review':40} {' '.join(f'{step:>8}' for step in (*_FILLING, 'all'))}")
    for size in _SIZES:
        forest = _cache([*_manifests(size), local_queue("default", "cq-0-0", QUEUED)]).forest
        for name, space in (("Pod, no LocalQueue default", "ns"), ("Pod, gets LocalQueue default", QUEUED)):
            bodies = [_body(None, _stored(pod(f"pod-{number}", space))) for number in range(_REVIEWS)]
            micros = _filling(forest, bodies, gated=space == QUEUED)
            figures = " ".join(f"{each:8.1f}" for each in (*micros, sum(micros)))
            print(f"{f'{name}, {size} queues':40} {figures}", flush=True)


def _filling(forest: Forest, bodies: list[bytes], *, gated: bool) -> list[float]:
    """The median of each step in microseconds. Raises RuntimeError if the patch is not as expected."""
    watches = [Stopwatch() for _ in _FILLING]
    for _ in range(_LAPS):
        parsed = _timed(watches[0], parse, bodies)
        above = _timed(watches[1], lambda it: owners(it, _PODS, lambda *_: None, forest), parsed)
        pairs = list(zip(parsed, above, strict=True))
        filled = _timed(watches[2], lambda it: patch(it[0].object, forest.put_all(it[1]), _PODS), pairs)
        _timed(watches[3], lambda it: mutated(it[0], it[1]), list(zip(parsed, filled, strict=True)))
        if any(bool(each) is not gated for each in filled):
            raise RuntimeError(f"filled in: {filled[0]}")
    return [watch.micros / len(bodies) for watch in watches]


def _measured(cache: Snapshot, bodies: list[bytes]) -> list[float]:
    """The median of each step in microseconds. Raises RuntimeError if a review is refused."""
    watches = [Stopwatch() for _ in _STEPS]
    for _ in range(_LAPS):
        parsed = _timed(watches[0], parse, bodies)
        cases = _timed(watches[1], lambda review: case(review, _CONFIGURATION, cache), parsed)
        changes = [(each.change, each.circumstances) for each in cases if each]
        proposals = _timed(watches[2], lambda it: propose(cache.forest, [it[0]], _CONFIGURATION, it[1]), changes)
        verdicts = _timed(watches[3], evaluate, proposals)
        pairs = list(zip(parsed, verdicts, strict=True))
        answers = _timed(watches[4], lambda it: validated(it[0], it[1], _CONFIGURATION.profile), pairs)
        if not all(b'"allowed": true' in each for each in answers):
            raise RuntimeError(f"refused: {answers[0].decode()}")
    return [watch.micros / len(bodies) for watch in watches]


def _cache(manifests: list[Manifest]) -> Snapshot:
    """The content of the webhook's store for these manifests."""
    found = [(each, sighting(manifest)) for manifest in manifests if (each := read(manifest))]
    forest = Forest.of((each for each, _ in found), known=FOLLOWED)
    return Snapshot(forest, Sightings().listed("", "123456789", (), {each.ref: seen for each, seen in found}))


def _timed(watch: Stopwatch, step: Callable[[Any], Any], values: list[Any]) -> list[Any]:
    with watch.lap():
        return [step(value) for value in values]


def _kinds(manifests: list[Manifest]) -> dict[str, Iterator[Change]]:
    def leaves(kind: str, edit: Callable[[Manifest], Manifest]) -> Iterator[Change]:
        return ((each, _edited(edit(each))) for each in manifests if each["kind"] == kind and _is_leaf(each))

    works = [_stored(workload(f"work-{number}", f"queue-{number}", "1")) for number in range(_REVIEWS)]
    jobs = [_stored(queued_job(f"job-{number}", f"queue-{number}", "1")) for number in range(_REVIEWS)]
    return {
        "Volcano Queue": leaves("Queue", _lowered),
        "Volcano Queue, status": leaves("Queue", _counted),
        "ClusterQueue": leaves("ClusterQueue", raised),
        "Cohort": leaves("Cohort", _labelled),
        "Namespace with quota": leaves("Namespace", _labelled),
        "batch Job": ((None, job) for job in jobs),
        "Workload": ((each, _labelled(each)) for each in works),
    }


def _manifests(size: int) -> list[Manifest]:
    """`size` queues, half of them Volcano's and half Kueue's, and as many Namespaces with a quota of YuniKorn."""
    return [_stored(each) for each in (*organisation(size, _FAN_OUT), *_namespaces(size), *_local_queues(size))]


def _is_leaf(manifest: Manifest) -> bool:
    return manifest["kind"] != "Queue" or str(manifest["spec"]["parent"]).startswith("team")


def _namespaces(count: int) -> Iterator[Manifest]:
    for number in range(count):
        notes = {"namespace.quota": '{"cpu": "10", "memory": "40Gi"}', "parentqueue": f"root.team-{number % 100}"}
        yield namespace(f"ns-{number}", {f"yunikorn.apache.org/{key}": text for key, text in notes.items()})


def _local_queues(count: int) -> Iterator[Manifest]:
    for number in range(max(_REVIEWS, count // 10)):
        yield local_queue(f"queue-{number}", f"cq-{number % max(1, count // 2 // _FAN_OUT)}-0")


def _lowered(manifest: Manifest) -> Manifest:
    """The queue with a lower `deserved`, for which its parent always has enough left."""
    spec = manifest["spec"]
    amounts = {"cpu": str(int(spec["deserved"]["cpu"]) - 1), "memory": "36Gi"}
    return {**manifest, "spec": {**spec, "deserved": amounts}}


def _counted(manifest: Manifest) -> Manifest:
    """The queue after Volcano's scheduler has written its status because a Pod was bound."""
    return {**manifest, "status": {"state": "Open", "running": 3, "allocated": {"cpu": "3", "pods": "3"}}}


def _labelled(manifest: Manifest) -> Manifest:
    metadata = manifest["metadata"]
    return {**manifest, "metadata": {**metadata, "labels": {**metadata.get("labels", {}), "team": "blue"}}}


def _edited(manifest: Manifest) -> Manifest:
    return {**manifest, "metadata": {**manifest["metadata"], "generation": 2}}


def _stored(manifest: Manifest) -> Manifest:
    """The manifest with the metadata that every applied object has."""
    metadata = manifest["metadata"]
    manager = {
        "manager": "kubectl",
        "operation": "Apply",
        "apiVersion": manifest["apiVersion"],
        "time": "2026-11-01T08:00:00Z",
        "fieldsType": "FieldsV1",
        "fieldsV1": _owned({"spec": manifest.get("spec", {})}),
    }
    stored = {
        "uid": f"5bd1f9d4-7e0a-4a53-9c8e-{abs(hash(metadata['name'])) % 10**12:012}",
        "resourceVersion": "123456789",
        "generation": 1,
        "creationTimestamp": "2026-11-01T08:00:00Z",
        "managedFields": [manager],
    }
    return {**manifest, "metadata": {**metadata, **stored}}


def _owned(value: Any) -> Any:
    return {f"f:{key}": _owned(each) for key, each in value.items()} if isinstance(value, dict) else {}


def _body(before: Manifest | None, after: Manifest) -> bytes:
    """The body of a review as an API server sends it."""
    group, _, version = after["apiVersion"].rpartition("/")
    kind = {"group": group, "version": version, "kind": after["kind"]}
    resource = {"group": group, "version": version, "resource": f"{after['kind'].lower()}s"}
    request = {
        "uid": "705ab4f5-6393-11e8-b7cc-42010a800002",
        "kind": kind,
        "resource": resource,
        "requestKind": kind,
        "requestResource": resource,
        "name": after["metadata"]["name"],
        "namespace": after["metadata"].get("namespace", ""),
        "operation": "CREATE" if before is None else "UPDATE",
        "userInfo": {"username": "ada", "uid": "ada", "groups": ["developers", "system:authenticated"]},
        "object": after,
        "oldObject": before,
        "dryRun": False,
        "options": {"kind": "UpdateOptions", "apiVersion": "meta.k8s.io/v1", "fieldManager": "kubectl"},
    }
    if after.get("status"):
        request["subResource"] = "status"
    review = {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": request}
    return json.dumps(review).encode()
