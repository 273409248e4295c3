"""What holds at the gate, counted from the stored objects alone, with nothing of the program's own sums."""

from __future__ import annotations

from collections.abc import Iterator
from math import inf

from tests.scheduling.volcano.manifests import Manifest

GATE = "quotree.dev/quota"
NOTE = GATE + "-admitted"
Objects = dict[tuple[str, str], Manifest]


class Recount:
    """Whole cpus by queue: what is used there and below, and what may be."""

    def __init__(self, objects: Objects) -> None:
        self._queues = {"root": {}, **{name: each["spec"] for (kind, name), each in objects.items() if kind == "Queue"}}
        self._closed = {n for (_, n), each in objects.items() if _state(each) != "Open"}
        self.groups = {name: each["spec"] for (kind, name), each in objects.items() if kind == "PodGroup"}
        marked = (item for item in objects.items() if GATE in item[1]["metadata"].get("labels", {}))
        self.pods = {name: each for (kind, name), each in marked if kind == "Pod"}
        self.used = dict.fromkeys(self._queues, 0)
        for each in self.pods.values():
            if not is_gated(each) and not is_over(each):
                admitted = each["metadata"]["annotations"][NOTE]
                for name in self.path(admitted if admitted in self._queues else "root"):
                    self.used[name] += cpu(each)

    def path(self, name: str) -> list[str]:
        return [name] if name == "root" else [name, *self.path(self._queues[name].get("parent", "root"))]

    def limit(self, name: str) -> float:
        """What is left of the parent's limit beside the guarantees of others, at most the nearest capability."""
        named = (self._queues[each].get("capability") for each in self.path(name))
        most = next((int(each["cpu"]) for each in named if each), inf)
        if name == "root":
            return most
        above = self._queues[name].get("parent", "root")
        beside = sum(self._guarantee(each) for each in self._queues if self.path(each)[1:2] == [above])
        return min(max(0, self.limit(above) - beside) + self._guarantee(name), most)

    def overdrawn(self, name: str) -> list[str]:
        """The queues that use more than they may, from this one up."""
        return [each for each in self.path(name) if self.used[each] > self.limit(each)]

    def _guarantee(self, name: str) -> int:
        return int(self._queues[name].get("guarantee", {}).get("resource", {}).get("cpu", 0))

    def fits(self, queue: str, asked: int) -> bool:
        if queue not in self._queues or any(self.path(each)[1:2] == [queue] for each in self._queues):
            return False
        path = self.path(queue)
        return not self._closed & {*path} and all(self.used[each] + asked <= self.limit(each) for each in path)

    def members(self, group: str) -> list[Manifest]:
        """In the order in which they were created."""
        named = [each for each in self.pods.values() if group_of(each) == group]
        return sorted(named, key=lambda each: (each["metadata"]["creationTimestamp"], each["metadata"]["name"]))

    def forgotten(self) -> Iterator[str]:
        """Pods that wait though there is room for them, or for the gang that starts with them."""
        for name, group in self.groups.items():
            members = self.members(name)
            waiting = [each for each in members if is_gated(each)]
            if any(not is_gated(each) and not has_failed(each) for each in members):
                yield from (_name(each) for each in waiting if self.fits(group["queue"], cpu(each)))
                continue
            together = max(1, group["minMember"])
            first = waiting[:together]
            if together == 1:
                yield from (_name(each) for each in waiting if self.fits(group["queue"], cpu(each)))
            elif len(waiting) >= together and self.fits(group["queue"], sum(map(cpu, first))):
                yield f"the gang {name}"


def _state(queue: Manifest) -> str:
    return str(queue.get("status", {}).get("state") or "Open")


def _name(each: Manifest) -> str:
    return str(each["metadata"]["name"])


def cpu(each: Manifest) -> int:
    """What it requests, or what its node still keeps for it."""
    kept = [status["allocatedResources"] for status in each.get("status", {}).get("containerStatuses", ())]
    return max(int(found["cpu"]) for found in (each["spec"]["containers"][0]["resources"]["requests"], *kept))


def group_of(each: Manifest) -> str:
    return f"{each['metadata']['namespace']}/{each['metadata']['annotations']['scheduling.k8s.io/group-name']}"


def is_gated(each: Manifest) -> bool:
    return any(gate["name"] == GATE for gate in each["spec"].get("schedulingGates") or ())


def is_over(each: Manifest) -> bool:
    return each.get("status", {}).get("phase") in ("Succeeded", "Failed")


def has_failed(each: Manifest) -> bool:
    return each.get("status", {}).get("phase") == "Failed"
