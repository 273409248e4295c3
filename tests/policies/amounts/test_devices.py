"""Devices by ResourceClaimTemplate and by extended resource. The amounts are those of Kueue v0.19.2."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from policies.amounts.devices import (
    NO_DEVICES,
    DeviceCharge,
    DeviceClass,
    DeviceObjects,
    DeviceSettings,
    DevicesUnresolved,
    NamedSpec,
    device_charges,
    needs_devices,
    read_claim_template,
    read_device_class,
)
from policies.model.quantity import INT64_MAX

CLASS, RESOURCE = "gpu.example.com", "gpus"
SETTINGS = DeviceSettings({CLASS: RESOURCE, "big.example.com": RESOURCE})
CLAIM = "spec.podSets[0].template.spec.resourceClaims[0]"


def template(name: str, *requests: Mapping[str, Any]) -> dict[str, Any]:
    metadata = {"namespace": "ns", "name": name}
    return {"metadata": metadata, "spec": {"spec": {"devices": {"requests": list(requests)}}}}


def exactly(count: int | None = None, device_class: str = CLASS, **fields: Any) -> dict[str, Any]:
    """A request for devices of a class. Without a count it is for one, as in the API server."""
    return {
        "name": "r",
        "exactly": {"deviceClassName": device_class, **({} if count is None else {"count": count}), **fields},
    }


def objects(*templates: Mapping[str, Any], classes: tuple[DeviceClass, ...] = ()) -> DeviceObjects:
    found = DeviceObjects()
    for each in map(read_claim_template, templates):
        found.templates[each.key] = each
    for each in classes:
        found.put_class(each)
    return found


def claiming(*names: str) -> dict[str, Any]:
    return {"resourceClaims": [{"name": f"c{at}", "resourceClaimTemplateName": name} for at, name in enumerate(names)]}


def container(**requests: str) -> dict[str, Any]:
    return {"resources": {"requests": {f"example.com/{name}": value for name, value in requests.items()}}}


def charge_of(spec: Mapping[str, Any], found: DeviceObjects, settings: DeviceSettings = SETTINGS) -> DeviceCharge:
    return device_charges("ns", [NamedSpec("main", spec)], settings, found)[0]


def refusal(spec: Mapping[str, Any], found: DeviceObjects, settings: DeviceSettings = SETTINGS) -> str:
    with pytest.raises(DevicesUnresolved) as error:
        charge_of(spec, found, settings)
    return str(error.value)


@pytest.mark.parametrize(
    ("requests", "claims", "amount"),
    [
        ([exactly(2)], ["t"], 2),
        ([exactly(2)], ["t", "t"], 4),
        ([exactly(1), exactly(1)], ["t"], 2),
        ([exactly(1), exactly(3, "big.example.com")], ["t"], 4),
        ([exactly()], ["t"], 1),
        ([exactly(2, allocationMode="ExactCount")], ["t"], 2),
        ([exactly(INT64_MAX), exactly(2)], ["t"], INT64_MAX),
    ],
)
def test_devices_of_templates_are_added_for_each_claim_of_a_pod(
    requests: list[Any], claims: list[str], amount: int
) -> None:
    found = objects(template("t", *requests))

    assert charge_of(claiming(*claims), found) == DeviceCharge(((RESOURCE, amount),))


@pytest.mark.parametrize(
    ("request_", "message"),
    [
        ({"firstAvailable": []}, ": Invalid value: null: {t}FirstAvailable device selection is not supported"),
        ({"name": "r"}, ": Invalid value: null: {t}Exactly must be set if FirstAvailable is nil"),
        (exactly(adminAccess=True), ".exactly.adminAccess: Invalid value: null: {t}AdminAccess is not supported"),
        (
            exactly(allocationMode="All"),
            ".exactly.allocationMode: Invalid value: \"All\": {t}AllocationMode 'All' is not supported",
        ),
        (
            exactly(allocationMode="Some"),
            '.exactly.allocationMode: Invalid value: "Some": {t}unsupported allocation mode: Some',
        ),
    ],
)
def test_a_request_that_is_not_for_an_exact_number_of_devices_is_refused(
    request_: dict[str, Any], message: str
) -> None:
    found = objects(template("t", exactly(1), request_))

    expected = f"{CLAIM}.devices.requests[1]" + message.replace("{t}", "ResourceClaimTemplate t: ")
    assert refusal(claiming("t"), found) == expected


def test_selectors_of_a_request_do_not_change_its_count() -> None:
    selectors = [{"cel": {"expression": "device.attributes['gpu.example.com'].memory == 80"}}]

    assert charge_of(claiming("t"), objects(template("t", exactly(2, selectors=selectors)))).amounts == ((RESOURCE, 2),)


def test_a_template_of_v1beta1_counts_like_one_of_v1() -> None:
    found = objects(template("t", {"name": "r", "deviceClassName": CLASS, "count": 3}))

    assert charge_of(claiming("t"), found).amounts == ((RESOURCE, 3),)


def test_admin_access_counts_nothing_in_newer_versions() -> None:
    found = objects(template("t", exactly(1), exactly(1, adminAccess=True)))

    settings = DeviceSettings(SETTINGS.mapped, ignores_admin=True)
    assert charge_of(claiming("t"), found, settings) == DeviceCharge(((RESOURCE, 1),))


def test_a_class_without_a_mapping_and_a_missing_template_are_named() -> None:
    found = objects(template("t", exactly(1, "other.example.com")))

    unmapped = "DeviceClass other.example.com is not mapped in DRA configuration for podset main"
    assert refusal(claiming("t"), found) == f'{CLAIM}.resourceClaimTemplateName: Not found: "{unmapped}"'
    assert refusal(claiming("u"), found) == (
        f"{CLAIM}: Internal error: failed to get claim spec for ResourceClaimTemplate u in podset main: "
        'ResourceClaimTemplate.resource.k8s.io "u" not found'
    )
    assert "deviceClassMappings under resources in Kueue's Configuration is empty" in refusal(
        claiming("t"), found, DeviceSettings()
    )


def test_devices_that_count_as_cpu_are_in_its_unit() -> None:
    found = objects(template("t", exactly(2)))

    assert charge_of(claiming("t"), found, DeviceSettings({CLASS: "cpu"})).amounts == (("cpu", 2000),)


def test_templates_of_other_namespaces_are_not_used() -> None:
    found = objects(template("t", exactly(1)))

    with pytest.raises(DevicesUnresolved, match="not found"):
        device_charges("other", [NamedSpec("main", claiming("t"))], SETTINGS, found)


def test_claims_by_name_are_not_supported() -> None:
    spec = {"resourceClaims": [{"name": "c", "resourceClaimName": "shared"}]}

    assert refusal(spec, objects()) == "KueueDRAIntegration feature does not support use of resource claims"


@pytest.mark.parametrize(("refuses", "needed"), [(True, True), (False, False)])
def test_without_the_gate_claims_are_refused_or_ignored(refuses: bool, needed: bool) -> None:
    settings = DeviceSettings(SETTINGS.mapped, enabled=False, refuses=refuses)

    assert needs_devices(claiming("t"), settings, objects()) is needed
    if needed:
        assert refusal(claiming("t"), objects(), settings) == (
            "Workload uses DRA resources but the KueueDRAIntegration feature gate is not enabled"
        )


def test_an_extended_resource_of_a_class_counts_as_the_mapped_resource() -> None:
    """Init containers run one after the other, and before the containers."""
    spec = {"initContainers": [container(gpu="4")], "containers": [container(gpu="1"), container(gpu="2")]}
    found = objects(classes=(DeviceClass(CLASS, "example.com/gpu"),))

    assert needs_devices(spec, SETTINGS, found)
    assert charge_of(spec, found) == DeviceCharge(((RESOURCE, 4),), ("example.com/gpu",))
    assert charge_of(spec, objects()) == NO_DEVICES
    assert charge_of(spec, found, DeviceSettings(SETTINGS.mapped, extended=False)) == NO_DEVICES


def test_claims_and_extended_resources_of_one_class_are_added() -> None:
    spec = {**claiming("t"), "containers": [container(gpu="3")]}
    found = objects(template("t", exactly(2)), classes=(DeviceClass(CLASS, "example.com/gpu"),))

    assert charge_of(spec, found) == DeviceCharge(((RESOURCE, 5),), ("example.com/gpu",))


def test_an_extended_resource_of_a_class_without_mapping_keeps_its_name() -> None:
    found = objects(classes=(DeviceClass("other.example.com", "example.com/gpu"),))

    charge = charge_of({"containers": [container(gpu="2")]}, found)

    assert charge == DeviceCharge((("example.com/gpu", 2),), ("example.com/gpu",))
    assert charge.added_to({"cpu": 1000, "example.com/gpu": 2}) == {"cpu": 1000, "example.com/gpu": 2}


def test_each_container_requests_whole_devices() -> None:
    """Two halves are refused, although their sum is one device."""
    spec = {"containers": [container(gpu="500m"), container(gpu="500m")]}
    found = objects(classes=(DeviceClass(CLASS, "example.com/gpu"),))

    at = "spec.podSets[0].template.spec.containers"
    faults = [
        f'{at}[{index}].resources.requests.example.com/gpu: Invalid value: "500m": '
        "extended resource quantity must be an integer"
        for index in (0, 1)
    ]
    assert refusal(spec, found) == f"[{', '.join(faults)}]"
    too_many = {"containers": [container(gpu="9E"), container(gpu="9E")]}
    assert refusal(too_many, found).endswith(': Invalid value: "18E": total extended resource quantity overflows int64')


def test_zero_and_negative_requests_for_devices_are_ignored() -> None:
    spec = {"containers": [container(gpu="0"), container(gpu="-1")]}
    found = objects(classes=(DeviceClass(CLASS, "example.com/gpu"),))

    assert not needs_devices(spec, SETTINGS, found)
    assert charge_of(spec, found) == NO_DEVICES


@pytest.mark.parametrize(
    ("classes", "chosen"),
    [
        ((("a", "2026-01-01T00:00:00Z"), ("b", "2026-01-02T00:00:00Z")), "b"),
        ((("b", "2026-01-01T00:00:00Z"), ("a", "2026-01-01T00:00:00Z")), "a"),
    ],
)
def test_the_youngest_class_serves_an_extended_resource(classes: tuple[tuple[str, str], ...], chosen: str) -> None:
    found = objects(classes=tuple(DeviceClass(name, "example.com/gpu", created) for name, created in classes))

    assert found.class_of("example.com/gpu") == chosen


def test_a_class_that_changes_or_ends_names_the_resources_that_it_concerns() -> None:
    found = objects(classes=(DeviceClass("a", "example.com/gpu"),))

    assert found.put_class(DeviceClass("a", "example.com/tpu")) == {"example.com/gpu", "example.com/tpu"}
    assert not found.serves("example.com/gpu")
    assert found.drop_class("a") == {"example.com/tpu"}
    assert found.drop_class("a") == set()
    assert found.class_of("example.com/tpu") is None


def test_objects_with_fields_of_a_wrong_type_are_read() -> None:
    assert read_claim_template({"metadata": None, "spec": {"spec": {"devices": {"requests": ["x", None]}}}}).requests
    assert read_device_class({"spec": []}) == DeviceClass("")
