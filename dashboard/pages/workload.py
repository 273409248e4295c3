"""The page of one Workload: why it waits or which quota it uses, its history, and where it runs."""

from __future__ import annotations

from typing import Any, NamedTuple
from urllib.parse import quote, urlencode

from cluster.resource import PODS, Resource
from dashboard.pages.headline import failed, headline
from dashboard.pages.parts import Part, part
from dashboard.reading.backend import Manifest
from dashboard.reading.cache import CachedReader
from policies.dialects.kueue_kinds import GROUP
from scheduling.visibility.raising import BORROWING_LIMIT

WORKLOADS = Resource(GROUP, "v1beta2", "workloads", namespaced=True)
EVENTS = Resource("", "v1", "events", namespaced=True)
_MOST_EVENTS = 200
_MOST_PODS = 200
_LABELS = {
    "Job": ("batch.kubernetes.io/controller-uid", "uid"),
    "JobSet": ("jobset.sigs.k8s.io/jobset-name", "name"),
}
"""The label of a job's Pods, and the field of the owner reference that is the label's value, by kind of job.

Pods of other kinds are found by their owner references.
"""


class TimelineStep(NamedTuple):
    """A step in the history of a Workload: a condition or an Event.

    `moment`: when it happened. `what`: the type of the condition, or the reason of the Event. `times`: how often a
    repeated Event occurred. `repeats`: whether an earlier step has the same message.
    """

    moment: str
    what: str
    state: str
    message: str
    times: int = 1
    repeats: bool = False


def page(reader: CachedReader, namespace: str, name: str) -> dict[str, Any]:
    """The variables of the template. Raises ClusterError if the Workload does not exist or may not be read."""
    stored = reader.reader.stored(WORKLOADS, namespace, name)
    path = f"/v1/workloads/{quote(namespace, safe='')}/{quote(name, safe='')}/explanation"
    events = part(lambda: reader.listed(EVENTS, namespace, _MOST_EVENTS, f"involvedObject.name={name}"))
    explanation = part(lambda: reader.ask(path))
    return {
        "namespace": namespace,
        "name": name,
        "spec": stored.get("spec") or {},
        "owners": (stored.get("metadata") or {}).get("ownerReferences") or [],
        "headline": headline(explanation.value, stored) if explanation.value else "",
        "failed": failed((stored.get("status") or {}).get("conditions") or ()),
        "explanation": explanation,
        "remedies": _remedies(explanation.value or {}),
        "pods": part(lambda: _pods(reader, stored)),
        "most_pods": _MOST_PODS,
        "events": events,
        "steps": _history(stored, events),
    }


class WorkloadRemedy(NamedTuple):
    question: str
    url: str


def _remedies(why: Manifest) -> list[WorkloadRemedy]:
    """Questions about raising a borrowing limit or the ClusterQueue's quota; empty if one change is not enough."""
    found = why.get("remedy")
    if not found:
        return []
    pair = {"flavor": found["flavor"], "resource": found["resource"]}
    changed = {"kind": "ClusterQueue", "name": found["clusterQueue"], **pair, "field": "nominalQuota"}
    question = f"What if {found['clusterQueue']} had {found['more']} more {found['flavor']}/{found['resource']}?"
    quota = WorkloadRemedy(question, "/what-if?" + urlencode({**changed, "amount": found["to"]}))
    lacks = [each for each in why.get("lacks") or () if {name: each[name] for name in pair} == pair]
    limits = (each for lack in lacks for each in lack["raise"] if each["limit"] == BORROWING_LIMIT)
    return [*(_limit_raised(each, pair) for each in limits), quota]


def _limit_raised(place: Manifest, pair: dict[str, str]) -> WorkloadRemedy:
    changed = {"kind": place["kind"], "name": place["name"], **pair, "field": place["limit"], "amount": place["to"]}
    question = f"What if the {place['limit']} of {place['name']} were {place['to']}, not {place['from']}?"
    return WorkloadRemedy(question, "/what-if?" + urlencode(changed))


class WorkloadPod(NamedTuple):
    """A Pod of the Workload. `node`: empty before it is scheduled. `since`: when it started."""

    name: str
    phase: str
    node: str
    since: str


def _pods(reader: CachedReader, stored: Manifest) -> list[WorkloadPod]:
    """The Pods of the job that owns the Workload, or the Pods that own the Workload themselves."""
    meta = stored["metadata"]
    owners = meta.get("ownerReferences") or []
    uids, selector = {each.get("uid") for each in owners} - {None}, ""
    for each in owners:
        if label := _LABELS.get(str(each.get("kind"))):
            selector = f"{label[0]}={each.get(label[1])}"
    if not uids:
        return []
    space = str(meta["namespace"])
    found = reader.kept(
        ("pods", space, selector), lambda: reader.reader.listed(PODS, space, _MOST_PODS, labels=selector)
    )
    mine = [each for each in found if selector or uids & _uids(each["metadata"])]
    return sorted(_pod(each) for each in mine)


def _uids(meta: Manifest) -> set[Any]:
    return {meta.get("uid"), *(each.get("uid") for each in meta.get("ownerReferences") or ())} - {None}


def _pod(manifest: Manifest) -> WorkloadPod:
    spec, status = manifest.get("spec") or {}, manifest.get("status") or {}
    gated = "gated" if spec.get("schedulingGates") else ""
    phase = gated or _text(status, "reason") or _text(status, "phase")
    return WorkloadPod(_text(manifest["metadata"], "name"), phase, _text(spec, "nodeName"), _text(status, "startTime"))


def _history(stored: Manifest, events: Part[list[Manifest]]) -> list[TimelineStep]:
    """The history of the Workload from its conditions and Events, oldest first."""
    meta, status = stored.get("metadata") or {}, stored.get("status") or {}
    steps = [TimelineStep(_text(meta, "creationTimestamp"), "Created", "", "")]
    for each in status.get("conditions") or ():
        state = f"{_text(each, 'status')} ({_text(each, 'reason')})"
        steps.append(
            TimelineStep(_text(each, "lastTransitionTime"), _text(each, "type"), state, _text(each, "message"))
        )
    for each in events.value or ():
        if (each.get("involvedObject") or {}).get("kind") == "Workload":
            count = each.get("count")
            steps.append(
                TimelineStep(
                    _text(each, "lastTimestamp") or _text(each, "eventTime"),
                    f"Event {_text(each, 'reason')}",
                    _text(each, "type"),
                    _text(each, "message"),
                    count if isinstance(count, int) else 1,
                )
            )
    if deleted := _text(meta, "deletionTimestamp"):
        steps.append(TimelineStep(deleted, "Deleted", "", "finalizers hold it"))
    steps.sort(key=lambda step: step.moment)
    return [
        step._replace(repeats=bool(step.message) and any(step.message == before.message for before in steps[:number]))
        for number, step in enumerate(steps)
    ]


def _text(found: Manifest, field: str) -> str:
    return str(found.get(field) or "")
