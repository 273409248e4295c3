"""Small trees in few words, for tests.

    forest('''
        eng      deserved=cpu:10,memory:20Gi guarantee=cpu:4
          ml     deserved=cpu:4
          web    deserved=cpu:5
    ''')

draws Volcano queues; what stands deeper is a child of what stands above it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from policies.configuration.settings import Configuration
from policies.dialects import core, kueue, read, volcano
from policies.dialects.kueue_kinds import ADMISSION_CHECK, MULTIKUEUE_CLUSTER, MULTIKUEUE_CONFIG
from policies.judging.proposal import Proposal, propose
from policies.model.change import Change
from policies.model.findings import Finding, NotEvaluated, Profile
from policies.model.forest import Forest
from policies.model.objects import GroupKind, KubeObject, Ref
from policies.rules import find

EVERYTHING: tuple[GroupKind, ...] = (
    kueue.COHORT,
    kueue.CLUSTER_QUEUE,
    kueue.LOCAL_QUEUE,
    kueue.WORKLOAD,
    kueue.RESOURCE_FLAVOR,
    ADMISSION_CHECK,
    MULTIKUEUE_CONFIG,
    MULTIKUEUE_CLUSTER,
    volcano.QUEUE,
    volcano.POD_GROUP,
    volcano.JOB,
    core.NAMESPACE,
    core.POD,
)
COMPAT = Configuration(profile=Profile.COMPAT)


def amounts(text: str) -> dict[str, str]:
    """`cpu:4,memory:1Gi` as a mapping."""
    return dict(pair.split(":", 1) for pair in text.split(",")) if text else {}


def queue(name: str, parent: str | None = "root", /, **fields: str) -> dict[str, Any]:
    """A Volcano Queue: `guarantee`, `deserved`, `capability` as for `amounts`; `state` and `pods` go to status."""
    spec: dict[str, Any] = {} if parent is None else {"parent": parent}
    for field in ("deserved", "capability"):
        if field in fields:
            spec[field] = amounts(fields[field])
    if "guarantee" in fields:
        spec["guarantee"] = {"resource": amounts(fields["guarantee"])}
    status: dict[str, Any] = {"state": fields.get("state", "Open")}
    if "pods" in fields:
        status["allocated"] = {"pods": fields["pods"]}
    return {
        "apiVersion": "scheduling.volcano.sh/v1beta1",
        "kind": "Queue",
        "metadata": {"name": name},
        "spec": spec,
        "status": status,
    }


def pod_group(name: str, queue: str | None, namespace: str = "ns", phase: str = "Pending") -> dict[str, Any]:
    return {
        "apiVersion": "scheduling.volcano.sh/v1beta1",
        "kind": "PodGroup",
        "metadata": {"name": name, "namespace": namespace},
        "spec": {} if queue is None else {"queue": queue},
        "status": {"phase": phase},
    }


def job(name: str, queue: str | None, namespace: str = "ns", phase: str = "") -> dict[str, Any]:
    template = {"spec": {"containers": [{"name": "main", "image": "busybox"}]}}
    spec: dict[str, Any] = {"minAvailable": 1, "tasks": [{"name": "task", "replicas": 1, "template": template}]}
    return {
        "apiVersion": "batch.volcano.sh/v1alpha1",
        "kind": "Job",
        "metadata": {"name": name, "namespace": namespace},
        "spec": spec if queue is None else {**spec, "queue": queue},
        "status": {"state": {"phase": phase} if phase else {}},
    }


def pod(name: str, queue: str, namespace: str = "ns", scheduler: str = "volcano") -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": namespace, "annotations": {core.VOLCANO_QUEUE: queue}},
        "spec": {"schedulerName": scheduler, "containers": [{"name": "main", "image": "busybox"}]},
    }


def cohort(name: str, parent: str | None = None) -> dict[str, Any]:
    return {
        "apiVersion": "kueue.x-k8s.io/v1beta2",
        "kind": "Cohort",
        "metadata": {"name": name},
        "spec": {} if parent is None else {"parentName": parent},
    }


def cluster_queue(name: str, parent: str | None = None) -> dict[str, Any]:
    return {
        "apiVersion": "kueue.x-k8s.io/v1beta2",
        "kind": "ClusterQueue",
        "metadata": {"name": name},
        "spec": {"namespaceSelector": {}, **({} if parent is None else {"cohortName": parent})},
    }


def local_queue(name: str, cluster_queue: str, namespace: str = "ns") -> dict[str, Any]:
    return {
        "apiVersion": "kueue.x-k8s.io/v1beta2",
        "kind": "LocalQueue",
        "metadata": {"name": name, "namespace": namespace},
        "spec": {"clusterQueue": cluster_queue},
    }


def typed(manifest: Mapping[str, Any]) -> KubeObject:
    thing = read(manifest)
    assert thing is not None, f"no dialect reads {manifest.get('kind')}"
    return thing


def world(*manifests: Mapping[str, Any], known: Iterable[GroupKind] = EVERYTHING) -> Forest:
    return Forest.of((typed(manifest) for manifest in manifests), known)


def drawn(picture: str) -> Iterator[dict[str, Any]]:
    """The queues of a drawn tree."""
    path: list[tuple[int, str]] = []
    for line in filter(str.strip, picture.splitlines()):
        indent = len(line) - len(line.lstrip())
        name, *fields = line.split()
        path = [step for step in path if step[0] < indent]
        parent = path[-1][1] if path else "root"
        path.append((indent, name))
        yield queue(name, parent, **dict(field.split("=", 1) for field in fields))


def forest(picture: str, *more: Mapping[str, Any], known: Iterable[GroupKind] = EVERYTHING) -> Forest:
    return world(*drawn(picture), *more, known=known)


def change(
    before: Forest,
    *after: Mapping[str, Any],
    delete: Iterable[Ref] = (),
    configuration: Configuration | None = None,
) -> Proposal:
    """These manifests applied, and these objects deleted, as one transaction."""
    things = [typed(manifest) for manifest in after]
    changes = [Change(before.get(thing.ref), thing) for thing in things]
    changes += [Change(before.get(ref), None) for ref in delete]
    return propose(before, changes, configuration)


def found(rule: str, proposal: Proposal) -> list[Finding]:
    """What the rule alone reports, in its own order."""
    return [result for result in find(rule).check(proposal) if isinstance(result, Finding)]


def missed(rule: str, proposal: Proposal) -> list[NotEvaluated]:
    return [result for result in find(rule).check(proposal) if isinstance(result, NotEvaluated)]
