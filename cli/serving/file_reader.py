"""Reads files for the dashboard: their queues and work, simulated until nothing changes, in the form of a cluster."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Mapping
from types import SimpleNamespace
from typing import Any, TypeVar, cast

from analysis.inputs import InputObjects
from analysis.simulation import Simulations
from cli.serving.answers import FileReviews, answered, only
from cluster.errors import NotFound
from cluster.resource import NAMESPACES, Resource
from dashboard.pages.namespace import LOCAL_QUEUES, workload_state
from dashboard.pages.workload import WORKLOADS
from dashboard.reading.backend import NO_PARAMS, Manifest
from dashboard.reading.remote import FINDINGS, Getter
from dashboard.what_if.manifests import KINDS
from reconciler.api.routes import ReconcilerApi
from reconciler.core.core import Core
from scheduling.objects.times import parse, rfc3339
from scheduling.objects.workload import Workload
from scheduling.simulation.simulation import START
from scheduling.status.writing import written_admission, written_condition

T = TypeVar("T")


class FilesReader:
    """A `dashboard.reading.backend.UserReader` for files.

    `played`: their simulation. `trees`: the trees as in `quotree tree -o json`. `audit`: returns the findings.
    """

    def __init__(self, inputs: InputObjects, played: Simulations, trees: Manifest, audit: Getter) -> None:
        self._audit = audit
        self._inputs, self._world, self._trees = inputs, played.kueue.world, trees
        self._read = time.monotonic()
        dated = played.kueue.start != START
        self._ahead = 0 if dated else time.time_ns() - played.kueue.now
        # The code of /v1 reads the state and the controllers of a Core. For files there are no controllers.
        core = SimpleNamespace(state=SimpleNamespace(world=self._world, complete=True), controllers=())
        self._core = cast("Core", core)
        self._api = ReconcilerApi(self._ask, FileReviews())  # type: ignore[arg-type]

    def ask(self, path: str, params: Mapping[str, str] = NO_PARAMS) -> Manifest:
        if (found := only(self._trees, path)) is not None:
            return found
        answer = answered(self._api, path, params)
        for each in answer["items"] if path.endswith("/pendingworkloads") else ():
            each["metadata"]["creationTimestamp"] = self._shifted(each["metadata"]["creationTimestamp"])
        if "nodes" in answer:  # the API caches the nodes of a tree, so they must not be changed
            return {**answer, "nodes": [self._with_shifted_times(each) for each in answer["nodes"]]}
        return answer

    def _with_shifted_times(self, node: Manifest) -> Manifest:
        oldest = node.get("oldestPending")
        return {**node, "oldestPending": self._shifted(oldest)} if oldest else node

    def _shifted(self, moment: str) -> str:
        return rfc3339(parse(moment) + self._ahead)

    def findings(self, params: Mapping[str, str] = NO_PARAMS) -> Manifest:
        return self._audit.get(FINDINGS, params)

    def stored(self, resource: Resource, namespace: str | None, name: str) -> Manifest:
        if resource == WORKLOADS and (found := self._world.workloads.get(f"{namespace}/{name}")):
            return _manifest(found, self._ahead)
        for ref, placed in self._inputs.objects.items() if resource in KINDS.values() else ():
            if (KINDS.get(ref.kind), ref.name) == (resource, name):
                return dict(placed.document.manifest)
        if resource == NAMESPACES:  # a namespace exists even if it is in no file
            return {"metadata": {"name": name}}
        where = f"{namespace}/{name}" if namespace else name
        raise NotFound(404, "NotFound", f"{resource} {where} is not in the files")

    def listed(
        self,
        resource: Resource,
        namespace: str | None,
        most: int,
        of: str = "",  # noqa: ARG002, as `Reader` has it
        labels: str = "",  # noqa: ARG002
    ) -> list[Manifest]:
        """LocalQueues and Workloads. A list of another kind is empty: files have no other kinds that a page lists."""
        if resource == WORKLOADS:
            own = (each for each in self._world.workloads.values() if namespace in (None, each.namespace))
            return [_manifest(each, self._ahead) for each in sorted(own, key=lambda each: each.key)][:most]
        if resource != LOCAL_QUEUES:
            return []
        objects = ((ref, placed.document.manifest) for ref, placed in sorted(self._inputs.objects.items()))
        queues = ((ref, found) for ref, found in objects if ref.kind == "LocalQueue")
        chosen = [(ref, found) for ref, found in queues if namespace in (None, ref.namespace)][:most]
        counts = Counter((each.namespace, each.queue, _state(each)) for each in self._world.workloads.values())
        return [{**found, "status": _counted(counts, ref.namespace or "", ref.name)} for ref, found in chosen]

    def user(self) -> str:
        return "files"

    def behind(self) -> float:
        return time.monotonic() - self._read

    def _ask(self, question: Callable[[Core], T], timeout: float = 5.0) -> T:  # noqa: ARG002, as `Asked` has it
        return question(self._core)


def _state(workload: Workload) -> str:
    conditions = [{"type": kind, "status": each.status} for kind, each in workload.conditions.items()]
    return workload_state({"active": workload.active}, conditions)


def _counted(counts: Counter[tuple[str, str, str]], namespace: str, queue: str) -> Manifest:
    """The status that Kueue would write for the LocalQueue."""
    pending, reserved, admitted = (
        counts[namespace, queue, state] for state in ("pending", "quota reserved", "admitted")
    )
    return {"pendingWorkloads": pending, "reservingWorkloads": reserved + admitted, "admittedWorkloads": admitted}


def _manifest(workload: Workload, ahead: int) -> Manifest:
    """The Workload as a manifest with the fields that pages show. Workloads of jobs only exist in the simulation.

    `ahead`: nanoseconds to add to its times. If the objects have no times, the clock of a simulation begins at a fixed
    date, but pages show how long ago something happened.
    """
    conditions = [
        written_condition(kind, each._replace(since=each.since + ahead)) for kind, each in workload.conditions.items()
    ]
    admission = {"admission": written_admission(workload.admission)} if workload.admission else {}
    pod_sets = [{"name": each.name, "count": each.count} for each in workload.pod_sets]
    owners = [{"kind": each.kind, "name": each.name} for each in workload.owners]
    meta: dict[str, Any] = {"namespace": workload.namespace, "name": workload.name, "ownerReferences": owners}
    return {
        "metadata": meta | {"creationTimestamp": rfc3339(workload.created + ahead)},
        "spec": {
            "queueName": workload.queue,
            "priority": workload.priority,
            "active": workload.active,
            "podSets": pod_sets,
        },
        "status": {"conditions": conditions, **admission},
    }
