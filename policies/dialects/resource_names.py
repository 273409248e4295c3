"""Names of resources that pods request, and corrections of misspelt ones."""

from __future__ import annotations

from policies.model.suggestion import is_slip, only

_OF_KUBERNETES = ("cpu", "memory", "ephemeral-storage", "pods")
"""The names without a domain that pods request. Those with a prefix, such as hugepages-, are not among them."""
_LONG_NAMES = ("memory", "ephemeral-storage", "pods")
"""The names that are long enough to find misspelt letters. Short ones are not: `gpu` is not a misspelt `cpu`."""
_PREFIXES = ("hugepages-", "attachable-volumes-")
_MEANT = {"vcore": "cpu", "vcores": "cpu", "cpus": "cpu", "cores": "cpu", "mem": "memory", "ram": "memory"}
_DEVICES = (
    "amd.com/gpu",
    "aws.amazon.com/neuron",
    "aws.amazon.com/neuroncore",
    "google.com/tpu",
    "habana.ai/gaudi",
    "nvidia.com/gpu",
)
"""Resources of widely used device plugins."""


def is_requested(resource: str) -> bool:
    return resource in _OF_KUBERNETES or resource.startswith(_PREFIXES) or "/" in resource.strip("/")


def likely_name(resource: str) -> str:
    """The name that was probably meant; empty if this one may be right, or has no similar name.

    In the name of a device, only a plural, letters in the wrong case, and swapped letters count as mistakes:
    `nvidia.com/vgpu` is another device than `nvidia.com/gpu`.
    """
    if resource in _OF_KUBERNETES or resource in _DEVICES:
        return ""
    lower = resource.strip().casefold().removeprefix("requests.").removeprefix("limits.")
    if "/" in lower:
        return next((each for each in _DEVICES if _is_meant(lower, each)), "")
    return lower if lower in _OF_KUBERNETES else _MEANT.get(lower, "") or only(lower, _LONG_NAMES)


def _is_meant(lower: str, device: str) -> bool:
    maker, _, name = device.partition("/")
    domain, _, bare = lower.partition("/")
    if domain == maker:
        return sorted(bare.removesuffix("s")) == sorted(name)
    return bare == name and is_slip(domain, maker)
