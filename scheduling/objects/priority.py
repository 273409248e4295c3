"""The priority of a workload: by its WorkloadPriorityClass, by the PriorityClass of its pods, or by default.

Source: Kueue v0.19, pkg/util/priority and pkg/controller/jobframework; Kubernetes' PriorityClass.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from policies.dialects.kueue_kinds import WORKLOAD_PRIORITY_CLASS
from policies.dialects.kueue_workload import PriorityClass
from policies.dialects.reading import Manifest, metadata, text
from policies.model.errors import PolicyError
from policies.model.objects import GroupKind

POD_PRIORITY_CLASS = GroupKind("scheduling.k8s.io", "PriorityClass")
DEFAULT_CLASS = "default"
"""The WorkloadPriorityClass that counts for jobs that name none, where that is switched on."""


class UnknownPriorityClass(PolicyError):
    """A priority class that does not exist; `kind` and `name` are its own."""

    def __init__(self, kind: GroupKind, name: str):
        super().__init__(f"{kind.kind} {name} does not exist; create it or name another")
        self.kind, self.name = kind, name


class Priority(NamedTuple):
    """`reference` is None where no class gave the value."""

    reference: PriorityClass | None
    value: int


NO_PRIORITY = Priority(None, 0)


@dataclass(frozen=True, slots=True)
class PriorityClasses:
    """The values by name; `defaults` are the PriorityClasses that are a global default."""

    of_workloads: Mapping[str, int] = field(default_factory=dict)
    of_pods: Mapping[str, int] = field(default_factory=dict)
    defaults: frozenset[str] = frozenset()

    @property
    def has_default(self) -> bool:
        return DEFAULT_CLASS in self.of_workloads

    def by_workload_class(self, name: str) -> Priority:
        """Raises UnknownPriorityClass."""
        return _found(WORKLOAD_PRIORITY_CLASS, name, self.of_workloads)

    def by_pod_class(self, name: str) -> Priority:
        """Without a name the global default, of several the lowest. Raises UnknownPriorityClass."""
        if name:
            return _found(POD_PRIORITY_CLASS, name, self.of_pods)
        lowest = min(self.defaults, key=lambda each: (self.of_pods[each], each), default=None)
        return NO_PRIORITY if lowest is None else _found(POD_PRIORITY_CLASS, lowest, self.of_pods)


def read_priority_classes(manifests: Iterable[Manifest]) -> PriorityClasses:
    """Of objects of both kinds; others are passed over."""
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
) -> Priority:
    """The first that is named: for the workload, for the job as its kind has it, for the first pod set that names one.

    Else the global default. Raises UnknownPriorityClass.
    """
    if workload_class:
        return classes.by_workload_class(workload_class)
    return classes.by_pod_class(job_class or next(filter(None, pod_classes), ""))


def _found(kind: GroupKind, name: str, values: Mapping[str, int]) -> Priority:
    if name not in values:
        raise UnknownPriorityClass(kind, name)
    return Priority(PriorityClass(kind.group, kind.kind, name), values[name])
