"""Counts the devices that pods request, by ResourceClaimTemplate or as an extended resource of a DeviceClass.

No device is allocated here: requests become amounts of the resources in `resources.deviceClassMappings`.
Source: Kueue v0.19.2, pkg/dra (KEP-2941); Kubernetes v1.34, resource.k8s.io/v1.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from policies.amounts.requests import readable
from policies.dialects.reading import Manifest, integer, listing, mapping, metadata, text
from policies.model.objects import GroupKind
from policies.model.pools import UNLIMITED, count, plus
from policies.model.quantity import Quantities, Quantity

DEVICE_CLASS = GroupKind("resource.k8s.io", "DeviceClass")
CLAIM_TEMPLATE = GroupKind("resource.k8s.io", "ResourceClaimTemplate")
_UNIT = 10**9
_SPEC = "template.spec"


class DevicesUnresolved(Exception):
    """The devices of a workload cannot be counted; the message says why, in Kueue's words.

    `requeued`: the message of the condition Requeued, if it is another one.
    `missing`: whether a ResourceClaimTemplate does not exist.
    """

    def __init__(self, message: str, requeued: str = "", *, missing: bool = False):
        super().__init__(message)
        self.requeued = requeued
        self.missing = missing


@dataclass(frozen=True, slots=True)
class DeviceSettings:
    """How devices are counted.

    `mapped`: the resource that counts the devices of a DeviceClass, by the name of the class.
    `enabled`: whether devices are counted (gate KueueDRAIntegration).
    `refuses`: if they are not counted, workloads with claims are not admitted (gate
        KueueDRARejectWorkloadsWhenDRADisabled).
    `extended`: whether extended resources of DeviceClasses are counted (gate KueueDRAIntegrationExtendedResource).
    `ignores_admin`: requests with adminAccess count nothing, as in Kueue v0.20, instead of being refused.
    """

    mapped: Mapping[str, str] = field(default_factory=dict)
    enabled: bool = True
    refuses: bool = True
    extended: bool = True
    ignores_admin: bool = False

    @property
    def counted(self) -> bool:
        """Whether any device counts. Otherwise DeviceClasses and ResourceClaimTemplates do not matter."""
        return self.enabled and bool(self.mapped)


@dataclass(frozen=True, slots=True)
class DeviceClass:
    """A DeviceClass. `extended`: the extended resource that requests its devices; empty if there is none.

    `created`: its creation time as the API server writes it.
    """

    name: str
    extended: str = ""
    created: str = ""


class DeviceRequest(NamedTuple):
    """A request of a ResourceClaimTemplate.

    `devices`: how many.
    `exact`: whether it has the field `exactly`.
    `alternatives`: whether it has `firstAvailable`.
    """

    device_class: str
    devices: int
    mode: str
    admin: bool
    exact: bool
    alternatives: bool


@dataclass(frozen=True, slots=True)
class ClaimTemplate:
    """A ResourceClaimTemplate. `key`: `namespace/name`. `created`: its creation time as the API server writes it."""

    key: str
    requests: tuple[DeviceRequest, ...] = ()
    created: str = ""


class DeviceCharge(NamedTuple):
    """What quota counts for the devices of one pod.

    `amounts`: the devices in the units of the resource that counts them, sorted by resource.
    `replaced`: the extended resources that do not count themselves, sorted.
    """

    amounts: tuple[tuple[str, int], ...] = ()
    replaced: tuple[str, ...] = ()

    def added_to(self, requests: Mapping[str, int]) -> dict[str, int]:
        """The requests of one pod with its devices."""
        counted = {resource: amount for resource, amount in requests.items() if resource not in self.replaced}
        for resource, devices in self.amounts:
            counted[resource] = plus(counted.get(resource, 0), devices)
        return counted


NO_DEVICES = DeviceCharge()


class NamedSpec(NamedTuple):
    """The name of a pod set, and the spec of its pods after defaults."""

    name: str
    spec: Mapping[str, Any]


def read_device_class(manifest: Manifest) -> DeviceClass:
    meta, spec = metadata(manifest), mapping(manifest.get("spec"))
    extended = text(spec.get("extendedResourceName")) or ""
    return DeviceClass(text(meta.get("name")) or "", extended, text(meta.get("creationTimestamp")) or "")


def read_claim_template(manifest: Manifest) -> ClaimTemplate:
    meta = metadata(manifest)
    devices = mapping(mapping(mapping(manifest.get("spec")).get("spec")).get("devices"))
    key = f"{text(meta.get('namespace')) or 'default'}/{text(meta.get('name')) or ''}"
    requests = tuple(map(_read_request, map(mapping, listing(devices.get("requests")))))
    return ClaimTemplate(key, requests, text(meta.get("creationTimestamp")) or "")


def _read_request(request: Mapping[str, Any]) -> DeviceRequest:
    """Read a request, with the defaults of the API server. In v1beta1 it has the fields of `exactly` itself."""
    exact = request.get("exactly", request if "deviceClassName" in request else None)
    fields = mapping(exact)
    return DeviceRequest(
        text(fields.get("deviceClassName")) or "",
        integer(fields.get("count")) or 1,
        text(fields.get("allocationMode")) or "ExactCount",
        fields.get("adminAccess") is True,
        isinstance(exact, Mapping),
        request.get("firstAvailable") is not None,
    )


# --- what a pod requests


def claims_devices(spec: Mapping[str, Any]) -> bool:
    """Whether a pod has a claim, by template or by name."""
    return any(_template_of(claim) or _claim_of(claim) for claim in _claims(spec))


def claim_templates(namespace: str, spec: Mapping[str, Any]) -> Iterator[str]:
    """The ResourceClaimTemplates that a pod names, as `namespace/name`."""
    for claim in _claims(spec):
        if name := _template_of(claim):
            yield f"{namespace}/{name}"


def extended_resources(spec: Mapping[str, Any]) -> Iterator[str]:
    """The extended resources that the containers of a pod request."""
    for _, container in _containers(spec):
        yield from _extended_requests(container)


def _claims(spec: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    return map(mapping, listing(spec.get("resourceClaims")))


def _template_of(claim: Mapping[str, Any]) -> str:
    return text(claim.get("resourceClaimTemplateName")) or ""


def _claim_of(claim: Mapping[str, Any]) -> str:
    return text(claim.get("resourceClaimName")) or ""


def _containers(spec: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """The containers with their paths, init containers first."""
    for key in ("initContainers", "containers"):
        for index, container in enumerate(map(mapping, listing(spec.get(key)))):
            yield f"{key}[{index}]", container


def _extended_requests(container: Mapping[str, Any]) -> Quantities:
    """The requests for extended resources that are above zero."""
    requests = readable(mapping(container.get("resources")).get("requests"))
    return {name: quantity for name, quantity in requests.items() if is_extended(name) and quantity > Quantity.ZERO}


def is_extended(resource: str) -> bool:
    """Whether the name is that of an extended resource, such as `example.com/gpu`."""
    return "/" in resource and not resource.startswith(("kubernetes.io/", "hugepages-"))


# --- what quota counts


class DeviceObjects:
    """The DeviceClasses and ResourceClaimTemplates of a cluster."""

    def __init__(self) -> None:
        self.templates: dict[str, ClaimTemplate] = {}  # by namespace/name
        self._classes: dict[str, DeviceClass] = {}
        self._by_extended: dict[str, dict[str, DeviceClass]] = {}  # classes by extended resource

    def put_class(self, device_class: DeviceClass) -> set[str]:
        """Store a DeviceClass. Returns the extended resources that it no longer has or has from now on."""
        changed = self.drop_class(device_class.name)
        self._classes[device_class.name] = device_class
        if device_class.extended:
            self._by_extended.setdefault(device_class.extended, {})[device_class.name] = device_class
            changed.add(device_class.extended)
        return changed

    def drop_class(self, name: str) -> set[str]:
        """Remove a DeviceClass. Returns the extended resource that it had."""
        old = self._classes.pop(name, None)
        if old is None or not old.extended:
            return set()
        del self._by_extended[old.extended][name]
        if not self._by_extended[old.extended]:
            del self._by_extended[old.extended]
        return {old.extended}

    def serves(self, resource: str) -> bool:
        """Whether devices of a DeviceClass serve requests for the extended resource."""
        return resource in self._by_extended

    def class_of(self, resource: str) -> str | None:
        """The DeviceClass that serves the extended resource: as in Kubernetes the youngest, then the first by name."""
        classes = sorted(self._by_extended.get(resource, {}).values(), key=lambda each: each.name)
        return max(classes, key=lambda each: each.created).name if classes else None


def needs_devices(spec: Mapping[str, Any], settings: DeviceSettings, objects: DeviceObjects) -> bool:
    """Whether devices have to be counted for the pod, or make it inadmissible."""
    if not settings.enabled:
        return settings.refuses and claims_devices(spec)
    return claims_devices(spec) or (settings.extended and any(map(objects.serves, extended_resources(spec))))


def device_charges(
    namespace: str, pod_sets: Sequence[NamedSpec], settings: DeviceSettings, objects: DeviceObjects
) -> tuple[DeviceCharge, ...]:
    """What quota counts for one pod of each pod set. Raises DevicesUnresolved if that is not known."""
    claimed = any(claims_devices(spec) for _, spec in pod_sets)
    if claimed and not settings.enabled:
        raise DevicesUnresolved("Workload uses DRA resources but the KueueDRAIntegration feature gate is not enabled")
    if any(_claim_of(claim) for _, spec in pod_sets for claim in _claims(spec)):
        raise DevicesUnresolved(
            "KueueDRAIntegration feature does not support use of resource claims",
            requeued="DRA resource claims not supported",
        )
    by_claim = [
        _by_templates(namespace, pod_set, f"spec.podSets[{index}].{_SPEC}", settings, objects)
        for index, pod_set in enumerate(pod_sets)
    ]
    if not settings.extended:
        return tuple(_charge(amounts) for amounts in by_claim)
    faults: list[str] = []
    charges = [
        _with_extended(amounts, spec, f"spec.podSets[{index}].{_SPEC}", settings, objects, faults)
        for index, (amounts, (_, spec)) in enumerate(zip(by_claim, pod_sets, strict=True))
    ]
    if faults:
        raise DevicesUnresolved(faults[0] if len(faults) == 1 else f"[{', '.join(faults)}]")
    return tuple(charges)


def _by_templates(
    namespace: str, pod_set: NamedSpec, at: str, settings: DeviceSettings, objects: DeviceObjects
) -> dict[str, int]:
    """The devices that the templates of one pod request, by the resource that counts them."""
    amounts: dict[str, int] = {}
    for index, claim in enumerate(_claims(pod_set.spec)):
        name = _template_of(claim)
        if not name:
            continue
        if not settings.mapped:
            raise DevicesUnresolved(
                f"pod set {pod_set.name} claims devices by a ResourceClaimTemplate, but deviceClassMappings under "
                "resources in Kueue's Configuration is empty; map the DeviceClass to a resource of the ClusterQueue"
            )
        path = f"{at}.resourceClaims[{index}]"
        template = objects.templates.get(f"{namespace}/{name}")
        if template is None:
            raise DevicesUnresolved(
                f"{path}: Internal error: failed to get claim spec for ResourceClaimTemplate {name} in podset "
                f'{pod_set.name}: ResourceClaimTemplate.resource.k8s.io "{name}" not found',
                missing=True,
            )
        for device_class, devices in _devices(template, f"{path}.devices.requests", name, settings).items():
            resource = settings.mapped.get(device_class)
            if resource is None:
                unmapped = f"DeviceClass {device_class} is not mapped in DRA configuration for podset {pod_set.name}"
                raise DevicesUnresolved(f'{path}.resourceClaimTemplateName: Not found: "{unmapped}"')
            amounts[resource] = plus(amounts.get(resource, 0), devices)
    return amounts


def _devices(template: ClaimTemplate, at: str, name: str, settings: DeviceSettings) -> dict[str, int]:
    """The devices that a template requests, by DeviceClass."""
    counts: dict[str, int] = {}
    for index, request in enumerate(template.requests):
        if request.admin and settings.ignores_admin:
            continue
        fault = _fault(request)
        if fault is not None:
            place, value, why = fault
            raise DevicesUnresolved(
                f"{at}[{index}]{place}: Invalid value: {value}: ResourceClaimTemplate {name}: {why}"
            )
        if request.device_class:
            counts[request.device_class] = plus(counts.get(request.device_class, 0), request.devices)
    return counts


def _fault(request: DeviceRequest) -> tuple[str, str, str] | None:
    """Why a request cannot be counted: the place below it, the value there, and the reason. None if it can."""
    if request.alternatives:
        return "", "null", "FirstAvailable device selection is not supported"
    if not request.exact:
        return "", "null", "Exactly must be set if FirstAvailable is nil"
    if request.admin:
        return ".exactly.adminAccess", "null", "AdminAccess is not supported"
    if request.mode == "All":
        return ".exactly.allocationMode", '"All"', "AllocationMode 'All' is not supported"
    if request.mode != "ExactCount":
        return ".exactly.allocationMode", f'"{request.mode}"', f"unsupported allocation mode: {request.mode}"
    return None


def _with_extended(
    amounts: dict[str, int],
    spec: Mapping[str, Any],
    at: str,
    settings: DeviceSettings,
    objects: DeviceObjects,
    faults: list[str],
) -> DeviceCharge:
    """Add the extended resources of one pod that devices serve. `faults` gets the requests that cannot be counted.

    As in Kueue, an init container that restarts counts like any other init container.
    """
    replaced = set()
    for resource, (total, first) in sorted(_extended_totals(spec).items()):
        device_class = objects.class_of(resource)
        if device_class is None:
            continue
        wrong = [*_fractions(spec, resource, at)]
        if not wrong and total.nano > UNLIMITED * _UNIT:
            path = f"{at}.{first}.resources.requests.{resource}"
            wrong.append(f'{path}: Invalid value: "{total}": total extended resource quantity overflows int64')
        faults += wrong
        counted_as = settings.mapped.get(device_class, resource)
        amounts[counted_as] = plus(amounts.get(counted_as, 0), total.units())
        replaced.add(resource)
    return _charge(amounts, replaced)


def _charge(amounts: Mapping[str, int], replaced: Iterable[str] = ()) -> DeviceCharge:
    counted = ((resource, count(resource, Quantity.of_nano(devices * _UNIT))) for resource, devices in amounts.items())
    return DeviceCharge(tuple(sorted(counted)), tuple(sorted(replaced)))


def _extended_totals(spec: Mapping[str, Any]) -> dict[str, tuple[Quantity, str]]:
    """The amount of each extended resource that one pod needs at once, with the path of the first container.

    Containers run together; init containers one after the other, before them.
    """
    starting: dict[str, Quantity] = {}
    running: dict[str, Quantity] = {}
    first: dict[str, str] = {}
    for path, container in _containers(spec):
        for resource, quantity in _extended_requests(container).items():
            first.setdefault(resource, path)
            if path.startswith("init"):
                starting[resource] = max(starting.get(resource, quantity), quantity)
            else:
                running[resource] = running.get(resource, Quantity.ZERO) + quantity
    return {
        resource: (max(starting.get(resource, Quantity.ZERO), running.get(resource, Quantity.ZERO)), path)
        for resource, path in first.items()
    }


def _fractions(spec: Mapping[str, Any], resource: str, at: str) -> Iterator[str]:
    """The faults of containers that request a part of a device."""
    for path, container in _containers(spec):
        quantity = _extended_requests(container).get(resource)
        if quantity is not None and (quantity.nano % _UNIT or quantity.nano > UNLIMITED * _UNIT):
            yield (
                f'{at}.{path}.resources.requests.{resource}: Invalid value: "{quantity}": '
                "extended resource quantity must be an integer"
            )
