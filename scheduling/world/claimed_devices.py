"""The devices that waiting workloads request, and which of these workloads a changed object concerns."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import lru_cache

from policies.amounts.devices import (
    ClaimTemplate,
    DeviceCharge,
    DeviceClass,
    DeviceObjects,
    DeviceSettings,
    DevicesUnresolved,
    NamedSpec,
    claim_templates,
    device_charges,
    extended_resources,
    needs_devices,
)
from policies.mutation.pod_defaults import Surroundings
from scheduling.objects.admissibility import adjusted
from scheduling.objects.copying import replace
from scheduling.objects.grouped import Links
from scheduling.objects.inadmissible_reasons import MISCONFIGURED
from scheduling.objects.template import PodTemplate
from scheduling.objects.times import SECOND, parse
from scheduling.objects.workload import QUOTA_RESERVED, Workload
from scheduling.queues.queues import Blocker


@lru_cache(maxsize=16384)
def _names(namespace: str, template: PodTemplate) -> tuple[str, ...]:
    """The ResourceClaimTemplates (`namespace/name`) and extended resources that the pods name."""
    return (*claim_templates(namespace, template.spec), *extended_resources(template.spec))


def _has_claims(workload: Workload) -> bool:
    return any(pod_set.template.claims for pod_set in workload.pod_sets)


def with_devices(workload: Workload, charges: tuple[DeviceCharge, ...]) -> Workload:
    """The workload with the devices of its pod sets. `charges`: one for each; empty if it requests no devices."""
    if not charges:
        return workload
    pairs = zip(workload.pod_sets, charges, strict=True)
    return replace(workload, pod_sets=tuple(replace(pod_set, devices=charge) for pod_set, charge in pairs))


_LATE = 10 * SECOND
"""How long after a reservation a new template may have been counted: the watch and the clocks may be behind."""


class ClaimedDevices:
    """Counts the devices of waiting workloads. The cost of a change depends on the workloads that it concerns.

    A ResourceClaimTemplate cannot be edited, but its owner can create another one of the same name, and the next pods
    of a running job get the devices that it requests. So workloads with quota are followed, too.
    """

    def __init__(self, settings: DeviceSettings) -> None:
        self._settings = settings
        self._counted = settings.counted
        self._objects = DeviceObjects()
        self._charges: dict[str, tuple[DeviceCharge, ...]] = {}  # by workload, in the order of its pod sets
        self._outgrown: dict[str, str] = {}  # why the quota of a workload does not cover its devices any more
        # the workloads by what they name: templates, and extended resources if they wait
        self._users: Links[str, str] = Links()

    # --- objects; each method returns the workloads that the change concerns

    def put_class(self, device_class: DeviceClass) -> list[str]:
        return self._users_of(self._objects.put_class(device_class))

    def drop_class(self, name: str) -> list[str]:
        return self._users_of(self._objects.drop_class(name))

    def put_template(self, template: ClaimTemplate) -> list[str]:
        if self._objects.templates.get(template.key) == template:
            return []
        self._objects.templates[template.key] = template
        return self._users_of((template.key,))

    def drop_template(self, key: str) -> list[str]:
        return self._users_of((key,)) if self._objects.templates.pop(key, None) is not None else []

    def _users_of(self, names: Iterable[str]) -> list[str]:
        return list(dict.fromkeys(key for name in names for key in self._users.of(name)))

    # --- workloads

    def count(self, workload: Workload, around: Surroundings) -> Blocker | None:
        """Count the devices of a waiting workload. Returns why that is not possible."""
        if self._users.groups(workload.key):
            self.forget(workload.key)
        if not self._counted and not _has_claims(workload):
            return None
        complete = adjusted(workload, around)
        names = (name for each in complete.pod_sets for name in _names(workload.namespace, each.template))
        self._users.put(workload.key, names)
        specs = [NamedSpec(each.name, each.template.spec) for each in complete.pod_sets]
        if not any(needs_devices(spec, self._settings, self._objects) for _, spec in specs):
            return None
        try:
            self._charges[workload.key] = device_charges(workload.namespace, specs, self._settings, self._objects)
        except DevicesUnresolved as error:
            return Blocker(MISCONFIGURED, str(error), error.requeued or str(error))
        return None

    def hold(self, workload: Workload, counts: Callable[[str], bool]) -> None:
        """Follow a workload with quota. Notes if a template that was created later requests more than the quota.

        counts: whether its ClusterQueue counts a resource.
        """
        key = workload.key
        if not self._counted or not _has_claims(workload):
            return
        if not self._users.groups(key):
            specs = (each.template.spec for each in workload.pod_sets)
            self._users.put(key, (name for spec in specs for name in claim_templates(workload.namespace, spec)))
        if key not in self._outgrown and (message := self._more_than_reserved(workload, counts)):
            self._outgrown[key] = message

    def outgrown(self, key: str) -> str:
        """Why the quota of the workload does not cover its devices any more; empty if it does.

        This stays so until the quota is released, since pods may have got the devices meanwhile.
        """
        return self._outgrown.get(key, "")

    def _more_than_reserved(self, workload: Workload, counts: Callable[[str], bool]) -> str:
        templates = (self._objects.templates.get(name) for name in self._users.groups(workload.key))
        newest = max((parse(each.created) for each in templates if each is not None), default=0)
        reserved = workload.holding(QUOTA_RESERVED)
        if workload.admission is None or reserved is None or newest < reserved.since - _LATE:
            return ""
        specs = [NamedSpec(each.name, each.template.spec) for each in workload.pod_sets]
        try:
            charges = device_charges(workload.namespace, specs, replace(self._settings, extended=False), self._objects)
        except DevicesUnresolved as error:
            return str(error) if not error.missing else ""
        assigned = {each.name: each for each in workload.admission.assignments}
        for pod_set, charge in zip(workload.pod_sets, charges, strict=True):
            found = assigned.get(pod_set.name)
            if found is None:
                continue
            pods = pod_set.count if found.count is None else found.count
            for resource, devices in charge.amounts:
                if counts(resource) and devices * pods > found.usage.get(resource, 0):
                    return (
                        f"Each pod of {pod_set.name} requests {resource}={devices} since its ResourceClaimTemplate was "
                        f"created again; quota is reserved for {found.usage.get(resource, 0)} of {pods} pods"
                    )
        return ""

    def charges(self, key: str) -> tuple[DeviceCharge, ...]:
        """What the devices of one pod count, for each pod set; empty if it requests none."""
        return self._charges.get(key, ())

    def forget(self, key: str) -> None:
        """Drop a workload that neither waits nor has quota."""
        self._charges.pop(key, None)
        self._outgrown.pop(key, None)
        self._users.drop(key)
