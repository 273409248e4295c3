"""Finds the installed version of Kueue, by its Deployment and its definitions."""

from __future__ import annotations

from policies.configuration.kueue.gates import KueueVersion
from policies.dialects.kueue_kinds import LABEL
from policies.dialects.reading import Manifest, listing, mapping, metadata, texts
from policies.takeover.objects import manager_version


def installed_version(manager: Manifest | None, definition: Manifest | None) -> KueueVersion | None:
    """The version of Kueue; None if it is not installed, or its version cannot be found. An unknown version counts as
    the nearest known one.

    `manager`: the Deployment of its manager, which stays after a take-over.
    `definition`: the CustomResourceDefinition of Workloads. Kueue 0.20 does not serve v1beta1. A definition of Quotree
    does not count.
    """
    written = manager_version(manager) if manager is not None else ""
    if written:
        return _nearest(written)
    if definition is None or LABEL in texts(metadata(definition).get("labels")):
        return None
    versions = map(mapping, listing(mapping(definition.get("spec")).get("versions")))
    old = any(each.get("name") == "v1beta1" and each.get("served") for each in versions)
    return KueueVersion.V0_19 if old else KueueVersion.V0_20


def known_version(written: str) -> KueueVersion | None:
    """The version in a result of `manager_version`; None if its gates and objects are not known."""
    return next((version for version in KueueVersion if written and _minor(version) == _minor(written)), None)


def _nearest(written: str) -> KueueVersion:
    """The newest known version that is not newer than this one; else the oldest one."""
    older = [version for version in KueueVersion if _minor(version) <= _minor(written)]
    return max(older, key=_minor, default=min(KueueVersion, key=_minor))


def _minor(version: str) -> tuple[int, int]:
    major, minor, *_ = version.split(".")
    return int(major), int(minor)
