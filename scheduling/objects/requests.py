"""What a workload requests, by pod set, in the amounts that quota counts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from types import MappingProxyType

from policies.amounts.requests import Transformation, pod_requests, transformed, without
from scheduling.objects import amounts
from scheduling.objects.amounts import FlavorResource, Requests
from scheduling.objects.template import PodTemplate
from scheduling.objects.workload import PodSet, PodSetAdmission, Workload


@dataclass(frozen=True, slots=True, eq=False)
class Counting:
    """How requests are counted and compared: Kueue's configuration `resources`, and two of its gates.

    `transformations` are by input resource. `transforms_excluded`: resources that are excluded have outputs, too, as in
    Kueue v0.20. `hashes_names`: Workloads whose pod sets have other names are not alike.
    Reuse one object: results are cached by it.
    """

    excluded_prefixes: tuple[str, ...] = ()
    transformations: Mapping[str, Transformation] = field(default_factory=dict)
    reclaimable_pods: bool = True
    hashes_names: bool = True
    transforms_excluded: bool = False


DEFAULT = Counting()


@dataclass(frozen=True, slots=True)
class PodSetRequests:
    """`requests` are those of all `count` pods, `single` those of one pod; `flavors` are by resource."""

    name: str
    count: int
    requests: Requests
    single: Requests = field(compare=False)
    flavors: Mapping[str, str] = field(default_factory=dict)

    def scaled_to(self, count: int) -> PodSetRequests:
        """The requests of another number of pods. A set of 0 pods can be scaled as well, since `single` is known."""
        if count == self.count:
            return self
        return PodSetRequests(self.name, count, amounts.times(self.single, count), self.single, self.flavors)


def total_requests(workload: Workload, counting: Counting = DEFAULT) -> tuple[PodSetRequests, ...]:
    """The requests of the pods that are not done, by the admission while it holds quota, else by the pod templates.

    The API server lets an admission without quota stay, and name any pod sets.
    """
    left = counts_after_reclaim(workload, counting)
    if workload.admission is None or not workload.reserved:
        return tuple(_asked(pod_set, left[pod_set.name], counting) for pod_set in workload.pod_sets)
    sizes = {pod_set.name: pod_set.count for pod_set in workload.pod_sets}
    return tuple(
        _assigned(entry, sizes.get(entry.name, 0), left.get(entry.name, 0)) for entry in workload.admission.assignments
    )


def counts_after_reclaim(workload: Workload, counting: Counting = DEFAULT) -> dict[str, int]:
    """The number of pods that are not done, by pod set."""
    if not counting.reclaimable_pods or not workload.reclaimable:
        return {pod_set.name: pod_set.count for pod_set in workload.pod_sets}
    done = workload.reclaimable
    return {
        pod_set.name: pod_set.count - min(done.get(pod_set.name, 0), pod_set.count) for pod_set in workload.pod_sets
    }


def usage(requests: Iterable[PodSetRequests]) -> dict[FlavorResource, int]:
    """The sum by flavor and resource; the flavor is empty if none is assigned."""
    sums: dict[FlavorResource, int] = {}
    for entry in requests:
        for resource, amount in entry.requests.items():
            pair = FlavorResource(entry.flavors.get(resource, ""), resource)
            sums[pair] = amounts.plus(sums.get(pair, 0), amount)
    return sums


@lru_cache(maxsize=16384)
def per_pod(template: PodTemplate, counting: Counting = DEFAULT) -> Requests:
    """What one pod counts. Sums are exact up to here, then rounded up once; never below zero."""
    requests, excluded = pod_requests(template.spec), counting.excluded_prefixes
    if counting.transforms_excluded:
        kept = transformed(requests, counting.transformations, excluded)
    else:
        kept = transformed(without(requests, excluded), counting.transformations)
    counted = amounts.counted(kept)
    return MappingProxyType({resource: max(0, amount) for resource, amount in counted.items()})


def _asked(pod_set: PodSet, count: int, counting: Counting) -> PodSetRequests:
    single = per_pod(pod_set.template, counting)
    return PodSetRequests(pod_set.name, count, single if count == 1 else amounts.times(single, count), single)


def _assigned(entry: PodSetAdmission, size: int, left: int) -> PodSetRequests:
    """What was assigned, scaled down if fewer pods are left.

    More pods left than assigned means partial admission: then it stays as assigned.
    """
    count = size if entry.count is None else entry.count
    assigned = PodSetRequests(entry.name, count, entry.usage, amounts.divided(entry.usage, count), entry.flavors)
    return assigned.scaled_to(left) if left < count else assigned
