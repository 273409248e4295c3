"""The priority of a workload: from its WorkloadPriorityClass, the PriorityClass of its pods, or the default.

Source: Kueue v0.19, pkg/util/priority and pkg/controller/jobframework; Kubernetes' PriorityClass.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from policies.dialects.kueue_kinds import WORKLOAD_PRIORITY_CLASS
from policies.dialects.kueue_workload import PriorityClassReference
from policies.dialects.reading import Manifest, metadata, text
from policies.model.errors import PolicyError
from policies.model.objects import GroupKind
from policies.model.suggestion import missing

POD_PRIORITY_CLASS = GroupKind("scheduling.k8s.io", "PriorityClass")


class UnknownPriorityClass(PolicyError):
    """The priority class `name` of this `kind` does not exist. `known`: the existing ones."""

    def __init__(self, kind: GroupKind, name: str, known: Iterable[str] = ()):
        super().__init__(missing(kind.kind, name, known))
        self.kind, self.name = kind, name

    @property
    def event(self) -> str:
        """The text of the Event that Kueue records."""
        return f'{self.kind.kind} "{self.name}" not found'


class WorkloadPriority(NamedTuple):
    """A priority. `reference`: the class that gave the value; None if no class did."""

    reference: PriorityClassReference | None
    value: int


NO_PRIORITY = WorkloadPriority(None, 0)


@dataclass(frozen=True, slots=True)
class PriorityClasses:
    """The values of both kinds of classes by name. `defaults`: the PriorityClasses with globalDefault."""

    of_workloads: Mapping[str, int] = field(default_factory=dict)
    of_pods: Mapping[str, int] = field(default_factory=dict)
    defaults: frozenset[str] = frozenset()

    def by_workload_class(self, name: str) -> WorkloadPriority:
        """The priority of a WorkloadPriorityClass. Raises UnknownPriorityClass."""
        return _found(WORKLOAD_PRIORITY_CLASS, name, self.of_workloads)

    def by_pod_class(self, name: str) -> WorkloadPriority:
        """The priority of a PriorityClass, or of the lowest global default for an empty name.

        Raises UnknownPriorityClass.
        """
        if name:
            return _found(POD_PRIORITY_CLASS, name, self.of_pods)
        lowest = min(self.defaults, key=lambda each: (self.of_pods[each], each), default=None)
        return NO_PRIORITY if lowest is None else _found(POD_PRIORITY_CLASS, lowest, self.of_pods)


def read_priority_classes(manifests: Iterable[Manifest]) -> PriorityClasses:
    """Read the objects of both kinds. Others are ignored."""
    of_workloads: dict[str, int] = {}
    of_pods: dict[str, int] = {}
    defaults = set()
    for manifest in manifests:
        name, value = text(metadata(manifest).get("name")), manifest.get("value")
        if name is None or not isinstance(value, int):
            continue
        if manifest.get("kind") == WORKLOAD_PRIORITY_CLASS.kind:
            of_workloads[name] = value
        elif manifest.get("kind") == POD_PRIORITY_CLASS.kind:
            of_pods[name] = value
            if manifest.get("globalDefault") is True:
                defaults.add(name)
    return PriorityClasses(of_workloads, of_pods, frozenset(defaults))


def priority_of(
    classes: PriorityClasses, *, workload_class: str = "", job_class: str = "", pod_classes: Iterable[str] = ()
) -> WorkloadPriority:
    """The priority of the first class that is named, by the workload, the job or a pod set; else the global default.

    Raises UnknownPriorityClass.
    """
    if workload_class:
        return classes.by_workload_class(workload_class)
    return classes.by_pod_class(job_class or next(filter(None, pod_classes), ""))


def _found(kind: GroupKind, name: str, values: Mapping[str, int]) -> WorkloadPriority:
    if name not in values:
        raise UnknownPriorityClass(kind, name, values)
    return WorkloadPriority(PriorityClassReference(kind.group, kind.kind, name), values[name])
