"""The requests of a workload by pod set, in the amounts that quota counts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from types import MappingProxyType

from policies.amounts.devices import NO_DEVICES, DeviceCharge, DeviceSettings
from policies.amounts.requests import Transformation, pod_requests, transformed, without
from scheduling.objects import amounts
from scheduling.objects.amounts import FlavorResource, Requests
from scheduling.objects.template import PodTemplate
from scheduling.objects.workload import PodSet, PodSetAdmission, Workload


@dataclass(frozen=True, slots=True, eq=False)
class Counting:
    """How requests are counted and compared: Kueue's configuration `resources`, and two of its gates.

    Results are cached by this object, so callers reuse it.

    excluded_prefixes: prefixes of resources that need no quota.
    transformations: by input resource.
    reclaimable_pods: pods that are done do not count.
    hashes_names: the scheduling hash contains the names of pod sets.
    transforms_excluded: excluded resources are transformed, too, as in Kueue v0.20.
    devices: how devices are counted.
    """

    excluded_prefixes: tuple[str, ...] = ()
    transformations: Mapping[str, Transformation] = field(default_factory=dict)
    reclaimable_pods: bool = True
    hashes_names: bool = True
    transforms_excluded: bool = False
    devices: DeviceSettings = field(default_factory=DeviceSettings)


DEFAULT = Counting()


@dataclass(frozen=True, slots=True)
class PodSetRequests:
    """The requests of a pod set.

    requests: of all `count` pods. single: of one pod.
    flavors: by resource; empty if none are assigned.
    """

    name: str
    count: int
    requests: Requests
    single: Requests = field(compare=False)
    flavors: Mapping[str, str] = field(default_factory=dict)

    def scaled_to(self, count: int) -> PodSetRequests:
        """The requests of another number of pods, computed from `single`, so that a set of 0 pods can grow."""
        if count == self.count:
            return self
        return PodSetRequests(self.name, count, amounts.times(self.single, count), self.single, self.flavors)


def total_requests(workload: Workload, counting: Counting = DEFAULT) -> tuple[PodSetRequests, ...]:
    """The requests of the pods that are not done: by the admission if quota is reserved, else by the pod templates.

    An admission without reserved quota is ignored, since the API server accepts any pod sets in it.
    """
    left = counts_after_reclaim(workload, counting)
    if workload.admission is None or not workload.reserved:
        return tuple(_asked(pod_set, left[pod_set.name], counting) for pod_set in workload.pod_sets)
    sizes = workload.sizes
    return tuple(
        _assigned(entry, sizes.get(entry.name, 0), left.get(entry.name, 0)) for entry in workload.admission.assignments
    )


def counts_after_reclaim(workload: Workload, counting: Counting = DEFAULT) -> dict[str, int]:
    """The number of pods that are not done, by pod set."""
    if not counting.reclaimable_pods or not workload.reclaimable:
        return workload.sizes
    done = workload.reclaimable
    return {
        pod_set.name: pod_set.count - min(done.get(pod_set.name, 0), pod_set.count) for pod_set in workload.pod_sets
    }


def usage(requests: Iterable[PodSetRequests]) -> dict[FlavorResource, int]:
    """The sum by flavor and resource. The flavor is empty if none is assigned."""
    sums: dict[FlavorResource, int] = {}
    for entry in requests:
        for resource, amount in entry.requests.items():
            pair = FlavorResource(entry.flavors.get(resource, ""), resource)
            sums[pair] = amounts.plus(sums.get(pair, 0), amount)
    return sums


@lru_cache(maxsize=16384)
def per_pod(template: PodTemplate, counting: Counting = DEFAULT, devices: DeviceCharge = NO_DEVICES) -> Requests:
    """The amounts of one pod. They are summed exactly, then rounded up once, and are at least 0.

    devices: is added at the end, so that neither prefixes nor transformations apply to it.
    """
    requests, excluded = pod_requests(template.spec), counting.excluded_prefixes
    if counting.transforms_excluded:
        kept = transformed(requests, counting.transformations, excluded)
    else:
        kept = transformed(without(requests, excluded), counting.transformations)
    counted = amounts.counted(kept)
    return MappingProxyType({resource: max(0, amount) for resource, amount in devices.added_to(counted).items()})


def _asked(pod_set: PodSet, count: int, counting: Counting) -> PodSetRequests:
    single = per_pod(pod_set.template, counting, pod_set.devices)
    return PodSetRequests(pod_set.name, count, single if count == 1 else amounts.times(single, count), single)


def _assigned(entry: PodSetAdmission, size: int, left: int) -> PodSetRequests:
    """The assigned requests, scaled down if fewer pods are left.

    After a partial admission more pods are left than assigned. Then the requests stay as assigned.
    """
    count = size if entry.count is None else entry.count
    assigned = PodSetRequests(entry.name, count, entry.usage, amounts.divided(entry.usage, count), entry.flavors)
    return assigned.scaled_to(left) if left < count else assigned
