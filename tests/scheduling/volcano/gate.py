"""A gate of Volcano's queues in memory: manifests go in, and what is decided is carried out at once, or not."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from scheduling.volcano.gates.gated_pod import read_gated_group, read_gated_pod, read_gated_queue
from scheduling.volcano.gates.gatekeeper import PodWait, VolcanoGatekeeper
from scheduling.volcano.reading import read_priority_class
from tests.copies import copied
from tests.scheduling.volcano.manifests import Manifest
from tests.scheduling.volcano.manifests import pod as volcano_pod

GATE = "quotree.dev/quota"


def gated(name: str, group: str = "g", cpu: str = "1", space: str = "ml", role: str = "", **more: Any) -> Manifest:
    """A Pod as the webhook leaves it; `more` are amounts by resource, and `at`, seconds since the first one."""
    made = volcano_pod(name, group, cpu, space)
    meta, spec = made["metadata"], made["spec"]
    meta |= {"uid": f"uid-{name}", "labels": {GATE: "volcano"}, "creationTimestamp": moment(more.pop("at", 0))}
    if role:
        meta["annotations"]["volcano.sh/task-spec"] = role
    spec["schedulingGates"] = [{"name": GATE}]
    spec["containers"][0]["resources"]["requests"] |= more
    del spec["schedulerName"]
    return made


def moment(at: int) -> str:
    return f"2026-01-01T{at // 3600 % 24:02}:{at // 60 % 60:02}:{at % 60:02}Z"


class Gate:
    """`objects` is what is stored, by kind and `namespace/name`."""

    def __init__(self, *objects: Manifest, checks_sums: bool = False, root_from_nodes: bool = False) -> None:
        self.objects: dict[tuple[str, str], Manifest] = {}
        self.keeper = VolcanoGatekeeper(checks_sums=checks_sums, root_from_nodes=root_from_nodes)
        self.put(*objects)

    def put(self, *objects: Manifest) -> None:
        for each in objects:
            kind, name = each["kind"], key_of(each)
            self.objects[kind, name] = copied(each)
            self._show(kind, name, self.objects[kind, name])

    def drop(self, kind: str, name: str) -> None:
        del self.objects[kind, name]
        self._show(kind, name, None)

    def _show(self, kind: str, name: str, each: Manifest | None) -> None:
        match kind:
            case "Pod":
                self.keeper.put_pod(name, read_gated_pod(each) if each else None)
            case "PodGroup":
                self.keeper.put_group(name, read_gated_group(each) if each else None)
            case "Queue":
                self.keeper.put_queue(name, read_gated_queue(each) if each else None)
            case "PriorityClass":
                self.keeper.put_class(name, read_priority_class(each) if each else None)

    def restart(self) -> None:
        """A new process that knows what is stored, and nothing else."""
        self.keeper = VolcanoGatekeeper()
        for (kind, name), each in self.objects.items():
            self._show(kind, name, each)

    # --- what is decided

    def settle(self) -> list[str]:
        """Decide, and store all of it; the names of those that passed now."""
        passing = self.keeper.decide()
        self.store(passing)
        return [key.partition("/")[2] for key in passing]

    def store(self, keys: Iterable[str]) -> None:
        for key in keys:
            grant = self.keeper.granted[key]
            made = self.objects["Pod", key]
            notes = {GATE + "-admitted": grant.queue, GATE + "-gang": str(grant.together)}
            made["metadata"]["annotations"] |= notes
            made["spec"]["schedulingGates"] = []
            self._show("Pod", key, made)

    def end(self, *names: str, phase: str = "Succeeded") -> None:
        for name in names:
            key = name if "/" in name else f"ml/{name}"
            self.objects["Pod", key]["status"] = {"phase": phase}
            self._show("Pod", key, self.objects["Pod", key])

    def remove(self, *names: str) -> None:
        for name in names:
            self.drop("Pod", name if "/" in name else f"ml/{name}")

    # --- what there is

    def passed(self) -> list[str]:
        pods = [each for (kind, _), each in self.objects.items() if kind == "Pod"]
        return sorted(each["metadata"]["name"] for each in pods if not each["spec"]["schedulingGates"])

    def why(self, name: str) -> PodWait | None:
        return self.keeper.why(name if "/" in name else f"ml/{name}")


def key_of(each: Manifest) -> str:
    meta = each["metadata"]
    return f"{meta['namespace']}/{meta['name']}" if "namespace" in meta else str(meta["name"])
