"""resources.deviceClassMappings: which resource counts the devices of a class."""

from __future__ import annotations

import pytest

from policies.configuration.kueue.gates import FeatureGates
from policies.configuration.kueue.reading import read
from policies.model.errors import BadConfiguration
from scheduling.world.kueue_configuration import counting_of

MAPPING = {"name": "gpus", "deviceClassNames": ["gpu.example.com", "big.example.com"]}


def test_each_class_of_a_mapping_counts_as_its_resource() -> None:
    found = counting_of(read({"resources": {"deviceClassMappings": [MAPPING]}})).devices

    assert dict(found.mapped) == {"gpu.example.com": "gpus", "big.example.com": "gpus"}
    assert found.counted


@pytest.mark.parametrize("resources", [{}, {"deviceClassMappings": []}])
def test_without_a_mapping_no_device_is_counted(resources: dict[str, object]) -> None:
    assert not counting_of(read({"resources": resources})).devices.counted


def test_the_gates_decide_whether_devices_and_extended_resources_are_counted() -> None:
    off = ("KueueDRAIntegration", "KueueDRAIntegrationExtendedResource", "KueueDRAIntegrationPartitionableDevices")
    gates = FeatureGates(dict.fromkeys(off, False))
    found = counting_of(read({"resources": {"deviceClassMappings": [MAPPING]}}, gates)).devices

    assert (found.enabled, found.extended, found.counted, found.refuses) == (False, False, False, True)


def test_sources_of_a_mapping_are_refused() -> None:
    selector = {"cel": {"expression": "true"}}
    counter = {"name": "memory", "driver": "gpu.example.com", "deviceSelector": selector}
    mapping = {**MAPPING, "sources": [{"counter": counter}]}

    with pytest.raises(BadConfiguration) as error:
        read({"resources": {"deviceClassMappings": [mapping]}})

    assert error.value.at == "resources.deviceClassMappings[0].sources"
    assert "parts of devices" in str(error.value)
